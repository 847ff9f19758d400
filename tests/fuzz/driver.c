/*
 * driver.c - a plain main for a fuzz target: replays files, and folders of them, without libFuzzer.
 *
 *   fuzz_X FILE-OR-FOLDER...     exit status 0: all of them ran; 1: one could not be read
 *
 * The input is copied to memory that ends exactly where it does, so that AddressSanitizer and
 * valgrind see a read behind its end.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MAX_BYTES = 64 << 20 };

static int n_file, n_failed;

static void replay_file(const char *path)
{
    char *text;
    size_t n;

    if (cs_file_read(path, MAX_BYTES, &text, &n) != CS_OK) {
        cs_error("%s", cs_error_message());
        cs_error_clear();
        n_failed++;
        return;
    }
    uint8_t *exact = cs_xmalloc(n);
    memcpy(exact, text, n);
    free(text);
    (void)LLVMFuzzerTestOneInput(exact, n);
    free(exact);
    n_file++;
}

static void replay(const char *path);

static void replay_folder(const char *path)
{
    struct dirent **entry;
    int n = scandir(path, &entry, NULL, alphasort);

    if (n < 0) {
        cs_error("cannot list '%s': %s", path, strerror(errno));
        n_failed++;
        return;
    }
    for (int i = 0; i < n; i++) {
        size_t size = strlen(path) + strlen(entry[i]->d_name) + 2;
        char *inner = cs_xmalloc(size);
        (void)snprintf(inner, size, "%s/%s", path, entry[i]->d_name);
        if (entry[i]->d_name[0] != '.')
            replay(inner);
        free(inner);
        free(entry[i]);
    }
    free(entry);
}

static void replay(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        replay_folder(path);
    else
        replay_file(path);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    (void)printf("%d inputs, %d failed\n", n_file, n_failed);
    return n_failed > 0 || n_file == 0;
}

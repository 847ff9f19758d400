/*
 * fuzz_shard.c - manifests of two shards, and what these wrote, from arbitrary bytes: nothing
 * crashes, a refusal keeps a message, and what merge accepts has the sizes that manifests state.
 *
 * DESIGN
 * An input is both manifests and both outputs, with form feeds between. They become files in
 * memory at fixed descriptors, so that manifests can name their outputs as 102 and 103: what is
 * looked for beside /dev/fd/100.
 */
#define _GNU_SOURCE              /* memfd_create */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "pipelines/command.h"
#include "registry.h"
#include "run/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MANIFEST = 100, MERGED = 104, N_FILE = 5 };

static const cs_command *merge;

static void start(void)
{
    for (int i = 0; i < N_FILE; i++) {
        const int fd = memfd_create("shard", 0);
        CS_BUG(fd < 0 || dup2(fd, MANIFEST + i) < 0 || close(fd) != 0);
    }
    merge = cs_command_find("merge");
    CS_BUG(!merge);
}

static void put(int fd, const uint8_t *p, size_t n)
{
    CS_BUG(ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0);
    CS_BUG(n && write(fd, p, n) != (ssize_t)n);
}

/* argv: ended by NULL */
static int run(const char *const *argv)
{
    char *word[16];
    int n = 0;

    for (; argv[n]; n++)
        word[n] = cs_xstrdup(argv[n]);
    word[n] = NULL;
    const int rc = cs_command_run(merge, n, word);
    CS_BUG(rc != CS_OK && *cs_error_message() == '\0');
    cs_error_clear();
    while (n > 0)
        free(word[--n]);
    return rc;
}

static void tables_of(const char *command, cs_optset *set)
{
    const cs_command *c = cs_command_find(command);

    if (c)
        cs_command_tables(c, set);
}

/* The first one's head, and all pieces. */
static int64_t told_bytes(void)
{
    static const char *const path[] = { "/dev/fd/100", "/dev/fd/101" };
    int64_t n = 0;
    cs_manifests all;

    CS_BUG(cs_manifests_read(path, 2, tables_of, &all) != CS_OK || all.n != 2);
    for (int i = 0; i < all.n; i++) {
        const json_t *o = cs_manifest_output(&all.m[i], "output");
        CS_BUG(all.m[i].no != i + 1 || all.m[i].records < 0);
        n += json_integer_value(json_object_get(o, "bytes"));
        n -= i > 0 ? json_integer_value(json_object_get(o, "head")) : 0;
    }
    cs_manifests_release(&all);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const char *const joined[] = {
        "merge", "-q", "-o", "/dev/fd/104", "/dev/fd/101", "/dev/fd/100", NULL,
    };
    static const char *const counted[] = {
        "merge", "-q", "--report", "/dev/null", "--krona", "/dev/null", "--cami-profile",
        "/dev/null", "--summary", "/dev/null", "/dev/fd/100", "/dev/fd/101", NULL,
    };

    if (!merge)
        start();
    for (int i = 0; i < N_FILE - 1; i++) {
        const uint8_t *end = i < 3 && n_bytes ? memchr(data, '\f', n_bytes) : NULL;
        const size_t n = end ? (size_t)(end - data) : n_bytes;
        put(MANIFEST + i, data, n);
        data += n + (end != NULL);
        n_bytes -= n + (end != NULL);
    }
    put(MERGED, NULL, 0);
    if (run(joined) == CS_OK)
        CS_BUG(cs_file_size("/dev/fd/104") != told_bytes());
    (void)run(counted);
    return 0;
}

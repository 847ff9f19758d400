/* temp_files.h - files of a fuzz target, in a temporary folder that is removed at the end. */
#ifndef CS_TESTS_TEMP_FILES_H
#define CS_TESTS_TEMP_FILES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

enum { TEMP_FILES = 2, TEMP_PATH_BYTES = 64 };

static char temp_folder[] = "/tmp/chordseq_fuzz_XXXXXX";
static char temp_path[TEMP_FILES][TEMP_PATH_BYTES];

static inline void temp_remove(void)
{
    for (int i = 0; i < TEMP_FILES; i++)
        unlink(temp_path[i]);
    rmdir(temp_folder);
}

/** temp_start - once: names of files in the folder; paths are in temp_path */
static inline void temp_start(const char *const name[TEMP_FILES])
{
    if (temp_path[0][0])
        return;
    CS_BUG(!mkdtemp(temp_folder));
    for (int i = 0; i < TEMP_FILES; i++)
        (void)snprintf(temp_path[i], TEMP_PATH_BYTES, "%s/%s", temp_folder, name[i]);
    atexit(temp_remove);
    cs_log_set_level(CS_LOG_ERROR);
}

/** temp_put - file i has these bytes */
static inline void temp_put(int i, const void *p, size_t n)
{
    FILE *f = fopen(temp_path[i], "wb");
    CS_BUG(!f || (n && fwrite(p, 1, n, f) != n) || fclose(f) != 0);
}

/** temp_put_both - the bytes before the first form feed into file 0, those behind it into file 1 */
static inline void temp_put_both(const uint8_t *data, size_t n_bytes)
{
    const uint8_t *end = n_bytes ? memchr(data, '\f', n_bytes) : NULL;
    const size_t n = end ? (size_t)(end - data) : n_bytes;

    temp_put(0, data, n);
    temp_put(1, data + n + (end != NULL), n_bytes - n - (end != NULL));
}

#endif

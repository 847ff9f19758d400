/*
 * gzi.c - the index that `bgzip -r` and `samtools faidx` write beside a BGZF file.
 *
 * DESIGN: the number of blocks but the first, then for each where it starts, in the file and in the
 * text, all in 64 bits, little-endian and ascending. It is searched on disk; a malformed index is
 * ignored, since it only saves time.
 */
#include "io/gzi.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

enum { ENTRY_BYTES = 16 };

static bool read_number(FILE *f, int64_t at, int64_t *v)
{
    unsigned char b[8];
    uint64_t n = 0;

    if (fseeko(f, (off_t)at, SEEK_SET) != 0 || fread(b, 1, sizeof b, f) != sizeof b)
        return false;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | b[i];
    *v = (int64_t)n;
    return *v >= 0;
}

static int64_t search(FILE *f, int64_t n_bytes, int64_t at)
{
    int64_t n, low = 0, start = 0, v;

    if (!read_number(f, 0, &n) || n != (n_bytes - 8) / ENTRY_BYTES)
        return 0;
    for (int64_t high = n; low < high;) {
        const int64_t mid = low + (high - low) / 2;
        if (!read_number(f, 8 + ENTRY_BYTES * mid, &v))
            return 0;
        if (v <= at) {
            start = v;
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return start;
}

int64_t cs_gzi_before(const char *path, int64_t at)
{
    struct stat file, index;
    int64_t start = 0;
    const size_t n = strlen(path) + sizeof ".gzi";
    char *name = cs_xmalloc(n);

    (void)snprintf(name, n, "%s.gzi", path);
    if (stat(path, &file) == 0 && stat(name, &index) == 0 && index.st_mtime >= file.st_mtime) {
        FILE *f = fopen(name, "rbe");
        start = f ? search(f, (int64_t)index.st_size, at) : 0;
        if (f)
            (void)fclose(f);     /* read only: errors do not matter */
    }
    free(name);
    return start;
}

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
#include "io/source.h"

/* BLOCK_BYTES: of a BGZF block, compressed or not (SAM specification 4.1). */
enum { ENTRY_BYTES = 16, HEAD_BYTES = 64, LENGTH_BYTES = 4, BLOCK_BYTES = 1 << 16 };

static bool next_number(FILE *f, int64_t *v)
{
    unsigned char b[8];
    uint64_t n = 0;

    if (fread(b, 1, sizeof b, f) != sizeof b)
        return false;
    for (int i = 7; i >= 0; i--)
        n = n << 8 | b[i];
    *v = (int64_t)n;
    return *v >= 0;
}

static bool read_number(FILE *f, int64_t at, int64_t *v)
{
    return fseeko(f, (off_t)at, SEEK_SET) == 0 && next_number(f, v);
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

/* ---- the end of the file --------------------------------------------------------------------- */

/* The bytes of the BGZF block at `at`, and of its text; 0 at the end of the file; -1: it is not one
 * or is cut. */
static int64_t block_at(FILE *f, int64_t at, int64_t *n_text)
{
    unsigned char b[HEAD_BYTES];
    size_t n_head;

    if (fseeko(f, (off_t)at, SEEK_SET) != 0)
        return -1;
    const size_t n = fread(b, 1, sizeof b, f), size = cs_bgzf_size(b, n, &n_head);
    if (n == 0)
        return ferror(f) ? -1 : 0;
    if (size < n_head + LENGTH_BYTES || fseeko(f, (off_t)(at + (int64_t)size) - LENGTH_BYTES,
                                               SEEK_SET) != 0
        || fread(b, 1, LENGTH_BYTES, f) != LENGTH_BYTES)
        return -1;
    *n_text = b[0] | b[1] << 8 | b[2] << 16 | (int64_t)b[3] << 24;
    return (int64_t)size;
}

/* From the block of the last entry on, only that one may have text: htslib's search stops there. */
static int64_t walk(FILE *f, int64_t at, int64_t text)
{
    int64_t size, n_text = 0;
    bool first = true;

    for (; (size = block_at(f, at, &n_text)) > 0; first = false, at += size) {
        if (n_text > 0 && !first)
            return -1;
        text += n_text;
    }
    return size < 0 || first ? -1 : text;
}

/* Where the last block begins, in the file and in the text; false: blocks are missing, or have
 * impossible sizes. */
static bool last_entry(FILE *index, int64_t *at, int64_t *text)
{
    int64_t n, next, next_text;
    bool good = next_number(index, &n);

    *at = *text = 0;
    for (; good && n > 0; n--) {
        good = next_number(index, &next) && next_number(index, &next_text) && next >= *at
            && next - *at <= 2 * BLOCK_BYTES && next_text >= *text
            && next_text - *text <= BLOCK_BYTES;   /* 2: empty blocks may lie between */
        *at = next;
        *text = next_text;
    }
    return good;
}

int64_t cs_gzi_text_bytes(const char *path)
{
    int64_t at, text, n = -1;
    const size_t n_name = strlen(path) + sizeof ".gzi";
    char *name = cs_xmalloc(n_name);

    (void)snprintf(name, n_name, "%s.gzi", path);
    FILE *index = fopen(name, "rbe"), *f = index ? fopen(path, "rbe") : NULL;
    if (f && last_entry(index, &at, &text))
        n = walk(f, at, text);
    if (f)
        (void)fclose(f);         /* read only: errors do not matter */
    if (index)
        (void)fclose(index);
    free(name);
    return n;
}

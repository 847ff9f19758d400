/*
 * bam_guard.c - check the sizes declared by a BAM file's header, and by indexes, before htslib uses
 * them.
 *
 * DESIGN. Versions of htslib up to at least 1.16 free what they have not allocated where an index
 * ends early, so its structure is walked: BAI, TBI and CSI (SAM, CSI and tabix specifications).
 */
#include "io/bam_guard.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <htslib/bgzf.h>
#include <htslib/hfile.h>

#include "base/file.h"
#include "io/index_name.h"

enum { BUF_BYTES = 4096, CHUNK_BYTES = 16, MAX_DEPTH = 9, TABIX_NUMBERS = 7 };
/* Maximum bytes that deflate expands one to; minimum bytes of a reference in a BAM header. */
enum { DEFLATE_RATIO = 1032, MIN_REFERENCE = 9 };

static bool read_number(BGZF *f, int64_t *v)
{
    uint8_t b[4];

    if (bgzf_read(f, b, sizeof b) != (ssize_t)sizeof b)
        return false;
    *v = (int64_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16
                   | (uint32_t)b[3] << 24);
    return true;
}

static bool pass(BGZF *f, int64_t n)
{
    char skipped[BUF_BYTES];
    ssize_t got = 1;

    for (; n > 0 && got > 0; n -= got)
        got = bgzf_read(f, skipped, n < BUF_BYTES ? (size_t)n : sizeof skipped);
    return n == 0;
}

int cs_bam_guard(const char *path)
{
    const int64_t size = strcmp(path, "-") == 0 ? -1 : cs_file_size(path);
    const int64_t max = (size + 1) * DEFLATE_RATIO;
    BGZF *f = size >= 0 ? bgzf_open(path, "r") : NULL;
    int64_t magic, n_text = 0, n_ref = 0;
    int rc = CS_OK;

    if (!f)
        return CS_OK;
    if (read_number(f, &magic) && read_number(f, &n_text) && n_text > max)
        rc = cs_fail(CS_EFORMAT, "'%s': the header declares %lld bytes of text, more than a file "
                     "of %lld bytes can hold; it is damaged", path, (long long)n_text,
                     (long long)size);
    else if (pass(f, n_text) && read_number(f, &n_ref) && n_ref > max / MIN_REFERENCE)
        rc = cs_fail(CS_EFORMAT, "'%s': the header declares %lld references, more than a file of "
                     "%lld bytes can hold; it is damaged", path, (long long)n_ref,
                     (long long)size);
    (void)bgzf_close(f);         /* read only: errors do not matter */
    return rc;
}

/* ---- indexes --------------------------------------------------------------------------------- */

/* A count, which htslib takes as a signed number. */
static bool read_count(BGZF *f, int64_t *n)
{
    return read_number(f, n) && *n <= INT32_MAX;
}

/* The settings of tabix in n bytes, the last of which is the length of the names after them. */
static bool pass_tabix(BGZF *f, int64_t n)
{
    int64_t n_name = 0;
    char last = '\0';

    for (int i = 0; i < TABIX_NUMBERS; i++)
        if (!read_number(f, &n_name))
            return false;
    if (n_name > n - 4 * TABIX_NUMBERS || !pass(f, n_name > 0 ? n_name - 1 : 0)
        || (n_name > 0 && bgzf_read(f, &last, 1) != 1))
        return false;
    return last == '\0' && (n == INT64_MAX || pass(f, n - 4 * TABIX_NUMBERS - n_name));
}

static bool pass_contig(BGZF *f, bool csi)
{
    int64_t n_bin, n_chunk, n_window;

    if (!read_count(f, &n_bin))
        return false;
    for (; n_bin > 0; n_bin--)
        if (!pass(f, csi ? 12 : 4) || !read_count(f, &n_chunk) || !pass(f, CHUNK_BYTES * n_chunk))
            return false;
    return csi || (read_count(f, &n_window) && pass(f, 8 * n_window));
}

/* Everything up to the last contig; the count of reads without one may be missing. */
static bool is_whole(BGZF *f)
{
    char magic[4];
    int64_t n = 0, shift = 1, depth = 0, n_aux = 0;

    if (bgzf_read(f, magic, sizeof magic) != (ssize_t)sizeof magic)
        return false;
    const bool csi = memcmp(magic, "CSI\1", 4) == 0, tbi = memcmp(magic, "TBI\1", 4) == 0;
    if (!csi && !tbi && memcmp(magic, "BAI\1", 4) != 0)
        return true;             /* htslib refuses it */
    if (csi && (!read_count(f, &shift) || !read_count(f, &depth) || !read_count(f, &n_aux)
                || shift < 1 || depth > MAX_DEPTH || shift + 3 * depth > 62
                || !(n_aux < 4 * TABIX_NUMBERS ? pass(f, n_aux) : pass_tabix(f, n_aux))))
        return false;
    if (!read_count(f, &n) || (tbi && !pass_tabix(f, INT64_MAX)))
        return false;
    while (n > 0 && pass_contig(f, csi))
        n--;
    return n == 0;
}

/* The index that htslib takes: CSI first, after the name of the file, or in place of its suffix. */
static bool find_index(const char *path, char *name, size_t n)
{
    static const char *const suffix[] = { ".csi", ".tbi", ".bai" };
    const char *given = cs_index_given(path);
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    const size_t n_stem = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);

    if (given)
        return snprintf(name, n, "%s", given) < (int)n && !hisremote(given);
    for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++)
        if ((snprintf(name, n, "%s%s", path, suffix[i]) < (int)n && access(name, R_OK) == 0)
            || (snprintf(name, n, "%.*s%s", (int)n_stem, path, suffix[i]) < (int)n
                && access(name, R_OK) == 0))
            return true;
    return false;
}

int cs_index_guard(const char *path)
{
    char name[PATH_MAX];
    BGZF *f = !hisremote(path) && find_index(path, name, sizeof name) ? bgzf_open(name, "r") : NULL;
    const bool whole = !f || is_whole(f);

    if (f)
        (void)bgzf_close(f);     /* read only: errors do not matter */
    return whole ? CS_OK
         : cs_fail(CS_EFORMAT, "the index '%s' of '%s' is truncated or damaged; recreate it (%s "
                   "index)", name, path, strstr(name, ".bai") || strstr(path, ".bam") ? "samtools"
                                                                                    : "bcftools");
}

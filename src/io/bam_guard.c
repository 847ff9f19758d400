/* bam_guard.c - check the sizes declared by a BAM file's header before htslib allocates them. */
#include "io/bam_guard.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <htslib/bgzf.h>

#include "base/file.h"

enum { BUF_BYTES = 4096 };
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

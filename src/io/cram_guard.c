/*
 * cram_guard.c - check what CRAM and BAM files declare before htslib allocates it.
 *
 * DESIGN
 * htslib allocates what a header declares, so that some hundred bytes may ask for gigabytes. Here
 * the headers of containers, blocks and slices are read once more, some containers ahead of htslib.
 * Data are passed over, except for slice headers and lengths of reads that are constants. A slice
 * may declare more than its bytes suggest, as constant data compress to nothing, but only up to
 * the limits below. Blocks must lie in their container: htslib reads them in sequence, and would
 * else read something else than was checked. Layout: CRAM specification 2.1 and 3.0, sections 7
 * and 8.
 */
#include "io/cram_guard.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <htslib/bgzf.h>

#include "base/file.h"
#include "base/mem.h"

enum { BUF_BYTES = 4096, HEAD_BYTES = 26, RAW = 0, CRC_BYTES = 4 };
enum { COMPRESSION_HEADER = 1, SLICE_HEADER = 2, HUFFMAN = 3 };
/* Free of suspicion, and more than that in proportion to compressed bytes. */
enum { FREE_RECORDS = 1 << 20, FREE_BYTES = 1 << 28, PER_BYTE = 64 };
/* What deflate can expand a byte to. */
enum { DEFLATE_RATIO = 1032, LEAST_REFERENCE = 9 };

struct cs_cram_guard {
    const char *path;
    int         fd;              /* -1: nothing to check, or no longer */
    int         major;
    int         ahead;
    int64_t    *begin;           /* [ahead] of the containers checked last, a ring */
    int64_t     n;               /* containers checked */
    int64_t     at;              /* where the next byte of buf lies */
    bool        cut;             /* the file ends within a header */
    unsigned char buf[BUF_BYTES];
    size_t      n_buf, i_buf;
};

/* What a container's header says. */
struct container { int64_t begin, data, length, records, n_block, n_landmark; };

static int cram_guard_refuse(const cs_cram_guard *g, const char *what, int64_t at, int64_t n)
{
    return cs_fail(CS_EFORMAT, "'%s': the container at byte %lld declares %lld %s, which do not "
                   "fit its size; the file is damaged", g->path, (long long)at, (long long)n, what);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void go_to(cs_cram_guard *g, int64_t at)
{
    const int64_t step = at - g->at;

    if (step >= 0 && step <= (int64_t)(g->n_buf - g->i_buf))
        g->i_buf += (size_t)step;
    else
        g->i_buf = g->n_buf = 0;
    g->at = at;
}

static unsigned byte(cs_cram_guard *g)
{
    if (g->i_buf == g->n_buf) {
        const ssize_t n = pread(g->fd, g->buf, sizeof g->buf, (off_t)g->at);
        g->cut |= n <= 0;
        g->i_buf = 0;
        g->n_buf = n > 0 ? (size_t)n : 0;
    }
    if (g->cut)
        return 0;
    g->at++;
    return g->buf[g->i_buf++];
}

static int64_t little(cs_cram_guard *g)
{
    uint32_t v = 0;

    for (int i = 0; i < 32; i += 8)
        v |= (uint32_t)byte(g) << i;
    return (int32_t)v;
}

/* A number whose first byte says by its leading ones how many follow; of five, the last has four
 * bits (section 2.3, ITF-8). */
static int64_t itf8(cs_cram_guard *g)
{
    const unsigned first = byte(g);
    const int n = first < 0x80 ? 0 : first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t v = n < 4 ? first & (0x7fu >> n) : first & 0x0f;

    for (int i = 0; i < n && i < 3; i++)
        v = v << 8 | byte(g);
    if (n == 4)
        v = v << 4 | (byte(g) & 0x0f);
    return (int32_t)v;
}

/* The same of up to nine bytes, which nothing here depends on. */
static void skip_ltf8(cs_cram_guard *g)
{
    const unsigned first = byte(g);

    for (unsigned bit = 0x80; bit > 0 && (first & bit); bit >>= 1)
        (void)byte(g);
}

/* ---- containers ------------------------------------------------------------------------------ */

static int read_container(cs_cram_guard *g, struct container *c)
{
    *c = (struct container){ .begin = g->at };
    c->length = little(g);
    for (int i = 0; i < 3; i++)
        (void)itf8(g);           /* reference, start, span */
    c->records = itf8(g);
    if (g->major >= 3)
        skip_ltf8(g);
    else
        (void)itf8(g);           /* number of the first record */
    skip_ltf8(g);                /* bases */
    c->n_block = itf8(g);
    c->n_landmark = itf8(g);
    if (g->cut)
        return CS_OK;
    if (c->length < 0)
        return cram_guard_refuse(g, "bytes", c->begin, c->length);
    if (c->n_block < 0 || c->n_block > c->length)
        return cram_guard_refuse(g, "blocks", c->begin, c->n_block);
    if (c->n_landmark < 0 || c->n_landmark > c->n_block)
        return cram_guard_refuse(g, "slices", c->begin, c->n_landmark);
    for (int64_t i = 0; i < c->n_landmark && !g->cut; i++)
        (void)itf8(g);
    c->data = g->at + (g->major >= 3 ? CRC_BYTES : 0);
    return CS_OK;
}

static bool is_too_many(int64_t n, int64_t limit, int64_t n_bytes)
{
    return n < 0 || (n > limit && n / PER_BYTE > n_bytes);
}

/* The compression header: lengths of reads, where these are constants of a Huffman code. */
static int check_lengths(cs_cram_guard *g, const struct container *c)
{
    const int64_t n_preserved = itf8(g);

    go_to(g, g->at + (n_preserved > 0 ? n_preserved : 0));
    (void)itf8(g);               /* bytes of the map */
    for (int64_t n = itf8(g); n > 0 && !g->cut && g->at < c->data + c->length; n--) {
        const unsigned first = byte(g), second = byte(g);
        const int64_t codec = itf8(g), n_bytes = itf8(g), next = g->at + n_bytes;
        const bool constant = first == 'R' && second == 'L' && codec == HUFFMAN;
        for (int64_t k = constant ? itf8(g) : 0; k > 0 && g->at < next; k--) {
            const int64_t length = itf8(g);
            if (is_too_many(length, FREE_BYTES, c->length))
                return cram_guard_refuse(g, "bases of a read", c->begin, length);
        }
        if (n_bytes < 0)
            break;
        go_to(g, next);
    }
    return CS_OK;
}

/* The header of a slice: its records, and blocks, which are added to *n_block with itself. */
static int check_slice(cs_cram_guard *g, const struct container *c, int64_t n_bytes,
                       int64_t *n_block)
{
    for (int i = 0; i < 3; i++)
        (void)itf8(g);           /* reference, start, span */
    const int64_t records = itf8(g);
    if (g->major >= 3)
        skip_ltf8(g);
    else
        (void)itf8(g);
    const int64_t n = itf8(g), n_id = itf8(g);
    *n_block += 1 + n;
    if (is_too_many(records, FREE_RECORDS, c->length))
        return cram_guard_refuse(g, "records", c->begin, records);
    if (n < 0 || n > c->length)
        return cram_guard_refuse(g, "blocks of a slice", c->begin, n);
    return n_id < 0 || n_id > n_bytes ? cram_guard_refuse(g, "block ids", c->begin, n_id) : CS_OK;
}

/* One block, of n_sum bytes with those before it in its slice; read_end receives where it ends. */
static int check_block(cs_cram_guard *g, const struct container *c, int64_t *n_sum,
                       int64_t *n_block, int64_t *read_end)
{
    const unsigned method = byte(g), type = byte(g);
    (void)itf8(g);               /* id */
    const int64_t packed = itf8(g), n = itf8(g), data = g->at;

    *read_end = data + packed + (g->major >= 3 ? CRC_BYTES : 0);
    *n_sum = type == SLICE_HEADER ? n : *n_sum + n;
    if (g->cut)
        return CS_OK;
    if (packed < 0 || (g->n > 0 && *read_end > c->data + c->length))
        return cram_guard_refuse(g, "bytes of a block", c->begin, packed);
    if (n < 0 || is_too_many(*n_sum, FREE_BYTES, c->length))
        return cram_guard_refuse(g, "bytes of uncompressed data", c->begin, n < 0 ? n : *n_sum);
    if (type == SLICE_HEADER && method != RAW)
        return cram_guard_refuse(g, "compressed slice headers", c->begin, 1);
    if (type == COMPRESSION_HEADER && method == RAW)
        return check_lengths(g, c);
    return type == SLICE_HEADER ? check_slice(g, c, packed, n_block) : CS_OK;
}

/* The first container may be longer than its blocks, and some writers declare less. */
static int check_blocks(cs_cram_guard *g, const struct container *c, int64_t *end)
{
    int64_t n_sum = 0, n_owned = 0, n_seen = 0;
    int rc = CS_OK;

    *end = c->data + c->length;
    go_to(g, c->data);
    for (int64_t next; g->at < *end && !g->cut; n_seen++) {
        CS_TRY(check_block(g, c, &n_sum, &n_owned, &next));
        go_to(g, next);
        if (g->n == 0) {
            *end = next > *end ? next : *end;
            break;
        }
    }
    if (!g->cut && n_owned > 0 && n_owned >= n_seen)     /* one is the container's own */
        rc = cram_guard_refuse(g, "blocks of slices", c->begin, n_owned);
out:
    return rc;
}

static int check_next(cs_cram_guard *g)
{
    int rc = CS_OK;
    int64_t end;
    struct container c;

    CS_TRY(read_container(g, &c));
    if (g->cut)
        return CS_OK;
    if (is_too_many(c.records, FREE_RECORDS, c.length))
        return cram_guard_refuse(g, "records", c.begin, c.records);
    CS_TRY(check_blocks(g, &c, &end));
    g->begin[g->n++ % g->ahead] = c.begin;
    go_to(g, end);
out:
    return rc;
}

cs_cram_guard *cs_cram_guard_new(const char *path, int ahead)
{
    cs_cram_guard *g = cs_xcalloc(1, sizeof *g);

    g->path = path;
    g->ahead = ahead > 0 ? ahead : 1;
    g->begin = cs_xcalloc((size_t)g->ahead, sizeof *g->begin);
    g->fd = strcmp(path, "-") != 0 && cs_file_size(path) >= 0 ? open(path, O_RDONLY | O_CLOEXEC)
                                                              : -1;
    for (int i = 0; g->fd >= 0 && i < 5; i++)
        g->major = (int)byte(g); /* "CRAM" and the version's first number */
    go_to(g, HEAD_BYTES);
    return g;
}

void cs_cram_guard_free(cs_cram_guard *g)
{
    if (!g)
        return;
    if (g->fd >= 0)
        (void)close(g->fd);      /* it was read */
    free(g->begin);
    free(g);
}

int cs_cram_guard_reach(cs_cram_guard *g, int64_t at)
{
    int rc = CS_OK;

    if (g->fd >= 0 && g->major != 2 && g->major != 3)
        return cs_fail(CS_EFORMAT, "'%s' is CRAM of version %d; supported are 2 and 3 (samtools "
                       "view -C converts)", g->path, g->major);
    while (rc == CS_OK && g->fd >= 0 && !g->cut
           && (g->n < g->ahead || g->begin[g->n % g->ahead] <= at))
        rc = check_next(g);
    return rc;
}

/* ---- BAM ------------------------------------------------------------------------------------- */

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
    const int64_t most = (size + 1) * DEFLATE_RATIO;
    BGZF *f = size >= 0 ? bgzf_open(path, "r") : NULL;
    int64_t magic, n_text = 0, n_ref = 0;
    int rc = CS_OK;

    if (!f)
        return CS_OK;
    if (read_number(f, &magic) && read_number(f, &n_text) && n_text > most)
        rc = cs_fail(CS_EFORMAT, "'%s': the header declares %lld bytes of text, more than a file "
                     "of %lld bytes can hold; it is damaged", path, (long long)n_text,
                     (long long)size);
    else if (pass(f, n_text) && read_number(f, &n_ref) && n_ref > most / LEAST_REFERENCE)
        rc = cs_fail(CS_EFORMAT, "'%s': the header declares %lld references, more than a file of "
                     "%lld bytes can hold; it is damaged", path, (long long)n_ref,
                     (long long)size);
    (void)bgzf_close(f);         /* it was read */
    return rc;
}

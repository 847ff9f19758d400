/*
 * cram_guard.c - check the sizes declared by CRAM files before htslib allocates them.
 *
 * DESIGN
 * htslib allocates the declared sizes, so a file of 100 bytes may need gigabytes. Here the headers
 * of containers, blocks and slices are read once more, some containers ahead of htslib; for a pipe,
 * container by container before htslib receives them. Data are skipped, except for slice headers,
 * compression headers, the lengths of reads, and sizes that a codec repeats. A slice may declare
 * more than its bytes suggest, because constant data compress to nothing, but only up to the limits
 * below. Blocks must be inside their container: htslib reads them in sequence, and would otherwise
 * read unchecked data. Layout: CRAM specification 2.1 and 3.0, sections 7 and 8; CRAM codecs 3.1.
 *
 * Compressed blocks that matter are unpacked by htslib, from memory, through a handle of its own:
 * an empty CRAM 2.1 file, whose blocks differ from those of 3.x only by their missing checksums.
 */
#include "io/cram_guard.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <htslib/cram.h>
#include <htslib/hfile.h>

#include "base/mem.h"

enum { BUF_BYTES = 4096, HEAD_BYTES = 26, RAW = 0, CRC_BYTES = 4, PIECE = 1 << 16 };
/* Codecs of integers (section 13); later ones are of CRAM 4. */
enum { AS_EXTERNAL = 1, AS_HUFFMAN = 3, AS_BETA = 6 };
/* Codecs of blocks that repeat the size of their data. */
enum { RANS_4X8 = 4, RANS_NX16, ARITHMETIC, FQZCOMP, NAMES, NO_SIZE = 0x10 };
/* Sizes up to FREE_... are accepted; larger ones up to PER_BYTE times the container's bytes. */
enum { FREE_RECORDS = 1 << 20, FREE_BYTES = 1 << 28, PER_BYTE = 64 };
/* No block: ids have 32 bits. */
#define NO_ID INT64_MIN
/* htslib's threads have twice their number of slices in hand. */
enum { SLICES_PER_THREAD = 2, SLICES_AHEAD = 4 };

static const char empty_cram[] = "CRAM\2\1--------------------" "\24\0\0\0\0\0\0\0\0\0\1\0"
                                 "\0\0\0\17\17\13\0\0\0@HD\tVN:1.6\n";

struct cs_cram_guard {
    const char *path;
    int         fd;              /* of a regular file, or -1 */
    cs_cram_read *read;          /* of a stream, or NULL */
    void       *arg;
    int64_t     size;            /* of the file */
    int         major;
    int         ahead;           /* containers to check before htslib decodes one */
    int64_t    *checked;         /* [ahead] ring of the offsets of the containers checked last */
    int64_t     n_checked;       /* since the beginning or the last jump */
    bool        header_checked;  /* the file's header is the first container */
    bool        truncated;       /* the file ends within a header */
    const unsigned char *p, *end;   /* buffered bytes; the first is at offset `at` */
    int64_t     at;
    bool        unpacked;        /* p .. end is a whole unpacked block: nothing to load behind it */
    unsigned char buf[BUF_BYTES];
    unsigned char *window;       /* of a stream: the bytes not yet passed on */
    size_t      n_window, cap_window, n_passed;
    bool        no_memory;       /* for the window */
    int64_t     window_start;    /* its offset in the stream */
    cram_fd    *decoder;         /* or NULL */
    /* The lengths of reads in the present container. */
    int64_t     max_length;      /* by the codec's parameters, else 0 */
    int64_t     lengths_id;      /* of the blocks that hold them, or NO_ID */
};

/* Header of a container. */
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

    if (step > 0 && step <= (int64_t)(g->end - g->p))
        g->p += step;
    else if (step != 0)
        g->p = g->end = NULL;
    g->at = at;
}

/* Read a stream up to an offset; false: it ends earlier, or there is no memory. */
static bool reach_stream(cs_cram_guard *g, int64_t to)
{
    while (g->window_start + (int64_t)g->n_window < to) {
        g->no_memory = cs_grow((void **)&g->window, &g->cap_window, g->n_window + PIECE, 1)
                       != CS_OK;
        if (g->no_memory)
            return false;
        const int64_t n = g->read(g->arg, (char *)g->window + g->n_window, PIECE);
        if (n <= 0)
            return false;
        g->n_window += (size_t)n;
    }
    return true;
}

/* Bytes from `at` on. */
static void fill_buffer(cs_cram_guard *g)
{
    if (g->unpacked) {
        g->truncated = true;
    } else if (g->read) {
        g->truncated |= !reach_stream(g, g->at + 1);
        g->p = g->truncated ? NULL : g->window + (g->at - g->window_start);
        g->end = g->truncated ? NULL : g->window + g->n_window;
    } else {
        const ssize_t n = pread(g->fd, g->buf, sizeof g->buf, (off_t)g->at);
        g->truncated |= n <= 0;
        g->p = g->buf;
        g->end = g->buf + (n > 0 ? n : 0);
    }
}

static unsigned read_byte(cs_cram_guard *g)
{
    if (g->p == g->end)
        fill_buffer(g);
    if (g->truncated)
        return 0;
    g->at++;
    return *g->p++;
}

static int64_t read_int32(cs_cram_guard *g)
{
    uint32_t v = 0;

    for (int i = 0; i < 32; i += 8)
        v |= (uint32_t)read_byte(g) << i;
    return (int32_t)v;
}

/* A number; leading ones of its first byte count the bytes that follow; of five, the last has four
 * bits (section 2.3, ITF-8). */
static int64_t read_itf8(cs_cram_guard *g)
{
    const unsigned first = read_byte(g);
    const int n = first < 0x80 ? 0 : first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t v = n < 4 ? first & (0x7fu >> n) : first & 0x0f;

    for (int i = 0; i < n && i < 3; i++)
        v = v << 8 | read_byte(g);
    if (n == 4)
        v = v << 4 | (read_byte(g) & 0x0f);
    return (int32_t)v;
}

/* The same of up to nine bytes, which nothing here depends on. */
static void skip_ltf8(cs_cram_guard *g)
{
    const unsigned first = read_byte(g);

    for (unsigned bit = 0x80; bit > 0 && (first & bit); bit >>= 1)
        (void)read_byte(g);
}

/* ---- containers ------------------------------------------------------------------------------ */

static int read_container(cs_cram_guard *g, struct container *c)
{
    *c = (struct container){ .begin = g->at };
    c->length = read_int32(g);
    for (int i = 0; i < 3; i++)
        (void)read_itf8(g);      /* reference, start, span */
    c->records = read_itf8(g);
    if (g->major >= 3)
        skip_ltf8(g);
    else
        (void)read_itf8(g);      /* number of the first record */
    skip_ltf8(g);                /* bases */
    c->n_block = read_itf8(g);
    c->n_landmark = read_itf8(g);
    if (g->truncated)
        return CS_OK;
    if (c->length < 0)
        return cram_guard_refuse(g, "bytes", c->begin, c->length);
    if (c->n_block < 0 || c->n_block > c->length)
        return cram_guard_refuse(g, "blocks", c->begin, c->n_block);
    if (c->n_landmark < 0 || c->n_landmark > c->n_block)
        return cram_guard_refuse(g, "slices", c->begin, c->n_landmark);
    for (int64_t i = 0; i < c->n_landmark && !g->truncated; i++)
        (void)read_itf8(g);
    c->data = g->at + (g->major >= 3 ? CRC_BYTES : 0);
    return CS_OK;
}

static bool is_too_many(int64_t n, int64_t limit, int64_t n_bytes)
{
    return n < 0 || (n > limit && n / PER_BYTE > n_bytes);
}

/* The longest read that a codec of lengths allows, or the block that holds the lengths. */
static int read_lengths_codec(cs_cram_guard *g, const struct container *c, int64_t codec,
                              int64_t next)
{
    if (g->max_length > 0 || g->lengths_id != NO_ID)
        return cram_guard_refuse(g, "codecs of read lengths", c->begin, 2);
    if (codec == AS_EXTERNAL) {
        g->lengths_id = read_itf8(g);
    } else if (codec == AS_BETA) {
        const int64_t offset = read_itf8(g), n_bit = read_itf8(g);
        /* Lengths are the stored numbers minus the offset, so programs store minus the least. */
        g->max_length = n_bit < 0 || n_bit > 30 ? INT32_MAX : (INT64_C(1) << n_bit) - 1 - offset;
    } else if (codec == AS_HUFFMAN) {
        for (int64_t k = read_itf8(g); k > 0 && g->at < next && !g->truncated; k--) {
            const int64_t length = read_itf8(g);
            g->max_length = length > g->max_length ? length : g->max_length;
        }
    } else if (codec > 0) {
        return cs_fail(CS_EFORMAT, "'%s': the container at byte %lld has read lengths in codec "
                       "%lld, which only early programs wrote; convert the file (samtools view "
                       "-C)", g->path, (long long)c->begin, (long long)codec);
    }
    return is_too_many(g->max_length, FREE_BYTES, c->length)
        ? cram_guard_refuse(g, "bases of a read", c->begin, g->max_length) : CS_OK;
}

/* The codecs of read lengths in a compression header, which ends at `end`. */
static int check_codecs(cs_cram_guard *g, const struct container *c, int64_t end)
{
    int rc = CS_OK;
    const int64_t n_preserved = read_itf8(g);

    go_to(g, g->at + (n_preserved > 0 ? n_preserved : 0));
    (void)read_itf8(g);          /* bytes of the map */
    for (int64_t n = read_itf8(g); n > 0 && !g->truncated && g->at < end; n--) {
        const unsigned first = read_byte(g), second = read_byte(g);
        const int64_t codec = read_itf8(g), n_bytes = read_itf8(g), next = g->at + n_bytes;
        if (first == 'R' && second == 'L')
            CS_TRY(read_lengths_codec(g, c, codec, next));
        if (n_bytes < 0)
            break;
        go_to(g, next);
    }
out:
    return rc;
}

/* The header of a slice: its records, and blocks, which are added to *n_block with itself. */
static int check_slice(cs_cram_guard *g, const struct container *c, int64_t n_bytes,
                       int64_t *n_block)
{
    for (int i = 0; i < 3; i++)
        (void)read_itf8(g);      /* reference, start, span */
    const int64_t records = read_itf8(g);
    if (g->major >= 3)
        skip_ltf8(g);
    else
        (void)read_itf8(g);
    const int64_t n = read_itf8(g), n_id = read_itf8(g);
    *n_block += 1 + n;
    if (is_too_many(records, FREE_RECORDS, c->length))
        return cram_guard_refuse(g, "records", c->begin, records);
    if (n < 0 || n > c->length)
        return cram_guard_refuse(g, "blocks of a slice", c->begin, n);
    /* As if all were the longest; each factor is less than 2^32. */
    if (is_too_many(records * g->max_length, FREE_BYTES, c->length))
        return cram_guard_refuse(g, "bases", c->begin, records * g->max_length);
    return n_id < 0 || n_id > n_bytes ? cram_guard_refuse(g, "block ids", c->begin, n_id) : CS_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Header of a block. */
struct block { unsigned method, type; int64_t id, begin, data, packed, n; };

/* A number of seven bits a byte, the highest first. */
static int64_t read_uint7(cs_cram_guard *g)
{
    unsigned b;
    uint64_t v = 0;

    do {
        b = read_byte(g);
        v = v << 7 | (b & 0x7f);
    } while ((b & 0x80) && v < UINT32_MAX);
    return (int64_t)v;
}

/* Some codecs repeat the size of their data, and htslib allocates that one. */
static int64_t codec_size(cs_cram_guard *g, const struct block *b)
{
    if (b->n == 0 || b->packed == 0)
        return b->n;
    switch (b->method) {
    case RANS_4X8:
        (void)read_byte(g);      /* order */
        (void)read_int32(g);     /* packed bytes */
        return read_int32(g);
    case RANS_NX16:
    case ARITHMETIC:
        return read_byte(g) & NO_SIZE ? b->n : read_uint7(g);
    case FQZCOMP:
        return read_uint7(g);
    case NAMES:
        return read_int32(g);
    default:
        return b->n;
    }
}

/* A handle with which htslib reads blocks from memory; NULL without memory. */
static cram_fd *open_decoder(void)
{
    char *head = cs_alloc(sizeof empty_cram - 1, 1);
    hFILE *fp = NULL;

    if (head) {
        memcpy(head, empty_cram, sizeof empty_cram - 1);
        fp = hopen("mem:", "r:", head, sizeof empty_cram - 1);     /* frees it */
    }
    cram_fd *fd = fp ? cram_dopen(fp, "mem", "r") : NULL;
    if (fp && !fd)
        hclose_abruptly(fp);
    return fd;
}

/* Copy [begin, begin + n) of the file; NULL: it ends earlier, or without memory. */
static char *copy_bytes(cs_cram_guard *g, int64_t begin, size_t n)
{
    const bool there = g->read ? reach_stream(g, begin + (int64_t)n)
                     : begin + (int64_t)n <= g->size;
    char *copy = there ? cs_alloc(n, 1) : NULL;

    if (copy && g->read)
        memcpy(copy, g->window + (begin - g->window_start), n);
    for (size_t i = 0; copy && !g->read && i < n;) {
        const ssize_t got = pread(g->fd, copy + i, n - i, (off_t)begin + (off_t)i);
        if (got <= 0) {
            free(copy);
            return NULL;
        }
        i += (size_t)got;
    }
    return copy;
}

/* A block's data; NULL if htslib could not read them either. */
static cram_block *unpack(cs_cram_guard *g, const struct block *b)
{
    const size_t n = (size_t)(b->data + b->packed - b->begin);
    char *copy;

    if (!g->decoder && !(g->decoder = open_decoder()))
        return NULL;
    if (!(copy = copy_bytes(g, b->begin, n)))
        return NULL;
    hFILE *fp = hopen("mem:", "r:", copy, n), *own = cram_fd_get_fp(g->decoder);
    if (!fp)
        return NULL;
    cram_fd_set_fp(g->decoder, fp);
    cram_block *data = cram_read_block(g->decoder);
    cram_fd_set_fp(g->decoder, own);
    hclose_abruptly(fp);
    if (data && cram_uncompress_block(data) < 0) {
        cram_free_block(data);
        return NULL;
    }
    return data;
}

/* Work on a block's data with `check`, wherever they are. */
static int check_data(cs_cram_guard *g, const struct container *c, const struct block *b,
                  int (*check)(cs_cram_guard *, const struct container *, int64_t end))
{
    if (b->method == RAW) {
        go_to(g, b->data);
        return check(g, c, b->data + b->n);
    }
    cram_block *data = unpack(g, b);
    if (!data)
        return CS_OK;            /* htslib will say why */
    g->p = cram_block_get_data(data);
    g->end = g->p + cram_block_get_uncomp_size(data);
    g->at = 0;
    g->unpacked = true;
    const int rc = check(g, c, (int64_t)(g->end - g->p));
    g->unpacked = g->truncated = false;
    g->p = g->end = NULL;
    cram_free_block(data);
    return rc;
}

/* The sum of read lengths in a block. */
static int check_lengths(cs_cram_guard *g, const struct container *c, int64_t end)
{
    int64_t sum = 0;

    while (g->at < end && !g->truncated) {
        const int64_t length = read_itf8(g);
        sum += length > 0 ? length : 0;
    }
    return is_too_many(sum, FREE_BYTES, c->length) ? cram_guard_refuse(g, "bases", c->begin, sum)
                                                   : CS_OK;
}

/* One block, of n_sum bytes with those before it in its slice; read_end receives where it ends. */
static int check_block(cs_cram_guard *g, const struct container *c, bool first, int64_t *n_sum,
                       int64_t *n_block, int64_t *read_end)
{
    struct block b = { .begin = g->at };

    b.method = read_byte(g);
    b.type = read_byte(g);
    b.id = read_itf8(g);
    b.packed = read_itf8(g);
    b.n = read_itf8(g);
    b.data = g->at;
    *read_end = b.data + b.packed + (g->major >= 3 ? CRC_BYTES : 0);
    *n_sum = b.type == MAPPED_SLICE ? b.n : *n_sum + b.n;
    if (g->truncated)
        return CS_OK;
    if (b.packed < 0 || (g->header_checked && *read_end > c->data + c->length))
        return cram_guard_refuse(g, "bytes of a block", c->begin, b.packed);
    if (b.n < 0 || is_too_many(*n_sum, FREE_BYTES, c->length))
        return cram_guard_refuse(g, "bytes of uncompressed data", c->begin,
                                 b.n < 0 ? b.n : *n_sum);
    const int64_t again = codec_size(g, &b);
    if (again != b.n && !g->truncated)
        return cram_guard_refuse(g, "bytes in a codec", c->begin, again);
    if (b.type == MAPPED_SLICE && b.method != RAW)
        return cram_guard_refuse(g, "compressed slice headers", c->begin, 1);
    if (first)
        return b.type == COMPRESSION_HEADER ? check_data(g, c, &b, check_codecs) : CS_OK;
    if (b.type == MAPPED_SLICE) {
        go_to(g, b.data);
        return check_slice(g, c, b.packed, n_block);
    }
    return b.id == g->lengths_id ? check_data(g, c, &b, check_lengths) : CS_OK;
}

/* The first container may be longer than its blocks, and some writers declare less. */
static int check_blocks(cs_cram_guard *g, const struct container *c, int64_t *end)
{
    int64_t n_sum = 0, n_owned = 0, n_seen = 0;
    int rc = CS_OK;

    *end = c->data + c->length;
    g->max_length = 0;
    g->lengths_id = NO_ID;
    go_to(g, c->data);
    for (int64_t next; g->at < *end && !g->truncated; n_seen++) {
        CS_TRY(check_block(g, c, n_seen == 0, &n_sum, &n_owned, &next));
        go_to(g, next);
        if (!g->header_checked) {
            *end = next > *end ? next : *end;
            break;
        }
    }
    if (!g->truncated && n_owned > 0 && n_owned >= n_seen)     /* one is the container's own */
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
    if (g->truncated)
        return CS_OK;
    if (is_too_many(c.records, FREE_RECORDS, c.length))
        return cram_guard_refuse(g, "records", c.begin, c.records);
    CS_TRY(check_blocks(g, &c, &end));
    g->checked[g->n_checked++ % g->ahead] = c.begin;
    g->header_checked = true;
    go_to(g, end);
out:
    return rc;
}

static cs_cram_guard *begin_guard(const char *path, int ahead)
{
    cs_cram_guard *g = cs_xcalloc(1, sizeof *g);

    g->path = path;
    g->fd = -1;
    g->ahead = ahead;
    g->checked = cs_xcalloc((size_t)g->ahead, sizeof *g->checked);
    return g;
}

/* "CRAM" and the version's first number; then to the first container. */
static void read_version(cs_cram_guard *g)
{
    for (int i = 0; i < 5; i++)
        g->major = (int)read_byte(g);
    go_to(g, HEAD_BYTES);
}

static int check_version(const cs_cram_guard *g)
{
    return g->truncated || g->major == 2 || g->major == 3 ? CS_OK
        : cs_fail(CS_EFORMAT, "'%s' is CRAM of version %d; supported are 2 and 3 (samtools view "
                  "-C converts)", g->path, g->major);
}

cs_cram_guard *cs_cram_guard_new(const char *path, int threads)
{
    struct stat st;
    cs_cram_guard *g = begin_guard(path, SLICES_AHEAD + SLICES_PER_THREAD * threads);

    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return g;
    g->fd = open(path, O_RDONLY | O_CLOEXEC);
    g->size = st.st_size;
    if (g->fd >= 0)
        read_version(g);
    return g;
}

void cs_cram_guard_free(cs_cram_guard *g)
{
    if (!g)
        return;
    if (g->fd >= 0)
        (void)close(g->fd);      /* read only: errors do not matter */
    if (g->decoder)
        (void)cram_close(g->decoder);
    CS_FREE(g->window, g->checked, g);
}

int cs_cram_guard_reach(cs_cram_guard *g, int64_t at)
{
    int rc = g->fd >= 0 ? check_version(g) : CS_OK;

    while (rc == CS_OK && g->fd >= 0 && !g->truncated
           && (g->n_checked < g->ahead || g->checked[g->n_checked % g->ahead] <= at))
        rc = check_next(g);
    return rc;
}

int cs_cram_guard_jump(cs_cram_guard *g, int64_t at)
{
    g->n_checked = 0;
    g->truncated = false;
    if (g->fd >= 0)
        go_to(g, at);
    return cs_cram_guard_reach(g, at);
}

cs_cram_guard *cs_cram_guard_stream(const char *path, cs_cram_read *read, void *arg)
{
    cs_cram_guard *g = begin_guard(path, 1);

    g->read = read;
    g->arg = arg;
    read_version(g);
    return g;
}

int cs_cram_guard_pass(cs_cram_guard *g, const char **p, size_t *n)
{
    int rc = CS_OK;

    if (g->n_passed > 0)
        memmove(g->window, g->window + g->n_passed, g->n_window - g->n_passed);
    g->n_window -= g->n_passed;
    g->window_start += (int64_t)g->n_passed;
    g->p = g->end = NULL;
    CS_TRY(check_version(g));
    if (!g->truncated)
        CS_TRY(check_next(g));
    g->truncated |= !reach_stream(g, g->at);
    if (g->no_memory)
        return cs_fail(CS_EMEM, "out of memory for the container at byte %lld of '%s'",
                       (long long)g->window_start, g->path);
    g->n_passed = g->truncated ? g->n_window : (size_t)(g->at - g->window_start);
    *p = (const char *)g->window;
    *n = g->n_passed;
out:
    return rc;
}

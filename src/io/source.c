/* source.c - the bytes of a text input: plain, gzip or BGZF, decompressed and verified.
 *
 * DESIGN: gzip is read here and not through htslib's BGZF layer, which neither mixes plain gzip
 * members with BGZF ones (`cat a.fa.gz b.fa.gz`) nor distinguishes truncation, wrong checksums and
 * trailing garbage. BGZF blocks are independent and small, so all buffered ones are inflated whole,
 * by a parallel loop (inflate.h); other members are inflated as a stream.
 *
 *   raw: [ consumed | pos ... compressed ... end |  free  ]     out: [ text, given to the caller ]
 */
#include "io/source.h"

#include <errno.h>
#include <string.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <zlib.h>

#include "base/budget.h"
#include "base/mem.h"
#include "io/inflate.h"
#include "io/input_pump.h"

enum {
    PIECE = 1 << 18,             /* text per piece, bytes */
    BLOCK_MAX = 1 << 16,         /* a BGZF block, compressed or not (SAM specification 4.1) */
    BGZF_HEAD = 18,              /* its header, with the one subfield that every writer writes */
    GZIP_TAIL = 8,               /* checksum and length */
    BLOCKS = 8, BLOCKS_MAX = 64
};

struct block {
    const unsigned char *in;     /* the deflated data */
    size_t   n_in, n_out;
    char    *out;
    uint32_t crc;
    bool     good;
};

struct cs_source {
    hFILE         *fp;
    bool           is_gzip;
    bool           raw_end;      /* nothing more to read into raw */
    bool           in_member;    /* inside a gzip member that is inflated as a stream */
    bool           lacks_end;    /* the last BGZF block had text in it */
    int64_t        at, from, to; /* blocks before `at` are skipped; limits of the zones */
    cs_zone        zone;         /* of the last text, or of the present member */
    int            n_thread;
    unsigned char *raw;
    size_t         raw_cap, pos, end;
    char          *out;
    size_t         out_cap;
    z_stream       stream;
    cs_inflater  **worker;       /* [n_block] one per buffered block */
    struct block  *block;        /* [n_block] */
    int            n_block, n_worker;
    int            failed;       /* reported by the next fill, after the text before it */
    const char    *problem, *advice;
};

static int fail(cs_source *s, int code, const char *problem, const char *advice)
{
    s->problem = problem;
    s->advice = advice;
    return s->failed = code;
}

static int source_cut(cs_source *s)
{
    return fail(s, CS_EFORMAT, "compressed data ends early",
                "the file is probably truncated");
}

static int damaged(cs_source *s, const char *problem)
{
    return fail(s, CS_EFORMAT, problem, "the file is damaged; download it again");
}

static int open_gzip(cs_source *s)
{
    s->n_block = BLOCKS * s->n_thread < BLOCKS_MAX ? BLOCKS * s->n_thread : BLOCKS_MAX;
    s->raw_cap = s->out_cap = (size_t)s->n_block * BLOCK_MAX;
    s->raw = cs_alloc(s->raw_cap, 1);
    s->worker = cs_alloc((size_t)s->n_block, sizeof *s->worker);
    s->block = cs_alloc((size_t)s->n_block, sizeof *s->block);
    if (!s->raw || !s->worker || !s->block)
        return CS_EMEM;
    if (inflateInit2(&s->stream, 15 + 16) != Z_OK)        /* 16: gzip, checksums verified */
        return CS_EMEM;
    for (; s->n_worker < s->n_block; s->n_worker++) {
        if ((s->worker[s->n_worker] = cs_inflater_new()) == NULL)
            return CS_EMEM;
    }
    return CS_OK;
}

int cs_source_open(struct hFILE *fp, bool is_gzip, int threads, cs_source **out)
{
    int rc = CS_OK;
    cs_source *s = cs_xcalloc(1, sizeof *s);
    s->fp = fp;
    s->is_gzip = is_gzip;
    s->n_thread = threads > 0 ? threads + 1 : 1;
    s->out_cap = PIECE;
    s->to = INT64_MAX;
    s->zone = CS_ZONE_WITHIN;
    if (is_gzip)
        CS_TRY(open_gzip(s));
    s->out = cs_alloc(s->out_cap, 1);
    if (!s->out)
        rc = CS_EMEM;
out:
    if (rc == CS_OK) {
        *out = s;
        return CS_OK;
    }
    int ignored = cs_source_close(s);
    (void)ignored;
    return cs_fail(rc, "out of memory for an input buffer");
}

int cs_source_open_file(const char *path, cs_source **out)
{
    int rc = CS_OK;
    htsFormat m;
    const char *shown = cs_input_shown(path);
    hFILE *fp = cs_pump_open(path);

    if (!fp)
        return cs_fail(CS_EIO, "cannot open '%s': %s", shown, strerror(errno));
    memset(&m, 0, sizeof m);
    if (hts_detect_format2(fp, NULL, &m) < 0)
        rc = cs_fail(CS_EIO, "cannot read '%s': %s", shown, strerror(errno));
    else if (m.compression != no_compression && m.compression != gzip && m.compression != bgzf)
        rc = cs_fail(CS_EFORMAT, "'%s' is compressed, but not by gzip or bgzip; decompress it "
                     "first", shown);
    if (rc == CS_OK)
        return cs_source_open(fp, m.compression != no_compression, 0, out);
    hclose_abruptly(fp);
    return cs_pump_interrupted(rc);
}

static int read_raw(cs_source *s, void *to, size_t n, size_t *got)
{
    /* A pipe may block for long: leave the threads to others. */
    cs_budget *budget = cs_budget_leave();
    const ssize_t r = hread(s->fp, to, n);
    const int why = errno;
    cs_budget_enter(budget);
    if (r < 0)
        return fail(s, CS_EIO, strerror(why ? why : EIO), "");
    *got = (size_t)r;
    return CS_OK;
}

static int refill(cs_source *s)
{
    size_t got = 0;
    if (s->raw_end || s->end - s->pos >= s->raw_cap / 2)
        return CS_OK;
    memmove(s->raw, s->raw + s->pos, s->end - s->pos);
    s->end -= s->pos;
    s->pos = 0;
    const int rc = read_raw(s, s->raw + s->end, s->raw_cap - s->end, &got);
    s->end += got;
    s->raw_end = s->end < s->raw_cap;
    return rc;
}

/* ---- zones ----------------------------------------------------------------------------------- */

/* Set the zone of the text that starts here; returns the bytes of the file left in it. */
static int64_t enter(cs_source *s, int64_t at)
{
    s->at = 0;                   /* from here on nothing is skipped */
    s->zone = at < s->from ? CS_ZONE_BEFORE : at < s->to ? CS_ZONE_WITHIN : CS_ZONE_BEHIND;
    if (s->zone == CS_ZONE_BEHIND)
        return INT64_MAX;
    return (s->zone == CS_ZONE_BEFORE ? s->from : s->to) - at;
}

cs_zone cs_source_zone(const cs_source *s)
{
    return s->zone;
}

/* ---- BGZF and gzip --------------------------------------------------------------------------- */

static unsigned le16(const unsigned char *p)
{
    return p[0] | (unsigned)p[1] << 8;
}

static uint32_t le32(const unsigned char *p)
{
    return le16(p) | (uint32_t)le16(p + 2) << 16;
}

size_t cs_bgzf_size(const unsigned char *p, size_t n, size_t *n_head)
{
    static const unsigned char magic[4] = { 31, 139, 8, 4 };       /* gzip, with extra field only */
    if (n < BGZF_HEAD || memcmp(p, magic, sizeof magic) != 0)
        return 0;
    *n_head = 12u + le16(p + 10);
    for (size_t i = 12; i + 6 <= *n_head && i + 6 <= n; i += 4u + le16(p + i + 2)) {
        if (p[i] == 'B' && p[i + 1] == 'C' && le16(p + i + 2) == 2)
            return 1u + le16(p + i + 4);
    }
    return 0;
}

static void inflate_block(cs_inflater *z, struct block *b)
{
    b->good = cs_inflate(z, b->in, b->n_in, b->out, b->n_out, b->crc);
}

/* The complete, well-formed blocks at raw[pos..] that start in one zone; *used bytes of it. */
static int gather_blocks(cs_source *s, size_t *used)
{
    int n = 0;
    size_t out = 0, size, n_head;
    const int64_t limit = enter(s, cs_source_tell(s));
    *used = 0;
    while (n < s->n_block && (int64_t)*used < limit) {
        const unsigned char *p = s->raw + s->pos + *used;
        const size_t left = s->end - s->pos - *used;
        size = cs_bgzf_size(p, left, &n_head);
        if (size == 0 || size > left || size < n_head + GZIP_TAIL ||
            le32(p + size - 4) > BLOCK_MAX)
            break;
        s->block[n] = (struct block){
            .in = p + n_head, .n_in = size - n_head - GZIP_TAIL, .n_out = le32(p + size - 4),
            .out = s->out + out, .crc = le32(p + size - GZIP_TAIL)
        };
        out += s->block[n++].n_out;
        *used += size;
    }
    return n;
}

/* One or more BGZF blocks. *n may stay 0: an end marker, of which there may be several. */
static int fill_blocks(cs_source *s, size_t *n)
{
    size_t used, n_head;
    const size_t left = s->end - s->pos;       /* more than a block, or the file's last bytes */
    const int n_block = gather_blocks(s, &used);
    if (n_block == 0 && cs_bgzf_size(s->raw + s->pos, left, &n_head) > left)
        return source_cut(s);
    if (n_block == 0)
        return damaged(s, "a BGZF block has an impossible size");
#pragma omp parallel for schedule(dynamic) num_threads(s->n_thread)
    for (int i = 0; i < n_block; i++)
        inflate_block(s->worker[i], &s->block[i]);

    /* The next call reports a bad block, as its first. */
    for (int i = 0; i < n_block; i++) {
        const struct block *b = &s->block[i];
        if (!b->good && i == 0)
            return damaged(s, "compressed data has a wrong checksum");
        if (!b->good)
            break;
        *n += b->n_out;
        s->lacks_end = b->n_out > 0;
        s->pos = (size_t)(b->in + b->n_in + GZIP_TAIL - s->raw);
    }
    return CS_OK;
}

static int fill_stream(cs_source *s, size_t *n)
{
    z_stream *z = &s->stream;
    z->next_out = (Bytef *)s->out;
    z->avail_out = PIECE;
    z->next_in = s->raw + s->pos;
    z->avail_in = (uInt)(s->end - s->pos);
    const int zrc = inflate(z, Z_NO_FLUSH);
    const bool moved = z->next_in != s->raw + s->pos || z->avail_out < PIECE;
    s->pos = s->end - z->avail_in;
    *n = PIECE - z->avail_out;
    switch (zrc) {
    case Z_STREAM_END:
        s->in_member = false;
        return CS_OK;
    case Z_OK:
    case Z_BUF_ERROR:
        return moved || !s->raw_end ? CS_OK : source_cut(s);
    case Z_MEM_ERROR:
        return fail(s, CS_EMEM, "out of memory while decompressing", "");
    default:
        if (z->msg && strstr(z->msg, "check"))
            return damaged(s, "compressed data has a wrong checksum");
        return damaged(s, "compressed data is damaged");
    }
}

/* Between members: zeros may pad the end (tapes did that, gzip accepts it), nothing else. */
static int begin_member(cs_source *s)
{
    const unsigned char *p = s->raw + s->pos;
    const size_t left = s->end - s->pos;
    size_t i = 0;
    if (left >= 2 && p[0] == 31 && p[1] == 139) {
        inflateReset(&s->stream);
        (void)enter(s, cs_source_tell(s));
        s->in_member = true;
        s->lacks_end = false;
        return CS_OK;
    }
    if (left == 1 && p[0] == 31)
        return source_cut(s);
    while (i < left && p[i] == 0)
        i++;
    if (i < left)
        return damaged(s, "something that is not gzip follows the compressed data");
    s->pos = s->end;
    return CS_OK;
}

/* Skip a whole BGZF block. */
static bool pass_block(cs_source *s)
{
    size_t n_head;
    const size_t size = cs_bgzf_size(s->raw + s->pos, s->end - s->pos, &n_head);
    const bool pass = size > 0 && size <= s->end - s->pos && cs_source_tell(s) < s->at;

    if (pass)
        s->pos += size;
    return pass;
}

static int fill_gzip(cs_source *s, size_t *n)
{
    int rc = CS_OK;
    size_t n_head;
    while (rc == CS_OK && *n == 0) {
        CS_TRY(refill(s));
        if (s->in_member)
            rc = fill_stream(s, n);
        else if (s->pos == s->end)
            return CS_EOF;
        else if (pass_block(s))
            continue;
        else if (cs_bgzf_size(s->raw + s->pos, s->end - s->pos, &n_head))
            rc = fill_blocks(s, n);
        else
            rc = begin_member(s);
    }
out:
    return rc;
}

int cs_source_start(cs_source *s, int64_t at, int64_t from, int64_t to, int64_t known)
{
    unsigned char head[BGZF_HEAD];
    size_t n_head;

    s->at = at;
    s->from = from;
    s->to = to;
    s->pos = s->end = 0;
    s->raw_end = s->in_member = s->lacks_end = false;
    s->failed = CS_OK;
    const off_t start = (off_t)(s->is_gzip ? known : at);
    bool bad = hseek(s->fp, start, SEEK_SET) < 0;
    /* The index may belong to another file. */
    if (!bad && s->is_gzip && known > 0
        && (hpeek(s->fp, head, sizeof head) < BGZF_HEAD
            || !cs_bgzf_size(head, sizeof head, &n_head)))
        bad = hseek(s->fp, 0, SEEK_SET) < 0;
    return bad ? fail(s, CS_EIO, strerror(errno), "") : CS_OK;
}

int cs_source_fill(cs_source *s, const char **p, size_t *n)
{
    int rc = s->failed;
    *p = s->out;
    *n = 0;
    if (rc != CS_OK)
        return rc;
    if (s->is_gzip) {
        rc = fill_gzip(s, n);
        return *n ? CS_OK : cs_pump_interrupted(rc);
    }
    const int64_t limit = enter(s, (int64_t)htell(s->fp));
    CS_TRY(read_raw(s, s->out, limit < PIECE ? (size_t)limit : s->out_cap, n));
    if (*n == 0)
        rc = CS_EOF;
out:
    return cs_pump_interrupted(rc);
}

const char *cs_source_problem(const cs_source *s, const char **advice)
{
    *advice = s->advice ? s->advice : "";
    return s->problem ? s->problem : "unknown error";
}

int64_t cs_source_tell(const cs_source *s)
{
    return (int64_t)htell(s->fp) - (int64_t)(s->end - s->pos);
}

bool cs_source_lacks_end(const cs_source *s)
{
    return s->lacks_end;
}

int cs_source_close(cs_source *s)
{
    if (!s)
        return CS_OK;
    const int bad = hclose(s->fp);
    inflateEnd(&s->stream);
    for (int i = 0; i < s->n_worker; i++)
        cs_inflater_free(s->worker[i]);
    CS_FREE(s->worker, s->block, s->raw, s->out, s);
    return bad ? CS_EIO : CS_OK;
}

/* read_bam.c - SAM, BAM and CRAM: primary records, as the sequencer read them.
 *
 * DESIGN: htslib decodes. Secondary and supplementary records repeat bases of another record, so
 * they are counted and skipped by default; mates get "/1" and "/2" after their names, as in
 * samtools fastq; a read on the reverse strand is reverse-complemented (qualities reversed). Unused
 * fields are not decoded from CRAM. Regions are read one by one, but those that are close together
 * in one pass: htslib's iterator over several omits and adds alignments of CRAM (1.16).
 * Only BAM and CRAM use threads: htslib would read SAM in another thread, and the line number would
 * be lost.
 */
#include "io/reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <htslib/bgzf.h>
#include <htslib/cram.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/hts_expr.h>
#include <htslib/sam.h>

#include "io/bam_guard.h"
#include "io/cram_guard.h"
#include "io/index_name.h"
#include "io/reference.h"
#include "io/regions.h"
#include "io/sam_header.h"

enum { INDEX_SHIFT = 14, CACHE_BYTES = 1 << 20 };   /* INDEX_SHIFT: of BAI, by default of CSI */

/* Bases [from, to) of a contig; a negative one is one of htslib's HTS_IDX_. */
struct interval { int tid; hts_pos_t from, to; };

struct alignments {
    const char     *path;
    htsFile        *fp;
    hFILE          *raw;         /* what fp reads from, for its position */
    int             threads;
    sam_hdr_t      *header;
    bam1_t         *b;
    cs_input_count *count;       /* or NULL */
    const char     *reference;   /* or NULL */
    const cs_input_opt *opt;     /* while opening */
    const char     *expr;        /* of `filter` */
    int             require, exclude;
    hts_idx_t      *index;
    struct interval *interval;   /* [n_interval] regions, sorted and disjoint */
    int             n_interval;
    int             first, next; /* intervals [first, next) are those of `region` */
    int             current;     /* the first of them that ends after the last alignment's start */
    hts_itr_t      *region;      /* over some intervals and what is between, or NULL: all */
    hts_filter_t   *filter;      /* or NULL */
    cs_cram_guard  *guard;       /* of CRAM, or NULL */
    bool            keep_native; /* attach whole alignments */
    const cs_programs *programs; /* to change in these, or NULL */
    uint64_t        n_read;      /* all records, including skipped ones */
};

static int alignments_sniff(const htsFormat *m, const char *head, size_t n_head)
{
    (void)head;
    (void)n_head;
    return m->format == sam || m->format == bam || m->format == cram ? CS_SNIFF_YES : CS_SNIFF_NO;
}

static int alignments_close(void *state)
{
    struct alignments *a = state;
    bam_destroy1(a->b);
    hts_itr_destroy(a->region);
    hts_filter_free(a->filter);
    hts_idx_destroy(a->index);
    cs_cram_guard_free(a->guard);
    sam_hdr_destroy(a->header);
    const int bad = a->fp && hts_close(a->fp) < 0;
    CS_FREE(a->interval, a);
    return bad ? CS_EIO : CS_OK;
}

static int set_cram(struct alignments *a)
{
    int rc = CS_OK;
    const int place = a->opt->n_region > 0 ? SAM_RNAME | SAM_POS | SAM_CIGAR : 0;
    /* For files without names htslib generates them: one for both mates if it decodes mates. */
    const int wanted = SAM_QNAME | SAM_FLAG | SAM_SEQ | SAM_QUAL | SAM_RNEXT | place;
    const bool all = a->keep_native || a->filter;
    if (!all && (hts_set_opt(a->fp, CRAM_OPT_REQUIRED_FIELDS, wanted) < 0 ||
                 hts_set_opt(a->fp, CRAM_OPT_DECODE_MD, 0) < 0))
        return cs_fail(CS_EIO, "'%s': cannot set up decoding of CRAM", a->path);
    /* Checked before htslib, which would also print it to stderr. */
    if (a->reference && access(a->reference, R_OK) != 0)
        return cs_fail(CS_EIO, "cannot read the reference '%s' for '%s': %s", a->reference, a->path,
                       strerror(errno));
    if (a->reference)
        CS_TRY(cs_reference_usable(a->reference));
    if (a->reference && hts_set_opt(a->fp, CRAM_OPT_REFERENCE, a->reference) < 0)
        rc = cs_fail(CS_EIO, "cannot use the reference '%s' for '%s'; it must be a FASTA file, "
                     "indexed or in a writable folder", a->reference, a->path);
out:
    return rc;
}

int cs_alignment_flags(const char *text, int *flags)
{
    /* Parse numbers here: bam_str2flag() ignores trailing characters. */
    char *end = (char *)(uintptr_t)text;
    const bool is_number = *text >= '0' && *text <= '9';
    const long n = is_number ? strtol(text, &end, 0) : bam_str2flag(text);

    *flags = (int)n;
    if (*text && (!is_number || *end == '\0') && n >= 0 && n <= 0xffff)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "'%s' is not a FLAG; give a number or comma-separated names such "
                   "as UNMAP,DUP,SECONDARY", text);
}

/* "; did you mean 'chr20'?": the contig with or without "chr", if the file has that. */
static const char *other_contig(const struct alignments *a, const char *name, char *buf, size_t n)
{
    char other[CS_CONTIG_BYTES];

    (void)cs_contig_other(name, other);
    (void)snprintf(buf, n, "; did you mean '%s'?", other);
    return *other && sam_hdr_name2tid(a->header, other) >= 0 ? buf : "";
}

/* Names of regions from BED files are in braces, as they may have a colon. */
static int refuse_region(const struct alignments *a, const char *text)
{
    const char *end = *text == '{' ? strrchr(text, '}') : strrchr(text, ':');
    const size_t skip = *text == '{', n = (end ? (size_t)(end - text) : strlen(text)) - skip;
    const char *remedy = skip ? "" : cs_region_remedy(text);
    char hint[CS_CONTIG_BYTES + 32], *name = cs_xstrdup(text + skip);
    int rc;

    name[n] = '\0';
    if (sam_hdr_name2tid(a->header, name) >= 0)
        rc = cs_fail(CS_EUSAGE, "'%s' is not a region; give NAME or NAME:FROM-TO%s", text,
                     remedy);
    else
        rc = cs_fail(CS_EUSAGE, "'%s' has no contig '%s', which a region is on%s%s", a->path, name,
                     other_contig(a, name, hint, sizeof hint), remedy);
    free(name);
    return rc;
}

/* Every region must be in this file. */
static int parse_region(const struct alignments *a, const char *text, struct interval *p)
{
    *p = (struct interval){ .tid = strcmp(text, "*") == 0 ? HTS_IDX_NOCOOR : HTS_IDX_START };
    return p->tid == HTS_IDX_NOCOOR || strcmp(text, ".") == 0
        || (sam_parse_region(a->header, text, &p->tid, &p->from, &p->to, 0) && p->tid >= 0)
        ? CS_OK : refuse_region(a, text);
}

/* As in the file: alignments without a contig are the last. */
static int by_position(const void *x, const void *y)
{
    const struct interval *a = x, *b = y;
    const unsigned s = (unsigned)a->tid, t = (unsigned)b->tid;

    return s != t ? (s > t) - (s < t) : (a->from > b->from) - (a->from < b->from);
}

/* Sort them, and join those that overlap or touch; htslib's "." is the whole file. */
static void join_intervals(struct alignments *a)
{
    struct interval *p = a->interval;
    int n = 0;

    qsort(p, (size_t)a->n_interval, sizeof *p, by_position);
    for (int i = 0; i < a->n_interval; i++) {
        if (p[i].tid == HTS_IDX_START)
            n = 0;
        if (n > 0 && p[n - 1].tid == p[i].tid && p[n - 1].to >= p[i].from)
            p[n - 1].to = p[n - 1].to > p[i].to ? p[n - 1].to : p[i].to;
        else
            p[n++] = p[i];
        if (p[i].tid == HTS_IDX_START)
            break;
    }
    a->n_interval = n;
}

/* In BAM a search begins at the first alignment of a window of 16,384 bases, so those between two
 * regions of one window are read anyway. In CRAM it decodes a slice, mostly of more bases. */
static bool is_close(const struct alignments *a, int k)
{
    const struct interval *p = &a->interval[k];

    return p->tid >= 0 && p[-1].tid == p->tid
        && p->from >> INDEX_SHIFT <= p[-1].to >> INDEX_SHIFT;
}

static int next_region(struct alignments *a)
{
    const struct interval *p = &a->interval[a->next];

    a->first = a->current = a->next++;
    while (a->next < a->n_interval && is_close(a, a->next))
        a->next++;
    hts_itr_destroy(a->region);
    a->region = sam_itr_queryi(a->index, p->tid, p->from, a->interval[a->next - 1].to);
    if (!a->region)
        return cs_fail(CS_EIO, "'%s': cannot find a region in the index; is it of this file?",
                       a->path);
    /* If it is empty, htslib remains where it was, possibly within a container. */
    return a->guard && !a->region->finished
        ? cs_cram_guard_jump(a->guard, (int64_t)htell(a->raw)) : CS_OK;
}

/* Is the alignment in an interval of this region, and in none before? */
static bool is_inside(struct alignments *a)
{
    const struct interval *p = a->interval, *before = a->first > 0 ? &p[a->first - 1] : NULL;
    const hts_pos_t from = a->b->core.pos;

    if (before && before->tid == p[a->first].tid && from < before->to)
        return false;
    while (a->current + 1 < a->next && p[a->current].to <= from)
        a->current++;
    return a->next - a->first == 1 || p[a->current].from < bam_endpos(a->b);
}

static int find_regions(struct alignments *a)
{
    int rc = CS_OK;
    const cs_input_opt *o = a->opt;

    if (o->n_region == 0)
        return CS_OK;
    if (a->fp->format.format == bam)
        CS_TRY(cs_index_guard(a->path));
    a->index = sam_index_load3(a->fp, a->path, cs_index_given(a->path), HTS_IDX_SILENT_FAIL);
    if (!a->index)
        return cs_index_missing(a->path, "create one (samtools index)");
    cs_index_warn_old(a->path);
    if (a->fp->format.format == bam)    /* several searches may end in one block */
        bgzf_set_cache_size(a->fp->fp.bgzf, CACHE_BYTES);
    a->interval = cs_alloc((size_t)o->n_region, sizeof *a->interval);
    if (!a->interval)
        return cs_fail(CS_EMEM, "'%s': out of memory for its regions", a->path);
    for (a->n_interval = 0; a->n_interval < o->n_region; a->n_interval++)
        CS_TRY(parse_region(a, o->region[a->n_interval], &a->interval[a->n_interval]));
    join_intervals(a);
    rc = next_region(a);
out:
    return rc;
}

/* Before htslib allocates the declared sizes. */
static int check_sizes(struct alignments *a)
{
    if (a->fp->format.format == bam)
        return cs_bam_guard(a->path);
    if (a->fp->format.format != cram)
        return CS_OK;
    a->guard = cs_cram_guard_new(a->path, a->threads);
    return cs_cram_guard_reach(a->guard, 0);
}

static int open_alignments(struct alignments *a, hFILE *fp)
{
    int rc = CS_OK;
    a->raw = fp;
    a->fp = hts_hopen(fp, a->path, "r");
    if (!a->fp) {
        hclose_abruptly(fp);
        return cs_fail(CS_EFORMAT, "'%s': the file is damaged: %s", a->path, strerror(errno));
    }
    CS_TRY(check_sizes(a));
    if (a->fp->format.format == cram)
        CS_TRY(set_cram(a));
    CS_TRY(cs_sam_header_read(a->fp, a->path, &a->header));
    /* Not earlier: in a truncated BAM file htslib's search for the end marker, before the header,
     * may wait for a thread that has failed. */
    if (a->threads && hts_set_threads(a->fp, a->threads) < 0)
        return cs_fail(CS_EIO, "'%s': cannot start decompression threads", a->path);
    CS_TRY(find_regions(a));
    a->b = bam_init1();
    if (!a->b)
        rc = cs_fail(CS_EMEM, "out of memory for the records of '%s'", a->path);
out:
    return rc;
}

static int alignments_open(const char *path, hFILE *fp, const htsFormat *m,
                           const cs_input_opt *opt, void **state)
{
    struct alignments *a = cs_xcalloc(1, sizeof *a);
    a->path = path;
    a->count = opt->count;
    a->reference = opt->reference;
    a->opt = opt;
    a->require = opt->filter ? opt->require : 0;
    a->exclude = opt->filter ? opt->exclude : BAM_FSECONDARY | BAM_FSUPPLEMENTARY;
    a->keep_native = opt->keep_native;
    a->programs = opt->programs;
    /* With threads htslib (1.16) omits alignments at the end of regions of CRAM. */
    a->threads = m->format == sam || (m->format == cram && opt->n_region > 0) ? 0 : opt->threads;
    a->expr = opt->expr;
    a->filter = opt->expr ? hts_filter_init(opt->expr) : NULL;
    const int rc = open_alignments(a, fp);
    if (rc != CS_OK) {
        const int closed = alignments_close(a);
        (void)closed;                /* report the first failure */
        return rc;
    }
    *state = a;
    return CS_OK;
}

/* At the end: a file without an end marker has probably lost records. */
static int check_end(const struct alignments *a)
{
    const int marked = a->fp->format.format == cram ? cram_eof(a->fp->fp.cram) == 1
                     : a->fp->is_bgzf ? !a->fp->fp.bgzf->no_eof_block || a->fp->fp.bgzf->is_gzip
                     : 1;
    if (marked)
        return CS_EOF;
    return cs_fail(CS_EFORMAT, "'%s': the end marker is missing after record %llu; the file is "
                   "probably truncated", a->path, (unsigned long long)a->n_read);
}

static int decoding_failed(const struct alignments *a)
{
    const char *hint = "; -v shows htslib's reason";
    /* htslib parses the header when the first record needs it. */
    if (a->fp->format.format == sam && cs_sam_header_check(a->header, a->path) != CS_OK)
        return CS_EFORMAT;
    /* htslib refuses every contig then, and has set -1 for a record without one. */
    if (a->fp->format.format == sam && sam_hdr_length(a->header) == 0 && a->b->core.tid >= 0)
        hint = "; there is no header, which 'samtools view' writes with -h";
    if (a->fp->format.format == sam)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: not a valid SAM record%s", a->path,
                       (long long)a->fp->lineno, hint);
    if (a->fp->format.format == cram)
        return cs_fail(CS_EFORMAT, "'%s': record %llu cannot be decoded; the file is truncated "
                       "or damaged, or %s%s", a->path, (unsigned long long)a->n_read + 1,
                       a->reference ? "the reference differs"
                                    : "a reference is needed (--reference FILE)", hint);
    return cs_fail(CS_EFORMAT, "'%s': record %llu cannot be decoded; the file is truncated or "
                   "damaged%s", a->path, (unsigned long long)a->n_read + 1, hint);
}

static void count_skipped(const struct alignments *a)
{
    const unsigned why = a->b->core.flag & (unsigned)a->exclude;

    if (!a->count)
        return;
    if (why & BAM_FSECONDARY)
        a->count->n_secondary++;
    else if (why & BAM_FSUPPLEMENTARY)
        a->count->n_supplementary++;
    else
        a->count->n_filtered++;
}

/* The next record with the required flags. */
static int read_wanted(struct alignments *a)
{
    int rc = CS_OK;

    for (;;) {
        if (a->guard)
            CS_TRY(cs_cram_guard_reach(a->guard, (int64_t)htell(a->raw)));
        const int r = a->region ? sam_itr_next(a->fp, a->region, a->b)
                                : sam_read1(a->fp, a->header, a->b);
        if (r == -1 && a->next < a->n_interval) {
            CS_TRY(next_region(a));
            continue;
        }
        if (r == -1)
            return a->region ? CS_EOF : check_end(a);
        if (r < -1)
            return decoding_failed(a);
        if (a->region && !is_inside(a))
            continue;
        a->n_read++;
        const int flag = a->b->core.flag;
        const bool wanted = (flag & a->require) == a->require && !(flag & a->exclude);
        const int passes = wanted && a->filter ? sam_passes_filter(a->header, a->b, a->filter) : 1;
        if (passes < 0)
            return cs_fail(CS_EUSAGE, "'%s' is not a valid filter expression; samtools(1) "
                           "describes them, and -v shows htslib's reason", a->expr);
        if (wanted && passes)
            return CS_OK;
        count_skipped(a);
    }
out:
    return rc;
}

/* "name/1" and "name/2" for mates, which share a name in the file. */
static const char *copy_name(struct alignments *a, cs_chunk *c)
{
    const char *qname = bam_get_qname(a->b);
    const unsigned mates = BAM_FREAD1 | BAM_FREAD2, flag = a->b->core.flag;
    const size_t n = strlen(qname);
    char *name = cs_arena_alloc(c->mem, n + 3, 1);

    if (!name)
        return NULL;
    memcpy(name, qname, n + 1);
    if ((flag & BAM_FPAIRED) && (flag & mates) && (flag & mates) != mates)
        memcpy(name + n, flag & BAM_FREAD1 ? "/1" : "/2", 3);
    return name;
}

/* Four bits a base, in pairs; '=' (as in the reference) is unknown here and becomes N. */
static void unpack_bases(const uint8_t *packed, int64_t n, char *out)
{
    static const char letter[] = "NACMGRSVTWYHKDBN";
    for (int64_t i = 0; i < n; i++)
        out[i] = letter[packed[i >> 1] >> (~i & 1) * 4 & 15];
}

static const char *copy_bases(struct alignments *a, cs_chunk *c)
{
    const int64_t n = a->b->core.l_qseq;
    char *base = cs_arena_alloc(c->mem, (size_t)n, 1);
    if (!base)
        return NULL;
    unpack_bases(bam_get_seq(a->b), n, base);
    for (int64_t i = 0, k = n - 1; bam_is_rev(a->b) && i <= k; i++, k--) {
        const char left = base[i];
        base[i] = cs_base_complement[(unsigned char)base[k]];
        base[k] = cs_base_complement[(unsigned char)left];
    }
    return base;
}

static const uint8_t *copy_quality(struct alignments *a, cs_chunk *c)
{
    const int64_t n = a->b->core.l_qseq;
    const uint8_t *q = bam_get_qual(a->b);
    uint8_t *qual = cs_arena_alloc(c->mem, (size_t)n, 1);
    for (int64_t i = 0; qual && i < n; i++)
        qual[i] = bam_is_rev(a->b) ? q[n - 1 - i] : q[i];
    return qual;
}

/* The alignment in one piece of the arena, so it need not be freed. */
static const bam1_t *copy_native(struct alignments *a, cs_chunk *c)
{
    bam1_t *b = cs_arena_alloc(c->mem, 1, sizeof *b);

    if (!b)
        return NULL;
    *b = *a->b;
    b->data = (uint8_t *)cs_arena_dup(c->mem, a->b->data, (size_t)a->b->l_data);
    b->m_data = (uint32_t)a->b->l_data;
    bam_set_mempolicy(b, BAM_USER_OWNS_STRUCT | BAM_USER_OWNS_DATA);
    return b->data ? b : NULL;
}

static int append_alignment(struct alignments *a, cs_chunk *c)
{
    const int64_t n = a->b->core.l_qseq;
    const char *qname = bam_get_qname(a->b);
    const int has_quality = n > 0 && bam_get_qual(a->b)[0] != 0xff;      /* SAM: "*" */
    const char *name = copy_name(a, c);
    const char *base = n ? copy_bases(a, c) : "";
    const uint8_t *qual = has_quality ? copy_quality(a, c) : NULL;
    const bam1_t *native = a->keep_native ? copy_native(a, c) : NULL;
    const bool got = name && base && (qual || !has_quality) && (native || !a->keep_native);
    cs_record *r = got ? cs_chunk_append(c) : NULL;
    if (!r)
        return cs_fail(CS_EMEM, "'%s': out of memory for record '%s' of %lld bases", a->path, qname,
                       (long long)n);
    r->name = name;
    r->seg[0] = (cs_segment){ base, qual, n };
    r->native[0] = native;
    return CS_OK;
}

static int alignments_next(void *state, cs_chunk *c)
{
    int rc = CS_OK;
    struct alignments *a = state;

    CS_TRY(read_wanted(a));
    if (a->keep_native && a->programs)
        CS_TRY(cs_programs_change(a->programs, a->b));
    rc = append_alignment(a, c);
out:
    return rc;
}

static sam_hdr_t *alignments_header(void *state)
{
    return ((const struct alignments *)state)->header;
}

static int64_t alignments_tell(void *state)
{
    const struct alignments *a = state;
    /* htslib's threads read ahead in `raw`; then only the block in use may be queried. */
    if (a->threads && a->fp->is_bgzf)
        return bgzf_tell(a->fp->fp.bgzf) >> 16;
    return (int64_t)htell(a->raw);
}

const cs_reader cs_read_bam = {
    .name = "bam",
    .sniff = alignments_sniff,
    .open = alignments_open,
    .next = alignments_next,
    .tell = alignments_tell,
    .header = alignments_header,
    .close = alignments_close,
};

/* vcf.c - read VCF and BCF records through htslib, keeping VCF as text. All commands read such
 * files here, so checks and messages are the same. */
#include "io/vcf.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/kseq.h>
#include <htslib/kstring.h>
#include <htslib/tbx.h>
#include <htslib/vcf.h>

#include "base/log.h"
#include "io/bam_guard.h"
#include "io/covered.h"
#include "io/hts_in.h"
#include "io/index_name.h"
#include "io/input_mark.h"
#include "io/input_pump.h"
#include "io/regions.h"
#include "io/vcf_internal.h"
#include "io/vcf_text.h"

enum { BGZF_BLOCKS = 2, CACHE_BYTES = 1 << 20 };     /* BGZF_BLOCKS: of bgzf_compression() */

/* tid: of its contig in the index; -1: it has none. */
struct region { char *contig; int64_t from, to; int tid; };

struct cs_vcf {
    char      *path;             /* for messages and the index */
    cs_input_mark mark;
    htsFile   *fp;
    bcf_hdr_t *header;
    bcf1_t    *rec;
    kstring_t  head;             /* the text of the header: of VCF, as it was */
    kstring_t  line, parsed;     /* htslib's parser writes into the line */
    char       start[CS_VCF_PLACE_BYTES];   /* [n_start] the line's first bytes, as they were */
    size_t     n_start;
    uint64_t   n_record;
    int        n_column;
    bool       as_native, is_stdin;
    hts_idx_t *index;            /* of BCF */
    tbx_t     *tabix;            /* of VCF */
    hts_itr_t *itr;              /* of the region, or NULL: the whole file */
    bool       no_contig;        /* the file has no records on the region's contig */
    bool       warned;           /* a contig that the header lacks, too, was reported */
    struct region *region;        /* [n_region] of cs_vcf_restrict() */
    int        n_region, current;    /* current: index of the region that is read */
    size_t     cap_region;
    cs_covered covered;          /* bases of the regions before it */
};

static bool is_text(const cs_vcf *v)
{
    return hts_get_format(v->fp)->format == vcf;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Header lines as they are; htslib reads their text. */
static int read_text_header(cs_vcf *v)
{
    int r = 0;

    while ((r = hts_getline(v->fp, KS_SEP_LINE, &v->line)) >= 0) {
        if (memchr(v->line.s, '\0', v->line.l))
            return cs_fail(CS_EFORMAT, "'%s': line %d has a NUL byte; the header is damaged",
                           v->path, (int)v->fp->lineno);
        if (v->line.l == 0 || v->line.s[0] != '#')
            return cs_fail(CS_EFORMAT, "'%s': line %d is before the line #CHROM; the header is "
                           "damaged", v->path, (int)v->fp->lineno);
        if (kputsn(v->line.s, v->line.l, &v->head) < 0 || kputc('\n', &v->head) < 0)
            return cs_fail(CS_EMEM, "out of memory for the header of '%s'", v->path);
        if (v->line.l < 2 || v->line.s[1] != '#')
            break;
    }
    if (r < -1)
        return cs_fail(CS_EFORMAT, "'%s': cannot be decompressed; it is truncated or damaged",
                       v->path);
    if (r == -1)
        return cs_fail(CS_EFORMAT, "'%s' ends before the line #CHROM; it is truncated", v->path);
    v->n_column = cs_vcf_n_column(v->line.s, v->line.l);
    if (strncmp(v->line.s, "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO", 38) != 0)
        return cs_fail(CS_EFORMAT, "'%s': the line #CHROM does not name the eight columns of a "
                       "VCF file, separated by tabs: #CHROM POS ID REF ALT QUAL FILTER INFO",
                       v->path);
    errno = 0;                   /* htslib ignores some allocations that fail */
    v->header = bcf_hdr_init("r");
    if (!v->header || bcf_hdr_parse(v->header, v->head.s) < 0)
        return cs_vcf_bad_header(v->path, v->head.s);
    if (errno == ENOMEM)
        return cs_fail(CS_EMEM, "out of memory for the header of '%s'", v->path);
    return CS_OK;
}

static int read_native_header(cs_vcf *v)
{
    v->header = bcf_hdr_read(v->fp);
    if (!v->header || bcf_hdr_format(v->header, 0, &v->head) < 0)
        return cs_fail(CS_EFORMAT, "'%s': the header of this BCF file is damaged", v->path);
    /* htslib recognises VCF by this line, BCF by other bytes. */
    if (strncmp(v->head.s, "##fileformat=VCF", 16) != 0)
        return cs_fail(CS_EFORMAT, "'%s' is not a VCF or BCF file: its header does not start with "
                       "##fileformat=VCF", v->path);
    return CS_OK;
}

static int open_all(cs_vcf *v, int threads)
{
    int rc = CS_OK;

    if (hts_get_format(v->fp)->category != variant_data)
        return cs_htsin_refuse(v->path, "VCF or BCF", v->fp);
    if (threads > 0 && hts_set_threads(v->fp, threads) < 0)
        return cs_fail(CS_EIO, "'%s': cannot start decompression threads", v->path);
    CS_TRY(is_text(v) ? read_text_header(v) : read_native_header(v));
    v->rec = bcf_init();
    if (!v->rec)
        rc = cs_fail(CS_EMEM, "out of memory for the records of '%s'", v->path);
out:
    return rc;
}

int cs_vcf_open(const char *path, int threads, bool as_native, cs_vcf **out)
{
    int rc = CS_OK;
    htsFile *fp;

    *out = NULL;
    CS_TRY(cs_htsin_open(path, "VCF or BCF", &fp));
    rc = cs_vcf_take(path, fp, threads, as_native, out);
out:
    return rc;
}

int cs_vcf_take(const char *path, htsFile *fp, int threads, bool as_native, cs_vcf **out)
{
    cs_vcf *v = cs_xcalloc(1, sizeof *v);

    *out = NULL;
    v->path = cs_xstrdup(cs_input_shown(path));
    v->is_stdin = strcmp(path, "-") == 0;
    cs_input_mark_set(&v->mark, path);
    v->fp = fp;
    v->as_native = as_native;
    const int rc = cs_pump_interrupted(open_all(v, threads));
    if (rc == CS_OK)
        *out = v;
    else
        cs_vcf_close(v);
    return rc;
}

void cs_vcf_close(cs_vcf *v)
{
    if (!v)
        return;
    hts_itr_destroy(v->itr);
    if (v->index)
        hts_idx_destroy(v->index);
    if (v->tabix)
        tbx_destroy(v->tabix);
    if (v->rec)
        bcf_destroy(v->rec);
    if (v->header)
        bcf_hdr_destroy(v->header);
    if (v->fp)
        hts_close(v->fp);        /* read only: all errors are reported already */
    ks_free(&v->head);
    ks_free(&v->line);
    ks_free(&v->parsed);
    for (int i = 0; i < v->n_region; i++)
        free(v->region[i].contig);
    cs_covered_release(&v->covered);
    CS_FREE(v->region, v->path, v);
}

const char *cs_vcf_path(const cs_vcf *v)
{
    return v->path;
}

void *cs_vcf_header(const cs_vcf *v)
{
    return v->header;
}

const char *cs_vcf_header_text(const cs_vcf *v)
{
    return v->head.s;
}

void *cs_vcf_native(const cs_vcf *v)
{
    return v->rec;
}

/* A contig's number in the index or the header by its name or the other form of that; -1: it has
 * none. */
static int find_contig(const cs_vcf *v, const char *contig, bool in_header)
{
    const bool in_tabix = is_text(v) && !in_header;
    char other[CS_CONTIG_BYTES];
    int tid = -1;

    (void)cs_contig_other(contig, other);
    for (int i = 0; i < 2 && tid < 0; i++, contig = other)
        tid = in_tabix ? tbx_name2id(v->tabix, contig) : bcf_hdr_name2id(v->header, contig);
    return tid;
}

/* htslib reads regions of BGZF only, and does not check that a file is one. */
static bool has_blocks(const cs_vcf *v)
{
    return v->fp->is_bgzf && bgzf_compression(v->fp->fp.bgzf) == BGZF_BLOCKS;
}

/* An index beside a file without blocks belongs to another file. */
static int load_index(cs_vcf *v)
{
    const char *given = cs_index_given(v->path);

    if (v->tabix || v->index)
        return CS_OK;
    if (v->is_stdin)
        return cs_fail(CS_EUSAGE, "'%s' has no index, which regions need; give the file itself, or "
                       "omit regions", v->path);
    if (has_blocks(v) && cs_index_guard(v->path) != CS_OK)
        return CS_EFORMAT;
    if (has_blocks(v) && is_text(v))
        v->tabix = tbx_index_load2(v->path, given);
    else if (has_blocks(v))
        v->index = bcf_index_load2(v->path, given);
    if (!v->tabix && !v->index)
        return cs_index_missing(v->path, "create one (bcftools index on a BGZF or BCF file), or "
                                "omit regions");
    cs_index_warn_old(v->path);
    bgzf_set_cache_size(v->fp->fp.bgzf, CACHE_BYTES);    /* several regions may be in one block */
    return CS_OK;
}

int cs_vcf_seek(cs_vcf *v, const char *contig, int64_t from, int64_t to)
{
    const int rc = load_index(v);

    if (rc != CS_OK)
        return rc;
    const int tid = find_contig(v, contig, false);
    hts_itr_destroy(v->itr);
    v->itr = NULL;
    v->no_contig = tid < 0;
    if (v->no_contig && !v->warned && find_contig(v, contig, true) < 0) {
        v->warned = true;
        cs_warn("neither the index nor the header of '%s' has the contig '%s' of a region, so it "
                "has no records there; does it name contigs in another way?", v->path, contig);
    }
    if (!v->no_contig)
        v->itr = is_text(v) ? tbx_itr_queryi(v->tabix, tid, from, to)
                            : bcf_itr_queryi(v->index, tid, from, to);
    if (v->itr && from == 0)
        v->itr->beg = -1;        /* of BCF, POS 0, too, as tabix has it */
    return v->no_contig || v->itr ? CS_OK : cs_fail(CS_EIO, "'%s': the index has no entry for "
                                    "'%s'; recreate it (bcftools index)", v->path, contig);
}

static int seek_region(cs_vcf *v, int i)
{
    const struct region *p = &v->region[i];

    if (i > 0 && cs_covered_add(&v->covered, p[-1].contig, p[-1].from, p[-1].to) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for the regions of '%s'", v->path);
    v->current = i;
    return cs_vcf_seek(v, p->contig, p->from, p->to);
}

/* Regions in the order of the file give its records in that order. */
static int by_file_order(const void *one, const void *two)
{
    const struct region *a = one, *b = two;

    return a->tid != b->tid ? (a->tid > b->tid) - (a->tid < b->tid)
                            : (a->from > b->from) - (a->from < b->from);
}

int cs_vcf_restrict(cs_vcf *v, const char *const *region, int n, const char *bed,
                    const cs_reference *ref)
{
    int rc = CS_OK;
    cs_region next;
    cs_regions *all = NULL;

    CS_TRY(load_index(v));
    CS_TRY(cs_regions_open(region, n, bed, &all));
    while ((rc = cs_regions_next(all, ref, &next)) == CS_OK) {
        const size_t n_region = (size_t)v->n_region + 1;
        if (n_region > INT_MAX || cs_try_grow((void **)&v->region, &v->cap_region, n_region,
                                              sizeof *v->region) != CS_OK)
            CS_TRY(cs_fail(CS_EMEM, "out of memory for the regions of '%s'", v->path));
        v->region[v->n_region++] = (struct region){ cs_xstrdup(next.contig), next.from,
            cs_regions_given_to(all), find_contig(v, next.contig, false) };
    }
    CS_TRY(cs_regions_end(all, rc));
    qsort(v->region, (size_t)v->n_region, sizeof *v->region, by_file_order);
    rc = seek_region(v, 0);
out:
    cs_regions_free(all);
    return rc;
}

/* ---- records --------------------------------------------------------------------------------- */

int cs_vcf_error(const cs_vcf *v, const char *what)
{
    char place[CS_VCF_PLACE_BYTES] = "";
    const char *contig = is_text(v) ? NULL : bcf_seqname(v->header, v->rec);

    if (contig)
        (void)snprintf(place, sizeof place, " (%.90s:%lld)", contig, (long long)v->rec->pos + 1);
    else
        cs_vcf_place(v->start, v->n_start, place);
    return cs_fail(CS_EFORMAT, "'%s': record %llu%s %s", v->path, (unsigned long long)v->n_record,
                   place, what);
}

/* htslib's errors. A key or contig missing in the header is accepted: htslib adds it, but in BCF it
 * has no number. */
static int check_native(const cs_vcf *v)
{
    static const struct { int bit; const char *what; } error[] = {
        { BCF_ERR_NCOLS, "has a sample with more values than FORMAT has keys, or too few samples" },
        { BCF_ERR_LIMITS, "is larger than the format allows" },
        { BCF_ERR_CHAR, "has a character that is not allowed there" },
        { BCF_ERR_CTG_INVALID, "has a contig name that is not allowed" },
        { BCF_ERR_TAG_INVALID, "has an INFO or FORMAT value that does not fit its key" },
    };

    for (size_t i = 0; i < sizeof error / sizeof *error; i++)
        if (v->rec->errcode & error[i].bit)
            return cs_vcf_error(v, error[i].what);
    return CS_OK;
}

/* The packed part of a record is two blocks of bytes, so it can be stored in an arena. */
static const void *pack(const bcf1_t *b, cs_arena *mem)
{
    bcf1_t *copy = cs_arena_alloc(mem, 1, sizeof *copy);
    char *shared = cs_arena_dup(mem, b->shared.s ? b->shared.s : "", b->shared.l);
    char *indiv = cs_arena_dup(mem, b->indiv.s ? b->indiv.s : "", b->indiv.l);

    if (!copy || !shared || !indiv)
        return NULL;
    *copy = *b;
    memset(&copy->d, 0, sizeof copy->d);
    copy->unpacked &= ~BCF_UN_ALL;       /* leaves htslib's mark of numbers of 64 bits */
    copy->shared = (kstring_t){ b->shared.l, b->shared.l, shared };
    copy->indiv = (kstring_t){ b->indiv.l, b->indiv.l, indiv };
    return copy;
}

static int no_memory(const cs_vcf *v)
{
    return cs_fail(CS_EMEM, "'%s': out of memory for record %llu", v->path,
                   (unsigned long long)v->n_record);
}

static int copy_record(cs_vcf *v, cs_arena *mem, cs_vcf_record *r)
{
    const bcf1_t *b = v->rec;
    const char *contig = bcf_seqname(v->header, b);

    *r = (cs_vcf_record){ .no = v->n_record, .pos = b->pos, .n_alt = b->n_allele - 1 };
    r->contig = cs_arena_dup(mem, contig, strlen(contig));
    r->id = cs_arena_dup(mem, b->d.id, strlen(b->d.id));
    r->ref = cs_arena_dup(mem, b->d.allele[0], strlen(b->d.allele[0]));
    r->alt = cs_arena_alloc(mem, (size_t)r->n_alt + 1, sizeof *r->alt);
    if (!r->contig || !r->id || !r->ref || !r->alt)
        return no_memory(v);
    for (int i = 0; i < r->n_alt; i++) {
        r->alt[i] = cs_arena_dup(mem, b->d.allele[i + 1], strlen(b->d.allele[i + 1]));
        if (!r->alt[i])
            return no_memory(v);
    }
    if (v->as_native)
        r->native = pack(b, mem);
    else
        r->line = cs_arena_dup(mem, v->line.s, r->n_line = v->line.l);
    return r->native || r->line ? CS_OK : no_memory(v);
}

/* Text that was cut within its last column looks complete. Pipes do not tell. */
static void check_last_line(const cs_vcf *v)
{
    hFILE *fp = v->fp->fp.hfile;

    if (hseek(fp, -1, SEEK_END) >= 0 && hgetc(fp) != '\n')
        cs_warn("'%s': record %llu, the last one, has no line end: is the file truncated?",
                v->path, (unsigned long long)v->n_record);
}

/* A file without an end marker has probably lost records, too. */
static int check_end(const cs_vcf *v)
{
    const BGZF *z = v->fp->is_bgzf ? v->fp->fp.bgzf : NULL;

    if (is_text(v) && !z && v->n_record > 0)
        check_last_line(v);
    if (v->itr || !z || !z->no_eof_block || z->is_gzip)
        return CS_EOF;
    return cs_fail(CS_EFORMAT, "'%s': the end marker is missing after record %llu; the file is "
                   "probably truncated", v->path, (unsigned long long)v->n_record);
}

/* A line that is not sound: if it lacks columns and is the last one, the file may have been cut. */
static int broken_text(cs_vcf *v, const char *what)
{
    char why[256];

    if (v->itr || cs_vcf_n_column(v->line.s, v->line.l) >= v->n_column
        || hts_getline(v->fp, KS_SEP_LINE, &v->line) != -1)
        return cs_vcf_error(v, what);
    (void)snprintf(why, sizeof why, "%s; it is the last one: is the file truncated?", what);
    return cs_vcf_error(v, why);
}

enum { INFO_COLUMN = 7, FIXED_BYTES = 256 };

/* Memory for the fixed columns as parsed by vcf_parse(), which truncates them without memory:
 * at most a float per character and comma. */
static int reserve_fixed(cs_vcf *v, size_t *n_fixed)
{
    size_t n = 0;
    const char *info = cs_vcf_column(v->line.s, v->line.l, INFO_COLUMN, &n);

    *n_fixed = info ? (size_t)(info - v->line.s) + n : v->line.l;
    return ks_resize(&v->rec->shared, 4 * *n_fixed + FIXED_BYTES) < 0 ? no_memory(v) : CS_OK;
}

/* Of a line that vcf_parse() refuses, which may have changed separators to NUL. */
static int fail_parse(const cs_vcf *v, const kstring_t *line, size_t n_fixed)
{
    char why[256];
    const int rc = check_native(v);

    if (rc != CS_OK || !cs_vcf_has_first_phase(line->s + n_fixed, line->l - n_fixed))
        return rc == CS_OK ? cs_vcf_error(v, "cannot be parsed; -v shows htslib's reason") : rc;
    (void)snprintf(why, sizeof why, "has a genotype with a sign before its first allele, such as "
                   "'/0|1', which htslib %s cannot read (1.22 can, in VCF 4.4); remove the sign: "
                   "sed '/^#/!s,\\t[/|],\\t,g'", hts_version());
    return cs_vcf_error(v, why);
}

static int next_text(cs_vcf *v)
{
    char why[160];
    size_t n_fixed;
    kstring_t *text = v->as_native ? &v->line : &v->parsed;
    int r = v->itr ? tbx_itr_next(v->fp, v->tabix, v->itr, &v->line)
                   : hts_getline(v->fp, KS_SEP_LINE, &v->line);
    const bool blank = r >= 0 && v->line.l == 0 && !v->itr;

    /* Empty lines at the end are accepted. */
    while (r >= 0 && v->line.l == 0 && !v->itr)
        r = hts_getline(v->fp, KS_SEP_LINE, &v->line);
    if (r == -1)
        return check_end(v);
    v->n_record++;
    v->n_start = 0;
    if (blank)
        return cs_vcf_error(v, "follows an empty line; remove that");
    if (r < -1)
        return cs_vcf_error(v, v->itr ? "cannot be read; the file is truncated or damaged" :
                            "cannot be decompressed; the file is truncated or damaged");
    v->n_start = v->line.l < sizeof v->start ? v->line.l : sizeof v->start;
    memcpy(v->start, v->line.s, v->n_start);
    if (memchr(v->line.s, '\0', v->line.l))
        return cs_vcf_error(v, "has a NUL byte");
    if (!cs_vcf_line_is_valid(v->line.s, v->line.l, v->n_column, why, sizeof why))
        return broken_text(v, why);
    v->parsed.l = 0;
    if (!v->as_native && kputsn(v->line.s, v->line.l, &v->parsed) < 0)
        return no_memory(v);
    if (reserve_fixed(v, &n_fixed) != CS_OK)
        return CS_EMEM;
    errno = 0;
    if (vcf_parse(text, v->header, v->rec) < 0 && errno != ENOMEM)
        return fail_parse(v, text, n_fixed);
    return errno != ENOMEM && cs_vcf_reserve(v->rec, 0) == CS_OK ? CS_OK : no_memory(v);
}

static int next_native(cs_vcf *v)
{
    char why[160];
    const int r = v->itr ? bcf_itr_next(v->fp, v->itr, v->rec)
                         : bcf_read(v->fp, v->header, v->rec);

    if (r == -1)
        return check_end(v);
    v->n_record++;
    if (r < -1) {
        v->rec->rid = -1;        /* of the record before, or none */
        return cs_vcf_error(v, "cannot be read; the file is truncated or damaged");
    }
    if (cs_vcf_reserve(v->rec, 0) != CS_OK)
        return no_memory(v);
    v->line.l = 0;
    errno = 0;
    const bool bad = !v->as_native && vcf_format(v->header, v->rec, &v->line) < 0;
    if (bad || errno == ENOMEM)
        return errno == ENOMEM ? no_memory(v)
                               : cs_vcf_error(v, "cannot be printed; the file is damaged");
    while (v->line.l > 0 && v->line.s[v->line.l - 1] == '\n')
        v->line.l--;
    /* htslib does not check the letters of BCF. */
    if (!v->as_native && !cs_vcf_line_is_valid(v->line.s, v->line.l,
                                               cs_vcf_n_column(v->line.s, v->line.l), why,
                                               sizeof why))
        return cs_vcf_error(v, why);
    return CS_OK;
}

int cs_vcf_read(cs_vcf *v, int what)
{
    int rc = CS_OK;

    if (v->no_contig)
        return CS_EOF;
    rc = cs_pump_interrupted(is_text(v) ? next_text(v) : next_native(v));
    CS_TRY(cs_input_mark_check(&v->mark, v->path, rc));
    CS_TRY(check_native(v));
    if (bcf_unpack(v->rec, what) < 0 || v->rec->n_allele < 1)
        return cs_vcf_error(v, "cannot be unpacked; the file is damaged");
    if (!bcf_seqname(v->header, v->rec))
        return cs_vcf_error(v, "is on a contig that the header does not have");
out:
    return rc;
}

/* Was the record read in an earlier region, which it overlaps, too? POS 0 is in those of base 1. */
static bool was_read(const cs_vcf *v)
{
    const int64_t pos = v->rec->pos, end = pos + v->rec->rlen;

    return v->current > 0 && cs_covered_overlaps(&v->covered, bcf_seqname(v->header, v->rec),
                                                 pos > 0 ? pos : 0, end > 0 ? end : 1);
}

/* The next record of all regions, or of the whole file. */
static int read_any(cs_vcf *v)
{
    int rc;

    do {
        rc = cs_vcf_read(v, BCF_UN_STR);
        while (rc == CS_EOF && v->current + 1 < v->n_region
               && (rc = seek_region(v, v->current + 1)) == CS_OK)
            rc = cs_vcf_read(v, BCF_UN_STR);
    } while (rc == CS_OK && was_read(v));
    return rc;
}

int cs_vcf_next(cs_vcf *v, cs_arena *mem, cs_vcf_record **out)
{
    int rc = CS_OK;

    *out = NULL;
    CS_TRY(read_any(v));
    cs_vcf_record *r = cs_arena_alloc(mem, 1, sizeof *r);
    if (!r)
        return no_memory(v);
    CS_TRY(copy_record(v, mem, r));
    *out = r;
out:
    return rc;
}

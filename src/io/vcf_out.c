/* vcf_out.c - write records of a VCF or BCF file with added INFO fields.
 *
 * DESIGN: hts_out.c opens files that htslib writes. Text is formatted here and written to the file
 * below htslib's.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/kstring.h>
#include <htslib/vcf.h>

#include "base/names.h"
#include "io/content.h"
#include "io/hts_out.h"
#include "io/index_name.h"
#include "io/vcf_internal.h"
#include "io/vcf_text.h"

/* CSI_SHIFT: htslib's default; 0 is TBI, which reaches to 2^29. */
enum { N_FIXED = 8, INFO_COLUMN = 7, CSI_SHIFT = 14, TBI_REACH = 1 << 29,
       NUMBER_BYTES = 64 };

struct cs_vcfout {
    cs_vcfout_opt o;
    char         *path;
    const char   *from;          /* the input's path */
    cs_outfile   *file, *index;  /* index: NULL unless requested */
    int           shift;         /* of the index */
    const char   *last_contig;   /* with an index: of the record before */
    int64_t       last_pos;
    cs_names      contigs;       /* that have had records, in `mem` */
    cs_arena     *mem;
    cs_htsout     to;
    bcf_hdr_t    *header;        /* of BCF */
    bcf1_t       *rec;
    kstring_t     text, info;
    float        *number;        /* [cap_number] of one field */
    size_t        cap_number;
    int64_t       n_text;        /* bytes of text, before compression */
};

static int no_memory(const cs_vcfout *w)
{
    return cs_fail(CS_EMEM, "out of memory for a record of '%s'", w->path);
}

static bool is_bcf(const cs_vcfout *w)
{
    return w->o.format == 'b' || w->o.format == 'u';
}

/* ---- header ---------------------------------------------------------------------------------- */

/* The ID of an INFO line, at any position; NULL: not an INFO line. */
static const char *info_id(const char *line)
{
    static const char begin[] = "##INFO=<";
    bool quoted = false;

    if (strncmp(line, begin, strlen(begin)) != 0)
        return NULL;
    for (line += strlen(begin) - 1; *line != '\n'; line++) {
        quoted ^= *line == '"';
        if (!quoted && (*line == '<' || *line == ',') && strncmp(line + 1, "ID=", 3) == 0)
            return line + 4;
    }
    return NULL;
}

/* Is it the INFO line of one of our fields? */
static bool is_ours(const cs_vcfout *w, const char *line)
{
    const char *id = info_id(line);

    for (int i = 0; id && i < w->o.n_field; i++) {
        const size_t n = strlen(w->o.field[i].id);
        if (strncmp(id, w->o.field[i].id, n) == 0 && (id[n] == ',' || id[n] == '>'))
            return true;
    }
    return false;
}

static int add_lines(cs_vcfout *w)
{
    static const char *const type[] = { "Float", "Integer", "String" };
    int bad = 0;

    for (int i = 0; i < w->o.n_field; i++) {
        const cs_vcf_field *f = &w->o.field[i];
        bad |= ksprintf(&w->text, "##INFO=<ID=%s,Number=A,Type=%s,Description=\"%s\","
                        "Source=\"chordseq\",Version=\"%s\">\n", f->id, type[f->type],
                        f->description, PACKAGE_VERSION) < 0;
    }
    for (int i = 0; i < w->o.n_line; i++)
        bad |= ksprintf(&w->text, "%s\n", w->o.line[i]) < 0;
    return bad ? no_memory(w) : CS_OK;
}

/* The input's lines, ours before the last. */
static int make_header(cs_vcfout *w, const char *head)
{
    int rc = CS_OK, bad = 0;

    for (const char *end; *head; head = end + 1) {
        end = strchr(head, '\n');
        if (strncmp(head, "##", 2) != 0)
            CS_TRY(add_lines(w));
        if (!is_ours(w, head))
            bad |= kputsn(head, (size_t)(end + 1 - head), &w->text) < 0;
    }
    if (bad)
        rc = no_memory(w);
out:
    return rc;
}

static int put_text(cs_vcfout *w)
{
    const ssize_t n = w->to.fp->format.compression == no_compression
        ? hwrite(w->to.fp->fp.hfile, w->text.s, w->text.l)
        : bgzf_write(w->to.fp->fp.bgzf, w->text.s, w->text.l);

    w->n_text += n;
    return n == (ssize_t)w->text.l ? CS_OK : cs_htsout_failed(&w->to, NULL);
}

/* BCF numbers keys as the input's header does, which comes first. */
static int write_native_header(cs_vcfout *w, const cs_vcf *in)
{
    errno = 0;                   /* htslib ignores some allocations that fail */
    w->header = bcf_hdr_dup(cs_vcf_header(in));
    w->rec = bcf_init();
    if (!w->header || !w->rec)
        return no_memory(w);
    for (int i = 0; i < w->o.n_field; i++)
        bcf_hdr_remove(w->header, BCF_HL_INFO, w->o.field[i].id);
    for (char *line = w->text.s, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        if (bcf_hdr_append(w->header, line) < 0)
            return cs_fail(CS_EFORMAT, "'%s' cannot have the header line '%s'", w->path, line);
    }
    if (bcf_hdr_sync(w->header) < 0 || errno == ENOMEM)
        return no_memory(w);
    const bool failed = bcf_hdr_write(w->to.fp, w->header) < 0;
    return errno == ENOMEM ? no_memory(w) : failed ? cs_htsout_failed(&w->to, NULL) : CS_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int vcf_out_open_file(cs_vcfout *w)
{
    const char mode[4] = { 'w', w->o.format == 'v' ? '\0' : w->o.format == 'u' ? 'b'
                           : w->o.format, w->o.format == 'u' ? 'u' : w->o.level, '\0' };
    int rc = CS_OK;

    CS_TRY(cs_htsout_open(&w->to, w->file, w->path, mode));
    if (w->o.threads > 0 && w->o.format != 'v' && hts_set_threads(w->to.fp, w->o.threads) < 0)
        rc = cs_htsout_failed(&w->to, "no threads for compression");
out:
    return rc;
}

/* Is there a contig that TBI cannot hold? */
static bool is_long(const bcf_hdr_t *h)
{
    bool any = false;

    for (int i = 0; i < h->n[BCF_DT_CTG]; i++) {
        const bcf_idinfo_t *of = h->id[BCF_DT_CTG][i].val;
        any |= of && of->info[0] > TBI_REACH;
    }
    return any;
}

static int open_index(cs_vcfout *w, const cs_vcf *in)
{
    if (!w->o.index)
        return CS_OK;
    if (w->o.index == CS_VCF_INDEX_TBI && w->o.format == 'b')
        return cs_fail(CS_EUSAGE, "--write-index=tbi is for compressed VCF (-O z); '%s' is BCF, "
                       "whose index is CSI", w->path);
    if (w->o.format != 'z' && w->o.format != 'b')
        return cs_fail(CS_EUSAGE, "--write-index needs output format z or b (-O), which '%s' is "
                       "not", w->path);
    if (!cs_outfile_temp_path(w->file))
        return cs_fail(CS_EUSAGE, "--write-index needs a regular file, which '%s' is not", w->path);
    const bool tbi = w->o.index == CS_VCF_INDEX_TBI;
    if (tbi && is_long(cs_vcf_header(in)))
        return cs_fail(CS_EUSAGE, "--write-index=tbi is for contigs of at most 512 megabases; use "
                       "--write-index=csi");
    w->shift = tbi ? 0 : CSI_SHIFT;
    w->mem = cs_arena_new();
    const size_t n = strlen(w->path) + sizeof ".csi";
    char *path = cs_xmalloc(n);
    (void)snprintf(path, n, "%s.%s", w->path, tbi ? "tbi" : "csi");
    const int rc = cs_outfile_open(path, &w->index);
    free(path);
    return rc;
}

static int open_all(cs_vcfout *w, const cs_vcf *in)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_open_as(w->path, CS_VARIANTS, CS_OUT_PACKED, &w->file));
    CS_TRY(open_index(w, in));
    CS_TRY(vcf_out_open_file(w));
    if (is_bcf(w)) {
        CS_TRY(add_lines(w));
        rc = write_native_header(w, in);
    } else {
        CS_TRY(make_header(w, cs_vcf_header_text(in)));
        rc = put_text(w);
    }
out:
    return rc;
}

int cs_vcfout_open(const cs_vcf *in, const cs_vcfout_opt *o, cs_vcfout **out)
{
    cs_vcfout *w = cs_xcalloc(1, sizeof *w);

    *out = NULL;
    w->o = *o;
    w->path = cs_xstrdup(o->path ? o->path : "-");
    w->from = cs_vcf_path(in);
    const int rc = open_all(w, in);
    if (rc == CS_OK)
        *out = w;
    else
        cs_vcfout_discard(w);
    return rc;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool has_any(const cs_vcf_field *f, const cs_vcf_values *v, int n_alt)
{
    for (int i = 0; i < n_alt && !f->hidden; i++)
        if (f->type == CS_VCF_STRING ? v->text[i] != NULL : !isnan(v->v[i]))
            return true;
    return false;
}

static int put_value(const cs_vcf_field *f, const cs_vcf_values *v, int i, kstring_t *s)
{
    /* kputd() does not report a failed allocation. */
    if (ks_resize(s, s->l + NUMBER_BYTES) < 0)
        return -1;
    if (f->type == CS_VCF_STRING)
        return kputs(v->text[i] ? v->text[i] : ".", s);
    if (isnan(v->v[i]))
        return kputc('.', s);
    return f->type == CS_VCF_FLOAT ? kputd((double)(float)v->v[i], s) : kputl((long)v->v[i], s);
}

/* The INFO column without our keys, and then these. */
static int make_info(cs_vcfout *w, const char *info, size_t n, const cs_vcf_values *value,
                     int n_alt)
{
    int bad = 0;

    w->info.l = 0;
    for (const char *s = info, *end = info + n, *stop; s < end; s = stop + 1) {
        stop = memchr(s, ';', (size_t)(end - s));
        stop = stop ? stop : end;
        bool ours = stop - s == 1 && *s == '.';
        for (int k = 0; k < w->o.n_field && !ours; k++) {
            const size_t n_id = strlen(w->o.field[k].id);
            ours = (size_t)(stop - s) >= n_id && memcmp(s, w->o.field[k].id, n_id) == 0
                && (s + n_id == stop || s[n_id] == '=');
        }
        if (!ours)
            bad |= (w->info.l > 0 && kputc(';', &w->info) < 0)
                || kputsn(s, (size_t)(stop - s), &w->info) < 0;
    }
    for (int k = 0; k < w->o.n_field; k++) {
        const cs_vcf_field *f = &w->o.field[k];
        if (!has_any(f, &value[k], n_alt))
            continue;
        bad |= ksprintf(&w->info, "%s%s=", w->info.l > 0 ? ";" : "", f->id) < 0;
        for (int i = 0; i < n_alt; i++)
            bad |= (i > 0 && kputc(',', &w->info) < 0)
                || put_value(f, &value[k], i, &w->info) < 0;
    }
    if (w->info.l == 0)
        bad |= kputc('.', &w->info) < 0;
    return bad ? no_memory(w) : CS_OK;
}

static int record_text(cs_vcfout *w, const cs_vcf_record *r, const cs_vcf_values *value)
{
    int rc = CS_OK;
    size_t n_info = 0;
    const char *info = cs_vcf_column(r->line, r->n_line, INFO_COLUMN, &n_info);

    CS_BUG(!info);
    const char *rest = info + n_info;
    CS_TRY(make_info(w, info, n_info, value, r->n_alt));
    w->text.l = 0;
    if (kputsn(r->line, (size_t)(info - r->line), &w->text) < 0
        || kputsn(w->info.s, w->info.l, &w->text) < 0
        || kputsn(rest, (size_t)(r->line + r->n_line - rest), &w->text) < 0
        || kputc('\n', &w->text) < 0)
        return no_memory(w);
    errno = 0;
    rc = put_text(w);
out:
    return rc;
}

/* htslib joins the texts of strings by itself: they are one value with commas. */
static int set_string(cs_vcfout *w, const cs_vcf_field *f, const cs_vcf_values *v, int n_alt)
{
    w->info.l = 0;
    for (int i = 0; i < n_alt; i++)
        if ((i > 0 && kputc(',', &w->info) < 0) || put_value(f, v, i, &w->info) < 0)
            return -1;
    return bcf_update_info_string(w->header, w->rec, f->id, w->info.s);
}

static int set_numbers(cs_vcfout *w, const cs_vcf_field *f, const cs_vcf_values *v, int n_alt)
{
    if (cs_try_grow((void **)&w->number, &w->cap_number, (size_t)n_alt, sizeof *w->number) != CS_OK)
        return -1;
    if (f->type == CS_VCF_FLOAT) {
        for (int i = 0; i < n_alt; i++) {
            w->number[i] = (float)v->v[i];
            if (isnan(v->v[i]))
                bcf_float_set_missing(w->number[i]);
        }
        return bcf_update_info_float(w->header, w->rec, f->id, w->number, n_alt);
    }
    int32_t *whole = (int32_t *)(void *)w->number;
    for (int i = 0; i < n_alt; i++)
        whole[i] = isnan(v->v[i]) ? bcf_int32_missing : (int32_t)v->v[i];
    return bcf_update_info_int32(w->header, w->rec, f->id, whole, n_alt);
}

/* Remove the fields of an earlier run and their slots, which htslib would reuse. */
static bool drop_ours(cs_vcfout *w)
{
    bool any = false;

    for (int k = 0; k < w->o.n_field; k++) {
        if (!bcf_get_info(w->header, w->rec, w->o.field[k].id))
            continue;
        any = true;
        if (bcf_update_info(w->header, w->rec, w->o.field[k].id, NULL, 0, BCF_HT_INT) < 0)
            return false;
    }
    if (!any)
        return true;
    bcf1_t *packed = bcf_init();
    const bool copied = cs_vcf_copy(packed, w->rec) == CS_OK
                     && cs_vcf_reserve(packed, w->o.n_field) == CS_OK;
    if (packed)
        bcf_destroy(copied ? w->rec : packed);
    w->rec = copied ? packed : w->rec;
    return copied;
}

static int vcf_out_refuse(const cs_vcfout *w, const cs_vcf_record *r, const char *what)
{
    return cs_fail(CS_EFORMAT, "'%s': record %llu (%s:%lld) %s", w->from, (unsigned long long)r->no,
                   r->contig, (long long)r->pos + 1, what);
}

static int record_native(cs_vcfout *w, const cs_vcf_record *r, const cs_vcf_values *value)
{
    bcf1_t in = *(const bcf1_t *)r->native;     /* bcf_copy() may need to sync it */
    int bad = 0;

    if (in.errcode & (BCF_ERR_CTG_UNDEF | BCF_ERR_TAG_UNDEF))
        return vcf_out_refuse(w, r, "has a contig, filter or key missing in the header, which BCF "
                              "cannot store; use -O v or -O z");
    if (in.unpacked & ~BCF_UN_ALL)
        return vcf_out_refuse(w, r, "has a position or number of more than 32 bits, which BCF "
                              "cannot store; use -O v or -O z");
    errno = 0;                   /* htslib ignores some allocations that fail */
    if (cs_vcf_copy(w->rec, &in) != CS_OK || cs_vcf_reserve(w->rec, w->o.n_field) != CS_OK
        || !drop_ours(w))
        return no_memory(w);
    for (int k = 0; k < w->o.n_field; k++) {
        const cs_vcf_field *f = &w->o.field[k];
        if (!has_any(f, &value[k], r->n_alt))
            continue;
        if (f->type == CS_VCF_STRING)
            bad |= set_string(w, f, &value[k], r->n_alt) < 0;
        else
            bad |= set_numbers(w, f, &value[k], r->n_alt) < 0;
    }
    if (bad && errno != ENOMEM)
        return vcf_out_refuse(w, r, "cannot take an INFO field");
    const bool failed = errno != ENOMEM && bcf_write(w->to.fp, w->header, w->rec) < 0;
    return errno == ENOMEM ? no_memory(w) : failed ? cs_htsout_failed(&w->to, NULL) : CS_OK;
}

/* Here rather than after the last record, when the index would be refused: the records of a contig
 * follow each other, by position. */
static int check_order(cs_vcfout *w, const cs_vcf_record *r)
{
    const bool same = w->last_contig && strcmp(w->last_contig, r->contig) == 0;

    if (same ? r->pos < w->last_pos : cs_names_find(&w->contigs, r->contig) >= 0)
        return vcf_out_refuse(w, r, "is out of order, so the output cannot be indexed; sort the "
                              "file (bcftools sort), or omit --write-index");
    w->last_pos = r->pos;
    if (same)
        return CS_OK;
    w->last_contig = cs_arena_dup(w->mem, r->contig, strlen(r->contig));
    return w->last_contig ? cs_names_add(&w->contigs, w->last_contig, 0) : no_memory(w);
}

int cs_vcfout_record(cs_vcfout *w, const cs_vcf_record *r, const cs_vcf_values *value)
{
    const int rc = w->index ? check_order(w, r) : CS_OK;

    if (rc != CS_OK)
        return rc;
    return is_bcf(w) ? record_native(w, r, value) : record_text(w, r, value);
}

int64_t cs_vcfout_tell(const cs_vcfout *w)
{
    return w->n_text;
}

/* ---- the end --------------------------------------------------------------------------------- */

void cs_vcfout_discard(cs_vcfout *w)
{
    if (!w)
        return;
    cs_htsout_discard(&w->to);
    if (w->header)
        bcf_hdr_destroy(w->header);
    if (w->rec)
        bcf_destroy(w->rec);
    cs_outfile_discard(w->file);
    cs_outfile_discard(w->index);
    ks_free(&w->text);
    ks_free(&w->info);
    cs_names_release(&w->contigs);
    cs_arena_free(w->mem);
    CS_FREE(w->number, w->path, w);
}

int cs_vcfout_finish(cs_vcfout *w)
{
    int rc = CS_OK;

    if (!w->to.fp)
        return CS_OK;
    CS_TRY(cs_htsout_close(&w->to));
    CS_TRY(cs_outfile_finish(w->file));
    cs_index_warn_left(w->path, w->index ? cs_outfile_name(w->index) : NULL);
    if (!w->index)
        return CS_OK;
    /* Built from the temporary file by htslib, which gives no reason for a failure. */
    if (bcf_index_build3(cs_outfile_temp_path(w->file), cs_outfile_temp_path(w->index), w->shift,
                         w->o.threads) != 0)
        return cs_fail(CS_EIO, "cannot index '%s'; it must be sorted, with its contigs in the "
                       "header (bcftools sort)", w->path);
    rc = cs_outfile_finish(w->index);
out:
    return rc;
}

int cs_vcfout_close(cs_vcfout *w)
{
    int rc = cs_vcfout_finish(w);

    if (rc == CS_OK) {
        rc = cs_outfile_close(w->file);
        w->file = NULL;
    }
    if (rc == CS_OK) {
        rc = cs_outfile_close(w->index);
        w->index = NULL;
    }
    cs_vcfout_discard(w);
    return rc;
}

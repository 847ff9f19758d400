/* variant_labels.c - labelled variants from VCF or a table, as samples of two windows. */
#include "train/variant_labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "infer/variants.h"
#include "io/alphabet.h"
#include "io/lines.h"
#include "io/vcf.h"

enum { MAX_COLUMN = 256, MAX_LABEL = 4096, NAME_BYTES = 192 };

const cs_opt cs_variant_table[] = {
    { .type = CS_OPT_GROUP, .name = "Variants" },
    { .type = CS_OPT_SIZE, .name = "window-length", .off = offsetof(cs_variant_args, window),
      .arg = "NUM", .def = CS_OPT_TEXT(CS_VARIANT_WINDOW),
      .help = "with head variant, window length around a variant, in bases",
      .man = "The input is then labelled variants on --reference. Either VCF or BCF, with "
             "--label-key naming INFO fields of values 0 and 1 (a label each, comma-separated); or "
             "a table with the columns chrom, pos (from 1), ref, alt, label (0 or 1), tissue if "
             "there are several labels, and strand (+, - or .) if the effect is on one strand. "
             "--valid-frac and --split hold out whole contigs; the rows of --split name contigs.",
      .min = 8, .max = 1e8 },
    { .type = CS_OPT_ENUM, .name = "ends", .off = offsetof(cs_variant_args, ends), .arg = "RULE",
      .def = "skip", .choice = cs_window_ends,
      .help = "windows beyond the contig's end: skip the variant, or fill with N" },
    { .type = CS_OPT_LIST, .name = "circular", .off = offsetof(cs_variant_args, circular),
      .arg = "CONTIG", .help = "circular contig (may be repeated)",
      .man = "Windows continue across its origin. So do those of contigs that a GFF3 file of "
             "--exons states as circular." },
    { .type = CS_OPT_IN, .name = "exons", .off = offsetof(cs_variant_args, exons), .arg = "FILE",
      .help = "exons as BED, GTF or GFF3: read the nearest one in upper case, other bases in lower",
      .man = "For head variant with --tokenizer base --tokenizer.case, which needs it. Variants "
             "without an exon in their window are left out. See chordseq-variant(1) for the file.",
      .same = CS_OPT_SAME_CONTENT },
    { .type = CS_OPT_END }
};

/* One label of one variant. */
struct row {
    const char *contig, *ref, *alt;
    int64_t     pos, no;         /* no: in the order met */
    int32_t     label;
    bool        truth;
    char        strand;          /* '-': windows are reverse complements */
};

struct reading {
    const cs_variant_labels *from;
    cs_arena   *mem;             /* texts of rows */
    struct row *row;
    size_t      n, cap;
    cs_classes *classes;
    bool       *met;             /* [classes] of --label-key: in a header or record; or NULL */
    cs_labels  *split;
    const char *last_contig;     /* of the row before, in mem: most rows share theirs */
};

static int no_memory(void)
{
    return cs_fail(CS_EMEM, "out of memory for the labelled variants; training keeps them all in "
                   "memory");
}

static const char *keep(struct reading *r, const char *text)
{
    return cs_arena_dup(r->mem, text, strlen(text));
}

static int add_row(struct reading *r, struct row row)
{
    if (!r->last_contig || strcmp(r->last_contig, row.contig) != 0)
        r->last_contig = keep(r, row.contig);
    row.contig = r->last_contig;
    row.ref = keep(r, row.ref);
    row.alt = keep(r, row.alt);
    row.no = (int64_t)r->n;
    if (!row.contig || !row.ref || !row.alt
        || cs_try_grow((void **)&r->row, &r->cap, r->n + 1, sizeof *r->row) != CS_OK)
        return no_memory();
    r->row[r->n++] = row;
    return CS_OK;
}

/* "0" or "1", also as 0.0 and 1.0. */
static bool parse_truth(const char *text, bool *truth)
{
    double v;

    if (cs_parse_real(text, &v) != CS_OK || (v != 0 && v != 1))
        return false;
    *truth = v == 1;
    return true;
}

/* ---- VCF ------------------------------------------------------------------------------------- */

static int add_keys(struct reading *r, const char *keys)
{
    int rc = CS_OK, no;
    char *list = cs_xstrdup(keys), *save = NULL;

    for (char *k = strtok_r(list, ",", &save); rc == CS_OK && k; k = strtok_r(NULL, ",", &save))
        rc = cs_classes_add(r->classes, k, &no);
    free(list);
    r->met = cs_xcalloc((size_t)r->classes->n + 1, sizeof *r->met);
    return rc;
}

/* Refuse a field that no header and no record has, such as a misspelt one. */
static int check_keys(const struct reading *r)
{
    for (int k = 0; r->met && k < r->classes->n; k++)
        if (!r->met[k])
            return cs_fail(CS_EFORMAT, "no header of the input declares the INFO field '%s' of "
                           "--label-key, and no record has it", r->classes->name[k]);
    return CS_OK;
}

static int add_values(struct reading *r, const cs_vcf *in, const cs_vcf_record *v, int label,
                      cs_arena *mem)
{
    int rc = CS_OK;
    const char *key = r->classes->name[label];
    const char **value = cs_arena_alloc(mem, (size_t)v->n_alt + 1, sizeof *value);

    if (!value)
        return no_memory();
    CS_TRY(cs_vcf_info(in, v, key, mem, value));
    for (int i = 0; i < v->n_alt; i++) {
        bool truth;
        if (!value[i])
            continue;
        if (!parse_truth(value[i], &truth))
            return cs_fail(CS_EFORMAT, "'%s': record %llu (%s:%lld) has %s=%s; a label is 0 or 1",
                           cs_vcf_path(in), (unsigned long long)v->no, v->contig,
                           (long long)v->pos + 1, key, value[i]);
        r->met[label] = true;
        CS_TRY(add_row(r, (struct row){ .contig = v->contig, .pos = v->pos, .ref = v->ref,
                                        .alt = v->alt[i], .label = label, .truth = truth }));
    }
out:
    return rc;
}

static int read_vcf(struct reading *r, const char *path)
{
    int rc = CS_OK;
    cs_vcf *in = NULL;
    cs_vcf_record *v;

    CS_TRY(cs_vcf_open(path, r->from->threads, false, &in));
    for (int k = 0; k < r->classes->n; k++)
        r->met[k] = r->met[k] || cs_vcf_declares(in, r->classes->name[k]);
    while (rc == CS_OK) {
        cs_arena *mem = cs_arena_new();
        rc = cs_vcf_next(in, mem, &v);
        for (int k = 0; rc == CS_OK && k < r->classes->n; k++)
            rc = add_values(r, in, v, k, mem);
        cs_arena_free(mem);
    }
    rc = rc == CS_EOF ? CS_OK : rc;
out:
    cs_vcf_close(in);
    return rc;
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { CHROM, POS, REF, ALT, LABEL, TISSUE, STRAND, N_NAMED };

struct table { cs_lines in; int n, at[N_NAMED]; };    /* n: columns */

/* The columns by name; the names of the published data of CDIL for DNA are accepted, too. */
static int find_columns(struct table *t)
{
    static const char *const name[N_NAMED][3] = {
        { "chrom", "#chrom", "chr" }, { "pos", "pos", "position" }, { "ref", "reference", "REF" },
        { "alt", "alternative", "ALT" }, { "label", "label", "class" },
        { "tissue", "tissue", "output" }, { "strand", "strand", "strand" }
    };
    char *column[MAX_COLUMN];

    if (strncmp(t->in.text, "##fileformat=VCF", 16) == 0)
        return cs_fail(CS_EUSAGE, "'%s' is VCF; give the INFO field of the labels with "
                       "--label-key", t->in.path);
    const int n = t->n = cs_lines_columns(&t->in, column, MAX_COLUMN);
    for (int k = 0; k < N_NAMED; k++) {
        t->at[k] = -1;
        for (int i = 0; i < 3 * n && t->at[k] < 0; i++)
            if (strcmp(column[i / 3], name[k][i % 3]) == 0)
                t->at[k] = i / 3;
        if (t->at[k] < 0 && k < TISSUE)
            return cs_fail(CS_EFORMAT, "'%s' has no column '%s' in its first line; columns are "
                           "chrom, pos, ref, alt, label and optionally tissue and strand, "
                           "separated by tabs", t->in.path, name[k][0]);
    }
    return CS_OK;
}

static int variant_labels_refuse(const struct table *t, const char *what, const char *text)
{
    return cs_fail(CS_EFORMAT, "'%s' line %lld: '%.40s' %s", t->in.path, (long long)t->in.no, text,
                   what);
}

static int table_row(struct reading *r, struct table *t)
{
    int rc = CS_OK, label = 0;
    char *column[MAX_COLUMN];
    const int n = cs_lines_columns(&t->in, column, MAX_COLUMN);
    int64_t pos;
    bool truth;

    for (int k = 0; k < N_NAMED; k++)
        if (t->at[k] >= n)
            return cs_lines_error(&t->in, "fewer columns than the first line has");
    if (n > t->n)                /* names of rows shift all columns */
        return cs_lines_error(&t->in, "more columns than the first line has; name every column "
                              "there, or leave out names of rows");
    if (cs_parse_int(column[t->at[POS]], &pos) != CS_OK || pos < 1)
        return variant_labels_refuse(t, "is not a position on a contig (the first is 1)",
                                     column[t->at[POS]]);
    if (!parse_truth(column[t->at[LABEL]], &truth))
        return variant_labels_refuse(t, "is not a label; labels are 0 and 1", column[t->at[LABEL]]);
    const char *strand = t->at[STRAND] < 0 ? "." : column[t->at[STRAND]];
    if (strlen(strand) != 1 || !strchr("+-.", *strand))
        return variant_labels_refuse(t, "is not a strand; strands are +, - and .", strand);
    CS_TRY(cs_classes_add(r->classes, t->at[TISSUE] < 0 ? CS_UNNAMED_EFFECT : column[t->at[TISSUE]],
                          &label));
    if (r->classes->n > MAX_LABEL)
        return variant_labels_refuse(t, "is one label too many; at most 4096 are supported",
                                     column[t->at[TISSUE]]);
    rc = add_row(r, (struct row){ .contig = column[t->at[CHROM]], .pos = pos - 1,
                                  .ref = column[t->at[REF]], .alt = column[t->at[ALT]],
                                  .label = label, .truth = truth, .strand = *strand });
out:
    return rc;
}

static int read_table(struct reading *r, const char *path)
{
    int rc = CS_OK;
    struct table t = { .in = { .path = path } };

    CS_TRY(cs_lines_open_file(&t.in));
    rc = cs_lines_next(&t.in);
    if (rc == CS_EOF)
        rc = cs_fail(CS_EFORMAT, "'%s' is empty; its first line must name the columns", path);
    CS_TRY(rc);
    CS_TRY(find_columns(&t));
    while ((rc = cs_lines_next(&t.in)) == CS_OK)
        if (t.in.n > 0 && t.in.text[0] != '#')
            CS_TRY(table_row(r, &t));
    rc = rc == CS_EOF ? CS_OK : rc;
out:
    if (cs_lines_close(&t.in) != CS_OK && rc == CS_OK)
        rc = cs_fail(CS_EIO, "cannot close '%s'", path);
    return rc;
}

/* ---- labels in order ------------------------------------------------------------------------- */

static int by_number(const void *pa, const void *pb)
{
    const double a = strtod(*(char *const *)pa, NULL), b = strtod(*(char *const *)pb, NULL);

    return a < b ? -1 : a > b;
}

/* Numeric order: tissue 2 before tissue 10. */
static int sort_numbers(struct reading *r)
{
    int rc = CS_OK;
    cs_classes *c = r->classes;
    double v;

    for (int i = 0; i < c->n; i++)
        if (cs_parse_real(c->name[i], &v) != CS_OK)
            return CS_OK;
    int32_t *to = cs_alloc((size_t)c->n + 1, sizeof *to);
    if (!to)
        return no_memory();
    CS_TRY(cs_classes_sort(c, by_number, to));
    for (size_t i = 0; i < r->n; i++)
        r->row[i].label = to[r->row[i].label];
out:
    free(to);
    return rc;
}

/* ---- examples -------------------------------------------------------------------------------- */

static int compare(const struct row *a, const struct row *b)
{
    int c = strcmp(a->contig, b->contig);

    if (c == 0)
        c = a->pos < b->pos ? -1 : a->pos > b->pos;
    if (c == 0)
        c = strcmp(a->ref, b->ref);
    if (c == 0)
        c = strcmp(a->alt, b->alt);
    return c ? c : (a->strand == '-') - (b->strand == '-');
}

static int by_variant(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;
    const int c = compare(a, b);

    return c ? c : a->no < b->no ? -1 : a->no > b->no;
}

/* Counts for the warnings. */
struct counts { int64_t n, n_swapped, n_conflict, n_unscored[CS_N_UNSCORED]; };

static void set_targets(const struct row *row, size_t n, int32_t n_label, float *target,
                        struct counts *k)
{
    static const float both = 2;

    for (int32_t i = 0; i < n_label; i++)
        target[i] = NAN;
    for (size_t i = 0; i < n; i++) {
        float *t = &target[row[i].label];
        const float truth = (float)row[i].truth;
        *t = isnan(*t) || *t == truth ? truth : both;
    }
    for (size_t i = 0; i < n; i++)
        k->n_conflict += target[row[i].label] == both;
    for (int32_t i = 0; i < n_label; i++)
        target[i] = target[i] == both ? NAN : target[i];
}

static bool any_target(const float *target, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (!isnan(target[i]))
            return true;
    return false;
}

static int find_part(const struct reading *r, const char *contig, cs_part *part)
{
    *part = CS_PART_TRAIN;
    if (!r->split)
        return CS_OK;
    const char *text = cs_labels_find(r->split, contig, 0);
    if (text && cs_part_of(text, part))
        return CS_OK;
    return cs_fail(CS_EFORMAT, "contig '%s' %s in '%s'; it must be train, valid or skip", contig,
                   text ? "has another value" : "is missing", r->from->split);
}

/* Both windows as their reverse complements; scratch holds one. */
static void reverse_windows(char *base, int64_t n_base, char *scratch)
{
    for (int i = 0; i < 2; i++) {
        memcpy(scratch, base + i * n_base, (size_t)n_base);
        cs_base_revcomp(scratch, n_base, base + i * n_base);
    }
}

/* The rows [0, n) of one variant. */
static int add_example(struct reading *r, cs_variant_windows *w, cs_exons *exons,
                       const struct row *row, size_t n, cs_dataset *d, struct counts *k)
{
    int rc = CS_OK;
    const int64_t n_base = r->from->window.n_base;
    char name[NAME_BYTES], *base = cs_alloc(3 * (size_t)n_base, 1);
    float *target = cs_alloc((size_t)d->n_target, sizeof *target);
    cs_window_pair pair;
    cs_exon ignored;
    cs_part part;

    if (!base || !target) {
        rc = no_memory();
        goto out;
    }
    const cs_window_allele allele = { row->contig, row->pos, row->ref, row->alt };
    CS_TRY(cs_variant_windows_make(w, &allele, base, base + n_base, &pair));
    if (!pair.why && exons)
        cs_exons_mark(exons, row->contig, n_base, base, &pair, &ignored);
    k->n_unscored[pair.why]++;
    k->n_swapped += pair.swapped;
    set_targets(row, n, d->n_target, target, k);
    if (pair.why || !any_target(target, d->n_target))
        goto out;
    CS_TRY(find_part(r, row->contig, &part));
    if (row->strand == '-')
        reverse_windows(base, n_base, base + 2 * n_base);
    (void)snprintf(name, sizeof name, "%.60s:%lld %.40s>%.40s%s", row->contig,
                   (long long)row->pos + 1, row->ref, row->alt, row->strand == '-' ? " -" : "");
    const cs_record rec = { .name = name, .n_seg = 1, .seg = { { base, NULL, 2 * n_base } } };
    CS_TRY(cs_dataset_add(d, &rec, target, row->contig));
    d->ex[d->n - 1].part = part;
out:
    free(base);
    free(target);
    return rc;
}

static void variant_labels_report(const struct counts *k, int64_t n_example)
{
    for (int u = CS_SCORED + 1; u < CS_N_UNSCORED; u++)
        if (k->n_unscored[u] > 0)
            cs_warn("%lld of %lld variants %s left out: %s (%s)", (long long)k->n_unscored[u],
                    (long long)k->n, CS_PLURAL(k->n_unscored[u], "was", "were"),
                    cs_unscored_name((cs_unscored)u),
                    cs_unscored_help((cs_unscored)u));
    if (k->n_conflict > 0)
        cs_warn("%lld rows with both label 0 and label 1 were left out",
                (long long)k->n_conflict);
    if (k->n_swapped > 0)
        cs_warn("REF and ALT are swapped in %lld of %lld variants, which were used as given",
                (long long)k->n_swapped, (long long)k->n);
    cs_note("%lld labelled %s", (long long)n_example, CS_PLURAL(n_example, "variant", "variants"));
}

static int make_examples(struct reading *r, cs_dataset *d)
{
    int rc = CS_OK;
    cs_reference *ref = NULL;
    struct counts k = { 0 };
    cs_variant_windows *w = NULL;
    cs_exons *exons = NULL;

    CS_TRY(cs_reference_open(r->from->reference, &ref));
    CS_TRY(cs_variant_windows_check(&r->from->window, ref));
    w = cs_variant_windows_new(ref, &r->from->window);
    if (r->from->exons) {
        CS_TRY(cs_exons_open(r->from->exons, &exons));
        CS_TRY(cs_exons_circular(exons, r->from->exons, ref, w));
        CS_TRY(cs_exons_compare(exons, r->from->exons, ref, w));
    }
    cs_dataset_init(d, false, r->classes->n, 0);
    d->n_part = 2;
    if (r->n > 1)
        qsort(r->row, r->n, sizeof *r->row, by_variant);
    for (size_t i = 0, end; rc == CS_OK && i < r->n; i = end) {
        for (end = i + 1; end < r->n && compare(&r->row[i], &r->row[end]) == 0;)
            end++;
        k.n++;
        rc = add_example(r, w, exons, &r->row[i], end - i, d, &k);
    }
    if (rc == CS_OK)
        variant_labels_report(&k, d->n);
out:
    cs_variant_windows_free(w);
    cs_exons_close(exons);
    cs_reference_free(ref);
    return rc;
}

int cs_variant_labels_read(const cs_variant_labels *from, cs_dataset *d, cs_classes *classes)
{
    int rc = CS_OK;
    struct reading r = { .from = from, .mem = cs_arena_new(), .classes = classes };

    if (!from->reference) {
        rc = cs_fail(CS_EUSAGE, "variants need their reference; give it with --reference");
        goto out;
    }
    if (from->split)
        CS_TRY(cs_labels_open(from->split, &r.split));
    if (from->key)
        CS_TRY(add_keys(&r, from->key));
    for (int i = 0; i < from->file->n; i++)
        CS_TRY(from->key ? read_vcf(&r, from->file->v[i]) : read_table(&r, from->file->v[i]));
    CS_TRY(check_keys(&r));
    if (r.n == 0) {
        rc = cs_fail(CS_EFORMAT, "the input has no labelled variant");
        goto out;
    }
    CS_TRY(sort_numbers(&r));
    rc = make_examples(&r, d);
out:
    cs_labels_close(r.split);
    cs_arena_free(r.mem);
    CS_FREE(r.row, r.met);
    return rc;
}

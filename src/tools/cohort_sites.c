/* cohort_sites.c - usable sites of a VCF file for a simulated cohort, and their frequencies. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/names.h"
#include "base/opt.h"
#include "base/rng.h"
#include "base/signals.h"
#include "io/alphabet.h"
#include "io/regions.h"
#include "io/vcf.h"
#include "io/vcf_text.h"
#include "tools/cohort.h"

enum { FILTER_COLUMN = 6, FORMAT_COLUMN = 8, STREAM_FREQ = 141 };

struct reading {
    const cs_cohort_args *a;
    uint64_t         seed;
    cs_vcf          *in;
    cs_regions      *regions;    /* NULL: everything */
    cs_region        at;
    cs_cohort_sites *s;
    cs_arena        *mem;        /* the record's */
    int64_t          end;        /* of the last site's REF */
    cs_names         seen;       /* contigs that have had records */
    const char      *contig;     /* of the record before, NULL: none; and its place */
    int64_t          pos;
};

static int broken(const struct reading *r, const cs_vcf_record *v, const char *what)
{
    return cs_fail(CS_EFORMAT, "'%s': record %llu (%s:%lld) %s", cs_vcf_path(r->in),
                   (unsigned long long)v->no, v->contig, (long long)v->pos + 1, what);
}

static int not_a_number(const struct reading *r, const cs_vcf_record *v, const char *key,
                        const char *text)
{
    char why[96];

    (void)snprintf(why, sizeof why, "has '%.40s' in %s, which is not a decimal number", text, key);
    return broken(r, v, why);
}

/* ---- frequencies ----------------------------------------------------------------------------- */

/* Values of AF or AC; NAN: missing, or the specification's word for it. */
static int from_info(const struct reading *r, const cs_vcf_record *v, const char *key, double *x)
{
    int rc = CS_OK;
    const char **text = cs_arena_alloc(r->mem, (size_t)v->n_alt, sizeof *text);

    if (text == NULL)
        return cs_fail(CS_EMEM, "out of memory for the sites of '%s'", cs_vcf_path(r->in));
    CS_TRY(cs_vcf_info(r->in, v, key, r->mem, text));
    for (int i = 0; i < v->n_alt; i++) {
        x[i] = NAN;
        if (text[i] && strcasecmp(text[i], "nan") != 0 && cs_parse_real(text[i], &x[i]) != CS_OK)
            return not_a_number(r, v, key, text[i]);
    }
out:
    return rc;
}

/* AN, or 0 if it is missing. */
static int allele_number(const struct reading *r, const cs_vcf_record *v, double *n)
{
    size_t n_text = 0;
    char text[32] = "";
    const char *an = cs_vcf_info_find(v->line, v->n_line, "AN", &n_text);

    *n = 0;
    if (!an || (n_text == 1 && *an == '.'))
        return CS_OK;
    memcpy(text, an, n_text < sizeof text ? n_text : sizeof text - 1);
    return n_text < sizeof text && cs_parse_real(text, n) == CS_OK
        ? CS_OK : not_a_number(r, v, "AN", text);
}

/* Alleles counted in one sample's column, "0|1:..." */
static void count_sample(const char *gt, const char *end, int n_alt, double *count, double *n)
{
    while (gt < end && *gt != ':') {
        char *next;
        const long allele = *gt == '.' ? -1 : strtol(gt, &next, 10);
        if (*gt == '.' || next == gt)
            gt++;
        else
            gt = next;
        if (allele >= 0 && allele <= n_alt)
            ++*n;
        if (allele > 0 && allele <= n_alt)
            count[allele - 1]++;
        gt += gt < end && (*gt == '|' || *gt == '/');
    }
}

static double from_genotypes(const cs_vcf_record *v, double *count)
{
    size_t n_text;
    double n = 0;
    const char *format = cs_vcf_column(v->line, v->n_line, FORMAT_COLUMN, &n_text);
    const char *end = v->line + v->n_line;

    for (int i = 0; i < v->n_alt; i++)
        count[i] = 0;
    if (format == NULL || n_text < 2 || strncmp(format, "GT", 2) != 0)
        return 0;
    for (const char *p = format + n_text; p < end;) {
        p++;
        const char *tab = memchr(p, '\t', (size_t)(end - p)), *stop = tab ? tab : end;
        count_sample(p, stop, v->n_alt, count, &n);
        p = stop;
    }
    return n;
}

static bool all_known(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!(x[i] >= 0))
            return false;
    return true;
}

/* Log-uniform over --min-freq .. 0.5, as rare alleles are many; ALTs share it. */
static void draw_freq(const struct reading *r, const cs_vcf_record *v, double *freq)
{
    const double min = r->a->min_freq > 0 ? r->a->min_freq : 1e-3;
    const double u = cs_rng_unit(cs_rng_key(r->seed, STREAM_FREQ), (uint64_t)r->s->n);

    for (int i = 0; i < v->n_alt; i++)
        freq[i] = min * pow(0.5 / min, u) / v->n_alt;
}

static int find_freq(const struct reading *r, const cs_vcf_record *v, double *freq)
{
    int rc = CS_OK;
    double n;

    if (r->a->freq == CS_FREQ_DRAW) {
        draw_freq(r, v, freq);
        return CS_OK;
    }
    CS_TRY(from_info(r, v, "AF", freq));
    if (all_known(freq, v->n_alt))
        return CS_OK;
    CS_TRY(from_info(r, v, "AC", freq));
    CS_TRY(allele_number(r, v, &n));
    if (!all_known(freq, v->n_alt) || !(n > 0))
        n = from_genotypes(v, freq);
    if (!(n > 0))
        return broken(r, v, "has neither AF, nor AC and AN, nor genotypes to count "
                      "alleles in; have frequencies drawn with --frequencies draw");
    for (int i = 0; i < v->n_alt; i++)
        freq[i] /= n;
out:
    return rc;
}

/* ---- sites ----------------------------------------------------------------------------------- */

/* At least one of A, C, G and T, and nothing else. */
static bool is_bases(const char *s)
{
    const char *p = s;

    while (cs_base_code[(unsigned char)*p] < 4)
        p++;
    return *p == '\0' && p > s;
}

static bool has_plain_alleles(const cs_vcf_record *v)
{
    bool good = v->n_alt > 0 && is_bases(v->ref);

    for (int i = 0; i < v->n_alt; i++)
        good = good && is_bases(v->alt[i]);
    return good;
}

static bool has_passed(const cs_vcf_record *v)
{
    size_t n = 0;
    const char *filter = cs_vcf_column(v->line, v->n_line, FILTER_COLUMN, &n);

    return filter && ((n == 1 && *filter == '.') || (n == 4 && memcmp(filter, "PASS", 4) == 0));
}

static char *join(cs_arena *mem, const char **alt, int n)
{
    size_t size = 0;

    for (int i = 0; i < n; i++)
        size += strlen(alt[i]) + 1;
    char *text = cs_arena_alloc(mem, size, 1), *p = text;
    for (int i = 0; text && i < n; i++)
        p += snprintf(p, size - (size_t)(p - text), "%s%s", i > 0 ? "," : "", alt[i]);
    return text;
}

static char *copy(const struct reading *r, const char *text)
{
    return cs_arena_dup(r->s->mem, text, strlen(text));
}

static bool same_contig(const cs_cohort_sites *s, const char *contig)
{
    return s->n > 0 && strcmp(s->v[s->n - 1].contig, contig) == 0;
}

static int add_site(struct reading *r, const cs_vcf_record *v)
{
    int rc = CS_OK;
    cs_cohort_sites *s = r->s;
    double total = 0;
    double *freq = cs_arena_alloc(s->mem, (size_t)v->n_alt, sizeof *freq);

    if (freq == NULL)
        return cs_fail(CS_EMEM, "out of memory for the sites of '%s'", cs_vcf_path(r->in));
    CS_TRY(find_freq(r, v, freq));
    for (int i = 0; i < v->n_alt; i++)
        total += freq[i];
    if (!(total <= 1 + 1e-6))
        return broken(r, v, "has alleles with frequencies of more than 1 together");
    if (total < r->a->min_freq || 1 - total < r->a->min_freq || total <= 0) {
        s->n_rare++;
        return CS_OK;
    }
    CS_TRY(cs_grow((void **)&s->v, &s->cap, s->n + 1, sizeof *s->v));
    cs_cohort_site new = {
        .contig = same_contig(s, v->contig) ? s->v[s->n - 1].contig : copy(r, v->contig),
        .id = copy(r, v->id), .ref = copy(r, v->ref), .alt = join(s->mem, v->alt, v->n_alt),
        .pos = v->pos, .n_alt = v->n_alt, .freq = freq,
    };
    if (!new.contig || !new.id || !new.ref || !new.alt)
        return cs_fail(CS_EMEM, "out of memory for the sites of '%s'", cs_vcf_path(r->in));
    s->v[s->n++] = new;
    r->end = v->pos + (int64_t)strlen(v->ref);
out:
    return rc;
}

/* By contig and position, for the output. */
static int check_order(struct reading *r, const cs_vcf_record *v)
{
    const bool same = r->contig && strcmp(r->contig, v->contig) == 0;

    if (same && v->pos < r->pos)
        return broken(r, v, "comes behind one of a later place; sort the file, with 'bcftools "
                      "sort' say");
    if (!same && cs_names_find(&r->seen, v->contig) >= 0)
        return broken(r, v, "is apart from the others of its contig; sort the file, with 'bcftools "
                      "sort' say");
    r->pos = v->pos;
    if (same)
        return CS_OK;
    r->contig = copy(r, v->contig);
    if (!r->contig)
        return cs_fail(CS_EMEM, "out of memory for the sites of '%s'", cs_vcf_path(r->in));
    return cs_names_add(&r->seen, r->contig, 0);
}

static int cohort_sites_take(struct reading *r, const cs_vcf_record *v)
{
    const cs_cohort_sites *s = r->s;
    const int64_t end = v->pos + (int64_t)strlen(v->ref);

    if (r->regions && (strcmp(v->contig, r->at.contig) != 0 || v->pos < r->at.from
                       || end > r->at.to))
        return CS_OK;
    if (!has_passed(v)) {
        r->s->n_filtered++;
        return CS_OK;
    }
    if (!has_plain_alleles(v)) {
        r->s->n_symbolic++;
        return CS_OK;
    }
    if (same_contig(s, v->contig) && v->pos < r->end) {
        r->s->n_overlap++;
        return CS_OK;
    }
    return add_site(r, v);
}

static int take_next(struct reading *r)
{
    int rc = CS_OK;
    cs_vcf_record *v;

    r->mem = cs_arena_new();
    CS_TRY(cs_vcf_next(r->in, r->mem, &v));
    CS_TRY(check_order(r, v));
    rc = cs_signal_caught() != 0 ? CS_ECANCEL : cohort_sites_take(r, v);
out:
    cs_arena_free(r->mem);
    return rc;
}

int cs_cohort_sites_read(const cs_cohort_args *a, uint64_t seed, cs_cohort_sites *s)
{
    int rc = CS_OK;
    struct reading r = { .a = a, .seed = seed, .s = s };

    *s = (cs_cohort_sites){ .mem = cs_arena_new() };
    if (a->region != NULL) {
        CS_TRY(cs_regions_open(&a->region, 1, NULL, &r.regions));
        CS_TRY(cs_regions_next(r.regions, NULL, &r.at));
    }
    CS_TRY(cs_vcf_open(a->input, 0, false, &r.in));
    while ((rc = take_next(&r)) == CS_OK)
        ;
    rc = rc == CS_EOF ? CS_OK : rc;
    if (rc == CS_OK && r.regions && cs_names_find(&r.seen, r.at.contig) < 0)
        rc = cs_fail(CS_EUSAGE, "'%s' has no record on '%s'; does it use another name for this "
                     "contig?", a->input, r.at.contig);
out:
    cs_vcf_close(r.in);
    cs_regions_free(r.regions);
    cs_names_release(&r.seen);
    return rc;
}

void cs_cohort_sites_release(cs_cohort_sites *s)
{
    cs_arena_free(s->mem);
    free(s->v);
    *s = (cs_cohort_sites){ 0 };
}

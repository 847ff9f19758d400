/* cohort.c - simulate a cohort: genotypes at the sites of a VCF file, and a trait with causal
 * sites.
 *
 * DESIGN: an allele is a function of the seed, the haplotype and the site, so genotypes are not
 * stored: they are drawn to select a person, and again to write the rows of the VCF. Along a
 * haplotype runs a normal variable with correlation decreasing by distance (a Gaussian copula); the
 * allele is its quantile.
 *
 * Liability-threshold model: D. S. Falconer, Ann. Hum. Genet. 29 (1965). The population's mean,
 * variance and threshold are estimated from a random sample, since neighbouring sites may be
 * correlated.
 */
#include "tools/cohort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "base/log.h"
#include "base/order.h"
#include "base/rng.h"
#include "base/signals.h"
#include "io/content.h"
#include "run/outputs.h"

enum { N_POPULATION = 20000, MAX_TRIES = 100000, N_OUTPUT = 4 };
enum { STREAM_CAUSE = 142, STREAM_EFFECT, STREAM_POPULATION, STREAM_PERSON, STREAM_CASE,
       STREAM_REST };

static const char *const freqs[] = { "file", "draw", NULL };

#define AT(field) .off = offsetof(struct cs_cohort_args, field)

const cs_opt cs_cohort_table[] = {
    { .type = CS_OPT_GROUP, .name = "Cohort" },
    { .type = CS_OPT_IN, .letter = 'i', .name = "input", AT(input), .arg = "VCF",
      .help = "sites and alleles: VCF or BCF" },
    { .type = CS_OPT_STR, .letter = 'r', .name = "region", AT(region), .arg = "REGION",
      .help = "restrict to contig:from-to",
      .man = "Counted from 1, both ends included. No index is needed." },
    { .type = CS_OPT_ENUM, .name = "frequencies", AT(freq), .arg = "FROM", .def = "file",
      .help = "allele frequencies: from the file, or drawn",
      .man = "From the file: AF, otherwise AC and AN, otherwise the genotypes. Drawn: log-uniform "
             "from --min-freq to 0.5.", .choice = freqs },
    { .type = CS_OPT_REAL, .name = "min-freq", AT(min_freq), .arg = "NUM", .def = "0.01",
      .help = "minimum frequency of REF, and of all ALTs together",
      .man = "As of 'bcftools view --min-af NUM:nref --max-af 1-NUM:nref'; each of several ALTs "
             "may be rarer.", .min = 0, .max = 0.5 },
    { .type = CS_OPT_SIZE, .name = "ld-scale", AT(ld_scale), .arg = "BASES", .def = "0",
      .help = "distance at which the correlation of neighbouring sites is 1/e; 0: independent "
              "sites",
      .min = 0, .max = 1e9 },
    { .type = CS_OPT_SIZE, .name = "causal", AT(n_causal), .arg = "NUM", .def = "10",
      .help = "number of causal sites", .min = 0, .max = 1e9 },
    { .type = CS_OPT_REAL, .name = "heritability", AT(heritability), .arg = "SHARE", .def = "0.5",
      .help = "heritability: share of the liability's variance due to causal sites", .min = 0,
      .max = 1 },
    { .type = CS_OPT_REAL, .name = "prevalence", AT(prevalence), .arg = "SHARE", .def = "0.5",
      .help = "share of cases in the population", .min = 1e-3, .max = 1 - 1e-3 },
    { .type = CS_OPT_REAL, .name = "case-share", AT(case_share), .arg = "SHARE", .def = "0",
      .help = "share of cases in the cohort; 0: as in the population", .min = 0, .max = 1 },
    { .type = CS_OPT_OUT, .name = "labels", AT(labels), .arg = "FILE",
      .help = "write each person's class, case or control" },
    { .type = CS_OPT_OUT, .name = "liabilities", AT(liabilities), .arg = "FILE",
      .help = "write each person's liability, and its genetic part" },
    { .type = CS_OPT_OUT, .name = "effects", AT(effects), .arg = "FILE",
      .help = "write the causal sites" },
    { .type = CS_OPT_END }
};

/* State of a haplotype along the sites. */
struct hap { uint64_t key; double z; };

struct person { struct hap hap[2]; double genetic, liability; };

struct cohort {
    const cs_cohort_args *a;
    uint64_t        seed;
    cs_cohort_sites sites;
    double          mean, threshold;     /* of the genetic sum, and of the liability */
    struct person  *person;      /* [n] */
    int64_t         n;
};

/* ---- genotypes ------------------------------------------------------------------------------- */

/* The allele at site j, 0 for REF; draw those of the sites before it first, in order. */
static int draw_allele(const struct cohort *c, struct hap *h, size_t j)
{
    const cs_cohort_site *s = &c->sites.v[j];
    const bool goes_on = c->a->ld_scale > 0 && j > 0 && s[-1].contig == s->contig;
    const double rho = goes_on ? exp(-(double)(s->pos - s[-1].pos) / (double)c->a->ld_scale) : 0;

    h->z = rho * h->z + sqrt(1 - rho * rho) * cs_rng_normal(h->key, j);
    double left = 0.5 * erfc(-h->z / sqrt(2));
    for (int i = 0; i < s->n_alt; i++) {
        left -= s->freq[i];
        if (left < 0)
            return i + 1;
    }
    return 0;
}

static struct person make_person(uint64_t key)
{
    return (struct person){ .hap = { { cs_rng_key(key, 0), 0 }, { cs_rng_key(key, 1), 0 } } };
}

/* The sum of the effects of a person's alleles. */
static double genetic_sum(const struct cohort *c, struct person p)
{
    double sum = 0;

    for (size_t j = 0; j < c->sites.n; j++) {
        if (c->sites.v[j].effect == 0 && c->a->ld_scale == 0)
            continue;            /* nothing depends on it */
        const int a = draw_allele(c, &p.hap[0], j), b = draw_allele(c, &p.hap[1], j);
        sum += c->sites.v[j].effect * ((a > 0) + (b > 0));
    }
    return sum;
}

/* The environmental part of a person's liability. */
static double environment(const struct cohort *c, uint64_t key)
{
    return sqrt(1 - c->a->heritability) * cs_rng_normal(cs_rng_key(key, STREAM_REST), 0);
}

static void set_liability(const struct cohort *c, uint64_t key, struct person *p)
{
    p->genetic = genetic_sum(c, *p) - c->mean;
    p->liability = p->genetic + environment(c, key);
}

/* ---- the trait ------------------------------------------------------------------------------- */

/* Sites with one ALT are drawn; effects are such that rare alleles have larger ones, and each site
 * has the same share of the variance on average. */
static int draw_causal_sites(struct cohort *c)
{
    int64_t n = 0;
    int64_t *index = cs_alloc(c->sites.n + 1, sizeof *index);

    if (index == NULL)
        return cs_fail(CS_EMEM, "out of memory for %zu sites", c->sites.n);
    for (size_t j = 0; j < c->sites.n; j++)
        if (c->sites.v[j].n_alt == 1 && c->sites.v[j].freq[0] < 1)
            index[n++] = (int64_t)j;
    if (n < c->a->n_causal) {
        free(index);
        return cs_fail(CS_EUSAGE, "'%s' has %lld sites that can have an effect (one ALT, "
                       "sufficiently frequent), fewer than --causal %lld", c->a->input,
                       (long long)n, (long long)c->a->n_causal);
    }
    cs_rng_shuffle(cs_rng_key(c->seed, STREAM_CAUSE), index, n);
    for (int64_t k = 0; k < c->a->n_causal; k++) {
        cs_cohort_site *s = &c->sites.v[index[k]];
        const double f = s->freq[0];
        s->effect = cs_rng_normal(cs_rng_key(c->seed, STREAM_EFFECT), (uint64_t)index[k])
                  / sqrt(2 * f * (1 - f));
    }
    free(index);
    return CS_OK;
}

/* Estimates mean and threshold; scales the effects to the liability. */
static int cohort_measure(struct cohort *c)
{
    const uint64_t key = cs_rng_key(c->seed, STREAM_POPULATION);
    double sum = 0, squares = 0;
    double *v = cs_alloc(N_POPULATION, sizeof *v);

    if (v == NULL)
        return cs_fail(CS_EMEM, "out of memory for a population");
    for (int i = 0; i < N_POPULATION; i++) {
        v[i] = genetic_sum(c, make_person(cs_rng_key(key, (uint64_t)i)));
        sum += v[i];
        squares += v[i] * v[i];
        if (cs_signal_caught() != 0) {
            free(v);
            return CS_ECANCEL;
        }
    }
    const double mean = sum / N_POPULATION, var = squares / N_POPULATION - mean * mean;
    const double scale = var > 1e-12 ? sqrt(c->a->heritability / var) : 0;
    for (int i = 0; i < N_POPULATION; i++)
        v[i] = (v[i] - mean) * scale + environment(c, cs_rng_key(key, (uint64_t)i));
    qsort(v, N_POPULATION, sizeof *v, cs_by_double);
    c->threshold = v[(int)((1 - c->a->prevalence) * N_POPULATION)];
    c->mean = mean * scale;
    free(v);
    for (size_t j = 0; j < c->sites.n; j++)
        c->sites.v[j].effect *= scale;
    return var > 1e-12 || c->a->heritability == 0 ? CS_OK
         : cs_fail(CS_EUSAGE, "no site has an effect, so --heritability %g is impossible; set "
                   "--causal", c->a->heritability);
}

static bool is_case(const struct cohort *c, const struct person *p)
{
    return p->liability >= c->threshold;
}

/* Person i: the next one drawn, or the next of the required class. */
static int draw_person(const struct cohort *c, int64_t i, int64_t n_case)
{
    const uint64_t key = cs_rng_key(cs_rng_key(c->seed, STREAM_PERSON), (uint64_t)i);
    const uint64_t place = cs_rng_permute(cs_rng_key(c->seed, STREAM_CASE), (uint64_t)i,
                                          (uint64_t)c->n);
    struct person *p = &c->person[i];

    for (uint64_t k = 0; k < MAX_TRIES; k++) {
        const uint64_t one = cs_rng_key(key, k);
        *p = make_person(one);
        set_liability(c, one, p);
        if (c->a->case_share == 0 || is_case(c, p) == ((int64_t)place < n_case))
            return CS_OK;
        if (cs_signal_caught() != 0)
            return CS_ECANCEL;
    }
    return cs_fail(CS_EUSAGE, "none of %d persons is a %s; change --prevalence",
                   MAX_TRIES, (int64_t)place < n_case ? "case" : "control");
}

static int draw_persons(struct cohort *c)
{
    int rc = CS_OK;
    const int64_t n_case = llround(c->a->case_share * (double)c->n);

    c->person = cs_alloc((size_t)c->n, sizeof *c->person);
    if (c->person == NULL)
        return cs_fail(CS_EMEM, "out of memory for %lld persons", (long long)c->n);
    for (int64_t i = 0; i < c->n; i++)
        CS_TRY(draw_person(c, i, n_case));
out:
    return rc;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static int write_header(const struct cohort *c, cs_outfile *f)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "##fileformat=VCFv4.2\n##source=chordseq-%s simulate cohort\n"
                             "##FILTER=<ID=PASS,Description=\"All filters passed\">\n",
                             PACKAGE_VERSION));
    for (size_t j = 0; j < c->sites.n; j++)
        if (j == 0 || c->sites.v[j].contig != c->sites.v[j - 1].contig)
            CS_TRY(cs_outfile_printf(f, "##contig=<ID=%s>\n", c->sites.v[j].contig));
    CS_TRY(cs_outfile_printf(f, "##INFO=<ID=AF,Number=A,Type=Float,Description=\"Frequency that "
                             "alleles were drawn with\">\n##FORMAT=<ID=GT,Number=1,Type=String,"
                             "Description=\"Genotype\">\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\t"
                             "INFO\tFORMAT"));
    for (int64_t i = 0; i < c->n; i++)
        CS_TRY(cs_outfile_printf(f, "\tp%lld", (long long)i + 1));
    rc = cs_outfile_printf(f, "\n");
out:
    return rc;
}

/* Draws the alleles of all persons, so sites are written once, in order. */
static int write_site(const struct cohort *c, size_t j, cs_outfile *f)
{
    int rc = CS_OK;
    const cs_cohort_site *s = &c->sites.v[j];

    CS_TRY(cs_outfile_printf(f, "%s\t%lld\t%s\t%s\t%s\t.\tPASS\tAF=", s->contig,
                             (long long)s->pos + 1, s->id, s->ref, s->alt));
    for (int i = 0; i < s->n_alt; i++)
        CS_TRY(cs_outfile_printf(f, "%s%.6g", i > 0 ? "," : "", s->freq[i]));
    CS_TRY(cs_outfile_printf(f, "\tGT"));
    for (int64_t i = 0; i < c->n; i++) {
        struct hap *h = c->person[i].hap;
        const int a = draw_allele(c, &h[0], j), b = draw_allele(c, &h[1], j);
        CS_TRY(cs_outfile_text(f, "\t"));
        CS_TRY(cs_outfile_int(f, a));
        CS_TRY(cs_outfile_text(f, "|"));
        CS_TRY(cs_outfile_int(f, b));
    }
    CS_TRY(cs_outfile_printf(f, "\n"));
    rc = cs_signal_caught() != 0 ? CS_ECANCEL : CS_OK;
out:
    return rc;
}

static int write_genotypes(const struct cohort *c, cs_outfile *f)
{
    int rc = CS_OK;

    CS_TRY(write_header(c, f));
    for (size_t j = 0; j < c->sites.n; j++)
        CS_TRY(write_site(c, j, f));
out:
    return rc;
}

static int write_labels(const struct cohort *c, cs_outfile *f)
{
    int rc = CS_OK;

    for (int64_t i = 0; i < c->n; i++)
        CS_TRY(cs_outfile_printf(f, "p%lld\t%s\n", (long long)i + 1,
                                 is_case(c, &c->person[i]) ? "case" : "control"));
out:
    return rc;
}

static int write_liabilities(const struct cohort *c, cs_outfile *f)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "#person\tliability\tgenetic\n"));
    for (int64_t i = 0; i < c->n; i++)
        CS_TRY(cs_outfile_printf(f, "p%lld\t%.6f\t%.6f\n", (long long)i + 1,
                                 c->person[i].liability, c->person[i].genetic));
out:
    return rc;
}

static int write_effects(const struct cohort *c, cs_outfile *f)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "#contig\tpos\tid\tref\talt\tfrequency\teffect\tvariance\n"));
    for (size_t j = 0; j < c->sites.n; j++) {
        const cs_cohort_site *s = &c->sites.v[j];
        const double p = s->freq[0];
        if (s->effect != 0)
            CS_TRY(cs_outfile_printf(f, "%s\t%lld\t%s\t%s\t%s\t%.6g\t%.6f\t%.6f\n", s->contig,
                                     (long long)s->pos + 1, s->id, s->ref, s->alt, p, s->effect,
                                     2 * p * (1 - p) * s->effect * s->effect));
    }
out:
    return rc;
}

static int cohort_open(const cs_cohort_args *a, const char *output, cs_outfile *f[N_OUTPUT])
{
    const char *const path[N_OUTPUT] = { output, a->labels, a->liabilities, a->effects };
    int rc;

    CS_TRY(cs_outputs_distinct(path, N_OUTPUT));
    for (int i = 0; i < N_OUTPUT; i++)
        if (path[i] != NULL)
            CS_TRY(cs_outfile_open_as(path[i], i == 0 ? CS_VARIANTS : NULL, CS_OUT_TEXT, &f[i]));
out:
    return rc;
}

static int write_all(const struct cohort *c, cs_outfile *f[N_OUTPUT])
{
    int (*const write[N_OUTPUT])(const struct cohort *, cs_outfile *) = {
        write_genotypes, write_labels, write_liabilities, write_effects
    };
    int rc = CS_OK, n = 0;

    for (int i = 0; i < N_OUTPUT; i++)
        n += f[i] != NULL;
    for (int i = 0; i < N_OUTPUT; i++)
        if (f[i] != NULL)
            CS_TRY(write[i](c, f[i]));
    rc = cs_outputs_commit((cs_outfile **const[]){ &f[0], &f[1], &f[2], &f[3] }, N_OUTPUT);
out:
    return cs_outputs_explain(rc, n, NULL);
}

static void cohort_report(const struct cohort *c)
{
    const cs_cohort_sites *s = &c->sites;
    int64_t n_case = 0;

    for (int64_t i = 0; i < c->n; i++)
        n_case += is_case(c, &c->person[i]);
    cs_note("drew %lld persons, %lld of them cases, at %zu sites", (long long)c->n,
            (long long)n_case, s->n);
    cs_note("sites left out: %lld filtered, %lld symbolic, %lld overlap, %lld rare",
            (long long)s->n_filtered, (long long)s->n_symbolic, (long long)s->n_overlap,
            (long long)s->n_rare);
}

int cs_cohort_simulate(const cs_cohort_args *a, int64_t n, uint64_t seed, const char *output)
{
    int rc = CS_OK;
    struct cohort c = { .a = a, .seed = seed, .n = n };
    cs_outfile *f[N_OUTPUT] = { NULL };

    if (a->input == NULL)
        return cs_fail(CS_EUSAGE, "no sites; name a VCF file with -i FILE");
    CS_TRY(cohort_open(a, output, f));
    CS_TRY(cs_cohort_sites_read(a, seed, &c.sites));
    if (c.sites.n == 0) {
        rc = cs_fail(CS_EFORMAT, "'%s' has no site for a cohort%s: %lld filtered, %lld symbolic, "
                     "%lld rare", a->input, a->region ? " in the region" : "",
                     (long long)c.sites.n_filtered, (long long)c.sites.n_symbolic,
                     (long long)c.sites.n_rare);
        goto out;
    }
    CS_TRY(draw_causal_sites(&c));
    CS_TRY(cohort_measure(&c));
    CS_TRY(draw_persons(&c));
    CS_TRY(write_all(&c, f));
    cohort_report(&c);
out:
    for (int i = 0; i < N_OUTPUT; i++)
        cs_outfile_discard(f[i]);
    free(c.person);
    cs_cohort_sites_release(&c.sites);
    return rc;
}

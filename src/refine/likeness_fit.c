/* likeness_fit.c - fit the detection of sequences unlike the training, from real and shuffled
 * ones. */
#include "refine/likeness_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "io/shuffle.h"

enum { MIN_BASES = 1000, MIN_SEQUENCES = 100, MIN_OF_CLASS = 50 };
/* Shares of the real sequences that are rejected, for their score and for repetition. */
static const double reject_score = 0.02, reject_repetition = 0.002;
/* Added to variances, as a share of their mean. */
static const double ridge = 1e-3;
/* Limit of a class with too few sequences: nothing is rejected. */
static const double no_limit = -1e30;

/* Sums over real [0] and shuffled [1] sequences. */
struct sums { double n[2], sum[2][CS_LIKENESS_WORDS], square[2][CS_LIKENESS_WORDS]; };

/* Scores of a sequence; bin -1: it is skipped. */
struct scored { int bin; int32_t class_no; double score, repetition, shuffled; };

static cs_record record_of(const char *base, int64_t n_base)
{
    return (cs_record){ .name = "", .n_seg = 1, .seg = { { base, NULL, n_base } } };
}

/* Real, or shuffled into `work`, which is large enough. */
static int measure_sequence(const cs_dataset *d, int64_t i, bool shuffled, uint64_t seed,
                            char *work, cs_likeness *x)
{
    int rc = CS_OK;
    const cs_example *e = &d->ex[i];
    cs_record r = record_of(e->base, e->n_base);

    if (shuffled) {
        memcpy(work, e->base, (size_t)e->n_base);
        CS_TRY(cs_shuffle_words(work, e->n_base, 1 + (int)(i % CS_SHUFFLE_MAX_K),
                                cs_rng_key(seed, (uint64_t)i)));
        r.seg[0].base = work;
    }
    cs_likeness_of(&r, x);
out:
    return rc;
}

static int add_sums(const cs_dataset *d, uint64_t seed, char *work, cs_likeness *x,
                    struct sums *s)
{
    int rc = CS_OK;

    for (int64_t i = 0; i < d->n; i++) {
        const bool counts = d->ex[i].part != CS_PART_SKIP && d->ex[i].n_base >= MIN_BASES;
        for (int k = 0; k < 2 && counts; k++) {
            CS_TRY(measure_sequence(d, i, k == 1, seed, work, x));
            s->n[k]++;
            for (int j = 0; j < CS_LIKENESS_WORDS; j++) {
                s->sum[k][j] += x->contrast[j];
                s->square[k][j] += x->contrast[j] * x->contrast[j];
            }
        }
    }
    if (s->n[0] < MIN_SEQUENCES)
        rc = cs_fail(CS_EFORMAT, "%.0f sequences of at least %d bases are too few to fit the "
                     "test for shuffled DNA; at least %d are needed", s->n[0], MIN_BASES,
                     MIN_SEQUENCES);
out:
    return rc;
}

/* Weights of the linear discriminant between real and shuffled sequences, with a diagonal
 * covariance matrix; the largest becomes INT16_MAX. */
static void fit_weights(const struct sums *s, int16_t *weight)
{
    double diff[CS_LIKENESS_WORDS], var[CS_LIKENESS_WORDS], mean_var = 0, max = 0;

    for (int j = 0; j < CS_LIKENESS_WORDS; j++) {
        const double a = s->sum[0][j] / s->n[0], b = s->sum[1][j] / s->n[1];
        diff[j] = a - b;
        var[j] = (s->square[0][j] / s->n[0] - a * a + s->square[1][j] / s->n[1] - b * b) / 2;
        mean_var += var[j] / CS_LIKENESS_WORDS;
    }
    for (int j = 0; j < CS_LIKENESS_WORDS; j++) {
        diff[j] /= var[j] + ridge * mean_var;
        max = fmax(max, fabs(diff[j]));
    }
    for (int j = 0; j < CS_LIKENESS_WORDS; j++)
        weight[j] = (int16_t)lround(max > 0 ? diff[j] / max * INT16_MAX : 0);
}

static int score_all(const cs_dataset *d, uint64_t seed, const cs_calibration *c, char *work,
                     cs_likeness *x, struct scored *out)
{
    int rc = CS_OK;

    for (int64_t i = 0; i < d->n; i++) {
        out[i].bin = -1;
        if (d->ex[i].part == CS_PART_SKIP)
            continue;
        CS_TRY(measure_sequence(d, i, false, seed, work, x));
        out[i] = (struct scored){ cs_calibration_find(c, d->ex[i].n_base), d->ex[i].class_no,
                                  cs_likeness_score(x, c->weight), x->repetition, 0 };
        CS_TRY(measure_sequence(d, i, true, seed, work, x));
        out[i].shuffled = cs_likeness_score(x, c->weight);
    }
out:
    return rc;
}

/* The quantile of v [n] at this share; `otherwise` if there are too few. */
static double quantile(double *v, int64_t n, double share, double otherwise)
{
    if (n < MIN_OF_CLASS)
        return otherwise;
    qsort(v, (size_t)n, sizeof *v, cs_by_double);
    return v[(int64_t)(share * (double)n)];
}

static void set_limits(const struct scored *s, int64_t n, int bin, double *v, cs_calibration *c)
{
    cs_calibration_bin *b = &c->bin[bin];
    int64_t n_in = 0, n_refused = 0, n_all = 0;

    for (int64_t i = 0; i < n; i++)
        if (s[i].bin == bin)
            v[n_all++] = s[i].repetition;
    b->repetition = quantile(v, n_all, 1 - reject_repetition, 1);
    for (int32_t k = 0; k < c->n_class; k++, n_in = 0) {
        for (int64_t i = 0; i < n; i++)
            if (s[i].bin == bin && s[i].class_no == k)
                v[n_in++] = s[i].score;
        b->likeness[k] = quantile(v, n_in, reject_score, no_limit);
    }
    for (int64_t i = 0; i < n; i++)
        n_refused += s[i].bin == bin && s[i].shuffled < b->likeness[s[i].class_no];
    if (n_all == 0)
        return;
    cs_note("from %lld bases: the test rejects %lld of %lld shuffled sequences, and %g %% of the "
            "real ones", (long long)b->from, (long long)n_refused, (long long)n_all,
            100 * reject_score);
}

int cs_likeness_fit(const cs_dataset *d, int32_t n_class, uint64_t seed, cs_calibration *c)
{
    int rc = CS_OK;
    int64_t longest = 1;

    for (int64_t i = 0; i < d->n; i++)
        longest = d->ex[i].n_base > longest ? d->ex[i].n_base : longest;
    char *work = cs_alloc((size_t)longest, 1);
    struct sums *sums = cs_alloc(1, sizeof *sums);
    cs_likeness *x = cs_alloc(1, sizeof *x);
    struct scored *scored = cs_alloc((size_t)d->n + 1, sizeof *scored);
    double *value = cs_alloc((size_t)d->n + 1, sizeof *value);
    if (!work || !sums || !x || !scored || !value) {
        rc = cs_fail(CS_EMEM, "out of memory for the likeness of %lld sequences", (long long)d->n);
        goto out;
    }
    *sums = (struct sums){ 0 };
    c->n_class = n_class;
    c->has_likeness = true;
    CS_TRY(add_sums(d, seed, work, x, sums));
    fit_weights(sums, c->weight);
    CS_TRY(score_all(d, seed, c, work, x, scored));
    for (int bin = 0; bin < c->n; bin++)
        set_limits(scored, d->n, bin, value, c);
out:
    CS_FREE(work, sums, x, scored, value);
    return rc;
}

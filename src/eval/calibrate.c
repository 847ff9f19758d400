/* calibrate.c - calibration: temperatures and error rates from labelled predictions.
 *
 * DESIGN. The logarithm of a probability is a logit up to a constant, so probabilities suffice. In
 * 1 / temperature the cross-entropy is convex, so a golden section finds its minimum. With a tree,
 * a class above others means "undetermined below", so the truth's probability is that of its clade.
 * Without wrong calls there is no minimum: sharper probabilities are always better. So labels are
 * smoothed: each is a random class with probability 1 / (n + 1), one record of n in sum (after
 * Platt, Probabilistic outputs for support vector machines, 1999, section 2.2).
 */
#include "eval/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "io/prediction.h"

/* Values from which several threads are faster. */
enum { MIN_RECORDS = 100, SECTIONS = 48, PARALLEL = 1 << 14 };
static const double least_slope = 0.02, most_slope = 50, least_prob = 1e-30;

/* Records of one length range, by their indices in s. mean_log: [s->n] of all records; term: [s->n]
 * work memory of the loops, on so many threads. */
struct group {
    const cs_scores *s;
    int64_t *rec;
    int64_t n;
    const cs_tree *tree;
    double *mean_log, *term;
    int n_thread;
};

/* The logarithm of the sum of a record's probabilities, each raised to the power `slope`. */
static double log_sum_powers(const cs_scores *s, int64_t i, double slope)
{
    const float *p = s->output + i * s->n_out;
    const double max = slope * log(fmax((double)p[cs_scores_best(s, i)], least_prob));
    double sum = 0;

    for (int32_t k = 0; k < s->n_out; k++)
        sum += exp(slope * log(fmax((double)p[k], least_prob)) - max);
    return max + log(sum);
}

/* The logarithm of the truth's probability, raised to the power `slope`: of its clade in a tree. */
static double log_truth_powers(const struct group *g, int64_t i, double slope)
{
    const float *p = g->s->output + i * g->s->n_out;
    const int32_t truth = cs_scores_truth(g->s, i);
    double sum = 0;

    if (!g->tree)
        return slope * log(fmax((double)p[truth], least_prob));
    const int32_t top = g->tree->of_class[truth];
    for (int32_t at = top; at < g->tree->n_node && cs_tree_within(g->tree, at, top); at++)
        if (g->tree->class_no[at] >= 0)
            sum += pow(fmax((double)p[g->tree->class_no[at]], least_prob), slope);
    return log(fmax(sum, least_prob));
}

/* The logarithm of a probability, on average over the classes. */
static double mean_log(const cs_scores *s, int64_t i)
{
    double sum = 0;

    for (int32_t k = 0; k < s->n_out; k++)
        sum += log(fmax((double)s->output[i * s->n_out + k], least_prob));
    return sum / s->n_out;
}

static double cross_entropy(const struct group *g, double slope)
{
    const double random = 1 / ((double)g->n + 1);
    double sum = 0;

    /* Sums do not depend on the number of threads. */
    #pragma omp parallel for num_threads(g->n_thread) if (g->n * g->s->n_out >= PARALLEL)
    for (int64_t j = 0; j < g->n; j++) {
        const int64_t i = g->rec[j];
        g->term[j] = log_sum_powers(g->s, i, slope)
                   - (1 - random) * log_truth_powers(g, i, slope) - random * slope * g->mean_log[i];
    }
    for (int64_t j = 0; j < g->n; j++)
        sum += g->term[j];
    return sum;
}

/* On a logarithmic scale, to a relative 1e-8 or so. */
static double best_slope(const struct group *g)
{
    const double ratio = (sqrt(5) - 1) / 2;
    double lo = log(least_slope), hi = log(most_slope);
    double a = hi - ratio * (hi - lo), b = lo + ratio * (hi - lo);
    double fa = cross_entropy(g, exp(a)), fb = cross_entropy(g, exp(b));

    for (int i = 0; i < SECTIONS; i++) {
        if (fa < fb) {
            hi = b;
            b = a;
            fb = fa;
            a = hi - ratio * (hi - lo);
            fa = cross_entropy(g, exp(a));
        } else {
            lo = a;
            a = b;
            fa = fb;
            b = lo + ratio * (hi - lo);
            fb = cross_entropy(g, exp(b));
        }
    }
    return exp((lo + hi) / 2);
}

/* Are wrong calls counted per class? */
static bool has_curves(const struct group *g)
{
    return !g->tree && g->s->n_out <= CS_CALIBRATION_CLASSES;
}

/* Steps of probability at which record i is called, and wrongly called. v: memory for its
 * values. */
static void count_calls(const struct group *g, int64_t i, double slope, float *v,
                        cs_calibration_bin *b)
{
    const double all = log_sum_powers(g->s, i, slope);
    const int32_t truth = cs_scores_truth(g->s, i), best = cs_scores_best(g->s, i);
    const int32_t n = g->s->n_out;

    for (int32_t c = 0; c < n; c++)
        v[c] = (float)exp(slope * log(fmax((double)g->s->output[i * n + c], least_prob)) - all);
    for (int k = 0; k < CS_CALIBRATION_STEPS; k++) {
        double p = (double)v[best];
        int32_t call = 0;
        if (g->tree)
            call = cs_tree_call(g->tree, v, cs_calibration_step[k], &p);
        if (p < cs_calibration_step[k])
            return;
        const bool wrong = g->tree ? !cs_tree_within(g->tree, g->tree->of_class[truth], call)
                                   : best != truth;
        b->all.n_kept[k]++;
        b->all.n_wrong[k] += wrong;
        if (!has_curves(g))
            continue;
        b->called[best].n_kept[k]++;
        b->called[best].n_wrong[k] += wrong;
    }
}

static int fit_bin(const struct group *g, cs_calibration_bin *b)
{
    const double slope = best_slope(g);
    float *v = cs_alloc((size_t)g->s->n_out, sizeof *v);

    if (v == NULL)
        return cs_fail(CS_EMEM, "out of memory for the calibration of %lld records",
                       (long long)g->n);
    *b = (cs_calibration_bin){ .temperature = 1 / slope, .n = g->n };
    for (int64_t j = 0; j < g->n; j++)
        count_calls(g, g->rec[j], slope, v, b);
    free(v);
    return CS_OK;
}

static void select_between(struct group *g, int64_t lo, int64_t hi)
{
    g->n = 0;
    for (int64_t i = 0; i < g->s->n; i++)
        if (cs_scores_within(g->s, i, lo, hi))
            g->rec[g->n++] = i;
}

static void group_release(struct group *g)
{
    CS_FREE(g->rec, g->mean_log, g->term);
}

/* All records; release it, also after an error. */
static int open_group(const cs_scores *s, const cs_tree *tree, int n_thread, struct group *g)
{
    const size_t n = (size_t)s->n + 1;

    *g = (struct group){ .s = s, .tree = tree, .n_thread = n_thread,
                         .rec = cs_alloc(n, sizeof *g->rec),
                         .mean_log = cs_alloc(n, sizeof *g->mean_log),
                         .term = cs_alloc(n, sizeof *g->term) };
    if (g->rec == NULL || g->mean_log == NULL || g->term == NULL)
        return cs_fail(CS_EMEM, "out of memory for the calibration of %lld records",
                       (long long)s->n);
    for (int64_t i = 0; i < s->n; i++)
        g->mean_log[i] = mean_log(s, i);
    select_between(g, 0, INT64_MAX);
    return CS_OK;
}

int cs_calibrate(const cs_scores *s, const cs_tree *tree, const int64_t *edge, int n_edge,
                 int n_thread, cs_calibration *c)
{
    int rc = CS_OK;
    cs_calibration_bin all;
    struct group g;

    CS_BUG(!s->is_class || n_edge >= CS_CALIBRATION_BINS);
    CS_TRY(open_group(s, tree, n_thread, &g));
    const int64_t n_all = g.n;
    if (g.n < MIN_RECORDS) {
        rc = cs_fail(CS_EFORMAT, "%lld records are too few for calibration; at least %d are "
                     "needed", (long long)g.n, MIN_RECORDS);
        goto out;
    }
    CS_TRY(fit_bin(&g, &all));
    *c = (cs_calibration){ .n = n_edge + 1, .n_class = has_curves(&g) ? s->n_out : 0 };
    for (int b = 0; b <= n_edge; b++) {
        select_between(&g, b > 0 ? edge[b - 1] : 0, b < n_edge ? edge[b] : INT64_MAX);
        c->bin[b] = all;
        if (g.n >= MIN_RECORDS && g.n < n_all)
            CS_TRY(fit_bin(&g, &c->bin[b]));
        c->bin[b].from = b > 0 ? edge[b - 1] : 0;
    }
out:
    group_release(&g);
    return rc;
}

int cs_calibrate_seconds(const cs_scores *s, const cs_tree *tree, int n_thread, double *each)
{
    int rc = CS_OK;
    cs_calibration_bin bin = { 0 };
    struct group g;
    float *v = cs_alloc((size_t)s->n_out, sizeof *v);

    *each = 0;
    CS_TRY(open_group(s, tree, n_thread, &g));
    if (v == NULL)
        rc = cs_fail(CS_EMEM, "out of memory for %d classes", (int)s->n_out);
    if (v == NULL || g.n == 0)
        goto out;
    const double began = cs_now_s();
    volatile double sum = cross_entropy(&g, 2);        /* not optimised away */
    (void)sum;
    const double fitted = cs_now_s();
    for (int64_t j = 0; j < g.n; j++)
        count_calls(&g, g.rec[j], 1, v, &bin);
    *each = ((SECTIONS + 2) * (fitted - began) + cs_now_s() - fitted) / (double)g.n;
out:
    group_release(&g);
    free(v);
    return rc;
}

/* ---- conditions for calls -------------------------------------------------------------------- */

void cs_calibrate_set_conditions(cs_calibration *c, const cs_scores *s, double max_error)
{
    int64_t shortest = INT64_MAX;
    int bin = c->n;

    for (int64_t i = 0; i < s->n; i++)
        shortest = s->length[i] < shortest ? s->length[i] : shortest;
    for (int i = c->n - 1; i >= 0; i--)
        for (int32_t k = 0; k == 0 || k < c->n_class; k++)
            if (cs_calibration_min_prob(c, i, k, max_error) <= 1)
                bin = i;
    c->max_error = max_error;
    c->shortest = bin < c->n && c->bin[bin].from > shortest ? c->bin[bin].from : shortest;
}

/* Of the earlier ranges from the one of the shortest length on, up to `end`. */
static void keep_bounds(cs_calibration_bin *b, int64_t end, const cs_calibration *earlier)
{
    int i = cs_calibration_find(earlier, b->from);

    b->repetition = earlier->bin[i].repetition;
    memcpy(b->likeness, earlier->bin[i].likeness, sizeof b->likeness);
    for (i++; i < earlier->n && earlier->bin[i].from < end; i++) {
        b->repetition = fmax(b->repetition, earlier->bin[i].repetition);
        for (int32_t k = 0; k < earlier->n_class; k++)
            b->likeness[k] = fmin(b->likeness[k], earlier->bin[i].likeness[k]);
    }
}

void cs_calibrate_keep_conditions(cs_calibration *c, const cs_scores *s,
                                  const cs_calibration *earlier)
{
    if (earlier->n == 0 || !(earlier->max_error > 0))
        return;
    cs_calibrate_set_conditions(c, s, earlier->max_error);
    if (!earlier->has_likeness || c->n_class != earlier->n_class)
        return;
    c->has_likeness = true;
    memcpy(c->weight, earlier->weight, sizeof c->weight);
    for (int i = 0; i < c->n; i++)
        keep_bounds(&c->bin[i], i + 1 < c->n ? c->bin[i + 1].from : INT64_MAX, earlier);
}

/* ---- rates of wrong calls -------------------------------------------------------------------- */

struct call { double p; bool right; };

/* Descending probability; ties have wrong calls first, so the order depends on the values alone. */
static int by_certainty(const void *pa, const void *pb)
{
    const struct call *a = pa, *b = pb;

    if (a->p > b->p || a->p < b->p)
        return a->p > b->p ? -1 : 1;
    return (int)a->right - (int)b->right;
}

static void fill_bins(const struct call *call, int64_t n, cs_certainty *out)
{
    for (int64_t i = 0; i < n; i++) {
        const int k = (int)(call[i].p * CS_RELIABILITY_BINS);
        cs_reliability *b = &out->bin[k < CS_RELIABILITY_BINS ? k : CS_RELIABILITY_BINS - 1];
        b->n++;
        b->confidence += call[i].p;
        b->accuracy += call[i].right;
    }
    out->ece = n > 0 ? 0 : NAN;
    for (int k = 0; k < CS_RELIABILITY_BINS; k++) {
        cs_reliability *b = &out->bin[k];
        if (b->n > 0)
            out->ece += fabs(b->confidence - b->accuracy) / (double)n;
        b->confidence = b->n > 0 ? b->confidence / (double)b->n : NAN;
        b->accuracy = b->n > 0 ? b->accuracy / (double)b->n : NAN;
    }
}

int cs_scores_certainty(const cs_scores *s, int64_t lo, int64_t hi, cs_certainty *out)
{
    int64_t *rec = cs_alloc((size_t)s->n + 1, sizeof *rec);
    struct call *call = cs_alloc((size_t)s->n + 1, sizeof *call);
    int64_t n_wrong = 0, at = 0;

    *out = (cs_certainty){ .ece = NAN };
    if (rec == NULL || call == NULL) {
        free(rec);
        free(call);
        return cs_fail(CS_EMEM, "out of memory for the confidence of %lld records",
                       (long long)s->n);
    }
    struct group g = { .s = s, .rec = rec };
    select_between(&g, lo, hi);
    for (int64_t j = 0; j < g.n; j++) {
        const int32_t best = cs_scores_best(s, rec[j]);
        call[j] = (struct call){ (double)s->output[rec[j] * s->n_out + best],
                                 best == cs_scores_truth(s, rec[j]) };
    }
    qsort(call, (size_t)g.n, sizeof *call, by_certainty);
    fill_bins(call, g.n, out);
    for (int k = 0; k < CS_RISK_POINTS; k++) {
        const int64_t n = (g.n * (k + 1) + CS_RISK_POINTS - 1) / CS_RISK_POINTS;
        for (; at < n; at++)
            n_wrong += !call[at].right;
        out->risk[k] = n > 0 ? (double)n_wrong / (double)n : NAN;
        out->threshold[k] = n > 0 ? call[n - 1].p : NAN;
    }
    free(rec);
    free(call);
    return CS_OK;
}

/* ---- calls at a rate ------------------------------------------------------------------------- */

/* Its class, or -1 without a call. */
static int32_t call_at(const cs_scores *s, int64_t i, const cs_calibration *c, double max_error)
{
    const int bin = cs_calibration_find(c, s->length[i]);
    const int32_t best = cs_scores_best(s, i);

    if (s->reason[i] == CS_REASON_TOO_SHORT || s->reason[i] == CS_REASON_UNLIKE)
        return -1;
    const double prob = (double)s->output[i * s->n_out + best];
    return prob >= cs_calibration_min_prob(c, bin, best, max_error) ? best : -1;
}

void cs_scores_calls(const cs_scores *s, const cs_calibration *c, int64_t lo, int64_t hi,
                     double max_error, const double *weight, cs_calls *out)
{
    *out = (cs_calls){ 0 };
    CS_BUG(c->n_class != s->n_out);
    for (int64_t i = 0; i < s->n; i++) {
        if (!cs_scores_within(s, i, lo, hi))
            continue;
        const int32_t truth = cs_scores_truth(s, i), call = call_at(s, i, c, max_error);
        const double w = weight ? weight[truth] : 0;
        out->n++;
        out->of_class[truth].n++;
        if (call < 0)
            continue;
        out->n_called++;
        out->n_wrong += call != truth;
        out->called += w;
        out->wrong += call != truth ? w : 0;
        out->of_class[truth].n_called++;
        out->of_class[call].n_calls++;
        out->of_class[call].n_wrong += call != truth;
        out->of_class[call].calls += w;
        out->of_class[call].wrong += call != truth ? w : 0;
    }
}

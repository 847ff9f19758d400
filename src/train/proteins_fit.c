/* proteins_fit.c - fit the weights of a protein database on validation records. */
#include "train/proteins_fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "train/crop_logits.h"

enum { FEATURES = CS_PROTEIN_FEATURES, MOST_CLASSES = CS_PROTEIN_CLASSES,
       MOST_WEIGHTS = 1 + FEATURES + MOST_CLASSES, N_STEP = 50, N_HALVING = 20 };
static const double fit_decay = 1e-4, enough = 1e-9;

/* ---- the fit --------------------------------------------------------------------------------- */

/* Loss with its first and second derivatives by w: t, FEATURES of a, n_class of b. */
struct state {
    int32_t n;                   /* weights */
    double  loss, decayed;
    double  slope[MOST_WEIGHTS], curve[MOST_WEIGHTS * MOST_WEIGHTS];
};

/* Predictions z [n_class] of a case, as probabilities; returns its cross-entropy. */
static double predict_case(const cs_protein_cases *c, int64_t i, const double *w, double *z)
{
    const int32_t n = c->n_class;
    const float *f = c->feature + i * n * FEATURES;
    double top = -INFINITY, sum = 0;

    for (int32_t k = 0; k < n; k++) {
        z[k] = w[0] * (double)c->logit[i * n + k] + w[1 + FEATURES + k];
        for (int j = 0; j < FEATURES; j++)
            z[k] += w[1 + j] * (double)f[k * FEATURES + j];
        top = z[k] > top ? z[k] : top;
    }
    const double at_truth = z[c->truth[i]];
    for (int32_t k = 0; k < n; k++)
        sum += z[k] = exp(z[k] - top);
    for (int32_t k = 0; k < n; k++)
        z[k] /= sum;
    return top + log(sum) - at_truth;
}

/* Derivatives of the prediction of class k by the weights. */
static void columns(const cs_protein_cases *c, int64_t i, int32_t k, double *g)
{
    const int32_t n = c->n_class;

    g[0] = (double)c->logit[i * n + k];
    for (int j = 0; j < FEATURES; j++)
        g[1 + j] = (double)c->feature[(i * n + k) * FEATURES + j];
    for (int32_t j = 0; j < n; j++)
        g[1 + FEATURES + j] = j == k;
}

static void add_case(const cs_protein_cases *c, int64_t i, const double *z, struct state *s)
{
    double mean[MOST_WEIGHTS] = { 0 }, g[MOST_WEIGHTS];

    for (int32_t k = 0; k < c->n_class; k++) {
        columns(c, i, k, g);
        for (int32_t a = 0; a < s->n; a++) {
            mean[a] += z[k] * g[a];
            s->slope[a] += (z[k] - (k == c->truth[i])) * g[a];
            for (int32_t b = 0; b <= a; b++)
                s->curve[a * s->n + b] += z[k] * g[a] * g[b];
        }
    }
    for (int32_t a = 0; a < s->n; a++)
        for (int32_t b = 0; b <= a; b++)
            s->curve[a * s->n + b] -= mean[a] * mean[b];
}

static void evaluate(const cs_protein_cases *c, double decay, const double *w, bool derive,
                     struct state *s)
{
    double z[MOST_CLASSES];

    *s = (struct state){ .n = 1 + FEATURES + c->n_class };
    for (int64_t i = 0; i < c->n; i++) {
        s->loss += predict_case(c, i, w, z);
        if (derive)
            add_case(c, i, z, s);
    }
    s->loss /= (double)c->n;
    s->decayed = s->loss;
    for (int32_t a = 0; a < s->n; a++) {
        const double keep = a == 0 ? 0 : decay;
        s->decayed += keep / 2 * w[a] * w[a];
        s->slope[a] = s->slope[a] / (double)c->n + keep * w[a];
        for (int32_t b = 0; b <= a; b++)
            s->curve[a * s->n + b] /= (double)c->n;
        s->curve[a * s->n + a] += keep + enough;
    }
}

/* Solves curve x = slope in place, by the factors of Cholesky; x is left in slope. */
static void solve_step(struct state *s)
{
    const int32_t n = s->n;
    double *l = s->curve, *x = s->slope;

    for (int32_t a = 0; a < n; a++)
        for (int32_t b = 0; b <= a; b++) {
            double v = l[a * n + b];
            for (int32_t k = 0; k < b; k++)
                v -= l[a * n + k] * l[b * n + k];
            l[a * n + b] = a == b ? sqrt(v > enough * enough ? v : enough) : v / l[b * n + b];
        }
    for (int32_t a = 0; a < n; a++) {
        for (int32_t k = 0; k < a; k++)
            x[a] -= l[a * n + k] * x[k];
        x[a] /= l[a * n + a];
    }
    for (int32_t a = n - 1; a >= 0; a--) {
        for (int32_t k = a + 1; k < n; k++)
            x[a] -= l[k * n + a] * x[k];
        x[a] /= l[a * n + a];
    }
}

/* Leaves t out of a step. */
static void hold_t(struct state *s)
{
    s->slope[0] = 0;
    for (int32_t a = 0; a < s->n; a++)
        s->curve[a * s->n] = a == 0;
}

/* One step from w, shorter while it does not descend; the decrease of the loss. */
static double newton_step(const cs_protein_cases *c, double decay, bool hold, double *w,
                          struct state *s, struct state *next)
{
    double to[MOST_WEIGHTS], step = 1;

    evaluate(c, decay, w, true, s);
    if (hold)
        hold_t(s);
    solve_step(s);
    for (int k = 0; k < N_HALVING; k++, step /= 2) {
        for (int32_t a = 0; a < s->n; a++)
            to[a] = w[a] - step * s->slope[a];
        evaluate(c, decay, to, false, next);
        if (next->decayed < s->decayed) {
            memcpy(w, to, (size_t)s->n * sizeof *w);
            return s->decayed - next->decayed;
        }
    }
    return 0;
}

/* The least loss from t = 1 and no other weights; returns it. */
static double minimise(const cs_protein_cases *c, double decay, bool hold, double *w,
                       struct state *s)
{
    memset(w, 0, MOST_WEIGHTS * sizeof *w);
    w[0] = 1;
    for (int k = 0; k < N_STEP; k++)
        if (newton_step(c, decay, hold, w, s, s + 1) < enough)
            break;
    evaluate(c, decay, w, false, s);
    return s->loss;
}

void cs_proteins_solve(const cs_protein_cases *c, double decay, float *weight, double *before,
                       double *after)
{
    struct state *s = cs_xcalloc(2, sizeof *s);
    double w[MOST_WEIGHTS] = { 1 };

    evaluate(c, decay, w, false, s);
    *before = s->loss;
    *after = minimise(c, decay, false, w, s);
    if (w[0] <= 0 || w[0] > 1)
        *after = minimise(c, decay, true, w, s);
    free(s);
    for (int32_t k = 0; k < FEATURES + c->n_class; k++)
        weight[k] = (float)(w[1 + k] / w[0]);
}

/* ---- validation data ------------------------------------------------------------------------- */

struct crops {
    const cs_proteins *p;
    cs_protein_cases   cases;
};

static int take_crop(void *arg, const char *base, int64_t n_base, int32_t truth,
                     const float *logit)
{
    struct crops *k = arg;
    cs_protein_cases *c = &k->cases;
    cs_protein_hits hits;

    if (cs_proteins_search(k->p, base, n_base, &hits) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory to search %lld bases for proteins",
                       (long long)n_base);
    cs_protein_features(&hits, c->n_class, c->feature + c->n * c->n_class * FEATURES);
    memcpy(c->logit + c->n * c->n_class, logit, (size_t)c->n_class * sizeof *logit);
    c->truth[c->n++] = truth;
    return CS_OK;
}

int cs_proteins_fit(cs_model *m, const cs_dataset *d, int64_t n_crop, uint64_t seed,
                    double *before, double *after)
{
    int rc = CS_OK;
    const size_t n = (size_t)n_crop * (size_t)m->n_label;
    cs_proteins *proteins = m->proteins;
    struct crops k = { .p = proteins, .cases = {
        .n_class = m->n_label, .logit = cs_alloc(n, sizeof *k.cases.logit),
        .feature = cs_alloc(n * FEATURES, sizeof *k.cases.feature),
        .truth = cs_alloc((size_t)n_crop, sizeof *k.cases.truth) } };

    if (!k.cases.logit || !k.cases.feature || !k.cases.truth) {
        rc = cs_fail(CS_EMEM, "out of memory for %lld crops", (long long)n_crop);
        goto out;
    }
    m->proteins = NULL;
    CS_TRY(cs_crop_logits(m, d, n_crop, seed, take_crop, &k));
    cs_proteins_solve(&k.cases, fit_decay, proteins->weight, before, after);
out:
    m->proteins = proteins;
    CS_FREE(k.cases.logit, k.cases.feature, k.cases.truth);
    return rc;
}

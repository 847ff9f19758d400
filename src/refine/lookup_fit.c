/* lookup_fit.c - fit the weights of a look-up table on validation records. */
#include "refine/lookup_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

enum { N_STEP = 400 };
static const double weight_decay = 1e-4;

/* ---- the fit --------------------------------------------------------------------------------- */

/* Weights of the fit are by codes [n_code * n_class], so that those of a hit lie together. */

static void add_scaled(double *restrict to, const double *restrict v, double factor, int32_t n)
{
    #pragma omp simd
    for (int32_t a = 0; a < n; a++)
        to[a] += v[a] * factor;
}

/* Cross-entropy of one case; v [n_class] receives its gradient by the prediction. */
static double loss_of(const cs_lookup_cases *c, int64_t i, const double *weight, double *v)
{
    const int32_t n = c->n_class, n_code = c->n_code;
    const float *logit = c->logit + i * n, *hit = c->log_hit + i * n_code;
    double top = -INFINITY, sum = 0;

    for (int32_t a = 0; a < n; a++)
        v[a] = (double)logit[a];
    for (int32_t h = 0; h < n_code; h++)
        if (hit[h] > 0)
            add_scaled(v, weight + h * n, (double)hit[h], n);
    for (int32_t a = 0; a < n; a++)
        top = v[a] > top ? v[a] : top;
    const double right = v[c->truth[i]];
    for (int32_t a = 0; a < n; a++)
        sum += v[a] = exp(v[a] - top);
    for (int32_t a = 0; a < n; a++)
        v[a] = v[a] / sum - (a == c->truth[i]);
    return top + log(sum) - right;
}

/* The gradient of the mean cross-entropy and the decay; v [n_class] is scratch. */
static void gradient(const cs_lookup_cases *c, double decay, const double *weight, double *grad,
                     double *v)
{
    const int32_t n = c->n_class, n_code = c->n_code;

    memset(grad, 0, (size_t)n * (size_t)n_code * sizeof *grad);
    for (int64_t i = 0; i < c->n; i++) {
        const float *hit = c->log_hit + i * n_code;
        (void)loss_of(c, i, weight, v);
        for (int32_t h = 0; h < n_code; h++)
            if (hit[h] > 0)
                add_scaled(grad + h * n, v, (double)hit[h], n);
    }
    for (int32_t k = 0; k < n * n_code; k++)
        grad[k] = grad[k] / (double)c->n + decay * weight[k];
}

/* The curvature of cross-entropy in the logits is at most 1/2, and |log_hit|^2 bounds the rest. */
static double curvature(const cs_lookup_cases *c)
{
    double sum = 0;

    for (int64_t k = 0; k < c->n * c->n_code; k++)
        sum += (double)c->log_hit[k] * (double)c->log_hit[k];
    return 0.5 * sum / (double)c->n;
}

int cs_lookup_solve(const cs_lookup_cases *c, double decay, float *weight)
{
    const size_t n = (size_t)c->n_class * (size_t)c->n_code;
    const double step = 1 / (curvature(c) + decay);
    double *w = cs_alloc(4 * n + (size_t)c->n_class, sizeof *w);

    if (!w)
        return cs_fail(CS_EMEM, "out of memory for the weights of a look-up table");
    double *ahead = w + n, *old = w + 2 * n, *grad = w + 3 * n, *v = w + 4 * n, t = 1;
    memset(w, 0, 2 * n * sizeof *w);
    for (int s = 0; s < N_STEP; s++) {
        const double next = (1 + sqrt(1 + 4 * t * t)) / 2;
        gradient(c, decay, ahead, grad, v);
        memcpy(old, w, n * sizeof *w);
        for (size_t k = 0; k < n; k++) {
            w[k] = ahead[k] - step * grad[k];
            ahead[k] = w[k] + (t - 1) / next * (w[k] - old[k]);
        }
        t = next;
    }
    for (int32_t a = 0; a < c->n_class; a++)
        for (int32_t h = 0; h < c->n_code; h++)
            weight[a * c->n_code + h] = (float)w[h * c->n_class + a];
    free(w);
    return CS_OK;
}

/* ---- validation data ------------------------------------------------------------------------- */

struct crops {
    const cs_lookup *lookup;
    cs_lookup_cases  cases;
    int64_t         *hit;
};

/* Logits of the classes of words: a class's probability is the sum of those of its classes of the
 * model. */
static void merge_logits(const cs_lookup *l, const float *logit, float *out)
{
    for (int32_t a = 0; a < l->n_class; a++)
        out[a] = -INFINITY;
    for (int32_t k = 0; k < l->n_label; k++) {
        float *sum = &out[l->class_of[k]];
        const float high = fmaxf(*sum, logit[k]), low = fminf(*sum, logit[k]);
        *sum = high + log1pf(expf(low - high));
    }
}

static int take_crop(void *arg, const char *base, int64_t n_base, int32_t truth,
                     const float *logit)
{
    struct crops *k = arg;
    cs_lookup_cases *c = &k->cases;

    cs_lookup_count(k->lookup, base, n_base, 1, k->hit);
    merge_logits(k->lookup, logit, c->logit + c->n * c->n_class);
    for (int32_t h = 0; h < c->n_code; h++)
        c->log_hit[c->n * c->n_code + h] = (float)log1p((double)k->hit[h]);
    c->truth[c->n++] = k->lookup->class_of[truth];
    return CS_OK;
}

static int lookup_fit_reserve(struct crops *k, int64_t n)
{
    cs_lookup_cases *c = &k->cases;

    c->n_class = k->lookup->n_class;
    c->n_code = k->lookup->n_code;
    c->logit = cs_alloc((size_t)(n * c->n_class), sizeof *c->logit);
    c->log_hit = cs_alloc((size_t)(n * c->n_code), sizeof *c->log_hit);
    c->truth = cs_alloc((size_t)n, sizeof *c->truth);
    k->hit = cs_alloc((size_t)c->n_code, sizeof *k->hit);
    if (c->logit && c->log_hit && c->truth && k->hit)
        return CS_OK;
    return cs_fail(CS_EMEM, "out of memory for %lld crops", (long long)n);
}

static void lookup_fit_release(struct crops *k)
{
    CS_FREE(k->cases.logit, k->cases.log_hit, k->cases.truth, k->hit);
}

/* The mean cross-entropy of the cases with these weights, or with none (NULL). */
static int mean_loss(const cs_lookup_cases *c, const float *weight, double *mean)
{
    const size_t n = (size_t)c->n_class * (size_t)c->n_code;
    double *w = cs_alloc(n + (size_t)c->n_class, sizeof *w), sum = 0;

    if (!w)
        return cs_fail(CS_EMEM, "out of memory for the weights of a look-up table");
    for (int32_t a = 0; a < c->n_class; a++)
        for (int32_t h = 0; h < c->n_code; h++)
            w[h * c->n_class + a] = weight ? (double)weight[a * c->n_code + h] : 0;
    for (int64_t i = 0; i < c->n; i++)
        sum += loss_of(c, i, w, w + n);
    *mean = sum / (double)c->n;
    free(w);
    return CS_OK;
}

int cs_lookup_probe(const cs_lookup *l, const cs_dataset *d, const cs_sampler *crops, int64_t n,
                    double *base, double *solve)
{
    int rc = CS_OK;
    struct crops k = { .lookup = l };
    const size_t n_weight = (size_t)l->n_class * (size_t)l->n_code;
    float *weight = cs_xcalloc(n_weight, sizeof *weight);
    float *logit = cs_xcalloc((size_t)l->n_label, sizeof *logit);
    int64_t n_base = 0;

    n = n < cs_sampler_count(crops) ? n : cs_sampler_count(crops);
    CS_TRY(lookup_fit_reserve(&k, n));
    double began = cs_now_s();
    for (int64_t i = 0; i < n; i++) {
        const cs_sample s = cs_sampler_get(crops, 0, i);
        CS_TRY(take_crop(&k, d->ex[s.example].base + s.start, s.n_base,
                         d->ex[s.example].class_no, logit));
        n_base += s.n_base;
    }
    *base = (cs_now_s() - began) / (double)(n_base > 0 ? n_base : 1);
    began = cs_now_s();
    CS_TRY(cs_lookup_solve(&k.cases, weight_decay, weight));
    *solve = (cs_now_s() - began) / (double)n;
out:
    lookup_fit_release(&k);
    CS_FREE(weight, logit);
    return rc;
}

int cs_lookup_fit(cs_model *m, const cs_dataset *d, const cs_crop_draw *draw, double *before,
                  double *after)
{
    int rc = CS_OK;
    cs_lookup *lookup = m->lookup;
    cs_proteins *proteins = m->proteins;
    struct crops k = { .lookup = lookup };
    cs_crop_draw crops = *draw;

    crops.stratum = lookup->n_label > lookup->n_class ? lookup->class_of : NULL;
    CS_TRY(lookup_fit_reserve(&k, draw->n));
    m->lookup = NULL;
    m->proteins = NULL;
    CS_TRY(cs_crop_logits(m, d, &crops, take_crop, &k));
    CS_TRY(mean_loss(&k.cases, NULL, before));
    CS_TRY(cs_lookup_solve(&k.cases, weight_decay, lookup->weight));
    rc = mean_loss(&k.cases, lookup->weight, after);
out:
    m->lookup = lookup;
    m->proteins = proteins;
    lookup_fit_release(&k);
    return rc;
}

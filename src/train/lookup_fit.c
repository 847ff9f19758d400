/* lookup_fit.c - fit the weights of a look-up table on validation records. */
#include "train/lookup_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "infer/stream.h"

/* Range of crop lengths, log-uniform. */
enum { LEAST_CROP = 150, MOST_CROP = 60000, N_STEP = 400,
       BATCH_TOKENS = 64 << 10, WINDOW = 128 };
static const double decay = 1e-4;

/* ---- the fit --------------------------------------------------------------------------------- */

/* Cross-entropy of one case; v [n_class] receives its gradient by the prediction. */
static double loss_of(const cs_lookup_cases *c, int64_t i, const double *weight, double *v)
{
    const int32_t n = c->n_class, n_code = c->n_code;
    const float *logit = c->logit + i * n, *hit = c->log_hit + i * n_code;
    double top = -INFINITY, sum = 0;

    for (int32_t a = 0; a < n; a++)
        v[a] = (double)logit[a];
    for (int32_t h = 0; h < n_code; h++)
        for (int32_t a = 0; hit[h] > 0 && a < n; a++)
            v[a] += weight[a * n_code + h] * (double)hit[h];
    for (int32_t a = 0; a < n; a++)
        top = v[a] > top ? v[a] : top;
    for (int32_t a = 0; a < n; a++)
        sum += exp(v[a] - top);
    const double loss = top + log(sum) - v[c->truth[i]];
    for (int32_t a = 0; a < n; a++)
        v[a] = exp(v[a] - top) / sum - (a == c->truth[i]);
    return loss;
}

/* Mean cross-entropy, without the decay, and its gradient with it. */
static double gradient(const cs_lookup_cases *c, double keep, const double *weight, double *grad,
                       double *v)
{
    const int32_t n = c->n_class, n_code = c->n_code;
    double loss = 0;

    memset(grad, 0, (size_t)n * (size_t)n_code * sizeof *grad);
    for (int64_t i = 0; i < c->n; i++) {
        const float *hit = c->log_hit + i * n_code;
        loss += loss_of(c, i, weight, v);
        for (int32_t h = 0; h < n_code; h++)
            for (int32_t a = 0; hit[h] > 0 && a < n; a++)
                grad[a * n_code + h] += v[a] * (double)hit[h];
    }
    for (int32_t k = 0; k < n * n_code; k++)
        grad[k] = grad[k] / (double)c->n + keep * weight[k];
    return loss / (double)c->n;
}

/* The curvature of cross-entropy in the logits is at most 1/2, and |log_hit|^2 bounds the rest. */
static double curvature(const cs_lookup_cases *c)
{
    double sum = 0;

    for (int64_t k = 0; k < c->n * c->n_code; k++)
        sum += (double)c->log_hit[k] * (double)c->log_hit[k];
    return 0.5 * sum / (double)c->n;
}

int cs_lookup_solve(const cs_lookup_cases *c, double keep, float *weight)
{
    const size_t n = (size_t)c->n_class * (size_t)c->n_code;
    const double step = 1 / (curvature(c) + keep);
    double *w = cs_alloc(4 * n + (size_t)c->n_class, sizeof *w);

    if (!w)
        return cs_fail(CS_EMEM, "out of memory for the weights of a look-up table");
    double *ahead = w + n, *old = w + 2 * n, *grad = w + 3 * n, *v = w + 4 * n, t = 1;
    memset(w, 0, 2 * n * sizeof *w);
    for (int s = 0; s < N_STEP; s++) {
        const double next = (1 + sqrt(1 + 4 * t * t)) / 2;
        (void)gradient(c, keep, ahead, grad, v);
        memcpy(old, w, n * sizeof *w);
        for (size_t k = 0; k < n; k++) {
            w[k] = ahead[k] - step * grad[k];
            ahead[k] = w[k] + (t - 1) / next * (w[k] - old[k]);
        }
        t = next;
    }
    for (size_t k = 0; k < n; k++)
        weight[k] = (float)w[k];
    free(w);
    return CS_OK;
}

/* ---- validation data ------------------------------------------------------------------------- */

/* Reader and writer of the stream, in two threads: predictions are in input order. */
struct crops {
    const cs_dataset *d;
    const cs_sampler *sampler;
    const cs_lookup  *lookup;
    int64_t           n_in, n_out;
    cs_lookup_cases   cases;
    int64_t          *hit;
};

static int next_crop(void *arg, cs_chunk *c)
{
    struct crops *k = arg;

    if (k->n_in == cs_sampler_count(k->sampler))
        return CS_EOF;
    const cs_sample s = cs_sampler_get(k->sampler, 0, k->n_in++);
    cs_record *r = cs_chunk_append(c);
    if (!r)
        return cs_fail(CS_EMEM, "out of memory for record '%s'", k->d->ex[s.example].name);
    r->name = k->d->ex[s.example].name;
    r->seg[0].base = k->d->ex[s.example].base + s.start;
    r->seg[0].n_base = s.n_base;
    c->n_base += s.n_base;
    return CS_OK;
}

static int take_output(void *arg, const cs_record *r, const cs_prediction *a)
{
    struct crops *k = arg;
    cs_lookup_cases *c = &k->cases;
    const cs_sample s = cs_sampler_get(k->sampler, 0, k->n_out++);

    if (a->reason)
        return CS_OK;
    cs_lookup_count(k->lookup, r->seg[0].base, r->seg[0].n_base, k->hit);
    for (int32_t i = 0; i < c->n_class; i++)
        c->logit[c->n * c->n_class + i] = logf(fmaxf(a->v[i], 1e-30f));
    for (int32_t h = 0; h < c->n_code; h++)
        c->log_hit[c->n * c->n_code + h] = (float)log1p((double)k->hit[h]);
    c->truth[c->n++] = k->d->ex[s.example].class_no;
    return CS_OK;
}

static int predict_crops(cs_model *m, struct crops *k)
{
    int rc = CS_OK;
    cs_policy policy;
    cs_stream_stat stat;
    const cs_optset defaults[] = { { cs_policy_table, &(cs_policy_args){ 0 }, NULL },
                                   { NULL, NULL, NULL } };

    cs_opt_defaults(defaults);
    CS_TRY(cs_policy_init(&policy, defaults[0].base, NULL, m));
    policy.uncalibrated = true;
    rc = cs_stream_run(&(cs_stream){ .next = next_crop, .source = k, .model = m,
                                     .policy = &policy, .batch_tokens = BATCH_TOKENS,
                                     .window = WINDOW, .n_thread = 1, .sink = take_output,
                                     .arg = k }, &stat);
out:
    return rc;
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

/* The mean cross-entropy of the cases with these weights, or with none (NULL). */
static int mean_loss(const cs_lookup_cases *c, const float *weight, double *mean)
{
    const size_t n = (size_t)c->n_class * (size_t)c->n_code;
    double *w = cs_alloc(n + (size_t)c->n_class, sizeof *w), sum = 0;

    if (!w)
        return cs_fail(CS_EMEM, "out of memory for the weights of a look-up table");
    for (size_t k = 0; k < n; k++)
        w[k] = weight ? (double)weight[k] : 0;
    for (int64_t i = 0; i < c->n; i++)
        sum += loss_of(c, i, w, w + n);
    *mean = sum / (double)c->n;
    free(w);
    return CS_OK;
}

int cs_lookup_fit(cs_model *m, const cs_dataset *d, int64_t n_crop, uint64_t seed, double *before,
                  double *after)
{
    int rc = CS_OK;
    cs_sampler *sampler = NULL;
    struct crops k = { .d = d, .lookup = m->lookup };
    const cs_draw draw = { .crop_min = LEAST_CROP, .crop_max = MOST_CROP, .crop_power = 1,
                           .n_sample = n_crop, .balance = 1, .group_balance = 0.5,
                           .length_power = 0.5, .seed = seed };

    CS_TRY(cs_sampler_new(d, CS_PART_VALID, &draw, &sampler));
    k.sampler = sampler;
    CS_TRY(lookup_fit_reserve(&k, cs_sampler_count(sampler)));
    memset(m->lookup->weight, 0, (size_t)(m->n_label * m->lookup->n_code) * sizeof(float));
    CS_TRY(predict_crops(m, &k));
    if (k.cases.n == 0) {
        rc = cs_fail(CS_EUSAGE, "no validation record was classified");
        goto out;
    }
    CS_TRY(mean_loss(&k.cases, NULL, before));
    CS_TRY(cs_lookup_solve(&k.cases, decay, m->lookup->weight));
    rc = mean_loss(&k.cases, m->lookup->weight, after);
out:
    cs_sampler_free(sampler);
    CS_FREE(k.cases.logit, k.cases.log_hit, k.cases.truth, k.hit);
    return rc;
}

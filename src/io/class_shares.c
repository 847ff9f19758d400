/* class_shares.c - estimate the shares of the classes among records from their probabilities. */
#include "io/class_shares.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "io/json_text.h"

enum { MAX_VALUES = 1 << 20, MIN_RECORDS = 1000, MAX_STEPS = 1000 };

#define SEED 1
#define PRECISION 1e-6           /* of a share, to stop the iteration */
#define MAX_ADDED 0.01           /* of the records of a sample; with few classes, one of each */

int cs_class_shares_new(int n_label, cs_class_shares **out)
{
    const int64_t max = MAX_VALUES / n_label > MIN_RECORDS ? MAX_VALUES / n_label : MIN_RECORDS;
    cs_class_shares *s = cs_xcalloc(1, sizeof *s);

    s->n_label = n_label;
    s->max = max;
    s->limit = UINT64_MAX;
    s->random = cs_alloc((size_t)max, sizeof *s->random);
    s->p = cs_alloc((size_t)max * (size_t)n_label, sizeof *s->p);
    if (s->random && s->p) {
        *out = s;
        return CS_OK;
    }
    cs_class_shares_free(s);
    return CS_EMEM;
}

void cs_class_shares_free(cs_class_shares *s)
{
    if (s)
        CS_FREE(s->random, s->p, s);
}

/* Drop half of the records. */
static void thin(cs_class_shares *s)
{
    int64_t n = 0;

    s->limit /= 2;
    for (int64_t i = 0; i < s->n; i++)
        if (s->random[i] <= s->limit) {
            s->random[n] = s->random[i];
            memmove(s->p + n++ * s->n_label, s->p + i * s->n_label,
                    (size_t)s->n_label * sizeof *s->p);
        }
    s->n = n;
}

bool cs_class_shares_takes(const cs_prediction *a)
{
    if (!cs_reason_has_output(a->reason) || a->reason == CS_REASON_UNLIKE)
        return false;
    for (int64_t k = 0; k < a->n; k++)
        if (!isfinite(a->v[k]))
            return false;
    return true;
}

void cs_class_shares_add(cs_class_shares *s, const float *v, const double *prior)
{
    const uint64_t random = cs_rng_u64(SEED, (uint64_t)s->n_record++);

    while (s->n == s->max && random <= s->limit)
        thin(s);
    if (random > s->limit)
        return;
    for (int k = 0; k < s->n_label; k++)
        s->p[s->n * s->n_label + k] = !prior ? v[k]
                                    : prior[k] > -INFINITY ? (float)((double)v[k] / exp(prior[k]))
                                                           : 0;
    s->random[s->n++] = random;
}

/* Add to next[k] the probability of class k of a record with likelihoods p under these shares. */
static void add_posterior(const float *p, const double *share, int n, double *next)
{
    double sum = 0;

    for (int k = 0; k < n; k++)
        sum += share[k] * (double)p[k];
    for (int k = 0; k < n && sum > 0; k++)
        next[k] += share[k] * (double)p[k] / sum;
}

void cs_class_shares_estimate(const cs_class_shares *s, double *share)
{
    const int n = s->n_label;
    double *next = cs_xcalloc((size_t)n, sizeof *next), change = 1;

    for (int k = 0; k < n; k++)
        share[k] = 1.0 / n;
    for (int step = 0; step < MAX_STEPS && change > PRECISION && s->n > 0; step++) {
        memset(next, 0, (size_t)n * sizeof *next);
        for (int64_t i = 0; i < s->n; i++)
            add_posterior(s->p + i * n, share, n, next);
        change = 0;
        for (int k = 0; k < n; k++) {
            change = fmax(change, fabs(next[k] / (double)s->n - share[k]));
            share[k] = next[k] / (double)s->n;
        }
    }
    /* One record of each of thousands of classes would outweigh a sample. */
    const double more = s->n == s->n_record ? 1
                      : fmax((double)s->n / (double)s->n_record,
                             fmin(1, MAX_ADDED * (double)s->n / n));
    for (int k = 0; k < n; k++)
        share[k] = ((double)s->n * share[k] + more) / ((double)s->n + more * n);
    free(next);
}

json_t *cs_class_shares_save(const cs_class_shares *s)
{
    const size_t n = (size_t)s->n, n_value = n * (size_t)s->n_label;

    return json_pack("{s:I, s:o, s:o, s:o}", "records", (json_int_t)s->n_record,
                     "limit", cs_json_hex((const char *)&s->limit, sizeof s->limit),
                     "random", cs_json_hex((const char *)s->random, n * sizeof *s->random),
                     "probabilities", cs_json_hex((const char *)s->p, n_value * sizeof *s->p));
}

bool cs_class_shares_restore(cs_class_shares *s, const json_t *state)
{
    const size_t row = (size_t)s->n_label * sizeof *s->p, max = (size_t)s->max;
    const json_t *records = json_object_get(state, "records");
    size_t n_limit, n_random, n_p;

    if (!json_is_integer(records) || json_integer_value(records) < 0 ||
        !cs_json_unhex(json_object_get(state, "limit"), (char *)&s->limit, sizeof s->limit,
                       &n_limit) ||
        !cs_json_unhex(json_object_get(state, "random"), (char *)s->random,
                       max * sizeof *s->random, &n_random) ||
        !cs_json_unhex(json_object_get(state, "probabilities"), (char *)s->p, max * row, &n_p) ||
        n_limit != sizeof s->limit || n_random % sizeof *s->random != 0 ||
        n_p != n_random / sizeof *s->random * row)
        return false;
    s->n_record = json_integer_value(records);
    s->n = (int64_t)(n_random / sizeof *s->random);
    return true;
}

/* eval_calls.c - calls of a model at several maximum error rates. */
#include "eval/eval_calls.h"

#include <math.h>

/* Reported with the model's. */
static const double rates[CS_EVAL_RATES - 1] = { 0.01, 0.02, 0.05, 0.2, 0.3 };

void cs_eval_calls_count(cs_eval_calls *e, const cs_scores *s, const cs_calibration *c, int64_t lo,
                         int64_t hi, const double *weight)
{
    e->n = 0;
    if (!(c->max_error > 0) || c->n_class != s->n_out)
        return;
    for (int i = 0; i < CS_EVAL_RATES - 1; i++)
        if (!(fabs(rates[i] - c->max_error) < 1e-6 * rates[i]))
            e->rate[e->n++] = rates[i];
    e->rate[e->n++] = c->max_error;
    for (int i = 0; i < e->n; i++)
        cs_scores_calls(s, c, lo, hi, e->rate[i], weight, &e->at[i]);
}

const cs_calls *cs_eval_calls_model(const cs_eval_calls *e)
{
    return e->n > 0 ? &e->at[e->n - 1] : NULL;
}

double cs_eval_share(double n, double of)
{
    return of > 0 ? n / of : NAN;
}

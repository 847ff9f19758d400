/* eval_calls.h - calls of a model at several maximum error rates. */
#ifndef CS_EVAL_EVAL_CALLS_H
#define CS_EVAL_EVAL_CALLS_H

#include "eval/calibrate.h"

enum { CS_EVAL_RATES = 6 };

typedef struct cs_eval_calls {
    int      n;                  /* rates; 0: the model has no conditions for calls */
    double   rate[CS_EVAL_RATES];    /* the last is the model's */
    cs_calls at[CS_EVAL_RATES];
} cs_eval_calls;

/** cs_eval_calls_count - count the calls of records with lo <= length < hi at fixed rates and the
 * model's. s: calibrated probabilities; weight: see cs_scores_calls() */
void cs_eval_calls_count(cs_eval_calls *e, const cs_scores *s, const cs_calibration *c, int64_t lo,
                         int64_t hi, const double *weight);

/** cs_eval_calls_model - at the model's rate; NULL if it has none */
const cs_calls *cs_eval_calls_model(const cs_eval_calls *e);

/** cs_eval_share - n / of, NaN if that is undefined */
double cs_eval_share(double n, double of);

#endif

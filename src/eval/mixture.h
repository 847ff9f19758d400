/* mixture.h - metrics expected in a sample where classes have given shares. */
#ifndef CS_EVAL_MIXTURE_H
#define CS_EVAL_MIXTURE_H

#include "eval/metrics.h"

/* The records weighted so that their classes have these shares. Classes without records are left
 * out, and the shares of the others are scaled to the sum 1. NaN: undefined. */
typedef struct cs_mixture {
    double *weight;              /* [n_class] of a record, by its class; all records sum to 1 */
    double *precision;           /* [n_class] of calls of the best class */
    double  accuracy;
    double  absent;              /* sum of the shares of classes without records */
} cs_mixture;

/**
 * cs_mixture_init - from the metrics of the records
 *
 * f        with the confusion matrix
 * share    [f->n_class] with the sum 1
 * Returns  CS_OK (release with cs_mixture_release()) or CS_EMEM
 */
int  cs_mixture_init(cs_mixture *x, const cs_metrics *f, const double *share) CS_MUST_CHECK;
void cs_mixture_release(cs_mixture *x);

#endif

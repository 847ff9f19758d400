/* attribute.h - what each token contributes to a model's answer, by gradients. */
#ifndef CS_NN_ATTRIBUTE_H
#define CS_NN_ATTRIBUTE_H

#include "nn/model.h"

/* A sequence and the answer that is asked about. */
typedef struct cs_attribute {
    const int32_t *id;           /* [n] tokens */
    int64_t        n;
    int32_t        label;        /* which of the head's raw values */
    int32_t        baseline;     /* token that stands for nothing; its embedding is the origin */
    int32_t        n_step;       /* of the path integral; 0: the gradient at the sequence alone */
} cs_attribute;

/**
 * cs_attribute_tokens - contributions of all tokens to a raw value F (a logit)
 *
 *   n_step = 0   x_t . dF/dx_t, "gradient times input", the input counted from the baseline
 *   else         integrated gradients: x_t . (mean of dF/dx_t at b + (k - 1/2) / n_step (x - b),
 *                k = 1 .. n_step), which add up to F(x) - F(b) as n_step grows
 *
 * with x_t the token's embedding minus the baseline's, b the sequence of baselines.
 *
 * m        takes tokens, has gradient slabs, a head of one part that answers for sequences
 * out      [n]
 * ends     F at the sequence and at the baseline
 * Returns  CS_OK; CS_EUSAGE for a model that is none of these; CS_EMEM
 * Source   Sundararajan, Taly, Yan, Axiomatic attribution for deep networks, ICML 2017, eq. 3
 */
int cs_attribute_tokens(cs_model *m, const cs_attribute *a, double *out, double ends[2])
    CS_MUST_CHECK;

#endif

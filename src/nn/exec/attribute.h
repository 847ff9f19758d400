/* attribute.h - contributions of tokens to a prediction: gradients, rescale rule. */
#ifndef CS_NN_ATTRIBUTE_H
#define CS_NN_ATTRIBUTE_H

#include "nn/exec/session.h"

typedef enum cs_attribute_rule {
    CS_ATTRIBUTE_GRADIENT, CS_ATTRIBUTE_INTEGRATED, CS_ATTRIBUTE_RESCALE
} cs_attribute_rule;

/* A sequence and the prediction to explain. */
typedef struct cs_attribute {
    const int32_t    *id;        /* [n] tokens */
    const int32_t    *baseline;  /* [n] tokens; NULL: a baseline with embedding zero */
    int64_t           n;
    int32_t           label;     /* index of the head's raw value */
    cs_attribute_rule rule;
    int32_t           n_step;    /* of the path integral */
    int64_t           n_baseline;        /* baselines to average over; 0: one */
    int             (*next)(void *arg, int64_t k);   /* writes baseline k to `baseline`; NULL: it is
                                  * there. CS_OK, or an error that ends the call */
    void             *arg;
} cs_attribute;

/**
 * cs_attribute_tokens - contributions of all tokens to a raw value F (a logit, or a value of a
 * regression in its units)
 *
 *   gradient     (x_t - b_t) . dF/dx_t, "gradient times input"
 *   integrated   (x_t - b_t) . (mean of dF/dx_t at b + (k - 1/2) / n_step (x - b), k = 1 ..
 *                n_step), which sum to F(x) - F(b) as n_step grows
 *   rescale      (x_t - b_t) . m_t, m being DeepLIFT's multipliers by its rescale rule, which add
 *                up to F(x) - F(b) within rounding: the gradient for linear steps, the ratio of
 *                differences for activations, the mean of the other factor for products, and
 *                layernorm_rescale of kernels/backend.h for layer normalisation
 *
 * with x_t a token's embedding, b_t that of the baseline.
 *
 * s        session of a model of tokens with gradient slabs and a head of one part with predictions
 *          per sequence
 * out      [n]
 * ends     F at the sequence and at the baseline, or NULL, which saves the passes for them
 * Returns  CS_OK; CS_EUSAGE for a model that is none of these, or that has a step without a rescale
 *          rule (attention, group normalisation, reversible blocks); CS_EMEM
 * Source   Sundararajan, Taly, Yan, Axiomatic attribution for deep networks, ICML 2017, eq. 3;
 *          Shrikumar, Greenside, Kundaje, Learning important features through propagating
 *          activation differences, ICML 2017, sec. 3.5.1 (its rule for products is ours)
 */
int cs_attribute_tokens(cs_session *s, const cs_attribute *a, double *out, double *ends)
    CS_MUST_CHECK;

#endif

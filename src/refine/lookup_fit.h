/* lookup_fit.h - fit the weights of a look-up table on validation records. */
#ifndef CS_REFINE_LOOKUP_FIT_H
#define CS_REFINE_LOOKUP_FIT_H

#include "refine/crop_logits.h"

/* Data of the fit: predictions of the model without the table, and hits. */
typedef struct cs_lookup_cases {
    int32_t n_class, n_code;
    int64_t n;
    float  *logit;               /* [n * n_class] raw predictions, up to a constant */
    float  *log_hit;             /* [n * n_code] log(1 + hits) */
    int32_t *truth;              /* [n] */
} cs_lookup_cases;

/**
 * cs_lookup_solve - maximum-likelihood weights
 *
 * Least mean cross-entropy of softmax(logit + weight log_hit) + decay |weight|^2 / 2: convex, by
 * accelerated gradient steps (Nesterov 1983) with the step size of its curvature.
 *
 * weight   [n_class * n_code] receives them
 * Returns  CS_OK or CS_EMEM
 */
int cs_lookup_solve(const cs_lookup_cases *c, double decay, float *weight) CS_MUST_CHECK;

/**
 * cs_lookup_probe - time what cs_lookup_fit() does beside predictions, on the first crops
 *
 * n        crops at most, without mutations
 * base     receives seconds per base to count hits, on one thread
 * solve    receives seconds per crop to solve for weights
 * Returns  CS_OK or CS_EMEM
 */
int cs_lookup_probe(const cs_lookup *l, const cs_dataset *d, const cs_sampler *crops, int64_t n,
                    double *base, double *solve) CS_MUST_CHECK;

/**
 * cs_lookup_fit - weights of the model's table, from crops of the validation part
 *
 * The table must have been made from the other part, and the model trained on it. A database of
 * proteins is left out of the predictions; its weights are to be fitted afterwards.
 *
 * If classes of the model share a class of words, the loss is that of the classes of words.
 *
 * m        its lookup gets the weights
 * before, after  receive the mean cross-entropy of the crops without and with the table
 * Returns  CS_OK; the errors of prediction; CS_EUSAGE without a validation example
 */
int cs_lookup_fit(cs_model *m, const cs_dataset *d, const cs_crop_draw *draw, double *before,
                  double *after) CS_MUST_CHECK;

#endif

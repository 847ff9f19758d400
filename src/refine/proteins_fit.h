/* proteins_fit.h - fit the weights of a protein database on validation records. */
#ifndef CS_REFINE_PROTEINS_FIT_H
#define CS_REFINE_PROTEINS_FIT_H

#include "refine/crop_logits.h"

/* Data of the fit: of each case and class the columns of a linear predictor. */
typedef struct cs_protein_cases {
    int32_t  n_class;
    int64_t  n;
    float   *logit;              /* [n * n_class] predictions of the model, up to a constant */
    float   *feature;            /* [n * n_class * CS_PROTEIN_FEATURES] */
    int32_t *truth;              /* [n] */
} cs_protein_cases;

/**
 * cs_proteins_solve - maximum-likelihood weights
 *
 * Least mean cross-entropy of softmax(t logit_c + sum_k (a_k + d_ck) feature_ck + b_c) + decay
 * (|a|^2 + |d|^2 + |b|^2) / 2, convex in t, a, d and b: by Newton steps, halved where they do not
 * descend. With few cases the classes' weights stay near their common ones, a; of more than
 * CS_PROTEIN_MAX_OWN classes, some have hardly a validation record, and d and b are 0. t is at
 * most 1, since a model is not too cautious about records unlike its training: where the best t is
 * above 1, or not positive, as with few cases, t is 1.
 *
 * weight   [n_class * CS_PROTEIN_WEIGHTS] receives (a + d) / t and b / t: the temperature is that
 *          of a calibration, which follows
 * before, after  receive the mean cross-entropy of softmax(logit), and the least one, without decay
 * Returns  CS_OK or CS_EMEM
 */
int cs_proteins_solve(const cs_protein_cases *c, double decay, float *weight, double *before,
                      double *after) CS_MUST_CHECK;

/**
 * cs_proteins_fit - weights of the model's database, from crops of the validation part
 *
 * The database must have been made from the other part, and the model trained on it.
 *
 * m        its proteins get the weights
 * Returns  CS_OK; the errors of prediction; CS_EMEM
 */
int cs_proteins_fit(cs_model *m, const cs_dataset *d, const cs_crop_draw *draw, double *before,
                    double *after) CS_MUST_CHECK;

#endif

/* proteins_fit.h - fit the weights of a protein database on validation records. */
#ifndef CS_REFINE_PROTEINS_FIT_H
#define CS_REFINE_PROTEINS_FIT_H

#include "nn/exec/proteins.h"
#include "refine/crop_logits.h"

/* Data of the fit: of each case the predictions of classes and the features of nodes. */
typedef struct cs_protein_cases {
    int32_t  n_class;
    const cs_protein_tree *tree; /* of the classes */
    int64_t  n;
    float   *logit;              /* [n * n_class] predictions of the model, up to a constant */
    float   *feature;            /* [n * tree->n * CS_PROTEIN_FEATURES] */
    int32_t *truth;              /* [n] */
} cs_protein_cases;

/**
 * cs_proteins_solve - maximum-likelihood weights
 *
 * Least mean loss of softmax(t logit_c + sum_k (a_k sum_v feature_vk + d_uk feature_uk) + b_u) +
 * decay (|a|^2 + |d|^2 + |b|^2) / 2, where v are the nodes from class c upwards, and u is the top
 * one: by Newton steps, halved where they do not descend. Without a tree, u = v = c, the loss is
 * the cross-entropy, and the problem is convex in t, a, d and b. With a tree, the loss is that of
 * the head `tree` with equal parts for the class and for the mean of the nodes above it, where a
 * class above others includes them; the steps use the Hessian of the cross-entropy, an upper bound
 * of its own. With few cases the top nodes' weights stay near the common ones, a; of more
 * than CS_PROTEIN_MAX_OWN top nodes, some have hardly a validation record, and d and b are 0. t is
 * at most 1, since a model is not too cautious about records unlike its training: where the best t
 * is above 1, or not positive, as with few cases, t is 1.
 *
 * weight   [tree->n * CS_PROTEIN_WEIGHTS] receives (a + d) / t and b / t: the temperature is that
 *          of a calibration, which follows
 * before, after  receive the mean loss of softmax(logit), and the least one, without decay
 * Returns  CS_OK or CS_EMEM
 */
int cs_proteins_solve(const cs_protein_cases *c, double decay, float *weight, double *before,
                      double *after) CS_MUST_CHECK;

/**
 * cs_proteins_probe - time the search of cs_proteins_fit(), on the first crops
 *
 * p        with an index
 * n        crops at most, without mutations
 * base     receives seconds per base, on one thread
 * Returns  CS_OK or CS_EMEM
 */
int cs_proteins_probe(const cs_proteins *p, const cs_dataset *d, const cs_sampler *crops, int64_t n,
                      double *base) CS_MUST_CHECK;

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

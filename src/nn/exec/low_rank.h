/* low_rank.h - a trained model whose linear layers are replaced by their truncated SVD. */
#ifndef CS_NN_LOW_RANK_H
#define CS_NN_LOW_RANK_H

#include "nn/exec/model.h"

/* Rule for the rank of a layer: the first member that is not 0. */
typedef struct cs_low_rank_rule {
    int64_t rank;                /* this one */
    double  share;               /* of the smaller side, rounded up */
    double  energy;              /* the smallest that keeps this share of the squares */
} cs_low_rank_rule;

/* Result for a layer. */
typedef struct cs_low_rank_layer {
    char   *name;                /* of its weights */
    int32_t n_out, n_in;
    int64_t rank;                /* 0: unchanged, because factors would not be smaller */
    double  energy;              /* share that was kept */
} cs_low_rank_layer;

typedef struct cs_low_rank_list { cs_low_rank_layer *v; int32_t n; size_t cap; } cs_low_rank_list;

/**
 * cs_model_low_rank - a model like m, with the linear layers' weights w as b a of a lower rank
 *
 *   w = u s v',  b = u sqrt(s),  a = sqrt(s) v',  the largest singular values only
 *
 * m        must outlive *out, whose options point to texts of it
 * list     receives every linear layer, in the order of declaration; those that are products
 *          already stay as they are and are not in it
 * The calibration is dropped: predictions change.
 *
 * Returns  CS_OK; CS_EUSAGE in a program without LAPACK; CS_EMEM
 */
int  cs_model_low_rank(const cs_model *m, const cs_low_rank_rule *rule, cs_model **out,
                       cs_low_rank_list *list)
    CS_MUST_CHECK;
void cs_low_rank_release(cs_low_rank_list *list);

#endif

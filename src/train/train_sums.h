/* train_sums.h - sums over training batches, for the metrics of steps and epochs. */
#ifndef CS_TRAIN_TRAIN_SUMS_H
#define CS_TRAIN_TRAIN_SUMS_H

#include "nn/exec/model.h"

/* Sums over training batches: weighted loss, its weights, and counts. */
typedef struct cs_train_sums {
    double  loss, weight;
    int64_t n_right, n_seen, n_token, n_base;
} cs_train_sums;

/** cs_train_sums_add - add the sums of another rank or step */
static inline void cs_train_sums_add(cs_train_sums *to, const cs_train_sums *s)
{
    to->loss += s->loss;
    to->weight += s->weight;
    to->n_right += s->n_right;
    to->n_seen += s->n_seen;
    to->n_token += s->n_token;
    to->n_base += s->n_base;
}

/* What counts as a hit, and the weights of records. */
typedef struct cs_train_sums_rule {
    const cs_model *model;
    const float    *weight;      /* [n_label] class weights, or NULL */
    double          tolerance;   /* regression: an error below it is a hit */
} cs_train_sums_rule;

/** cs_train_sums_add_batch - add the hits and weights of a batch; output: its predictions */
void cs_train_sums_add_batch(const cs_train_sums_rule *r, const cs_batch *b, const float *output,
                             cs_train_sums *sum);

#endif

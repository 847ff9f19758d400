/* count.h - metrics of a training batch's predictions. */
#ifndef CS_TRAIN_COUNT_H
#define CS_TRAIN_COUNT_H

#include "nn/exec/model.h"
#include "train/checkpoint.h"

/* Settings of hits and weights. */
typedef struct cs_count_rule {
    const cs_model *model;
    const float    *weight;      /* [n_label] class weights, or NULL */
    double          tolerance;   /* regression: an error below it is a hit */
} cs_count_rule;

/** cs_train_count - add the hits and weights of a batch; output: its predictions */
void cs_train_count(const cs_count_rule *r, const cs_batch *b, const float *output,
                    cs_train_sums *sum);

#endif

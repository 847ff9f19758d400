/* model_factorize.h - replace linear layers by low-rank products; report cost and savings. */
#ifndef CS_REFINE_MODEL_FACTORIZE_H
#define CS_REFINE_MODEL_FACTORIZE_H

#include "train/labelled.h"

typedef struct cs_low_rank_args {
    const char *rank, *output;
    double      energy;
} cs_low_rank_args;

extern const cs_opt cs_low_rank_table[];       /* --rank, --energy, -o */

/**
 * cs_model_factorize - replace linear layers by their truncated SVD, write the model, print a table
 *
 * input, label  sequences for the accuracy, both released by the caller; without any, no accuracy
 *               is reported
 * Returns  CS_OK; CS_EUSAGE; the errors of cs_model_low_rank(), of reading and of writing
 */
int cs_model_factorize(cs_model *m, const cs_low_rank_args *a, cs_input_args *input,
                       const cs_label_args *label) CS_MUST_CHECK;

#endif

/* model_proteins.h - add a protein database to a model. */
#ifndef CS_REFINE_MODEL_PROTEINS_H
#define CS_REFINE_MODEL_PROTEINS_H

#include "refine/model_lookup.h"

typedef struct cs_protein_args {
    int64_t min_length, max_length;
    double  max_known;
} cs_protein_args;

extern const cs_opt cs_protein_table[];    /* --protein-length, --protein-piece, ... */

/**
 * cs_model_make_proteins - give a model a new database, from the training part of a dataset
 *
 * a        --size and --top-taxa
 * m        receives the database, weights zero, replacing an old one
 * Returns  CS_OK; CS_EUSAGE (top taxa); the errors of cs_proteins_build()
 */
int cs_model_make_proteins(cs_model *m, const cs_protein_args *p, const cs_lookup_args *a,
                           const cs_dataset *d) CS_MUST_CHECK;

/**
 * cs_model_proteins - build a database from labelled sequences, and fit its weights
 *
 * m        receives the database, replacing an old one unless it is refitted, and loses its
 *          calibration; its backend has the number of threads, which does not change the result
 * a        --size, --weights, --refit, --crops, --seed and --mutate
 * Returns  CS_OK; CS_EUSAGE (options, or an unsupported model); the errors of reading and of
 *          cs_proteins_build() and cs_proteins_fit()
 */
int cs_model_proteins(cs_model *m, const cs_protein_args *p, const cs_lookup_args *a,
                      cs_input_args *input, const cs_label_args *label) CS_MUST_CHECK;

#endif

/* model_lookup.h - add a look-up table of peptide words to a model. */
#ifndef CS_REFINE_MODEL_LOOKUP_H
#define CS_REFINE_MODEL_LOOKUP_H

#include "train/labelled.h"

typedef struct cs_lookup_args {
    const char *groups;
    int64_t     k, sample, min_groups, size, crops, seed;
    double      purity;
    cs_strlist  weights;
    bool        refit;
    const char *top_taxa;        /* of a tree; NULL: the default */
    cs_mutation mutation;        /* of the crops */
} cs_lookup_args;

extern const cs_opt cs_lookup_table[];     /* --peptide-k, --sample, --min-groups, ... */

/**
 * cs_model_lookup - build a table from labelled sequences, and fit its weights
 *
 * With weights and without sequences, or with refit, the model's table stays.
 *
 * m        receives the table, replacing an old one, and loses its calibration; its backend has
 *          the number of threads, which does not change the result
 * Returns  CS_OK; CS_EUSAGE (options, or an unsupported model); the errors of reading and of
 *          cs_lookup_build() and cs_lookup_fit()
 */
int cs_model_lookup(cs_model *m, const cs_lookup_args *a, cs_input_args *input,
                    const cs_label_args *label) CS_MUST_CHECK;

/**
 * cs_model_make_lookup - give a model a new table, from the training part of a dataset
 *
 * a        the rule of its words, and top_taxa
 * m        receives the table, weights zero, replacing an old one
 * Returns  CS_OK; CS_EUSAGE (options); the errors of cs_lookup_build()
 */
int cs_model_make_lookup(cs_model *m, const cs_lookup_args *a, const cs_dataset *d) CS_MUST_CHECK;

/**
 * cs_lookup_check_input - check that an action has what it needs
 *
 * has      does the model have a table or database already?
 * keeps    receives whether it stays, and only its weights are replaced: weights are given, but no
 *          sequences
 * Returns  CS_OK; CS_EUSAGE without sequences, with neither a split nor weights, and for refit
 *          beside weights or of nothing
 */
int cs_lookup_check_input(const char *action, const cs_input_args *input,
                          const cs_label_args *label, const cs_lookup_args *a, bool has,
                          bool *keeps) CS_MUST_CHECK;

/** cs_weights_of - the weights of a part of a model, and the part's name in messages */
typedef struct cs_weights_of {
    const char *name;
    float    *(*weight)(const cs_model *m);            /* NULL: the model lacks the part */
    /* Takes the settings that the weights of `from`, read from path, depend on; an error if they
     * are not those of the first file. NULL: there are none. */
    int       (*take_settings)(cs_model *m, const cs_model *from, const char *path, bool first);
} cs_weights_of;

/**
 * cs_lookup_mean_weights - the mean of the weights of the same part of other models
 *
 * path     model files with the classes of m
 * n        weights of m's part, which receives them
 * Returns  CS_OK; CS_EMODEL if a model lacks the part or has other classes, or if settings
 *          differ between files; the errors of loading
 */
int cs_lookup_mean_weights(cs_model *m, const cs_strlist *path, const cs_weights_of *of,
                           int32_t n) CS_MUST_CHECK;

/** cs_model_drop_calibration - with a note if there was one; what: "table" */
void cs_model_drop_calibration(cs_model *m, const char *what);

#endif

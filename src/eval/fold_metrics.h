/* fold_metrics.h - metrics of a cross-validation: a row per fold, means and standard errors. */
#ifndef CS_EVAL_FOLD_METRICS_H
#define CS_EVAL_FOLD_METRICS_H

#include <stdint.h>

/* Models that a run fits to the training part: a network, and with presets first two bags. */
typedef enum cs_fit { CS_FIT_NETWORK, CS_FIT_WORDS, CS_FIT_FRAMES, CS_N_FIT } cs_fit;

typedef struct cs_fold_scores { double accuracy, balanced, loss, r2; } cs_fold_scores;

/* The validation of one fold. NaN: not measured. */
typedef struct cs_fold {
    int64_t        n_valid;      /* records */
    cs_fold_scores of[CS_N_FIT]; /* with their last weights */
    double         regression;   /* balanced accuracy of the baseline */
    double         words_steps;  /* steps of the bag of words at its lowest loss */
} cs_fold;

typedef struct cs_fold_mean { double mean, error; } cs_fold_mean;

/** cs_fold_average - mean and standard error of a field of n folds, of type double; NaN where a
 * fold has none. field: of the first fold */
cs_fold_mean cs_fold_average(const cs_fold *fold, int n, const double *field);

#endif

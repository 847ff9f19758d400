/* folds.h - cross-validation: folds of whole groups, and results of their validations. */
#ifndef CS_TRAIN_FOLDS_H
#define CS_TRAIN_FOLDS_H

#include "eval/fold_metrics.h"
#include "io/labels.h"
#include "train/checkpoint.h"
#include "train/dataset.h"

typedef struct cs_folds {
    int      n;                  /* 0: no cross-validation */
    int32_t *of;                 /* [records of the dataset] fold of each */
    cs_fold *fold;               /* [n] */
    int      n_done;
    cs_fit   best;               /* by the means: the model */
} cs_folds;

/**
 * cs_folds_assign - deal groups to n folds, so that every fold has its share of every class
 *
 * The largest group comes first, each to the fold that has least of its classes. Should a fold lack
 * a class then, groups are moved. Depends on the data and the seed only.
 *
 * d        of classes, labels or values, which only classes stratify; skipped examples are left
 *          alone
 * by       criterion of the groups, for messages
 * Returns  CS_OK; CS_EUSAGE naming a class that has too few groups, or is missing in a fold of the
 *          splits that were tried; CS_EMEM
 */
int  cs_folds_assign(const cs_dataset *d, const cs_classes *classes, int n, uint64_t seed,
                     const char *by, cs_folds *f) CS_MUST_CHECK;
void cs_folds_release(cs_folds *f);

/** cs_folds_select - fold i (from 0) is for validation, the rest for training; -1: train on all */
void cs_folds_select(const cs_folds *f, int i, cs_dataset *d);

/** cs_folds_add - keep, and log, the next fold's metrics */
void cs_folds_add(cs_folds *f, const cs_fold *fold);

/** cs_folds_finish - log means, and decide which fit is the model */
void cs_folds_finish(cs_folds *f);

/** cs_folds_words_steps - the steps after which the bag of words had its lowest validation loss,
 * mean of the folds; 0: unknown */
int64_t cs_folds_words_steps(const cs_folds *f);

/** cs_folds_headline - the folds' means of the best fit as validation of the final model */
void cs_folds_headline(const cs_folds *f, cs_train_state *st);

/** cs_folds_json - of every fold, means and standard errors, for the model's metadata */
struct json_t *cs_folds_json(const cs_folds *f);

#endif

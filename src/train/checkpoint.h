/* checkpoint.h - training checkpoints. */
#ifndef CS_TRAIN_CHECKPOINT_H
#define CS_TRAIN_CHECKPOINT_H

#include <stdbool.h>

#include "nn/ops/param.h"
#include "train/train_sums.h"

/* State of a run. Random numbers have no state: they are functions of the seed and these
 * counters. */
typedef struct cs_train_state {
    int64_t epoch;               /* epochs finished */
    int64_t epoch_step;          /* steps done in the present epoch */
    int64_t step;                /* steps done in all */
    int64_t best_epoch;          /* epoch of the best model; 0: none yet */
    int64_t n_bad;               /* epochs since; without a best one, epochs without progress */
    double  best;                /* its value of the monitored metric */
    /* its validation metrics; NaN: none. R2 is the mean over the values */
    double  best_loss, best_accuracy, best_balanced, best_r2;
    double  lowest_loss;         /* of all validations; NaN: none yet */
    double  own_best;            /* the monitored metric's best of this run, where `best` may be
                                  * that of the bag that it starts from; NaN: none yet */
    int64_t lowest_step;         /* steps done at the lowest loss. Not in checkpoints */
    double  seconds;             /* wall time of all runs together */
    bool    done;
    cs_train_sums sum;           /* of the present epoch's steps */
    double  epoch_seconds;       /* their time */
    double  epoch_flop;          /* their floating-point operations; NaN: unknown */
    double  valid_seconds;       /* of the longest validation so far */
    double  done_before;         /* budget share at the start of the present epoch */
    double  began;               /* seconds of a time budget that were spent before the run */
    double  best_done;           /* budget share at the best epoch */
    double  anneal_from;         /* budget share from which the schedule runs faster ... */
    double  anneal_rate;         /* ... by this factor; 0: not yet */
    double  regression, bag;     /* balanced accuracy of the baselines; NaN: unknown */
    int64_t n_base;              /* trained on in all steps */
    double  peak_share;          /* of the processor's peak in the last epoch; NaN: unknown */
    char   *log;                 /* the metrics table so far; owned */
} cs_train_state;

/** cs_train_state_init - the state before the first step; release with cs_train_state_release() */
void cs_train_state_init(cs_train_state *st);
void cs_train_state_release(cs_train_state *st);

/* The recipe's lines about contents of files and names of labels, its last ones. Checkpoints of
 * versions up to 0.2.0 lack them and are accepted without. */
#define CS_RECIPE_VOCABULARY "vocabulary="
#define CS_RECIPE_TAXONOMY "taxonomy.content="
#define CS_RECIPE_LABELS "labels.content="

/* What a resumed run must repeat. */
typedef struct cs_resume_rule {
    const char *recipe;
    bool        any_epochs;      /* their number may differ */
    const char *further;         /* how to train for longer, for a message; NULL: omit --resume */
} cs_resume_rule;

/**
 * cs_checkpoint_save - write state, parameters, moments and average through a temporary file
 *
 * recipe   UTF-8: lines "name=value"; see cs_resume_rule
 * average  the averaged weights are in use and stored too
 * Returns  CS_OK; CS_EIO; CS_EMEM; CS_EDEVICE
 */
int cs_checkpoint_save(const char *path, cs_params *ps, bool average, const cs_train_state *st,
                       const char *recipe) CS_MUST_CHECK;

/**
 * cs_checkpoint_load - the reverse, into parameters that have been allocated for training
 *
 * st       initialised; receives the state
 * Returns  CS_OK; CS_EIO; CS_EFORMAT (damaged, truncated, or not a checkpoint); CS_EUSAGE naming
 *          the first differing line of the recipe; CS_EMODEL if tensors differ; CS_EMEM; CS_EDEVICE
 */
int cs_checkpoint_load(const char *path, cs_params *ps, bool average, cs_train_state *st,
                       const cs_resume_rule *rule) CS_MUST_CHECK;

/** cs_checkpoint_begins - does a file begin as a checkpoint does? False if it cannot be read */
bool cs_checkpoint_begins(const char *path);

/**
 * cs_checkpoint_show - progress and recipe as lines "name<TAB>value" on standard output
 *
 * Returns  CS_OK; CS_EIO; CS_EFORMAT
 */
int cs_checkpoint_show(const char *path) CS_MUST_CHECK;

#endif

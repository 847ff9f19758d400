/* supervised_internal.h - the state of a supervised training. */
#ifndef CS_TRAIN_SUPERVISED_INTERNAL_H
#define CS_TRAIN_SUPERVISED_INTERNAL_H

#include "train/evaluate.h"
#include "train/folds.h"
#include "train/loop.h"
#include "train/preset.h"
#include "train/provenance.h"
#include "train/sampler.h"
#include "train/supervised.h"

typedef struct cs_supervised {
    cs_supervised_args *a;
    double         began;        /* start of the command in seconds */
    cs_train_budget budget;
    cs_train_after after;        /* see cs_evaluate_after(); of several ranks, on one */
    void          *made;         /* by the extension, for the model; on rank 0 */
    double         made_seconds; /* that took */
    cs_train_after extending;    /* what adding it will take */
    cs_preset_facts facts;
    bool           preset, nucleotides;
    cs_label      *label;        /* [n_label] */
    int32_t        n_label;
    cs_labelled    labelled;
    cs_dataset     data;
    cs_group      *group;        /* with --ranks */
    cs_backend    *be;
    cs_model      *model, *from; /* from: --init, until its weights have been taken over */
    cs_sampler    *train, *valid;        /* valid: NULL without validation */
    float         *weight;       /* [n_label] class weights; NULL: none */
    char          *recipe;       /* see cs_provenance_recipe() */
    char          *checkpoint;   /* its path */
    cs_provenance  origin;
    /* With --folds: the model file of a fold, its metrics, and all folds' predictions */
    cs_folds       folds;
    char          *fold_path;
    cs_fold        fold;
    bool           final;        /* the training on all has begun */
    cs_scores      scores[CS_N_FIT];
    double         page_due;     /* seconds: when --html may be written again */
} cs_supervised;

/** cs_supervised_on_variants - does the head take variants? */
bool cs_supervised_on_variants(const cs_supervised *j);

/* Of these functions, those with an int return CS_OK, or a negative code with a message. */

/** cs_supervised_read - read all labelled records or variants */
int cs_supervised_read(cs_supervised *j, int n_inflate);

/** cs_supervised_samplers - split the data; samplers of training and validation */
int cs_supervised_samplers(cs_supervised *j);

/** cs_supervised_check_split_out - can --split-out be created, and is it another file than other
 * outputs? */
int cs_supervised_check_split_out(const cs_supervised *j);

/**
 * cs_supervised_write_split - write the split to --split-out, if given
 *
 * Names of records, or contigs of variants; their parts; and groups, if records have some by other
 * than their names. Also CS_EUSAGE for a name that such a table cannot have, or that is in several
 * parts or groups
 */
int cs_supervised_write_split(const cs_supervised *j);

/** cs_supervised_model - a new model, with the weights that it starts from */
int cs_supervised_model(cs_supervised *j);

/** cs_supervised_set_up - make samplers and model of the present split */
int cs_supervised_set_up(cs_supervised *j);

/** cs_supervised_tear_down - free samplers and model */
void cs_supervised_tear_down(cs_supervised *j);

/** cs_supervised_feed - samples and batch rule of the training loop */
cs_feed cs_supervised_feed(const cs_supervised *j);

/** cs_supervised_options - settings of the training loop */
cs_loop_opt cs_supervised_options(cs_supervised *j);

/**
 * cs_supervised_bag - train the baselines: the better bag is the model until the network is better
 *
 * After cross-validation, only the bag that is the model or the network's composition path; the
 * time of the other one is not used, so that all fits have the folds' budgets.
 *
 * trained  see cs_bag_spec, with j as arg; or NULL
 */
int cs_supervised_bag(cs_supervised *j, const cs_feed *feed,
                      int (*trained)(void *j, cs_fit bag, const cs_train_state *st),
                      cs_train_state *st);

/** cs_supervised_folds - with --folds: assign records to folds, and select the first */
int cs_supervised_folds(cs_supervised *j);

/** cs_supervised_cross_validate - train a model per fold; then set up the training on all */
int cs_supervised_cross_validate(cs_supervised *j);

#endif

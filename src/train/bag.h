/* bag.h - bags of words and of reading frames, trained on the network's samples. */
#ifndef CS_TRAIN_BAG_H
#define CS_TRAIN_BAG_H

#include "eval/fold_metrics.h"
#include "infer/taxa.h"
#include "train/preset.h"
#include "train/train_args.h"

/* The run of the network that the bags precede. */
typedef struct cs_bag_spec {
    cs_model_spec         model; /* labels, head and seed are copied */
    const cs_preset_facts *facts;
    const cs_taxa_args   *taxa;
    const cs_train_args  *training; /* copied, except settings of the preset fast */
    const cs_feed        *feed;  /* its samplers and weights */
    const cs_loop_opt    *opt;   /* a budget in bases is the network's; the bags get at most two
                                  * thirds of a time budget */
    cs_strands            strands;
    cs_model             *network; /* its composition path starts as the bag of words; or NULL */
    double                rate;  /* factor on that path's learning rate */
    int64_t               words_steps;         /* of the bag of words, at most; 0: by budget */
    bool                  advise_proteins;     /* if reading frames improve on words, log that
                                                * --proteins may improve more */
    bool                  skip[CS_N_FIT];      /* leave this bag out, but not its share of a time
                                                * budget */
    /* Called after each bag, when it has been written to opt->model_path, with the lowest loss of
     * its validations; or NULL. */
    int                 (*trained)(void *arg, cs_fit bag, const cs_train_state *st);
    void                 *arg;
} cs_bag_spec;

/** cs_bag_regression - fit a logistic regression and report its accuracy: st->regression. CS_OK,
 * also if skipped as too slow; CS_EMEM */
int cs_bag_regression(const cs_bag_spec *s, int n_thread, cs_train_state *st) CS_MUST_CHECK;

/**
 * cs_bag_train - train the bags, write the better one to opt->model_path, initialise the network
 *
 * The bag of words (canonical 6-mers) is the network's composition path, as it was at its lowest
 * validation loss: later it may still classify better, but it fits the training records so closely
 * that the network would learn little beside it. Without validation it is the last one. A note is
 * logged if the network's options exclude one. The bag of reading frames (tokenizer orf) follows
 * unless the median record is too short. With opt->keep_last each is written, not only the better
 * one.
 *
 * st       receives the baselines, and the budget spent
 * skipped  receives the seconds of a time budget that skipped bags left
 * Returns  CS_OK; the errors of cs_train_run() and trained()
 */
int cs_bag_train(const cs_bag_spec *s, cs_backend *be, cs_train_state *st, double *skipped)
    CS_MUST_CHECK;

/** cs_bag_log - a note if the bag is the model of a completed run, and a warning if the model is
 * worse than the regression. chosen: cross-validation chose the bag and has logged that */
void cs_bag_log(const cs_train_state *st, bool chosen);

#endif

/* bag.h - bag-of-words baseline, trained on the network's samples. */
#ifndef CS_TRAIN_BAG_H
#define CS_TRAIN_BAG_H

#include "infer/taxa.h"
#include "train/preset.h"
#include "train/train_args.h"

/* Of the network and its run. */
typedef struct cs_bag_spec {
    cs_model_spec         model; /* labels, head and seed are taken over */
    const cs_preset_facts *facts;
    const cs_taxa_args   *taxa;
    const cs_train_args  *learn; /* all but what the preset fast sets is taken over */
    const cs_feed        *feed;  /* its samplers and weights */
    const cs_train_opt   *opt;   /* of a budget of time the bag gets a third at most, of bases ten
                                  * times as many */
    cs_strands            strands;
    cs_model             *network; /* takes the bag as its composition path; NULL: does not */
    double                rate;  /* of that path's learning, times that of all */
} cs_bag_spec;

/** cs_bag_regression - fit a logistic regression, too, and say how good it is: st->regression.
 * CS_OK, also where it would take too long; CS_EMEM */
int cs_bag_regression(const cs_bag_spec *s, cs_train_state *st) CS_MUST_CHECK;

/**
 * cs_bag_learn - learn the bag, write it to opt->model_path, and begin the network with it
 *
 * Where the network has no path of these words, by its options, it is told.
 *
 * st       receives what the network has to beat, and what of the budget is spent
 * Returns  CS_OK; the errors of cs_train_run()
 */
int cs_bag_learn(const cs_bag_spec *s, cs_backend *be, cs_train_state *st) CS_MUST_CHECK;

/** cs_bag_tell - is what a run that is done has given worth its time? Says it where it is not */
void cs_bag_tell(const cs_train_state *st);

#endif

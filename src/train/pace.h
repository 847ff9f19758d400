/* pace.h - training budget in time or bases, and the learning rate within it. */
#ifndef CS_TRAIN_PACE_H
#define CS_TRAIN_PACE_H

#include <stdbool.h>

#include "train/checkpoint.h"
#include "train/optim.h"

/* Both 0: no budget, steps and epochs end the run. */
typedef struct cs_train_budget { double seconds; int64_t n_base; } cs_train_budget;

static inline bool cs_train_budget_set(const cs_train_budget *b)
{
    return b->seconds > 0 || b->n_base > 0;
}

/** cs_train_budget_parse - "90s", "10m", "1h30m", "1d", or bases: "500M", "2G". CS_OK; CS_EUSAGE */
int cs_train_budget_parse(const char *text, cs_train_budget *b) CS_MUST_CHECK;

/* What follows the run in the same command: in validations of the run, and other work. */
typedef struct cs_train_after { double n_valid, seconds; } cs_train_after;

/* The learning rate's factor and the ends of epochs, by steps or by a budget. */
typedef struct cs_pace {
    cs_train_budget budget;
    cs_schedule     schedule;    /* total and warmup: of steps, without a budget */
    double          warmup;      /* of a budget: its share, or from 1 on steps */
    double          valid_bases; /* of a validation, to estimate its time; 0: unknown */
    cs_train_after  after;       /* reserved in a time budget */
} cs_pace;

/** cs_train_budget_check - CS_EUSAGE if `spent` seconds of reading use it up */
int cs_train_budget_check(const cs_train_budget *b, double spent) CS_MUST_CHECK;

/**
 * cs_pace_done - position in the schedule, 0 .. 1: the spent share of the budget, or more after
 * cs_pace_anneal()
 *
 * A time budget begins at st->began, and reserves the last validation and what follows the run, but
 * not more than nine tenths of the rest. A validation takes as long as the longest so far or,
 * before the first, an estimate from the speed of the epoch's training.
 *
 * clock    seconds of the run so far
 */
double cs_pace_done(const cs_pace *p, const cs_train_state *st, double clock);
/**
 * cs_pace_anneal - without progress since st->best_done: do the rest of the schedule in the time
 * that the best model took, or less where the budget has less
 *
 * done     the present position
 * Returns  false if there is nothing to anneal: no budget, a constant rate, or annealing already
 */
bool cs_pace_anneal(const cs_pace *p, cs_train_state *st, double done);
/** cs_pace_factor - factor on --lr in step `t` at the spent share `done` */
double cs_pace_factor(const cs_pace *p, int64_t t, double done);
/** cs_pace_too_late - has the budget ended the training (at `clock`) so late that the first
 * validation would end after a time budget, and is there a best model before it? */
bool cs_pace_too_late(const cs_pace *p, const cs_train_state *st, double clock);
/** cs_pace_validates - end the epoch now? At the end of the budget, and a dozen times before,
 * unless validations are slow compared with training */
bool cs_pace_validates(const cs_pace *p, const cs_train_state *st, double done);

#endif

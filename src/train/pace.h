/* pace.h - training budget in time or bases, and the learning rate within it. */
#ifndef CS_TRAIN_PACE_H
#define CS_TRAIN_PACE_H

#include <stdbool.h>

#include "train/checkpoint.h"
#include "train/schedule.h"

/* Both 0: there is none, steps and epochs say where the run ends. */
typedef struct cs_budget { double seconds; int64_t n_base; } cs_budget;

static inline bool cs_budget_set(const cs_budget *b) { return b->seconds > 0 || b->n_base > 0; }

/** cs_budget_parse - "90s", "10m", "2h", "1d", or bases: "500M", "2G". CS_OK; CS_EUSAGE */
int cs_budget_parse(const char *text, cs_budget *b) CS_MUST_CHECK;

/* The learning rate's factor and the ends of epochs, by steps or by a budget. */
typedef struct cs_pace {
    cs_budget   budget;
    cs_schedule schedule;        /* total and warmup: of steps, without a budget */
    double      warmup;          /* of a budget: its share, or from 1 on steps */
} cs_pace;

/** cs_budget_check - CS_EUSAGE where `spent` seconds, of reading, leave nothing of it */
int cs_budget_check(const cs_budget *b, double spent) CS_MUST_CHECK;

/**
 * cs_pace_done - share of the budget that is spent, 0 .. 1; of time all but what the last
 * validation and calibration will take
 *
 * clock    seconds of the run so far
 */
double cs_pace_done(const cs_pace *p, const cs_train_state *st, double clock);
/** cs_pace_factor - what --lr is multiplied by in step `t` when `done` of the budget is spent */
double cs_pace_factor(const cs_pace *p, int64_t t, double done);
/** cs_pace_validates - is it time to end the epoch? When the budget is spent, and before that a
 * dozen times, unless validations take long beside learning */
bool cs_pace_validates(const cs_pace *p, const cs_train_state *st, double done);

#endif

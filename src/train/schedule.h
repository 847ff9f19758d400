/* schedule.h - learning-rate schedules. */
#ifndef CS_TRAIN_SCHEDULE_H
#define CS_TRAIN_SCHEDULE_H

#include <stdint.h>

typedef enum cs_decay {
    CS_DECAY_CONSTANT, CS_DECAY_LINEAR, CS_DECAY_COSINE, CS_DECAY_POLYNOMIAL
} cs_decay;

/* Linear warm-up over the first `warmup` steps, then a decay that ends at step `total`. */
typedef struct cs_schedule {
    cs_decay kind;
    int64_t  warmup, total;      /* steps */
    double   cycles;             /* COSINE: waves over the decay; 0.5 ends at zero */
    double   power;              /* POLYNOMIAL */
    double   floor;              /* POLYNOMIAL: the factor at the end (lr_end / lr) */
} cs_schedule;

/* The names that --schedule takes, in the order of cs_decay; NULL-terminated. */
extern const char *const cs_decay_names[];

/**
 * cs_schedule_factor - what the base learning rate is multiplied by
 *
 *   t < warmup    t / warmup                       (the first step has factor 0)
 *   linear        max(0, (total - t) / max(1, total - warmup))
 *   cosine        max(0, (1 + cos(2 pi cycles p)) / 2),  p = (t - warmup) / max(1, total - warmup)
 *   polynomial    (1 - floor) (1 - p)^power + floor;  floor for t > total
 *
 * t        the step, from 0
 * Source   Khalitov et al., ChordMixer; reference optim/schedulers.py
 */
double cs_schedule_factor(const cs_schedule *s, int64_t t);

#endif

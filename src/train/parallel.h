/* parallel.h - exchange between the ranks of a training run. */
#ifndef CS_TRAIN_PARALLEL_H
#define CS_TRAIN_PARALLEL_H

#include "base/group.h"
#include "train/loop_opt.h"

/* State of one rank. */
typedef struct cs_parallel cs_parallel;

/**
 * cs_parallel_new - for parameters that have been allocated for training
 *
 * g, ps    used from here on, not owned
 * Returns  CS_OK; CS_EMEM; the errors of cs_group_gather()
 */
int  cs_parallel_new(cs_group *g, cs_params *ps, cs_parallel **out) CS_MUST_CHECK;
/** cs_parallel_free - accepts NULL */
void cs_parallel_free(cs_parallel *p);

/**
 * cs_parallel_agree - do all ranks have the same recipe and parameters?
 *
 * Compares settings that determine training and communication, and known sources of different
 * rounding.
 *
 * Returns  CS_OK; CS_EMEM; CS_EDEVICE; on a rank that differs from rank 0 CS_EUSAGE, naming the
 *          first line of the recipe that does, or the parameters; on the others then CS_EIO with
 *          that message
 */
int cs_parallel_agree(cs_parallel *p, const cs_loop_opt *o, const cs_train_state *st)
    CS_MUST_CHECK;

/**
 * cs_parallel_verify - do all ranks still have the same parameters, bit for bit?
 *
 * Each rank takes every optimiser step itself: different rounding would make them diverge
 * unnoticed.
 *
 * Returns  CS_OK; CS_EDEVICE; CS_EMODEL on rank 0, naming the first rank that differs from it; on
 *          the others then CS_EIO with that message
 */
int cs_parallel_verify(cs_parallel *p, const cs_train_state *st) CS_MUST_CHECK;

/* The end of a step, of one rank; after cs_parallel_step() of all. */
typedef struct cs_step_report {
    cs_train_sums sum;           /* of the rank's batches; of all batches */
    double        seconds, epoch_seconds;    /* as in cs_train_state; those of rank 0 */
    int64_t       pause;         /* does the rank want to pause? does any? */
} cs_step_report;

/**
 * cs_parallel_step - sum the gradients of a step over ranks, in the order of their numbers
 *
 * Afterwards every rank has the same gradients, bit for bit, and the same marks of touched tensors.
 *
 * r        of this rank; receives that of all
 * Returns  CS_OK; CS_EDEVICE; the errors of cs_group_gather()
 */
int cs_parallel_step(cs_parallel *p, cs_step_report *r) CS_MUST_CHECK;

/** cs_parallel_clock - replace a time, or a speed, that this rank measured by rank 0's: decisions
 * by a clock must be the same on all ranks. g: NULL, for a single rank */
int cs_parallel_clock(cs_group *g, double *seconds) CS_MUST_CHECK;

/** cs_parallel_state - send rank 0's state to all, except the table */
int cs_parallel_state(cs_parallel *p, cs_train_state *st) CS_MUST_CHECK;

#endif

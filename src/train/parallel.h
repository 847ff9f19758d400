/* parallel.h - exchange between the ranks of a training run. */
#ifndef CS_TRAIN_PARALLEL_H
#define CS_TRAIN_PARALLEL_H

#include "base/group.h"
#include "train/checkpoint.h"

/* One rank's part in it. */
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
 * cs_parallel_agree - do all ranks do the same, from the same state on?
 *
 * recipe   lines "name=value", as for cs_checkpoint_save()
 * Returns  CS_OK; CS_EUSAGE naming the first line that differs from rank 0's, or saying that the
 *          parameters do
 */
int cs_parallel_agree(cs_parallel *p, const char *recipe, const cs_train_state *st) CS_MUST_CHECK;

/**
 * cs_parallel_verify - do all ranks still have the same parameters, bit for bit?
 *
 * Each takes every optimiser step itself: where one's processor or libraries round otherwise, they
 * would drift apart unseen.
 *
 * Returns  CS_OK; CS_EMODEL, of all ranks, naming the first that has others than rank 0
 */
int cs_parallel_verify(cs_parallel *p, const cs_train_state *st) CS_MUST_CHECK;

/**
 * cs_parallel_step - sum what the ranks have of a step, in the order of their numbers
 *
 * Afterwards every rank has the same gradients, bit for bit, and the same marks of the tensors
 * that have one.
 *
 * sum      of this rank's batches; receives that of all
 * pause    does this rank want to pause after this step? receives whether any does
 */
int cs_parallel_step(cs_parallel *p, cs_train_sums *sum, bool *pause) CS_MUST_CHECK;

/** cs_parallel_state - rank 0's state for all, but for the table, which only rank 0 has */
int cs_parallel_state(cs_parallel *p, cs_train_state *st) CS_MUST_CHECK;

#endif

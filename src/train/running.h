/* running.h - running statistics of batch normalisation, updated after each step. */
#ifndef CS_TRAIN_RUNNING_H
#define CS_TRAIN_RUNNING_H

#include "base/group.h"
#include "nn/ops/param.h"

typedef struct cs_running cs_running;

/* The calls but cs_running_new() accept NULL, and then do nothing. */

/**
 * cs_running_new - start from the present values
 *
 * ps, g    used from here on, not owned; g NULL: a single rank
 * out      receives NULL if the network has no such statistics
 * Returns  CS_OK; CS_EMEM; CS_EDEVICE
 */
int  cs_running_new(cs_params *ps, cs_group *g, cs_running **out) CS_MUST_CHECK;
void cs_running_free(cs_running *r);

/** cs_running_restart - continue from the present values, which others have replaced. CS_OK;
 * CS_EDEVICE */
int  cs_running_restart(cs_running *r) CS_MUST_CHECK;

/**
 * cs_running_take - record the update of the last batch, and restore the values
 *
 * no       of the batch in its step: see cs_feed_item
 */
int  cs_running_take(cs_running *r, uint64_t no) CS_MUST_CHECK;

/** cs_running_undo - restore the values, after a batch that was ended within */
void cs_running_undo(cs_running *r);

/**
 * cs_running_settle - apply the updates of all batches of the step, in order
 *
 * With a group all ranks call it, and have identical bits afterwards, equal to those of one rank.
 * Returns  CS_OK; CS_EMEM; CS_EDEVICE; the errors of cs_group_recv()
 */
int  cs_running_settle(cs_running *r) CS_MUST_CHECK;

#endif

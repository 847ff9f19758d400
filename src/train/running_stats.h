/* running_stats.h - running statistics of batch normalisation, updated after each step. */
#ifndef CS_TRAIN_RUNNING_STATS_H
#define CS_TRAIN_RUNNING_STATS_H

#include "base/group.h"
#include "nn/ops/param.h"

typedef struct cs_running_stats cs_running_stats;

/* The calls but cs_running_stats_new() accept NULL, and then do nothing. */

/**
 * cs_running_stats_new - start from the present values
 *
 * ps, g    used from here on, not owned; g NULL: a single rank
 * out      receives NULL if the network has no such statistics
 * Returns  CS_OK; CS_EMEM; CS_EDEVICE
 */
int  cs_running_stats_new(cs_params *ps, cs_group *g, cs_running_stats **out) CS_MUST_CHECK;
void cs_running_stats_free(cs_running_stats *r);

/** cs_running_stats_restart - continue from the present values, which others have replaced. CS_OK;
 * CS_EDEVICE */
int  cs_running_stats_restart(cs_running_stats *r) CS_MUST_CHECK;

/**
 * cs_running_stats_take - record the update of the last batch, and restore the values
 *
 * no       of the batch in its step: see cs_feed_item
 */
int  cs_running_stats_take(cs_running_stats *r, uint64_t no) CS_MUST_CHECK;

/** cs_running_stats_undo - restore the values, after a batch that was ended within */
void cs_running_stats_undo(cs_running_stats *r);

/**
 * cs_running_stats_settle - apply the updates of all batches of the step, in order
 *
 * With a group all ranks call it, and have identical bits afterwards, equal to those of one rank.
 * Returns  CS_OK; CS_EMEM; CS_EDEVICE; the errors of cs_group_recv()
 */
int  cs_running_stats_settle(cs_running_stats *r) CS_MUST_CHECK;

#endif

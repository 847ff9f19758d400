/* bucket.h - assign records to batches: by depth, token budget and lag rule. */
#ifndef CS_BATCH_BUCKET_H
#define CS_BATCH_BUCKET_H

#include "batch/batch.h"

enum { CS_MAX_DEPTH = 40 };

typedef enum cs_close_reason {
    CS_CLOSE_BUDGET, CS_CLOSE_LAG, CS_CLOSE_END, CS_N_CLOSE
} cs_close_reason;

typedef struct cs_bucket_stat {
    uint64_t n_batch, n_close[CS_N_CLOSE];
    int64_t  n_tok;                   /* in closed batches; mean fill: n_tok / (n_batch * budget) */
} cs_bucket_stat;

typedef struct cs_bucketer cs_bucketer;

/**
 * cs_bucketer_new - a bucketer that makes batches of views, without targets
 *
 * budget   most tokens in a batch; a longer record forms a batch of its own
 * lag      chunks after which an open batch is closed (at most the writer's window + 1: see
 *          bucket_stage.c)
 * n_channel  of real-valued input; 0: tokens
 * emit     takes a finished batch over; an error ends the run and leaves the batch the caller's
 */
cs_bucketer *cs_bucketer_new(int64_t budget, uint64_t lag, int32_t n_channel,
                             int (*emit)(void *arg, cs_batch *b), void *arg);
void cs_bucketer_free(cs_bucketer *k);

/** cs_bucketer_limit - change the budget; open batches keep their records */
void cs_bucketer_limit(cs_bucketer *k, int64_t budget);

/** cs_bucketer_chunk - close the batches that chunk `no` makes too old; call before its records */
int cs_bucketer_chunk(cs_bucketer *k, uint64_t no) CS_MUST_CHECK;
/** cs_bucketer_add - put view i of a chunk, which has at least one token or row of values, into the
 * batch of its depth */
int cs_bucketer_add(cs_bucketer *k, cs_chunk *c, int i) CS_MUST_CHECK;
/** cs_bucketer_end - close everything, shallowest first */
int cs_bucketer_end(cs_bucketer *k) CS_MUST_CHECK;
/** cs_bucketer_stat - counts so far */
cs_bucket_stat cs_bucketer_stat(const cs_bucketer *k);

#endif

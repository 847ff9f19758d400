/* pipe.h - stages on threads: one thread per stage, first error wins, cancel, join. */
#ifndef CS_BASE_PIPE_H
#define CS_BASE_PIPE_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/queue.h"

typedef struct cs_pipe cs_pipe;

/* One thread. `run` loops: pop, work, push; it returns CS_OK (or the CS_EOF that its pop gave) at
 * the end of its input, never before. When all stages that push to a queue have returned, it is
 * closed; a stage that returns an error cancels all queues. */
typedef struct cs_stage {
    const char *name;
    int       (*run)(void *self, cs_queue *in, cs_queue *out);
    void       *self;
    cs_queue   *in, *out;        /* NULL at the ends */
    cs_queue   *out2;            /* a second output to close (bucket's chunks to write), or NULL */
} cs_stage;

cs_pipe *cs_pipe_new(void);
void     cs_pipe_free(cs_pipe *p);   /* frees its queues and their items; accepts NULL */

/** cs_pipe_queue - a queue owned by the pipe; arguments as cs_queue_new() */
cs_queue *cs_pipe_queue(cs_pipe *p, const char *name, int cap, size_t cap_bytes,
                        size_t (*bytes)(const void *item), void (*drop)(void *item));

/** cs_pipe_limit - at most n stages work at once, the others wait (see base/budget.h); before
 * cs_pipe_run(), once, or without limit */
void cs_pipe_limit(cs_pipe *p, int n);
/** cs_pipe_share - number of threads for the loops of the one stage that calls it:
 * cs_budget_share() */
int cs_pipe_share(cs_pipe *p);

/**
 * cs_pipe_keep - have `item` dropped by cs_pipe_free(), that is after all threads have joined
 *
 * For a stage that is cancelled while it holds an item that other stages may still write to: the
 * writer whose cs_pipe_wait_zero() gave CS_ECANCEL. Any thread.
 */
void cs_pipe_keep(cs_pipe *p, void *item, void (*drop)(void *item));

/**
 * cs_pipe_run - run the stages, each on its own thread, until all have returned; once per pipe
 *
 * Returns  CS_OK, or the first error; its message has been moved to the calling thread. CS_ECANCEL
 *          without a message after cs_pipe_cancel() or a caught signal (looked for ten times a
 *          second), when that stopped a stage
 */
int cs_pipe_run(cs_pipe *p, const cs_stage *stage, int n) CS_MUST_CHECK;

/** cs_pipe_cancel - make every stage return CS_ECANCEL; from any thread, not from a handler */
void cs_pipe_cancel(cs_pipe *p);

/**
 * cs_pipe_count_down - subtract n from `pending`; wakes the waiter at 0
 *
 * Whoever decrements *pending to 0 must not touch its owner again: the waiter may have freed it.
 * The mutex and condition belong to the pipe for that reason.
 */
void cs_pipe_count_down(cs_pipe *p, atomic_int *pending, int n);

/** cs_pipe_wait_zero - CS_OK when *pending is 0, CS_ECANCEL when cancelled */
int cs_pipe_wait_zero(cs_pipe *p, atomic_int *pending) CS_MUST_CHECK;

/** cs_pipe_report - log the time each stage ran and each queue waited (cs_info) */
void cs_pipe_report(const cs_pipe *p);

/**
 * cs_pipe_summary - the same in one line, cut to fit: "busy read 0.1 s, infer 2 s; waits read to
 * infer 1.9 s full, 0.2 s empty"; neighbours of one name are summed
 */
void cs_pipe_summary(const cs_pipe *p, char *buf, size_t n_buf);

#endif

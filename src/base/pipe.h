/* pipe.h - stages on threads: one thread per stage, first error wins, cancel, join. */
#ifndef CS_BASE_PIPE_H
#define CS_BASE_PIPE_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/queue.h"

typedef struct cs_pipe cs_pipe;

/* One thread. `run` loops: pop, work, push; it returns CS_OK at the end of its input. A stage that
 * returns (for whatever reason) has its `out` closed; one that returns an error cancels them all. */
typedef struct cs_stage {
    const char *name;
    int       (*run)(void *self, cs_queue *in, cs_queue *out);
    void       *self;
    cs_queue   *in, *out;        /* NULL at the ends */
    cs_queue   *out2;            /* a second output to close (bucket's chunks to write), or NULL */
} cs_stage;

cs_pipe *cs_pipe_new(void);
void     cs_pipe_free(cs_pipe *p);   /* frees its queues and what is left in them; accepts NULL */

/** cs_pipe_queue - a queue owned by the pipe; arguments as cs_queue_new() */
cs_queue *cs_pipe_queue(cs_pipe *p, const char *name, int cap, size_t cap_bytes,
                        size_t (*bytes)(const void *item), void (*drop)(void *item));

/**
 * cs_pipe_run - run the stages, each on its own thread, until all have returned
 *
 * Returns  CS_OK, or the first error; its message has been moved to the calling thread
 */
int cs_pipe_run(cs_pipe *p, const cs_stage *stage, int n) CS_MUST_CHECK;

/** cs_pipe_cancel - make every stage return CS_ECANCEL; safe from any thread (not from a handler) */
void cs_pipe_cancel(cs_pipe *p);

/**
 * cs_pipe_count_down - n answers fewer missing; wakes the waiter when none is left
 *
 * Whoever brings *pending to 0 must not touch its owner again: the waiter may have freed it. The
 * mutex and condition belong to the pipe for that reason.
 */
void cs_pipe_count_down(cs_pipe *p, atomic_int *pending, int n);

/** cs_pipe_wait_zero - CS_OK when *pending is 0, CS_ECANCEL when cancelled */
int cs_pipe_wait_zero(cs_pipe *p, atomic_int *pending) CS_MUST_CHECK;

/** cs_pipe_report - log the time each stage ran and each queue waited (cs_info) */
void cs_pipe_report(const cs_pipe *p);

#endif

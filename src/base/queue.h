/* queue.h - a bounded queue of owned pointers: open, closed, or cancelled. */
#ifndef CS_BASE_QUEUE_H
#define CS_BASE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cs_queue cs_queue;

/**
 * cs_queue_new - an open queue
 *
 * cap      maximum items, at least 1
 * cap_bytes  maximum bytes by `bytes`; 0: items only. A larger item is accepted if the queue is
 *            empty, so the bound is cap_bytes or one item.
 * bytes    an item's size, or NULL
 * drop     frees an unconsumed item; called only by cs_queue_free()
 */
cs_queue *cs_queue_new(int cap, size_t cap_bytes, size_t (*bytes)(const void *item),
                       void (*drop)(void *item));

/** cs_queue_push - blocks while full. CS_OK: the queue owns the item; CS_ECANCEL: the caller does.
 * Pushing to a closed queue is CS_BUG */
int cs_queue_push(cs_queue *q, void *item) CS_MUST_CHECK;
/** cs_queue_pop - blocks while empty. CS_OK; CS_EOF when closed and drained; CS_ECANCEL */
int cs_queue_pop(cs_queue *q, void **item) CS_MUST_CHECK;
/** cs_queue_try - non-blocking pop: CS_OK with *item NULL if the queue is empty */
int cs_queue_try(cs_queue *q, void **item) CS_MUST_CHECK;
/** cs_queue_close - no more pushes; pops continue until it is empty */
void cs_queue_close(cs_queue *q);
/** cs_queue_cancel - all calls return CS_ECANCEL */
void cs_queue_cancel(cs_queue *q);
/** cs_queue_free - drop the remaining items; no thread may use it any more. Accepts NULL */
void cs_queue_free(cs_queue *q);

/* Statistics for the summary line. Times in seconds. */
typedef struct cs_queue_stat {
    uint64_t n_push, n_full, n_empty;   /* pushes; pushes and pops that wait or waited */
    double   full_s, empty_s;           /* total waiting time of each kind */
    size_t   peak_bytes;
} cs_queue_stat;
/** cs_queue_stats - so far; from any thread */
cs_queue_stat cs_queue_stats(cs_queue *q);

/** cs_queue_waited - seconds the calling thread has waited in queues, all of them together */
double cs_queue_waited(void);

#endif

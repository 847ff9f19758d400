/*
 * queue.c - a bounded queue of owned pointers between two threads.
 *
 * DESIGN
 * One mutex, two conditions, a ring of items. An item's bytes are computed once, before the push,
 * and stored with it: the consumer may change the item, and additions must equal subtractions. Only
 * actual waits are timed; a waiting thread leaves the thread budget, and enters it again after
 * releasing the mutex, which working threads need.
 *
 *   open ----close----> closed          cancel is final and beats everything
 *     \                   /
 *      `----cancel------>' cancelled
 */
#include "base/queue.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/mem.h"

struct entry {
    void *item;
    size_t n_bytes;
};

/* Invariant: n <= cap; bytes_now is the sum of the entries' n_bytes; the oldest entry is
 * ring[head], the next ones follow modulo cap. */
struct cs_queue {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    struct entry *ring;
    int cap, head, n;
    size_t cap_bytes, bytes_now;
    size_t (*bytes)(const void *item);
    void (*drop)(void *item);
    bool closed, cancelled;
    cs_queue_stat stat;
};

static _Thread_local double waited_s;

static void lock(cs_queue *q)
{
    CS_BUG(pthread_mutex_lock(&q->lock) != 0);
}

static void unlock(cs_queue *q)
{
    CS_BUG(pthread_mutex_unlock(&q->lock) != 0);
}

cs_queue *cs_queue_new(int cap, size_t cap_bytes, size_t (*bytes)(const void *item),
                       void (*drop)(void *item))
{
    cs_queue *q = cs_xcalloc(1, sizeof *q);

    CS_BUG(cap < 1 || (cap_bytes > 0 && bytes == NULL));
    q->ring = cs_xcalloc((size_t)cap, sizeof *q->ring);
    q->cap = cap;
    q->cap_bytes = cap_bytes;
    q->bytes = bytes;
    q->drop = drop;
    CS_BUG(pthread_mutex_init(&q->lock, NULL) != 0);
    CS_BUG(pthread_cond_init(&q->not_full, NULL) != 0);
    CS_BUG(pthread_cond_init(&q->not_empty, NULL) != 0);
    return q;
}

static bool has_space(const cs_queue *q, size_t n_bytes)
{
    if (q->n == q->cap)
        return false;
    return q->n == 0 || q->cap_bytes == 0
        || (q->bytes_now <= q->cap_bytes && n_bytes <= q->cap_bytes - q->bytes_now);
}

int cs_queue_push(cs_queue *q, void *item)
{
    size_t n_bytes = q->bytes != NULL ? q->bytes(item) : 0;
    int rc = CS_OK;
    cs_budget *budget = NULL;

    lock(q);
    if (!q->cancelled && !has_space(q, n_bytes)) {
        double start = cs_now_s();
        q->stat.n_full++;
        budget = cs_budget_leave();
        while (!q->cancelled && !has_space(q, n_bytes))
            CS_BUG(pthread_cond_wait(&q->not_full, &q->lock) != 0);
        double s = cs_now_s() - start;
        q->stat.full_s += s;
        waited_s += s;
    }
    if (q->cancelled) {
        rc = CS_ECANCEL;
    } else {
        CS_BUG(q->closed);
        q->ring[(int)(((int64_t)q->head + q->n) % q->cap)] = (struct entry){ item, n_bytes };
        q->n++;
        q->bytes_now += n_bytes;
        q->stat.n_push++;
        if (q->bytes_now > q->stat.peak_bytes)
            q->stat.peak_bytes = q->bytes_now;
        CS_BUG(pthread_cond_signal(&q->not_empty) != 0);
    }
    unlock(q);
    cs_budget_enter(budget);
    return rc;
}

/* Under the lock, when an item or the end is available. */
static int queue_take(cs_queue *q, void **item)
{
    if (q->cancelled)
        return CS_ECANCEL;
    if (q->n == 0)
        return CS_EOF;
    struct entry e = q->ring[q->head];
    q->head = (q->head + 1) % q->cap;
    q->n--;
    q->bytes_now -= e.n_bytes;
    *item = e.item;
    /* All waiters, because a small item may fit where the first waiter's large one does not. */
    CS_BUG(pthread_cond_broadcast(&q->not_full) != 0);
    return CS_OK;
}

int cs_queue_pop(cs_queue *q, void **item)
{
    cs_budget *budget = NULL;

    lock(q);
    if (!q->cancelled && !q->closed && q->n == 0) {
        double start = cs_now_s();
        q->stat.n_empty++;
        budget = cs_budget_leave();
        while (!q->cancelled && !q->closed && q->n == 0)
            CS_BUG(pthread_cond_wait(&q->not_empty, &q->lock) != 0);
        double s = cs_now_s() - start;
        q->stat.empty_s += s;
        waited_s += s;
    }
    const int rc = queue_take(q, item);
    unlock(q);
    cs_budget_enter(budget);
    return rc;
}

int cs_queue_try(cs_queue *q, void **item)
{
    lock(q);
    *item = NULL;
    const bool none_yet = !q->cancelled && !q->closed && q->n == 0;
    const int rc = none_yet ? CS_OK : queue_take(q, item);
    unlock(q);
    return rc;
}

static void end(cs_queue *q, bool *flag)
{
    lock(q);
    *flag = true;
    CS_BUG(pthread_cond_broadcast(&q->not_full) != 0);
    CS_BUG(pthread_cond_broadcast(&q->not_empty) != 0);
    unlock(q);
}

void cs_queue_close(cs_queue *q)
{
    end(q, &q->closed);
}

void cs_queue_cancel(cs_queue *q)
{
    end(q, &q->cancelled);
}

void cs_queue_free(cs_queue *q)
{
    if (q == NULL)
        return;
    for (; q->n > 0; q->n--, q->head = (q->head + 1) % q->cap)
        if (q->drop != NULL)
            q->drop(q->ring[q->head].item);
    CS_BUG(pthread_cond_destroy(&q->not_empty) != 0);
    CS_BUG(pthread_cond_destroy(&q->not_full) != 0);
    CS_BUG(pthread_mutex_destroy(&q->lock) != 0);
    free(q->ring);
    free(q);
}

cs_queue_stat cs_queue_stats(cs_queue *q)
{
    cs_queue_stat s;

    lock(q);
    s = q->stat;
    unlock(q);
    return s;
}

double cs_queue_waited(void)
{
    return waited_s;
}

/*
 * pipe.c - stages on threads.
 *
 * DESIGN
 * The pipe owns the queues, one mutex and two conditions: `ended` wakes cs_pipe_run() when a stage
 * returns, `zero` wakes threads that wait for a count of zero. They cannot belong to the chunk
 * that holds the count, because the waiter frees the chunk as soon as it sees the zero, which may
 * be before the other thread has left pthread_cond_broadcast().
 *
 * The first failing stage determines the error. A CS_ECANCEL after a cancel is a consequence and
 * ignored; a first one (the reader of our output has closed it) is an error like any other.
 */
#include "base/pipe.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"

enum { POLL_NS = 100 * 1000 * 1000, MESSAGE_BYTES = 2048 };

/* Of timed waits; macOS has no other. */
#ifdef __APPLE__
#define WAIT_CLOCK CLOCK_REALTIME
#else
#define WAIT_CLOCK CLOCK_MONOTONIC
#endif

struct named_queue {
    const char *name;
    cs_queue *queue;
};

struct kept {
    void *item;
    void (*drop)(void *item);
};

struct worker {
    cs_pipe *pipe;
    const cs_stage *stage;
    const char *name;            /* outlives `stage`, which is the caller's */
    pthread_t thread;
    bool ended;
    double ran_s, waited_s;
};

/* Everything but the queues themselves is guarded by `lock`; `queue` and `n_queue` do not change
 * while stages run. */
struct cs_pipe {
    pthread_mutex_t lock;
    pthread_cond_t ended, zero;
    struct named_queue *queue;
    size_t n_queue, cap_queue;
    struct kept *kept;
    size_t n_kept, cap_kept;
    struct worker *worker;
    cs_budget *budget;           /* or NULL */
    int n_worker, n_running;
    bool cancelled, echoed;      /* echoed: a stage returned CS_ECANCEL because of `cancelled` */
    int rc;                      /* of the first failing stage; since then waits are cancelled */
    char message[MESSAGE_BYTES];
};

static _Thread_local double zero_wait_s;

static void lock(cs_pipe *p)
{
    CS_BUG(pthread_mutex_lock(&p->lock) != 0);
}

static void unlock(cs_pipe *p)
{
    CS_BUG(pthread_mutex_unlock(&p->lock) != 0);
}

cs_pipe *cs_pipe_new(void)
{
    cs_pipe *p = cs_xcalloc(1, sizeof *p);
    pthread_condattr_t of_wait;

    CS_BUG(pthread_mutex_init(&p->lock, NULL) != 0);
    CS_BUG(pthread_cond_init(&p->zero, NULL) != 0);
    CS_BUG(pthread_condattr_init(&of_wait) != 0);
#ifndef __APPLE__
    CS_BUG(pthread_condattr_setclock(&of_wait, WAIT_CLOCK) != 0);
#endif
    CS_BUG(pthread_cond_init(&p->ended, &of_wait) != 0);
    CS_BUG(pthread_condattr_destroy(&of_wait) != 0);
    return p;
}

void cs_pipe_limit(cs_pipe *p, int n)
{
    CS_BUG(p->budget != NULL || p->worker != NULL);
    p->budget = cs_budget_new(n);
}

int cs_pipe_share(cs_pipe *p)
{
    CS_BUG(p->budget == NULL);
    return cs_budget_share(p->budget);
}

void cs_pipe_free(cs_pipe *p)
{
    if (p == NULL)
        return;
    CS_BUG(p->n_running > 0);
    for (size_t i = 0; i < p->n_queue; i++)
        cs_queue_free(p->queue[i].queue);
    for (size_t i = 0; i < p->n_kept; i++)
        p->kept[i].drop(p->kept[i].item);
    CS_BUG(pthread_cond_destroy(&p->zero) != 0);
    CS_BUG(pthread_cond_destroy(&p->ended) != 0);
    CS_BUG(pthread_mutex_destroy(&p->lock) != 0);
    cs_budget_free(p->budget);
    CS_FREE(p->queue, p->kept, p->worker, p);
}

/* A few rows at most, so cs_xmalloc() suffices. */
static void *space_for_one(void *rows, size_t n, size_t *cap, size_t size)
{
    if (n < *cap)
        return rows;
    *cap = *cap ? 2 * *cap : 8;
    return cs_xrealloc(rows, *cap * size);
}

cs_queue *cs_pipe_queue(cs_pipe *p, const char *name, int cap, size_t cap_bytes,
                        size_t (*bytes)(const void *item), void (*drop)(void *item))
{
    cs_queue *q = cs_queue_new(cap, cap_bytes, bytes, drop);

    p->queue = space_for_one(p->queue, p->n_queue, &p->cap_queue, sizeof *p->queue);
    p->queue[p->n_queue++] = (struct named_queue){ name, q };
    return q;
}

void cs_pipe_keep(cs_pipe *p, void *item, void (*drop)(void *item))
{
    lock(p);
    p->kept = space_for_one(p->kept, p->n_kept, &p->cap_kept, sizeof *p->kept);
    p->kept[p->n_kept++] = (struct kept){ item, drop };
    unlock(p);
}

void cs_pipe_cancel(cs_pipe *p)
{
    lock(p);
    p->cancelled = true;
    CS_BUG(pthread_cond_broadcast(&p->zero) != 0);
    unlock(p);
    for (size_t i = 0; i < p->n_queue; i++)
        cs_queue_cancel(p->queue[i].queue);
}

/* Note under the lock that a stage has returned rc, and its message if it is the first failure. */
static void note_result(cs_pipe *p, const char *name, int rc)
{
    if (rc >= 0)
        return;
    if (rc == CS_ECANCEL && p->cancelled) {
        p->echoed = true;
    } else if (p->rc == CS_OK) {
        const char *why = cs_error_message();
        p->rc = rc;
        cs_waits_cancel();
        if (why[0] != '\0')
            (void)snprintf(p->message, sizeof p->message, "%s", why);
        else if (rc != CS_ECANCEL)
            (void)snprintf(p->message, sizeof p->message, "%s in stage '%s'", cs_error_name(rc),
                           name);
    }
}

static bool pushes_to(const cs_stage *s, const cs_queue *q)
{
    return s->out == q || s->out2 == q;
}

/* Close q unless another stage still pushes to it. */
static void close_if_last(cs_pipe *p, cs_queue *q)
{
    if (q == NULL)
        return;
    for (int i = 0; i < p->n_worker; i++)
        if (!p->worker[i].ended && pushes_to(p->worker[i].stage, q))
            return;
    cs_queue_close(q);
}

static void *run_stage(void *arg)
{
    struct worker *w = arg;
    cs_pipe *p = w->pipe;
    const cs_stage *s = w->stage;
    double start = cs_now_s();
    cs_budget_enter(p->budget);
    int rc = s->run(s->self, s->in, s->out);
    (void)cs_budget_leave();

    if (rc < 0) {
        lock(p);
        note_result(p, s->name, rc);
        unlock(p);
        cs_pipe_cancel(p);
    }
    lock(p);
    w->ran_s = cs_now_s() - start;
    w->waited_s = cs_queue_waited() + zero_wait_s + cs_budget_waited();
    w->ended = true;
    close_if_last(p, s->out);
    close_if_last(p, s->out2);
    p->n_running--;
    CS_BUG(pthread_cond_broadcast(&p->ended) != 0);
    unlock(p);
    return NULL;
}

/* Start the stages; on failure the started ones, p->n_worker, are cancelled. */
static int start_all(cs_pipe *p, const cs_stage *stage, int n)
{
    int rc = 0;

    lock(p);
    p->worker = cs_xcalloc((size_t)n, sizeof *p->worker);
    p->n_worker = n;
    for (int i = 0; i < n; i++)
        p->worker[i] = (struct worker){ .pipe = p, .stage = &stage[i], .name = stage[i].name };
    int i = 0;
    for (; i < n; i++) {
        if ((rc = pthread_create(&p->worker[i].thread, NULL, run_stage, &p->worker[i])) != 0)
            break;
        p->n_running++;
    }
    p->n_worker = i;
    if (rc != 0) {
        if (p->rc == CS_OK)
            cs_waits_cancel();
        p->rc = CS_EMEM;
        (void)snprintf(p->message, sizeof p->message, "cannot start a thread for stage '%s': %s; "
                       "give more memory, or ask for fewer threads", stage[i].name, strerror(rc));
    }
    unlock(p);
    if (rc != 0)
        cs_pipe_cancel(p);
    return i;
}

static void wait_all(cs_pipe *p)
{
    bool warned = false;

    lock(p);
    while (p->n_running > 0) {
        struct timespec t;
        (void)clock_gettime(WAIT_CLOCK, &t);
        t.tv_nsec += POLL_NS;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&p->ended, &p->lock, &t);
        if (cs_signal_caught() != 0 && !warned) {
            unlock(p);
            cs_pipe_cancel(p);
            warned = true;
            lock(p);
        }
    }
    unlock(p);
}

int cs_pipe_run(cs_pipe *p, const cs_stage *stage, int n)
{
    CS_BUG(n < 1 || p->worker != NULL);
    int n_started = start_all(p, stage, n);

    wait_all(p);
    for (int i = 0; i < n_started; i++)
        CS_BUG(pthread_join(p->worker[i].thread, NULL) != 0);
    if (p->rc != CS_OK)
        cs_waits_allow();
    if (p->rc == CS_OK)
        return p->echoed || cs_signal_caught() != 0 ? CS_ECANCEL : CS_OK;
    return p->message[0] != '\0' ? cs_fail(p->rc, "%s", p->message) : p->rc;
}

void cs_pipe_count_down(cs_pipe *p, atomic_int *pending, int n)
{
    int before = atomic_fetch_sub(pending, n);

    CS_BUG(before < n);
    if (before > n)
        return;
    lock(p);
    CS_BUG(pthread_cond_broadcast(&p->zero) != 0);
    unlock(p);
}

int cs_pipe_wait_zero(cs_pipe *p, atomic_int *pending)
{
    if (atomic_load(pending) == 0)
        return CS_OK;
    double start = cs_now_s();
    cs_budget *budget = cs_budget_leave();
    lock(p);
    while (atomic_load(pending) != 0 && !p->cancelled)
        CS_BUG(pthread_cond_wait(&p->zero, &p->lock) != 0);
    unlock(p);
    zero_wait_s += cs_now_s() - start;
    cs_budget_enter(budget);
    return atomic_load(pending) == 0 ? CS_OK : CS_ECANCEL;
}

void cs_pipe_report(const cs_pipe *p)
{
    for (int i = 0; i < p->n_worker; i++) {
        const struct worker *w = &p->worker[i];
        cs_info("stage %s: %.2f s, of which %.2f s waiting", w->name, w->ran_s, w->waited_s);
    }
    for (size_t i = 0; i < p->n_queue; i++) {
        cs_queue_stat s = cs_queue_stats(p->queue[i].queue);
        cs_info("queue %s: %llu items, full %llu times (%.2f s), empty %llu times (%.2f s), "
                "peak %.1f MB", p->queue[i].name, (unsigned long long)s.n_push,
                (unsigned long long)s.n_full, s.full_s, (unsigned long long)s.n_empty, s.empty_s,
                (double)s.peak_bytes * 1e-6);
    }
}

static void pipe_append(char *buf, size_t n_buf, const char *fmt, ...) CS_PRINTF(3, 4);

static void pipe_append(char *buf, size_t n_buf, const char *fmt, ...)
{
    const size_t n = strlen(buf);
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(buf + n, n_buf - n, fmt, ap);
    va_end(ap);
}

void cs_pipe_summary(const cs_pipe *p, char *buf, size_t n_buf)
{
    buf[0] = '\0';
    for (int i = 0, next; i < p->n_worker; i = next) {
        const char *name = p->worker[i].name;
        double busy = 0;
        for (next = i; next < p->n_worker && strcmp(p->worker[next].name, name) == 0; next++)
            busy += p->worker[next].ran_s - p->worker[next].waited_s;
        pipe_append(buf, n_buf, "%s%s %.2f s", i ? ", " : "busy ", name, busy);
    }
    for (size_t i = 0; i < p->n_queue; i++) {
        const cs_queue_stat s = cs_queue_stats(p->queue[i].queue);
        pipe_append(buf, n_buf, "%s%s %.2f s full, %.2f s empty", i ? ", " : "; waits ",
                    p->queue[i].name, s.full_s, s.empty_s);
    }
}

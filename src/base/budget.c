/*
 * budget.c - thread budget, shared by stages and their parallel loops.
 *
 * DESIGN
 * A counting semaphore. Holders release it while they wait for something else, so waiting stages
 * cost nothing, and --threads 1 runs one thread at a time. A stage with parallel loops requests
 * their number of threads. It is computed from the time average of working threads: the count at
 * the moment of the request would be biased, because the caller has just freed space in a queue and
 * woken others briefly.
 */
#include "base/budget.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"

static const double blend = 0.25;              /* weight of the interval since the last call */

/* Invariant: 0 <= n_inside <= n; worked is the integral of n_inside up to `since`. */
struct cs_budget {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    int n, n_inside;
    double worked, since;
    double asked, asked_worked;  /* time of the last cs_budget_share(), and `worked` then */
    double others;               /* mean number of others at work */
};

static _Thread_local cs_budget *mine;
static _Thread_local double waited_s;

static void lock(cs_budget *b)
{
    CS_BUG(pthread_mutex_lock(&b->lock) != 0);
}

static void unlock(cs_budget *b)
{
    CS_BUG(pthread_mutex_unlock(&b->lock) != 0);
}

cs_budget *cs_budget_new(int n)
{
    cs_budget *b = cs_xcalloc(1, sizeof *b);

    CS_BUG(n < 1);
    b->n = n;
    b->since = b->asked = cs_now_s();
    CS_BUG(pthread_mutex_init(&b->lock, NULL) != 0);
    CS_BUG(pthread_cond_init(&b->freed, NULL) != 0);
    return b;
}

void cs_budget_free(cs_budget *b)
{
    if (b == NULL)
        return;
    CS_BUG(b->n_inside > 0);
    CS_BUG(pthread_cond_destroy(&b->freed) != 0);
    CS_BUG(pthread_mutex_destroy(&b->lock) != 0);
    free(b);
}

/* Update the integral. */
static double account(cs_budget *b)
{
    const double now = cs_now_s();

    b->worked += b->n_inside * (now - b->since);
    b->since = now;
    return now;
}

void cs_budget_enter(cs_budget *b)
{
    if (b == NULL)
        return;
    CS_BUG(mine != NULL);
    lock(b);
    if (b->n_inside == b->n) {
        const double start = cs_now_s();
        while (b->n_inside == b->n)
            CS_BUG(pthread_cond_wait(&b->freed, &b->lock) != 0);
        waited_s += cs_now_s() - start;
    }
    (void)account(b);
    b->n_inside++;
    unlock(b);
    mine = b;
}

cs_budget *cs_budget_leave(void)
{
    cs_budget *b = mine;

    if (b == NULL)
        return NULL;
    lock(b);
    (void)account(b);
    b->n_inside--;
    CS_BUG(pthread_cond_signal(&b->freed) != 0);
    unlock(b);
    mine = NULL;
    return b;
}

int cs_budget_share(cs_budget *b)
{
    lock(b);
    const double now = account(b), dt = now - b->asked;
    if (dt > 0) {
        const double others = (b->worked - b->asked_worked) / dt - 1;
        b->others += blend * ((others > 0 ? others : 0) - b->others);
    }
    b->asked = now;
    b->asked_worked = b->worked;
    const int n = b->n - (int)(b->others + 0.5);
    unlock(b);
    return n > 1 ? n : 1;
}

double cs_budget_waited(void)
{
    return waited_s;
}

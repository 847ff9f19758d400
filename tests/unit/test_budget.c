/* test_budget.c - never more working threads than the budget, and the rest for loops. */
#include "tests/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/budget.h"

enum { THREADS = 6, ROUNDS = 2000 };

struct shared {
    cs_budget *budget;
    atomic_int n_inside, max, n_done, stop;
    int        limit;
};

static void work(struct shared *s)
{
    const int n = atomic_fetch_add(&s->n_inside, 1) + 1;
    int max = atomic_load(&s->max);

    while (n > max && !atomic_compare_exchange_weak(&s->max, &max, n))
        continue;
    atomic_fetch_sub(&s->n_inside, 1);
}

static void *enter_and_leave(void *arg)
{
    struct shared *s = arg;

    cs_budget_enter(s->budget);
    for (int i = 0; i < ROUNDS; i++) {
        work(s);
        cs_budget *b = cs_budget_leave();
        if (b != s->budget)
            return NULL;
        cs_budget_enter(b);
    }
    (void)cs_budget_leave();
    atomic_fetch_add(&s->n_done, 1);
    return NULL;
}

static void test_limit(void **state)
{
    (void)state;
    for (int limit = 1; limit <= THREADS; limit++) {
        struct shared s = { .budget = cs_budget_new(limit), .limit = limit };
        pthread_t t[THREADS];
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&t[i], NULL, enter_and_leave, &s), 0);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_join(t[i], NULL), 0);
        assert_int_equal(atomic_load(&s.n_done), THREADS);
        assert_true(atomic_load(&s.max) >= 1 && atomic_load(&s.max) <= limit);
        cs_budget_free(s.budget);
    }
}

static void test_outside(void **state)
{
    (void)state;
    assert_null(cs_budget_leave());
    cs_budget_enter(NULL);
    assert_null(cs_budget_leave());
    cs_budget_free(NULL);
}

static void *hold_until_stop(void *arg)
{
    struct shared *s = arg;

    cs_budget_enter(s->budget);
    atomic_store(&s->n_inside, 1);
    while (!atomic_load(&s->stop))
        (void)usleep(100);
    (void)cs_budget_leave();
    return NULL;
}

static int share_after_calls(cs_budget *b, int n_call)
{
    int n = 0;

    for (int i = 0; i < n_call; i++) {
        (void)usleep(500);
        n = cs_budget_share(b);
    }
    return n;
}

/* The whole budget when alone, one less while another thread works; at least 1. */
static void test_share(void **state)
{
    enum { CALLS = 60 };

    (void)state;
    for (int limit = 2; limit <= 4; limit += 2) {
        struct shared s = { .budget = cs_budget_new(limit) };
        pthread_t t;
        cs_budget_enter(s.budget);
        assert_int_equal(share_after_calls(s.budget, 3), limit);
        assert_int_equal(pthread_create(&t, NULL, hold_until_stop, &s), 0);
        while (!atomic_load(&s.n_inside))
            (void)usleep(100);
        assert_int_equal(share_after_calls(s.budget, CALLS), limit - 1);
        atomic_store(&s.stop, 1);
        assert_int_equal(pthread_join(t, NULL), 0);
        assert_int_equal(share_after_calls(s.budget, CALLS), limit);
        (void)cs_budget_leave();
        cs_budget_free(s.budget);
    }
    struct shared one = { .budget = cs_budget_new(1) };
    cs_budget_enter(one.budget);
    assert_int_equal(share_after_calls(one.budget, 3), 1);
    (void)cs_budget_leave();
    cs_budget_free(one.budget);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_limit), cmocka_unit_test(test_outside), cmocka_unit_test(test_share),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}

/* test_queue.c - the queue: order, both bounds, close, cancel, dropped items. */
#include "tests/check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/queue.h"

static atomic_int n_dropped;

static size_t bytes_of(const void *item)
{
    return *(const size_t *)item;
}

static void drop(void *item)
{
    (void)item;
    atomic_fetch_add(&n_dropped, 1);
}

static int reset(void **state)
{
    (void)state;
    atomic_store(&n_dropped, 0);
    return 0;
}

static void pause_ms(long ms)
{
    const struct timespec t = { 0, ms * 1000000 };

    (void)nanosleep(&t, NULL);
}

/* Returns when this many pushes and pops wait for the queue, or have waited. */
static void await_waits(cs_queue *q, uint64_t n_full, uint64_t n_empty)
{
    for (cs_queue_stat s = cs_queue_stats(q); s.n_full < n_full || s.n_empty < n_empty;
         s = cs_queue_stats(q))
        pause_ms(1);
}

static void order_is_kept(void **state)
{
    cs_queue *q = cs_queue_new(3, 0, NULL, drop);
    int v[100];
    void *got;
    int n_in = 0, n_out = 0;

    (void)state;
    /* Fill levels 1, 2, 3 in turn, so that the ring wraps at every position. */
    for (int round = 0; n_in + 3 <= 100; round++) {
        for (int i = 0; i <= round % 3; i++, n_in++) {
            v[n_in] = n_in;
            assert_int_equal(cs_queue_push(q, &v[n_in]), CS_OK);
        }
        for (; n_out < n_in; n_out++) {
            assert_int_equal(cs_queue_pop(q, &got), CS_OK);
            assert_int_equal(*(int *)got, n_out);
        }
    }
    assert_true(n_out > 90);
    cs_queue_free(q);
}

static void close_drains(void **state)
{
    cs_queue *q = cs_queue_new(4, 0, NULL, drop);
    int a = 1, b = 2;
    void *got = NULL;

    (void)state;
    assert_int_equal(cs_queue_push(q, &a), CS_OK);
    assert_int_equal(cs_queue_push(q, &b), CS_OK);
    cs_queue_close(q);
    cs_queue_close(q);
    assert_int_equal(cs_queue_pop(q, &got), CS_OK);
    assert_ptr_equal(got, &a);
    assert_int_equal(cs_queue_pop(q, &got), CS_OK);
    assert_int_equal(cs_queue_pop(q, &got), CS_EOF);
    assert_int_equal(cs_queue_pop(q, &got), CS_EOF);
    assert_ptr_equal(got, &b);                  /* not touched at the end */
    cs_queue_free(q);
    assert_int_equal(atomic_load(&n_dropped), 0);
}

static void cancel_has_priority(void **state)
{
    cs_queue *q = cs_queue_new(4, 0, NULL, drop);
    int a = 1;
    void *got = NULL;

    (void)state;
    assert_int_equal(cs_queue_push(q, &a), CS_OK);
    assert_int_equal(cs_queue_push(q, &a), CS_OK);
    cs_queue_close(q);
    cs_queue_cancel(q);
    assert_int_equal(cs_queue_pop(q, &got), CS_ECANCEL);
    assert_int_equal(cs_queue_push(q, &a), CS_ECANCEL);
    assert_null(got);
    assert_int_equal(atomic_load(&n_dropped), 0);
    cs_queue_free(q);
    assert_int_equal(atomic_load(&n_dropped), 2);
    cs_queue_free(NULL);
}

static void push_closed(void *arg)
{
    int a = 1;

    cs_queue_close(arg);
    (void)!cs_queue_push(arg, &a);
}

static void no_space(void *arg)
{
    (void)arg;
    cs_queue_free(cs_queue_new(0, 0, NULL, NULL));
}

static void misuse_is_a_bug(void **state)
{
    cs_queue *q = cs_queue_new(4, 0, NULL, NULL);

    (void)state;
    assert_true(check_aborts(push_closed, q));
    assert_true(check_aborts(no_space, NULL));
    cs_queue_free(q);
}

struct pusher {
    cs_queue *q;
    void *item;
    atomic_int rc;                              /* 99 while it has not returned */
};

static void *push_one(void *arg)
{
    struct pusher *p = arg;

    atomic_store(&p->rc, cs_queue_push(p->q, p->item));
    return NULL;
}

static void byte_bound(void **state)
{
    cs_queue *q = cs_queue_new(10, 100, bytes_of, drop);
    size_t huge = 1000, small = 60, other = 40, tiny = 1;
    struct pusher p = { q, &tiny, 99 };
    pthread_t t;
    void *got;

    (void)state;
    assert_int_equal(cs_queue_push(q, &huge), CS_OK);       /* accepted: the queue was empty */
    assert_int_equal(cs_queue_pop(q, &got), CS_OK);
    assert_int_equal(cs_queue_push(q, &small), CS_OK);
    assert_int_equal(cs_queue_push(q, &other), CS_OK);      /* exactly full */
    assert_int_equal(pthread_create(&t, NULL, push_one, &p), 0);
    await_waits(q, 1, 0);
    pause_ms(30);
    assert_int_equal(atomic_load(&p.rc), 99);               /* one byte too many: it waits */
    small = 7;                                              /* the taker may change an item */
    assert_int_equal(cs_queue_pop(q, &got), CS_OK);
    assert_int_equal(pthread_join(t, NULL), 0);
    assert_int_equal(atomic_load(&p.rc), CS_OK);
    cs_queue_stat s = cs_queue_stats(q);
    assert_int_equal(s.n_push, 4);
    assert_int_equal(s.n_full, 1);
    assert_int_equal(s.peak_bytes, 1000);
    check_below(0.02, s.full_s);
    cs_queue_free(q);
    assert_int_equal(atomic_load(&n_dropped), 2);
}

static void huge_item_waits_for_empty(void **state)
{
    cs_queue *q = cs_queue_new(10, 100, bytes_of, NULL);
    size_t huge = SIZE_MAX, small = 1;
    struct pusher p = { q, &huge, 99 };
    pthread_t t;
    void *got;

    (void)state;
    assert_int_equal(cs_queue_push(q, &small), CS_OK);
    assert_int_equal(pthread_create(&t, NULL, push_one, &p), 0);
    await_waits(q, 1, 0);
    assert_int_equal(atomic_load(&p.rc), 99);
    assert_int_equal(cs_queue_pop(q, &got), CS_OK);
    assert_ptr_equal(got, &small);
    assert_int_equal(cs_queue_pop(q, &got), CS_OK);
    assert_ptr_equal(got, &huge);
    assert_int_equal(pthread_join(t, NULL), 0);
    cs_queue_free(q);
}

static void *pop_one(void *arg)
{
    struct pusher *p = arg;
    void *got;

    atomic_store(&p->rc, cs_queue_pop(p->q, &got));
    return NULL;
}

static void waiters_wake(void **state)
{
    void (*const end[])(cs_queue *) = { cs_queue_close, cs_queue_cancel };
    const int want[] = { CS_EOF, CS_ECANCEL };

    (void)state;
    for (int k = 0; k < 2; k++) {
        cs_queue *q = cs_queue_new(1, 0, NULL, NULL);
        struct pusher p[3];
        pthread_t t[3];
        for (int i = 0; i < 3; i++) {
            p[i].q = q;
            atomic_init(&p[i].rc, 99);
            assert_int_equal(pthread_create(&t[i], NULL, pop_one, &p[i]), 0);
        }
        await_waits(q, 0, 3);
        end[k](q);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(pthread_join(t[i], NULL), 0);
            assert_int_equal(atomic_load(&p[i].rc), want[k]);
        }
        assert_int_equal(cs_queue_stats(q).n_empty, 3);
        cs_queue_free(q);
    }
}

static void full_pusher_wakes_on_cancel(void **state)
{
    cs_queue *q = cs_queue_new(1, 0, NULL, drop);
    int a = 1, b = 2;
    struct pusher p = { q, &b, 99 };
    pthread_t t;

    (void)state;
    assert_int_equal(cs_queue_push(q, &a), CS_OK);
    assert_int_equal(pthread_create(&t, NULL, push_one, &p), 0);
    await_waits(q, 1, 0);
    cs_queue_cancel(q);
    assert_int_equal(pthread_join(t, NULL), 0);
    assert_int_equal(atomic_load(&p.rc), CS_ECANCEL);
    cs_queue_free(q);
    assert_int_equal(atomic_load(&n_dropped), 1);           /* b is still the caller's */
}

enum { N_ITEM = 20000, N_TAKER = 3 };
static int items[N_ITEM];
static atomic_int taken[N_ITEM];

static void *take_all(void *arg)
{
    void *got;
    int rc, last = -1;

    while ((rc = cs_queue_pop(arg, &got)) == CS_OK) {
        int i = *(int *)got;
        atomic_fetch_add(&taken[i], 1);
        if (i <= last)
            return "an item came before an older one";
        last = i;
    }
    return rc == CS_EOF ? NULL : "did not end in CS_EOF";
}

static void many_takers(void **state)
{
    cs_queue *q = cs_queue_new(4, 0, NULL, NULL);
    pthread_t t[N_TAKER];
    void *fault;

    (void)state;
    for (int i = 0; i < N_TAKER; i++)
        assert_int_equal(pthread_create(&t[i], NULL, take_all, q), 0);
    for (int i = 0; i < N_ITEM; i++) {
        items[i] = i;
        assert_int_equal(cs_queue_push(q, &items[i]), CS_OK);
    }
    cs_queue_close(q);
    for (int i = 0; i < N_TAKER; i++) {
        assert_int_equal(pthread_join(t[i], &fault), 0);
        assert_null(fault);
    }
    for (int i = 0; i < N_ITEM; i++)
        assert_int_equal(atomic_load(&taken[i]), 1);
    cs_queue_free(q);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(order_is_kept, reset),
        cmocka_unit_test_setup(close_drains, reset),
        cmocka_unit_test_setup(cancel_has_priority, reset),
        cmocka_unit_test_setup(misuse_is_a_bug, reset),
        cmocka_unit_test_setup(byte_bound, reset),
        cmocka_unit_test_setup(huge_item_waits_for_empty, reset),
        cmocka_unit_test_setup(waiters_wake, reset),
        cmocka_unit_test_setup(full_pusher_wakes_on_cancel, reset),
        cmocka_unit_test_setup(many_takers, reset),
    };

    (void)alarm(120);            /* a hang is a failure */
    return cmocka_run_group_tests(test, NULL, NULL);
}

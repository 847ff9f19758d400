/* test_pipe.c - the pipe: results, errors and their messages, cancel, counting down, keeping. */
#include "tests/check.h"

#include <stdatomic.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/pipe.h"
#include "base/signals.h"

static atomic_int n_live;        /* items made and not yet freed */

static int *item_new(int v)
{
    int *p = cs_xmalloc(sizeof *p);

    *p = v;
    atomic_fetch_add(&n_live, 1);
    return p;
}

static void item_drop(void *p)
{
    atomic_fetch_sub(&n_live, 1);
    free(p);
}

static int reset(void **state)
{
    (void)state;
    cs_error_clear();
    atomic_store(&n_live, 0);
    return 0;
}

/* A stage that gives n items; at item `fail_at` it fails with `rc`. */
struct source {
    int n, fail_at, rc;
    const char *message;
};

static int run_source(void *self, cs_queue *in, cs_queue *out)
{
    const struct source *s = self;
    int rc = CS_OK;

    (void)in;
    for (int i = 0; i < s->n; i++) {
        if (i == s->fail_at)
            return s->message != NULL ? cs_fail(s->rc, "%s", s->message) : s->rc;
        int *p = item_new(i);
        if ((rc = cs_queue_push(out, p)) != CS_OK) {
            item_drop(p);
            return rc;
        }
    }
    return CS_OK;
}

static int run_pass(void *self, cs_queue *in, cs_queue *out)
{
    void *p;
    int rc = CS_OK;

    (void)self;
    for (;;) {
        CS_TRY(cs_queue_pop(in, &p));
        if ((rc = cs_queue_push(out, p)) != CS_OK) {
            item_drop(p);
            return rc;
        }
    }
out:
    return rc;                   /* CS_EOF at the end, which counts as success */
}

struct sink {
    int64_t n, sum;
    int fail_at;
};

static int run_sink(void *self, cs_queue *in, cs_queue *out)
{
    struct sink *s = self;
    void *p;
    int rc;

    (void)out;
    while ((rc = cs_queue_pop(in, &p)) == CS_OK) {
        s->sum += *(int *)p;
        item_drop(p);
        if (++s->n == s->fail_at)
            return cs_fail(CS_EIO, "the sink is full");
    }
    return rc == CS_EOF ? CS_OK : rc;
}

static int run_three(struct source *src, struct sink *snk)
{
    cs_pipe *p = cs_pipe_new();
    cs_queue *a = cs_pipe_queue(p, "a", 2, 0, NULL, item_drop);
    cs_queue *b = cs_pipe_queue(p, "b", 2, 0, NULL, item_drop);
    const cs_stage stage[] = {
        { .name = "source", .run = run_source, .self = src, .out = a },
        { .name = "pass", .run = run_pass, .in = a, .out = b },
        { .name = "sink", .run = run_sink, .self = snk, .in = b },
    };
    int rc = cs_pipe_run(p, stage, 3);

    cs_pipe_free(p);
    assert_int_equal(atomic_load(&n_live), 0);
    return rc;
}

static void all_items_arrive(void **state)
{
    struct source src = { .n = 1000, .fail_at = -1 };
    struct sink snk = { 0 };

    (void)state;
    assert_int_equal(run_three(&src, &snk), CS_OK);
    assert_int_equal(snk.n, 1000);
    assert_int_equal(snk.sum, 999 * 1000 / 2);
    assert_string_equal(cs_error_message(), "");
}

static void message_moves_to_the_caller(void **state)
{
    struct source src = { 1000, 500, CS_EFORMAT, "'a.fq' line 7: no quality" };
    struct sink snk = { 0 };

    (void)state;
    assert_int_equal(run_three(&src, &snk), CS_EFORMAT);
    assert_string_equal(cs_error_message(), "'a.fq' line 7: no quality");
    assert_true(snk.n <= 500);
}

static void last_stage_stops_the_first(void **state)
{
    struct source src = { .n = INT32_MAX, .fail_at = -1 };
    struct sink snk = { .fail_at = 10 };

    (void)state;
    assert_int_equal(run_three(&src, &snk), CS_EIO);
    assert_string_equal(cs_error_message(), "the sink is full");
    assert_int_equal(snk.n, 10);
}

static void error_without_message(void **state)
{
    struct source src = { 10, 5, CS_EMEM, NULL }, gone = { 10, 5, CS_ECANCEL, NULL };
    struct sink snk = { 0 };

    (void)state;
    assert_int_equal(run_three(&src, &snk), CS_EMEM);
    assert_string_equal(cs_error_message(), "out of memory in stage 'source'");
    cs_error_clear();
    assert_int_equal(run_three(&gone, &snk), CS_ECANCEL);
    assert_string_equal(cs_error_message(), "");    /* the reader of a pipe has closed it: no
                                                     * message */
}

static void two_sources_close_once(void **state)
{
    struct source few = { .n = 3, .fail_at = -1 }, many = { .n = 5000, .fail_at = -1 };
    struct sink one = { 0 }, two = { 0 };
    cs_pipe *p = cs_pipe_new();
    cs_queue *q = cs_pipe_queue(p, "q", 3, 0, NULL, item_drop);
    const cs_stage stage[] = {
        { .name = "few", .run = run_source, .self = &few, .out = q },
        { .name = "many", .run = run_source, .self = &many, .out = q },
        { .name = "one", .run = run_sink, .self = &one, .in = q },
        { .name = "two", .run = run_sink, .self = &two, .in = q },
    };

    (void)state;
    assert_int_equal(cs_pipe_run(p, stage, 4), CS_OK);
    assert_int_equal(one.n + two.n, 5003);
    cs_pipe_free(p);
    assert_int_equal(atomic_load(&n_live), 0);
}

/* A bucket-like stage: every item goes to out, and a copy of it to the second output. */
static int run_tee(void *self, cs_queue *in, cs_queue *out)
{
    void *p;
    int rc;

    while ((rc = cs_queue_pop(in, &p)) == CS_OK) {
        int *copy = item_new(*(int *)p);
        if ((rc = cs_queue_push(self, copy)) != CS_OK) {
            item_drop(copy);
            item_drop(p);
            return rc;
        }
        if ((rc = cs_queue_push(out, p)) != CS_OK) {
            item_drop(p);
            return rc;
        }
    }
    return rc == CS_EOF ? CS_OK : rc;
}

static void second_output_is_closed(void **state)
{
    struct source src = { .n = 100, .fail_at = -1 };
    struct sink one = { 0 }, two = { 0 };
    cs_pipe *p = cs_pipe_new();
    cs_queue *a = cs_pipe_queue(p, "a", 2, 0, NULL, item_drop);
    cs_queue *b = cs_pipe_queue(p, "b", 2, 0, NULL, item_drop);
    cs_queue *c = cs_pipe_queue(p, "c", 2, 0, NULL, item_drop);
    const cs_stage stage[] = {
        { .name = "source", .run = run_source, .self = &src, .out = a },
        { .name = "tee", .run = run_tee, .self = c, .in = a, .out = b, .out2 = c },
        { .name = "one", .run = run_sink, .self = &one, .in = b },
        { .name = "two", .run = run_sink, .self = &two, .in = c },
    };

    (void)state;
    assert_int_equal(cs_pipe_run(p, stage, 4), CS_OK);
    assert_int_equal(one.n, 100);
    assert_int_equal(two.n, 100);
    cs_pipe_free(p);
    assert_int_equal(atomic_load(&n_live), 0);
}

struct waiting {
    cs_pipe *pipe;
    atomic_int pending;
    int rc;
};

static int run_waiter(void *self, cs_queue *in, cs_queue *out)
{
    struct waiting *w = self;

    (void)in;
    (void)out;
    w->rc = cs_pipe_wait_zero(w->pipe, &w->pending);
    if (w->rc == CS_ECANCEL)
        cs_pipe_keep(w->pipe, item_new(0), item_drop);
    return w->rc;
}

static int run_counter(void *self, cs_queue *in, cs_queue *out)
{
    struct waiting *w = self;

    (void)in;
    (void)out;
    for (int i = 0; i < 10; i++)
        cs_pipe_count_down(w->pipe, &w->pending, 10);
    return CS_OK;
}

static int run_canceller(void *self, cs_queue *in, cs_queue *out)
{
    const struct timespec t = { 0, 20000000 };

    (void)in;
    (void)out;
    (void)nanosleep(&t, NULL);
    cs_pipe_cancel(((struct waiting *)self)->pipe);
    return CS_OK;
}

static int run_pair(int (*other)(void *, cs_queue *, cs_queue *), struct waiting *w)
{
    cs_pipe *p = w->pipe = cs_pipe_new();
    const cs_stage stage[] = {
        { .name = "waiter", .run = run_waiter, .self = w },
        { .name = "other", .run = other, .self = w },
    };
    int rc = cs_pipe_run(p, stage, 2);

    cs_pipe_free(p);
    assert_int_equal(atomic_load(&n_live), 0);
    return rc;
}

static void counting_down_wakes(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct waiting w = { .pending = 100 };
        assert_int_equal(run_pair(run_counter, &w), CS_OK);
        assert_int_equal(w.rc, CS_OK);
        assert_int_equal(atomic_load(&w.pending), 0);
    }
}

static void cancel_wakes_stages(void **state)
{
    struct waiting w = { .pending = 1 };

    (void)state;
    assert_int_equal(run_pair(run_canceller, &w), CS_ECANCEL);
    assert_int_equal(w.rc, CS_ECANCEL);
    assert_string_equal(cs_error_message(), "");
}

static void count_below_zero(void *arg)
{
    struct waiting w = { .pending = 1 };

    (void)arg;
    cs_pipe_count_down(cs_pipe_new(), &w.pending, 2);
}

static void misuse_is_a_bug(void **state)
{
    (void)state;
    assert_true(check_aborts(count_below_zero, NULL));
}

static void interrupted(void *arg)
{
    struct waiting w = { .pending = 1 };

    (void)arg;
    cs_signal_init();
    (void)raise(SIGTERM);
    w.pipe = cs_pipe_new();
    const cs_stage stage[] = { { .name = "waiter", .run = run_waiter, .self = &w } };
    int rc = cs_pipe_run(w.pipe, stage, 1);
    cs_pipe_free(w.pipe);
    _exit(rc == CS_ECANCEL && cs_signal_caught() == SIGTERM ? 7 : 1);
}

static void signal_cancels(void **state)
{
    int status = check_status(interrupted, NULL);

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

static void report_prints_times(void **state)
{
    struct source src = { .n = 10, .fail_at = -1 };
    struct sink snk = { 0 };
    cs_pipe *p = cs_pipe_new();
    cs_queue *a = cs_pipe_queue(p, "a", 2, 0, NULL, item_drop);
    const cs_stage stage[] = {
        { .name = "source", .run = run_source, .self = &src, .out = a },
        { .name = "sink", .run = run_sink, .self = &snk, .in = a },
    };

    (void)state;
    assert_int_equal(cs_pipe_run(p, stage, 2), CS_OK);
    cs_log_set_level(CS_LOG_INFO);
    check_stderr c = check_stderr_begin();
    cs_pipe_report(p);
    char *got = check_stderr_end(c);
    cs_log_set_level(CS_LOG_NOTE);
    assert_non_null(strstr(got, "info: stage source: 0."));
    assert_non_null(strstr(got, "info: stage sink: 0."));
    assert_non_null(strstr(got, "info: queue a: 10 items, full "));
    free(got);
    cs_pipe_free(p);
    cs_pipe_free(NULL);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(all_items_arrive, reset),
        cmocka_unit_test_setup(message_moves_to_the_caller, reset),
        cmocka_unit_test_setup(last_stage_stops_the_first, reset),
        cmocka_unit_test_setup(error_without_message, reset),
        cmocka_unit_test_setup(two_sources_close_once, reset),
        cmocka_unit_test_setup(second_output_is_closed, reset),
        cmocka_unit_test_setup(counting_down_wakes, reset),
        cmocka_unit_test_setup(cancel_wakes_stages, reset),
        cmocka_unit_test_setup(misuse_is_a_bug, reset),
        cmocka_unit_test_setup(signal_cancels, reset),
        cmocka_unit_test_setup(report_prints_times, reset),
    };

    (void)alarm(120);            /* a hang is a failure */
    return cmocka_run_group_tests(test, NULL, NULL);
}

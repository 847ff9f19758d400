/* test_parallel.c - ranks that share the batches of a step get the gradients of a single rank.
 *
 * Ranks are threads here, each with its own model, as in processes.
 */
#include "tests/nn/toy.h"

#include <pthread.h>

#include "train/parallel.h"
#include "train/running_stats.h"

enum { N_BATCH = 5, MAX_RANKS = 4 };

#ifdef CS_DOUBLE
static const double tolerance = 1e-14;
#else
static const double tolerance = 1e-6;
#endif

struct rank {
    const toy     *t;
    cs_group      *group;        /* NULL: alone */
    int            no, n;
    cs_real       *grad, *value;
    cs_running_stats    *running;      /* with a group, where batch normalisation has statistics */
    cs_step_report report;
    int            n_touched, rc;
};

/* The batches that fall to a rank, each with the random numbers that are the batch's own. */
static int train(struct rank *r, cs_session *s)
{
    const cs_model *m = s->model;
    static const int64_t len[] = { 9, 16, 12, 10 };
    int rc = CS_OK;

    for (int b = r->no; b < N_BATCH && rc == CS_OK; b += r->n) {
        cs_batch *x = toy_batch(m, len, 1 + b % 4, 7 + (uint64_t)b);
        const cs_step_opt how = { .scale = 0.1, .key = (uint64_t)b };
        double loss = 0;
        rc = cs_session_forward_backward(s, x, &how, &loss, NULL);
        if (rc == CS_OK)
            rc = cs_running_stats_take(r->running, (uint64_t)b);
        r->report.sum.loss += loss;
        r->report.sum.n_token += x->n_tok;
        cs_batch_free(x);
    }
    return rc;
}

static void *run(void *arg)
{
    int rc = CS_OK;
    struct rank *r = arg;
    cs_backend *be = NULL;
    cs_parallel *p = NULL;
    cs_session *s = NULL;

    CS_TRY(cs_backend_open("cpu", 1, &be));
    s = toy_session(r->t, be);
    cs_model *m = s->model;
    if (r->group != NULL) {
        CS_TRY(cs_parallel_new(r->group, &m->ps, &p));
        CS_TRY(cs_running_stats_new(&m->ps, r->group, &r->running));
    }
    CS_TRY(train(r, s));
    r->report.pause = r->no == 1;
    r->report.seconds = 1 + r->no;
    r->report.epoch_seconds = 10 + r->no;
    if (p != NULL)
        CS_TRY(cs_parallel_step(p, &r->report));
    CS_TRY(cs_running_stats_settle(r->running));
    r->value = toy_slab(m, m->ps.value);
    r->grad = toy_slab(m, m->ps.grad);
    for (int i = 0; i < m->ps.n; i++)
        r->n_touched += m->ps.p[i].touched;
out:
    r->rc = rc;
    cs_group_finalize(r->group, rc);
    cs_parallel_free(p);
    cs_running_stats_free(r->running);
    toy_free(s);
    cs_backend_close(be);
    return NULL;
}

static void run_all(const toy *t, int n, struct rank *r)
{
    pthread_t thread[MAX_RANKS];
    cs_group *g[MAX_RANKS] = { NULL };

    if (n > 1)
        assert_int_equal(cs_group_of_threads(n, 60, g), CS_OK);
    for (int i = 0; i < n; i++) {
        r[i] = (struct rank){ .t = t, .group = g[i], .no = i, .n = n };
        assert_int_equal(pthread_create(&thread[i], NULL, run, &r[i]), 0);
    }
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(r[i].rc, CS_OK);
}

static void release(struct rank *r, int n)
{
    for (int i = 0; i < n; i++) {
        free(r[i].grad);
        free(r[i].value);
    }
}

static void compare(const toy *t, const struct rank *one, int n, int64_t n_real)
{
    struct rank r[MAX_RANKS];

    run_all(t, n, r);
    for (int i = 0; i < n; i++) {
        const double off = sqrt(toy_nmse(r[i].grad, one->grad, n_real));
        if (!(off <= tolerance))
            fail_msg("%s: %d ranks have gradients %g off", t->enc->name, n, off);
        const cs_step_report *own = &r[i].report;
        check_near(own->sum.loss, one->report.sum.loss, tolerance * fabs(one->report.sum.loss));
        assert_int_equal(own->sum.n_token, one->report.sum.n_token);
        assert_true(own->pause && own->seconds == 1 && own->epoch_seconds == 10);
        assert_int_equal(r[i].n_touched, one->n_touched);
        assert_memory_equal(r[i].grad, r[0].grad, (size_t)n_real * sizeof *r[0].grad);
    }
    release(r, n);
}

static void gradients_equal_single_rank(void **state)
{
    (void)state;
    cs_backend *be;
    toy t = { .head = cs_head_find("class"), .training = true,
              .name = "dropout", .value = "0.2" };

    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    for (int e = 0; (t.enc = cs_encoder_at(e)) != NULL; e++) {
        struct rank one;
        cs_model *m = toy_model(&t, be);
        const int64_t n_real = m->ps.n_real;
        cs_model_free(m);
        run_all(&t, 1, &one);
        assert_true(one.n_touched > 0);
        for (int n = 2; n <= MAX_RANKS; n++)
            compare(&t, &one, n, n_real);
        release(&one, 1);
    }
    cs_backend_close(be);
}

/* Running statistics follow the order of batches, whichever rank trains on them (such as 0 3, 1 4,
 * 2). Without an optimiser step, only they have changed. */
static void running_statistics_equal_single_rank(void **state)
{
    (void)state;
    const toy t = { .enc = cs_encoder_find("cdil"), .head = cs_head_find("class"),
                    .training = true, .name = "norm", .value = "batch" };
    struct rank one, r[MAX_RANKS];
    cs_backend *be;

    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    cs_model *m = toy_model(&t, be);
    const int64_t n_real = m->ps.n_real;
    cs_real *before = toy_slab(m, m->ps.value);
    run_all(&t, 1, &one);
    assert_true(toy_nmse(one.value, before, n_real) > 1e-6);
    for (int n = 2; n <= MAX_RANKS; n++) {
        run_all(&t, n, r);
        for (int i = 0; i < n; i++) {
            assert_true(sqrt(toy_nmse(r[i].value, one.value, n_real)) <= tolerance);
            assert_memory_equal(r[i].value, r[0].value, (size_t)n_real * sizeof *r[0].value);
        }
        release(r, n);
    }
    release(&one, 1);
    free(before);
    cs_model_free(m);
    cs_backend_close(be);
}

/* If `drifts`, the last bit of one parameter of rank 1 is changed. */
struct drifter { cs_group *group; bool drifts; int rc; char why[256]; };

static void *run_diverging(void *arg)
{
    int rc = CS_OK;
    struct drifter *d = arg;
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .training = true };
    const cs_train_state st = { .step = 7 };
    cs_backend *be = NULL;
    cs_parallel *p = NULL;
    cs_model *m = NULL;

    CS_TRY(cs_backend_open("cpu", 1, &be));
    m = toy_model(&t, be);
    CS_TRY(cs_parallel_new(d->group, &m->ps, &p));
    if (d->drifts && cs_group_rank(d->group) == 1)
        *m->ps.value = (cs_real)nextafterf((float)*m->ps.value, 9);
    rc = cs_parallel_verify(p, &st);
out:
    d->rc = rc;
    (void)snprintf(d->why, sizeof d->why, "%s", cs_error_message());
    cs_group_finalize(d->group, rc);
    cs_error_clear();
    cs_parallel_free(p);
    cs_model_free(m);
    cs_backend_close(be);
    return NULL;
}

static void divergence_is_reported(void **state)
{
    (void)state;

    for (int drifts = 0; drifts < 2; drifts++) {
        struct drifter d[3];
        pthread_t thread[3];
        cs_group *g[3];
        assert_int_equal(cs_group_of_threads(3, 60, g), CS_OK);
        for (int i = 0; i < 3; i++) {
            d[i] = (struct drifter){ .group = g[i], .drifts = drifts != 0 };
            assert_int_equal(pthread_create(&thread[i], NULL, run_diverging, &d[i]), 0);
        }
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_join(thread[i], NULL), 0);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(d[i].rc, drifts == 0 ? CS_OK : i == 0 ? CS_EMODEL : CS_EIO);
            assert_true(drifts == 0 ||
                        strstr(d[i].why, "after step 7 the parameters of rank 1 differ from "
                               "rank 0"));
        }
    }
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(gradients_equal_single_rank),
        cmocka_unit_test(running_statistics_equal_single_rank),
        cmocka_unit_test(divergence_is_reported),
    };

    if (cs_cpu_init() != CS_OK)
        return 2;
    return cmocka_run_group_tests_name("parallel", test, NULL, NULL);
}

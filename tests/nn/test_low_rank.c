/* test_low_rank.c - linear layers as truncated SVDs, for every registered encoder: weights of low
 * rank give the same predictions, are saved and loaded, and train. */
#include <unistd.h>

#include "nn/exec/low_rank.h"
#include "nn/ops/layer.h"
#include "nn/ops/svd.h"
#include "tests/nn/toy.h"

static cs_backend *be;

static const int64_t len[] = { 9, 13, 16 };

/* Every linear layer's weights become a product of two vectors. */
static void flatten(cs_model *m, const cs_low_rank_list *list)
{
    for (int32_t l = 0; l < list->n; l++) {
        const cs_low_rank_layer *k = &list->v[l];
        const int at = cs_params_find(&m->ps, k->name);
        const uint64_t key = cs_rng_key(3, (uint64_t)l);
        assert_true(at >= 0);
        cs_real *w = m->ps.value + m->ps.p[at].off;
        for (int64_t i = 0; i < (int64_t)k->n_out * k->n_in; i++)
            w[i] = (cs_real)(0.5 * cs_rng_normal(key, (uint64_t)(i / k->n_in))
                             * cs_rng_normal(~key, (uint64_t)(i % k->n_in)));
    }
}

static void check_same(const toy *t, cs_model *a, cs_model *b, double max)
{
    cs_session *of_a = cs_session_new(a, be), *of_b = cs_session_new(b, be);
    cs_batch *batch = toy_batch(a, len, 3, 7);
    float *x = toy_outputs(of_a, batch), *y = toy_outputs(of_b, batch);
    for (int64_t i = 0; i < 3 * cs_model_output_len(a, CS_HEAD_PREDICTION, 16); i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= max))
            fail_msg("%s: prediction %d is %g, not %g", t->enc->name, (int)i, (double)y[i],
                     (double)x[i]);
    free(x);
    free(y);
    cs_batch_free(batch);
    cs_session_free(of_a);
    cs_session_free(of_b);
}

/* Loaded to train on: the same predictions to the bit, and both factors get gradients. */
static void check_file(const toy *t, cs_model *low_rank_model)
{
    char path[] = "low_rank.XXXXXX";
    const int fd = mkstemp(path);
    cs_model *m;

    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(cs_model_save(low_rank_model, path), CS_OK);
    if (cs_model_load(path, be, CS_USE_TRAINING, &m) != CS_OK)
        fail_msg("%s: %s", t->enc->name, cs_error_message());
    assert_int_equal(unlink(path), 0);
    check_same(t, low_rank_model, m, 0);
    assert_int_equal(cs_params_low_rank(&m->ps), cs_params_low_rank(&low_rank_model->ps));
    cs_batch *b = toy_batch(m, len, 3, 8);
    cs_session *s = cs_session_new(m, be);
    assert_true(isfinite(toy_train(s, b, CS_KEEP_ALL)));
    /* 16 tokens pass four blocks or factors: the fifth gets no gradient. */
    for (int32_t i = 0; i < m->ps.n; i++)
        if (strstr(m->ps.p[i].name, "weight_") && !strstr(m->ps.p[i].name, ".f.4")
            && !strstr(m->ps.p[i].name, "block.4") && !m->ps.p[i].touched)
            fail_msg("%s: '%s' does not learn", t->enc->name, m->ps.p[i].name);
    cs_batch_free(b);
    toy_free(s);
}

static void check_encoder(const toy *t)
{
    const cs_low_rank_rule one = { .rank = 1 };
    cs_low_rank_list list;
    cs_model *m = toy_model(t, be), *low_rank_model;

    if (cs_model_low_rank(m, &one, &low_rank_model, &list) != CS_OK)
        fail_msg("%s: %s", t->enc->name, cs_error_message());
    assert_true(list.n > 0);
    flatten(m, &list);
    cs_model_free(low_rank_model);
    cs_low_rank_release(&list);
    assert_int_equal(cs_model_low_rank(m, &one, &low_rank_model, &list), CS_OK);
    int32_t n_low_rank = 0;
    for (int32_t l = 0; l < list.n; l++) {
        n_low_rank += list.v[l].rank == 1;
        assert_true(list.v[l].energy > 1 - 1e-9);
        assert_int_equal(list.v[l].rank, list.v[l].n_out + list.v[l].n_in
                         < list.v[l].n_out * list.v[l].n_in);
    }
    assert_int_equal(cs_params_low_rank(&low_rank_model->ps), n_low_rank);
    check_same(t, m, low_rank_model, 1e-4);
    check_file(t, low_rank_model);
    cs_low_rank_release(&list);

    /* Factorising a low-rank model again copies it. */
    cs_model *again;
    assert_int_equal(cs_model_low_rank(low_rank_model, &one, &again, &list), CS_OK);
    assert_int_equal(cs_params_low_rank(&again->ps), n_low_rank);
    check_same(t, low_rank_model, again, 0);
    cs_low_rank_release(&list);
    cs_model_free(again);
    cs_model_free(low_rank_model);
    cs_model_free(m);
}

static void test_encoders(void **state)
{
    const cs_encoder *enc;

    (void)state;
    if (!cs_have_lapack())
        skip();
    for (int i = 0; (enc = cs_encoder_at(i)) != NULL; i++) {
        toy t = { .enc = enc, .head = cs_head_find("class"), .wide = true };
        check_encoder(&t);
        t.real = true;
        check_encoder(&t);
    }
}

/* A larger rank is more accurate; shares and energies give the stated ranks. */
static void test_rules(void **state)
{
    (void)state;
    if (!cs_have_lapack())
        skip();
    const toy t = { .enc = cs_encoder_find("transformer"), .head = cs_head_find("class") };
    cs_model *m = toy_model(&t, be), *low_rank_model;
    cs_low_rank_list list;
    const cs_low_rank_rule rule[] = { { .rank = 2 }, { .share = 0.3 }, { .energy = 0.5 } };

    for (int r = 0; r < 3; r++) {
        assert_int_equal(cs_model_low_rank(m, &rule[r], &low_rank_model, &list), CS_OK);
        for (int32_t l = 0; l < list.n; l++) {
            const cs_low_rank_layer *k = &list.v[l];
            const int32_t side = k->n_out < k->n_in ? k->n_out : k->n_in;
            if (k->rank == 0)
                continue;
            assert_true(k->energy > 0 && k->energy < 1);
            assert_true(r != 0 || k->rank == 2);
            assert_true(r != 1 || k->rank == (int64_t)ceil(0.3 * side));
            assert_true(r != 2 || k->energy >= 0.5);
        }
        cs_low_rank_release(&list);
        cs_model_free(low_rank_model);
    }
    cs_model_free(m);
}

static int setup(void **state)
{
    (void)state;
    return cs_cpu_init() == CS_OK && cs_backend_open("cpu", 1, &be) == CS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    cs_backend_close(be);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoders), cmocka_unit_test(test_rules),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* test_pooling.c - how a head pools the encoder's output: poolings by hand, parts, predictor. */
#include "tests/nn/toy.h"

#include "nn/heads/pooled.h"

static cs_backend *be;

static void refuse_pool(const char *head, const char *pool, const char *message)
{
    cs_pooled_cfg cfg = { 0 };

    cs_opt_defaults((const cs_optset[]){ { cs_pooled_opt, &cfg, NULL }, { 0 } });
    cfg.pool = pool;
    assert_int_equal(cs_head_find(head)->check(&cfg), CS_EUSAGE);
    assert_string_equal(cs_error_message(), message);
    cs_error_clear();
}

static void test_refused_pool(void **state)
{
    static const char *const bad[] = { "", "median", "mean+", "+max", "mean+max+mean", "Max" };
    char message[160];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(message, sizeof message, "--head.pool takes mean, cls, centre, max, lse or "
                 "attention, or several joined by +, not '%s'", bad[i]);
        refuse_pool("class", bad[i], message);
    }
    refuse_pool("token", "max", "--head.pool max needs one prediction per sequence; head token "
                "makes one per token");
}

/* Poolings of the encoder's output by hand. */
static void test_pool_values(void **state)
{
    static const int64_t len[] = { 3, 4 };
    const toy t = { .enc = cs_encoder_find("cdil"), .head = cs_head_find("class") };
    cs_session *s = toy_session(&t, be);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 2, 1);
    cs_pooling p;

    (void)state;
    s->cx.no_mean = true;
    free(toy_outputs(s, b));
    const cs_mat h = s->trace.encoded;
    const cs_seg seg = { .off = b->off, .n = 2, .rows = 7, .depth = b->depth };
    assert_int_equal(cs_pooling_parse("lse+mean+max", &p), CS_OK);
    assert_false(cs_pooling_is_linear(&p));
    cs_pooling_declare(&p, 1, h.c, &m->ps, "none");
    const cs_mat y = cs_pooling_apply(&s->cx, &p, seg, h);
    assert_int_equal(y.c, 3 * h.c);
    for (int32_t k = 0; k < 2; k++)
        for (int32_t j = 0; j < h.c; j++) {
            double sum = 0, max = -INFINITY, e = 0;
            const double n = (double)len[k];
            for (int64_t r = b->off[k]; r < b->off[k + 1]; r++) {
                const double v = (double)h.p[r * h.ld + j];
                sum += v / n;
                max = fmax(max, v);
                e += exp(v) / n;
            }
            const cs_real *got = y.p + k * y.ld + j;
            assert_true(fabs((double)got[0] - log(e)) < 1e-5);
            assert_true(fabs((double)got[h.c] - sum) < 1e-5);
            assert_true((double)got[2 * h.c] == max);
        }
    cs_batch_free(b);
    toy_free(s);
}

/* Of a head of two parts the largest values are each part's own: they do not change if a part's
 * tokens are reversed and the encoder is a bag of tokens. */
static void test_parts_pooled_apart(void **state)
{
    static const int64_t len[] = { 5 };
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("variant"),
                    .name = "depth", .value = "none", .head_name = "pool",
                    .head_value = "mean+max" };
    cs_session *s = toy_session(&t, be);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 1, 1);

    (void)state;
    float *y = toy_outputs(s, b);
    for (int64_t i = 0; i < 2; i++) {
        const int32_t id = b->tok[i];
        b->tok[i] = b->tok[4 - i];
        b->tok[4 - i] = id;
    }
    float *z = toy_outputs(s, b);
    for (int i = 0; i < 3; i++)
        assert_true(fabs((double)y[i] - (double)z[i]) < 1e-6);
    b->tok[2] = b->tok[2] == 2 ? 3 : 2;
    free(z);
    z = toy_outputs(s, b);
    assert_true(fabs((double)y[0] - (double)z[0]) > 1e-4);
    free(y);
    free(z);
    cs_batch_free(b);
    toy_free(s);
}

/* Without a difference only the context is left: it depends on the reference, and pooled vectors
 * subtracted give the bias. */
static void test_context_of_the_reference(void **state)
{
    static const int64_t len[] = { 5 };
    const char *const compare[] = { "pooled", "context" };

    (void)state;
    for (int k = 0; k < 2; k++) {
        const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("variant"),
                        .head_name = "compare", .head_value = compare[k] };
        cs_session *s = toy_session(&t, be);
        cs_batch *b = toy_batch(s->model, len, 1, 1);
        for (int i = 0; i < 5; i++)
            b->tok[5 + i] = b->tok[i];
        float *y = toy_outputs(s, b);
        b->tok[2] = b->tok[7] = b->tok[2] == 2 ? 3 : 2;
        float *z = toy_outputs(s, b);
        for (int i = 0; i < 3; i++)
            assert_true((fabs((double)y[i] - (double)z[i]) > 1e-6) == (k == 1));
        free(y);
        free(z);
        cs_batch_free(b);
        toy_free(s);
    }
}

/* A bag of tokens does not depend on their order; with convolutions before the pooling it does. */
static void test_predictor(void **state)
{
    static const int64_t len[] = { 6, 6 };
    const char *const predictor[] = { "none", "cdil" };

    (void)state;
    for (int k = 0; k < 2; k++) {
        const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                        .name = "depth", .value = "none", .head_name = "predictor",
                        .head_value = predictor[k] };
        cs_session *s = toy_session(&t, be);
        cs_model *m = s->model;
        cs_batch *b = toy_batch(m, len, 2, 1);
        for (int i = 0; i < 6; i++) {
            b->tok[i] = i < 3 ? 2 : 3;
            b->tok[6 + i] = i % 2 ? 2 : 3;
        }
        s->cx.no_mean = true;
        float *y = toy_outputs(s, b);
        double d = 0;
        for (int i = 0; i < 3; i++)
            d += fabs((double)y[i] - (double)y[3 + i]);
        assert_true(k ? d > 1e-3 : d < 1e-6);
        free(y);
        cs_batch_free(b);
        toy_free(s);
    }
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_refused_pool),
        cmocka_unit_test(test_pool_values),
        cmocka_unit_test(test_parts_pooled_apart),
        cmocka_unit_test(test_context_of_the_reference),
        cmocka_unit_test(test_predictor)
    };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 2, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("pooling", test, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}

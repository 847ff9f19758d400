/* test_cdil.c - encoder cdil: inputs read by dilated and grouped layers. */
#include "tests/nn/toy.h"

static cs_backend *be;

/* With a first dilation of 3, tokens see those of their own reading frame alone: all those with
 * three layers. */
static void test_frames(void **state)
{
    static const int64_t len[] = { 24 };
    const toy t = { .enc = cs_encoder_find("cdil"), .head = cs_head_find("class"),
                    .name = "dilation", .value = "3" };
    cs_session *s = toy_session(&t, be);
    cs_batch *b = toy_batch(s->model, len, 1, 2);
    int n_other = 0;

    (void)state;
    s->cx.no_mean = true;
    free(toy_outputs(s, b));
    cs_mat y = s->trace.encoded;
    cs_real *before = cs_xmalloc((size_t)(y.r * y.c) * sizeof *before);
    memcpy(before, y.p, (size_t)(y.r * y.c) * sizeof *before);
    b->tok[4] = b->tok[4] == 2 ? 3 : 2;
    free(toy_outputs(s, b));
    y = s->trace.encoded;
    for (int64_t r = 0; r < y.r; r++) {
        bool same = memcmp(before + r * y.c, y.p + r * y.ld, (size_t)y.c * sizeof *before) == 0;
        assert_true(same || r % 3 == 1);
        n_other += !same;
    }
    assert_in_range(n_other, 5, 8);
    free(before);
    cs_batch_free(b);
    toy_free(s);
}

static cs_real *row(cs_mat m, int64_t r)
{
    return m.p + r * m.ld;
}

/* Give the second of two groups the first one's tensors and columns of the embedding, plus `by`. */
static void copy_group(cs_params *ps, cs_real by)
{
    const cs_mat table = cs_value(ps, cs_params_find(ps, "embedding.weight"));
    const int32_t half = table.c / 2;

    for (int64_t r = 0; r < table.r; r++)
        memcpy(row(table, r) + half, row(table, r), (size_t)half * sizeof *table.p);
    for (int32_t i = 0; i < ps->n; i++) {
        const char *const first = "encoder.group.0.";
        char name[128];
        if (strncmp(ps->p[i].name, first, strlen(first)) != 0)
            continue;
        snprintf(name, sizeof name, "encoder.group.1.%s", ps->p[i].name + strlen(first));
        const int at = cs_params_find(ps, name);
        assert_true(at >= 0);
        for (int64_t k = 0; k < ps->p[i].n; k++)
            ps->value[ps->p[at].off + k] = ps->value[ps->p[i].off + k] + by;
    }
}

/* Groups are independent: with equal tensors both compute the same, and the input of one does not
 * affect the other. */
static void test_groups(void **state)
{
    static const int64_t len[] = { 17, 31, 32, 18 };
    const toy t = { .enc = cs_encoder_find("cdil"), .head = cs_head_find("class"),
                    .name = "groups", .value = "2" };
    cs_session *s = toy_session(&t, be);
    cs_batch *b = toy_batch(s->model, len, 4, 2);
    cs_real *first = NULL;

    (void)state;
    s->cx.no_mean = true;
    for (int other = 0; other < 2; other++) {
        copy_group(&s->model->ps, other ? (cs_real)0.1 : 0);
        free(toy_outputs(s, b));
        const cs_mat y = s->trace.encoded;
        const size_t half = (size_t)y.c / 2;
        int64_t n_same = 0;
        if (!other)
            first = cs_xmalloc((size_t)y.r * half * sizeof *first);
        for (int64_t r = 0; r < y.r; r++) {
            if (!other)
                memcpy(first + (size_t)r * half, row(y, r), half * sizeof *first);
            assert_memory_equal(first + (size_t)r * half, row(y, r), half * sizeof *first);
            n_same += memcmp(row(y, r), row(y, r) + half, half * sizeof *first) == 0;
        }
        assert_int_equal(n_same, other ? 0 : y.r);
    }
    free(first);
    cs_batch_free(b);
    toy_free(s);
}

static void test_groups_divide(void **state)
{
    static const char *const bad[][2] = {
        { "channels", "8" }, { "input", "8" }, { "hidden", "8" }, { "decoder", "8" }
    };
    const cs_encoder *enc = cs_encoder_find("cdil");
    void *cfg = cs_xcalloc(1, enc->cfg_size);

    (void)state;
    for (size_t i = 0; i <= sizeof bad / sizeof bad[0]; i++) {
        cs_opt_defaults((const cs_optset[]){ { enc->opt, cfg, NULL }, { 0 } });
        assert_int_equal(cs_opt_set(enc->opt, cfg, "channels", "9"), CS_OK);
        assert_int_equal(cs_opt_set(enc->opt, cfg, "groups", "3"), CS_OK);
        if (i < sizeof bad / sizeof bad[0]) {
            assert_int_equal(cs_opt_set(enc->opt, cfg, bad[i][0], bad[i][1]), CS_OK);
            assert_int_equal(enc->check(cfg), CS_EUSAGE);
            assert_non_null(strstr(cs_error_message(), "--encoder.groups 3 must divide"));
            cs_error_clear();
        } else {
            assert_int_equal(enc->check(cfg), CS_OK);
        }
    }
    free(cfg);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_groups_divide)
    };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 2, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("cdil", test, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}

/* test_attribute.c - contributions of tokens: gradients against differences, and their sums. */
#include "tests/nn/toy.h"

#include "nn/exec/attribute.h"

#ifdef CS_DOUBLE
#define TOL 1e-7
#define DELTA 1e-9
#else
#define TOL 2e-2
#define DELTA 2e-4
#endif

enum { LEN = 13, STEPS = 512 };

static const int32_t unknown[LEN] = { CS_TOK_UNK, CS_TOK_UNK, CS_TOK_UNK, CS_TOK_UNK, CS_TOK_UNK,
                                      CS_TOK_UNK, CS_TOK_UNK, CS_TOK_UNK, CS_TOK_UNK, CS_TOK_UNK,
                                      CS_TOK_UNK, CS_TOK_UNK, CS_TOK_UNK };

static cs_backend *be;

static double value_of(cs_session *s, const int32_t *id, int32_t label)
{
    const cs_attribute a = { .id = id, .baseline = unknown, .n = LEN, .label = label };
    double out[LEN], ends[2];

    assert_int_equal(cs_attribute_tokens(s, &a, out, ends), CS_OK);
    return ends[0];
}

/* Gradient times input is the derivative along the line from a token to the baseline. The token's
 * row of the table is moved along it; the token occurs once in the sequence. */
static void check_gradient(cs_session *s, const int32_t *id, const double *contribution)
{
    const cs_model *m = s->model;
    const cs_param *p = &m->ps.p[m->embed_w];
    const int64_t w = m->in_width;
    cs_real *row = m->ps.value + p->off + id[0] * w, *base = m->ps.value + p->off + CS_TOK_UNK * w;
    cs_real *kept = cs_xmalloc((size_t)w * sizeof *kept);
    const double h = sizeof(cs_real) == 8 ? 1e-5 : 1e-2;
    double f[2];

    for (int64_t i = 0; i < w; i++)
        kept[i] = row[i];
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < w; i++)
            row[i] = (cs_real)((double)kept[i]
                               + (k ? -h : h) * ((double)kept[i] - (double)base[i]));
        f[k] = value_of(s, id, 1);
    }
    for (int64_t i = 0; i < w; i++)
        row[i] = kept[i];
    free(kept);
    const double want = (f[0] - f[1]) / (2 * h);
    if (fabs(contribution[0] - want) > TOL * fmax(fabs(want), 0.1))
        fail_msg("%s: %.9g, by differences %.9g", m->enc->name, contribution[0], want);
}

static void test_contributions(void **state)
{
    static const int32_t id[LEN] = { 2, 3, 4, 5, 5, 4, 3, 1, 4, 3, 5, 4, 3 };
    const cs_encoder *enc;

    (void)state;
    for (int i = 0; (enc = cs_encoder_at(i)) != NULL; i++) {
        toy t = { .enc = enc, .head = cs_head_find("class"), .training = true };
        cs_session *s = toy_session(&t, be);
        cs_attribute a = { .id = id, .baseline = unknown, .n = LEN, .label = 1, .n_step = STEPS };
        double out[LEN], ends[2], sum = 0;
        assert_int_equal(cs_attribute_tokens(s, &a, out, ends), CS_OK);
        check_gradient(s, id, out);
        assert_true(out[7] == 0);            /* the baseline contributes nothing */
        a.rule = CS_ATTRIBUTE_INTEGRATED;
        assert_int_equal(cs_attribute_tokens(s, &a, out, ends), CS_OK);
        for (int k = 0; k < LEN; k++)
            sum += out[k];
        if (fabs(sum - (ends[0] - ends[1])) > 1e-3 * fmax(fabs(ends[0] - ends[1]), 0.1))
            fail_msg("%s: contributions add up to %.9g, F(x) - F(b) is %.9g", enc->name, sum,
                     ends[0] - ends[1]);
        toy_free(s);
    }
}

/* Contributions to a standardized value are in its units: deviation times those without. */
static void test_standardized(void **state)
{
    static const int32_t id[LEN] = { 2, 3, 4, 5, 5, 4, 3, 1, 4, 3, 5, 4, 3 };
    toy t = { .enc = cs_encoder_find("cdil"), .head = cs_head_find("regress"), .training = true };
    cs_session *s = toy_session(&t, be);
    cs_attribute a = { .id = id, .baseline = unknown, .n = LEN, .label = 1, .n_step = 4 };
    double plain[LEN], out[LEN], ends[2], sized[2];

    (void)state;
    for (int rule = CS_ATTRIBUTE_GRADIENT; rule <= CS_ATTRIBUTE_RESCALE; rule++) {
        a.rule = (cs_attribute_rule)rule;
        s->model->label[1].deviation = 0;
        assert_int_equal(cs_attribute_tokens(s, &a, plain, ends), CS_OK);
        s->model->label[1].mean = -40;
        s->model->label[1].deviation = 200;
        assert_int_equal(cs_attribute_tokens(s, &a, out, sized), CS_OK);
        for (int k = 0; k < LEN; k++)
            assert_true(fabs(out[k] - 200 * plain[k]) <= 1e-9 * fabs(out[k]));
        for (int k = 0; k < 2; k++)
            assert_true(fabs(sized[k] - (200 * ends[k] - 40)) <= 1e-9 * fabs(sized[k]));
    }
    toy_free(s);
}

enum { N_BASE = 5 };

struct several { int32_t base[LEN]; int64_t n; };

static int next_baseline(void *arg, int64_t k)
{
    struct several *of = arg;

    for (int64_t t = 0; t < LEN; t++)
        of->base[t] = (int32_t)(2 + (3 * t + k) % 4);
    of->n++;
    return CS_OK;
}

/* Several baselines give the mean; the gradient at the sequence is computed once. */
static void test_baselines(void **state)
{
    static const int32_t id[LEN] = { 2, 3, 4, 5, 5, 4, 3, 1, 4, 3, 5, 4, 3 };
    toy t = { .enc = cs_encoder_find("cdil"), .head = cs_head_find("class"), .training = true };
    cs_session *s = toy_session(&t, be);
    struct several of = { .n = 0 };
    cs_attribute a = { .id = id, .baseline = of.base, .n = LEN, .label = 1, .n_step = 4,
                       .next = next_baseline, .arg = &of };
    double out[LEN], one[LEN], sum[LEN], flop[2];

    (void)state;
    for (int rule = CS_ATTRIBUTE_GRADIENT; rule <= CS_ATTRIBUTE_RESCALE; rule++) {
        a.rule = (cs_attribute_rule)rule;
        a.next = next_baseline;
        a.n_baseline = N_BASE;
        of.n = 0;
        flop[0] = s->cx.flop;
        assert_int_equal(cs_attribute_tokens(s, &a, out, NULL), CS_OK);
        flop[0] = s->cx.flop - flop[0];
        assert_int_equal(of.n, N_BASE);
        memset(sum, 0, sizeof sum);
        a.next = NULL;
        a.n_baseline = 1;
        for (int k = 0; k < N_BASE; k++) {
            (void)next_baseline(&of, k);
            flop[1] = s->cx.flop;
            assert_int_equal(cs_attribute_tokens(s, &a, one, NULL), CS_OK);
            flop[1] = s->cx.flop - flop[1];
            for (int i = 0; i < LEN; i++)
                sum[i] += one[i] / N_BASE;
        }
        assert_memory_equal(out, sum, sizeof out);
        assert_true(flop[1] > 0);
        assert_true(a.rule == CS_ATTRIBUTE_GRADIENT ? flop[0] == flop[1]
                                                    : flop[0] == N_BASE * flop[1]);
    }
    toy_free(s);
}

static void test_as_predicted(void **state)
{
    static const int32_t id[LEN] = { 2, 3, 4, 5, 5, 4, 3, 1, 4, 3, 5, 4, 3 };
    toy t = { .enc = cs_encoder_find("cdil"), .head = cs_head_find("class"), .training = true,
              .name = "norm", .value = "batch" };
    cs_session *s = toy_session(&t, be);
    cs_batch *b = cs_batch_new(0, 0);
    float y[8];

    (void)state;
    assert_int_equal(cs_batch_append(b, id, NULL, LEN, NULL, (cs_slot){ 0 }), CS_OK);
    assert_int_equal(cs_session_forward(s, b, y), CS_OK);
    assert_true(fabs(value_of(s, id, 1) - (double)y[1]) < 1e-4 * (1 + fabs((double)y[1])));
    cs_batch_free(b);
    toy_free(s);
}

static void test_refused(void **state)
{
    static const int32_t id[4] = { 2, 3, 4, 5 };
    toy t = { .enc = cs_encoder_at(0), .head = cs_head_find("variant"), .training = true };
    cs_session *s = toy_session(&t, be);
    const cs_attribute a = { .id = id, .baseline = unknown, .n = 4 };
    double out[4], ends[2];

    (void)state;
    assert_int_equal(cs_attribute_tokens(s, &a, out, ends), CS_EUSAGE);
    cs_error_clear();
    toy_free(s);
}

/* Encoders with a rescale rule, and options without one. */
static bool has_rule(const cs_model *m, const toy *t)
{
    const char *const with[] = { "chordmixer", "cdil", "paramixer", "psf" };
    const bool group = t->value && strcmp(t->value, "group") == 0;
    const bool no_blocks = t->name && strcmp(t->name, "depth") == 0
                           && strcmp(t->value, "none") == 0;
    const bool reversible = t->flag && strcmp(t->flag, "reversible") == 0 && !no_blocks;
    const bool words = t->head_name && strcmp(t->head_name, "composition") == 0;
    const bool pooled = t->head_name && strcmp(t->head_name, "pool") == 0
                        && strcmp(t->head_value, "cls") != 0
                        && strcmp(t->head_value, "centre") != 0;
    bool found = false;

    for (int i = 0; i < 4; i++)
        found |= strcmp(m->enc->name, with[i]) == 0;
    return found && !group && !reversible && !words && !pooled;
}

struct counts { int n_exact, n_refused; };

/* Contributions by the rescale rule sum to the difference of the predictions, for any baseline;
 * every setting of every encoder does that or is refused. */
static void check_rescale(const toy *t, void *arg)
{
    static const int32_t id[LEN] = { 2, 3, 4, 5, 5, 4, 3, 1, 4, 3, 5, 4, 3 };
    static const int32_t other[LEN] = { 5, 3, 2, 2, 3, 5, 5, 4, 4, 3, 4, 2, 3 };
    const int32_t *const base[] = { unknown, other, NULL };
    struct counts *count = arg;
    toy with = *t;

    if (t->real || strcmp(t->head->name, "class") != 0)
        return;
    with.training = true;
    cs_session *s = toy_session(&with, be);
    cs_model *m = s->model;
    for (int b = 0; b < 3; b++) {
        const cs_attribute a = { .id = id, .baseline = base[b], .n = LEN, .label = 1,
                                 .rule = CS_ATTRIBUTE_RESCALE };
        double out[LEN], ends[2], sum = 0;
        const int rc = cs_attribute_tokens(s, &a, out, ends);
        if (rc != CS_OK) {
            assert_int_equal(rc, CS_EUSAGE);
            if (has_rule(m, t))
                fail_msg("%s %s %s %s: no rule", m->enc->name, t->name ? t->name : "",
                         t->value ? t->value : "", t->flag ? t->flag : "");
            if (!strstr(cs_error_message(), "rescale rule"))
                assert_non_null(strstr(cs_error_message(), "--head.composition"));
            cs_error_clear();
            count->n_refused++;
            continue;
        }
        for (int k = 0; k < LEN; k++)
            sum += out[k];
        if (fabs(sum - (ends[0] - ends[1])) > DELTA * fmax(fabs(ends[0] - ends[1]), 1))
            fail_msg("%s %s: contributions add up to %.9g, F(x) - F(b) is %.9g", m->enc->name,
                     t->value ? t->value : t->flag ? t->flag : "", sum, ends[0] - ends[1]);
        assert_true(fabs(ends[0] - ends[1]) > 1e-6);
        if (!has_rule(m, t))
            fail_msg("%s %s %s: has a rule", m->enc->name, t->name ? t->name : "",
                     t->value ? t->value : t->flag ? t->flag : "");
        assert_true(fabs(ends[0] - value_of(s, id, 1)) < 1e-3 * fmax(fabs(ends[0]), 1));
        for (int k = 0; base[b] && k < LEN; k++)
            assert_true(base[b][k] != id[k] || out[k] == 0);
        count->n_exact++;
    }
    toy_free(s);
}

static void test_rescale(void **state)
{
    struct counts count = { 0, 0 };

    (void)state;
    toy_each(check_rescale, &count);
    assert_true(count.n_exact > 20 && count.n_refused > 20);
}

/* The rule's result for a network that is linear up to one ReLU: Shrikumar et al. 2017,
 * sec. 3.5.1: all of the change goes through the quotient, also where the slope is zero. */
static void test_quotient(void **state)
{
    cs_real x[4] = { -1, 3, 2, 3 }, dy[4] = { 1, 1, 0, 0 }, dx[4] = { 0 };
    cs_mat m = { x, 2, 2, 2 };

    (void)state;
    be->op.act_rescale(be, CS_ACT_RELU, m, (cs_mat){ dy, 2, 2, 2 }, (cs_mat){ dx, 2, 2, 2 });
    assert_true(fabs((double)dx[0] - 2.0 / 3) < 1e-6);   /* (0 - 2) / (-1 - 2) */
    assert_true(dx[1] == 1 && dx[2] == 0 && dx[3] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contributions), cmocka_unit_test(test_standardized),
        cmocka_unit_test(test_baselines),
        cmocka_unit_test(test_as_predicted), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_rescale), cmocka_unit_test(test_quotient),
    };

    assert_int_equal(cs_cpu_init(), CS_OK);
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    const int n_bad = cmocka_run_group_tests(tests, NULL, NULL);
    cs_backend_close(be);
    return n_bad;
}

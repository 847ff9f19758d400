/* test_reversible.c - reversible ChordMixer: function, memory, rounding errors of the inversion. */
#include "tests/nn/toy.h"

#include "nn/encoders/sublayer.h"
#include "nn/ops/ops.h"
#include "nn/ops/ops_attn.h"

static cs_backend *be;

/* Half a track's channels: of a wide model 8, else 2. */
static cs_session *session_of(const char *max_len, bool reversible, bool wide)
{
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .max_len = max_len, .flag = reversible ? "reversible" : NULL, .wide = wide,
                    .training = true };
    return toy_session(&t, be);
}

/* ---- against the same function with stored activations ------------------------------------- */

static cs_mat tensor(const cs_model *m, int32_t block, char part, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "encoder.block.%d.%c.%s", (int)block, part, name);
    return cs_value(&m->ps, cs_params_find(&m->ps, full));
}

/* y + rotated fc2(gelu(fc1 x)), a new matrix: ten blocks have eleven tracks. */
static cs_mat coupling(cs_session *s, cs_seg seg, int32_t block, char part, cs_mat x, cs_mat y)
{
    const cs_model *m = s->model;
    cs_ctx *cx = &s->cx;
    cs_mat w1 = tensor(m, block, part, "fc1.weight"), w2 = tensor(m, block, part, "fc2.weight");
    cs_mat pre = cs_empty(cx, x.r, (int32_t)w1.r), h = cs_empty(cx, x.r, (int32_t)w1.r);
    cs_mat out = cs_empty(cx, x.r, x.c), sum = cs_empty(cx, x.r, x.c);

    cs_affine(cx, x, w1, tensor(m, block, part, "fc1.bias"), pre);
    cs_activate(cx, CS_ACT_GELU, pre, h);
    cs_affine(cx, h, w2, tensor(m, block, part, "fc2.bias"), out);
    cs_roll_add(cx, seg, x.c / 11, out, y, sum);
    return sum;
}

static cs_mat forward_stored(cs_session *s, cs_seg seg, cs_mat x)
{
    const cs_model *m = s->model;
    const cs_mat none = { 0 };
    int32_t half = m->width / 2;
    cs_mat a = cs_columns(x, 0, half), b = cs_columns(x, half, half);
    cs_mat y = cs_empty(&s->cx, x.r, x.c);

    for (int32_t l = 0; l < seg.depth; l++) {
        a = coupling(s, seg, l, 'f', b, a);
        b = coupling(s, seg, l, 'g', a, b);
    }
    cs_scale_add(&s->cx, 1, a, none, cs_columns(y, 0, half));
    cs_scale_add(&s->cx, 1, b, none, cs_columns(y, half, half));
    return y;
}

/* Output of a pass of the encoder alone, and x after the backward pass. */
typedef struct outcome { cs_real *y, *grad, *x_before, *x_after; int64_t n; } outcome;

static cs_real *copy_mat(cs_mat m)
{
    cs_real *v = cs_xmalloc((size_t)(m.r * m.c) * sizeof *v);
    memcpy(v, m.p, (size_t)(m.r * m.c) * sizeof *v);
    return v;
}

static outcome pass(cs_session *s, const cs_batch *b, bool reversible)
{
    const cs_model *m = s->model;
    cs_ctx *cx = &s->cx;
    cs_seg seg = { .off = b->off, .n = b->n_seg, .rows = b->n_tok, .depth = b->depth };
    outcome o = { .n = b->n_tok * m->width };

    be->op.zero(be, cs_params_slab(&m->ps, m->ps.grad));
    /* Stored per token: x, y, and per part the hidden layer twice and two halves. */
    const int64_t hidden = tensor(m, 0, 'f', "fc1.weight").r;
    const int64_t row = 4 * m->width + b->depth * (2 * m->width + 4 * hidden);
    const int64_t n = b->n_tok * row + 4096;
    assert_int_equal(cs_ctx_reserve(cx, n, n), CS_OK);
    cs_ctx_begin(cx, true, false, 1);
    cs_mat x = cs_empty(cx, b->n_tok, m->width), g = cs_empty(cx, b->n_tok, m->width);
    cs_embed(cx, b->tok, CS_TOK_PAD, cs_value(&m->ps, m->embed_w), x);
    o.x_before = copy_mat(x);
    cs_mat y = reversible ? m->enc->forward(cx, m->enc_net, seg, x) : forward_stored(s, seg, x);
    for (int64_t i = 0; i < o.n; i++)
        g.p[i] = (cs_real)(cs_rng_unit(31, (uint64_t)i) - 0.5);
    cs_grad_seed(cx, y, g);
    o.y = copy_mat(y);
    cs_backward(cx);
    o.grad = toy_slab(m, m->ps.grad);
    o.x_after = copy_mat(x);
    return o;
}

static void free_outcome(outcome *o)
{
    free(o->y);
    free(o->grad);
    free(o->x_before);
    free(o->x_after);
}

static double largest_error(const cs_real *a, const cs_real *b, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    return worst;
}

/* Through ten blocks: the same bits forward; the input comes back, and the gradients are those of
 * the network that stores everything, up to the rounding of two steps per block. Measured, in float
 * and double: 7e-5 and 2e-13 in an input of standard normal numbers, 6e-6 and 2e-14 of the norm of
 * the gradients. */
static void check_inverse(const int64_t *len, int n, bool wide)
{
    const bool is_double = sizeof(cs_real) == sizeof(double);
    cs_session *s = session_of("1024", true, wide);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, n, 2);
    /* Initial weights, as a network starts: those of a toy make its values grow by 10 a step. */
    assert_int_equal(cs_params_fill(&m->ps, 4), CS_OK);
    outcome got = pass(s, b, true), want = pass(s, b, false);

    assert_memory_equal(got.y, want.y, (size_t)got.n * sizeof *got.y);
    check_below(toy_nmse(got.grad, want.grad, m->ps.n_real), is_double ? 1e-27 : 2e-10);
    check_below(largest_error(got.x_after, got.x_before, got.n), is_double ? 1e-12 : 3e-4);
    free_outcome(&got);
    free_outcome(&want);
    cs_batch_free(b);
    toy_free(s);
}

/* Also where rows are computed in parts, with a segment across. */
static void test_inverse(void **state)
{
    enum { N = 1400 };
    int64_t len[N] = { 1024, 700, 513 };

    (void)state;
    check_inverse(len, 3, true);
    for (int i = 0; i < N; i++)
        len[i] = 9 + i % 8;
    check_inverse(len, N, false);
}

/* ---- memory and reach ----------------------------------------------------------------------- */

/* The same tokens as sequences of 8 (three blocks) or of 1024 (ten). */
static double memory_ratio(bool reversible)
{
    const int64_t n = 1 << 15;
    cs_session *s = session_of("1024", reversible, true);
    double shallow = (double)cs_plan_memory(s, n, (int32_t)(n / 8), 3, true);
    double deep = (double)cs_plan_memory(s, n, (int32_t)(n / 1024), 10, true);

    toy_free(s);
    return deep / shallow;
}

static void test_memory(void **state)
{
    (void)state;
    check_below(memory_ratio(true), 1.01);
    assert_true(memory_ratio(false) > 2);
}

/* After ceil(log2 N) blocks every token depends on every other one, in both halves. */
static void check_dependencies(cs_session *s, int64_t n)
{
    const cs_model *m = s->model;
    cs_batch *b = toy_batch(m, &n, 1, 5);
    cs_seg seg = { .off = b->off, .n = 1, .rows = n, .depth = b->depth };
    const int32_t half = m->width / 2;

    for (int64_t j = 0; j < n; j++) {
        cs_real *y[2];
        for (int k = 0; k < 2; k++) {
            b->tok[j] = 2 + k;
            assert_int_equal(cs_ctx_reserve(&s->cx, n * (3 * m->width + 512) + 4096, 0), CS_OK);
            cs_ctx_begin(&s->cx, false, false, 0);
            cs_mat x = cs_empty(&s->cx, n, m->width);
            cs_embed(&s->cx, b->tok, CS_TOK_PAD, cs_value(&m->ps, m->embed_w), x);
            y[k] = copy_mat(m->enc->forward(&s->cx, m->enc_net, seg, x));
        }
        for (int64_t i = 0; i < 2 * n; i++)
            if (memcmp(y[0] + i * half, y[1] + i * half, (size_t)half * sizeof **y) == 0)
                fail_msg("of %d tokens, half %d of number %d does not depend on number %d", (int)n,
                         (int)(i % 2), (int)(i / 2), (int)j);
        free(y[0]);
        free(y[1]);
    }
    cs_batch_free(b);
}

static void test_dependencies(void **state)
{
    cs_session *s = session_of("64", true, true);

    (void)state;
    for (int64_t n = 1; n <= 33; n++)
        check_dependencies(s, n);
    toy_free(s);
}

static void check_rejected(const char *track, const char *norm, const char *words)
{
    const cs_encoder *enc = cs_encoder_find("chordmixer");
    void *cfg = cs_xcalloc(1, enc->cfg_size);

    cs_opt_defaults((const cs_optset[]){ { enc->opt, cfg, NULL }, { 0 } });
    assert_int_equal(cs_opt_set(enc->opt, cfg, "reversible", "1"), CS_OK);
    assert_int_equal(enc->check(cfg), CS_OK);
    assert_int_equal(cs_opt_set(enc->opt, cfg, "track", track), CS_OK);
    assert_int_equal(cs_opt_set(enc->opt, cfg, "norm", norm), CS_OK);
    assert_int_equal(enc->check(cfg), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), words));
    cs_error_clear();
    free(cfg);
}

static void test_rejected(void **state)
{
    (void)state;
    check_rejected("15", "none", "cannot be halved");
    check_rejected("16", "layer", "needs --encoder.prenorm");
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_dependencies),
        cmocka_unit_test(test_rejected)
    };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 2, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("reversible", test, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}

/*
 * test_encoders.c - properties of every registered encoder, with every choice of its options.
 *
 * DESIGN
 * No list of encoders: toy_each() walks the registry. The double build checks gradients against
 * central differences; the float build compares kernels. Both check what must be equal to the bit,
 * the float build also in bf16 if the processor has it.
 */
/* long: one table of tests for every encoder */
#include <limits.h>

#include "kernels/cpu/tables.h"
#include "tests/nn/toy.h"

static cs_backend *be;

static const char *label(const toy *t)
{
    static char text[128];
    snprintf(text, sizeof text, "%s %s %s=%s%s", t->enc->name, t->flag ? t->flag : "-",
             t->name ? t->name : "-", t->value ? t->value : "-", t->real ? " real" : "");
    return text;
}

/* Lengths 1, 2, 3, 2^k - 1, 2^k, 2^k + 1 and more, in batches of one depth. */
static const int64_t groups[][4] = {
    { 1, 1, 1, 0 }, { 2, 2, 0, 0 }, { 3, 4, 3, 0 }, { 7, 8, 5, 6 }, { 9, 15, 16, 0 },
    { 17, 31, 32, 18 }
};

static int count(const int64_t *len)
{
    int n = 0;
    while (n < 4 && len[n] > 0)
        n++;
    return n;
}

/* ---- gradients (double) ------------------------------------------------------------------ */

#ifdef CS_DOUBLE
/* A wrong gradient is wrong for any step size. The smaller steps are for networks with ReLU, where
 * a unit may have its kink within a larger one. */
static const double steps[] = { 1e-5, 1e-6, 1e-7 };
enum { N_STEP = 3 };

/* Derivative of the loss along one random direction in one tensor, by central differences. */
static double slope(cs_session *s, const cs_batch *b, const cs_param *p, double h)
{
    const cs_model *m = s->model;
    double at[2];

    for (int side = 0; side < 2; side++) {
        double step = side ? h : -h;
        for (int64_t k = 0; k < p->n; k++)
            m->ps.value[p->off + k] += step * cs_rng_normal(77, (uint64_t)k);
        at[side] = toy_train(s, b, CS_KEEP_ALL);
        for (int64_t k = 0; k < p->n; k++)
            m->ps.value[p->off + k] -= step * cs_rng_normal(77, (uint64_t)k);
    }
    return (at[1] - at[0]) / (2 * h);
}

/* Networks of many tensors: some of them at every call, others at the next. */
static void check_gradient(const toy *t, const int64_t *len)
{
    static int32_t call;
    cs_session *s = toy_session(t, be);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, count(len), 3);
    double largest = 0;

    toy_train(s, b, CS_KEEP_ALL);
    cs_real *grad = toy_slab(m, m->ps.grad);
    for (int64_t i = 0; i < m->ps.n_real; i++)
        largest = fmax(largest, fabs(grad[i]));
    for (int32_t i = 0; i < m->ps.n; i++) {
        const cs_param *p = &m->ps.p[i];
        double want = NAN, got = 0, norm = 0;
        if (p->buffer || p->zero_row >= 0 || (i + call) % (1 + m->ps.n / 24) != 0)
            continue;
        for (int64_t k = 0; k < p->n; k++) {
            got += grad[p->off + k] * cs_rng_normal(77, (uint64_t)k);
            norm += grad[p->off + k] * grad[p->off + k];
        }
        norm = fmax(sqrt(norm), 1e-2 * largest);
        bool good = false;
        for (int h = 0; h < N_STEP && !good; h++) {
            want = slope(s, b, p, steps[h]);
            good = fabs(got - want) <= 1e-7 * fmax(fabs(want), norm);
        }
        if (!good)
            fail_msg("%s, length %d, %s: gradient %.12g, difference %.12g", label(t), (int)len[0],
                     p->name, got, want);
    }
    call++;
    free(grad);
    cs_batch_free(b);
    toy_free(s);
}

static void gradient(const toy *t, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        check_gradient(t, groups[i]);
}

static double element_slope(cs_session *s, const cs_batch *b, cs_real *at, double h)
{
    cs_real keep = *at;
    *at = keep + h;
    double up = toy_train(s, b, CS_KEEP_ALL);
    *at = keep - h;
    double down = toy_train(s, b, CS_KEEP_ALL);
    *at = keep;
    return (up - down) / (2 * h);
}

/* The gradient of the encoder's input, element by element: the table's rows under distinct ids. */
static void input_gradient(const toy *t, void *arg)
{
    static const int64_t len[] = { 4, 3 };
    cs_session *s = toy_session(t, be);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 2, 4);
    cs_mat table = cs_value(&m->ps, m->embed_w);

    (void)arg;
    for (int64_t i = 0; m->tok && i < 4; i++)
        b->tok[i] = (int32_t)(2 + i);
    for (int64_t i = 4; m->tok && i < 7; i++)
        b->tok[i] = 1;
    toy_train(s, b, CS_KEEP_ALL);
    cs_real *grad = toy_slab(m, m->ps.grad);
    const cs_real *g = grad + m->ps.p[m->embed_w].off;
    for (int64_t i = table.c * (m->tok ? 1 : 0); i < table.r * table.c; i += 5) {
        double want = NAN;
        for (int h = 0; h < N_STEP && !(fabs(want - g[i]) <= 1e-7 * fmax(1, fabs(g[i]))); h++)
            want = element_slope(s, b, &table.p[i], steps[h]);
        if (!(fabs(want - g[i]) <= 1e-7 * fmax(1, fabs(g[i]))))
            fail_msg("%s: gradient of input element %d is %.12g, not %.12g", label(t), (int)i, g[i],
                     want);
    }
    for (int32_t k = 0; m->tok && k < table.c; k++)
        assert_true(g[k] == 0);              /* the padding row */
    free(grad);
    cs_batch_free(b);
    toy_free(s);
}

static void test_gradients(void **state)
{
    (void)state;
    toy_each(gradient, NULL);
    toy_each(input_gradient, NULL);
}
#endif

/* ---- kernels (float) --------------------------------------------------------------------- */

#ifndef CS_DOUBLE
static void compare_models(const toy *t, cs_backend *other, bool no_fused)
{
    static const int64_t len[] = { 17, 31, 32, 18 };
    cs_session *a = toy_session(t, be), *c = toy_session(t, other);
    cs_batch *b = toy_batch(a->model, len, 4, 6);

    c->cx.no_fused = no_fused;
    double la = toy_train(a, b, CS_KEEP_ALL), lc = toy_train(c, b, CS_KEEP_ALL);
    cs_real *ga = toy_slab(a->model, a->model->ps.grad),
            *gc = toy_slab(c->model, c->model->ps.grad);
    float *ya = toy_outputs(a, b), *yc = toy_outputs(c, b);
    double gradient_error = toy_nmse(ga, gc, a->model->ps.n_real);
    double output_error = toy_nmse(ya, yc, cs_session_output_len(a, b));
    /* 1e-5 of the loss and 1e-10 of the gradients: through a softmax and four norms in a row,
     * rounding of 1e-7 grows to a few 1e-6 in either kernel. */
    if (!(fabs(la - lc) <= 1e-5 * fabs(lc) && gradient_error <= 1e-10 && output_error <= 1e-12))
        fail_msg("%s: loss %g against %g, nmse of gradients %g, of predictions %g", label(t), la,
                 lc,
                 gradient_error, output_error);
    free(ga);
    free(gc);
    free(ya);
    free(yc);
    cs_batch_free(b);
    toy_free(a);
    toy_free(c);
}

static void compare_with_composed(const toy *t, void *arg)
{
    (void)arg;
    compare_models(t, be, true);
}

static void compare_with_reference(const toy *t, void *arg)
{
    compare_models(t, arg, false);
}

static void test_fused_against_composed(void **state)
{
    (void)state;
    toy_each(compare_with_composed, NULL);
}

static void test_fast_against_reference(void **state)
{
    cs_backend ref = *be;
    (void)state;
    cs_cpu_fill(&ref, ~0U);
    toy_each(compare_with_reference, &ref);
}
#endif

/* ---- equal to the bit --------------------------------------------------------------------- */

static void check_single_record(const toy *t, void *arg)
{
    cs_session *s = toy_session(t, be);
    cs_model *m = s->model;

    (void)arg;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        cs_batch *all = toy_batch(m, groups[i], count(groups[i]), 8);
        float *outputs = toy_outputs(s, all), *want = outputs;
        for (int r = 0; r < all->n_rec; r++) {
            int64_t from = all->off[r], n = all->off[r + 1] - from;
            int64_t n_output = cs_model_output_len(m, CS_HEAD_PREDICTION, n);
            cs_batch *one = cs_batch_new(m->n_channel, 0);
            assert_int_equal(cs_batch_append(one, m->tok ? all->tok + from : NULL,
                                             m->tok ? NULL : all->x + 2 * from, n, NULL,
                                             (cs_slot){ 0 }), CS_OK);
            float *got = toy_outputs(s, one);
            if (memcmp(got, want, (size_t)n_output * sizeof *got) != 0)
                fail_msg("%s: %d tokens predict differently alone", label(t), (int)n);
            want += n_output;
            free(got);
            cs_batch_free(one);
        }
        free(outputs);
        cs_batch_free(all);
    }
    toy_free(s);
}

static void test_batch_independence(void **state)
{
    (void)state;
    toy_each(check_single_record, NULL);
}

static void assert_same_gradients(const toy *t, const cs_model *m, const cs_real *want,
                                  const char *what)
{
    cs_real *got = toy_slab(m, m->ps.grad);
    if (memcmp(got, want, (size_t)m->ps.n_real * sizeof *got) != 0)
        fail_msg("%s: gradients depend on %s", label(t), what);
    free(got);
}

/* Of five blocks, or two layers, the inputs of all, of three and of one. */
static void recompute(const toy *t, void *arg)
{
    static const int64_t len[] = { 17, 31, 32, 18 };
    static const int32_t keep[] = { CS_CHECKPOINT_INPUTS, 3, 1 };
    cs_session *s = toy_session(t, be);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 6);

    (void)arg;
    for (int no_fused = 0; no_fused < 2; no_fused++) {
        s->cx.no_fused = no_fused;
        cs_real *before = toy_slab(m, m->ps.value);
        double kept = toy_train(s, b, CS_KEEP_ALL);
        cs_real *want = toy_slab(m, m->ps.grad), *after = toy_slab(m, m->ps.value);
        int64_t peak = s->cx.peak + s->cx.grad_peak;
        for (size_t i = 0; i < sizeof keep / sizeof keep[0]; i++) {
            /* Running statistics move once per batch, also when a block runs twice. */
            m->be->op.upload(m->be, m->ps.value, before, (size_t)m->ps.n_real * sizeof *before);
            assert_true(toy_train(s, b, keep[i]) == kept);
            assert_same_gradients(t, m, want, "recomputation");
            assert_memory_equal(m->ps.value, after, (size_t)m->ps.n_real * sizeof *after);
            assert_true(s->cx.peak + s->cx.grad_peak <= peak);
            peak = s->cx.peak + s->cx.grad_peak;
        }
        free(before);
        free(after);
        free(want);
    }
    cs_batch_free(b);
    toy_free(s);
}

static void test_recompute(void **state)
{
    (void)state;
    toy_each(recompute, NULL);
}

/* Recomputing blocks takes less memory than storing their activations, with every encoder. */
static void test_recompute_saves(void **state)
{
    const cs_encoder *enc;

    (void)state;
    for (int i = 0; (enc = cs_encoder_at(i)) != NULL; i++) {
        const toy t = { .enc = enc, .head = cs_head_find("class"), .training = true,
                        .max_len = "65536" };
        cs_session *s = toy_session(&t, be);
        s->cx.no_fused = true;           /* a fused block stores nothing anyway */
        int64_t kept = cs_plan_memory(s, 65536, 1, 16, true);
        s->cx.keep = CS_CHECKPOINT_INPUTS;
        int64_t again = cs_plan_memory(s, 65536, 1, 16, true);
        if (again > kept * 9 / 10)
            fail_msg("%s: %ld bytes, %ld where all is kept", label(&t), (long)again, (long)kept);
        toy_free(s);
    }
}

#ifndef CS_DOUBLE
/* Long enough that loops are shared out. */
static void threads(const toy *t, void *arg)
{
    static const int64_t len[] = { 400, 257 };
    toy longer = *t;
    cs_backend other = *be;
    float *output[3];
    cs_real *grad[3];

    (void)arg;
    longer.max_len = "512";
    for (int i = 0; i < 3; i++) {
        other.n_thread = 1 << i;
        cs_session *s = toy_session(&longer, &other);
        cs_model *m = s->model;
        cs_batch *b = toy_batch(m, len, 2, 2);
        toy_train(s, b, CS_KEEP_ALL);
        grad[i] = toy_slab(m, m->ps.grad);
        output[i] = toy_outputs(s, b);
        size_t n = (size_t)cs_session_output_len(s, b);
        assert_memory_equal(output[i], output[0], n * sizeof *output[0]);
        assert_same_gradients(t, m, grad[0], "the number of threads");
        cs_batch_free(b);
        toy_free(s);
    }
    for (int i = 0; i < 3; i++) {
        free(output[i]);
        free(grad[i]);
    }
}

static void test_threads(void **state)
{
    cs_backend *usual = be;

    (void)state;
    /* Opened for 4, because scratch is reserved per thread. */
    assert_int_equal(cs_backend_open("cpu", 4, &be), CS_OK);
    assert_int_equal(cs_backend_compute_in(be, usual->precision), CS_OK);
    toy_each(threads, NULL);
    cs_backend_close(be);
    be = usual;
}
#endif

/* ---- the end of a pass by a signal ---------------------------------------------------------- */

static int n_asked, stop_after;

static int stop_now(void)
{
    return ++n_asked > stop_after;
}

/* A pass ends at any place where it may; the next one is whole. */
static void stop_pass(const toy *t, void *arg)
{
    cs_session *s = toy_session(t, be);
    cs_batch *b = toy_batch(s->model, groups[0], count(groups[0]), 3);
    const cs_step_opt o = { .scale = 0.5, .key = 9, .keep = *(int32_t *)arg };
    double loss;

    toy_train(s, b, o.keep);
    cs_real *want = toy_slab(s->model, s->model->ps.grad);
    s->cx.stop = stop_now;
    n_asked = 0;
    stop_after = INT_MAX;
    toy_train(s, b, o.keep);
    const int n = n_asked;
    assert_true(n > 1);
    for (int i = 0; i < 5; i++) {
        n_asked = 0;
        stop_after = i * (n - 1) / 4;
        assert_int_equal(cs_session_forward_backward(s, b, &o, &loss, NULL), CS_ECANCEL);
    }
    stop_after = INT_MAX;
    toy_train(s, b, o.keep);
    assert_same_gradients(t, s->model, want, "a stop before");
    free(want);
    cs_batch_free(b);
    toy_free(s);
}

static void test_stop(void **state)
{
    (void)state;
    for (int32_t keep = CS_KEEP_ALL; keep < 2; keep++)
        toy_each(stop_pass, &keep);
}

/* ---- memory and the rest ----------------------------------------------------------------- */

/* Against the pass before, whose peaks these are. */
static void assert_peak(const toy *t, cs_session *s, const cs_batch *b, bool training)
{
    const int64_t peak = s->cx.peak + (training ? s->cx.grad_peak : 0);
    int64_t n_bytes = cs_plan_memory(s, b->n_tok, b->n_seg, b->depth, training);
    int64_t real = peak * (int64_t)sizeof(cs_real);
    if (n_bytes != real)
        fail_msg("%s: dry run %ld bytes, real run %ld", label(t), (long)n_bytes, (long)real);
}

static void peak(const toy *t, void *arg)
{
    cs_session *s = toy_session(t, be);
    cs_model *m = s->model;

    (void)arg;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        for (int way = 0; way < 4; way++) {
            cs_batch *b = toy_batch(m, groups[i], count(groups[i]), 8);
            s->cx.no_fused = way & 1;
            toy_train(s, b, way & 2);
            assert_peak(t, s, b, true);
            free(toy_outputs(s, b));
            assert_peak(t, s, b, false);
            cs_batch_free(b);
        }
    toy_free(s);
}

static void test_dry_peak(void **state)
{
    (void)state;
    toy_each(peak, NULL);
}

/* Predicting takes memory for a few buffers, however many blocks there are. */
static void test_predictions_take_little_memory(void **state)
{
    (void)state;
    toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
              .max_len = "1048576", .name = "norm", .value = "layer" };
    cs_session *s = toy_session(&t, be);
    cs_model *m = s->model;
    const int64_t n = 1 << 20;
    int64_t row = cs_plan_memory(s, n, 1, 20, false) / n / (int64_t)sizeof(cs_real);
    assert_true(row <= 4 * m->width + 8 + 4);
    toy_free(s);
}

/* Twice the tokens take about twice the memory: no encoder needs memory of N^2. */
static void linear_memory(const toy *t, void *arg)
{
    toy longer = *t;

    (void)arg;
    longer.max_len = "65536";
    cs_session *s = toy_session(&longer, be);
    for (int training = 0; training < 2; training++) {
        int64_t n = cs_plan_memory(s, 32768, 1, 15, training);
        assert_true(cs_plan_memory(s, 65536, 1, 16, training) <= n * 9 / 4);
    }
    toy_free(s);
}

static void test_linear_memory(void **state)
{
    (void)state;
    toy_each(linear_memory, NULL);
}

/* Gradients reach exactly the parameters that took part. */
static void test_touched(void **state)
{
    static const int64_t len[] = { 3, 4 };
    toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
              .training = true };
    cs_session *s = toy_session(&t, be);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 2, 1);

    (void)state;
    toy_train(s, b, CS_KEEP_ALL);
    for (int32_t i = 0; i < m->ps.n; i++) {
        int block;
        bool unused = sscanf(m->ps.p[i].name, "encoder.block.%d", &block) == 1 && block >= 2;
        assert_int_equal(m->ps.p[i].touched, !unused);
    }
    cs_batch_free(b);
    toy_free(s);
}

static void save(const toy *t, void *arg)
{
    static const int64_t len[] = { 17, 31, 32, 18 };
    const char *path = arg;
    cs_session *s = toy_session(t, be);
    cs_model *m = s->model;
    cs_model *loaded;
    cs_batch *b = toy_batch(m, len, 4, 6);

    /* What is stored is float32, so both must predict with that. */
    for (int64_t i = 0; i < m->ps.n_real; i++)
        m->ps.value[i] = (cs_real)(float)m->ps.value[i];
    assert_int_equal(cs_model_save(m, path), CS_OK);
    if (cs_model_load(path, be, CS_USE_INFERENCE, &loaded) != CS_OK)
        fail_msg("%s: %s", label(t), cs_error_message());
    cs_session *again = cs_session_new(loaded, be);
    float *want = toy_outputs(s, b), *got = toy_outputs(again, b);
    assert_memory_equal(got, want, (size_t)cs_session_output_len(s, b) * sizeof *got);
    free(want);
    free(got);
    cs_batch_free(b);
    toy_free(s);
    toy_free(again);
}

static void test_save_load(void **state)
{
    char path[] = "/tmp/chordseq_encoders_XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    toy_each(save, path);
    unlink(path);
}

/* Products of options within their ranges that no matrix can have as columns. */
static void test_too_many_columns(void **state)
{
    enum { MOST = 3 };
    static const struct { const char *enc, *set[MOST][2], *named; } wide[] = {
        { "linformer", { { "heads", "65536" }, { "head", "65536" } }, "--encoder.head" },
        { "lowrank", { { "heads", "65536" }, { "key", "32768" } }, "--encoder.key" },
        { "lowrank", { { "heads", "65536" }, { "key", "1" }, { "value", "65536" } },
          "--encoder.value" },
        { "lowrank", { { "heads", "65536" }, { "dim", "65536" }, { "form", "paper" } }, NULL },
        { "lowrank", { { "heads", "65536" }, { "key", "1" }, { "rank", "65536" } }, NULL },
        { "singularformer", { { "heads", "65536" }, { "head", "65536" } }, "--encoder.head" },
        { "singularformer", { { "heads", "65536" }, { "head", "1" }, { "rank", "65536" } },
          "--encoder.rank" },
        { "fkernel", { { "heads", "1" }, { "dim", "65536" } }, "--encoder.dim" },
        { "fkernel", { { "heads", "65536" }, { "dim", "65536" }, { "rank", "65536" } }, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        const cs_encoder *enc = cs_encoder_find(wide[i].enc);
        void *cfg = cs_xcalloc(1, enc->cfg_size);
        cs_opt_defaults((const cs_optset[]){ { enc->opt, cfg, NULL }, { 0 } });
        for (int k = 0; k < MOST && wide[i].set[k][0]; k++)
            assert_int_equal(cs_opt_set(enc->opt, cfg, wide[i].set[k][0], wide[i].set[k][1]),
                             CS_OK);
        assert_int_equal(enc->check(cfg), wide[i].named ? CS_EUSAGE : CS_OK);
        assert_true(!wide[i].named || strstr(cs_error_message(), wide[i].named));
        cs_error_clear();
        free(cfg);
    }
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_too_many_columns),
#ifdef CS_DOUBLE
        cmocka_unit_test(test_gradients),
#else
        cmocka_unit_test(test_fused_against_composed),
        cmocka_unit_test(test_fast_against_reference),
        cmocka_unit_test(test_threads),
#endif
        cmocka_unit_test(test_batch_independence),
        cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_recompute_saves),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_dry_peak),
        cmocka_unit_test(test_predictions_take_little_memory),
        cmocka_unit_test(test_linear_memory),
        cmocka_unit_test(test_touched),
        cmocka_unit_test(test_save_load)
    };
#ifndef CS_DOUBLE
    static const struct CMUnitTest bf16[] = {
        cmocka_unit_test(test_threads), cmocka_unit_test(test_batch_independence),
        cmocka_unit_test(test_recompute)
    };
#endif
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 2, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("encoders", test, NULL, NULL);
#ifndef CS_DOUBLE
    if (cs_cpu_has(CS_CPU_AMX) && cs_backend_compute_in(be, CS_IN_BF16) == CS_OK)
        n_failed += cmocka_run_group_tests_name("encoders in bf16, by AMX", bf16, NULL, NULL);
    cs_cpu_hide(CS_CPU_AMX);
    if (cs_cpu_has(CS_CPU_BF16) && cs_backend_compute_in(be, CS_IN_BF16) == CS_OK)
        n_failed += cmocka_run_group_tests_name("encoders in bf16", bf16, NULL, NULL);
#endif
    cs_backend_close(be);
    return n_failed;
}

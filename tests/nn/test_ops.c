/* test_ops.c - every op: against the reference (float build), and its adjoint (double build). */
/* long: two programs that share cases of every op */
#include "tests/nn/ops_attn_cases.h"

#ifndef CS_DOUBLE

/* ---- float: AVX2 and fused kernels against the reference ------------------------------------ */

static cs_backend *tested;
static cs_precision precision;   /* of tested */

static cs_backend *open_tested(void)
{
    cs_backend *be = open_backend();
    if (cs_backend_compute_in(be, precision) != CS_OK)
        CS_BUG(true);
    return be;
}

/* In bf16 products are computed, and their gradients. */
static bool is_left_out(const op_case *o)
{
    static const char *const product[] = { "gemm", "affine", "conv", "chord", "seg_gemm" };
    bool takes = precision == CS_IN_FP32;
    for (int i = 0; i < COUNT(product) && !takes; i++)
        takes = strncmp(o->name, product[i], strlen(product[i])) == 0;
    return !takes;
}

static void run(const op_case *o, const env *e, cs_backend be, int n_thread, mats *s)
{
    env copy = *e;
    copy.seg.off = copy.off;
    be.n_thread = n_thread;
    o->run(&be, &copy, s->m);
}

static void assert_same_bits(const op_case *o, const mats *a, const mats *b, const char *what)
{
    for (int i = 0; i < a->n; i++)
        if (memcmp(a->m[i].p, b->m[i].p, (size_t)span(a->m[i]) * sizeof(cs_real)) != 0)
            fail_msg("%s: matrix %d depends on %s", o->name, i, what);
}

static void against_reference(const op_case *o, int n, const env *e)
{
    cs_backend ref = *tested, lower = *tested;       /* a lower level gives the same bits */
    const bool exact = precision == CS_IN_FP32;
    cs_cpu_fill(&ref, ~0u);
    cs_cpu_fill(&lower, CS_CPU_AVX512);
    for (int i = 0; i < n; i++) {
        uint64_t key = key_of(&o[i], e);
        if (is_left_out(&o[i]))
            continue;
        mats before = make(o[i].spec, e, key), want = make(o[i].spec, e, key);
        mats got = make(o[i].spec, e, key), same = make(o[i].spec, e, key);
        run(&o[i], e, ref, 1, &want);
        run(&o[i], e, *tested, 2, &got);
        run(&o[i], e, lower, 2, &same);
        if (exact)
            assert_same_bits(&o[i], &got, &same, "the instruction set");
        /* Of a few elements, all may be sums that cancel, with no others to be measured against. */
        compare_outputs(&o[i], e, &got, &want, &before, exact ? 1e-12 : 1e-4, exact ? 1e-11 : 1e-3);
        for (int k = 0; k < 4; k++)
            drop((mats *[]){ &before, &want, &got, &same }[k]);
    }
}

/* The reference, tens of times as slow, with an uneven number of threads only. */
static void any_threads(const op_case *o, int n, const env *e)
{
    cs_backend ref = *tested;
    cs_cpu_fill(&ref, ~0u);
    for (int i = 0; i < 2 * n; i++) {
        const bool is_ref = i % 2 == 1;
        const cs_backend *be = is_ref ? &ref : tested;
        const int fewest = is_ref ? 3 : 2, most = is_ref ? 3 : THREADS;
        const op_case *c = &o[i / 2];
        uint64_t key = key_of(c, e);
        if (is_left_out(c))
            continue;
        mats one = make(c->spec, e, key);
        run(c, e, *be, 1, &one);
        for (int t = fewest; t <= most; t++) {
            mats more = make(c->spec, e, key);
            run(c, e, *be, t, &more);
            assert_same_bits(c, &one, &more, "the number of threads");
            drop(&more);
        }
        drop(&one);
    }
}

/* Segment s of a matrix: its own rows, or its row of a matrix that has one per segment. */
static cs_mat part(cs_mat m, char kind, const env *e, int s)
{
    if (kind == 'R')
        return (cs_mat){ row(m, e->off[s]), e->off[s + 1] - e->off[s], m.c, m.ld };
    int64_t n = kind == 'S' ? 1 : e->group;
    return kind == 'S' || kind == 'G' ? (cs_mat){ row(m, s * n), n, m.c, m.ld } : m;
}

static void check_alone(const op_case *o, const env *e, const mats *all, mats *alone, int s)
{
    env one = new_env((int64_t[]){ e->off[s + 1] - e->off[s] }, 1, e->c, e->k, e->gap);
    int32_t *own = one.id;
    mats view = *alone;
    one.track = e->track;
    one.group = e->group;
    one.id = e->id + e->off[s];
    for (int i = 0; i < view.n; i++)
        view.m[i] = part(alone->m[i], o->spec[4 * i + 1], e, s);
    run(o, &one, *tested, 1, &view);
    for (int i = 0; i < view.n; i++) {
        cs_mat want = part(all->m[i], o->spec[4 * i + 1], e, s);
        for (int64_t r = 0; r < want.r; r++)
            if (memcmp(row(view.m[i], r), row(want, r), (size_t)want.c * sizeof *want.p) != 0)
                fail_msg("%s: segment %d of %ld rows depends on its neighbours", o->name, s,
                         (long)one.r);
    }
    free(own);
}

static void alone_as_in_a_batch(const op_case *o, int n, const env *e)
{
    for (int i = 0; i < n; i++) {
        uint64_t key = key_of(&o[i], e);
        if (!o[i].alone || is_left_out(&o[i]))
            continue;
        mats all = make(o[i].spec, e, key), alone = make(o[i].spec, e, key);
        run(&o[i], e, *tested, 2, &all);
        for (int s = 0; s < e->seg.n; s++)
            check_alone(&o[i], e, &all, &alone, s);
        drop(&all);
        drop(&alone);
    }
}

/* Weights of convolutions that exceed a thread's scratch. */
static void with_wide_sizes(void (*check)(const op_case *, int, const env *))
{
    env e = new_env((int64_t[]){ 5, 0, 200, 1 }, 4, 211, 130, 1);
    check(conv_ops, COUNT(conv_ops), &e);
    check(conv_tails, COUNT(conv_tails), &e);
    free(e.id);
}

static void each_size(void (*check)(const op_case *, int, const env *))
{
    tested = open_tested();
    with_element_sizes(check);
    with_row_sizes(check);
    with_long_sizes(check);
    with_wide_sizes(check);
    with_chord_sizes(check);
    with_attn_sizes(check);
    cs_backend_close(tested);
}

static void test_reference(void **state) { (void)state; each_size(against_reference); }

/* Smaller sizes never see a second thread. */
static void test_threads(void **state)
{
    (void)state;
    tested = open_tested();
    with_long_sizes(any_threads);
    with_chord_sizes(any_threads);
    with_attn_sizes(any_threads);
    cs_backend_close(tested);
}

static void test_alone(void **state)     { (void)state; each_size(alone_as_in_a_batch); }

/* The fused block does the composed block's arithmetic, in its order: the same bits forward. */
static void test_fused_bits(void **state)
{
    (void)state;
    tested = open_backend();
    cs_backend composed = *tested;
    composed.fused = (cs_fused){ 0 };
    env e = new_env(uneven, COUNT(uneven), 96, 88, 0);
    mats a = make(chord_ops[0].spec, &e, 3), b = make(chord_ops[0].spec, &e, 3);
    run(&chord_ops[0], &e, *tested, 2, &a);
    run(&chord_ops[0], &e, composed, 1, &b);
    assert_same_bits(&chord_ops[0], &a, &b, "fusing");
    drop(&a);
    drop(&b);
    free(e.id);
    cs_backend_close(tested);
}

/* The same for a convolution with its epilogue. */
static void test_tail_bits(void **state)
{
    (void)state;
    tested = open_tested();
    cs_backend composed = *tested;
    composed.fused = (cs_fused){ 0 };
    for (int i = 0; i < 2 * COUNT(conv_tails); i++) {
        const op_case *o = &conv_tails[i / 2];
        env e = new_env(uneven, COUNT(uneven), i % 2 ? 128 : 211, i % 2 ? 64 : 130, i % 2);
        mats a = make(o->spec, &e, 3), b = make(o->spec, &e, 3);
        run(o, &e, *tested, 2, &a);
        run(o, &e, composed, 1, &b);
        assert_same_bits(o, &a, &b, "fusing");
        drop(&a);
        drop(&b);
        free(e.id);
    }
    cs_backend_close(tested);
}

/* Adjoint and agreement tests would not see a rotation in the wrong direction: this one does. */
static void test_roll_definition(void **state)
{
    (void)state;
    tested = open_backend();
    env e = new_env((int64_t[]){ 5, 13 }, 2, 24, 1, 0);
    for (int k = 0; k < 2; k++) {
        cs_backend be = *tested;
        cs_cpu_fill(&be, k ? ~0u : 0);
        mats s = make("iRC oRC", &e, 11);
        run(&(op_case){ "roll", "iRC oRC", roll, true }, &e, be, 1, &s);
        for (int q = 0; q < 2; q++)
            for (int64_t t = 0, len = e.off[q + 1] - e.off[q]; t < len; t++)
                for (int32_t j = 0; j < e.c; j++) {
                    int64_t i = j / 4, shift = i ? INT64_C(1) << (i - 1) : 0;
                    cs_real want = row(s.m[0], e.off[q] + (t + shift) % len)[j];
                    assert_true(row(s.m[1], e.off[q] + t)[j] == want);
                }
        drop(&s);
    }
    free(e.id);
    cs_backend_close(tested);
}

/* The same for a convolution's taps and its circle, shorter than the dilation as well as longer. */
static void test_conv_definition(void **state)
{
    (void)state;
    tested = open_backend();
    env e = new_env((int64_t[]){ 2, 13, 1 }, 3, 8, 5, 0);
    for (int way = 0; way < 2; way++) {
        cs_backend be = *tested;
        cs_cpu_fill(&be, way ? ~0u : 0);
        mats s = make("iRK iTC i1C oRC", &e, 12);
        run(&(op_case){ "conv", "iRK iTC i1C oRC", conv, true }, &e, be, 1, &s);
        for (int64_t r = 0; r < e.r; r++) {
            int q = r < 2 ? 0 : r < 15 ? 1 : 2;
            int64_t len = e.off[q + 1] - e.off[q], t = r - e.off[q];
            for (int32_t j = 0; j < e.c; j++) {
                double want = (double)s.m[2].p[j];
                for (int32_t i = 0; i < N_TAP * e.k; i++) {
                    int64_t at = (t + (i / e.k - 1) * e.track + 8 * len) % len;
                    want += (double)row(s.m[0], e.off[q] + at)[i % e.k] * (double)row(s.m[1], i)[j];
                }
                check_below(fabs((double)row(s.m[3], r)[j] - want), 1e-4);
            }
        }
        drop(&s);
    }
    free(e.id);
    cs_backend_close(tested);
}

static void gelu_range(cs_backend *be, double from, double to, double *abs_err, double *ulp,
                       double *slope_err)
{
    enum { N = 4096 };
    cs_mat x = scratch(be, 1, N), y = scratch(be, 1, N), one = scratch(be, 1, N);
    cs_mat dx = scratch(be, 1, N);
    for (int i = 0; i < N; i++) {
        x.p[i] = (float)(from + (to - from) * i / N);
        one.p[i] = 1;
    }
    be->op.act(be, CS_ACT_GELU, x, y);
    be->op.act_bwd(be, CS_ACT_GELU, x, one, dx);
    for (int i = 0; i < N; i++) {
        double v = (double)x.p[i], cdf = 0.5 * erfc(-v / sqrt(2.0)), want = v * cdf;
        double err = fabs((double)y.p[i] - want);
        double slope = cdf + v * exp(-v * v / 2) / sqrt(2 * acos(-1.0));
        *abs_err = fmax(*abs_err, err);
        *slope_err = fmax(*slope_err, fabs((double)dx.p[i] - slope));
        if (v > -1 && fabs(want) > 1e-30)
            *ulp = fmax(*ulp, err / ldexp(1, ilogb(want) - 23));
    }
    cs_real *const all[] = { x.p, y.p, one.p, dx.p };
    for (int i = 0; i < COUNT(all); i++)
        be->op.dealloc(be, all[i]);
}

static void test_gelu_accuracy(void **state)
{
    (void)state;
    cs_backend *be = open_backend();
    double abs_err = 0, ulp = 0, slope_err = 0;
    for (int i = -80; i < 80; i++)
        gelu_range(be, i * 0.1, (i + 1) * 0.1, &abs_err, &ulp, &slope_err);
    gelu_range(be, -1e-3, 1e-3, &abs_err, &ulp, &slope_err);
    gelu_range(be, -1e30, -8, &abs_err, &ulp, &slope_err);
    check_below(abs_err, 3e-7);
    check_below(ulp, 4);
    check_below(slope_err, 1e-6);
    float v[4] = { NAN, INFINITY, -INFINITY, 1e30f };
    cs_mat x = { v, 1, 4, 4 };
    be->op.act(be, CS_ACT_GELU, x, x);
    assert_true(isnan(v[0]) && isinf(v[1]) && fabsf(v[2]) < 3e-7f && v[3] == 1e30f);
    cs_backend_close(be);
}

/* With unit vectors as values attention returns its weights: each is left out or divided by what is
 * left, and over many keys their mean is the weight without dropout. */
static void test_attention_dropout(void **state)
{
    enum { L = 5, H = 2, N = 4000 };
    static const int64_t off[] = { 0, L };
    const cs_seg seg = { .off = off, .n = 1, .rows = L };
    cs_attn a = { .seg = seg, .key = seg, .n_head = H, .scale = 1 };
    cs_backend *be = open_backend();
    cs_mat m[] = { scratch(be, L, H * L), scratch(be, L, H * L), scratch(be, L, H * L),
                   scratch(be, L, H * L), scratch(be, L, H) }, p = scratch(be, L, H * L);
    double mean[L * H * L] = { 0 };

    (void)state;
    for (int i = 0; i < L * H * L; i++) {
        m[0].p[i] = m[1].p[i] = (cs_real)(cs_rng_unit(3, (uint64_t)i) - 0.5);
        m[2].p[i] = i % L == i / (H * L);
    }
    be->op.attend(be, &a, &(cs_qkv){ m[0], m[1], m[2], p, m[4] });
    a.dropout = 0.3;
    for (uint64_t k = 0; k < N; k++) {
        a.drop_key = cs_rng_key(1, k);
        be->op.attend(be, &a, &(cs_qkv){ m[0], m[1], m[2], m[3], m[4] });
        for (int i = 0; i < L * H * L; i++) {
            const double w = (double)m[3].p[i];
            assert_true(w == 0 || fabs(w - (double)p.p[i] / 0.7) < 1e-5);
            mean[i] += w / N;
        }
    }
    for (int i = 0; i < L * H * L; i++)
        check_near(mean[i], (double)p.p[i], 5 * (double)p.p[i] * sqrt(0.3 / 0.7 / N));
    for (int i = 0; i < 5; i++)
        be->op.dealloc(be, m[i].p);
    be->op.dealloc(be, p.p);
    cs_backend_close(be);
}

static void test_open(void **state)
{
    (void)state;
    cs_backend *be;
    assert_int_equal(cs_backend_open("gpu9", 1, &be), CS_EDEVICE);
    assert_null(be);
    assert_non_null(strstr(cs_error_message(), "no compute device 'gpu9' in this build: "
                           "available are 'cpu'"));
    cs_error_clear();
    assert_int_equal(cs_backend_open("cpu", 0, &be), CS_OK);
    assert_int_equal(be->n_thread, cs_cpu_count());
    for (size_t n = 0; n < (size_t)5 << 20; n = 3 * n + 1) {
        void *p = be->op.alloc(be, n);
        assert_int_equal((uintptr_t)p % 64, 0);
        be->op.dealloc(be, p);
    }
#ifndef __SANITIZE_ADDRESS__    /* AddressSanitizer stops the program instead */
    assert_null(be->op.alloc(be, SIZE_MAX / 2));
#endif
    cs_backend_close(be);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_open), cmocka_unit_test(test_reference),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_alone),
        cmocka_unit_test(test_fused_bits), cmocka_unit_test(test_tail_bits),
        cmocka_unit_test(test_roll_definition),
        cmocka_unit_test(test_conv_definition),
        cmocka_unit_test(test_gelu_accuracy), cmocka_unit_test(test_attention_dropout),
    };
    static const struct CMUnitTest bf16[] = {
        cmocka_unit_test(test_reference), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_alone), cmocka_unit_test(test_tail_bits),
    };
    if (cs_cpu_init() != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("ops", test, NULL, NULL);
    precision = CS_IN_BF16;
    if (cs_cpu_has(CS_CPU_AMX))
        n_failed += cmocka_run_group_tests_name("ops in bf16, by AMX", bf16, NULL, NULL);
    cs_cpu_hide(CS_CPU_AMX);
    if (cs_cpu_has(CS_CPU_BF16))
        n_failed += cmocka_run_group_tests_name("ops in bf16", bf16, NULL, NULL);
    return n_failed;
}

#else

/* ---- double: adjoints ------------------------------------------------------------------------ */

/* d[i] receives the gradient of matrix i of the forward op when dy is that of its output. */
typedef struct pair {
    op_case forward;
    int out;
    const char *wrt;             /* which matrices have a gradient, as digits */
    void (*bwd)(cs_backend *be, const env *e, const cs_mat *m, cs_mat dy, cs_mat *d);
    bool linear;                 /* the dot-product test: any step, no rounding to speak of */
} pair;

#define BWD(name_) static void name_(cs_backend *be, const env *e, const cs_mat *m, cs_mat dy, \
                                     cs_mat *d)
#define BWD_CALL(...) do { (void)e; (void)m; __VA_ARGS__; } while (0)

BWD(d_gemm_nn)
{
    BWD_CALL(be->op.gemm(be, false, true, dy, m[1], 1, d[0]),
             be->op.gemm(be, true, false, m[0], dy, 1, d[1]));
}
BWD(d_gemm_nt)
{
    BWD_CALL(be->op.gemm(be, false, false, dy, m[1], 1, d[0]),
             be->op.gemm(be, true, false, dy, m[0], 1, d[1]));
}
BWD(d_gemm_tt)
{
    BWD_CALL(be->op.gemm(be, true, true, m[1], dy, 1, d[0]),
             be->op.gemm(be, true, true, dy, m[0], 1, d[1]));
}
BWD(d_bias)  { BWD_CALL(be->op.colsum(be, dy, d[0])); }
BWD(d_gelu)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_GELU, m[0], dy, d[0])); }
BWD(d_relu)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_RELU, m[0], dy, d[0])); }
BWD(d_sigm)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_SIGMOID, m[0], dy, d[0])); }
BWD(d_soft)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_SOFTPLUS, m[0], dy, d[0])); }
BWD(d_tanh)  { BWD_CALL(be->op.act_bwd(be, CS_ACT_TANH, m[0], dy, d[0])); }
BWD(d_mul)   { BWD_CALL(be->op.mul(be, dy, m[1], 1, d[0]), be->op.mul(be, dy, m[0], 1, d[1])); }
BWD(d_norm)  { BWD_CALL(be->op.layernorm_bwd(be, m[0], m[1], m[4], dy, d[0], d[1], d[2])); }
BWD(d_group)
{
    be->op.seg_groupnorm_bwd(be, e->seg, e->group, m[0], m[1], m[4], dy, d[0], d[1], d[2]);
}
BWD(d_fixed)
{
    BWD_CALL(be->op.batchnorm_bwd(be, false, 1e-5, m[0], m[1], m[2], dy, d[0], d[2], d[3]));
}
BWD(d_batch)
{
    BWD_CALL(be->op.batchnorm_bwd(be, true, 1e-5, m[0], m[4], m[1], dy, d[0], d[1], d[2]));
}
BWD(d_embed) { BWD_CALL(be->op.embed_bwd(be, e->id, -1, dy, d[0])); }
BWD(d_roll)  { BWD_CALL(be->op.seg_roll(be, e->seg, e->track, -1, dy, 1, d[0])); }
BWD(d_back)  { BWD_CALL(be->op.seg_roll(be, e->seg, e->track, 1, dy, 1, d[0])); }
BWD(d_mean)  { BWD_CALL(be->op.seg_mean_bwd(be, e->seg, dy, d[0])); }
BWD(d_window) { BWD_CALL(be->op.seg_window_bwd(be, e->seg, true, 4, dy, d[0])); }
BWD(d_first)  { BWD_CALL(be->op.seg_window_bwd(be, e->seg, false, 1, dy, d[0])); }
BWD(d_largest) { BWD_CALL(be->op.seg_max_bwd(be, e->seg, false, m[0], m[1], dy, d[0])); }
BWD(d_smooth) { BWD_CALL(be->op.seg_max_bwd(be, e->seg, true, m[0], m[1], dy, d[0])); }
BWD(d_drop)  { BWD_CALL(be->op.dropout(be, 77, 0.3, dy, 1, d[0])); }
BWD(d_xent)  { BWD_CALL(be->op.axpby(be, dy.p[0], m[4], 1, d[0])); }
BWD(d_tree)  { BWD_CALL(be->op.axpby(be, dy.p[0], m[6], 1, d[0])); }
BWD(d_mse)   { BWD_CALL(be->op.axpby(be, dy.p[0], m[3], 1, d[0])); }
BWD(d_conv)
{
    be->op.seg_conv(be, e->seg, taps_of(e), true, dy, m[1], (cs_mat){ 0 }, 1, d[0]);
    be->op.seg_conv_dw(be, e->seg, taps_of(e), m[0], dy, d[1]);
    be->op.colsum(be, dy, d[2]);
}
/* Links beyond the table have no gradient. */
BWD(d_sparse)
{
    cs_links l = links_of(e);
    cs_mat w = m[0], dw = d[0];
    w.c = dw.c = l.n;
    be->op.seg_sparse_bwd(be, e->seg, &l, w, m[1], dy, dw, d[1]);
    be->op.axpby(be, 1, dy, 1, d[2]);
}
BWD(d_weight) { BWD_CALL(be->op.conv_weight_bwd(be, N_TAP, m[0], m[1], dy, d[0], d[1])); }
BWD(d_plain)
{
    BWD_CALL(be->op.conv_weight_bwd(be, N_TAP, m[0], (cs_mat){ 0 }, dy, d[0], (cs_mat){ 0 }));
}

CASE(batchnorm_whole)
{
    CALL(be->op.batch_stat(be, m[0], m[4]),
         be->op.batchnorm(be, 1e-5, m[0], m[4], m[1], m[2], m[3]));
}

static const pair pairs[] = {
    { { "gemm_nn", "iRK iKC oRC", gemm_nn, 0 }, 2, "01", d_gemm_nn, true },
    { { "gemm_nt", "iRK iCK oRC", gemm_nt, 0 }, 2, "01", d_gemm_nt, true },
    { { "gemm_tt", "iKR iCK oRC", gemm_tt, 0 }, 2, "01", d_gemm_tt, true },
    { { "add_bias", "i1C aRC", add_bias, 0 }, 1, "0", d_bias, true },
    { { "gelu", "iRC oRC", gelu, 0 }, 1, "0", d_gelu, false },
    { { "relu", "kRC oRC", relu, 0 }, 1, "0", d_relu, false },
    { { "sigmoid", "iRC oRC", sigmoid, 0 }, 1, "0", d_sigm, false },
    { { "softplus", "iRC oRC", softplus, 0 }, 1, "0", d_soft, false },
    { { "tanh", "iRC oRC", hyp_tan, 0 }, 1, "0", d_tanh, false },
    { { "mul", "iRC iRC oRC", mul, 0 }, 2, "01", d_mul, false },
    { { "layernorm", "iRC i1C i1C oRC oR2", layernorm, 0 }, 3, "012", d_norm, false },
    { { "groupnorm", "iRC i1C i1C oRC oG2", groupnorm, 0 }, 3, "012", d_group, false },
    { { "batchnorm", "iRC p2C i1C i1C oRC", batchnorm, 0 }, 4, "023", d_fixed, false },
    { { "batchnorm_whole", "iRC i1C i1C oRC o2C", batchnorm_whole, 0 }, 3, "012", d_batch, false },
    { { "embed", "iVC oRC", embed, 0 }, 1, "0", d_embed, true },
    { { "roll", "iRC oRC", roll, 0 }, 1, "0", d_roll, true },
    { { "roll_back", "iRC oRC", roll_back, 0 }, 1, "0", d_back, true },
    { { "mean", "iRC oSC", mean, 0 }, 1, "0", d_mean, true },
    { { "window", "iRC oSC", window, 0 }, 1, "0", d_window, true },
    { { "first", "iRC oSC", first, 0 }, 1, "0", d_first, true },
    { { "conv", "iRK iTC i1C oRC", conv, 0 }, 3, "012", d_conv, true },
    { { "sparse", "iRK iRC iRC oRC", sparse, 0 }, 3, "012", d_sparse, true },
    { { "conv_weight", "iCT pC1 oTC", conv_weight, 0 }, 2, "01", d_weight, false },
    { { "conv_weight_plain", "iCT oTC", conv_weight_plain, 0 }, 1, "0", d_plain, true },
    { { "dropout", "iRC oRC", dropout, 0 }, 1, "0", d_drop, true },
    { { "xent", "iRC tR1 p1C a11 oRC", xent, 0 }, 3, "0", d_xent, false },
    { { "xent_tree", "iRC tR1 p1C t2C p2C a11 oRC", xent_tree, 0 }, 5, "0", d_tree, false },
    { { "xent_labels", "iRC bRC pC2 a11 oRC", xent_labels, 0 }, 3, "0", d_xent, false },
    { { "mse", "iRC nRC a11 oRC", mse, 0 }, 2, "0", d_mse, false },
};

BWD(d_attend)
{
    cs_attn a = attn_of(e);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    be->op.attend_bwd(be, &a, &x, &g);
}
BWD(d_attend_few)
{
    cs_attn a = few_of(e);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    be->op.attend_bwd(be, &a, &x, &g);
}
BWD(d_attend_drop)
{
    cs_attn a = drop_of(e);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    be->op.attend_bwd(be, &a, &x, &g);
}
BWD(d_attend_padded)
{
    cs_attn a = attn_of(e);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    a.key = padded_of(e);
    be->op.attend_bwd(be, &a, &x, &g);
}
BWD(d_linear)
{
    cs_attn a = attn_of(e);
    cs_qkv x = qkv_of(m), g = { d[0], d[1], d[2], dy, d[4] };
    be->op.linear_attend_bwd(be, &a, &x, &g);
}
BWD(d_softmax)     { BWD_CALL(be->op.softmax_bwd(be, m[1], dy, d[0])); }
BWD(d_seg_softmax) { be->op.seg_softmax_bwd(be, e->seg, m[1], dy, d[0]); }
BWD(d_mask)    { BWD_CALL(be->op.seg_mask(be, padded_of(e), 0, dy, 1, d[0])); }
BWD(d_position)
{
    BWD_CALL(be->op.seg_position_bwd(be, e->seg, 0.3, dy, d[0]),
             be->op.axpby(be, 1, dy, 1, d[1]));
}
BWD(d_penalty) { BWD_CALL(be->op.axpby(be, dy.p[0], m[2], 1, d[0])); }

static const pair attn_pairs[] = {
    { { "largest", "kRC oSC", largest, 0 }, 1, "0", d_largest, false },
    { { "smooth", "iRC oSC", smooth, 0 }, 1, "0", d_smooth, false },
    { { "attend", "iRC iRC iRC oRC oRH", attend, 0 }, 3, "012", d_attend, false },
    { { "attend_few", "iRC iUD iUD oRC oRH", attend_few, 0 }, 3, "012", d_attend_few, false },
    { { "attend_drop", "iRC iRC iRC oRC oRH", attend_drop, 0 }, 3, "012", d_attend_drop, false },
    { { "attend_padded", "iRC iRC iRC oRC oRH", attend_padded, 0 }, 3, "012", d_attend_padded,
      false },
    { { "linear", "pRC pRC iRC oRC oGM", linear_attend, 0 }, 3, "012", d_linear, false },
    { { "softmax", "iRC oRC", softmax, 0 }, 1, "0", d_softmax, false },
    { { "seg_softmax", "iRC oRC", seg_softmax, 0 }, 1, "0", d_seg_softmax, false },
    { { "mask", "iRC oRC", mask, 0 }, 1, "0", d_mask, true },
    { { "position", "iRC iRC oRC", position, 0 }, 2, "01", d_position, true },
    { { "pen_off", "iXC a11 oXC", pen_off, 0 }, 1, "0", d_penalty, true },
    { { "pen_square", "iXC a11 oXC", pen_square, 0 }, 1, "0", d_penalty, false },
    { { "pen_ortho", "iXC a11 oXC", pen_ortho, 0 }, 1, "0", d_penalty, false },
};

static double dot(cs_mat a, cs_mat b)
{
    double s = 0;
    for (int64_t r = 0; r < a.r; r++)
        for (int32_t j = 0; j < a.c; j++)
            s += row(a, r)[j] * row(b, r)[j];
    return s;
}

/* <dy, f(m with m[i] + h u)>, on fresh outputs */
static double moved(cs_backend *be, const pair *p, const env *e, uint64_t key, int i, cs_mat u,
                    double h, cs_mat dy)
{
    mats s = make(p->forward.spec, e, key);
    be->op.axpby(be, h, u, 1, s.m[i]);
    p->forward.run(be, e, s.m);
    double v = dot(dy, s.m[p->out]);
    drop(&s);
    return v;
}

static void check_gradient(cs_backend *be, const pair *p, const env *e, uint64_t key, int i,
                           cs_mat d, cs_mat dy)
{
    check_page page;
    cs_mat u = new_mat(d.r, d.c, e->gap, &page);
    double h = p->linear ? 1 : 1e-5, size = 0;
    for (int64_t j = 0; j < span(u); j++)
        u.p[j] = cs_rng_normal(key ^ 77, (uint64_t)j);
    double up = moved(be, p, e, key, i, u, h, dy), down = moved(be, p, e, key, i, u, -h, dy);
    double want = (up - down) / (2 * h), got = dot(d, u);
    size = sqrt(dot(d, d) * dot(u, u)) + fabs(want);
    if (!(fabs(got - want) <= (p->linear ? 1e-13 : 1e-7) * size))
        fail_msg("%s, matrix %d, %ld x %d: %.12g, by differences %.12g", p->forward.name, i,
                 (long)e->r, e->c, got, want);
    check_page_free(&page);
}

static void check_pair(cs_backend *be, const pair *p, const env *e)
{
    uint64_t key = key_of(&p->forward, e);
    mats s = make(p->forward.spec, e, key);
    cs_mat d[MAX_MAT] = { { 0 } }, before[MAX_MAT], dy;
    check_page page[2 * MAX_MAT + 1];
    int n = 0;
    p->forward.run(be, e, s.m);
    dy = new_mat(s.m[p->out].r, s.m[p->out].c, e->gap, &page[n++]);
    for (int64_t j = 0; j < span(dy); j++)
        dy.p[j] = cs_rng_normal(key ^ 99, (uint64_t)j);
    for (int i = 0; i < s.n; i++) {
        d[i] = new_mat(s.m[i].r, s.m[i].c, e->gap, &page[n++]);
        before[i] = new_mat(s.m[i].r, s.m[i].c, e->gap, &page[n++]);
        for (int64_t j = 0; j < span(d[i]); j++)
            d[i].p[j] = before[i].p[j] = cs_rng_unit(key ^ 55, (uint64_t)j);
    }
    p->bwd(be, e, s.m, dy, d);
    for (const char *w = p->wrt; *w; w++) {
        int i = *w - '0';
        be->op.axpby(be, -1, before[i], 1, d[i]);    /* adjoints accumulate */
        check_gradient(be, p, e, key, i, d[i], dy);
    }
    while (n > 0)
        check_page_free(&page[--n]);
    drop(&s);
}

static void check_pairs(const op_case *o, int n, const env *e)
{
    cs_backend *be = open_backend();
    env own = *e;
    (void)n;
    own.seg.off = own.off;
    for (int i = 0; o == row_ops && i < COUNT(pairs); i++)
        check_pair(be, &pairs[i], &own);
    for (int i = 0; o == attn_ops && i < COUNT(attn_pairs); i++)
        check_pair(be, &attn_pairs[i], &own);
    cs_backend_close(be);
}

static void test_adjoints(void **state)
{
    (void)state;
    with_row_sizes(check_pairs);
    with_long_sizes(check_pairs);
    with_attn_sizes(check_pairs);
}

int main(void)
{
    static const struct CMUnitTest test[] = { cmocka_unit_test(test_adjoints) };
    return cs_cpu_init() != CS_OK ? 2 : cmocka_run_group_tests_name("adjoints", test, NULL, NULL);
}

#endif

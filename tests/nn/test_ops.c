/* test_ops.c - every op against the reference kernels, with any number of threads, by segment. */
#include "tests/nn/ops_attn_cases.h"

static cs_backend *tested;
static cs_precision precision;   /* of tested */

static cs_backend *open_tested(void)
{
    cs_backend *be = open_backend();
    if (cs_backend_compute_in(be, precision) != CS_OK)
        CS_BUG(true);
    return be;
}

/* In bf16 only products and their adjoints are tested. */
static bool is_skipped(const op_case *o)
{
    static const char *const product[] = { "gemm", "affine", "conv", "chord", "seg_gemm" };
    bool is_tested = precision == CS_IN_FP32;
    for (int i = 0; i < COUNT(product) && !is_tested; i++)
        is_tested = strncmp(o->name, product[i], strlen(product[i])) == 0;
    return !is_tested;
}

static void run(const op_case *o, const op_sizes *sz, cs_backend be, int n_thread, operands *s)
{
    op_sizes copy = *sz;
    copy.seg.off = copy.off;
    be.n_thread = n_thread;
    o->run(&be, &copy, s->m);
}

static void assert_same_bits(const op_case *o, const operands *a, const operands *b,
                             const char *what)
{
    for (int i = 0; i < a->n; i++)
        if (memcmp(a->m[i].p, b->m[i].p, (size_t)mat_span(a->m[i]) * sizeof(cs_real)) != 0)
            fail_msg("%s: matrix %d depends on %s", o->name, i, what);
}

/* In fp32 the reference gives the same bits with any number of threads, and the tested backend with
 * any instruction set. The reference knows no other precision. */
static void same_bits(const op_case *o, const op_sizes *sz, cs_backend ref, const operands *before,
                      const operands *want, const operands *got)
{
    cs_backend lower = *tested;
    operands threads = copy_operands(before), same = copy_operands(before);

    cs_cpu_fill(&lower, CS_CPU_AVX512);
    run(o, sz, ref, 3, &threads);
    run(o, sz, lower, 2, &same);
    assert_same_bits(o, want, &threads, "the number of threads (reference)");
    assert_same_bits(o, got, &same, "the instruction set");
    free_operands(&threads);
    free_operands(&same);
}

static void compare_with_reference(const op_case *o, int n, const op_sizes *sz)
{
    cs_backend ref = *tested;
    const bool exact = precision == CS_IN_FP32;
    cs_cpu_fill(&ref, ~0u);
    for (int i = 0; i < n; i++) {
        if (is_skipped(&o[i]))
            continue;
        operands before = make_operands(o[i].spec, sz, key_of(&o[i], sz));
        operands want = copy_operands(&before), got = copy_operands(&before);
        run(&o[i], sz, ref, 1, &want);
        run(&o[i], sz, *tested, 2, &got);
        if (exact)
            same_bits(&o[i], sz, ref, &before, &want, &got);
        /* In a small matrix all elements may be sums that cancel: a larger relative error. */
        compare_outputs(&o[i], sz, &got, &want, &before, exact ? 1e-12 : 1e-4,
                        exact ? 1e-11 : 1e-3);
        for (int k = 0; k < 3; k++)
            free_operands((operands *[]){ &before, &want, &got }[k]);
    }
}

/* A product without norms, and without weights in double. */
static bool is_exact(const char *name)
{
    return strncmp(name, "gemm", 4) == 0
        || (strncmp(name, "conv", 4) == 0 && !strstr(name, "norm") && !strstr(name, "weight")
            && !strstr(name, "train"));
}

/* bf16 holds small integers, and single precision their sums in any order: no tolerance. */
static void compare_integers(const op_case *o, int n, const op_sizes *sz)
{
    cs_backend ref = *tested;
    cs_cpu_fill(&ref, ~0u);
    for (int i = 0; i < n; i++) {
        if (!is_exact(o[i].name))
            continue;
        operands want = make_operands(o[i].spec, sz, key_of(&o[i], sz));
        for (int k = 0; k < want.n; k++)
            for (int64_t j = 0; j < mat_span(want.m[k]); j++)
                want.m[k].p[j] = (cs_real)rint((double)want.m[k].p[j]);
        operands got = copy_operands(&want);
        run(&o[i], sz, ref, 1, &want);
        run(&o[i], sz, *tested, 2, &got);
        for (int k = 0; k < want.n; k++)
            for (int64_t j = 0; j < mat_span(want.m[k]); j++)
                if (j % want.m[k].ld < want.m[k].c && !(want.m[k].p[j] == got.m[k].p[j]))
                    fail_msg("%s, matrix %d, %ld x %d (k %d): %g, not %g", o[i].name, k,
                             (long)sz->r, sz->c, sz->k, (double)got.m[k].p[j],
                             (double)want.m[k].p[j]);
        free_operands(&want);
        free_operands(&got);
    }
}

static void compare_thread_counts(const op_case *o, int n, const op_sizes *sz)
{
    for (int i = 0; i < n; i++) {
        if (is_skipped(&o[i]))
            continue;
        operands before = make_operands(o[i].spec, sz, key_of(&o[i], sz));
        operands one = copy_operands(&before);
        run(&o[i], sz, *tested, 1, &one);
        for (int t = 2; t <= THREADS; t++) {
            operands more = copy_operands(&before);
            run(&o[i], sz, *tested, t, &more);
            assert_same_bits(&o[i], &one, &more, "the number of threads");
            free_operands(&more);
        }
        free_operands(&before);
        free_operands(&one);
    }
}

/* Segment s of a matrix: its own rows, or its row of a matrix that has one per segment. */
static cs_mat part(cs_mat m, char kind, const op_sizes *sz, int s)
{
    if (kind == 'R')
        return (cs_mat){ row(m, sz->off[s]), sz->off[s + 1] - sz->off[s], m.c, m.ld };
    int64_t n = kind == 'S' ? 1 : sz->group;
    return kind == 'S' || kind == 'G' ? (cs_mat){ row(m, s * n), n, m.c, m.ld } : m;
}

static void check_segment(const op_case *o, const op_sizes *sz, const operands *all,
                          operands *single, int s)
{
    op_sizes one = new_sizes((int64_t[]){ sz->off[s + 1] - sz->off[s] }, 1, sz->c, sz->k, sz->gap);
    int32_t *own = one.id;
    operands view = *single;
    one.track = sz->track;
    one.group = sz->group;
    one.id = sz->id + sz->off[s];
    for (int i = 0; i < view.n; i++)
        view.m[i] = part(single->m[i], o->spec[4 * i + 1], sz, s);
    run(o, &one, *tested, 1, &view);
    for (int i = 0; i < view.n; i++) {
        cs_mat want = part(all->m[i], o->spec[4 * i + 1], sz, s);
        for (int64_t r = 0; r < want.r; r++)
            if (memcmp(row(view.m[i], r), row(want, r), (size_t)want.c * sizeof *want.p) != 0)
                fail_msg("%s: segment %d of %ld rows depends on its neighbours", o->name, s,
                         (long)one.r);
    }
    free(own);
}

static void compare_segments(const op_case *o, int n, const op_sizes *sz)
{
    for (int i = 0; i < n; i++) {
        uint64_t key = key_of(&o[i], sz);
        if (!o[i].independent || is_skipped(&o[i]))
            continue;
        operands all = make_operands(o[i].spec, sz, key), single = copy_operands(&all);
        run(&o[i], sz, *tested, 2, &all);
        for (int s = 0; s < sz->seg.n; s++)
            check_segment(&o[i], sz, &all, &single, s);
        free_operands(&all);
        free_operands(&single);
    }
}

/* Weights of convolutions that exceed a thread's scratch. */
static void with_wide_sizes(void (*check)(const op_case *, int, const op_sizes *))
{
    op_sizes sz = new_sizes((int64_t[]){ 5, 0, 200, 1 }, 4, 211, 130, 1);
    check(conv_ops, COUNT(conv_ops), &sz);
    check(conv_epilogues, COUNT(conv_epilogues), &sz);
    free(sz.id);
}

static void each_size(void (*check)(const op_case *, int, const op_sizes *))
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

static void test_reference(void **state) { (void)state; each_size(compare_with_reference); }

/* Odd numbers of channels, then blocks of them. */
static void test_integers(void **state)
{
    (void)state;
    tested = open_tested();
    with_row_sizes(compare_integers);
    with_long_sizes(compare_integers);
    with_wide_sizes(compare_integers);
    cs_backend_close(tested);
}

/* Smaller sizes never see a second thread. */
static void test_threads(void **state)
{
    (void)state;
    tested = open_tested();
    with_long_sizes(compare_thread_counts);
    with_chord_sizes(compare_thread_counts);
    with_attn_sizes(compare_thread_counts);
    cs_backend_close(tested);
}

static void test_segment_independence(void **state) { (void)state; each_size(compare_segments); }

/* The fused block does the composed block's arithmetic, in its order: the same bits forward. */
static void test_fused_bits(void **state)
{
    (void)state;
    tested = open_backend();
    cs_backend composed = *tested;
    composed.fused = (cs_fused){ 0 };
    op_sizes sz = new_sizes(uneven, COUNT(uneven), 96, 88, 0);
    operands a = make_operands(chord_ops[0].spec, &sz, 3);
    operands b = make_operands(chord_ops[0].spec, &sz, 3);
    run(&chord_ops[0], &sz, *tested, 2, &a);
    run(&chord_ops[0], &sz, composed, 1, &b);
    assert_same_bits(&chord_ops[0], &a, &b, "fusing");
    free_operands(&a);
    free_operands(&b);
    free(sz.id);
    cs_backend_close(tested);
}

/* The same for a convolution with its epilogue. */
static void test_epilogue_bits(void **state)
{
    (void)state;
    tested = open_tested();
    cs_backend composed = *tested;
    composed.fused = (cs_fused){ 0 };
    for (int i = 0; i < 2 * COUNT(conv_epilogues); i++) {
        const op_case *o = &conv_epilogues[i / 2];
        op_sizes sz = new_sizes(uneven, COUNT(uneven), i % 2 ? 128 : 211, i % 2 ? 64 : 130, i % 2);
        operands a = make_operands(o->spec, &sz, 3), b = make_operands(o->spec, &sz, 3);
        run(o, &sz, *tested, 2, &a);
        run(o, &sz, composed, 1, &b);
        assert_same_bits(o, &a, &b, "fusing");
        free_operands(&a);
        free_operands(&b);
        free(sz.id);
    }
    cs_backend_close(tested);
}

/* Adjoint and agreement tests would not see a rotation in the wrong direction: this one does. */
static void test_roll_definition(void **state)
{
    (void)state;
    tested = open_backend();
    op_sizes sz = new_sizes((int64_t[]){ 5, 13 }, 2, 24, 1, 0);
    for (int k = 0; k < 2; k++) {
        cs_backend be = *tested;
        cs_cpu_fill(&be, k ? ~0u : 0);
        operands s = make_operands("iRC oRC", &sz, 11);
        run(&(op_case){ "roll", "iRC oRC", roll, true }, &sz, be, 1, &s);
        for (int q = 0; q < 2; q++)
            for (int64_t t = 0, len = sz.off[q + 1] - sz.off[q]; t < len; t++)
                for (int32_t j = 0; j < sz.c; j++) {
                    int64_t i = j / 4, shift = i ? INT64_C(1) << (i - 1) : 0;
                    cs_real want = row(s.m[0], sz.off[q] + (t + shift) % len)[j];
                    assert_true(row(s.m[1], sz.off[q] + t)[j] == want);
                }
        free_operands(&s);
    }
    free(sz.id);
    cs_backend_close(tested);
}

/* The same for a convolution's taps and its circle, shorter than the dilation as well as longer. */
static void test_conv_definition(void **state)
{
    (void)state;
    tested = open_backend();
    op_sizes sz = new_sizes((int64_t[]){ 2, 13, 1 }, 3, 8, 5, 0);
    for (int way = 0; way < 2; way++) {
        cs_backend be = *tested;
        cs_cpu_fill(&be, way ? ~0u : 0);
        operands s = make_operands("iRK iTC i1C oRC", &sz, 12);
        run(&(op_case){ "conv", "iRK iTC i1C oRC", conv, true }, &sz, be, 1, &s);
        for (int64_t r = 0; r < sz.r; r++) {
            int q = r < 2 ? 0 : r < 15 ? 1 : 2;
            int64_t len = sz.off[q + 1] - sz.off[q], t = r - sz.off[q];
            for (int32_t j = 0; j < sz.c; j++) {
                double want = (double)s.m[2].p[j];
                for (int32_t i = 0; i < N_TAP * sz.k; i++) {
                    int64_t at = (t + (i / sz.k - 1) * sz.track + 8 * len) % len;
                    want += (double)row(s.m[0], sz.off[q] + at)[i % sz.k]
                          * (double)row(s.m[1], i)[j];
                }
                check_below(fabs((double)row(s.m[3], r)[j] - want), 1e-4);
            }
        }
        free_operands(&s);
    }
    free(sz.id);
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

/* A NaN among biases of 0 in column j, by the kernels of be. */
static void check_nan_bias(cs_backend *be, cs_mat x, int32_t c, int32_t j)
{
    const bool fused = be->fused.affine != NULL;
    cs_mat w = scratch(be, c, x.c), bias = scratch(be, 1, c), y = scratch(be, x.r, c);
    cs_mat pack = scratch(be, 1, fused ? (int32_t)be->fused.affine_pack_size(w) : 1);

    for (int64_t i = 0; i < w.r * w.c; i++)
        w.p[i] = (cs_real)(i % 3 - 1);
    bias.p[j] = NAN;
    for (int i = 0; i <= fused; i++) {
        if (i == 0) {
            be->op.gemm(be, false, true, x, w, 0, y);
            be->op.add_bias(be, bias, y);
        } else {
            be->fused.affine_prepare(be, w, pack.p);
            be->fused.affine(be, x, pack.p, bias, y);
        }
        for (int64_t k = 0; k < y.r * c; k++)
            assert_int_equal(!!isnan(y.p[k]), k % c == j);
    }
    cs_mat *const all[] = { &w, &bias, &y, &pack };
    for (int i = 0; i < COUNT(all); i++)
        be->op.dealloc(be, all[i]->p);
}

static void test_nan_bias(void **state)
{
    static const int32_t size[][2] = { { 1, 1 }, { 3, 16 }, { 16, 40 }, { 50, 32 }, { 40, 35 } };
    static const unsigned hidden[] = { 0, CS_CPU_AVX512, ~0u };
    cs_backend *be = open_tested();

    (void)state;
    for (int level = 0; level < COUNT(hidden); level++) {
        cs_backend at = *be;
        if (level > 0 && precision != CS_IN_FP32)
            break;
        if (level > 0)
            cs_cpu_fill(&at, hidden[level]);
        for (int i = 0; i < COUNT(size); i++) {
            cs_mat x = scratch(be, size[i][0], 24);
            for (int64_t k = 0; k < x.r * x.c; k++)
                x.p[k] = (cs_real)(k % 5 - 2);
            for (int32_t j = 0; j < size[i][1]; j++)
                check_nan_bias(&at, x, size[i][1], j);
            be->op.dealloc(be, x.p);
        }
    }
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
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_segment_independence),
        cmocka_unit_test(test_fused_bits), cmocka_unit_test(test_epilogue_bits),
        cmocka_unit_test(test_roll_definition),
        cmocka_unit_test(test_conv_definition),
        cmocka_unit_test(test_gelu_accuracy), cmocka_unit_test(test_attention_dropout),
        cmocka_unit_test(test_nan_bias),
    };
    static const struct CMUnitTest bf16[] = {
        cmocka_unit_test(test_reference), cmocka_unit_test(test_integers),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_segment_independence), cmocka_unit_test(test_epilogue_bits),
        cmocka_unit_test(test_nan_bias),
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

/* test_cuda.c - the CUDA backend against the CPU: every op, every encoder.
 *
 * DESIGN. The sources of kernels/cuda are tested twice: test_cuda runs them on a GPU, and
 * test_cuda_host compiled for the CPU (tests/gpu/host). The latter checks indices, the order of
 * sums and, by running threads in several orders, barriers, but not the rounding of a GPU.
 * test_cuda_race adds a race detector. Both compare with the reference kernels, on the cases of the
 * CPU's kernels.
 */
#include "tests/nn/ops_attn_cases.h"

#include "kernels/cpu/tables.h"
#include "tests/gpu/conv.h"
#include "tests/gpu/device.h"
#include "tests/gpu/stack.h"
#include "tests/nn/toy.h"

#ifdef CS_HOST_CUDA
extern int cs_host_capability;
#endif

static cs_backend *gpu, *cpu;
static bool quick;               /* few sizes, for tools that make a GPU slow */

/* ---- ops ------------------------------------------------------------------------------------- */

static void *to_gpu(const void *p, size_t n_bytes)
{
    void *q = gpu->op.alloc(gpu, n_bytes);
    assert_non_null(q);
    gpu->op.upload(gpu, q, p, n_bytes);
    return q;
}

/* The op on the device, with copies of everything that it reads. */
static void run_on_gpu(const op_case *o, const env *e, mats *s)
{
    env there = *e;
    mats m = *s;
    there.seg.off = to_gpu(e->off, sizeof e->off);
    there.n_valid = to_gpu(e->half, sizeof e->half);
    there.id = to_gpu(e->id, (size_t)(e->r + 1) * sizeof *e->id);
    for (int i = 0; i < m.n; i++)
        m.m[i].p = to_gpu(s->m[i].p, (size_t)span(s->m[i]) * sizeof(cs_real));
    o->run(gpu, &there, m.m);
    for (int i = 0; i < m.n; i++) {
        gpu->op.download(gpu, s->m[i].p, m.m[i].p, (size_t)span(s->m[i]) * sizeof(cs_real));
        gpu->op.dealloc(gpu, m.m[i].p);
    }
    gpu->op.dealloc(gpu, there.id);
    gpu->op.dealloc(gpu, (void *)(uintptr_t)there.n_valid);
    gpu->op.dealloc(gpu, (void *)(uintptr_t)there.seg.off);
    if (gpu->op.sync(gpu) != CS_OK)
        fail_msg("%s: %s", o->name, cs_error_message());
}

/* Two runs give the same bits, whatever the order of threads; again: the operands of `got`, which
 * are freed. With many rows the emulator makes one run, in some order. */
static void same_again(const op_case *o, const env *e, const mats *got, mats again)
{
#ifdef CS_HOST_CUDA
    const bool is_run = e->r <= 64;
#else
    const bool is_run = true;
#endif
    take_other_order();
    if (is_run)
        run_on_gpu(o, e, &again);
    for (int k = 0; is_run && k < got->n; k++)
        if (memcmp(got->m[k].p, again.m[k].p, (size_t)span(got->m[k]) * sizeof(cs_real)) != 0)
            fail_msg("%s: a second run has other bits", o->name);
    drop(&again);
}

static double most_off = 1e-10;     /* see most_off_in */

static void against_reference(const op_case *o, int n, const env *e)
{
    cs_backend ref = *cpu;
    env here = *e;
    here.seg.off = here.off;
    cs_cpu_fill(&ref, ~0u);
    for (int i = 0; i < n; i++) {
        uint64_t key = key_of(&o[i], e);
        mats before = make(o[i].spec, e, key), want = make(o[i].spec, e, key);
        mats got = make(o[i].spec, e, key);
        o[i].run(&ref, &here, want.m);
        take_other_order();
        run_on_gpu(&o[i], e, &got);
        compare_outputs(&o[i], e, &got, &want, &before, most_off, most_off);
        same_again(&o[i], e, &got, make(o[i].spec, e, key));
        drop(&before);
        drop(&want);
        drop(&got);
    }
}

/* The emulator is slow: some sizes at the tiles' edges instead of all. */
static void with_few_sizes(void (*check)(const op_case *, int, const env *))
{
    static const int32_t size[] = { 0, 1, 5, 31, 33, 67 };
    for (int i = 0; i < COUNT(size); i++) {
        int32_t n = size[i];
        env e = new_env((int64_t[]){ 1, n, 3 }, 3, n, 68 - n, n % 3);
        check(element_ops, COUNT(element_ops), &e);
        if (n > 0) {
            check(row_ops, COUNT(row_ops), &e);
            check(seg_ops, COUNT(seg_ops), &e);
            check(conv_ops, COUNT(conv_ops), &e);
            check(sparse_ops, COUNT(sparse_ops), &e);
        }
        free(e.id);
    }
}

static void test_ops(void **state)
{
    (void)state;
    with_few_sizes(against_reference);
    if (quick)
        return;
    with_long_sizes(against_reference);
#ifndef CS_HOST_CUDA
    with_element_sizes(against_reference);
    with_row_sizes(against_reference);
    with_chord_sizes(against_reference);
#endif
}

static void test_attention(void **state)
{
    (void)state;
    if (!quick)
        with_attn_sizes(against_reference);
}

static void compute_in(cs_precision p)
{
    if (cs_cuda_compute_in(gpu, p) != CS_OK)
        fail_msg("%s", cs_error_message());
    gpu->precision = p;
    most_off = most_off_in[p];
}

/* Products have the requested precision, no more and no less. */
static void test_precision(void **state)
{
    (void)state;
    static const op_case products[] = {
        { "gemm_nn_add", "iRK iKC aRC", gemm_nn1, true },
        { "gemm_nt", "iRK iCK oRC", gemm_nt, true },
        { "gemm_tn", "iKR iKC aRC", gemm_tn, false },
    };
    env e = new_env((int64_t[]){ 1, 67, 3 }, 3, 72, 33, 1);
    for (int p = CS_IN_FP32; p <= CS_IN_BF16; p++) {
        compute_in((cs_precision)p);
        against_reference(products, COUNT(products), &e);
    }
    compute_in(CS_IN_FP32);
    free(e.id);
}

/* Convolutions on tensor cores, which are not used in single precision. */
static void test_convolutions(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(conv_sizes); i++) {
        env e = conv_env(&conv_sizes[i]);
        for (int p = CS_IN_TF32; p <= CS_IN_BF16; p++) {
            compute_in((cs_precision)p);
            against_reference(conv_ops, 4, &e);
            against_reference(conv_tails, COUNT(conv_tails), &e);
            against_reference(five_taps, conv_sizes[i].five ? COUNT(five_taps) : 0, &e);
        }
        free(e.id);
    }
    assert_true(tail_fits(gpu, 64, 128, true) && tail_fits(gpu, 64, 130, false));
    assert_false(tail_fits(gpu, 64, 130, true) || tail_fits(gpu, 1300, 8, false));
    compute_in(CS_IN_FP32);
    assert_null(gpu->fused.conv_tail);
}

/* Dropout masks follow from key and position on every device: bits are equal. */
static void test_dropout_bits(void **state)
{
    (void)state;
    static const int64_t rows[] = { 1, 7, 300 };
    static const int32_t cols[] = { 1, 33, 64 };
    static const double share[] = { 0.1, 0.5, 0.999 };
    cs_real x[300 * 64], want[300 * 64], got[300 * 64];
    cs_real *dx = gpu->op.alloc(gpu, sizeof x), *dy = gpu->op.alloc(gpu, sizeof x);

    for (int i = 0; i < COUNT(x); i++)
        x[i] = (cs_real)(i % 11 - 5.5);
    gpu->op.upload(gpu, dx, x, sizeof x);
    for (int k = 0; k < COUNT(rows) * COUNT(share); k++) {
        const int64_t r = rows[k % 3];
        const int32_t n = cols[k % 3];
        const size_t n_bytes = (size_t)(r * n) * sizeof *x;
        const uint64_t key = cs_rng_key(17, (uint64_t)k) | (uint64_t)(k % 2) << 63;
        cpu->op.dropout(cpu, key, share[k / 3], (cs_mat){ x, r, n, n }, 0,
                        (cs_mat){ want, r, n, n });
        gpu->op.dropout(gpu, key, share[k / 3], (cs_mat){ dx, r, n, n }, 0,
                        (cs_mat){ dy, r, n, n });
        gpu->op.download(gpu, got, dy, n_bytes);
        assert_memory_equal(got, want, n_bytes);
    }
    gpu->op.dealloc(gpu, dx);
    gpu->op.dealloc(gpu, dy);
    assert_int_equal(gpu->op.sync(gpu), CS_OK);
}

/* More rows than one chunk of a sum. */
static void test_long_sums(void **state)
{
    (void)state;
    static const op_case sums[] = {
        { "colsum", "iRC a1C", colsum, false }, { "mean", "iRC oSC", mean, true },
        { "window", "iRC oSC", window, true }, { "batch_stat", "iRC o2C", batch_stat, false },
        { "conv_dw", "iRK iRC aTC", conv_dw, false }, { "sumsq", "iRC a11", sumsq, false },
        { "embed_bwd", "iRC aVC", embed_bwd, false },
        { "batchnorm_bwd", "iRC p2C i1C iRC aRC a1C a1C", batchnorm_bwd, false },
    };
    env e = new_env((int64_t[]){ 3000, 1, 2100 }, 3, 6, 5, 1);
    against_reference(sums, COUNT(sums), &e);
    free(e.id);
}

/* ---- fused ChordMixer blocks ----------------------------------------------------------------- */

/* A launch per block, for any lengths; tests/gpu/test_short.c tests the fused kernel. */
static void one_stack(const int32_t size[3], const int64_t *len, int n)
{
    int64_t off[8] = { 0 };
    stack t = new_stack(cpu, size, len, n, off);
    t.seg.depth = STACK_LONG;
    check_stack(cpu, gpu, &t);
    drop_stack(&t);
}

/* A width whose weights fit in shared memory one at a time only, and what does not fit. */
static void one_at_a_time(int32_t width, int32_t too_wide)
{
    const int32_t size[] = { width, 128, 16 };
    static const int64_t some[] = { 5, 0, 70 }, more[] = { 490, 73 };

    compute_in(CS_IN_BF16);
    assert_true(gpu->fused.chord_fits(width, 128, 16));
    assert_false(gpu->fused.chord_fits(too_wide, 128, 16));
    one_stack(size, some, COUNT(some));
    one_stack(size, more, COUNT(more));
    compute_in(CS_IN_FP32);
}

static void test_wide_stack(void **state)
{
    (void)state;
    one_at_a_time(480, 912);
}

/* Widths and hidden sizes of every kernel; tracks that fill 16 bytes, twice that, or half; segments
 * that are empty, end at tiles' edges, or share a tile. */
static void test_stack(void **state)
{
    (void)state;
    static const int32_t size[][3] = { { 24, 16, 8 }, { 12, 9, 4 }, { 80, 100, 16 }, { 28, 70, 4 },
                                       { 40, 128, 8 }, { 24, 33, 8 }, { 12, 64, 4 } };
    static const int64_t some[] = { 1, 0, 15, 48, 5, 2 }, more[] = { 70, 490, 3 };

    compute_in(CS_IN_BF16);
    for (int i = 0; i < COUNT(size); i++) {
        assert_true(gpu->fused.chord_fits(size[i][0], size[i][1], size[i][2]));
        one_stack(size[i], some, COUNT(some));
        if (i == 1 || i == 2 || i == 6)      /* tiles of 32 rows */
            one_stack(size[i], more, COUNT(more));
    }
    assert_false(gpu->fused.chord_fits(24, 129, 8));
    assert_false(gpu->fused.chord_fits(25, 16, 5));
    compute_in(CS_IN_FP32);
    assert_null(gpu->fused.chord_stack);
}

/* A first gradient is written: the same bits as if added to 0. */
static void first_gradient(const env *e)
{
    enum { ADD = 1, FIRST = 2, DX = 6 };
    mats add = make(chord_ops[ADD].spec, e, 1), first = make(chord_ops[FIRST].spec, e, 1);
    for (int64_t r = 0; r < e->r; r++)
        memset(add.m[DX].p + r * add.m[DX].ld, 0, (size_t)e->c * sizeof(cs_real));
    run_on_gpu(&chord_ops[ADD], e, &add);
    run_on_gpu(&chord_ops[FIRST], e, &first);
    for (int i = DX; i < add.n; i++)
        for (int64_t r = 0; r < add.m[i].r; r++)
            assert_memory_equal(first.m[i].p + r * first.m[i].ld, add.m[i].p + r * add.m[i].ld,
                                (size_t)add.m[i].c * sizeof(cs_real));
    drop(&add);
    drop(&first);
}

/* The block in training: gaps between rows, one track, incomplete steps; segments of one token,
 * empty ones, enough rows for tiles of 32. test_many_rows has more of them. kib: shared memory
 * that it takes, where devices exist that have less. */
static void test_block(void **state)
{
    (void)state;
    static const struct { int32_t c, k, track, gap, kib; int64_t len[6]; int n; } set[] = {
        { 24, 16, 8, 0, 0, { 1, 0, 15, 48, 5, 2 }, 6 },
        { 20, 13, 4, 4, 0, { 1, 1, 1, 0, 1, 1 }, 6 },
        { 36, 24, 36, 0, 0, { 33 }, 1 },             { 72, 64, 4, 0, 0, { 70, 31, 3 }, 3 },
        { 80, 100, 16, 0, 0, { 2, 65, 64 }, 3 },     { 12, 9, 4, 0, 0, { 70, 490, 3 }, 3 },
        { 288, 128, 16, 0, 152, { 20, 13 }, 2 },     { 8, 66, 8, 0, 0, { 0, 0 }, 2 },
        { 8, 66, 8, 0, 0, { 300, 230 }, 2 },         { 12, 40, 4, 0, 0, { 70, 490, 3 }, 3 },
        { 272, 64, 4, 0, 0, { 70 }, 1 },             /* more tracks than a length has bits */
    };
    compute_in(CS_IN_BF16);
    most_off = most_off_in[CS_IN_BF16];
    for (int i = 0; i < COUNT(set); i++) {
        env e = new_env(set[i].len, set[i].n, set[i].c, set[i].k, set[i].gap);
        e.track = set[i].track;
        const bool fits = cs_cuda_shared_bytes(gpu) >= (size_t)set[i].kib << 10;
        assert_int_equal(gpu->fused.chord_block_fits(e.c, e.k, e.track), fits);
        if (fits) {
            against_reference(chord_ops, 2, &e);
            first_gradient(&e);
        }
        free(e.id);
    }
    assert_false(gpu->fused.chord_block_fits(448, 128, 16));
    compute_in(CS_IN_FP32);
    most_off = most_off_in[CS_IN_FP32];
}

/* Numbers of rows at which every warp has a tile of 32, and of a slice of the backward pass. */
static int64_t full_rows(void) { return (int64_t)32 * 8 * cs_cuda_multiprocessors(gpu); }
static int64_t slice_rows(void) { return 4 * full_rows(); }

/* Operands as bf16 holds them. Rounded from others, an input of GELU that is near 0 would have
 * another slope, which in some of 40,000 rows is 5 % of dx. */
static mats make_bf16(const op_case *o, const env *e)
{
    mats s = make(o->spec, e, 1);
    for (int k = 0; k < s.n; k++)
        for (int64_t i = 0; i < span(s.m[k]); i++)
            s.m[k].p[i] = bf16_of(s.m[k].p[i]);
    return s;
}

static mats copy_of(const mats *s)
{
    mats c = { .n = s->n };
    for (int k = 0; k < s->n; k++) {
        const cs_mat m = s->m[k];
        c.m[k] = new_mat(m.r, m.c, (int32_t)(m.ld - m.c), &c.page[k]);
        memcpy(c.m[k].p, m.p, (size_t)span(m) * sizeof *m.p);
    }
    return c;
}

/* As chord_ops against the CPU's fast kernels, also for every row alone. */
static void block_of_rows(cs_backend *fast, const env *e)
{
    env here = *e;
    here.seg.off = here.off;
    for (int i = 0; i < COUNT(chord_ops); i++) {
        const op_case *o = &chord_ops[i];
        mats before = make_bf16(o, e), want = copy_of(&before), got = copy_of(&before);
        o->run(fast, &here, want.m);
        run_on_gpu(o, e, &got);
        compare_outputs(o, e, &got, &want, &before, 1e-4, 1e-4);
        for (int k = 0; k < got.n; k++)
            if (is_output(role(o->spec, k)) && !(worst_row(got.m[k], want.m[k]) <= 1e-3))
                fail_msg("%s, matrix %d, %ld x %d: a row is off by %g", o->name, k, (long)e->r,
                         e->c, sqrt(worst_row(got.m[k], want.m[k])));
        same_again(o, e, &got, copy_of(&before));
        drop(&before);
        drop(&want);
        drop(&got);
    }
}

/* Rows for the emulator's warpgroups (on a GPU: test_many_rows), tiles of one segment and several;
 * last products' steps in pairs, left over, half; two slices backward, of 2,304 rows at most. */
static void test_warpgroups(void **state)
{
    (void)state;
    static const int32_t size[][3] = { { 16, 66, 8 }, { 80, 100, 16 }, { 176, 128, 8 },
                                       { 128, 70, 16 } };
    static const int64_t len[][7] = { { 70, 2300, 0, 65 }, { 70, 690, 0, 3, 128, 65, 200 } };
    cs_backend *fast;

    assert_int_equal(cs_backend_open("cpu", 0, &fast), CS_OK);
    compute_in(CS_IN_BF16);
    for (int i = 0; i < COUNT(size); i++) {
        env e = new_env(len[i > 0], 7, size[i][0], size[i][1], 0);
        e.track = size[i][2];
        one_stack(size[i], len[1], 7);
        if (!quick || i == 0)
            block_of_rows(fast, &e);
        free(e.id);
    }
    cs_backend_close(fast);
    compute_in(CS_IN_FP32);
}

/* Tiles of 32 rows, several per warp, and several slices of the backward pass; on a GPU at the
 * paper's sizes, the slices at the smallest. */
static void test_many_rows(void **state)
{
    (void)state;
#ifdef CS_HOST_CUDA
    static const int32_t size[][3] = { { 12, 40, 4 }, { 8, 66, 8 } };
    const int64_t rows[] = { full_rows() + 5, slice_rows() + full_rows() / 8 };
    const int64_t most_of_stack = rows[0];   /* one tile more than warps is enough here */
    const int64_t most_wide = rows[1];
#else
    static const int32_t size[][3] = { { 288, 128, 16 }, { 336, 128, 16 }, { 72, 64, 4 } };
    const int64_t more = slice_rows() + 4803;
    const int64_t rows[] = { full_rows() + 5 > 40000 ? full_rows() + 5 : 40000,
                             more > 140000 ? more : 140000 };
    const int64_t most_of_stack = rows[1], most_wide = rows[0];
#endif
    cs_backend *fast;
    assert_int_equal(cs_backend_open("cpu", 0, &fast), CS_OK);
    compute_in(CS_IN_BF16);
    for (int i = 0; i < COUNT(size) * COUNT(rows); i++) {
        const int32_t *s = size[i / COUNT(rows)];
        const int64_t n = rows[i % COUNT(rows)], len[] = { 70, n - 73, 3 };
        const bool small = s[0] == size[COUNT(size) - 1][0];
        if ((quick && !(small && n == rows[0])) || (!small && n > most_wide))
            continue;
        if (gpu->fused.chord_fits(s[0], s[1], s[2]) && n <= most_of_stack)
            one_stack(s, len, COUNT(len));
        if (!gpu->fused.chord_block_fits(s[0], s[1], s[2]))
            continue;
        env e = new_env(len, COUNT(len), s[0], s[1], 0);
        e.track = s[2];
        block_of_rows(fast, &e);
        free(e.id);
    }
    compute_in(CS_IN_FP32);
    cs_backend_close(fast);
}

/* ---- networks -------------------------------------------------------------------------------- */

static const int64_t lengths[][4] = { { 1, 1, 1, 0 }, { 17, 31, 32, 18 } };

static int count(const int64_t *len)
{
    int n = 0;
    while (n < 4 && len[n] > 0)
        n++;
    return n;
}

static void check_same(const toy *t, const char *what, const cs_real *got, const cs_real *want,
                       int64_t n, double limit)
{
    double nmse = toy_nmse(got, want, n);
    if (!(nmse <= limit))
        fail_msg("%s %s=%s: %s differ by %g from the CPU's", t->enc->name, t->name ? t->name : "-",
                 t->value ? t->value : "-", what, nmse);
}

/* Predictions, loss and all gradients of one model on both devices. */
static void one_model(const toy *t, const int64_t *len)
{
    cs_session *a = toy_session(t, gpu), *b = toy_session(t, cpu);
    cs_batch *x = toy_batch(a->model, len, count(len), 3);
    float *got = toy_outputs(a, x), *want = toy_outputs(b, x);

    check_same(t, "predictions", got, want, cs_session_output_len(b, x), 1e-9);
    double loss = toy_train(a, x, CS_KEEP_ALL);
    check_near(loss, toy_train(b, x, CS_KEEP_ALL), 1e-5 * (1 + fabs(loss)));
    cs_real *da = toy_slab(a->model, a->model->ps.grad);
    cs_real *db = toy_slab(b->model, b->model->ps.grad);
    check_same(t, "gradients", da, db, a->model->ps.n_real, 1e-8);
    free(got);
    free(want);
    free(da);
    free(db);
    cs_batch_free(x);
    toy_free(a);
    toy_free(b);
}

static void each_length(const toy *t, void *arg)
{
    (void)arg;
    take_other_order();
    for (int i = 0; i < (quick ? 1 : COUNT(lengths)); i++)
        one_model(t, lengths[i]);
}

static void test_networks(void **state)
{
    (void)state;
    toy_each(each_length, NULL);
}

/* Predictions in bf16, and gradients, by fused steps where available. */
static void one_network_bf16(const toy *t)
{
    cs_session *a = toy_session(t, gpu), *b = toy_session(t, cpu);
    cs_batch *x = toy_batch(a->model, lengths[1], count(lengths[1]), 3);
    float *want = toy_outputs(b, x);
    cs_real *db = NULL;

    if (t->training) {
        toy_train(b, x, CS_KEEP_ALL);
        db = toy_slab(b->model, b->model->ps.grad);
    }
    compute_in(CS_IN_BF16);
    for (int no_fused = 0; no_fused < 2; no_fused++) {
        a->cx.no_fused = no_fused;
        float *got = toy_outputs(a, x);
        check_same(t, "predictions in bf16", got, want, cs_session_output_len(b, x), 1e-4);
        free(got);
        if (!t->training)
            continue;
        toy_train(a, x, CS_KEEP_ALL);
        cs_real *da = toy_slab(a->model, a->model->ps.grad);
        check_same(t, "gradients in bf16", da, db, a->model->ps.n_real, 1e-4);
        free(da);
    }
    compute_in(CS_IN_FP32);
    free(want);
    free(db);
    cs_batch_free(x);
    toy_free(a);
    toy_free(b);
}

static void test_networks_bf16(void **state)
{
    (void)state;
    static const char *const net[][3] = { { "chordmixer" }, { "cdil", "norm", "layer" },
                                          { "cdil", "norm", "batch" }, { "cdil", "convs", "one" } };
    for (int i = 0; i < COUNT(net); i++)
        one_network_bf16(&(toy){ .enc = cs_encoder_find(net[i][0]), .name = net[i][1],
                                 .value = net[i][2], .head = cs_head_find("class"),
                                 .training = i == 0 });
}

#ifdef CS_HOST_CUDA
/* Devices with 99 KiB of shared memory: fewer shapes fit, and run as on others. */
static void test_less_shared(void **state)
{
    cs_backend *const usual = gpu;
    cs_host_capability = 86;
    gpu = open_gpu(CS_IN_FP32);
    assert_int_equal(cs_cuda_shared_bytes(gpu), 99 << 10);
    test_stack(state);
    one_at_a_time(208, 400);
    test_block(state);
    test_convolutions(state);
    compute_in(CS_IN_BF16);
    assert_true(gpu->fused.chord_block_fits(160, 128, 16));
    assert_false(gpu->fused.chord_block_fits(176, 128, 16));
    compute_in(CS_IN_FP32);
    close_gpu(gpu);
    gpu = usual;
    cs_host_capability = 90;
}
#endif

/* After every test, also one that failed in another precision. */
static int back_to_fp32(void **state)
{
    (void)state;
    compute_in(CS_IN_FP32);
    most_off = most_off_in[CS_IN_FP32];
    return 0;
}

#define TEST(f) cmocka_unit_test_teardown(f, back_to_fp32)

int main(int argc, char **argv)
{
    quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    static const struct CMUnitTest test[] = {
        TEST(test_attention), TEST(test_ops),
        TEST(test_precision),
        TEST(test_convolutions), TEST(test_stack),
        TEST(test_wide_stack),
        TEST(test_block), TEST(test_warpgroups), TEST(test_many_rows),
        TEST(test_long_sums),
        TEST(test_dropout_bits),
        TEST(test_networks), TEST(test_networks_bf16),
#ifdef CS_HOST_CUDA
        TEST(test_less_shared),
#endif
    };
    const int rc = open_both(CS_IN_FP32, &cpu, &gpu);
    if (rc != 0)
        return rc;
    int n_failed = cmocka_run_group_tests_name("cuda", test, NULL, NULL);
    close_gpu(gpu);
    cs_backend_close(cpu);
    return n_failed;
}

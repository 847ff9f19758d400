/* test_cuda.c - the CUDA backend against the CPU: every op but fused blocks, every encoder. */
#include "tests/nn/ops_attn_cases.h"

#include "tests/gpu/conv.h"
#include "tests/nn/toy.h"

#include "tests/gpu/compare.h"

/* ---- ops ------------------------------------------------------------------------------------- */

/* The emulator is slow: some sizes at the tiles' edges instead of all. */
static void with_edge_sizes(void (*check)(const op_case *, int, const op_sizes *))
{
    static const int32_t size[] = { 0, 1, 5, 31, 33, 67 };
    for (int i = 0; i < COUNT(size); i++) {
        int32_t n = size[i];
        op_sizes sz = new_sizes((int64_t[]){ 1, n, 3 }, 3, n, 68 - n, n % 3);
        check(element_ops, COUNT(element_ops), &sz);
        if (n > 0) {
            check(row_ops, COUNT(row_ops), &sz);
            check(seg_ops, COUNT(seg_ops), &sz);
            check(conv_ops, COUNT(conv_ops), &sz);
            check(sparse_ops, COUNT(sparse_ops), &sz);
        }
        free(sz.id);
    }
}

static void test_ops(void **state)
{
    (void)state;
    with_edge_sizes(compare_with_reference);
    if (quick)
        return;
    with_long_sizes(compare_with_reference);
#ifndef CS_HOST_CUDA
    with_element_sizes(compare_with_reference);
    with_row_sizes(compare_with_reference);
    with_chord_sizes(compare_with_reference);
#endif
}

static void test_attention(void **state)
{
    (void)state;
    if (!quick)
        with_attn_sizes(compare_with_reference);
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
    op_sizes sz = new_sizes((int64_t[]){ 1, 67, 3 }, 3, 72, 33, 1);
    for (int p = CS_IN_FP32; p <= CS_IN_BF16; p++) {
        compute_in((cs_precision)p);
        compare_with_reference(products, COUNT(products), &sz);
    }
    compute_in(CS_IN_FP32);
    free(sz.id);
}

/* Convolutions on tensor cores, which are not used in single precision. */
static void test_convolutions(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(conv_sizes); i++) {
        op_sizes sz = sizes_of_conv(&conv_sizes[i]);
        for (int p = CS_IN_TF32; p <= CS_IN_BF16; p++) {
            compute_in((cs_precision)p);
            compare_with_reference(conv_ops, 4, &sz);
            compare_with_reference(conv_epilogues, COUNT(conv_epilogues), &sz);
            compare_with_reference(five_taps, conv_sizes[i].five ? COUNT(five_taps) : 0, &sz);
        }
        free(sz.id);
    }
    assert_true(epilogue_fits(gpu, 64, 128, true) && epilogue_fits(gpu, 64, 130, false));
    assert_false(epilogue_fits(gpu, 64, 130, true) || epilogue_fits(gpu, 1300, 8, false));
    compute_in(CS_IN_FP32);
    assert_null(gpu->fused.conv_epilogue);
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
    op_sizes sz = new_sizes((int64_t[]){ 3000, 1, 2100 }, 3, 6, 5, 1);
    compare_with_reference(sums, COUNT(sums), &sz);
    free(sz.id);
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
    next_thread_order();
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
static void test_less_shared(void **state)
{
    with_99_kib_shared(CS_IN_FP32, &gpu, test_convolutions, state);
}
#endif

int main(int argc, char **argv)
{
    static const struct CMUnitTest test[] = {
        TEST(test_attention), TEST(test_ops), TEST(test_precision), TEST(test_convolutions),
        TEST(test_long_sums), TEST(test_dropout_bits), TEST(test_networks),
        TEST(test_networks_bf16),
#ifdef CS_HOST_CUDA
        TEST(test_less_shared),
#endif
    };
    return run_all("cuda", test, COUNT(test), argc, argv);
}

/* test_checkpoint_blocks.c - block inputs checkpointed in bf16: half the memory, small error of
 * gradients.
 *
 * DESIGN. Gradients are compared with those of a pass that stores everything in the same precision,
 * and with those of the CPU in fp32: the error added by checkpoints in bf16 must be small compared
 * with that of computing in bf16.
 */
#include "tests/gpu/device.h"
#include "tests/nn/toy.h"

#include "nn/exec/plan.h"

static cs_backend *gpu, *cpu;

static void compute_in(cs_precision p)
{
    assert_int_equal(cs_cuda_compute_in(gpu, p), CS_OK);
    gpu->precision = p;
}

/* ---- rounding -------------------------------------------------------------------------------- */

enum { R = 5, C = 7, LD = 9, HALF = (C + 1) / 2, HALF_LD = 5 };

/* Both kinds of ties, their neighbours, signs, sizes; an odd number of columns, rows with gaps. */
static void test_rounding(void **state)
{
    (void)state;
    static const uint32_t tie[] = { 0x3F808000, 0x3F818000, 0x3F808001, 0x3F817FFF, 0xBF808000,
                                    0x00000001, 0x00018000, 0x7F7F7FFF, 0x80000000, 0x7F800000 };
    float x[R * LD], got[R * LD], half[R * HALF_LD];

    for (int i = 0; i < R * LD; i++) {
        x[i] = (float)(cs_rng_unit(3, (uint64_t)i) - 0.5) * (float)(1 << i % 9);
        if (i < (int)(sizeof tie / sizeof *tie))
            memcpy(&x[i], &tie[i], sizeof x[i]);
        got[i] = -7;
    }
    memset(half, 0xFF, sizeof half);
    compute_in(CS_IN_BF16);
    cs_mat rows = { gpu->op.alloc(gpu, sizeof x), R, C, LD };
    cs_mat packed = { gpu->op.alloc(gpu, sizeof half), R, HALF, HALF_LD };
    gpu->op.upload(gpu, rows.p, x, sizeof x);
    gpu->op.upload(gpu, packed.p, half, sizeof half);
    gpu->fused.to_bf16(gpu, rows, packed);
    gpu->op.upload(gpu, rows.p, got, sizeof got);
    gpu->fused.from_bf16(gpu, packed, rows);
    gpu->op.download(gpu, got, rows.p, sizeof got);
    gpu->op.download(gpu, half, packed.p, sizeof half);
    assert_int_equal(gpu->op.sync(gpu), CS_OK);
    for (int i = 0; i < R * LD; i++) {
        const float want = i % LD < C ? bf16_of(x[i]) : -7;
        assert_memory_equal(&got[i], &want, sizeof want);
    }
    for (int i = 0; i < R; i++)
        assert_true(isnan(half[i * HALF_LD + HALF]));
    gpu->op.dealloc(gpu, rows.p);
    gpu->op.dealloc(gpu, packed.p);
    compute_in(CS_IN_FP32);
    assert_null(gpu->fused.to_bf16);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* Fused blocks, blocks of plain ops, and another encoder's. */
static const toy subjects[] = {
    { .max_len = "256", .training = true, .name = "depth", .value = "all" },
    { .max_len = "32", .training = true, .name = "norm", .value = "layer" },
    { .max_len = "32", .training = true, .name = "layers", .value = "5" },
};
static const int64_t lengths[] = { 20, 17 };
enum { N_SUBJECT = 3, N_SEGMENT = 2, N_BLOCK = 8 };

static toy subject(int i)
{
    toy t = subjects[i];
    t.enc = cs_encoder_find(i < 2 ? "chordmixer" : "transformer");
    t.head = cs_head_find("class");
    return t;
}

/* Gradients of a batch; free() them. */
static cs_real *train(cs_session *s, const cs_batch *b, int32_t keep, double *loss)
{
    const cs_model *m = s->model;
    *loss = toy_train(s, b, keep);
    return toy_slab(m, m->ps.grad);
}

static double relative_error(const cs_model *m, const cs_real *got, const cs_real *want)
{
    return sqrt(toy_nmse(got, want, m->ps.n_real));
}

/* Rounding an input moves it by up to 2^-9, and gradients by as much: the bound is twice that. The
 * largest difference seen is 1.97e-3 of the norm (8 blocks, one input). Computing in bf16 alone is
 * 3.4e-3 to 9.1e-3 off, and at most 1.05 times that with checkpoints; where cuBLAS takes tf32 for
 * products as small as these (an H100), 3.8e-4, and 8.9e-4 with checkpoints. */
static void check_near_bf16(const cs_model *m, const cs_real *got, const cs_real *want,
                            const cs_real *truth)
{
    const double in_bf16 = 3.4e-3;
    check_below(relative_error(m, got, want), 1.0 / 256);
    check_below(relative_error(m, got, truth), 1.1 * fmax(in_bf16, relative_error(m, want, truth)));
}

/* Gradients have the same bits in single precision, and with fused blocks, whose rows are bf16. */
static void check_gradients(const toy *t, cs_precision p, bool fused)
{
    static const int32_t keep[] = { 1, 2, 3, CS_CHECKPOINT_INPUTS };
    cs_session *s = toy_session(t, gpu), *exact = toy_session(t, cpu);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, lengths, N_SEGMENT, 6);
    double loss, again;

    compute_in(p);
    cs_real *truth = train(exact, b, CS_KEEP_ALL, &loss);
    cs_real *want = train(s, b, CS_KEEP_ALL, &loss);
    for (int i = 0; i < 4; i++) {
        cs_real *got = train(s, b, keep[i], &again);
        assert_true(again == loss);
        if (p == CS_IN_FP32 || fused)
            assert_memory_equal(got, want, (size_t)m->ps.n_real * sizeof *got);
        else
            check_near_bf16(m, got, want, truth);
        free(got);
    }
    compute_in(CS_IN_FP32);
    free(want);
    free(truth);
    cs_batch_free(b);
    toy_free(s);
    toy_free(exact);
}

static void test_gradients(void **state)
{
    (void)state;
    for (int i = 0; i < N_SUBJECT; i++) {
        const toy t = subject(i);
        check_gradients(&t, CS_IN_FP32, i == 0);
        check_gradients(&t, CS_IN_BF16, i == 0);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t stub_free_bytes;

static int64_t free_bytes(cs_backend *be)
{
    (void)be;
    return stub_free_bytes;
}

/* Half of an input's size per checkpoint; a plan stores as many as fit in nine tenths of the free
 * memory. */
static void check_memory(cs_precision p, int64_t input_bytes)
{
    enum { N_TOKEN = 256, DEPTH = N_BLOCK };
    const toy t = subject(0);
    int64_t need[N_BLOCK];

    compute_in(p);
    cs_backend be = *gpu;
    cs_session *s = toy_session(&t, &be);
    be.op.free_memory = free_bytes;
    for (int32_t keep = 1; keep < N_BLOCK; keep++) {
        s->cx.keep = keep;
        need[keep] = cs_plan_memory(s, N_TOKEN, 1, DEPTH, true);
        if (keep > 1)
            assert_int_equal(need[keep] - need[keep - 1], N_TOKEN * input_bytes);
    }
    for (int32_t keep = 1; keep < N_BLOCK - 1; keep++) {
        stub_free_bytes = need[keep] / 9 * 10 + 64;
        assert_int_equal(cs_plan_checkpoint_blocks(s, N_TOKEN, 1, DEPTH, CS_CHECKPOINT_INPUTS),
                         keep);
    }
    toy_free(s);
    compute_in(CS_IN_FP32);
}

static void test_memory(void **state)
{
    (void)state;
    enum { WIDTH = 4 * (N_BLOCK + 1) };
    check_memory(CS_IN_FP32, WIDTH * 4);
    check_memory(CS_IN_TF32, WIDTH * 4);
    check_memory(CS_IN_BF16, (WIDTH + 7) / 8 * 8 * 2);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_rounding), cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_memory),
    };
    const int rc = open_both(CS_IN_FP32, &cpu, &gpu);
    if (rc != 0)
        return rc;
    int n_failed = cmocka_run_group_tests_name("checkpoint_blocks", test, NULL, NULL);
    close_gpu(gpu);
    cs_backend_close(cpu);
    return n_failed;
}

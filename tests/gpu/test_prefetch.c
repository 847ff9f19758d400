/* test_prefetch.c - pipelined batches on the emulated GPU: order, memory, faults.
 *
 * DESIGN. Streams run in many of the orders that CUDA allows (tests/gpu/host/runtime.cpp), and
 * predictions must have the same bits. To prove that the test detects a missing wait, each wait is
 * omitted in turn: some order must then change a prediction.
 */
#include "check.h"

#include "nn/exec/plan.h"
#include "tests/nn/toy.h"

enum { N_BATCH = 5, N_RECORD = 2 };

extern size_t cs_host_memory;
extern int cs_host_fault, cs_host_lag, cs_host_devices, cs_host_capability, cs_host_pageable_access;
extern long cs_host_fail, cs_host_skip_wait;
size_t cs_host_used(void);

/* CS_LAG_NEVER, _MAX, _FIRST, _OTHERS, and seeds of random orders */
static const int lag[] = { 0, -1, -2, -3, 1, 2, 3, 4 };
enum { N_LAG = sizeof lag / sizeof *lag };

static cs_backend *gpu;

static cs_session *new_session(bool real)
{
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .real = real };
    return toy_session(&t, gpu);
}

/* All of one shape: stale contents of a slot are then valid but wrong. */
static cs_batch *new_batch(const cs_model *m, int k)
{
    static const int64_t len[N_RECORD] = { 6, 8 };
    return toy_batch(m, len, N_RECORD, (uint64_t)k);
}

/* Runs the batches through both slots, each started before the previous one is fetched; false if a
 * prediction is rejected. From batch 2 on, wait number skip_wait is omitted; 0: none. */
static bool run_all(cs_session *s, int order, long skip_wait, float (*out)[8])
{
    bool good = true;

    cs_host_lag = order;
    for (int k = 0; k <= N_BATCH; k++) {
        cs_host_skip_wait = k == 2 ? skip_wait : cs_host_skip_wait;
        cs_batch *b = k < N_BATCH ? new_batch(s->model, k) : NULL;
        if (b)
            assert_int_equal(cs_session_start(s, k % CS_STAGING_SLOTS, b, false), CS_OK);
        cs_batch_free(b);        /* staged */
        if (k > 0)
            good &= cs_session_finish(s, (k - 1) % CS_STAGING_SLOTS, out[k - 1]) == CS_OK;
    }
    cs_host_lag = 0;
    cs_host_skip_wait = 0;
    cs_error_clear();
    return good;
}

static void check_orders(bool real)
{
    cs_session *s = new_session(real);
    float want[N_BATCH][8] = { { 0 } }, got[N_BATCH][8] = { { 0 } };

    assert_true(run_all(s, 0, 0, want));
    for (int i = 0; i < N_LAG; i++) {
        assert_true(run_all(s, lag[i], 0, got));
        assert_memory_equal(got, want, sizeof want);
    }
    toy_free(s);
}

static void test_orders(void **state)
{
    (void)state;
    check_orders(false);
    check_orders(true);
}

/* From batch 2 on there are two waits per batch: of computation for its input, and of the copy back
 * for computation. */
static void test_every_wait_is_needed(void **state)
{
    (void)state;
    enum { N_WAIT = 2 * (N_BATCH - 2) };
    cs_session *s = new_session(false);
    float want[N_BATCH][8] = { { 0 } }, got[N_BATCH][8] = { { 0 } };

    assert_true(run_all(s, 0, 0, want));
    for (long skip_wait = 1; skip_wait <= N_WAIT; skip_wait++) {
        bool found = false;
        for (int i = 0; i < N_LAG && !found; i++)
            found = !run_all(s, lag[i], skip_wait, got) || memcmp(got, want, sizeof want) != 0;
        if (!found)
            fail_msg("wait number %ld may be left out", skip_wait);
    }
    toy_free(s);
}

/* More uploads than the ring has pinned parts, from one buffer overwritten after each; devices read
 * pageable memory late. Wait number skip_wait is omitted; 0: none. */
static bool upload_all(int order, long skip_wait)
{
    enum { N = (1 << 18) + 3, N_UPLOAD = 5 };      /* a part and three numbers */
    float *host = cs_xmalloc(N * sizeof *host), *dev[N_UPLOAD];
    bool same = true;

    for (int k = 0; k < N_UPLOAD; k++)
        dev[k] = gpu->op.alloc(gpu, N * sizeof *host);
    cs_host_pageable_access = 1;
    cs_host_lag = order;
    cs_host_skip_wait = skip_wait;
    for (int k = 0; k < N_UPLOAD; k++) {
        for (int i = 0; i < N; i++)
            host[i] = (float)(i + k);
        gpu->op.upload(gpu, dev[k], host, N * sizeof *host);
    }
    cs_host_skip_wait = 0;
    for (int k = 0; k < N_UPLOAD; k++) {
        gpu->op.download(gpu, host, dev[k], N * sizeof *host);
        for (int i = 0; i < N; i++)
            same &= host[i] == (float)(i + k);
        gpu->op.dealloc(gpu, dev[k]);
    }
    cs_host_lag = 0;
    cs_host_pageable_access = 0;
    free(host);
    return same;
}

static void test_upload(void **state)
{
    (void)state;
    for (int i = 0; i < N_LAG; i++)
        assert_true(upload_all(lag[i], 0));
    /* The first four wait for copies of the round before, which have ended; there are ten. */
    for (long skip_wait = 5; skip_wait <= 10; skip_wait++)
        assert_false(upload_all(-1, skip_wait));
}

/* ---- memory and faults ----------------------------------------------------------------------- */

/* Every allocation fails once: the error is reported, nothing leaks, and a retry works. */
static void test_no_memory_anywhere(void **state)
{
    (void)state;
    const size_t before = cs_host_used();
    long n = 0;

    for (bool failed = true; failed; n++) {
        float out[8];
        cs_session *s = new_session(false);
        cs_batch *b = new_batch(s->model, 1);
        cs_host_fail = n + 1;
        const int rc = cs_session_predict(s, b, out);
        failed = rc != CS_OK;
        cs_host_fail = 0;
        if (failed) {
            assert_int_equal(rc, CS_EMEM);
            assert_non_null(strstr(cs_error_message(), "out of memory"));
            cs_error_clear();
            assert_int_equal(cs_session_predict(s, b, out), CS_OK);
        }
        cs_batch_free(b);
        toy_free(s);
        assert_int_equal(cs_host_used(), before);
    }
    assert_in_range(n, 4, 6);    /* activations, input and output, and prepared weights if any */
}

/* The message has device, op and the batch's shape. */
static void test_device_error(void **state)
{
    (void)state;
    cs_backend *usual = gpu;
    float out[8];

    assert_int_equal(cs_backend_open("cuda", 1, &gpu), CS_OK);   /* broken afterwards */
    cs_session *s = new_session(false);
    cs_batch *b = new_batch(s->model, 1);
    cs_host_fault = 999;
    assert_int_equal(cs_session_predict(s, b, out), CS_EDEVICE);
    assert_non_null(strstr(cs_error_message(), "device cuda:0 (this processor): unknown error, in "
                           "or before 'cuda_"));
    assert_non_null(strstr(cs_error_message(), "; the batch had 2 sequences of 14 tokens, depth "
                           "3"));
    cs_error_clear();
    cs_batch_free(b);
    toy_free(s);
    cs_backend_close(gpu);
    gpu = usual;
}

/* Infinity in one weight of the head: the first affected value is reported, or output if allowed.
 * A rejected prediction does not affect the next one. */
static void test_not_finite(void **state)
{
    (void)state;
    cs_session *s = new_session(false);
    const cs_model *m = s->model;
    cs_batch *b = new_batch(m, 1);
    const int k = cs_params_find(&m->ps, "head.out.bias") >= 0
                ? cs_params_find(&m->ps, "head.out.bias") : cs_params_find(&m->ps, "head.bias");
    cs_real bias[3], bad = (cs_real)INFINITY;
    float out[8], raw[8];

    assert_true(k >= 0);
    gpu->op.download(gpu, bias, cs_value(&m->ps, k).p, sizeof bias);
    gpu->op.upload(gpu, cs_value(&m->ps, k).p + 1, &bad, sizeof bad);
    assert_int_equal(cs_session_forward(s, b, raw), CS_EMODEL);
    assert_non_null(strstr(cs_error_message(), "is not finite"));
    assert_int_equal(s->nonfinite, 1);
    cs_error_clear();
    s->allow_nonfinite = true;
    assert_int_equal(cs_session_forward(s, b, raw), CS_OK);
    assert_true(isinf(raw[1]) && isfinite(raw[0]));
    s->allow_nonfinite = false;
    gpu->op.upload(gpu, cs_value(&m->ps, k).p, bias, sizeof bias);
    assert_int_equal(cs_session_predict(s, b, out), CS_OK);
    cs_batch_free(b);
    toy_free(s);
}

/* A plan stays within free memory, and its batches run. */
static void test_plan(void **state)
{
    (void)state;
    cs_session *s = new_session(false);
    const size_t default_memory = cs_host_memory, size[] = { 1 << 20, 8 << 20, 64 << 20 };
    const size_t used = cs_host_used();        /* memory of the model may be reused */
    int64_t before = 0;

    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        cs_host_memory = cs_host_used() + size[i];
        const int64_t free_bytes = cs_plan_free_memory(s), n = cs_plan_batch(s);
        assert_in_range(free_bytes, size[i] / 10 * 8, size[i] / 10 * 9 + cs_host_used() - used);
        assert_true(n > before && (n & (n - 1)) == 0);
        for (int32_t d = 0; d <= 5; d++)
            assert_true(cs_plan_memory(s, n, (int32_t)(n >> d), d, false) <= free_bytes);
        assert_int_equal(cs_session_reserve(s, n, (int32_t)(n / 32), 5, false), CS_OK);
        before = n;
    }
    cs_host_memory = default_memory;
    assert_int_equal(cs_plan_longest(s, 0), 32);      /* the model's maximum */
    toy_free(s);
}

/* A copy on another device predicts like the model, and leaks nothing there. */
static void test_copy(void **state)
{
    (void)state;
    cs_session *s = new_session(false);
    cs_model *m = s->model, *copy;
    cs_batch *b = new_batch(m, 1);
    cs_backend *cpu;
    float want[8] = { 0 }, got[8] = { 0 };

    assert_int_equal(cs_backend_open("cpu", 1, &cpu), CS_OK);
    assert_int_equal(cs_session_predict(s, b, want), CS_OK);
    assert_int_equal(cs_model_copy(m, cpu, &copy), CS_OK);
    cs_session *other = cs_session_new(copy, cpu);
    assert_int_equal(cs_session_predict(other, b, got), CS_OK);
    for (int i = 0; i < 6; i++)
        check_near((double)got[i], (double)want[i], 1e-5);
    cs_session_free(other);
    cs_model_free(copy);
    cs_backend_close(cpu);
    cs_batch_free(b);
    toy_free(s);
}

/* All devices of a run use one precision; otherwise predictions would depend on the device. */
/* Staged predictions of standardized values are in their units; raw values are not. */
static void test_standardized(void **state)
{
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("regress") };
    cs_session *s = toy_session(&t, gpu);
    cs_batch *b = new_batch(s->model, 0);
    float raw[N_RECORD * 3], out[N_RECORD * 3];

    (void)state;
    s->model->label[1].mean = 500;
    s->model->label[1].deviation = 20;
    assert_int_equal(cs_session_forward(s, b, raw), CS_OK);
    assert_int_equal(cs_session_predict(s, b, out), CS_OK);
    for (int i = 0; i < N_RECORD * 3; i++) {
        const float want = i % 3 == 1 ? 500 + 20 * raw[i] : raw[i];
        assert_true(fabsf(raw[i]) < 10 && fabsf(out[i] - want) <= 1e-6F * fabsf(want));
    }
    cs_batch_free(b);
    toy_free(s);
}

static void test_one_precision(void **state)
{
    (void)state;
    cs_backend *be;

    cs_host_devices = 2;
    assert_int_equal(cs_backend_open("cuda:0", 1, &be), CS_OK);
    cs_host_capability = 75;
    assert_int_equal(cs_backend_open("cuda:1", 1, &be->next), CS_OK);
    assert_int_equal(cs_backend_compute_in(be, CS_IN_BF16), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "device cuda:1"));
    cs_error_clear();
    assert_int_equal(be->precision, CS_IN_FP32);
    assert_null(be->fused.chord_block);
    assert_int_equal(be->next->precision, CS_IN_FP32);
    cs_backend_close(be);
    cs_host_devices = 1;
    cs_host_capability = 90;
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_orders), cmocka_unit_test(test_every_wait_is_needed),
        cmocka_unit_test(test_upload),
        cmocka_unit_test(test_no_memory_anywhere), cmocka_unit_test(test_device_error),
        cmocka_unit_test(test_not_finite), cmocka_unit_test(test_plan),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_standardized), cmocka_unit_test(test_one_precision),
    };

    if (cs_cpu_init() != CS_OK || cs_backend_open("cuda", 1, &gpu) != CS_OK)
        return 2;
    const int n_failed = cmocka_run_group_tests_name("prefetch", test, NULL, NULL);
    cs_backend_close(gpu);
    return n_failed;
}

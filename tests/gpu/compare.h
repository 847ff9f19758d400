/* compare.h - ops of the CUDA backend against the CPU's reference kernels, on the CPU's cases.
 *
 * DESIGN. The sources of kernels/cuda are tested twice: test_cuda and test_blocks run them on a
 * GPU, and test_cuda_host and test_blocks_host compiled for the CPU (tests/gpu/host). The latter
 * check indices, the order of sums and, by running threads in several orders, barriers, but not the
 * rounding of a GPU. test_cuda_race and test_blocks_race add a race detector.
 */
#ifndef CS_TESTS_GPU_COMPARE_H
#define CS_TESTS_GPU_COMPARE_H

#include "tests/nn/ops_cases.h"

#include "kernels/cpu/tables.h"
#include "tests/gpu/device.h"

static cs_backend *gpu, *cpu;
static bool quick;               /* few sizes, for slow tools such as compute-sanitizer */

static inline void *to_gpu(const void *p, size_t n_bytes)
{
    void *q = gpu->op.alloc(gpu, n_bytes);
    assert_non_null(q);
    gpu->op.upload(gpu, q, p, n_bytes);
    return q;
}

/* Runs the op on the device, with copies of its operands, and copies these back. */
static inline void run_on_gpu(const op_case *o, const op_sizes *sz, operands *s)
{
    op_sizes on_gpu = *sz;
    operands m = *s;
    on_gpu.seg.off = to_gpu(sz->off, sizeof sz->off);
    on_gpu.n_valid = to_gpu(sz->half, sizeof sz->half);
    on_gpu.id = to_gpu(sz->id, (size_t)(sz->r + 1) * sizeof *sz->id);
    for (int i = 0; i < m.n; i++)
        m.m[i].p = to_gpu(s->m[i].p, (size_t)mat_span(s->m[i]) * sizeof(cs_real));
    o->run(gpu, &on_gpu, m.m);
    for (int i = 0; i < m.n; i++) {
        gpu->op.download(gpu, s->m[i].p, m.m[i].p, (size_t)mat_span(s->m[i]) * sizeof(cs_real));
        gpu->op.dealloc(gpu, m.m[i].p);
    }
    gpu->op.dealloc(gpu, on_gpu.id);
    gpu->op.dealloc(gpu, (void *)(uintptr_t)on_gpu.n_valid);
    gpu->op.dealloc(gpu, (void *)(uintptr_t)on_gpu.seg.off);
    if (gpu->op.sync(gpu) != CS_OK)
        fail_msg("%s: %s", o->name, cs_error_message());
}

/* Two runs give the same bits, whatever the order of threads; again: the operands of `got`, which
 * are freed. With many rows the emulator makes one run, in some order. */
static inline void check_repeatable(const op_case *o, const op_sizes *sz, const operands *got,
                                    operands again)
{
#ifdef CS_HOST_CUDA
    const bool is_run = sz->r <= 64;
#else
    const bool is_run = true;
#endif
    next_thread_order();
    if (is_run)
        run_on_gpu(o, sz, &again);
    for (int k = 0; is_run && k < got->n; k++)
        if (memcmp(got->m[k].p, again.m[k].p, (size_t)mat_span(got->m[k]) * sizeof(cs_real)) != 0)
            fail_msg("%s: a second run has other bits", o->name);
    free_operands(&again);
}

/* Bounds of the squared relative error by precision: in fp32 the norm of the difference is 1e-5 of
 * the result's. */
static const double max_nmse_of[] = { 1e-10, 1e-6, 1e-4 };
static double max_nmse = 1e-10;            /* in the current precision */

static inline void compare_with_reference(const op_case *o, int n, const op_sizes *sz)
{
    cs_backend ref = *cpu;
    op_sizes here = *sz;
    here.seg.off = here.off;
    cs_cpu_fill(&ref, ~0u);
    for (int i = 0; i < n; i++) {
        uint64_t key = key_of(&o[i], sz);
        operands before = make_operands(o[i].spec, sz, key);
        operands want = make_operands(o[i].spec, sz, key);
        operands got = make_operands(o[i].spec, sz, key);
        o[i].run(&ref, &here, want.m);
        next_thread_order();
        run_on_gpu(&o[i], sz, &got);
        compare_outputs(&o[i], sz, &got, &want, &before, max_nmse, max_nmse);
        check_repeatable(&o[i], sz, &got, make_operands(o[i].spec, sz, key));
        free_operands(&before);
        free_operands(&want);
        free_operands(&got);
    }
}

static inline void compute_in(cs_precision p)
{
    if (cs_cuda_compute_in(gpu, p) != CS_OK)
        fail_msg("%s", cs_error_message());
    gpu->precision = p;
    max_nmse = max_nmse_of[p];
}

/* After every test, also one that failed in another precision. */
static inline int reset_precision(void **state)
{
    (void)state;
    compute_in(CS_IN_FP32);
    return 0;
}

#define TEST(f) cmocka_unit_test_teardown(f, reset_precision)

/* Runs n tests on the first GPU; `quick` is the program's first argument. Returns its status. */
static inline int run_all(const char *name, const struct CMUnitTest *test, size_t n, int argc,
                          char **argv)
{
    quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    const int rc = open_both(CS_IN_FP32, &cpu, &gpu);
    if (rc != 0)
        return rc;
    const int n_failed = _cmocka_run_group_tests(name, test, n, NULL, NULL);
    close_gpu(gpu);
    cs_backend_close(cpu);
    return n_failed;
}

#endif

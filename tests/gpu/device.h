/* device.h - the GPU that tests compare with the CPU, real or emulated. */
#ifndef CS_TESTS_GPU_DEVICE_H
#define CS_TESTS_GPU_DEVICE_H

#include <math.h>
#include <string.h>

#include "tests/check.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/cuda/cuda.h"

#ifdef CS_HOST_CUDA
/* Of the emulator, tests/gpu/host/cuda_runtime.h: order of its threads, and compute capability. */
extern int cs_host_order, cs_host_capability;
#endif

/* Rounds to the nearest bf16, ties to even; NaN stays NaN. */
static inline float bf16_of(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    u = isnan(v) ? u : (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000U;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* Switch to the next order of emulated threads: backwards, warp by warp, random. No effect on a
 * real GPU. */
static inline void next_thread_order(void)
{
#ifdef CS_HOST_CUDA
    static int n;
    n++;
    cs_host_order = n % 3 == 0 ? n : -(n % 3);
#endif
}

/* The first GPU, computing in `precision`; NULL: cs_error_message() says why not. */
static inline cs_backend *open_gpu(cs_precision precision)
{
    cs_backend *be = cs_xcalloc(1, sizeof *be);
    be->name = "cuda";
    be->n_thread = 1;
    if (cs_cuda_open(be, 0) == CS_OK) {
        if (cs_cuda_compute_in(be, precision) == CS_OK)
            return be;
        cs_cuda_close(be);
    }
    free(be);
    return NULL;
}

static inline void close_gpu(cs_backend *be)
{
    cs_cuda_close(be);
    free(be);
}

#ifdef CS_HOST_CUDA
/* Runs a test on an emulated device with 99 KiB of shared memory. */
static inline void with_99_kib_shared(cs_precision precision, cs_backend **gpu,
                                    void (*test)(void **), void **state)
{
    cs_backend *const usual = *gpu;
    cs_host_capability = 86;
    *gpu = open_gpu(precision);
    assert_non_null(*gpu);
    test(state);
    close_gpu(*gpu);
    *gpu = usual;
    cs_host_capability = 90;
}
#endif

/* Opens both sides of a comparison. Returns 0, or the test's exit status: 77 without a GPU. */
static inline int open_both(cs_precision precision, cs_backend **cpu, cs_backend **gpu)
{
    const char *why;
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 1, cpu) != CS_OK)
        return 2;
    if (cs_cuda_count(&why) == 0) {
        print_message("no CUDA device: %s\n", why);
        return 77;
    }
    *gpu = open_gpu(precision);
    if (*gpu == NULL)
        print_message("%s\n", cs_error_message());
    return *gpu == NULL;
}

#endif

/* cu_bf16.cu - matrices stored as bf16, two to a word, in the layout of cs_mma. */
#include "kernels/cuda/mma.cuh"

static void cuda_to_bf16(cs_backend *be, cs_mat x, cs_mat y)
{
    uint32_t *const to = (uint32_t *)y.p;
    cs_each(be, y.r, y.c, [=] __device__(int64_t r, int32_t j) {
        const float high = 2 * j + 1 < x.c ? cs_el(x, r, 2 * j + 1) : 0;
        to[r * y.ld + j] = cs_bf16_pair(cs_el(x, r, 2 * j), high);
    });
}

static void cuda_from_bf16(cs_backend *be, cs_mat y, cs_mat x)
{
    const uint32_t *const from = (const uint32_t *)y.p;
    cs_each(be, y.r, y.c, [=] __device__(int64_t r, int32_t j) {
        const uint32_t w = from[r * y.ld + j];
        cs_el(x, r, 2 * j) = cs_bf16_low(w);
        if (2 * j + 1 < x.c)
            cs_el(x, r, 2 * j + 1) = cs_bf16_high(w);
    });
}

void cs_cuda_bf16(cs_backend *be)
{
    be->fused.to_bf16 = cuda_to_bf16;
    be->fused.from_bf16 = cuda_from_bf16;
}

/* mma.cuh - tensor cores: products of 16 rows by 8 columns, bf16 or tf32 in, float sums.
 *
 * DESIGN. mma.sync.m16n8k16 of PTX, sm_80 and later, by a warp: lane l has g = l / 4, c = l % 4,
 * and holds
 *
 *   a[0] row g      columns 2c, 2c + 1        b[0] rows 2c, 2c + 1       of column g
 *   a[1] row g + 8  columns 2c, 2c + 1        b[1] rows 2c + 8, 2c + 9   of column g
 *   a[2] row g      columns 2c + 8, 2c + 9    d[0], d[1] row g      columns 2c, 2c + 1
 *   a[3] row g + 8  columns 2c + 8, 2c + 9    d[2], d[3] row g + 8  columns 2c, 2c + 1
 *
 * two bf16 to a word, the first one in its low half. The order of the 16 terms of a sum is
 * arbitrary, as long as a and b agree: see cu_chord.cu. For tf32, m16n8k8 has 8 terms, one per
 * word:
 *
 *   a[0], a[1] rows g, g + 8  column c        b[0] row c      of column g
 *   a[2], a[3] rows g, g + 8  column c + 4    b[1] row c + 4  of column g      d as above
 *
 * Both are volatile: all lanes must take part, so the compiler must not move one into a branch
 * taken by some. tests/gpu/host implements the same tables.
 */
#ifndef CS_KERNELS_CUDA_MMA_H
#define CS_KERNELS_CUDA_MMA_H

#include "kernels/cuda/device.cuh"

#ifdef CS_HOST_MMA
__device__ static inline void cs_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    cs_host_mma(d, a, b0, b1);
}

__device__ static inline uint32_t cs_bf16_pair(float low, float high)
{
    return cs_host_bf16(low) | cs_host_bf16(high) << 16;
}

__device__ static inline void cs_mma_tf32(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    cs_host_mma_tf32(d, a, b0, b1);
}

__device__ static inline uint32_t cs_tf32(float v) { return cs_host_tf32(v); }
__device__ static inline uint32_t cs_opaque(uint32_t w) { return w; }
__device__ static inline float cs_exp2(float v) { return exp2f(v); }
#else
/** cs_opaque - w, in a register that the compiler does not copy for every use */
__device__ static inline uint32_t cs_opaque(uint32_t w)
{
    uint32_t v;
    asm volatile("mov.b32 %0, %1;" : "=r"(v) : "r"(w));
    return v;
}

/** cs_exp2 - 2^v within 2 ulp; 0 where that is denormal */
__device__ static inline float cs_exp2(float v)
{
    float e;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(v));
    return e;
}

/** cs_mma - d += a b */
__device__ static inline void cs_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    (void)d, (void)a, (void)b0, (void)b1;
    __trap();                    /* cs_cuda_compute_in() rejects such a device */
#endif
}

/** cs_bf16_pair - pack two numbers, rounded to nearest, ties to even */
__device__ static inline uint32_t cs_bf16_pair(float low, float high)
{
    uint32_t w = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low));
#else
    (void)low, (void)high;
    __trap();
#endif
    return w;
}

/** cs_mma_tf32 - d += a b, of 8 terms */
__device__ static inline void cs_mma_tf32(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    (void)d, (void)a, (void)b0, (void)b1;
    __trap();
#endif
}

/** cs_tf32 - round to nearest, ties away from 0 */
__device__ static inline uint32_t cs_tf32(float v)
{
    uint32_t w = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(w) : "f"(v));
#else
    (void)v;
    __trap();
#endif
    return w;
}
#endif

/** cs_bf16_low, cs_bf16_high - unpack the two numbers of a word */
__device__ static inline float cs_bf16_low(uint32_t w) { return __int_as_float((int)(w << 16)); }
__device__ static inline float cs_bf16_high(uint32_t w)
{
    return __int_as_float((int)(w & 0xFFFF0000u));
}

__device__ static inline float4 cs_sum_quads(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* Phi(-a) for 0 <= a <= 5.7, as 2^(a q(a) - 1), q fitted to log2(2 Phi(-a)) / a */
__device__ static inline float cs_normal_tail(float a)
{
    float q = -2.626523145e-6f;
    q = fmaf(q, a, 3.690655509e-5f);
    q = fmaf(q, a, -1.745858340e-4f);
    q = fmaf(q, a, -1.644816114e-4f);
    q = fmaf(q, a, 7.098569331e-3f);
    q = fmaf(q, a, -5.251963282e-2f);
    q = fmaf(q, a, -4.592009430e-1f);
    q = fmaf(q, a, -1.151105945f);
    return cs_exp2(fmaf(a, q, -1));
}

/** cs_gelu_fast - x Phi(x), branchless, with an absolute error of at most 3e-7 (half an ulp at
 * 4.4): relu(x) - |x| Phi(-|x|). NaN stays NaN */
__device__ static inline float cs_gelu_fast(float x)
{
    const float a = fminf(fabsf(x), 5.7f);
    return fmaf(-a, cs_normal_tail(a), 0.5f * (x + fabsf(x)));
}

/** cs_gelu_slope_fast - its derivative, Phi(x) + x phi(x), with about the same error. NaN stays
 * NaN */
__device__ static inline float cs_gelu_slope_fast(float x)
{
    const float tail = cs_normal_tail(fminf(fabsf(x), 5.7f));
    const float density = 0.3989422804f * cs_exp2(-0.7213475204f * x * x);
    return fmaf(x, density, x > 0 ? 1 - tail : tail);
}

#endif

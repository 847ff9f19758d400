/* wgmma.cuh - products of a warpgroup: 64 rows by 8 to 128 columns, bf16 in, float sums.
 *
 * DESIGN. wgmma.mma_async of PTX, sm_90a alone, by 128 threads: 4 warps, each with 16 of the rows.
 * Each tile of 8 columns of the sums is distributed over lanes as in cs_mma (mma.cuh), and so is
 * operand a in registers. Operands in shared memory are K-major, [octet of terms][row or
 * column][8], or MN-major, [octet of rows or columns][term][8], without swizzle: 8 consecutive
 * octets, of 16 bytes each, are a core matrix of PTX.
 *
 * Products are asynchronous. Between cs_wgmma_begin() and cs_wgmma_wait() of all threads of the
 * warpgroup, do not access registers of the sums and of a, and do not write to operands in shared
 * memory; ordinary writes before need cs_fence_proxy_async() (bulk.cuh) and a barrier.
 */
#ifndef CS_KERNELS_CUDA_WGMMA_H
#define CS_KERNELS_CUDA_WGMMA_H

#include "kernels/cuda/mma.cuh"

enum { CS_WARPGROUP = 128, CS_WGMMA_ROWS = 64 }; /* threads of a warpgroup; rows of its products */

/* A K-major operand: two octets of terms, `next` units of 16 bytes apart. */
struct cs_k_major { const uint4 *at; int32_t next; };

/* An MN-major operand: octets of rows or columns, `next` units of 16 bytes apart. */
struct cs_mn_major { const uint4 *at; int32_t next; };

#ifdef CS_HOST_MMA
template <int N> __device__ static inline void cs_wgmma_begin(float (&)[N][4]) {}
__device__ static inline void cs_wgmma_commit(void) {}
template <int N, bool MORE> __device__ static inline void cs_setmaxnreg(void) {}
template <int N> __device__ static inline void cs_wgmma_wait(float (&)[N][4]) {}

__device__ static inline uint32_t cs_octet_word(cs_k_major m, int32_t octet, int32_t i)
{
    return ((const uint32_t *)(m.at + octet * m.next + i))[threadIdx.x % 4];
}

template <int N>
__device__ static inline void cs_wgmma(float (&d)[N][4], const uint32_t a[4], cs_k_major b)
{
    const int32_t g = (int32_t)threadIdx.x % CS_WARP / 4;
    for (int32_t n = 0; n < N; n++)
        cs_mma(d[n], a, cs_octet_word(b, 0, 8 * n + g), cs_octet_word(b, 1, 8 * n + g));
}

template <int N>
__device__ static inline void cs_wgmma(float (&d)[N][4], cs_k_major a, cs_k_major b)
{
    const int32_t r = (int32_t)threadIdx.x % CS_WARPGROUP / CS_WARP * 16
                      + (int32_t)threadIdx.x % CS_WARP / 4;
    const uint32_t own[4] = { cs_octet_word(a, 0, r), cs_octet_word(a, 0, r + 8),
                              cs_octet_word(a, 1, r), cs_octet_word(a, 1, r + 8) };
    cs_wgmma(d, own, b);
}

/* Terms i and i + 1 of row or column j */
__device__ static inline uint32_t cs_mn_pair(cs_mn_major m, int32_t i, int32_t j)
{
    const uint16_t *v = (const uint16_t *)(m.at + j / 8 * m.next + i) + j % 8;
    return v[0] | (uint32_t)v[8] << 16;
}

template <int N>
__device__ static inline void cs_wgmma(float (&d)[N][4], const uint32_t a[4],
                                       cs_mn_major b)
{
    const int32_t g = (int32_t)threadIdx.x % CS_WARP / 4, c = (int32_t)threadIdx.x % 4;
    for (int32_t n = 0; n < N; n++)
        cs_mma(d[n], a, cs_mn_pair(b, 2 * c, 8 * n + g),
               cs_mn_pair(b, 2 * c + 8, 8 * n + g));
}

template <int N, class B>
__device__ static inline void cs_wgmma(float (&d)[N][4], cs_mn_major a, B b)
{
    const int32_t r = (int32_t)threadIdx.x % CS_WARPGROUP / CS_WARP * 16
                      + (int32_t)threadIdx.x % CS_WARP / 4;
    const int32_t c = (int32_t)threadIdx.x % 4;
    const uint32_t own[4] = { cs_mn_pair(a, 2 * c, r), cs_mn_pair(a, 2 * c, r + 8),
                              cs_mn_pair(a, 2 * c + 8, r),
                              cs_mn_pair(a, 2 * c + 8, r + 8) };
    cs_wgmma(d, own, b);
}
#else
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define CS_WGMMA_ASM(...) asm volatile(__VA_ARGS__)
#else
#define CS_WGMMA_ASM(...) __trap()
#endif

/** cs_setmaxnreg - set the warpgroup's registers per thread to N, first of all; MORE: than at the
 * start of the kernel */
template <int N, bool MORE> __device__ static inline void cs_setmaxnreg(void)
{
    if (MORE)
        CS_WGMMA_ASM("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N));
    else
        CS_WGMMA_ASM("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N));
}

/* An empty asm that reads and writes the sums: the compiler moves no use of them past it. */
template <int N> __device__ static inline void cs_wgmma_pin(float (&d)[N][4])
{
    CS_UNROLL
    for (int n = 0; n < N; n++)
        CS_UNROLL
        for (int i = 0; i < 4; i++)
            asm volatile("" : "+f"(d[n][i]) :: "memory");
}

/** cs_wgmma_begin - before a sequence of products that add to d */
template <int N> __device__ static inline void cs_wgmma_begin(float (&d)[N][4])
{
    cs_wgmma_pin(d);
    CS_WGMMA_ASM("wgmma.fence.sync.aligned;" ::: "memory");
}

/** cs_wgmma_commit - after the last product of a sequence; work until cs_wgmma_wait() overlaps
 * it */
__device__ static inline void cs_wgmma_commit(void)
{
    CS_WGMMA_ASM("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/** cs_wgmma_wait - wait for the products */
template <int N> __device__ static inline void cs_wgmma_wait(float (&d)[N][4])
{
    CS_WGMMA_ASM("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    cs_wgmma_pin(d);
}

/* Matrix descriptors: start, and two distances, all in 16 bytes. Of octets of terms these are of
 * the next octet and of the next 8 rows; of octets of columns, of the next 8 terms and octet. */
__device__ static inline uint64_t cs_wgmma_descriptor(const uint4 *at, int32_t leading,
                                                      int32_t stride)
{
    return ((uint32_t)__cvta_generic_to_shared(at) >> 4 & 0x3FFF) | (uint64_t)leading << 16
        | (uint64_t)stride << 32;
}

__device__ static inline uint64_t cs_wgmma_descriptor(cs_k_major m)
{
    return cs_wgmma_descriptor(m.at, m.next, 8);
}

__device__ static inline uint64_t cs_wgmma_descriptor(cs_mn_major m)
{
    return cs_wgmma_descriptor(m.at, 8, m.next);
}

#define CS_WGMMA_SUMS(n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])

/** cs_wgmma - d += a b, of 16 terms */
__device__ static inline void cs_wgmma(float (&d)[16][4], cs_k_major a, cs_k_major b)
{
    (void)d, (void)a, (void)b;
    CS_WGMMA_ASM("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, add, 1, 1, 0, 0;\n}"
        : CS_WGMMA_SUMS(0), CS_WGMMA_SUMS(1), CS_WGMMA_SUMS(2), CS_WGMMA_SUMS(3),
          CS_WGMMA_SUMS(4), CS_WGMMA_SUMS(5), CS_WGMMA_SUMS(6), CS_WGMMA_SUMS(7),
          CS_WGMMA_SUMS(8), CS_WGMMA_SUMS(9), CS_WGMMA_SUMS(10), CS_WGMMA_SUMS(11),
          CS_WGMMA_SUMS(12), CS_WGMMA_SUMS(13), CS_WGMMA_SUMS(14), CS_WGMMA_SUMS(15)
        : "l"(cs_wgmma_descriptor(a)), "l"(cs_wgmma_descriptor(b)));
}

/* The same with a in registers, by 32 or 64 columns. TRANS_B: b is MN-major */
template <int TRANS_B>
__device__ static inline void cs_wgmma_regs(float (&d)[4][4], const uint32_t a[4],
                                            uint64_t b)
{
    (void)d, (void)a, (void)b;
    CS_WGMMA_ASM("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
        "{%16, %17, %18, %19}, %20, add, 1, 1, %21;\n}"
        : CS_WGMMA_SUMS(0), CS_WGMMA_SUMS(1), CS_WGMMA_SUMS(2), CS_WGMMA_SUMS(3)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(TRANS_B));
}

template <int TRANS_B>
__device__ static inline void cs_wgmma_regs(float (&d)[8][4], const uint32_t a[4],
                                            uint64_t b)
{
    (void)d, (void)a, (void)b;
    CS_WGMMA_ASM("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, add, 1, 1, %37;\n}"
        : CS_WGMMA_SUMS(0), CS_WGMMA_SUMS(1), CS_WGMMA_SUMS(2), CS_WGMMA_SUMS(3),
          CS_WGMMA_SUMS(4), CS_WGMMA_SUMS(5), CS_WGMMA_SUMS(6), CS_WGMMA_SUMS(7)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(TRANS_B));
}

/** cs_wgmma - the same with a in registers, by 32 or 64 columns */
template <int N>
__device__ static inline void cs_wgmma(float (&d)[N][4], const uint32_t a[4], cs_k_major b)
{
    cs_wgmma_regs<0>(d, a, cs_wgmma_descriptor(b));
}

template <int N>
__device__ static inline void cs_wgmma(float (&d)[N][4], const uint32_t a[4],
                                       cs_mn_major b)
{
    cs_wgmma_regs<1>(d, a, cs_wgmma_descriptor(b));
}

/** cs_wgmma - the same with a and b MN-major, by 64 columns */
__device__ static inline void cs_wgmma(float (&d)[8][4], cs_mn_major a, cs_mn_major b)
{
    (void)d, (void)a, (void)b;
    CS_WGMMA_ASM("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, add, 1, 1, 1, 1;\n}"
        : CS_WGMMA_SUMS(0), CS_WGMMA_SUMS(1), CS_WGMMA_SUMS(2), CS_WGMMA_SUMS(3),
          CS_WGMMA_SUMS(4), CS_WGMMA_SUMS(5), CS_WGMMA_SUMS(6), CS_WGMMA_SUMS(7)
        : "l"(cs_wgmma_descriptor(a)), "l"(cs_wgmma_descriptor(b)));
}

/** cs_wgmma - the same with a MN-major, by 8 columns */
__device__ static inline void cs_wgmma(float (&d)[1][4], cs_mn_major a, cs_k_major b)
{
    (void)d, (void)a, (void)b;
    CS_WGMMA_ASM("{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, "
        "add, 1, 1, 1, 0;\n}"
        : CS_WGMMA_SUMS(0) : "l"(cs_wgmma_descriptor(a)), "l"(cs_wgmma_descriptor(b)));
}
#endif

#endif

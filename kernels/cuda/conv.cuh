/* conv.cuh - arguments of convolution kernels, and their operands on tensor cores.
 *
 * DESIGN. A step of a product is 16 terms. Lane (g, c) of cs_mma holds four of them (quad c) of
 * each row of the left factor and each column of the right one; the order of the terms is
 * arbitrary, as long as both operands agree. A step is one instruction in bf16, two of 8 terms in
 * tf32.
 */
#ifndef CS_KERNELS_CUDA_CONV_H
#define CS_KERNELS_CUDA_CONV_H

#include "kernels/cuda/mma.cuh"

struct cs_conv_job {
    cs_seg  seg;
    cs_taps taps;
    bool    adjoint;
    cs_mat  x, w, bias, y;       /* in seg_conv_dw: w is dw, y is dy */
    cs_real beta;
};

/** cs_tap_row - the row read by tap k for the token at a row */
__device__ static inline int64_t cs_tap_row(const cs_taps &taps, bool adjoint, int32_t k,
                                            const cs_token_pos &at)
{
    const int64_t d = taps.dilation < at.len ? taps.dilation : taps.dilation % at.len;
    const int64_t s = (k - taps.n / 2) * d;
    return at.start + cs_wrap(at.t + (adjoint ? -s : s), at.len);
}

/* Position read in x: token t of the segment of len rows at `start`; the next tap is d tokens
 * further. 32 bits to save registers; len 0: none. */
struct cs_tap_place { uint32_t start, len, t, d; };

/** cs_tap_place_of - position under tap k; at.len > 0 */
__device__ static inline cs_tap_place cs_tap_place_of(const cs_taps &taps, bool adjoint, int32_t k,
                                                      const cs_token_pos &at)
{
    const uint32_t len = (uint32_t)at.len;
    const uint32_t d = (uint32_t)(taps.dilation < at.len ? taps.dilation : taps.dilation % at.len);
    const int64_t from = cs_tap_row(taps, adjoint, k, at);
    return { (uint32_t)at.start, len, (uint32_t)(from - at.start), adjoint && d > 0 ? len - d : d };
}

__device__ static inline void cs_next_tap(cs_tap_place &p)
{
    p.t += p.d;
    p.t -= p.t >= p.len ? p.len : 0;
}

/** cs_row_of_tap - the row of x, or -1 */
__device__ static inline int32_t cs_row_of_tap(const cs_tap_place &p)
{
    return p.len ? (int32_t)(p.start + p.t) : -1;
}

/** cs_tap_weight - weight of input channel i for output channel j under tap k; 0 outside */
__device__ static inline float cs_tap_weight(const cs_conv_job &q, int32_t k, int32_t i, int32_t j)
{
    int64_t block = q.w.r / q.taps.n * k;
    if (i >= q.x.c || j >= q.y.c)
        return 0;
    return q.adjoint ? cs_el(q.w, block + j, i) : cs_el(q.w, block + i, j);
}

/* ---- operand types ----------------------------------------------------------------------- */

enum { CS_QUAD = 4, CS_STEP = 16 };      /* terms per lane, per step */

__device__ static inline float cs_as_float(uint32_t w) { return __int_as_float((int)w); }
__device__ static inline uint32_t cs_as_word(float v) { return (uint32_t)__float_as_int(v); }

/* A and B: words of a lane for a step, of 16 rows and of 8 columns. left() takes the quads of rows
 * g and g + 8, right() that of column g, all as bit patterns of floats. */
struct cs_in_bf16 {
    enum { A = 4, B = 2 };

    __device__ static inline void left(const uint4 &r0, const uint4 &r8, uint32_t a[A])
    {
        a[0] = cs_bf16_pair(cs_as_float(r0.x), cs_as_float(r0.y));
        a[1] = cs_bf16_pair(cs_as_float(r8.x), cs_as_float(r8.y));
        a[2] = cs_bf16_pair(cs_as_float(r0.z), cs_as_float(r0.w));
        a[3] = cs_bf16_pair(cs_as_float(r8.z), cs_as_float(r8.w));
    }
    __device__ static inline void right(const uint4 &v, uint32_t b[B])
    {
        b[0] = cs_bf16_pair(cs_as_float(v.x), cs_as_float(v.y));
        b[1] = cs_bf16_pair(cs_as_float(v.z), cs_as_float(v.w));
    }
    __device__ static inline void mul(float d[4], const uint32_t a[A], const uint32_t b[B])
    {
        cs_mma(d, a, b[0], b[1]);
    }
};

struct cs_in_tf32 {
    enum { A = 8, B = 4 };

    __device__ static inline void left(const uint4 &r0, const uint4 &r8, uint32_t a[A])
    {
        const uint32_t v[A] = { r0.x, r8.x, r0.y, r8.y, r0.z, r8.z, r0.w, r8.w };
        CS_UNROLL
        for (int i = 0; i < A; i++)
            a[i] = cs_tf32(cs_as_float(v[i]));
    }
    __device__ static inline void right(const uint4 &v, uint32_t b[B])
    {
        b[0] = cs_tf32(cs_as_float(v.x));
        b[1] = cs_tf32(cs_as_float(v.y));
        b[2] = cs_tf32(cs_as_float(v.z));
        b[3] = cs_tf32(cs_as_float(v.w));
    }
    __device__ static inline void mul(float d[4], const uint32_t a[A], const uint32_t b[B])
    {
        cs_mma_tf32(d, a, b[0], b[1]);
        cs_mma_tf32(d, a + 4, b[2], b[3]);
    }
};

/* ---- addresses --------------------------------------------------------------------------- */

/** cs_is_wide - are quads of the matrix's rows aligned to 16 bytes? */
static inline bool cs_is_wide(cs_mat m)
{
    return m.c % CS_QUAD == 0 && m.ld % CS_QUAD == 0 && (uintptr_t)m.p % sizeof(uint4) == 0;
}

/** cs_quad_at - channels i .. i + 3 of a row; 0 beyond the last one, and for a row below 0 */
template <bool WIDE>
__device__ static inline uint4 cs_quad_at(const cs_mat &m, int64_t r, int32_t i)
{
    const uint32_t *p = (const uint32_t *)m.p + r * m.ld + i;
    if (r < 0 || i >= m.c)
        return make_uint4(0, 0, 0, 0);
    if (WIDE)
        return *(const uint4 *)p;
    return make_uint4(p[0], i + 1 < m.c ? p[1] : 0, i + 2 < m.c ? p[2] : 0,
                      i + 3 < m.c ? p[3] : 0);
}

/* ---- kernels; each returns false for sizes that it does not support -------------------------- */

bool cs_cuda_conv_mma(cs_backend *be, const cs_conv_job &q);
bool cs_cuda_conv_dw_mma(cs_backend *be, const cs_conv_job &q);

#endif

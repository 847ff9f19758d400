/* chord_tile.cuh - a warp's tile of tokens through a ChordMixer block, kept in registers.
 *
 * DESIGN. Shared by the kernels for batches in global memory and for sequences in shared memory:
 *
 *   hidden = gelu(x w1' + b1)   lane (g, c) of cs_mma reads the 16 bytes of its rows and of octet
 *                               4 k + c as columns 2c, 2c+1, 2c+8, 2c+9 of two steps of 16. w1 is
 *                               packed in the same order, so x needs no shared memory
 *   out = hidden w2' + b2       results of cs_mma are an operand `a`. The columns of w2' are
 *                               permuted so that the lane gets the 8 channels of octet 4 k + c
 *   y[rotated] = x[rotated] + out   16 bytes at a time; 8 if a track has 4 channels
 *
 * Weights are packed in steps of CS_WIDE channels, in the order in which lanes read them: `next()`
 * of a kernel's W returns the next step, and is called by all threads of a block. W::MANY_REGS:
 * registers can hold operands besides the prefetched rows. y may be x: an element is read and
 * written only by the lane of its rotated row. NH: steps of 16 hidden units; NM: steps of 16 rows
 * of a tile.
 */
#ifndef CS_KERNELS_CUDA_CHORD_TILE_H
#define CS_KERNELS_CUDA_CHORD_TILE_H

#include "kernels/cuda/chord.cuh"

/* 16-byte words of a step of w1 or of w2 */
template <int NH> struct cs_step { enum { WORD4 = 2 * NH * CS_WARP }; };

/* A lane's rows of a tile, two of each 16: g and g + 8. */
template <int NM, class R> struct cs_warp_tile { R r0; int32_t g, c; };

template <int NM, class R>
__device__ static inline R cs_row_of(const cs_warp_tile<NM, R> &t, int i)
{
    return t.r0 + 8 * i + t.g;
}

/** cs_lane_octets - address of the lane's first row in its octet of step k */
template <int NM, class Q, class R>
__device__ static inline const uint4 *cs_lane_octets(const Q &q, const uint4 *x,
                                                     const cs_warp_tile<NM, R> &t, int32_t k)
{
    return x + (k * (CS_WIDE / CS_OCTET) + t.c) * q.pitch + t.r0 + t.g;
}

/** cs_load_step - the lane's 16 bytes of step k of its rows, starting at `from`; 0 outside */
template <int NM, class Q, class R>
__device__ static inline void cs_load_step(const Q &q, const uint4 *from,
                                           const cs_warp_tile<NM, R> &t, int32_t k,
                                           uint4 v[2 * NM])
{
    const bool in = (k * (CS_WIDE / CS_OCTET) + t.c) * CS_OCTET < q.d;
    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++)
        v[i] = in && cs_row_of(t, i) < q.rows ? from[8 * i] : make_uint4(0, 0, 0, 0);
}

/* ---- sums over rows ---------------------------------------------------------------------- */

/** cs_lane_rows_sum - sum over the lanes that hold the same columns of other rows */
__device__ static inline float cs_lane_rows_sum(float v)
{
    for (int m = 4; m < CS_WARP; m *= 2)
        v += (float)__shfl_xor_sync(0xFFFFFFFFu, v, m);
    return v;
}

/** cs_add_octet - sum += the 8 channels of an octet */
__device__ static inline void cs_add_octet(uint4 v, float sum[CS_OCTET])
{
    const uint32_t w[4] = { v.x, v.y, v.z, v.w };
    CS_UNROLL
    for (int p = 0; p < 4; p++) {
        sum[2 * p] += cs_bf16_low(w[p]);
        sum[2 * p + 1] += cs_bf16_high(w[p]);
    }
}

/* ---- the first product ------------------------------------------------------------------- */

/* The rows' 16 bytes as operands of two products of 16 columns. OPAQUE: assembled once, instead of
 * again before nearly every product. */
template <bool OPAQUE, int NM>
__device__ static inline void cs_fragments(const uint4 v[2 * NM], uint32_t a[NM][8])
{
    CS_UNROLL
    for (int m = 0; m < NM; m++) {
        const uint4 lo = v[2 * m], hi = v[2 * m + 1];
        const uint32_t both[8] = { lo.x, hi.x, lo.y, hi.y, lo.z, hi.z, lo.w, hi.w };
        CS_UNROLL
        for (int i = 0; i < 8; i++)
            a[m][i] = OPAQUE ? cs_opaque(both[i]) : both[i];
    }
}

/** cs_first_product - acc = x w1' + b1 of a tile: hp / 8 tiles of 8 columns for each 16 rows */
template <int NH, int NM, class Q, class R, class W>
__device__ static inline void cs_first_product(const Q &q, const uint4 *x,
                                               const cs_warp_tile<NM, R> &t, W &weights,
                                               const float *b, float acc[NM][2 * NH][4])
{
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, n_step = cs_steps_of(q.d);
    const uint4 *from = cs_lane_octets(q, x, t, 0);
    uint32_t a[NM][8];               /* of both steps of 16 */
    uint4 v[2 * NM], next[2 * NM];

    cs_load_step(q, from, t, 0, v);
    if (W::MANY_REGS)
        cs_fragments<true, NM>(v, a);
    CS_UNROLL
    for (int n = 0; n < 2 * NH; n++)
        CS_UNROLL
        for (int m = 0; m < NM; m++)
            for (int i = 0; i < 4; i++)
                acc[m][n][i] = b[8 * n + 2 * t.c + i % 2];
    for (int32_t k = 0; k < n_step; k++) {
        const uint4 *w1 = weights.next();
        if (t.r0 >= q.rows)
            continue;
        from = W::MANY_REGS ? from + CS_WIDE / CS_OCTET * q.pitch
                            : cs_lane_octets(q, x, t, k + 1);
        cs_load_step(q, from, t, k + 1, next);   /* prefetch during the products */
        if (!W::MANY_REGS)
            cs_fragments<false, NM>(v, a);
        CS_UNROLL
        for (int n = 0; n < 2 * NH; n++) {
            const uint4 w = w1[n * CS_WARP + lane];
            CS_UNROLL
            for (int m = 0; m < NM; m++) {
                cs_mma(acc[m][n], a[m], w.x, w.y);
                cs_mma(acc[m][n], a[m] + 4, w.z, w.w);
            }
        }
        if (W::MANY_REGS)
            cs_fragments<true, NM>(next, a);
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++)
            v[i] = next[i];
    }
}

template <int NH, int NM>
__device__ static inline void cs_tile_gelu(float acc[NM][2 * NH][4])
{
    CS_UNROLL
    for (int m = 0; m < NM; m++)
        CS_UNROLL
        for (int n = 0; n < 2 * NH; n++)
            CS_UNROLL
            for (int i = 0; i < 4; i++)
                acc[m][n][i] = cs_gelu_fast(acc[m][n][i]);
}

/** cs_tile_pairs - the hidden layer as operand `a` of the second product */
template <int NH, int NM>
__device__ static inline void cs_tile_pairs(const float acc[NM][2 * NH][4],
                                            uint32_t hidden[NM][NH][4])
{
    CS_UNROLL
    for (int m = 0; m < NM; m++)
        CS_UNROLL
        for (int h = 0; h < NH; h++)
            CS_UNROLL
            for (int i = 0; i < 4; i++) {
                const float *v = acc[m][2 * h + i / 2] + i % 2 * 2;
                hidden[m][h][i] = cs_bf16_pair(v[0], v[1]);
            }
}

/* ---- where rows go ----------------------------------------------------------------------- */

template <class Q>
__device__ static inline int32_t cs_rotated(const Q &q, const cs_row_place &p, int32_t track)
{
    const int32_t to = p.r - q.shift[p.shift + track];
    return to < p.start ? to + p.len : to;
}

/* Are octets of a track whole (16 bytes of a row) or halves (8 bytes of each of two rows)?
 * CS_EITHER: decided at run time, in one loop; separate loops would spill registers. */
enum cs_octets { CS_WHOLE, CS_HALVES, CS_EITHER };

template <cs_octets O, class Q> __device__ static inline bool cs_halves(const Q &q)
{
    return O == CS_EITHER ? q.track % CS_OCTET != 0 : O == CS_HALVES;
}

/* Rotated place of an octet of a row, relative to the octet's first row, in units of 16 bytes or,
 * for halves, of 8. Negative: none */
struct cs_octet_place { int32_t at[2]; };

/* First channel of an octet and the tracks of its two halves; the same for all rows of a step. */
struct cs_octet_tracks { int32_t j, track[2]; };

template <class Q>
__device__ static inline cs_octet_tracks cs_tracks_of(const Q &q, int32_t octet)
{
    const int32_t j = octet * CS_OCTET;
    return { j, { cs_track_of(q, j), cs_track_of(q, j + 4) } };
}

template <cs_octets O, class Q>
__device__ static inline cs_octet_place cs_octet_of(const Q &q, const cs_row_place &p,
                                                    const cs_octet_tracks &o)
{
    if (p.shift < 0 || o.j >= q.d)
        return { { -1, -1 } };
    const int32_t first = cs_rotated(q, p, o.track[0]);
    if (!cs_halves<O>(q))
        return { { first, -1 } };
    /* The second half of an octet beyond the last channel stays 0, as in tables and weights. */
    const int32_t second = o.j + 4 < q.d ? cs_rotated(q, p, o.track[1]) : first;
    return { { 2 * first, 2 * second + 1 } };
}

template <cs_octets O, class Q>
__device__ static inline uint4 cs_read_octet(const Q &q, const uint4 *x, const cs_octet_place &from)
{
    if (!cs_halves<O>(q))
        return from.at[0] >= 0 ? x[from.at[0]] : make_uint4(0, 0, 0, 0);
    const uint2 *half = (const uint2 *)x;
    uint2 a = from.at[0] >= 0 ? half[from.at[0]] : make_uint2(0, 0);
    uint2 b = from.at[1] >= 0 ? half[from.at[1]] : make_uint2(0, 0);
    return make_uint4(a.x, a.y, b.x, b.y);
}

/** cs_store - *p = v, past the L2 cache if the job says so */
template <class Q, class V> __device__ static inline void cs_store(const Q &, V *p, V v) { *p = v; }
template <class V> __device__ static inline void cs_store(const cs_chord_job &q, V *p, V v)
{
    if (q.stream)
        __stcs(p, v);
    else
        *p = v;
}

template <cs_octets O, class Q>
__device__ static inline void cs_write_octet(const Q &q, uint4 *y, const cs_octet_place &to,
                                             uint4 v)
{
    if (!cs_halves<O>(q)) {
        if (to.at[0] >= 0)
            cs_store(q, &y[to.at[0]], v);
        return;
    }
    if (to.at[0] >= 0)
        cs_store(q, &((uint2 *)y)[to.at[0]], make_uint2(v.x, v.y));
    if (to.at[1] >= 0)
        cs_store(q, &((uint2 *)y)[to.at[1]], make_uint2(v.z, v.w));
}

/* ---- the second product ------------------------------------------------------------------ */

__device__ static inline uint32_t cs_add_pair(uint32_t w, float low, float high)
{
    return cs_bf16_pair(cs_bf16_low(w) + low, cs_bf16_high(w) + high);
}

/** cs_second_step - out = hidden w2' + b2 for the 32 channels of a step */
template <int NH, int NM>
__device__ static inline void cs_second_step(const uint4 *w2, const float *b,
                                             const uint32_t hidden[NM][NH][4], float out[NM][4][4])
{
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP;
    const float4 low = ((const float4 *)b)[0], high = ((const float4 *)b)[1];
    const float bias[CS_OCTET] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
    CS_UNROLL
    for (int m = 0; m < NM; m++)
        CS_UNROLL
        for (int n = 0; n < 4; n++)
            CS_UNROLL
            for (int i = 0; i < 4; i++)
                out[m][n][i] = bias[2 * n + i % 2];
    CS_UNROLL
    for (int h = 0; h < NH; h++)
        CS_UNROLL
        for (int pair = 0; pair < 2; pair++) {
            const uint4 w = w2[(h * 2 + pair) * CS_WARP + lane];
            CS_UNROLL
            for (int m = 0; m < NM; m++) {
                cs_mma(out[m][2 * pair], hidden[m][h], w.x, w.y);
                cs_mma(out[m][2 * pair + 1], hidden[m][h], w.z, w.w);
            }
        }
}

template <int NM, class Q, class R>
__device__ static inline void cs_places_of(const Q &q, const cs_warp_tile<NM, R> &t,
                                           cs_row_place place[2 * NM])
{
    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++)
        place[i] = cs_place_of(q, cs_row_of(t, i));
}

/** cs_add_step - the 32 channels of step k of y, for a tile with rows */
template <cs_octets O, int NH, int NM, class Q, class R>
__device__ static inline void cs_add_step(const Q &q, const uint4 *x, uint4 *y,
                                          const cs_warp_tile<NM, R> &t,
                                          const cs_row_place place[2 * NM], int32_t k,
                                          const uint4 *w2, const float *b,
                                          const uint32_t hidden[NM][NH][4])
{
    const int32_t octet = k * (CS_WIDE / CS_OCTET) + t.c;
    float out[NM][4][4];
    const cs_octet_tracks tracks = cs_tracks_of(q, octet);
    const auto at = octet * q.pitch;
    cs_octet_place to[2 * NM];
    uint4 v[2 * NM];             /* prefetch during the products */
    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++) {
        to[i] = cs_octet_of<O>(q, place[i], tracks);
        v[i] = cs_read_octet<O>(q, x + at, to[i]);
    }
    cs_second_step<NH, NM>(w2, b + octet * CS_OCTET, hidden, out);
    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++) {
        const float (*o)[4] = out[i / 2];
        const int e = i % 2 * 2;
        cs_write_octet<O>(q, y + at, to[i],
                          make_uint4(cs_add_pair(v[i].x, o[0][e], o[0][e + 1]),
                                     cs_add_pair(v[i].y, o[1][e], o[1][e + 1]),
                                     cs_add_pair(v[i].z, o[2][e], o[2][e + 1]),
                                     cs_add_pair(v[i].w, o[3][e], o[3][e + 1])));
    }
}

template <cs_octets O, int NH, int NM, class Q, class R, class W>
__device__ static inline void cs_add_rotated(const Q &q, const uint4 *x, uint4 *y,
                                             const cs_warp_tile<NM, R> &t, W &weights,
                                             const float *b, const uint32_t hidden[NM][NH][4])
{
    cs_row_place place[2 * NM];

    cs_places_of(q, t, place);
    for (int32_t k = 0, n_step = cs_steps_of(q.d); k < n_step; k++) {
        const uint4 *w2 = weights.next();
        if (t.r0 < q.rows)
            cs_add_step<O, NH, NM>(q, x, y, t, place, k, w2, b, hidden);
    }
}

/** cs_second_product - y = x + rotated(hidden w2' + b2) */
template <int NH, int NM, class Q, class R, class W>
__device__ static inline void cs_second_product(const Q &q, const uint4 *x, uint4 *y,
                                                const cs_warp_tile<NM, R> &t, W &weights,
                                                const float *b, const uint32_t hidden[NM][NH][4])
{
    if (!W::MANY_REGS)
        cs_add_rotated<CS_EITHER, NH, NM>(q, x, y, t, weights, b, hidden);
    else if (cs_halves<CS_EITHER>(q))
        cs_add_rotated<CS_HALVES, NH, NM>(q, x, y, t, weights, b, hidden);
    else
        cs_add_rotated<CS_WHOLE, NH, NM>(q, x, y, t, weights, b, hidden);
}

#endif

/* chord.cuh - a ChordMixer block on tensor cores: its operands, its weights, its launch.
 *
 * DESIGN. x lies in octets, [channel / 8][token][8] of bf16: 16 bytes of a token, all tokens of an
 * octet one after the other, so that a rotated track is a run at another place.
 */
#ifndef CS_KERNELS_CUDA_CHORD_H
#define CS_KERNELS_CUDA_CHORD_H

#include "kernels/cuda/mma.cuh"

enum { CS_OCTET = 8, CS_WIDE = 32,       /* channels of 16 bytes, of a step of both products */
       CS_MOST_HIDDEN = 128 };           /* what registers hold of two tiles of rows */

/* Where the tokens of a batch lie, or of that part of it which fits in shared memory, with numbers
 * of type T and S. An octet begins `pitch` places of 16 bytes after the one before. */
template <class T, class S> struct cs_chord_rows {
    typedef decltype(T() + 0) row;           /* what T counts as */
    row      rows, pitch;
    int32_t  d, track, n_track;
    const T *off;                /* [n_seg + 1] */
    const S *segment;            /* [rows] that a row belongs to */
    const T *shift;              /* [n_seg * n_track] tokens by which it is rotated */
};

/* One block of the network over one batch. dp, hp: width and hidden size as weights have them. */
struct cs_chord_job : cs_chord_rows<int64_t, int32_t> {
    int32_t      dp, hp;
    const uint4 *x, *pack;       /* pack: w1, w2, then b1 (hp), b2 (dp) as floats */
    uint4       *y;
    float       *part;           /* for means: [slot][hp + dp] */
};

/** cs_steps_of - of CS_WIDE channels, as both products take them */
__device__ __host__ static inline int32_t cs_steps_of(int32_t d)
{
    return (d + CS_WIDE - 1) / CS_WIDE;
}

static inline int32_t cs_padded_width(int32_t d) { return cs_steps_of(d) * CS_WIDE; }
static inline int32_t cs_padded_hidden(int32_t h) { return h <= 64 ? 64 : CS_MOST_HIDDEN; }

/* 16-byte words of either weight */
__device__ static inline int32_t cs_n_word4(const cs_chord_job &q)
{
    return q.dp * q.hp / CS_OCTET;
}

__device__ static inline const float *cs_bias1(const cs_chord_job &q)
{
    return (const float *)(q.pack + 2 * cs_n_word4(q));
}

/** cs_weight_bytes - of both */
static inline int64_t cs_weight_bytes(int32_t dp, int32_t hp)
{
    return 2 * (int64_t)dp * hp * 2;
}

/* Row k of hidden, channel j: the inverse of packed_w2(). */
__device__ static inline float cs_weight2(const cs_chord_job &q, int32_t j, int32_t k)
{
    int32_t tile = j % CS_OCTET / 2, lane = (j % CS_WIDE / CS_OCTET * 2 + j % 2) * 4 + k % 8 / 2;
    int32_t at = (j / CS_WIDE * (q.hp / 16) + k / 16) * 2 + tile / 2;
    const uint32_t *w2 = (const uint32_t *)(q.pack + cs_n_word4(q));
    uint32_t w = w2[(at * CS_WARP + lane) * 4 + tile % 2 * 2 + k % 16 / 8];
    return k % 2 ? cs_bf16_high(w) : cs_bf16_low(w);
}

/* Where a lane's row goes: its segment, and its place in it. */
template <class R, class T> struct cs_row_place { const T *shift; R start, len, t; };

template <class T, class S, class R = typename cs_chord_rows<T, S>::row>
__device__ static inline cs_row_place<R, T> cs_place_of(const cs_chord_rows<T, S> &q, R r)
{
    if (r >= q.rows)
        return { NULL, 0, 0, 0 };
    R s = q.segment[r], start = q.off[s];
    return { q.shift + s * q.n_track, start, q.off[s + 1] - start, r - start };
}

/** cs_cuda_chord_prepare - see chord_prepare in kernels/backend.h */
void cs_cuda_chord_prepare(cs_backend *be, const cs_chord *k, cs_real *pack);
/** cs_cuda_chord_block - y = x + ..., in tiles of 16 or 32 rows; mean: sums of tiles instead */
void cs_cuda_chord_block(cs_backend *be, const cs_chord_job &q, int32_t rows, bool mean);

#endif

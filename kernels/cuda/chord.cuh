/* chord.cuh - a ChordMixer block on tensor cores: arguments, weights, launch.
 *
 * DESIGN. x is stored in octets, [channel / 8][token][8] of bf16: 16 bytes per token, all tokens of
 * an octet contiguous, so that rotating a track is an offset.
 */
#ifndef CS_KERNELS_CUDA_CHORD_H
#define CS_KERNELS_CUDA_CHORD_H

#include "kernels/cuda/mma.cuh"

enum { CS_OCTET = 8, CS_WIDE = 32,       /* channels of 16 bytes; of a step of either product */
       CS_MAX_HIDDEN = 128 };            /* limited by the registers for two tiles of rows */

/* Tokens of a batch, or of the part of it that fits in shared memory; T and S are the types of
 * offsets and segment numbers. An octet begins `pitch` places of 16 bytes after the previous
 * one. */
template <class T, class S, class P> struct cs_chord_rows {
    int32_t  rows;
    P        pitch;
    int32_t  d, track, n_track;
    uint32_t per_track;          /* cs_reciprocal(track) */
    const T *off;                /* [n_seg + 1] */
    const S *segment;            /* [rows] segment of a row */
    const T *shift;              /* [n_seg * n_track] rotation in tokens */
};

/* One block of the network on one batch. dp, hp: width and hidden size, padded as in the
 * weights. */
struct cs_chord_job : cs_chord_rows<int32_t, int32_t, int64_t> {
    int32_t      dp, hp;
    const uint4 *x, *pack;       /* pack: w1, w2, then b1 (hp), b2 (dp) as floats */
    uint4       *y;
    float       *part;           /* sums for means: [slot][hp + dp] */
    bool         stream;         /* x and y exceed the L2 cache: y does not evict x */
};

/** cs_reciprocal - 2^32 / n, rounded up: j / n is the upper word of j times it while j n < 2^32 */
static inline uint32_t cs_reciprocal(int32_t n)
{
    return (uint32_t)(((UINT64_C(1) << 32) + (uint64_t)n - 1) / (uint64_t)n);
}

/** cs_track_of - track of a channel */
template <class Q> __device__ static inline int32_t cs_track_of(const Q &q, int32_t j)
{
    return (int32_t)((uint64_t)(uint32_t)j * q.per_track >> 32);
}

/** cs_steps_of - number of steps of CS_WIDE channels */
__device__ __host__ static inline int32_t cs_steps_of(int32_t d)
{
    return (d + CS_WIDE - 1) / CS_WIDE;
}

static inline int32_t cs_padded_width(int32_t d) { return cs_steps_of(d) * CS_WIDE; }
static inline int32_t cs_padded_hidden(int32_t h)
{
    return h <= 32 ? 32 : h <= 64 ? 64 : CS_MAX_HIDDEN;
}

/** cs_tile_rows - tokens per warp's tile in a batch with that many rows, 16 or 32: the one with
 * less work for the warp that has most. A tile of 32 executes 7/4 of the instructions of one of 16,
 * which reads each weight for half as many rows (tests/gpu/sass) */
static inline int32_t cs_tile_rows(cs_backend *be, int64_t rows)
{
    const int64_t wave = (int64_t)16 * CS_WARPS * cs_cuda_of(be)->n_sm;
    return 7 * cs_div_up(rows, 2 * wave) <= 4 * cs_div_up(rows, wave) ? 32 : 16;
}

/* 16-byte words of one of the two weights */
__device__ static inline int32_t cs_n_word4(const cs_chord_job &q)
{
    return q.dp * q.hp / CS_OCTET;
}

__device__ static inline const float *cs_bias1(const cs_chord_job &q)
{
    return (const float *)(q.pack + 2 * cs_n_word4(q));
}

/** cs_weight_bytes - bytes of both weights */
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

/* A lane's row r and its segment; shift: where the rotations of its tracks begin, or -1 if there is
 * no such row. */
struct cs_row_place { int32_t shift, r, start, len; };

template <class T, class S, class P>
__device__ static inline cs_row_place cs_place_of(const cs_chord_rows<T, S, P> &q, int32_t r)
{
    if (r >= q.rows)
        return { -1, r, 0, 0 };
    const int32_t s = q.segment[r], start = q.off[s];
    return { s * q.n_track, r, start, q.off[s + 1] - start };
}

/* ---- octets ------------------------------------------------------------------------------ */

/** cs_octet_from - an octet of f(j), channels j .. j + 3; 0 from column d on, a multiple of 4 */
template <class F> __device__ static inline uint4 cs_octet_from(int32_t octet, int32_t d, F f)
{
    const int32_t j = octet * CS_OCTET;
    const float4 a = f(j), b = j + 4 < d ? f(j + 4) : make_float4(0, 0, 0, 0);
    return make_uint4(cs_bf16_pair(a.x, a.y), cs_bf16_pair(a.z, a.w), cs_bf16_pair(b.x, b.y),
                      cs_bf16_pair(b.z, b.w));
}

/** cs_row_quad - channels j .. j + 3 of row r; rows begin at multiples of 16 bytes */
__device__ static inline float4 cs_row_quad(cs_mat m, int64_t r, int32_t j)
{
    return *(const float4 *)&cs_el(m, r, j);
}

/** cs_channel_at - channel j of row r */
__device__ static inline float cs_channel_at(const uint4 *x, int64_t pitch, int64_t r, int32_t j)
{
    uint32_t w = ((const uint32_t *)x)[(j / CS_OCTET * pitch + r) * 4 + j % CS_OCTET / 2];
    return j % 2 ? cs_bf16_high(w) : cs_bf16_low(w);
}

/* Token ids of rows, and the tables for them (cs_chord_stack). */
struct cs_chord_tokens { const int32_t *id; cs_mat embed, first; };

/* Both have a last row for negative ids. */
__device__ static inline int32_t cs_table_row(const cs_chord_tokens &w, int32_t r)
{
    return w.id[r] < 0 ? (int32_t)w.embed.r - 1 : w.id[r];
}

/** cs_token_octet - an octet of the embedding plus the first block's table at the rotated place.
 * p: place of the row; token_row: its row of the tables */
template <class Q>
__device__ static inline uint4 cs_token_octet(const Q &q, const cs_chord_tokens &w,
                                              const cs_row_place &p, int32_t token_row,
                                              int32_t octet)
{
    int32_t track = -1, row = 0;
    return cs_octet_from(octet, q.d, [&](int32_t j) {
        float4 v = cs_row_quad(w.embed, token_row, j);
        if (!w.first.p)
            return v;
        if (cs_track_of(q, j) != track) {
            track = cs_track_of(q, j);
            const int32_t from = p.r + q.shift[p.shift + track];
            row = cs_table_row(w, from - p.start < p.len ? from : from - p.len);
        }
        return cs_sum_quads(v, cs_row_quad(w.first, row, j));
    });
}

/* Selects one of three limits in KiB: the shared memory of a block is 227 on sm_90 and sm_100, 163
 * on sm_80, 99 on sm_86, 89 and 120. */
typedef bool cs_chord_fits_fn(int32_t width, int32_t hidden, int32_t track);
static inline cs_chord_fits_fn *cs_by_shared_memory(cs_backend *be, cs_chord_fits_fn *in_227,
                                                    cs_chord_fits_fn *in_163,
                                                    cs_chord_fits_fn *in_99)
{
    const size_t max = cs_cuda_of(be)->shared_bytes;
    return max >= 227 << 10 ? in_227 : max >= 163 << 10 ? in_163 : in_99;
}

/* ---- the launches ------------------------------------------------------------------------ */

/** cs_cuda_chord_pack_size - see chord_pack_size in kernels/backend.h */
static inline int64_t cs_cuda_chord_pack_size(int32_t width, int32_t hidden)
{
    const int64_t dp = cs_padded_width(width), hp = cs_padded_hidden(hidden);
    return dp * hp + hp + dp;
}

/* Tables of a batch's rows on the device: those of cs_chord_rows, and, unless NULL, the first slot
 * [n_seg + 1] of a segment in tiles of `tile` rows. */
struct cs_chord_tables { int32_t *off, *shift, *segment; int64_t *slot; int32_t tile; };

/** cs_cuda_chord_tables - fill them */
void cs_cuda_chord_tables(cs_backend *be, cs_seg seg, int32_t n_track, const cs_chord_tables &t);
/** cs_cuda_chord_prepare - see chord_prepare in kernels/backend.h */
void cs_cuda_chord_prepare(cs_backend *be, const cs_chord *k, cs_real *pack);
/** cs_cuda_chord_block - y = x + ..., in tiles of 16 or 32 rows; for the mean: sums of tiles
 * instead */
void cs_cuda_chord_block(cs_backend *be, const cs_chord_job &q, int32_t rows, bool mean);
/** cs_cuda_chord_has_groups - can warpgroups compute the block, with rows for all of them? */
bool cs_cuda_chord_has_groups(cs_backend *be, const cs_chord_job &q);
/** cs_cuda_chord_groups - cs_cuda_chord_block() by warpgroups, not for means */
void cs_cuda_chord_groups(cs_backend *be, const cs_chord_job &q);
/** cs_cuda_chord_is_short - do sequences of this depth fit in shared memory? */
bool cs_cuda_chord_is_short(cs_backend *be, cs_seg seg, const cs_chord_stack *s);
/** cs_cuda_chord_short - chord_stack for sequences that fit; needs no scratch */
void cs_cuda_chord_short(cs_backend *be, cs_seg seg, const cs_chord_stack *s, cs_mat x,
                         cs_mat mean);

#endif

/* chord_prefetch.cuh - a ChordMixer block whose rows are copied to shared memory before their use.
 *
 * DESIGN. A tile reads x twice: the octets of its rows for the first product, and those of its
 * rotated rows for the second. Each lane copies what it will read itself to slots of its own, by
 * cp.async, N steps before. So more bytes are under way than registers could hold (a step of 32
 * rows has 2 KiB, and 16 KiB per multiprocessor must be under way to use the bandwidth of an H100),
 * and no barriers are needed. N is CS_AHEAD, or 1 where shared memory or a block's steps are few.
 * The steps continue from the first product to the second and from there to the warp's next tile.
 */
#ifndef CS_KERNELS_CUDA_CHORD_PREFETCH_H
#define CS_KERNELS_CUDA_CHORD_PREFETCH_H

#include "kernels/cuda/ahead.cuh"
#include "kernels/cuda/chord_tile.cuh"

enum { CS_AHEAD = 3 };

/** cs_prefetch_bytes - shared memory for n steps of tiles of `rows` rows */
static inline size_t cs_prefetch_bytes(int32_t rows, int n)
{
    return (size_t)n * CS_BLOCK * sizeof(uint4) * (size_t)(rows / 8);
}

/** cs_steps_ahead - steps for which memory is left beside n_bytes of weights; 0: none. d: width */
static inline int cs_steps_ahead(size_t all, size_t n_bytes, int32_t rows, int32_t d)
{
    return cs_steps_of(d) >= CS_AHEAD && n_bytes + cs_prefetch_bytes(rows, CS_AHEAD) <= all
        ? CS_AHEAD : n_bytes + cs_prefetch_bytes(rows, 1) <= all ? 1 : 0;
}

/* A lane's slots, [N][2 * NM] places that are CS_BLOCK apart. */
template <int NM, int N> struct cs_prefetch {
    uint4  *slots;
    int32_t now;                 /* the step whose slots are next */

    __device__ uint4 *place(int i) const { return slots + (now * 2 * NM + i) * CS_BLOCK; }

    /* Rows of step k of a tile of x. */
    template <class Q>
    __device__ void ask_rows(const Q &q, const uint4 *x, const cs_tile<NM, int32_t> &t,
                             int32_t k) const
    {
        const uint4 *from = cs_lane_octets(q, x, t, k);
        const bool in = (k * (CS_WIDE / CS_OCTET) + t.c) * CS_OCTET < q.d;
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++)
            ask_if(in && cs_row_of(t, i) < q.rows, place(i), from + 8 * i);
    }

    /* An octet of x at the rotated places of the rows. */
    template <class Q>
    __device__ void ask_rotated(const Q &q, const uint4 *x, const cs_row_place rows[2 * NM],
                                int32_t octet) const
    {
        const cs_octet_tracks tracks = cs_tracks_of(q, octet);
        const uint4 *from = x + octet * q.pitch;
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++) {
            const cs_octet_place at = cs_octet_of<CS_ASK>(q, rows[i], tracks);
            if (!cs_halves<CS_ASK>(q)) {
                ask_if(at.at[0] >= 0, place(i), from + at.at[0]);
                continue;
            }
            CS_UNROLL
            for (int half = 0; half < 2; half++)
                ask_if(at.at[half] >= 0, (uint2 *)place(i) + half,
                       (const uint2 *)from + at.at[half]);
        }
    }

    __device__ static void ask_if(bool in, uint4 *to, const uint4 *from)
    {
        if (in)
            cs_ask(to, from);
        else
            *to = make_uint4(0, 0, 0, 0);
    }

    __device__ static void ask_if(bool in, uint2 *to, const uint2 *from)
    {
        if (in)
            cs_ask_half(to, from);
        else
            *to = make_uint2(0, 0);
    }

    /* The rows of this step, in registers: its slots may be asked for again. */
    __device__ void take(uint4 v[2 * NM]) const
    {
        cs_wait_but<N - 1>();
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++) {
            const uint4 u = *place(i);
            v[i] = make_uint4(cs_opaque(u.x), cs_opaque(u.y), cs_opaque(u.z), cs_opaque(u.w));
        }
    }

    /* After the step's slots were asked for. */
    __device__ void advance()
    {
        cs_end_group();
        now = now + 1 == N ? 0 : now + 1;
    }
};

/** cs_prefetched_tile - a tile through the block; its first N steps were asked for, and those of
 * tile `after` are on return. weights: w1 and w2 */
template <int NH, int NM, int N>
__device__ static inline void cs_prefetched_tile(const cs_chord_job &q, const uint4 *weights,
                                                 const cs_tile<NM, int32_t> &t,
                                                 const cs_tile<NM, int32_t> &after,
                                                 cs_prefetch<NM, N> &ahead)
{
    enum { STEP = CS_WIDE / CS_OCTET };
    const int32_t n_step = cs_steps_of(q.d);
    float acc[NM][2 * NH][4];
    uint32_t hidden[NM][NH][4];
    cs_row_place place[2 * NM];
    uint4 v[2 * NM];

    cs_places_of(q, t, place);
    cs_begin_first<NH, NM>(t, cs_bias1(q), acc);
    for (int32_t k = 0, next = N; k < n_step; k++, next++) {
        uint32_t a[NM][8];
        ahead.take(v);
        cs_fragments<false, NM>(v, a);
        if (next < n_step)
            ahead.ask_rows(q, q.x, t, next);
        else
            ahead.ask_rotated(q, q.x, place, (next - n_step) * STEP + t.c);
        ahead.advance();
        cs_first_step<NH, NM>(weights + k * cs_step<NH>::WORD4, a, acc);
    }
    cs_tile_gelu<NH, NM>(acc);
    cs_tile_pairs<NH, NM>(acc, hidden);
    weights += n_step * cs_step<NH>::WORD4;
    for (int32_t k = 0, next = N; k < n_step; k++, next++) {
        const int32_t octet = k * STEP + t.c;
        const cs_octet_tracks tracks = cs_tracks_of(q, octet);
        float out[NM][4][4];
        cs_octet_place to[2 * NM];
        ahead.take(v);
        if (next < n_step)
            ahead.ask_rotated(q, q.x, place, next * STEP + t.c);
        else
            ahead.ask_rows(q, q.x, after, next - n_step);
        ahead.advance();
        cs_second_step<NH, NM>(weights + k * cs_step<NH>::WORD4,
                               cs_bias1(q) + q.hp + octet * CS_OCTET, hidden, out);
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++)
            to[i] = cs_octet_of<CS_ASK>(q, place[i], tracks);
        cs_write_step<CS_ASK, NM>(q, q.y + octet * q.pitch, to, v, out);
    }
}

#endif

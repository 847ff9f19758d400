/* chord_train.cuh - a ChordMixer block in training: declarations shared by its kernels. */
#ifndef CS_KERNELS_CUDA_CHORD_TRAIN_H
#define CS_KERNELS_CUDA_CHORD_TRAIN_H

#include "kernels/cuda/bulk.cuh"
#include "kernels/cuda/chord_tile.cuh"
#include "kernels/cuda/smem_matrix.cuh"

/* Backward through rows first .. rows - 1 of the batch. dp, hp: width and hidden size, padded as in
 * the weights; h: hidden size. x, dy and dx are in octets, with one pitch. */
struct cs_train_job : cs_chord_rows<int32_t, int32_t, int64_t> {
    int32_t      first, dp, h, hp;
    cs_mat       b1;
    const uint4 *pack;           /* w1 and w2', (hp, dp) each, of bf16; by warpgroups: as octets */
    const uint4 *x, *dy;
    uint4       *dx;
    bool         add;            /* to dx, otherwise it is written */
    uint4       *hidden, *dz;    /* (rows - first, hp) of bf16: gelu(z), and the gradient of z. Of
                                  * warpgroups octets, to whole tiles of 64 rows, the last ones 0 */
    int64_t      unit_pitch;     /* rows from such an octet to the next one */
    float       *part;           /* partial sums: cs_train_parts */
};

/* ---- weights ----------------------------------------------------------------------------- */

/** cs_unit_at - hidden unit of row p of the weights: a lane has units 8c .. 8c + 7 of each 32 (4
 * tiles) */
__device__ static inline int32_t cs_unit_at(int32_t p)
{
    return p / 32 * 32 + p % 8 / 2 * 8 + p / 8 % 4 * 2 + p % 2;
}

/** cs_weight_pair - channels j and j + 1 of hidden unit u in w1, or in w2' if `second` */
__device__ static inline uint32_t cs_weight_pair(cs_mat w1, cs_mat w2, bool second, int32_t u,
                                                 int32_t j)
{
    float v[2];
    for (int e = 0; e < 2; e++)
        v[e] = u >= w1.r || j + e >= w1.c ? 0 : second ? cs_el(w2, j + e, u) : cs_el(w1, u, j + e);
    return cs_bf16_pair(v[0], v[1]);
}

/* ---- a warp's 16 rows -------------------------------------------------------------------- */

typedef cs_warp_tile<1, int32_t> cs_train_tile;

/** cs_gelu_units - a: gelu(z) of the m-th 32 units, as operands; z = gelu'(z) */
template <int NH>
__device__ static inline void cs_gelu_units(int m, float z[2 * NH][4], uint32_t a[1][2][4])
{
    float v[1][4][4];
    CS_UNROLL
    for (int i = 0; i < 16; i++) {
        float *at = &z[4 * m + i / 4][i % 4];
        v[0][i / 4][i % 4] = cs_gelu_fast(*at);
        *at = cs_gelu_slope_fast(*at);
    }
    cs_tile_pairs<2, 1>(v, a);
}

/** cs_dz_units - a: dz = dhidden gelu'(z), as operands; dhidden is changed */
template <int NH>
__device__ static inline void cs_dz_units(const float slope[2 * NH][4], float dhidden[1][2 * NH][4],
                                          uint32_t a[1][NH][4])
{
    CS_UNROLL
    for (int i = 0; i < 8 * NH; i++)
        dhidden[0][i / 4][i % 4] *= slope[i / 4][i % 4];
    cs_tile_pairs<NH, 1>(dhidden, a);
}

/** cs_units_of - units 8c .. 8c + 7 of 32, of row g or g + 8: a lane's in two operands */
__device__ static inline uint4 cs_units_of(const uint32_t a[2][4], int i)
{
    return make_uint4(a[0][i], a[0][i + 2], a[1][i], a[1][i + 2]);
}

/* A segment: its number and its rows start .. end - 1. */
struct cs_segment_rows { int32_t no, start, end; };

/** cs_segment_of_row - the segment of row r */
__device__ static inline cs_segment_rows cs_segment_of_row(const cs_train_job &q, int32_t r)
{
    const int32_t no = q.segment[r];
    return { no, q.off[no], q.off[no + 1] };
}

/** cs_copy_rotated - start the copies of the rotated places of n rows from r on, of an octet of x;
 * s: the segment of r. A track of a segment is rotated by an offset: one range, or two where it
 * wraps around */
__device__ static inline void cs_copy_rotated(const cs_train_job &q, cs_segment_rows s, uint4 *to,
                                              const uint4 *x, int32_t octet, int32_t r, int32_t n,
                                              uint64_t *bar)
{
    const int32_t track = cs_track_of(q, octet * CS_OCTET);
    x += octet * q.pitch;
    for (;;) {
        const int32_t n_here = s.end - r < n ? s.end - r : n;
        const int32_t first = r - q.shift[s.no * q.n_track + track];
        const int32_t from = first < s.start ? first + s.end - s.start : first;
        const int32_t head = s.end - from < n_here ? s.end - from : n_here;
        if (head > 0)
            cs_bulk_copy(to, x + from, head * (int32_t)sizeof *x, bar);
        if (n_here > head)
            cs_bulk_copy(to + head, x + s.start, (n_here - head) * (int32_t)sizeof *x, bar);
        to += n_here, r += n_here, n -= n_here;
        if (n <= 0)
            return;
        s = { s.no + 1, s.end, q.off[s.no + 2] };
    }
}

/** cs_sum_pair - two channels of dx + dy + v */
__device__ static inline uint32_t cs_sum_pair(uint32_t dx, uint32_t dy, float low, float high)
{
    return cs_bf16_pair(cs_bf16_low(dx) + cs_bf16_low(dy) + low,
                        cs_bf16_high(dx) + cs_bf16_high(dy) + high);
}

/* ---- calls ------------------------------------------------------------------------------- */

/** cs_cuda_chord_train_has_groups - can warpgroups go backward through such blocks? */
bool cs_cuda_chord_train_has_groups(cs_backend *be, cs_seg seg, const cs_chord *k);
/** cs_cuda_chord_train_groups - hidden, dz and dx of the job's rows, by warpgroups; pack is that of
 * cs_cuda_chord_train_pack() */
void cs_cuda_chord_train_groups(cs_backend *be, const cs_train_job &q);
/** cs_cuda_chord_train_pack - the weights for warpgroups, w1 and then w2', each [octet of
 * channels][row of cs_unit_at()][8] */
void cs_cuda_chord_train_pack(cs_backend *be, const cs_chord &k, uint32_t *to);
/** cs_train_pitch - unit_pitch for so many rows */
static inline int64_t cs_train_pitch(int64_t rows) { return cs_div_up(rows, 64) * 64; }
/** cs_cuda_chord_parts - floats for the partial sums of ranges of rows */
int64_t cs_cuda_chord_parts(cs_backend *be, int32_t d, int32_t hp, int64_t rows);
/** cs_cuda_chord_weights - dw1 += dz' x, dw2 += (rotated dy)' hidden, db1 and db2 += the sums of dz
 * and of rotated dy, over the job's rows */
void cs_cuda_chord_weights(cs_backend *be, const cs_train_job &q, const cs_chord *dk);
/** cs_cuda_chord_group_parts, cs_cuda_chord_weights_groups - the same by warpgroups */
int64_t cs_cuda_chord_group_parts(cs_backend *be, int32_t d, int32_t hp, int64_t rows);
void cs_cuda_chord_weights_groups(cs_backend *be, const cs_train_job &q, const cs_chord *dk);

/* Partial sums of ranges of rows, one after another: dw1 and dw2', (hp, ld), of each; then db2, ld
 * of each; then db1, hp of each. */
struct cs_train_parts {
    float  *part;
    int32_t n_range, hp;
    int64_t ld;

    __device__ float *weights(int32_t range, bool second, int32_t unit) const
    {
        return part + ((2 * (int64_t)range + second) * hp + unit) * ld;
    }
    __device__ float *columns(int32_t range) const
    {
        return part + (2 * (int64_t)n_range * hp + range) * ld;
    }
    __device__ float *units(int32_t range) const
    {
        return columns(n_range) + (int64_t)range * hp;
    }
    int64_t size(void) const { return n_range * ((2 * hp + 1) * ld + hp); }
};

/** cs_cuda_chord_add_parts - add the partial sums to the gradients, in order */
void cs_cuda_chord_add_parts(cs_backend *be, const cs_train_parts &p, const cs_chord *dk);

#endif

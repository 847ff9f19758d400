/* cu_chord_block.cu - a ChordMixer block for answers on tensor cores, in one launch.
 *
 * DESIGN. A warp takes a tile of tokens through a block and keeps all in registers:
 *
 *   hidden = gelu(x w1' + b1)   lane (g, c) of cs_mma reads the 16 bytes of its rows and of octet
 *                               4 k + c, and calls them columns 2c, 2c+1, 2c+8, 2c+9 of two steps
 *                               of 16. w1 has the same order: nothing goes through shared memory
 *   out = hidden w2' + b2       what cs_mma gives is what it takes as `a`. Columns of w2' are dealt
 *                               so that the lane ends up with the 8 channels of octet 4 k + c
 *   y[rotated] = x[rotated] + out   16 bytes at a time; 8 where a track is 4 channels
 *
 * Both weights stay in a block's shared memory, in the order in which lanes read them; there are as
 * many blocks as multiprocessors, and warps wait for nobody. x is read twice (the second time out
 * of the second-level cache where the shift is not too far) and y written once.
 *
 * Source: Khalitov et al., ChordMixer; mma.cuh for the layouts.
 */
#include "kernels/cuda/chord.cuh"

/* ---- weights ----------------------------------------------------------------------------- */

/* Word i of w1: of step k, column n of the hidden layer and lane (n % 8, c), two channels. */
__device__ static uint32_t packed_w1(const cs_chord &k, int32_t hp, int32_t i)
{
    int32_t lane = i / 4 % CS_WARP, tile = i / 4 / CS_WARP;
    int32_t n = tile % (hp / 8) * 8 + lane / 4;
    int32_t j = tile / (hp / 8) * CS_WIDE + lane % 4 * CS_OCTET + i % 4 * 2;
    float a = n < k.w1.r && j < k.w1.c ? cs_el(k.w1, n, j) : 0;
    float b = n < k.w1.r && j + 1 < k.w1.c ? cs_el(k.w1, n, j + 1) : 0;
    return cs_bf16_pair(a, b);
}

/* The channel that column n of tile q of step `step` stands for. */
__device__ static inline int32_t channel_of(int32_t step, int32_t q, int32_t n)
{
    return step * CS_WIDE + n / 2 * CS_OCTET + 2 * q + n % 2;
}

/* Word i of w2: of a step, 16 rows of hidden, two tiles and a lane: b[0], b[1] of either tile. */
__device__ static uint32_t packed_w2(const cs_chord &k, int32_t hp, int32_t i)
{
    int32_t lane = i / 4 % CS_WARP, at = i / 4 / CS_WARP;
    int32_t q = at % 2 * 2 + i % 4 / 2, row16 = at / 2 % (hp / 16);
    int32_t j = channel_of(at / 2 / (hp / 16), q, lane / 4);
    int32_t n = row16 * 16 + i % 2 * 8 + lane % 4 * 2;
    float a = j < k.w2.r && n < k.w2.c ? cs_el(k.w2, j, n) : 0;
    float b = j < k.w2.r && n + 1 < k.w2.c ? cs_el(k.w2, j, n + 1) : 0;
    return cs_bf16_pair(a, b);
}

void cs_cuda_chord_prepare(cs_backend *be, const cs_chord *k, cs_real *pack)
{
    const cs_chord w = *k;
    int32_t dp = cs_padded_width(w.w1.c), hp = cs_padded_hidden((int32_t)w.w1.r), n = dp * hp / 2;
    uint32_t *to = (uint32_t *)pack;
    float *bias = pack + 2 * n;
    cs_each(be, 1, 2 * n + hp + dp, [=] __device__(int64_t, int32_t i) {
        int32_t b = i - 2 * n, j = b - hp;
        if (i < 2 * n)
            to[i] = i < n ? packed_w1(w, hp, i) : packed_w2(w, hp, i - n);
        else if (b < hp)
            bias[b] = b < w.b1.c ? w.b1.p[b] : 0;
        else
            bias[b] = j < w.b2.c ? w.b2.p[j] : 0;
    }, "chord_prepare");
}

/* ---- a tile ------------------------------------------------------------------------------ */

/* A lane's rows of a tile, two to each 16: numbers g and g + 8. */
template <int NM> struct tile_at { int64_t r0; int32_t g, c; };

template <int NM>
__device__ static inline int64_t row_of(const tile_at<NM> &t, int i) { return t.r0 + 8 * i + t.g; }

/* The lane's 16 bytes of step k of its rows; 0 where there is nothing. */
template <int NM>
__device__ static void load_step(const cs_chord_job &q, const tile_at<NM> &t, int32_t k,
                                 uint4 v[2 * NM])
{
    int32_t octet = k * (CS_WIDE / CS_OCTET) + t.c;
    const uint4 *from = q.x + octet * q.rows;
    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++) {
        int64_t r = row_of(t, i);
        v[i] = octet * CS_OCTET < q.d && r < q.rows ? from[r] : make_uint4(0, 0, 0, 0);
    }
}

/* Over the lanes that hold the same columns of other rows. */
__device__ static inline float sum_rows(float v)
{
    for (int m = 4; m < CS_WARP; m *= 2)
        v += (float)__shfl_xor_sync(0xFFFFFFFFu, v, m);
    return v;
}

/* Sums of x for means: of the octet's 8 channels over those rows of the tile that lie in `s`. */
template <int NM>
__device__ static void sum_octet(const uint4 v[2 * NM], const bool in[2 * NM], float *to)
{
    float sum[CS_OCTET] = { 0 };
    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++) {
        const uint32_t w[4] = { v[i].x, v[i].y, v[i].z, v[i].w };
        CS_UNROLL
        for (int p = 0; p < 4; p++) {
            sum[2 * p] += in[i] ? cs_bf16_low(w[p]) : 0;
            sum[2 * p + 1] += in[i] ? cs_bf16_high(w[p]) : 0;
        }
    }
    CS_UNROLL
    for (int e = 0; e < CS_OCTET; e++) {
        float all = sum_rows(sum[e]);
        if (to)
            to[e] = all;
    }
}

/* acc = x w1' + b1 of a tile: hp / 8 tiles of 8 columns for each 16 rows. */
template <int NH, int NM>
__device__ static void first_product(const cs_chord_job &q, const tile_at<NM> &t, const uint4 *w1,
                                     float acc[NM][2 * NH][4])
{
    const float *b = cs_bias1(q);
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, n_step = q.dp / CS_WIDE;
    uint4 v[2 * NM], next[2 * NM];

    load_step(q, t, 0, v);
    CS_UNROLL
    for (int n = 0; n < 2 * NH; n++)
        CS_UNROLL
        for (int m = 0; m < NM; m++)
            for (int i = 0; i < 4; i++)
                acc[m][n][i] = b[8 * n + 2 * t.c + i % 2];
    for (int32_t k = 0; k < n_step; k++) {
        load_step(q, t, k + 1, next);        /* on its way during the products */
        CS_UNROLL
        for (int n = 0; n < 2 * NH; n++) {
            const uint4 w = w1[(k * 2 * NH + n) * CS_WARP + lane];
            CS_UNROLL
            for (int m = 0; m < NM; m++) {
                const uint4 lo = v[2 * m], hi = v[2 * m + 1];
                const uint32_t one[4] = { lo.x, hi.x, lo.y, hi.y };
                const uint32_t two[4] = { lo.z, hi.z, lo.w, hi.w };
                cs_mma(acc[m][n], one, w.x, w.y);
                cs_mma(acc[m][n], two, w.z, w.w);
            }
        }
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++)
            v[i] = next[i];
    }
}

template <int NH, int NM> __device__ static void activate(float acc[NM][2 * NH][4])
{
    CS_UNROLL
    for (int m = 0; m < NM; m++)
        CS_UNROLL
        for (int n = 0; n < 2 * NH; n++)
            CS_UNROLL
            for (int i = 0; i < 4; i++)
                acc[m][n][i] = cs_gelu_fast(acc[m][n][i]);
}

__device__ static inline int64_t rotated(const cs_row_place &p, int32_t i)
{
    int64_t to = p.t - p.shift[i];
    return p.start + (to < 0 ? to + p.len : to);
}

/* Where an octet of a row goes: a place of 16 bytes, or for tracks of 4 channels two of 8. Below 0:
 * nowhere */
struct octet_place { int64_t at[2]; };

__device__ static octet_place octet_of(const cs_chord_job &q, const cs_row_place &p, int32_t octet)
{
    const int32_t j = octet * CS_OCTET;
    octet_place to = { { -1, -1 } };
    if (!p.shift || j >= q.d)
        return to;
    if (q.track % CS_OCTET == 0) {
        to.at[0] = octet * q.rows + rotated(p, j / q.track);
        return to;
    }
    to.at[0] = 2 * (octet * q.rows + rotated(p, j / q.track));
    /* Half an octet behind the last channel stays 0, as the tables and weights have it. */
    to.at[1] = j + 4 < q.d ? 2 * (octet * q.rows + rotated(p, (j + 4) / q.track)) + 1
                           : to.at[0] + 1;
    return to;
}

__device__ static uint4 read_octet(const cs_chord_job &q, const octet_place &from)
{
    if (q.track % CS_OCTET == 0)
        return from.at[0] >= 0 ? q.x[from.at[0]] : make_uint4(0, 0, 0, 0);
    const uint2 *x = (const uint2 *)q.x;
    uint2 a = from.at[0] >= 0 ? x[from.at[0]] : make_uint2(0, 0);
    uint2 b = from.at[1] >= 0 ? x[from.at[1]] : make_uint2(0, 0);
    return make_uint4(a.x, a.y, b.x, b.y);
}

__device__ static void write_octet(const cs_chord_job &q, const octet_place &to, uint4 v)
{
    if (q.track % CS_OCTET == 0) {
        if (to.at[0] >= 0)
            q.y[to.at[0]] = v;
        return;
    }
    if (to.at[0] >= 0)
        ((uint2 *)q.y)[to.at[0]] = make_uint2(v.x, v.y);
    if (to.at[1] >= 0)
        ((uint2 *)q.y)[to.at[1]] = make_uint2(v.z, v.w);
}

__device__ static inline uint32_t add_pair(uint32_t w, float low, float high)
{
    return cs_bf16_pair(cs_bf16_low(w) + low, cs_bf16_high(w) + high);
}

/* y = x + rotated(hidden w2' + b2) */
template <int NH, int NM>
__device__ static void second_product(const cs_chord_job &q, const tile_at<NM> &t, const uint4 *w2,
                                      const uint32_t hidden[NM][NH][4])
{
    const float *b = cs_bias1(q) + q.hp;
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP;
    cs_row_place place[2 * NM];

    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++)
        place[i] = cs_place_of(q, row_of(t, i));
    for (int32_t k = 0; k < q.dp / CS_WIDE; k++) {
        const int32_t octet = k * (CS_WIDE / CS_OCTET) + t.c;
        float out[NM][4][4];
        octet_place to[2 * NM];
        uint4 x[2 * NM];             /* on its way during the products */
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++) {
            to[i] = octet_of(q, place[i], octet);
            x[i] = read_octet(q, to[i]);
        }
        CS_UNROLL
        for (int m = 0; m < NM; m++)
            CS_UNROLL
            for (int n = 0; n < 4; n++)
                for (int i = 0; i < 4; i++)
                    out[m][n][i] = b[octet * CS_OCTET + 2 * n + i % 2];
        CS_UNROLL
        for (int h = 0; h < NH; h++)
            CS_UNROLL
            for (int pair = 0; pair < 2; pair++) {
                const uint4 w = w2[((k * NH + h) * 2 + pair) * CS_WARP + lane];
                CS_UNROLL
                for (int m = 0; m < NM; m++) {
                    cs_mma(out[m][2 * pair], hidden[m][h], w.x, w.y);
                    cs_mma(out[m][2 * pair + 1], hidden[m][h], w.z, w.w);
                }
            }
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++) {
            const float (*o)[4] = out[i / 2];
            const int e = i % 2 * 2;
            write_octet(q, to[i], make_uint4(add_pair(x[i].x, o[0][e], o[0][e + 1]),
                                             add_pair(x[i].y, o[1][e], o[1][e + 1]),
                                             add_pair(x[i].z, o[2][e], o[2][e + 1]),
                                             add_pair(x[i].w, o[3][e], o[3][e + 1])));
        }
    }
}

/* Sums over the rows of segment s in a tile, of hidden and of x, to the slot that is theirs. */
template <int NH, int NM>
__device__ static void sum_tile(const cs_chord_job &q, const tile_at<NM> &t, int32_t s,
                                const float acc[NM][2 * NH][4])
{
    bool in[2 * NM];
    float *to = q.part + (t.r0 / (16 * NM) + s) * (q.hp + q.dp);

    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++) {
        int64_t r = row_of(t, i);
        in[i] = r < q.rows && q.segment[r] == s;
    }
    CS_UNROLL
    for (int n = 0; n < 2 * NH; n++)
        CS_UNROLL
        for (int e = 0; e < 2; e++) {
            float sum = 0;
            CS_UNROLL
            for (int i = 0; i < 2 * NM; i++)
                sum += in[i] ? acc[i / 2][n][i % 2 * 2 + e] : 0;
            sum = sum_rows(sum);
            if (t.g == 0)
                to[8 * n + 2 * t.c + e] = sum;
        }
    for (int32_t k = 0; k < q.dp / CS_WIDE; k++) {
        uint4 v[2 * NM];
        load_step(q, t, k, v);               /* read a moment ago: still in the cache */
        sum_octet<NM>(v, in, t.g == 0 ? to + q.hp + k * CS_WIDE + t.c * CS_OCTET : NULL);
    }
}

/* Copies what the lanes of a block read again and again. */
__device__ static void load_weights(const uint4 *from, uint4 *to, int32_t n)
{
    for (int32_t i = (int32_t)threadIdx.x; i < n; i += CS_BLOCK)
        to[i] = from[i];
    __syncthreads();
}

/* NH: steps of 16 hidden units; NM: steps of 16 rows of a warp's tile. */
template <int NH, int NM>
static __global__ void __launch_bounds__(CS_BLOCK, 1) chord_kernel(cs_chord_job q)
{
    CS_SHARED_ARRAY(uint4, weights);
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, n_w = cs_n_word4(q);
    int64_t r0 = ((int64_t)blockIdx.x * CS_WARPS + threadIdx.x / CS_WARP) * 16 * NM;

    load_weights(q.pack, weights, 2 * n_w);
    for (; r0 < q.rows; r0 += (int64_t)gridDim.x * CS_WARPS * 16 * NM) {
        const tile_at<NM> t = { r0, lane / 4, lane % 4 };
        float acc[NM][2 * NH][4];
        uint32_t hidden[NM][NH][4];
        first_product<NH, NM>(q, t, weights, acc);
        activate<NH, NM>(acc);
        CS_UNROLL
        for (int m = 0; m < NM; m++)
            CS_UNROLL
            for (int h = 0; h < NH; h++)
                CS_UNROLL
                for (int i = 0; i < 4; i++) {
                    const float *v = acc[m][2 * h + i / 2] + i % 2 * 2;
                    hidden[m][h][i] = cs_bf16_pair(v[0], v[1]);
                }
        second_product<NH, NM>(q, t, weights + n_w, hidden);
    }
}

template <int NH, int NM>
static __global__ void __launch_bounds__(CS_BLOCK, 1) chord_mean_kernel(cs_chord_job q)
{
    CS_SHARED_ARRAY(uint4, weights);
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP;
    int64_t r0 = ((int64_t)blockIdx.x * CS_WARPS + threadIdx.x / CS_WARP) * 16 * NM;

    load_weights(q.pack, weights, cs_n_word4(q));
    for (; r0 < q.rows; r0 += (int64_t)gridDim.x * CS_WARPS * 16 * NM) {
        const tile_at<NM> t = { r0, lane / 4, lane % 4 };
        int64_t last = r0 + 16 * NM < q.rows ? r0 + 16 * NM - 1 : q.rows - 1;
        float acc[NM][2 * NH][4];
        first_product<NH, NM>(q, t, weights, acc);
        activate<NH, NM>(acc);
        for (int32_t s = q.segment[r0]; s <= q.segment[last]; s++)
            sum_tile<NH, NM>(q, t, s, acc);
    }
}

/* ---- the launch -------------------------------------------------------------------------- */

typedef void (*chord_block_kernel)(cs_chord_job);

static chord_block_kernel kernel_for(int32_t hp, int32_t rows, bool mean)
{
    if (hp == 64 && rows == 32)
        return mean ? chord_mean_kernel<4, 2> : chord_kernel<4, 2>;
    if (hp == 64)
        return mean ? chord_mean_kernel<4, 1> : chord_kernel<4, 1>;
    if (rows == 32)
        return mean ? chord_mean_kernel<8, 2> : chord_kernel<8, 2>;
    return mean ? chord_mean_kernel<8, 1> : chord_kernel<8, 1>;
}

void cs_cuda_chord_block(cs_backend *be, const cs_chord_job &q, int32_t rows, bool mean)
{
    cs_cuda *cu = cs_cuda_of(be);
    const chord_block_kernel kernel = kernel_for(q.hp, rows, mean);
    const size_t n_bytes = (size_t)cs_weight_bytes(q.dp, q.hp) / (mean ? 2 : 1);
    const int64_t n_block = cs_div_up(q.rows, (int64_t)rows * CS_WARPS);

    cs_cuda_here(be);
    cs_cuda_keep(be, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)n_bytes), "chord_stack");
    CS_KERNEL_CALL_SHARED(kernel, (unsigned)(n_block < cu->n_sm ? n_block : cu->n_sm), CS_BLOCK,
                          n_bytes, cu->stream, q);
    cs_cuda_after(be, "chord_stack");
}

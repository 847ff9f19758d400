/* cu_chord_block.cu - a ChordMixer block for inference on tensor cores, in one launch.
 *
 * DESIGN. Each warp runs tiles of tokens through the block, in registers (chord_tile.cuh). Both
 * weights stay in shared memory; there is one block of threads per multiprocessor, and warps need
 * no barriers. Where only one of both fits (d = 336 on sm_86 and sm_89), w1 and w2 alternate, for
 * one tile of all warps. x is read twice (the second time from the L2 cache unless the shift is
 * large), and y is written once.
 *
 * The next block's weights are not loaded during this block (programmatic dependent launch): a
 * multiprocessor has registers, and mostly shared memory, for one block of threads.
 *
 * Source: Khalitov et al., ChordMixer; mma.cuh for the layouts.
 */
#include "kernels/cuda/chord_tile.cuh"

/* ---- weights ----------------------------------------------------------------------------- */

/* Word i of w1: two channels of step k, column n of the hidden layer, lane (n % 8, c). */
__device__ static uint32_t packed_w1(const cs_chord &k, int32_t hp, int32_t i)
{
    int32_t lane = i / 4 % CS_WARP, tile = i / 4 / CS_WARP;
    int32_t n = tile % (hp / 8) * 8 + lane / 4;
    int32_t j = tile / (hp / 8) * CS_WIDE + lane % 4 * CS_OCTET + i % 4 * 2;
    float a = n < k.w1.r && j < k.w1.c ? cs_el(k.w1, n, j) : 0;
    float b = n < k.w1.r && j + 1 < k.w1.c ? cs_el(k.w1, n, j + 1) : 0;
    return cs_bf16_pair(a, b);
}

/* Channel of column n of tile q of step `step`. */
__device__ static inline int32_t channel_of(int32_t step, int32_t q, int32_t n)
{
    return step * CS_WIDE + n / 2 * CS_OCTET + 2 * q + n % 2;
}

/* Word i of w2: of a step, 16 rows of hidden, two tiles and a lane: b[0], b[1] of each tile. */
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

/* Weights that stay in shared memory. */
template <int NH> struct resident {
    enum { MANY_REGS = true };
    const uint4 *at;
    __device__ const uint4 *next()
    {
        const uint4 *step = at;
        at += cs_step<NH>::WORD4;
        return step;
    }
};

/* Sums for means: the octet's 8 channels over the tile's rows in segment `s`. */
template <int NM>
__device__ static void sum_octet(const uint4 v[2 * NM], const bool in[2 * NM], float *to)
{
    float sum[CS_OCTET] = { 0 };
    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++)
        cs_add_octet(in[i] ? v[i] : make_uint4(0, 0, 0, 0), sum);
    CS_UNROLL
    for (int e = 0; e < CS_OCTET; e++) {
        float all = cs_lane_rows_sum(sum[e]);
        if (to)
            to[e] = all;
    }
}

/* Sums of hidden and x over the rows of segment s in a tile, stored to the slot of tile and
 * segment. */
template <int NH, int NM>
__device__ static void sum_tile(const cs_chord_job &q, const cs_warp_tile<NM, int32_t> &t,
                                int32_t s, const float acc[NM][2 * NH][4])
{
    bool in[2 * NM];
    float *to = q.part + (int64_t)(t.r0 / (16 * NM) + s) * (q.hp + q.dp);

    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++) {
        const int32_t r = cs_row_of(t, i);
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
            sum = cs_lane_rows_sum(sum);
            if (t.g == 0)
                to[8 * n + 2 * t.c + e] = sum;
        }
    for (int32_t k = 0; k < q.dp / CS_WIDE; k++) {
        uint4 v[2 * NM];
        cs_load_step(q, cs_lane_octets(q, q.x, t, k), t, k, v);       /* still in the cache */
        sum_octet<NM>(v, in, t.g == 0 ? to + q.hp + k * CS_WIDE + t.c * CS_OCTET : NULL);
    }
}

template <int NH, int NM>
static __global__ void __launch_bounds__(CS_BLOCK, 1) chord_kernel(cs_chord_job q)
{
    CS_SHARED_ARRAY(uint4, weights);
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, n_w = cs_n_word4(q);
    int32_t r0 = (int32_t)(blockIdx.x * CS_WARPS + threadIdx.x / CS_WARP) * 16 * NM;

    cs_block_copy(q.pack, weights, 2 * n_w);
    for (; r0 < q.rows; r0 += (int32_t)gridDim.x * CS_WARPS * 16 * NM) {
        const cs_warp_tile<NM, int32_t> t = { r0, lane / 4, lane % 4 };
        resident<NH> both = { weights };
        float acc[NM][2 * NH][4];
        uint32_t hidden[NM][NH][4];
        cs_first_product<NH>(q, q.x, t, both, cs_bias1(q), acc);
        cs_tile_gelu<NH, NM>(acc);
        cs_tile_pairs<NH, NM>(acc, hidden);
        cs_second_product<NH>(q, q.x, q.y, t, both, cs_bias1(q) + q.hp, hidden);
    }
}

/* The same with shared memory for one of both weights; all warps of a block of threads take part in
 * every turn. */
template <int NH, int NM>
static __global__ void __launch_bounds__(CS_BLOCK, 1) chord_alternate_kernel(cs_chord_job q)
{
    CS_SHARED_ARRAY(uint4, weights);
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, n_w = cs_n_word4(q);
    const int32_t own = (int32_t)threadIdx.x / CS_WARP * 16 * NM;
    int32_t first = (int32_t)blockIdx.x * CS_WARPS * 16 * NM;

    for (; first < q.rows; first += (int32_t)gridDim.x * CS_WARPS * 16 * NM) {
        const cs_warp_tile<NM, int32_t> t = { first + own, lane / 4, lane % 4 };
        resident<NH> w1 = { weights }, w2 = { weights };
        float acc[NM][2 * NH][4];
        uint32_t hidden[NM][NH][4];
        cs_block_copy(q.pack, weights, n_w);
        cs_first_product<NH>(q, q.x, t, w1, cs_bias1(q), acc);
        cs_tile_gelu<NH, NM>(acc);
        cs_tile_pairs<NH, NM>(acc, hidden);
        __syncthreads();
        cs_block_copy(q.pack + n_w, weights, n_w);
        cs_second_product<NH>(q, q.x, q.y, t, w2, cs_bias1(q) + q.hp, hidden);
        __syncthreads();
    }
}

template <int NH, int NM>
static __global__ void __launch_bounds__(CS_BLOCK, 1) chord_mean_kernel(cs_chord_job q)
{
    CS_SHARED_ARRAY(uint4, weights);
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP;
    int32_t r0 = (int32_t)(blockIdx.x * CS_WARPS + threadIdx.x / CS_WARP) * 16 * NM;

    cs_block_copy(q.pack, weights, cs_n_word4(q));
    for (; r0 < q.rows; r0 += (int32_t)gridDim.x * CS_WARPS * 16 * NM) {
        const cs_warp_tile<NM, int32_t> t = { r0, lane / 4, lane % 4 };
        const int32_t last = r0 + 16 * NM < q.rows ? r0 + 16 * NM - 1 : q.rows - 1;
        resident<NH> w1 = { weights };
        float acc[NM][2 * NH][4];
        cs_first_product<NH>(q, q.x, t, w1, cs_bias1(q), acc);
        cs_tile_gelu<NH, NM>(acc);
        for (int32_t s = q.segment[r0]; s <= q.segment[last]; s++)
            sum_tile<NH, NM>(q, t, s, acc);
    }
}

/* ---- the launch -------------------------------------------------------------------------- */

typedef void (*chord_block_kernel)(cs_chord_job);

enum chord_variant { CHORD_BOTH, CHORD_ALTERNATE, CHORD_MEAN };

template <int NH, int NM> static chord_block_kernel kernel_of(chord_variant variant)
{
    return variant == CHORD_MEAN        ? chord_mean_kernel<NH, NM>
           : variant == CHORD_ALTERNATE ? chord_alternate_kernel<NH, NM>
                                        : chord_kernel<NH, NM>;
}

template <int NH> static chord_block_kernel kernel_for(int32_t rows, chord_variant variant)
{
    return rows == 32 ? kernel_of<NH, 2>(variant) : kernel_of<NH, 1>(variant);
}

void cs_cuda_chord_block(cs_backend *be, const cs_chord_job &job, int32_t rows, bool mean)
{
    cs_cuda *cu = cs_cuda_of(be);
    const size_t both = (size_t)cs_weight_bytes(job.dp, job.hp);
    const chord_variant variant = mean                       ? CHORD_MEAN
                                : both <= cu->shared_bytes ? CHORD_BOTH
                                                           : CHORD_ALTERNATE;
    const chord_block_kernel kernel = job.hp == 32 ? kernel_for<2>(rows, variant)
                                    : job.hp == 64 ? kernel_for<4>(rows, variant)
                                                   : kernel_for<8>(rows, variant);
    const size_t n_bytes = variant == CHORD_BOTH ? both : both / 2;
    const int64_t n_block = cs_div_up(job.rows, (int64_t)rows * CS_WARPS);
    cs_chord_job q = job;
    q.stream = 2 * (int64_t)sizeof *q.x * cs_div_up(q.d, CS_OCTET) * q.rows > cu->l2_bytes;
    if (variant == CHORD_BOTH && cs_cuda_chord_has_groups(be, q)) {
        cs_cuda_chord_groups(be, q);
        return;
    }

    cs_launch_shared(be, "chord_stack", kernel, (unsigned)(n_block < cu->n_sm ? n_block : cu->n_sm),
                     CS_BLOCK, n_bytes, q);
}

/* cu_conv_mma.cu - circular dilated convolution on tensor cores, with no gathered copy of x.
 *
 * DESIGN. y = sum over taps of x[the tap's rows] w_tap is one product over n_tap * x.c terms, taken
 * in steps of 16 channels of one tap. Its left factor is nowhere in memory: who multiplies a row
 * reads it from where the tap has it.
 *
 *   y   a warp makes 32 rows by 32 or 64 channels, or 16 rows by 128, and holds their sums in
 *       registers. w's columns are dealt so that a lane ends up with 4 channels side by side: y is
 *       written once, 16 bytes at a time, with bias added
 *   x   of a step, a lane reads 16 bytes of each of its rows, and four lanes 64 bytes side by side;
 *       they become bf16 or tf32 in registers, while the next steps are on their way. Lane l knows
 *       the segment of the tile's row l, and tells the others which row a tap reads
 *   w   of all steps and of the block's columns stays in shared memory, packed beforehand in the
 *       order in which lanes read it. Blocks are as many as fit on the device, and warps wait for
 *       nobody
 *
 * Bytes: N (x.c + y.c) floats are the floor. x is read n_tap times, but only the first time from
 * memory as long as the rows between the outermost taps stay in the second-level cache: (n_tap - 1)
 * dilation (x.c + y.c) floats, 32 MiB for three taps 2^15 tokens apart and 64 channels. Further on
 * each time counts.
 */
#include "kernels/cuda/conv.cuh"

/* One block to a multiprocessor, whose 64 Ki registers are 168 for each thread. */
enum { WARPS = 12, THREADS = WARPS * CS_WARP };

struct conv_work {
    cs_conv_job q;
    int32_t     tap_steps, n_step;       /* of a tap, of all */
    int32_t     n_word4;                 /* 16-byte words of a block's weights */
    bool        wide_y;
    uint4      *pack;                    /* [block of columns][step][pair of tiles][...] */
};

/* ---- weights ----------------------------------------------------------------------------- */

/* The channel that column n of a tile of 8 stands for: two tiles have 16 side by side, and lane
 * (g, c), which holds columns 2c and 2c + 1 of both, gets 4c .. 4c + 3. */
__device__ static inline int32_t channel_of(int32_t tile, int32_t n)
{
    return tile / 2 * 16 + n / 2 * CS_QUAD + tile % 2 * 2 + n % 2;
}

/* The words of lane `lane` for a tile of a step: 16-byte words that lanes read side by side hold
 * both tiles of a pair (bf16), or one of them (tf32). */
template <class IN>
__device__ static void pack_lane(const conv_work &o, int32_t step, int32_t tile, int32_t lane,
                                 uint32_t *at)
{
    const int32_t tap = step / o.tap_steps, j = channel_of(tile, lane / 4);
    const int32_t i = step % o.tap_steps * CS_STEP + lane % 4 * CS_QUAD, odd = tile % 2;
    uint32_t v[CS_QUAD], b[IN::B];
    for (int e = 0; e < CS_QUAD; e++)
        v[e] = cs_as_word(cs_tap_weight(o.q, tap, i + e, j));
    IN::right(make_uint4(v[0], v[1], v[2], v[3]), b);
    at += IN::B == 2 ? lane * 4 + odd * 2 : (odd * CS_WARP + lane) * 4;
    for (int e = 0; e < IN::B; e++)
        at[e] = b[e];
}

/* np: pairs of tiles that a block has */
template <class IN> static void pack_weights(cs_backend *be, const conv_work &o, int32_t np)
{
    const int32_t n_pair = (int32_t)cs_div_up(o.q.y.c, 16 * np) * np, n_step = o.n_step;
    uint32_t *pack = (uint32_t *)o.pack;
    cs_each(be, (int64_t)n_step * n_pair, 2 * CS_WARP, [=] __device__(int64_t r, int32_t l) {
        const int32_t step = (int32_t)(r / n_pair), pair = (int32_t)(r % n_pair);
        const int64_t at = ((int64_t)(pair / np) * n_step + step) * np + pair % np;
        pack_lane<IN>(o, step, 2 * pair + l / CS_WARP, l % CS_WARP,
                      pack + at * 2 * CS_WARP * IN::B);
    }, "seg_conv");
}

/* ---- a tile ------------------------------------------------------------------------------ */

/* What a warp reads of x, step after step. */
template <int NM> struct reader {
    cs_tap_place mine;           /* of row `lane` of the tile, under the tap that comes next */
    int32_t      row[2 * NM];    /* that rows g, g + 8, ... read then, or -1 */
    int32_t      tap, step;
};

template <int NM> __device__ static void share_rows(reader<NM> &f)
{
    const int32_t g = (int32_t)threadIdx.x % CS_WARP / 4, mine = cs_row_of_tap(f.mine);
    CS_UNROLL
    for (int i = 0; i < 2 * NM; i++)
        f.row[i] = __shfl_sync(0xFFFFFFFFu, mine, 8 * i + g);
}

template <int NM> __device__ static reader<NM> reader_at(const cs_conv_job &q, int64_t r0)
{
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP;
    reader<NM> f = { { 0, 0, 0, 0 }, { 0 }, 0, 0 };
    if (lane < 16 * NM && r0 + lane < q.seg.rows)
        f.mine = cs_tap_place_of(q.taps, q.adjoint, 0, cs_at_row(q.seg, r0 + lane));
    share_rows(f);
    return f;
}

/* The lane's quads of the next step; nothing behind the last one. */
template <bool WIDE, int NM>
__device__ static void read_step(const conv_work &o, reader<NM> &f, uint4 v[2 * NM])
{
    const int32_t i = f.step * CS_STEP + (int32_t)threadIdx.x % 4 * CS_QUAD;
    if (f.tap == o.q.taps.n)
        return;
    CS_UNROLL
    for (int k = 0; k < 2 * NM; k++)
        v[k] = cs_quad_at<WIDE>(o.q.x, f.row[k], i);
    if (++f.step < o.tap_steps)
        return;
    f.step = 0;
    f.tap++;
    cs_next_tap(f.mine);
    share_rows(f);
}

/* acc += a step of x times its weights: 2 NP tiles of 8 columns for each 16 rows. */
template <class IN, int NP, int NM>
__device__ static void multiply(const uint4 v[2 * NM], const uint4 *w, float acc[NM][2 * NP][4])
{
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP;
    uint32_t a[NM][IN::A];
    CS_UNROLL
    for (int m = 0; m < NM; m++)
        IN::left(v[2 * m], v[2 * m + 1], a[m]);
    CS_UNROLL
    for (int p = 0; p < NP; p++) {
        uint32_t b[2 * IN::B];
        CS_UNROLL
        for (int e = 0; e < IN::B / 2; e++) {
            const uint4 word = w[(p * IN::B / 2 + e) * CS_WARP + lane];
            b[4 * e] = word.x;
            b[4 * e + 1] = word.y;
            b[4 * e + 2] = word.z;
            b[4 * e + 3] = word.w;
        }
        CS_UNROLL
        for (int m = 0; m < NM; m++) {
            IN::mul(acc[m][2 * p], a[m], b);
            IN::mul(acc[m][2 * p + 1], a[m], b + IN::B);
        }
    }
}

/* y[r, j .. j + 3] = v + what was there, or the bias */
__device__ static void write_quad(const conv_work &o, int64_t r, int32_t j, const float v[CS_QUAD])
{
    const cs_mat y = o.q.y;
    const float *init = o.q.beta != 0 ? &cs_el(y, r, j) : o.q.bias.r ? o.q.bias.p + j : NULL;
    if (r >= o.q.seg.rows)
        return;
    if (o.wide_y && j < y.c) {
        uint4 w = init ? *(const uint4 *)init : make_uint4(0, 0, 0, 0);
        w.x = cs_as_word(v[0] + cs_as_float(w.x));
        w.y = cs_as_word(v[1] + cs_as_float(w.y));
        w.z = cs_as_word(v[2] + cs_as_float(w.z));
        w.w = cs_as_word(v[3] + cs_as_float(w.w));
        *(uint4 *)&cs_el(y, r, j) = w;
        return;
    }
    for (int e = 0; e < CS_QUAD && j + e < y.c; e++)
        cs_el(y, r, j + e) = v[e] + (init ? init[e] : 0);
}

/* NP: pairs of tiles, of 16 columns, that a warp makes; NM: 16 rows each; WIDE: cs_is_wide(x) */
template <class IN, int NP, int NM, bool WIDE>
static __global__ void __launch_bounds__(THREADS, 1) conv_mma_kernel(conv_work o)
{
    enum { AHEAD = NM == 1 ? 4 : IN::A == 4 ? 2 : 1 };       /* steps on their way */
    CS_SHARED_ARRAY(uint4, weights);
    const uint4 *from = o.pack + (int64_t)blockIdx.y * o.n_word4;
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, g = lane / 4;
    const int32_t j0 = (int32_t)blockIdx.y * 16 * NP + lane % 4 * CS_QUAD;
    int64_t r0 = ((int64_t)blockIdx.x * WARPS + threadIdx.x / CS_WARP) * 16 * NM;

    for (int32_t i = (int32_t)threadIdx.x; i < o.n_word4; i += THREADS)
        weights[i] = from[i];
    __syncthreads();
    for (; r0 < o.q.seg.rows; r0 += (int64_t)gridDim.x * WARPS * 16 * NM) {
        reader<NM> f = reader_at<NM>(o.q, r0);
        float acc[NM][2 * NP][4] = { { { 0 } } };
        uint4 v[AHEAD + 1][2 * NM];
        CS_UNROLL
        for (int a = 0; a < AHEAD; a++)
            read_step<WIDE>(o, f, v[a]);
        for (int32_t s = 0; s < o.n_step; s++) {
            read_step<WIDE>(o, f, v[AHEAD]);
            multiply<IN, NP, NM>(v[0], weights + s * (NP * IN::B / 2 * CS_WARP), acc);
            CS_UNROLL
            for (int a = 0; a < AHEAD; a++)
                CS_UNROLL
                for (int i = 0; i < 2 * NM; i++)
                    v[a][i] = v[a + 1][i];
        }
        CS_UNROLL
        for (int p = 0; p < NP; p++)
            CS_UNROLL
            for (int i = 0; i < 2 * NM; i++) {
                const float *t0 = acc[i / 2][2 * p] + i % 2 * 2;
                const float *t1 = acc[i / 2][2 * p + 1] + i % 2 * 2;
                const float quad[CS_QUAD] = { t0[0], t0[1], t1[0], t1[1] };
                write_quad(o, r0 + 8 * i + g, j0 + 16 * p, quad);
            }
    }
}

/* ---- the launch -------------------------------------------------------------------------- */

typedef void (*conv_mma)(conv_work);

/* 128 columns of tf32 do not fit in registers. */
template <bool WIDE> static conv_mma kernel_of(cs_in_bf16, int32_t np)
{
    return np == 2 ? conv_mma_kernel<cs_in_bf16, 2, 2, WIDE>
         : np == 4 ? conv_mma_kernel<cs_in_bf16, 4, 2, WIDE>
         : conv_mma_kernel<cs_in_bf16, 8, 1, WIDE>;
}

template <bool WIDE> static conv_mma kernel_of(cs_in_tf32, int32_t np)
{
    return np == 2 ? conv_mma_kernel<cs_in_tf32, 2, 2, WIDE>
         : conv_mma_kernel<cs_in_tf32, 4, 2, WIDE>;
}

template <class IN> static bool run(cs_backend *be, const cs_conv_job &q)
{
    cs_cuda *cu = cs_cuda_of(be);
    const int32_t tap_steps = (int32_t)cs_div_up(q.x.c, CS_STEP);
    const int64_t n_step = (int64_t)tap_steps * q.taps.n;
    const int64_t pair_bytes = n_step * IN::B * 2 * CS_WARP * (int64_t)sizeof(uint32_t);
    const int64_t most = (int64_t)cu->shared_bytes;
    int32_t np = q.y.c <= 32 ? 2 : q.y.c <= 64 || IN::B > 2 ? 4 : 8;

    while (np > 2 && np * pair_bytes > most)
        np /= 2;
    const int64_t n_bytes = np * pair_bytes, n_col = cs_div_up(q.y.c, 16 * np);
    if (n_bytes > most || n_bytes * n_col > (int64_t)(cu->n_scratch * sizeof *cu->scratch)
        || q.seg.rows > INT32_MAX || n_step == 0)
        return false;
    const bool wide_y = cs_is_wide(q.y) && (uintptr_t)q.bias.p % sizeof(uint4) == 0;
    const int32_t n_word4 = (int32_t)(n_bytes / (int64_t)sizeof(uint4));
    const conv_work o = { q, tap_steps, (int32_t)n_step, n_word4, wide_y, (uint4 *)cu->scratch };
    const conv_mma kernel = cs_is_wide(q.x) ? kernel_of<true>(IN(), np)
                                            : kernel_of<false>(IN(), np);
    /* All blocks run at once, so that those of other columns find x in the cache. */
    const int64_t n_row = cs_div_up(q.seg.rows, (np == 8 ? 16 : 32) * WARPS);
    const int64_t most_row = n_col < cu->n_sm ? cu->n_sm / n_col : 1;
    pack_weights<IN>(be, o, np);
    cs_cuda_keep(be, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)n_bytes), "seg_conv");
    CS_KERNEL_CALL_SHARED(kernel, dim3((unsigned)(n_row < most_row ? n_row : most_row),
                                       (unsigned)n_col), THREADS, (size_t)n_bytes, cu->stream, o);
    cs_cuda_after(be, "seg_conv");
    return true;
}

bool cs_cuda_conv_mma(cs_backend *be, const cs_conv_job &q)
{
    switch (be->precision) {
    case CS_IN_BF16: return run<cs_in_bf16>(be, q);
    case CS_IN_TF32: return run<cs_in_tf32>(be, q);
    default:         return false;
    }
}

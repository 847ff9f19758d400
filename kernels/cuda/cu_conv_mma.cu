/* cu_conv_mma.cu - circular dilated convolution as implicit GEMM on tensor cores.
 *
 * DESIGN. y = sum over taps of x[the tap's rows] w_tap is one product over n_tap * x.c terms, in
 * steps of 16 channels of one tap. The left factor is never stored: each row is read from x at the
 * tap's offset.
 *
 *   y   a warp computes 32 rows by 32 or 64 channels, or 16 rows by 128, with sums in registers.
 *       The columns of w are permuted so that a lane holds 4 adjacent channels: y is written once,
 *       16 bytes at a time, with the epilogue of a prediction: bias, normalisation of the row
 *       (held by four lanes), relu, residual
 *   x   per step, a lane reads 16 bytes of each of its rows, four lanes 64 contiguous bytes; they
 *       become bf16 or tf32 in registers while the next steps are prefetched. Lane l knows the
 *       segment of the tile's row l, and sends the others the row that a tap reads
 *   w   all steps of the block's columns stay in shared memory, packed in the order in which lanes
 *       read them. There is one block per multiprocessor, and warps need no barriers
 *
 * Memory traffic is at least N (x.c + y.c) floats. x is read n_tap times, but from memory only once
 * if the rows between the outermost taps fit in the L2 cache: (n_tap - 1) dilation (x.c + y.c)
 * floats, 32 MiB for three taps 2^15 tokens apart and 64 channels. For larger dilations each read
 * goes to memory.
 */
#include "kernels/cuda/conv.cuh"

struct conv_work {
    cs_conv_job q;
    int32_t     tap_steps, n_step;       /* per tap, in total */
    int32_t     n_word4;                 /* 16-byte words of a block's weights */
    uint4      *pack;                    /* [block of columns][step][pair of tiles][...] */
    cs_mat      bias, gamma, beta, add;  /* as in cs_epilogue; add may be y */
    float       eps;
    bool        relu;
};

/* ---- weights ----------------------------------------------------------------------------- */

/* Channel of column n of a tile of 8: two tiles cover 16 adjacent channels, and lane (g, c), which
 * holds columns 2c and 2c + 1 of both, gets 4c .. 4c + 3. */
__device__ static inline int32_t channel_of(int32_t tile, int32_t n)
{
    return tile / 2 * 16 + n / 2 * CS_QUAD + tile % 2 * 2 + n % 2;
}

/* The words of lane `lane` for a tile of a step: adjacent 16-byte words hold both tiles of a pair
 * (bf16), or one of them (tf32). */
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

/* np: pairs of tiles per block */
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

/* A warp's reads of x, step by step. */
template <int NM> struct reader {
    cs_tap_place mine;           /* place of row `lane` of the tile under the next tap */
    int32_t      row[2 * NM];    /* rows of x for g, g + 8, ... under that tap, or -1 */
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
        f.mine = cs_tap_place_of(q.taps, q.adjoint, 0, cs_token_pos_at(q.seg, r0 + lane));
    share_rows(f);
    return f;
}

/* The lane's quads of the next step; none after the last one. */
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

/* acc += a step of x times its weights: 2 NP tiles of 8 columns per 16 rows. */
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

/* ---- epilogue ---------------------------------------------------------------------------- */

/* Channels j .. j + 3 of row r; 0 if the matrix is absent or r < 0. */
template <bool WIDE>
__device__ static void quad_of(const cs_mat &m, int64_t r, int32_t j, float v[CS_QUAD])
{
    const uint4 w = cs_quad_at<WIDE>(m, r, j);
    v[0] = cs_as_float(w.x);
    v[1] = cs_as_float(w.y);
    v[2] = cs_as_float(w.z);
    v[3] = cs_as_float(w.w);
}

/* Initialises all rows with the bias. */
template <bool WIDE, int NP, int NM>
__device__ static void begin_sums(const conv_work &o, int32_t j0, float acc[NM][2 * NP][4])
{
    CS_UNROLL
    for (int p = 0; p < NP; p++) {
        float bias[CS_QUAD];
        quad_of<WIDE>(o.bias, 0, j0 + 16 * p, bias);
        CS_UNROLL
        for (int i = 0; i < NM * 8; i++)
            acc[i / 8][2 * p + i / 4 % 2][i % 4] = bias[i / 4 % 2 * 2 + i % 2];
    }
}

/* Sum over the four lanes that share a row. */
__device__ static inline float sum_lanes(float v)
{
    v += (float)__shfl_xor_sync(0xFFFFFFFFu, v, 1);
    return v + (float)__shfl_xor_sync(0xFFFFFFFFu, v, 2);
}

/* Normalisation of row g (half 0) or g + 8 (half 1) of 16; padding channels are 0. */
struct row_norm { float mean, scale; };

template <int NP>
__device__ static row_norm norm_of(const conv_work &o, int32_t j0, const float acc[2 * NP][4],
                                   int half)
{
    const float n = (float)o.q.y.c;
    float sum = 0, squares = 0;
    CS_UNROLL
    for (int i = 0; i < 4 * NP; i++)
        sum += acc[i / 2][2 * half + i % 2];
    const float mean = sum_lanes(sum) / n;
    CS_UNROLL
    for (int i = 0; i < 4 * NP; i++) {
        const int32_t j = j0 + i / CS_QUAD * 16 + i % CS_QUAD;
        const float d = j < o.q.y.c ? acc[i / 2][2 * half + i % 2] - mean : 0;
        squares += d * d;
    }
    return { mean, 1 / sqrtf(sum_lanes(squares) / n + o.eps) };
}

/* y[r, j .. j + 3] = relu(v) + add, or v + add */
template <bool WIDE>
__device__ static void write_quad(const conv_work &o, int64_t r, int32_t j, const float v[CS_QUAD],
                                  const float add[CS_QUAD])
{
    uint32_t w[CS_QUAD];
    if (r < 0)
        return;
    CS_UNROLL
    for (int e = 0; e < CS_QUAD; e++)
        w[e] = cs_as_word((o.relu && !(v[e] > 0) ? 0 : v[e]) + add[e]);
    if (WIDE)
        *(uint4 *)&cs_el(o.q.y, r, j) = make_uint4(w[0], w[1], w[2], w[3]);
    else
        for (int e = 0; e < CS_QUAD && j + e < o.q.y.c; e++)
            cs_el(o.q.y, r, j + e) = cs_as_float(w[e]);
}

/* Epilogue of 16 rows; r: the lane's first row, the second is r + 8. */
template <bool WIDE, int NP>
__device__ static void finish(const conv_work &o, int64_t r, int32_t j0, const float acc[2 * NP][4])
{
    const row_norm none = { 0, 1 };
    const row_norm n0 = o.gamma.r ? norm_of<NP>(o, j0, acc, 0) : none;
    const row_norm n8 = o.gamma.r ? norm_of<NP>(o, j0, acc, 1) : none;
    CS_UNROLL
    for (int p = 0; p < NP; p++) {
        const int32_t j = j0 + 16 * p;
        const int64_t r0 = r < o.q.seg.rows && j < o.q.y.c ? r : -1;
        const int64_t r8 = r + 8 < o.q.seg.rows && j < o.q.y.c ? r + 8 : -1;
        float gain[CS_QUAD] = { 1, 1, 1, 1 }, shift[CS_QUAD], add0[CS_QUAD], add8[CS_QUAD];
        quad_of<WIDE>(o.add, r0, j, add0);
        quad_of<WIDE>(o.add, r8, j, add8);
        quad_of<WIDE>(o.beta, 0, j, shift);
        if (o.gamma.r)
            quad_of<WIDE>(o.gamma, 0, j, gain);
        float v0[CS_QUAD], v8[CS_QUAD];
        CS_UNROLL
        for (int e = 0; e < CS_QUAD; e++) {
            const float *v = acc[2 * p + e / 2] + e % 2;
            v0[e] = (v[0] - n0.mean) * (n0.scale * gain[e]) + shift[e];
            v8[e] = (v[2] - n8.mean) * (n8.scale * gain[e]) + shift[e];
        }
        write_quad<WIDE>(o, r0, j, v0, add0);
        write_quad<WIDE>(o, r8, j, v8, add8);
    }
}

/* NP: pairs of tiles (16 columns) per warp; NM: steps of 16 rows; WIDE: cs_is_wide() */
template <class IN, int NP, int NM, bool WIDE>
static __global__ void __launch_bounds__(CS_BLOCK, 1) conv_mma_kernel(conv_work o)
{
    enum { AHEAD = NM == 1 ? 4 : 2 };    /* prefetched steps: 32 KiB per block */
    CS_SHARED_ARRAY(uint4, weights);
    const uint4 *from = o.pack + (int64_t)blockIdx.y * o.n_word4;
    const int32_t j0 = (int32_t)blockIdx.y * 16 * NP + (int32_t)threadIdx.x % 4 * CS_QUAD;
    int64_t r0 = ((int64_t)blockIdx.x * CS_WARPS + threadIdx.x / CS_WARP) * 16 * NM;

    for (int32_t i = (int32_t)threadIdx.x; i < o.n_word4; i += CS_BLOCK)
        weights[i] = from[i];
    __syncthreads();
    for (; r0 < o.q.seg.rows; r0 += (int64_t)gridDim.x * CS_WARPS * 16 * NM) {
        reader<NM> f = reader_at<NM>(o.q, r0);
        float acc[NM][2 * NP][4];
        uint4 v[AHEAD + 1][2 * NM];
        CS_UNROLL
        for (int a = 0; a < AHEAD; a++)
            read_step<WIDE>(o, f, v[a]);
        begin_sums<WIDE, NP, NM>(o, j0, acc);
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
        for (int m = 0; m < NM; m++)
            finish<WIDE, NP>(o, r0 + 16 * m + (int32_t)threadIdx.x % CS_WARP / 4, j0, acc[m]);
    }
}

/* ---- the launch -------------------------------------------------------------------------- */

typedef void (*conv_mma)(conv_work);

/* 128 columns of tf32 exceed the registers. */
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

/* Distribution of the columns over blocks. */
struct cut { int32_t np, n_col; int64_t n_bytes; };

/* False if a block's weights exceed shared memory. */
template <class IN> static bool cut_columns(const cs_cuda *cu, const cs_conv_job &q, cut *c)
{
    const int64_t n_step = cs_div_up(q.x.c, CS_STEP) * q.taps.n;
    const int64_t pair_bytes = n_step * IN::B * 2 * CS_WARP * (int64_t)sizeof(uint32_t);
    const int64_t max_bytes = (int64_t)cu->shared_bytes;
    const int64_t n_fit = (int64_t)(cu->n_scratch * sizeof *cu->scratch);

    c->np = q.y.c <= 32 ? 2 : q.y.c <= 64 || IN::B > 2 ? 4 : 8;
    while (c->np > 2 && c->np * pair_bytes > max_bytes)
        c->np /= 2;
    c->n_bytes = c->np * pair_bytes;
    c->n_col = (int32_t)cs_div_up(q.y.c, 16 * c->np);
    return n_step > 0 && c->n_bytes <= max_bytes && c->n_bytes * c->n_col <= n_fit
        && q.x.r <= INT32_MAX;
}

template <class IN> static bool run(cs_backend *be, const cs_conv_job &q, const cs_epilogue *t)
{
    cs_cuda *cu = cs_cuda_of(be);
    conv_work o;
    cut c;

    if (!cut_columns<IN>(cu, q, &c))
        return false;
    o.q = q;
    o.tap_steps = (int32_t)cs_div_up(q.x.c, CS_STEP);
    o.n_step = o.tap_steps * q.taps.n;
    o.n_word4 = (int32_t)(c.n_bytes / (int64_t)sizeof(uint4));
    o.pack = (uint4 *)cu->scratch;
    o.bias = t ? t->bias : q.beta != 0 ? cs_mat() : q.bias;
    o.gamma = t ? t->gamma : cs_mat();
    o.beta = t ? t->beta : cs_mat();
    o.add = t ? t->res : q.beta != 0 ? q.y : cs_mat();
    o.eps = t ? t->eps : 0;
    o.relu = t != NULL;
    const bool wide = cs_is_wide(q.x) && cs_is_wide(q.y) && cs_is_wide(o.add)
                      && cs_is_wide(o.bias) && cs_is_wide(o.gamma) && cs_is_wide(o.beta);
    const conv_mma kernel = wide ? kernel_of<true>(IN(), c.np) : kernel_of<false>(IN(), c.np);
    /* All blocks run at once, so that blocks of other columns find x in the cache. */
    const int64_t n_row = cs_div_up(q.seg.rows, (c.np == 8 ? 16 : 32) * CS_WARPS);
    const int64_t most_row = c.n_col < cu->n_sm ? cu->n_sm / c.n_col : 1;
    pack_weights<IN>(be, o, c.np);
    cs_launch_shared(be, "seg_conv", kernel,
                     dim3((unsigned)(n_row < most_row ? n_row : most_row), (unsigned)c.n_col),
                     CS_BLOCK, (size_t)c.n_bytes, o);
    return true;
}

bool cs_cuda_conv_mma(cs_backend *be, const cs_conv_job &q)
{
    switch (be->precision) {
    case CS_IN_BF16: return run<cs_in_bf16>(be, q, NULL);
    case CS_IN_TF32: return run<cs_in_tf32>(be, q, NULL);
    default:         return false;
    }
}

static bool cuda_conv_fits(cs_backend *be, cs_taps taps, cs_mat x, cs_mat y, bool norm)
{
    const cs_conv_job q = { cs_seg(), taps, false, x, cs_mat(), cs_mat(), y, 0 };
    cut c;
    const bool fits = be->precision == CS_IN_BF16 ? cut_columns<cs_in_bf16>(cs_cuda_of(be), q, &c)
                                                  : cut_columns<cs_in_tf32>(cs_cuda_of(be), q, &c);
    return fits && (!norm || c.n_col == 1);      /* a normalised row must belong to one block */
}

static void cuda_conv_epilogue(cs_backend *be, cs_seg seg, cs_taps taps, cs_mat x, cs_mat w,
                               const cs_epilogue *epi, cs_mat y)
{
    const cs_conv_job q = { seg, taps, false, x, w, cs_mat(), y, 0 };
    if (seg.rows <= 0 || y.c <= 0)
        return;
    (void)(be->precision == CS_IN_BF16 ? run<cs_in_bf16>(be, q, epi)
                                       : run<cs_in_tf32>(be, q, epi));
}

void cs_cuda_conv_epilogue(cs_backend *be)
{
    be->fused.conv_epilogue = cuda_conv_epilogue;
    be->fused.conv_fits = cuda_conv_fits;
}

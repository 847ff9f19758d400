/* cu_conv_mma_dw.cu - gradient of a convolution's weights on tensor cores.
 *
 * DESIGN. dw of a tap is x[the tap's rows]' dy, a product over tokens. A warp takes 32 channels of
 * x by 64 of dy under one tap, over a chunk of rows, in steps of 16 tokens:
 *
 *   x, dy   lane (g, c) of cs_mma reads 16 bytes, 4 channels, of four tokens, and eight lanes 128
 *           contiguous bytes: transposing is renaming of registers. The next step is prefetched
 *           during a step's products
 *   dw      sums stay in registers over a chunk; chunks are added in order, in double. Rows and
 *           warps per chunk depend on shapes only, and so do the bits
 *
 * The warps of a chunk differ in tap and channels, are neighbours in a block and read the same rows
 * at about the same time: x and dy come from memory once, and n_tap * (x.c / 32) * (dy.c / 64)
 * times from the L1 or L2 cache. The chunks' sums, 8 KiB each, are written and read once.
 */
#include "kernels/cuda/conv.cuh"

enum { COLS_X = 32, COLS_DY = 64,        /* channels per warp */
       TILE = COLS_X * COLS_DY };

struct dw_work {
    cs_conv_job q;
    int32_t     n_i, n_j, n_tile;        /* tiles along x's channels, along dy's, for all taps */
    int64_t     n_chunk, chunk_rows;
    float      *part;                    /* [chunk][tap][tile along x][along dy][32][64] */
};

/* Position in x of a lane's token, advancing through the rows of a chunk. */
struct walker { int64_t end; int32_t s; cs_tap_place at; };

/* The row of x for the token at row r, or -1 beyond the chunk; r never decreases. */
__device__ static int32_t walk_to(const dw_work &o, int32_t tap, int64_t r, int64_t end, walker &k)
{
    if (r >= end)
        return -1;
    while (r >= k.end) {
        k.s++;
        k.end = o.q.seg.off[k.s + 1];
        if (r < k.end) {
            const int64_t start = o.q.seg.off[k.s];
            const cs_token_pos first = { start, k.end - start, 0, k.s };
            k.at = cs_tap_place_of(o.q.taps, false, tap, first);
        }
    }
    uint32_t t = (uint32_t)r - k.at.start + k.at.t;
    return (int32_t)(k.at.start + (t < k.at.len ? t : t - k.at.len));
}

/* A lane's quads of one step: tokens c, c + 4, c + 8, c + 12. */
struct quads { uint4 x[4], dy[2][4]; };

template <bool WIDE_X, bool WIDE_DY>
__device__ static void read_step(const dw_work &o, int32_t from, int64_t r0, int64_t end, int32_t i,
                                 int32_t j, quads &v)
{
    const int32_t c = (int32_t)threadIdx.x % 4;
    CS_UNROLL
    for (int e = 0; e < 4; e++) {
        const int32_t rx = __shfl_sync(0xFFFFFFFFu, from, 4 * e + c);
        const int64_t r = r0 + 4 * e + c;
        v.x[e] = cs_quad_at<WIDE_X>(o.q.x, rx, i);
        CS_UNROLL
        for (int h = 0; h < 2; h++)
            v.dy[h][e] = cs_quad_at<WIDE_DY>(o.q.y, r < end ? r : -1, j + h * COLS_DY / 2);
    }
}

/* Channel `e` of four tokens' quads: a column of their 4 x 4 matrix. */
__device__ static inline uint4 column(const uint4 v[4], int e)
{
    return e == 0 ? make_uint4(v[0].x, v[1].x, v[2].x, v[3].x)
         : e == 1 ? make_uint4(v[0].y, v[1].y, v[2].y, v[3].y)
         : e == 2 ? make_uint4(v[0].z, v[1].z, v[2].z, v[3].z)
         : make_uint4(v[0].w, v[1].w, v[2].w, v[3].w);
}

/* acc[m][n] += 16 tokens. Row g of tile m is channel 4g + 2m of x, row g + 8 the next one; column g
 * of tile n is channel 32 (n / 4) + 4g + n % 4 of dy. */
template <class IN> __device__ static void multiply(const quads &v, float acc[2][8][4])
{
    uint32_t a[2][IN::A];
    CS_UNROLL
    for (int m = 0; m < 2; m++)
        IN::left(column(v.x, 2 * m), column(v.x, 2 * m + 1), a[m]);
    CS_UNROLL
    for (int n = 0; n < 8; n++) {
        uint32_t b[IN::B];
        IN::right(column(v.dy[n / 4], n % 4), b);
        IN::mul(acc[0][n], a[0], b);
        IN::mul(acc[1][n], a[1], b);
    }
}

/* Column 2c + e of tile n is channel 32 (n / 4) + 8c + 4e + n % 4: four tiles make 16 bytes. */
__device__ static void write_tile(uint4 *to, const float acc[2][8][4])
{
    const int32_t g = (int32_t)threadIdx.x % CS_WARP / 4, c = (int32_t)threadIdx.x % 4;
    CS_UNROLL
    for (int at = 0; at < 16; at++) {
        const int m = at / 8, d = at / 2 % 4, h = at % 2;
        const int32_t i = 4 * g + 2 * m + d / 2, j = 32 * h + 8 * c + 4 * (d % 2);
        const float (*v)[4] = acc[m] + 4 * h;
        to[(i * COLS_DY + j) / CS_QUAD] = make_uint4(cs_as_word(v[0][d]), cs_as_word(v[1][d]),
                                                     cs_as_word(v[2][d]), cs_as_word(v[3][d]));
    }
}

template <class IN, bool WIDE_X, bool WIDE_DY>
static __global__ void __launch_bounds__(CS_BLOCK, 1) conv_dw_mma_kernel(dw_work o)
{
    const int64_t me = (int64_t)blockIdx.x * CS_WARPS + threadIdx.x / CS_WARP;
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, tile = (int32_t)(me % o.n_tile);
    const int32_t tap = tile / o.n_j / o.n_i;
    const int32_t i = tile / o.n_j % o.n_i * COLS_X + lane / 4 * CS_QUAD;
    const int32_t j = tile % o.n_j * COLS_DY + lane / 4 * CS_QUAD;
    const int64_t chunk = me / o.n_tile;
    int64_t r = chunk * o.chunk_rows, end = r + o.chunk_rows;
    float acc[2][8][4] = { { { 0 } } };
    quads v, next;

    if (chunk >= o.n_chunk)
        return;
    end = end < o.q.seg.rows ? end : o.q.seg.rows;
    walker k = { 0, -1, { 0, 0, 0, 0 } };
    if (r + lane % CS_STEP < end) {
        k.s = cs_token_pos_at(o.q.seg, r + lane % CS_STEP).s - 1;
        k.end = r;
    }
    read_step<WIDE_X, WIDE_DY>(o, walk_to(o, tap, r + lane % CS_STEP, end, k), r, end, i, j, v);
    for (; r < end; r += CS_STEP) {
        const int64_t r1 = r + CS_STEP;
        const int32_t from = walk_to(o, tap, r1 + lane % CS_STEP, end, k);
        read_step<WIDE_X, WIDE_DY>(o, from, r1, end, i, j, next);
        multiply<IN>(v, acc);
        v = next;
    }
    write_tile((uint4 *)o.part + me * (TILE / CS_QUAD), acc);
}

/* dw += sums of the chunks */
static void add_chunks(cs_backend *be, const dw_work &o)
{
    cs_each(be, o.q.w.r, o.q.w.c, [=] __device__(int64_t r, int32_t j) {
        const int32_t tap = (int32_t)(r / o.q.x.c), i = (int32_t)(r % o.q.x.c);
        const int32_t tile = (tap * o.n_i + i / COLS_X) * o.n_j + j / COLS_DY;
        const float *p = o.part + (int64_t)tile * TILE + i % COLS_X * COLS_DY + j % COLS_DY;
        double sum = 0;
        for (int64_t k = 0; k < o.n_chunk; k++)
            sum += p[k * o.n_tile * TILE];
        cs_el(o.q.w, r, j) = (cs_real)(cs_el(o.q.w, r, j) + sum);
    }, "seg_conv_dw");
}

/* ---- the launch -------------------------------------------------------------------------- */

template <class IN> static bool run(cs_backend *be, const cs_conv_job &q)
{
    cs_cuda *cu = cs_cuda_of(be);
    const int32_t n_i = (int32_t)cs_div_up(q.x.c, COLS_X), n_j = (int32_t)cs_div_up(q.y.c, COLS_DY);
    const int64_t n_tile = (int64_t)q.taps.n * n_i * n_j;
    const int64_t n_fit = (int64_t)(cu->n_scratch * sizeof *cu->scratch / sizeof(float)) / TILE;
    const int64_t least_rows = 128, most_chunks = 512;
    int64_t n_chunk = q.seg.rows / least_rows;

    if (n_tile > n_fit || q.seg.rows > INT32_MAX)
        return false;
    n_chunk = n_chunk > most_chunks ? most_chunks : n_chunk;
    n_chunk = n_chunk > n_fit / n_tile ? n_fit / n_tile : n_chunk;
    n_chunk = n_chunk < 1 ? 1 : n_chunk;
    /* Whole steps, so that only the last chunk has an incomplete one. */
    const int64_t chunk_rows = cs_div_up(cs_div_up(q.seg.rows, n_chunk), CS_STEP) * CS_STEP;
    n_chunk = cs_div_up(q.seg.rows, chunk_rows);
    const dw_work o = { q, n_i, n_j, (int32_t)n_tile, n_chunk, chunk_rows, (float *)cu->scratch };
    auto kernel = cs_is_wide(q.x) && cs_is_wide(q.y) ? conv_dw_mma_kernel<IN, true, true>
                : cs_is_wide(q.y) ? conv_dw_mma_kernel<IN, false, true>
                : conv_dw_mma_kernel<IN, false, false>;
    CS_LAUNCH(be, "seg_conv_dw", kernel, (unsigned)cs_div_up(n_chunk * n_tile, CS_WARPS), CS_BLOCK,
              o);
    add_chunks(be, o);
    return true;
}

bool cs_cuda_conv_dw_mma(cs_backend *be, const cs_conv_job &q)
{
    switch (be->precision) {
    case CS_IN_BF16: return run<cs_in_bf16>(be, q);
    case CS_IN_TF32: return run<cs_in_tf32>(be, q);
    default:         return false;
    }
}

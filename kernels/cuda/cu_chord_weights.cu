/* cu_chord_weights.cu - gradients of a ChordMixer block's weights: dz' x and hidden' (rotated dy).
 *
 * DESIGN. Both are sums over tokens of a left factor (rows, hp), stored as bf16 by the kernel of
 * dx, and an fp32 right factor (rows, d). A block of threads takes 128 columns of the right factor
 * and a range of tokens, 64 at a time, and stores both in shared memory as pairs (36 KiB), which it
 * reads across, because the sum is over rows. A warp has 32 hidden units by 64 columns (by 32 or 16
 * if there are 64 or 32 units in total), with the sums in registers, 64 floats per lane or fewer:
 *
 *   left    word g of a row is units 2g, 2g + 1 of 16: even is operand a's row g, odd its row g + 8
 *   right   see pairs.cuh
 *   sums    so a lane has columns 4c .. 4c + 3 of 16 of units 2g and 2g + 1 of 16
 *
 * Blocks that read the rotated dy also sum its columns, in fp32, for db2: a lane its four columns
 * over its warp's rows. Those of the first columns of the other product do so with dz for db1: a
 * thread loads the same eight units of all its rows. The ranges' sums are stored and then added to
 * the gradients in order. The number of ranges follows from shapes and the number of
 * multiprocessors, with two blocks each.
 *
 * Recomputing the hidden layer here would cost more than reading it: it needs whole rows of x and
 * dy, and a block has 128 columns. Per token, both left factors are 4 hp bytes, both right ones 8
 * d.
 */
#include "kernels/cuda/chord_tile.cuh"
#include "kernels/cuda/chord_train.cuh"

enum { TOKENS = 64, COLUMNS = 128, RIGHT_LD = CS_PAIRS_LD(COLUMNS),
       AT_ONCE = 4 };            /* rows of the right factor loaded together */

/* ---- tiles ------------------------------------------------------------------------------- */

/* A thread's segment and the rotation of its columns there. */
struct turn { int64_t start, end, shift; };

/* Columns j .. j + 3 of row r of the right factor: x, or dy before the rotation. */
__device__ static float4 right_quad(const cs_train_job &q, bool second, int64_t r, int32_t j,
                                    turn *t)
{
    if (r >= q.end || j >= q.d)
        return make_float4(0, 0, 0, 0);
    if (!second)
        return *(const float4 *)&cs_el(q.x, r, j);
    if (r >= t->end) {
        const cs_at at = cs_at_row(q.seg, r);
        *t = { at.start, at.start + at.len, cs_track_shift(j / q.track, at.len) };
    }
    const int64_t from = r - t->shift;
    return *(const float4 *)&cs_el(q.dy, from < t->start ? from + t->end - t->start : from, j);
}

/* Loads rows from r0 of the right factor, and adds those of dy to `sum`: a warp takes every eighth,
 * a lane four columns. */
__device__ static void load_right(const cs_train_job &q, bool second, int64_t r0, int32_t j,
                                  turn *t, uint32_t *right, float4 *sum)
{
    const int32_t warp = (int32_t)threadIdx.x / CS_WARP, lane = (int32_t)threadIdx.x % CS_WARP;
    for (int32_t n = warp; n < TOKENS; n += CS_WARPS * AT_ONCE) {
        float4 v[AT_ONCE];
        CS_UNROLL
        for (int i = 0; i < AT_ONCE; i++)
            v[i] = right_quad(q, second, r0 + n + CS_WARPS * i, j, t);
        CS_UNROLL
        for (int i = 0; i < AT_ONCE; i++)
            *(uint2 *)(right + cs_pairs_place(n + CS_WARPS * i) * RIGHT_LD + 2 * lane) =
                make_uint2(cs_bf16_pair(v[i].x, v[i].y), cs_bf16_pair(v[i].z, v[i].w));
        float4 all = v[0];
        CS_UNROLL
        for (int i = 1; i < AT_ONCE; i++)
            all = cs_sum_quads(all, v[i]);
        if (second)
            *sum = cs_sum_quads(*sum, all);
    }
}

/* Loads the same rows of the left factor, n octets of units each, of which a thread loads one; sum:
 * of its rows, or NULL. */
template <int N>
__device__ static void load_left(const uint4 *from, int32_t rows, int32_t r0, uint4 *left,
                                 float4 *sum)
{
    enum { LD = CS_PAIRS_LD(8 * N) / 4, EACH = TOKENS * N / CS_BLOCK };
    uint4 v[EACH];
    CS_UNROLL
    for (int i = 0; i < EACH; i++) {
        const int32_t k = (int32_t)threadIdx.x + CS_BLOCK * i, r = k / N;
        v[i] = r0 + r < rows ? from[(r0 + r) * N + k % N] : make_uint4(0, 0, 0, 0);
        left[cs_pairs_place(r) * LD + k % N] = v[i];
    }
    if (!sum)
        return;
    float all[CS_OCTET] = { 0 };
    CS_UNROLL
    for (int i = 0; i < EACH; i++)
        cs_add_octet(v[i], all);
    sum[0] = cs_sum_quads(sum[0], make_float4(all[0], all[1], all[2], all[3]));
    sum[CS_BLOCK] = cs_sum_quads(sum[CS_BLOCK], make_float4(all[4], all[5], all[6], all[7]));
}

/* ---- sums -------------------------------------------------------------------------------- */

/* Adds the warps' sums of columns in order; after a barrier, by the threads of the first warp. */
__device__ static void sum_warps(const float4 *by_warp, float *to)
{
    const int32_t lane = (int32_t)threadIdx.x;
    float4 sum = by_warp[lane];
    for (int32_t w = 1; w < CS_WARPS; w++)
        sum = cs_sum_quads(sum, by_warp[w * CS_WARP + lane]);
    *(float4 *)(to + 4 * lane) = sum;
}

/* The same of units, n octets, by as many threads: a thread's octet is its number modulo n. */
template <int N> __device__ static void sum_units(const float4 *by_thread, float *to)
{
    const int32_t unit = (int32_t)threadIdx.x, quad = unit / 4 % 2 * CS_BLOCK + unit / CS_OCTET;
    float sum = 0;
    for (int32_t i = 0; i < CS_BLOCK; i += N)
        sum += ((const float *)(by_thread + quad + i))[unit % 4];
    to[unit] = sum;
}

/* Sums of columns of dy, behind those of weights, and of dz behind them: of range i. */
__device__ static inline float *column_sums(const cs_train_job &q, int32_t n_range, int64_t ld,
                                            int32_t i)
{
    return q.part + (2 * (int64_t)n_range * q.hp + i) * ld;
}

__device__ static inline float *unit_sums(const cs_train_job &q, int32_t n_range, int64_t ld,
                                          int32_t i)
{
    return column_sums(q, n_range, ld, n_range) + (int64_t)i * q.hp;
}

/* NH: steps of 16 hidden units. Grid: (column tiles by ranges of tokens, two products). */
template <int NH>
static __global__ void __launch_bounds__(CS_BLOCK, 2) train_weights(cs_train_job q, int32_t n_col,
                                                                    int32_t n_range)
{
    enum { LD = CS_PAIRS_LD(16 * NH), UNIT_WARPS = NH / 2,
           NC = COLUMNS / 16 * UNIT_WARPS / CS_WARPS };
    __shared__ uint4 left[TOKENS * LD / 4], right[TOKENS * RIGHT_LD / 4];
    __shared__ float4 sum[2 * CS_BLOCK];     /* of a thread's columns: registers would spill */
    const uint32_t *const a_rows = (const uint32_t *)left, *const b_rows = (const uint32_t *)right;
    const int32_t warp = (int32_t)threadIdx.x / CS_WARP, lane = (int32_t)threadIdx.x % CS_WARP;
    const int32_t col = (int32_t)blockIdx.x % n_col, range = (int32_t)blockIdx.x / n_col;
    const int32_t unit16 = warp % UNIT_WARPS * 2, col16 = warp / UNIT_WARPS * NC;
    const bool second = blockIdx.y == 1;
    const int32_t n_row = (int32_t)(q.end - q.first), n_tile = (n_row + TOKENS - 1) / TOKENS;
    float acc[2][NC][2][4] = {};
    turn t = { 0, 0, 0 };

    sum[threadIdx.x] = sum[threadIdx.x + CS_BLOCK] = make_float4(0, 0, 0, 0);
    for (int32_t i = range * n_tile / n_range; i < (range + 1) * n_tile / n_range; i++) {
        load_left<2 * NH>(second ? q.hidden : q.dz, n_row, i * TOKENS, left,
                          !second && col == 0 ? sum + threadIdx.x : NULL);
        load_right(q, second, q.first + i * TOKENS, col * COLUMNS + 4 * lane, &t,
                   (uint32_t *)right, sum + threadIdx.x);
        __syncthreads();
        for (int32_t r = 0; r < TOKENS; r += CS_STEP) {
            uint32_t a[2][4];
            CS_UNROLL
            for (int m = 0; m < 2; m++) {
                const cs_even_odd u = cs_across(a_rows, LD, r, unit16 + m, lane);
                a[m][0] = u.even[0], a[m][1] = u.odd[0], a[m][2] = u.even[1], a[m][3] = u.odd[1];
            }
            CS_UNROLL
            for (int n = 0; n < NC; n++) {
                const cs_even_odd b = cs_across(b_rows, RIGHT_LD, r, col16 + n, lane);
                CS_UNROLL
                for (int m = 0; m < 2; m++) {
                    cs_mma(acc[m][n][0], a[m], b.even[0], b.even[1]);
                    cs_mma(acc[m][n][1], a[m], b.odd[0], b.odd[1]);
                }
            }
        }
        __syncthreads();
    }
    CS_UNROLL
    for (int i = 0; i < 4 * NC; i++) {
        const int32_t m = i % 2, half = i / 2 % 2, n = i / 4;
        const int32_t unit = (unit16 + m) * 16 + lane / 4 * 2 + half;
        const int32_t j = col * COLUMNS + (col16 + n) * 16 + lane % 4 * 4;
        const int64_t row = (int64_t)(2 * range + second) * q.hp + unit;
        *(float4 *)(q.part + row * n_col * COLUMNS + j) = cs_quad(acc[m][n], half);
    }
    if (second && warp == 0)
        sum_warps(sum, column_sums(q, n_range, n_col * COLUMNS, range) + col * COLUMNS);
    if (!second && col == 0 && threadIdx.x < 16 * NH)
        sum_units<2 * NH>(sum, unit_sums(q, n_range, n_col * COLUMNS, range));
}

/* ---- calls ------------------------------------------------------------------------------- */

static int32_t column_tiles(int32_t d) { return (d + COLUMNS - 1) / COLUMNS; }

static int32_t ranges(cs_backend *be, int32_t d, int64_t rows)
{
    int64_t n = cs_cuda_of(be)->n_sm / column_tiles(d), n_tile = cs_div_up(rows, TOKENS);
    n = n < n_tile ? n : n_tile;
    return (int32_t)(n > 1 ? n : 1);
}

int64_t cs_cuda_chord_parts(cs_backend *be, int32_t d, int32_t hp, int64_t rows)
{
    return (int64_t)ranges(be, d, rows) * ((2 * hp + 1) * column_tiles(d) * COLUMNS + hp);
}

void cs_cuda_chord_weights(cs_backend *be, const cs_train_job &job, const cs_chord *dk)
{
    const cs_train_job q = job;
    const cs_mat dw1 = dk->w1, db1 = dk->b1, dw2 = dk->w2, db2 = dk->b2;
    const int32_t n_col = column_tiles(q.d), n_range = ranges(be, q.d, q.end - q.first);
    const auto kernel = q.hp == 32 ? train_weights<2> : q.hp == 64 ? train_weights<4>
                                                                   : train_weights<8>;

    CS_LAUNCH(be, "chord_block_bwd", kernel, dim3((unsigned)(n_col * n_range), 2), CS_BLOCK, q,
              n_col, n_range);
    cs_each(be, q.h, q.d, [=] __device__(int64_t u, int32_t j) {
        const int64_t ld = n_col * COLUMNS;
        float sum[2] = { 0 };
        for (int32_t i = 0; i < 2 * n_range; i++)
            sum[i % 2] += q.part[((int64_t)i * q.hp + u) * ld + j];
        cs_el(dw1, u, j) += sum[0];
        cs_el(dw2, j, u) += sum[1];
        float b[2] = { 0 };
        for (int32_t i = 0; i < n_range; i++) {
            b[0] += j == 0 ? unit_sums(q, n_range, ld, i)[u] : 0;
            b[1] += u == 0 ? column_sums(q, n_range, ld, i)[j] : 0;
        }
        if (j == 0)
            db1.p[u] += b[0];
        if (u == 0)
            db2.p[j] += b[1];
    }, "chord_block_bwd");
}

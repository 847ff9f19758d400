/* cu_chord_weights.cu - gradients of a ChordMixer block's weights: dz' x and hidden' (rotated dy).
 *
 * DESIGN. Both are sums over tokens of a left factor (rows, hp), stored as bf16 by the kernel of
 * dx, and a right factor of d channels in octets. A block of threads takes 128 columns of the right
 * factor and a range of tokens, 64 at a time, and copies both to shared memory (36 KiB, in two
 * buffers: the next 64 during the products of these), to be read transposed, because the sum is
 * over rows. A warp has 32 hidden units by 64 columns (by 32 or 16 if there are 64 or 32 units in
 * total), with the sums in registers, 64 floats per lane or fewer:
 *
 *   left    word g of a row is units 2g, 2g + 1 of 16: even is operand a's row g, odd its row g + 8
 *   right   see smem_matrix.cuh
 *   sums    so a lane has columns 4c .. 4c + 3 of 16 of units 2g and 2g + 1 of 16
 *
 * Blocks that read the rotated dy also sum its columns, in fp32, for db2, and those of the first
 * columns of the other product dz, for db1: of either factor a thread loads the same octet of all
 * its rows. The ranges' sums are stored and then added to the gradients in order. The number of
 * ranges follows from shapes and the number of multiprocessors, with two blocks each.
 *
 * Recomputing the hidden layer here would cost more than reading it: it needs whole rows of x and
 * dy, and a block has 128 columns. Per token, both left factors are 4 hp bytes, both right ones 4
 * d.
 */
#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/chord_tile.cuh"
#include "kernels/cuda/chord_train.cuh"

enum { TOKENS = 64, COLUMNS = 128, RIGHT_LD = CS_SMEM_LD(COLUMNS),
       RIGHT_WORD4 = TOKENS * RIGHT_LD / 4,      /* 16-byte words of a tile of the right factor */
       RIGHT_EACH = TOKENS * COLUMNS / CS_OCTET / CS_BLOCK };    /* octets of a thread */

/* Of the left factor; and bytes of both in two buffers. */
template <int NH> struct tile_of {
    enum { LD = CS_SMEM_LD(16 * NH), WORD4 = TOKENS * LD / 4,
           BYTES = 2 * (WORD4 + RIGHT_WORD4) * (int)sizeof(uint4) };
};

/* ---- tiles ------------------------------------------------------------------------------- */

/* A thread's segment, and the rotations in it of the halves of the thread's octet. */
struct rotation { int32_t start, end, shift[2]; };

/* Rotated place of half an octet of row r */
__device__ static inline int32_t place_of(const rotation &t, int32_t r, int half)
{
    const int32_t from = r - t.shift[half];
    return from < t.start ? from + t.end - t.start : from;
}

/* Issues the copy of half an octet, which is 8 bytes of a row. */
__device__ static inline void copy_half(uint2 *to, const uint2 *from, bool in)
{
    if (in)
        cs_cp_async_8(to, from);
    else
        *to = make_uint2(0, 0);
}

/* Issues the copy of an octet of row r of the right factor: x, or dy before the rotation. Rows
 * ascend. */
__device__ static void copy_right(const cs_train_job &q, bool second, int32_t r, int32_t octet,
                                  rotation *t, uint4 *to)
{
    if (r >= q.rows || octet * CS_OCTET >= q.d) {
        *to = make_uint4(0, 0, 0, 0);
        return;
    }
    if (!second) {
        cs_cp_async_16(to, &q.x[octet * q.pitch + r]);
        return;
    }
    const cs_octet_tracks of = cs_tracks_of(q, octet);
    const uint4 *const dy = q.dy + octet * q.pitch;
    if (r >= t->end) {
        const int32_t s = q.segment[r], *shift = q.shift + s * q.n_track;
        *t = { q.off[s], q.off[s + 1],
               { shift[of.track[0]], of.j + 4 < q.d ? shift[of.track[1]] : 0 } };
    }
    if (!cs_halves<CS_EITHER>(q)) {
        cs_cp_async_16(to, dy + place_of(*t, r, 0));
        return;
    }
    copy_half((uint2 *)to, (const uint2 *)dy + 2 * place_of(*t, r, 0), true);
    copy_half((uint2 *)to + 1, (const uint2 *)dy + 2 * place_of(*t, r, 1) + 1, of.j + 4 < q.d);
}

/* sum[0] and sum[CS_BLOCK] += the channels of n octets */
template <int N> __device__ static void add_octets(const uint4 v[N], float4 *sum)
{
    float all[CS_OCTET] = { 0 };
    CS_UNROLL
    for (int i = 0; i < N; i++)
        cs_add_octet(v[i], all);
    sum[0] = cs_sum_quads(sum[0], make_float4(all[0], all[1], all[2], all[3]));
    sum[CS_BLOCK] = cs_sum_quads(sum[CS_BLOCK], make_float4(all[4], all[5], all[6], all[7]));
}

/* Octet and row of a thread in the right factor's tile: two octets of 16 rows per warp, so that
 * both memories are read and written by whole lines. */
__device__ static inline int32_t right_of(int32_t thread)
{
    return thread / CS_WARP * 2 + thread % 2;
}

/* Issues copies of rows from r0 of the right factor. */
__device__ static void copy_right_tile(const cs_train_job &q, bool second, int32_t r0,
                                       int32_t octet0, rotation *t, uint4 *right)
{
    const int32_t octet = right_of((int32_t)threadIdx.x), row = (int32_t)threadIdx.x % CS_WARP / 2;
    CS_UNROLL
    for (int i = 0; i < RIGHT_EACH; i++)
        copy_right(q, second, r0 + row + 16 * i, octet0 + octet, t,
                  &right[cs_smem_row(row + 16 * i) * (RIGHT_LD / 4) + octet]);
}

/* The same rows of the left factor, N octets of units each. */
template <int N>
__device__ static void copy_left_tile(const uint4 *from, int32_t rows, int32_t r0, uint4 *left)
{
    enum { LD = CS_SMEM_LD(8 * N) / 4 };
    CS_UNROLL
    for (int i = 0; i < TOKENS * N / CS_BLOCK; i++) {
        const int32_t k = (int32_t)threadIdx.x + CS_BLOCK * i, r = k / N;
        uint4 *const to = &left[cs_smem_row(r) * LD + k % N];
        if (r0 + r < rows)
            cs_cp_async_16(to, &from[(r0 + r) * N + k % N]);
        else
            *to = make_uint4(0, 0, 0, 0);
    }
}

/* sum += the thread's values of the right factor, and of the left one */
__device__ static void sum_right(const uint4 *right, float4 *sum)
{
    const int32_t octet = right_of((int32_t)threadIdx.x), row = (int32_t)threadIdx.x % CS_WARP / 2;
    uint4 v[RIGHT_EACH];
    CS_UNROLL
    for (int i = 0; i < RIGHT_EACH; i++)
        v[i] = right[cs_smem_row(row + 16 * i) * (RIGHT_LD / 4) + octet];
    add_octets<RIGHT_EACH>(v, sum);
}

template <int N> __device__ static void sum_left(const uint4 *left, float4 *sum)
{
    enum { LD = CS_SMEM_LD(8 * N) / 4, EACH = TOKENS * N / CS_BLOCK };
    uint4 v[EACH];
    CS_UNROLL
    for (int i = 0; i < EACH; i++) {
        const int32_t k = (int32_t)threadIdx.x + CS_BLOCK * i;
        v[i] = left[cs_smem_row(k / N) * LD + k % N];
    }
    add_octets<EACH>(v, sum);
}

/* ---- sums -------------------------------------------------------------------------------- */

/* Adds the sums of n threads, `first` and every `step`-th one after it, in order; after a barrier,
 * by a thread per channel of their octet. */
__device__ static void sum_threads(const float4 *by_thread, int32_t first, int32_t step, int32_t n,
                                   float *to)
{
    const int32_t e = (int32_t)threadIdx.x % CS_OCTET;
    const float *at = (const float *)(by_thread + e / 4 * CS_BLOCK + first) + e % 4;
    float sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += at[4 * step * i];
    to[threadIdx.x] = sum;
}

/* acc += the products of 64 tokens: units 16 unit16 .. + 31 by columns 16 col16 .. + 16 NC - 1 */
template <int NC>
__device__ static inline void add_products(const uint32_t *left, int32_t ld, int32_t unit16,
                                           const uint32_t *right, int32_t col16, int32_t lane,
                                           float acc[2][NC][2][4])
{
    for (int32_t r = 0; r < TOKENS; r += CS_STEP) {
        uint32_t a[2][4];
        CS_UNROLL
        for (int m = 0; m < 2; m++) {
            const cs_b_even_odd u = cs_load_b_trans(left, ld, r, unit16 + m, lane);
            a[m][0] = u.even[0], a[m][1] = u.odd[0], a[m][2] = u.even[1], a[m][3] = u.odd[1];
        }
        CS_UNROLL
        for (int n = 0; n < NC; n++) {
            const cs_b_even_odd b = cs_load_b_trans(right, RIGHT_LD, r, col16 + n, lane);
            CS_UNROLL
            for (int m = 0; m < 2; m++) {
                cs_mma(acc[m][n][0], a[m], b.even[0], b.even[1]);
                cs_mma(acc[m][n][1], a[m], b.odd[0], b.odd[1]);
            }
        }
    }
}

/* NH: steps of 16 hidden units. Grid: (column tiles by ranges of tokens, two products). */
template <int NH>
static __global__ void __launch_bounds__(CS_BLOCK, 2) train_weights(cs_train_job q, int32_t n_col,
                                                                    cs_train_parts to)
{
    enum { LD = tile_of<NH>::LD, BUFFER = tile_of<NH>::WORD4 + RIGHT_WORD4, UNIT_WARPS = NH / 2,
           NC = COLUMNS / 16 * UNIT_WARPS / CS_WARPS };
    CS_SHARED_ARRAY(uint4, buffers);         /* two of both factors' tiles: left, right */
    __shared__ float4 sum[2 * CS_BLOCK];     /* of a thread's columns: registers would spill */
    const int32_t warp = (int32_t)threadIdx.x / CS_WARP, lane = (int32_t)threadIdx.x % CS_WARP;
    const int32_t col = (int32_t)blockIdx.x % n_col, range = (int32_t)blockIdx.x / n_col;
    const int32_t unit16 = warp % UNIT_WARPS * 2, col16 = warp / UNIT_WARPS * NC;
    const bool second = blockIdx.y == 1;
    const int32_t n_row = q.rows - q.first, n_tile = (n_row + TOKENS - 1) / TOKENS;
    float acc[2][NC][2][4] = {};
    rotation t = { 0, 0, { 0, 0 } };

    const int32_t i0 = range * n_tile / to.n_range;
    const int32_t i1 = (range + 1) * n_tile / to.n_range;
    const auto load = [&](int32_t i) {
        uint4 *const left = buffers + i % 2 * BUFFER;
        if (i < i1) {
            copy_left_tile<2 * NH>(second ? q.hidden : q.dz, n_row, i * TOKENS, left);
            copy_right_tile(q, second, q.first + i * TOKENS, col * COLUMNS / CS_OCTET, &t,
                       left + tile_of<NH>::WORD4);
        }
    };

    sum[threadIdx.x] = sum[threadIdx.x + CS_BLOCK] = make_float4(0, 0, 0, 0);
    load(i0);
    for (int32_t i = i0; i < i1; i++) {
        const uint4 *const left = buffers + i % 2 * BUFFER;
        const uint4 *const right = left + tile_of<NH>::WORD4;
        cs_cp_async_wait_all();
        __syncthreads();         /* all have read the other buffer, too */
        load(i + 1);
        if (second)
            sum_right(right, sum + threadIdx.x);
        else if (col == 0)
            sum_left<2 * NH>(left, sum + threadIdx.x);
        add_products<NC>((const uint32_t *)left, LD, unit16, (const uint32_t *)right, col16, lane,
                         acc);
    }
    CS_UNROLL
    for (int i = 0; i < 4 * NC; i++) {
        const int32_t m = i % 2, half = i / 2 % 2, n = i / 4;
        const int32_t unit = (unit16 + m) * 16 + lane / 4 * 2 + half;
        const int32_t j = col * COLUMNS + (col16 + n) * 16 + lane % 4 * 4;
        *(float4 *)(to.weights(range, second, unit) + j) = cs_lane_columns(acc[m][n], half);
    }
    const int32_t octet = (int32_t)threadIdx.x / CS_OCTET;
    __syncthreads();             /* the sums of all threads */
    if (second && threadIdx.x < COLUMNS)
        sum_threads(sum, octet / 2 * CS_WARP + octet % 2, 2, CS_WARP / 2,
                    to.columns(range) + col * COLUMNS);
    if (!second && col == 0 && threadIdx.x < 16 * NH)
        sum_threads(sum, octet, 2 * NH, CS_BLOCK / (2 * NH), to.units(range));
}

/* ---- calls ------------------------------------------------------------------------------- */

static int32_t column_tiles(int32_t d) { return (d + COLUMNS - 1) / COLUMNS; }

static int32_t ranges(cs_backend *be, int32_t d, int64_t rows)
{
    int64_t n = cs_cuda_of(be)->n_sm / column_tiles(d), n_tile = cs_div_up(rows, TOKENS);
    n = n < n_tile ? n : n_tile;
    return (int32_t)(n > 1 ? n : 1);
}

static cs_train_parts parts_of(cs_backend *be, int32_t d, int32_t hp, int64_t rows, float *part)
{
    return { part, ranges(be, d, rows), hp, column_tiles(d) * COLUMNS };
}

int64_t cs_cuda_chord_parts(cs_backend *be, int32_t d, int32_t hp, int64_t rows)
{
    return parts_of(be, d, hp, rows, NULL).size();
}

void cs_cuda_chord_add_parts(cs_backend *be, const cs_train_parts &parts, const cs_chord *dk)
{
    const cs_train_parts p = parts;
    const cs_mat dw1 = dk->w1, db1 = dk->b1, dw2 = dk->w2, db2 = dk->b2;
    cs_each(be, dw1.r, dw1.c, [=] __device__(int64_t u, int32_t j) {
        float sum[2] = { 0 }, b[2] = { 0 };
        for (int32_t i = 0; i < 2 * p.n_range; i++)
            sum[i % 2] += p.weights(i / 2, i % 2, (int32_t)u)[j];
        cs_el(dw1, u, j) += sum[0];
        cs_el(dw2, j, u) += sum[1];
        for (int32_t i = 0; i < p.n_range; i++) {
            b[0] += j == 0 ? p.units(i)[u] : 0;
            b[1] += u == 0 ? p.columns(i)[j] : 0;
        }
        if (j == 0)
            db1.p[u] += b[0];
        if (u == 0)
            db2.p[j] += b[1];
    }, "chord_block_bwd");
}

void cs_cuda_chord_weights(cs_backend *be, const cs_train_job &q, const cs_chord *dk)
{
    const int32_t n_col = column_tiles(q.d);
    const cs_train_parts parts = parts_of(be, q.d, q.hp, q.rows - q.first, q.part);
    const auto kernel = q.hp == 32 ? train_weights<2> : q.hp == 64 ? train_weights<4>
                                                                   : train_weights<8>;

    const size_t n_bytes = q.hp == 32   ? (size_t)tile_of<2>::BYTES
                           : q.hp == 64 ? (size_t)tile_of<4>::BYTES
                                        : (size_t)tile_of<8>::BYTES;
    cs_launch_shared(be, "chord_block_bwd", kernel, dim3((unsigned)(n_col * parts.n_range), 2),
                     CS_BLOCK, n_bytes, q, n_col, parts);
    cs_cuda_chord_add_parts(be, parts, dk);
}

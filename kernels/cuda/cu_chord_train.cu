/* cu_chord_train.cu - a ChordMixer block in training on tensor cores, forward and backward.
 *
 * DESIGN. x, y and their gradients are fp32 matrices; products take bf16 and sum in fp32. Forward,
 * a warp runs 32 tokens at a time (16 in small batches) through the block in registers; lane (g, c)
 * of cs_mma has rows g and g + 8 of each 16:
 *
 *   z = x w1' + b1          operand a from memory: 16 bytes of a row, channels 4c .. 4c + 3 of each
 *                           16, are two pairs; operand b is w1 read along its rows (pairs.cuh)
 *   hidden = gelu(z)        two tiles of results, of 8 hidden units each, form an operand a
 *   out = hidden w2' + b2   operand b is w2' read across its rows. The lane gets channels
 *                           4c .. 4c + 3 of each 16, all of one track
 *   y[rotated] = x[rotated] + out, 16 bytes at a time
 *
 * Both weights stay in shared memory as (hidden, channel) matrices of bf16, and there is one block
 * of threads per multiprocessor: 2 * 128 * 168 words are 168 KiB for d = 336 and h = 128 (sm_90 has
 * 227 KiB), 152 KiB for d = 288 (sm_80 has 163), 20 KiB for (72, 64). Padding to whole tiles of
 * hidden units and channels is 0 in weights and input, so it adds nothing.
 *
 * Backward, a warp takes 16 tokens, because it holds two hidden layers, and recomputes z:
 *
 *   dout = dy[rotated]      read from where the forward pass wrote
 *   dz = dout w2 gelu'(z)   w2' read along its rows, as w1 is
 *   dx = dy + dz w1         w1 read across its rows, as w2' is forward; += if dx has a gradient
 *
 * hidden and dz are stored as bf16, to which the products would round them anyway (4 hp bytes per
 * token), until cu_chord_weights.cu has computed the gradients of the weights, which are sums over
 * all tokens. It also sums the columns of dz and of the rotated dy that it reads: db1 and db2. To
 * bound this memory, one slice of the rows is computed after another, and the slices' sums
 * are added in that order.
 *
 * Source: Khalitov et al., ChordMixer; mma.cuh for the layouts.
 */
#include "kernels/cuda/chord_tile.cuh"
#include "kernels/cuda/chord_train.cuh"

/* ---- weights ----------------------------------------------------------------------------- */

/* Hidden unit of row p of the weights: a lane has units 8c .. 8c + 7 of each 32 (4 tiles). */
__device__ static inline int32_t unit_at(int32_t p)
{
    return p / 32 * 32 + p % 8 / 2 * 8 + p / 8 % 4 * 2 + p % 2;
}

static void pack_weights(cs_backend *be, const cs_chord &k, int32_t hp, uint32_t *to)
{
    const cs_mat w1 = k.w1, w2 = k.w2;
    const int32_t ld = CS_PAIRS_LD(w1.c);
    cs_each(be, 2 * hp, ld, [=] __device__(int64_t r, int32_t w) {
        const int32_t u = unit_at(cs_pairs_place((int32_t)r % hp)), j = 2 * w;
        float v[2];
        for (int e = 0; e < 2; e++)
            v[e] = u >= w1.r || j + e >= w1.c ? 0 : r < hp ? cs_el(w1, u, j + e)
                                                           : cs_el(w2, j + e, u);
        to[r * ld + w] = cs_bf16_pair(v[0], v[1]);
    }, "chord_block");
}

/* acc = b1, in the order of the weights' rows. */
template <int NH, int NM>
__device__ static void begin_with_bias(const cs_train_job &q, int32_t c, float acc[NM][2 * NH][4])
{
    CS_UNROLL
    for (int n = 0; n < 2 * NH; n++)
        CS_UNROLL
        for (int e = 0; e < 2; e++) {
            const int32_t u = unit_at(8 * n + 2 * c + e);
            const float b = u < q.h ? q.b1.p[u] : 0;
            CS_UNROLL
            for (int m = 0; m < NM; m++)
                acc[m][n][e] = acc[m][n][e + 2] = b;
        }
}

/* ---- rows -------------------------------------------------------------------------------- */

/* A lane's row r of a segment (len 0: none), and its track's rotation. */
struct lane_row { int64_t r, start, len, shift; };

/* Two rows of each 16: g and g + 8. */
template <int N> struct lane_rows { lane_row at[N]; int32_t track; };

/* First row of a warp's tile. */
template <int NM> __device__ static inline int64_t first_row(const cs_train_job &q)
{
    return q.first
        + ((int64_t)blockIdx.x * CS_WARPS + threadIdx.x / CS_WARP) * CS_STEP * NM;
}

template <int N>
__device__ static lane_rows<N> rows_from(const cs_train_job &q, int64_t r0, int32_t g)
{
    lane_rows<N> rows;
    rows.track = 0;
    CS_UNROLL
    for (int i = 0; i < N; i++) {
        const int64_t r = r0 + 8 * i + g;
        const cs_at at = r < q.end ? cs_at_row(q.seg, r) : cs_at{ 0, 0, 0, 0 };
        rows.at[i] = { r, at.start, at.len, 0 };
    }
    return rows;
}

/* Advance to a later track: track 0 is not rotated, track 1 by one token, each further one twice as
 * far. Absent rows do not move, because the doubling would overflow from track 64 on. */
template <int N> __device__ static void turn_to(lane_rows<N> &rows, int32_t track)
{
    for (; rows.track < track; rows.track++)
        CS_UNROLL
        for (int i = 0; i < N; i++) {
            lane_row &p = rows.at[i];
            const int64_t s = rows.track == 0 ? p.len > 0 : 2 * p.shift;
            p.shift = s < p.len ? s : s - p.len;
        }
}

/* Rotated row: destination of the row's track, and source of its gradient. */
__device__ static inline int64_t rotated(const lane_row &p)
{
    const int64_t to = p.r - p.shift;
    return to < p.start ? to + p.len : to;
}

__device__ static inline float4 *quad_at(cs_mat m, int64_t r, int32_t j)
{
    return (float4 *)&cs_el(m, r, j);
}

__device__ static inline float4 read_quad(cs_mat m, bool there, int64_t r, int32_t j)
{
    return there && j < m.c ? *quad_at(m, r, j) : make_float4(0, 0, 0, 0);
}

/* Loads 4 channels of rows r, r + 8 and so on. */
template <int N>
__device__ static inline void read_rows(cs_mat m, int64_t r, int32_t j, float4 v[N])
{
    const cs_real *from = &cs_el(m, r, j);
    CS_UNROLL
    for (int i = 0; i < N; i++)
        v[i] = j < m.c && r + 8 * i < m.r ? *(const float4 *)(from + 8 * i * m.ld)
                                          : make_float4(0, 0, 0, 0);
}

/* ---- products ---------------------------------------------------------------------------- */

/* acc += a w', where read(j, v) loads channels j .. j + 3 of the lane's rows of a. */
template <int NH, int NM, class F>
__device__ static void product_along(const cs_train_job &q, int32_t lane, const uint32_t *w, F read,
                                     float acc[NM][2 * NH][4])
{
    const int32_t ld = CS_PAIRS_LD(q.d), c4 = lane % 4 * 4;
    float4 v[2 * NM];

    read(c4, v);
    for (int32_t k = 0; k < q.dp / CS_STEP; k++) {
        uint32_t a[NM][4];
        CS_UNROLL
        for (int m = 0; m < NM; m++)
            CS_UNROLL
            for (int i = 0; i < 2; i++) {
                a[m][i] = cs_bf16_pair(v[2 * m + i].x, v[2 * m + i].y);
                a[m][i + 2] = cs_bf16_pair(v[2 * m + i].z, v[2 * m + i].w);
            }
        read((k + 1) * CS_STEP + c4, v);     /* prefetch during the products */
        CS_UNROLL
        for (int n = 0; n < 2 * NH; n++) {
            const uint2 b = cs_along(w, ld, 8 * n, k, lane);
            CS_UNROLL
            for (int m = 0; m < NM; m++)
                cs_mma(acc[m][n], a[m], b.x, b.y);
        }
    }
}

/* out += a w for channels 16 k .. 16 k + 15. */
template <int NH, int NM>
__device__ static void product_across(const cs_train_job &q, int32_t lane, const uint32_t *w,
                                      const uint32_t a[NM][NH][4], int32_t k, float out[NM][2][4])
{
    CS_UNROLL
    for (int h = 0; h < NH; h++) {
        const cs_even_odd b = cs_across(w, CS_PAIRS_LD(q.d), CS_STEP * h, k, lane);
        CS_UNROLL
        for (int m = 0; m < NM; m++) {
            cs_mma(out[m][0], a[m][h], b.even[0], b.even[1]);
            cs_mma(out[m][1], a[m][h], b.odd[0], b.odd[1]);
        }
    }
}

/* ---- forward ----------------------------------------------------------------------------- */

/* y = x + rotated(hidden w2' + b2) */
template <int NH, int NM>
__device__ static void spread(const cs_train_job &q, int64_t r0, int32_t lane, const uint32_t *w2,
                              const uint32_t hidden[NM][NH][4])
{
    lane_rows<2 * NM> rows = rows_from<2 * NM>(q, r0, lane / 4);
    for (int32_t k = 0; k < q.dp / CS_STEP; k++) {
        const int32_t j = k * CS_STEP + lane % 4 * 4;
        float out[NM][2][4];
        int64_t to[2 * NM];
        float4 x[2 * NM];            /* prefetch during the products */
        float b[4];
        turn_to(rows, j / q.track);
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++) {
            to[i] = rotated(rows.at[i]);
            x[i] = read_quad(q.x, rows.at[i].len > 0, to[i], j);
        }
        CS_UNROLL
        for (int e = 0; e < 4; e++)
            b[e] = j < q.d ? q.b2.p[j + e] : 0;
        CS_UNROLL
        for (int i = 0; i < NM * 8; i++)
            out[i / 8][i / 4 % 2][i % 4] = b[i / 4 % 2 + i % 2 * 2];
        product_across<NH, NM>(q, lane, w2, hidden, k, out);
        CS_UNROLL
        for (int i = 0; i < 2 * NM; i++)
            if (rows.at[i].len > 0 && j < q.d)
                *quad_at(q.y, to[i], j) = cs_sum_quads(x[i], cs_quad(out[i / 2], i % 2));
    }
}

/* NH: steps of 16 hidden units; NM: steps of 16 rows of a warp's tile. */
template <int NH, int NM>
static __global__ void __launch_bounds__(CS_BLOCK, 1) train_forward(cs_train_job q)
{
    CS_SHARED_ARRAY(uint4, weights);
    const uint32_t *w1 = (const uint32_t *)weights, *w2 = w1 + q.hp * CS_PAIRS_LD(q.d);
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP;
    int64_t r0 = first_row<NM>(q);

    cs_block_copy(q.pack, weights, 2 * q.hp * CS_PAIRS_LD(q.d) / 4);
    for (; r0 < q.end; r0 += (int64_t)gridDim.x * CS_WARPS * CS_STEP * NM) {
        const int64_t r = r0 + lane / 4;
        float acc[NM][2 * NH][4];
        uint32_t hidden[NM][NH][4];
        begin_with_bias<NH, NM>(q, lane % 4, acc);
        product_along<NH, NM>(q, lane, w1, [&](int32_t j, float4 v[2 * NM]) {
            read_rows<2 * NM>(q.x, r, j, v);
        }, acc);
        cs_tile_gelu<NH, NM>(acc);
        cs_tile_pairs<NH, NM>(acc, hidden);
        spread<NH, NM>(q, r0, lane, w2, hidden);
    }
}

/* ---- backward ---------------------------------------------------------------------------- */

/* Stores units 8c .. 8c + 7 of each 32, rows r and r + 8: 16 bytes each. */
template <int NH>
__device__ static void write_units(const cs_train_job &q, int64_t r, int32_t c,
                                   const uint32_t a[1][NH][4], uint4 *to)
{
    CS_UNROLL
    for (int m = 0; m < NH / 2; m++)
        CS_UNROLL
        for (int i = 0; i < 2; i++)
            if (r + 8 * i < q.end)
                to[(r + 8 * i - q.first) * (q.hp / CS_OCTET) + 4 * m + c] =
                    make_uint4(a[0][2 * m][i], a[0][2 * m][i + 2], a[0][2 * m + 1][i],
                               a[0][2 * m + 1][i + 2]);
}

/* dx = dy + dz w1, plus dx if q.add */
template <int NH>
__device__ static void add_dx(const cs_train_job &q, int64_t r, int32_t lane, const uint32_t *w1,
                              const uint32_t dz[1][NH][4])
{
    for (int32_t k = 0; k < q.dp / CS_STEP; k++) {
        const int32_t j = k * CS_STEP + lane % 4 * 4;
        float out[1][2][4] = {};
        float4 dx[2] = {}, dy[2];    /* prefetch during the products */
        if (q.add)
            read_rows<2>(q.y, r, j, dx);
        read_rows<2>(q.dy, r, j, dy);
        product_across<NH, 1>(q, lane, w1, dz, k, out);
        CS_UNROLL
        for (int i = 0; i < 2; i++)
            if (r + 8 * i < q.end && j < q.d)
                *quad_at(q.y, r + 8 * i, j) = cs_sum_quads(cs_sum_quads(dx[i], dy[i]),
                                                           cs_quad(out[0], i));
    }
}

template <int NH>
static __global__ void __launch_bounds__(CS_BLOCK, 1) train_backward(cs_train_job q)
{
    CS_SHARED_ARRAY(uint4, weights);
    const uint32_t *w1 = (const uint32_t *)weights, *w2 = w1 + q.hp * CS_PAIRS_LD(q.d);
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP;
    int64_t r0 = first_row<1>(q);

    cs_block_copy(q.pack, weights, 2 * q.hp * CS_PAIRS_LD(q.d) / 4);
    for (; r0 < q.end; r0 += (int64_t)gridDim.x * CS_WARPS * CS_STEP) {
        const int64_t r = r0 + lane / 4;
        float z[1][2 * NH][4], v[1][2 * NH][4];
        uint32_t a[1][NH][4];

        begin_with_bias<NH, 1>(q, lane % 4, z);
        product_along<NH, 1>(q, lane, w1, [&](int32_t j, float4 u[2]) {
            read_rows<2>(q.x, r, j, u);
        }, z);
        CS_UNROLL
        for (int i = 0; i < 8 * NH; i++) {
            v[0][i / 4][i % 4] = cs_gelu_fast(z[0][i / 4][i % 4]);
            z[0][i / 4][i % 4] = cs_gelu_slope_fast(z[0][i / 4][i % 4]);
        }
        cs_tile_pairs<NH, 1>(v, a);
        write_units<NH>(q, r, lane % 4, a, q.hidden);
        lane_rows<2> rows = rows_from<2>(q, r0, lane / 4);
        CS_UNROLL
        for (int i = 0; i < 8 * NH; i++)
            v[0][i / 4][i % 4] = 0;
        product_along<NH, 1>(q, lane, w2, [&](int32_t j, float4 u[2]) {
            turn_to(rows, j / q.track);
            for (int i = 0; i < 2; i++)
                u[i] = read_quad(q.dy, rows.at[i].len > 0, rotated(rows.at[i]), j);
        }, v);
        CS_UNROLL
        for (int i = 0; i < 8 * NH; i++)
            v[0][i / 4][i % 4] *= z[0][i / 4][i % 4];
        cs_tile_pairs<NH, 1>(v, a);
        write_units<NH>(q, r, lane % 4, a, q.dz);
        add_dx<NH>(q, r, lane, w1, a);
    }
}

/* ---- calls ------------------------------------------------------------------------------- */

static int64_t weight_bytes(int32_t width, int32_t hidden)
{
    return 2 * (int64_t)cs_padded_hidden(hidden) * CS_PAIRS_LD(width) * (int64_t)sizeof(uint32_t);
}

/* One block of threads per multiprocessor; each warp takes `rows` rows at a time. */
static void launch(cs_backend *be, void (*kernel)(cs_train_job), const cs_train_job &q,
                   int32_t rows, const char *what)
{
    cs_cuda *cu = cs_cuda_of(be);
    const size_t n_bytes = (size_t)weight_bytes(q.d, q.h);
    const int64_t n_block = cs_div_up(q.end - q.first, (int64_t)rows * CS_WARPS);

    cs_cuda_here(be);
    cs_cuda_record_error(be, cudaFuncSetAttribute(kernel,
                                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          (int)n_bytes), what);
    CS_KERNEL_CALL_SHARED(kernel, (unsigned)(n_block < cu->n_sm ? n_block : cu->n_sm), CS_BLOCK,
                          n_bytes, cu->stream, q);
    cs_cuda_after(be, what);
}

/* Rows per slice of the backward pass: 8 tiles per warp of the GPU, enough to amortise the launches
 * without idle warps at the end. With 132 multiprocessors: 135,168 rows, and 66 MiB for hidden and
 * dz of 128 units. */
static int64_t slice_rows(cs_backend *be)
{
    enum { TILES = 8 };
    return (int64_t)TILES * CS_STEP * CS_WARPS * cs_cuda_of(be)->n_sm;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Offsets in the scratch memory of a call, in floats. The packed weights come first; the forward
 * pass needs only these. */
struct layout { int64_t hidden, dz, part, end; };

static layout layout_of(cs_backend *be, int32_t width, int32_t hidden, int64_t all_rows)
{
    const int32_t hp = cs_padded_hidden(hidden);
    const int64_t rows = least(all_rows, slice_rows(be));
    const int64_t n_pack = weight_bytes(width, hidden) / (int64_t)sizeof(float);
    const int64_t dz = n_pack + rows * hp / 2, part = dz + rows * hp / 2;
    return { n_pack, dz, part, part + cs_cuda_chord_parts(be, width, hp, rows) };
}

static cs_train_job job_of(cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y, cs_real *work)
{
    const int32_t d = x.c, h = (int32_t)k->w1.r;
    CS_BUG(x.ld % 4 != 0 || y.ld % 4 != 0);
    return { seg, x, y, k->b1, k->b2, (uint4 *)work, d, (int32_t)cs_div_up(d, CS_STEP) * CS_STEP,
             h, cs_padded_hidden(h), k->track, 0, seg.rows, {}, false, NULL, NULL, NULL };
}

static void cuda_chord_block(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y,
                             cs_real *work)
{
    const cs_train_job q = job_of(seg, k, x, y, work);
    const int32_t rows = cs_tile_rows(be, seg.rows);
    if (seg.rows == 0)
        return;
    pack_weights(be, *k, q.hp, (uint32_t *)work);
    const auto kernel = q.hp == 32 ? (rows == 32 ? train_forward<2, 2> : train_forward<2, 1>)
                      : q.hp == 64 ? (rows == 32 ? train_forward<4, 2> : train_forward<4, 1>)
                                   : (rows == 32 ? train_forward<8, 2> : train_forward<8, 1>);
    launch(be, kernel, q, rows, "chord_block");
}

static void cuda_chord_block_bwd(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x,
                                 const cs_chord_grads *g, cs_real *work)
{
    cs_train_job q = job_of(seg, k, x, g->dx, work);
    const layout at = layout_of(be, q.d, q.h, seg.rows);
    const int64_t n_slice = slice_rows(be);

    CS_BUG(g->dy.ld % 4 != 0);
    q.dy = g->dy;
    q.add = g->beta != 0;
    q.hidden = (uint4 *)(work + at.hidden);
    q.dz = (uint4 *)(work + at.dz);
    q.part = work + at.part;
    if (seg.rows > 0)
        pack_weights(be, *k, q.hp, (uint32_t *)work);
    for (; q.first < seg.rows; q.first += n_slice) {
        q.end = least(q.first + n_slice, seg.rows);
        launch(be, q.hp == 32 ? train_backward<2> : q.hp == 64 ? train_backward<4>
                                                             : train_backward<8>, q, CS_STEP,
               "chord_block_bwd");
        cs_cuda_chord_weights(be, q, &g->dk);
    }
}

static int64_t cuda_chord_work(cs_backend *be, int32_t width, int32_t hidden, int64_t rows,
                               bool backward)
{
    const layout at = layout_of(be, width, hidden, rows);
    return backward ? at.end : at.hidden;
}

/* Do both weights fit in shared memory and the hidden layer in registers? Otherwise the block is
 * composed from ops. */
template <int KB> static bool fits(int32_t width, int32_t hidden, int32_t track)
{
    return hidden <= CS_MAX_HIDDEN && track % 4 == 0 && width % track == 0
        && weight_bytes(width, hidden) <= KB << 10;
}

void cs_cuda_chord_train(cs_backend *be)
{
    cs_fused *f = &be->fused;

    f->chord_block = cuda_chord_block;
    f->chord_block_bwd = cuda_chord_block_bwd;
    f->chord_work = cuda_chord_work;
    f->chord_block_fits = cs_by_shared_memory(be, fits<227>, fits<163>, fits<99>);
}

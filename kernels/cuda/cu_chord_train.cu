/* cu_chord_train.cu - a ChordMixer block in training on tensor cores, forward and backward.
 *
 * DESIGN. x, y and their gradients are octets of bf16 (chord.cuh), packed before the first block
 * and unpacked after the last one; products take bf16 and sum in fp32. Forward is the kernel of
 * inference (cu_chord_block.cu). Backward, a warp takes 16 tokens, because it holds two hidden
 * layers, in registers, and recomputes z:
 *
 *   z = x w1' + b1          lane (g, c) of cs_mma reads 16 bytes of rows g and g + 8: of octet
 *                           4 k + c, two steps of 16 channels; w1 is read as it is
 *                           (smem_matrix.cuh)
 *   hidden = gelu(z)        two tiles of results, of 8 hidden units each, form an operand a
 *   dout = dy[rotated]      read from where the forward pass wrote
 *   dz = dout w2 gelu'(z)   w2' is read as it is, too
 *   dx = dy + dz w1         w1 is read transposed; += if dx has a gradient. The lane gets the
 *                           channels that it reads of x
 *
 * Both weights stay in shared memory as (hidden, channel) matrices of bf16, whose channels are
 * permuted so that a lane's 4 of each of two steps of 16 are an octet (channel_at). There is one
 * block of threads per multiprocessor: 2 * 128 * 184 words are 184 KiB for d = 336 and h = 128
 * (sm_90 has 227 KiB), 152 KiB for d = 288 (sm_80 has 163), 20 KiB for (72, 64). Padding to whole
 * tiles of hidden units and channels is 0 in weights and input, so it adds nothing.
 *
 * hidden and dz are stored as bf16, to which the products would round them anyway (4 hp bytes per
 * token), until cu_chord_weights.cu has computed the gradients of the weights, which are sums over
 * all tokens. It also sums the columns of dz and of the rotated dy that it reads: db1 and db2. To
 * bound this memory, one slice of the rows is computed after another, and the slices' sums are
 * added in that order.
 *
 * With CHORDSEQ_WGMMA_BACKWARD=1, and where warpgroups can take the rows (chord_group.cuh),
 * cu_chord_train_group.cu and cu_chord_weights_group.cu compute a slice instead.
 *
 * Per token and block, forward and backward, 8 matrices of 2 d bytes pass (x, y; x, dy twice, dx;
 * x, dy), and 8 hp bytes: 6.4 KB for d = 336 and h = 128, plus 0.7 where the rotated x is no longer
 * in the cache.
 *
 * Source: Khalitov et al., ChordMixer; mma.cuh for the layouts.
 */
#include "kernels/cuda/chord_group.cuh"
#include "kernels/cuda/chord_train.cuh"
#include "kernels/cuda/smem_matrix.cuh"

/* ---- weights ----------------------------------------------------------------------------- */

/* Channel of column p: a lane has columns 4c .. 4c + 3 of each 16, and channels 8c .. 8c + 7 of
 * each 32. */
__device__ static inline int32_t channel_at(int32_t p)
{
    return p / CS_WIDE * CS_WIDE + p % 16 / 4 * CS_OCTET + p / 16 % 2 * 4 + p % 4;
}

static void pack_weights(cs_backend *be, const cs_chord &k, int32_t dp, int32_t hp, uint32_t *to)
{
    const cs_mat w1 = k.w1, w2 = k.w2;
    const int32_t ld = CS_SMEM_LD(dp);
    cs_each(be, 2 * hp, ld, [=] __device__(int64_t r, int32_t w) {
        const int32_t u = cs_unit_at(cs_smem_row((int32_t)r % hp)), j = channel_at(2 * w);
        to[r * ld + w] = cs_weight_pair(w1, w2, r >= hp, u, j);
    }, "chord_block_bwd");
}

/* acc = b1, in the order of the weights' rows. */
template <int NH>
__device__ static void begin_with_bias(const cs_train_job &q, int32_t c, float acc[2 * NH][4])
{
    CS_UNROLL
    for (int n = 0; n < 2 * NH; n++)
        CS_UNROLL
        for (int e = 0; e < 2; e++) {
            const int32_t u = cs_unit_at(8 * n + 2 * c + e);
            acc[n][e] = acc[n][e + 2] = u < q.h ? q.b1.p[u] : 0;
        }
}

/* ---- products ---------------------------------------------------------------------------- */

/* acc += a w', where read(k, v) loads the lane's octets of step k of rows of a. */
template <int NH, class F>
__device__ static void product_rows(const cs_train_job &q, int32_t lane, const uint32_t *w, F read,
                                    float acc[2 * NH][4])
{
    const int32_t ld = CS_SMEM_LD(q.dp);
    uint4 v[2];

    read(0, v);
    for (int32_t k = 0; k < q.dp / CS_WIDE; k++) {
        uint32_t a[1][8];
        cs_fragments<true, 1>(v, a);
        read(k + 1, v);                      /* prefetch during the products */
        CS_UNROLL
        for (int n = 0; n < 2 * NH; n++)
            CS_UNROLL
            for (int s = 0; s < 2; s++) {
                const uint2 b = cs_load_b(w, ld, 8 * n, 2 * k + s, lane);
                cs_mma(acc[n], a[0] + 4 * s, b.x, b.y);
            }
    }
}

/* out += a w for columns 16 k .. 16 k + 15. */
template <int NH>
__device__ static void product_trans(const cs_train_job &q, int32_t lane, const uint32_t *w,
                                     const uint32_t a[NH][4], int32_t k, float out[2][4])
{
    CS_UNROLL
    for (int h = 0; h < NH; h++) {
        const cs_b_even_odd b = cs_load_b_trans(w, CS_SMEM_LD(q.dp), CS_STEP * h, k, lane);
        cs_mma(out[0], a[h], b.even[0], b.even[1]);
        cs_mma(out[1], a[h], b.odd[0], b.odd[1]);
    }
}

/* ---- backward ---------------------------------------------------------------------------- */

/* Stores units 8c .. 8c + 7 of the m-th 32, rows r and r + 8: 16 bytes each. */
__device__ static inline void write_units(const cs_train_job &q, const cs_train_tile &t,
                                          const uint32_t a[2][4], int m, uint4 *to)
{
    CS_UNROLL
    for (int i = 0; i < 2; i++)
        if (cs_row_of(t, i) < q.rows)
            to[(cs_row_of(t, i) - q.first) * (q.hp / CS_OCTET) + 4 * m + t.c] = cs_units_of(a, i);
}

/* dx = dy + dz w1, plus dx if q.add */
template <int NH>
__device__ static void write_dx(const cs_train_job &q, const cs_train_tile &t, int32_t lane,
                                const uint32_t *w1, const uint32_t dz[NH][4])
{
    for (int32_t k = 0; k < q.dp / CS_WIDE; k++) {
        const int32_t octet = k * (CS_WIDE / CS_OCTET) + t.c;
        float out[2][2][4] = {};
        uint4 dx[2] = {}, dy[2];
        cs_load_step(q, cs_lane_octets(q, q.dy, t, k), t, k, dy);    /* during the products */
        product_trans<NH>(q, lane, w1, dz, 2 * k, out[0]);
        product_trans<NH>(q, lane, w1, dz, 2 * k + 1, out[1]);
        if (q.add)
            cs_load_step(q, cs_lane_octets(q, q.dx, t, k), t, k, dx);
        CS_UNROLL
        for (int i = 0; i < 2; i++) {
            const float4 a = cs_lane_columns(out[0], i), b = cs_lane_columns(out[1], i);
            if (cs_row_of(t, i) < q.rows && octet * CS_OCTET < q.d)
                q.dx[octet * q.pitch + cs_row_of(t, i)] =
                    make_uint4(cs_sum_pair(dx[i].x, dy[i].x, a.x, a.y),
                               cs_sum_pair(dx[i].y, dy[i].y, a.z, a.w),
                               cs_sum_pair(dx[i].z, dy[i].z, b.x, b.y),
                               cs_sum_pair(dx[i].w, dy[i].w, b.z, b.w));
        }
    }
}

/* Stores hidden and dz; a: dz, as an operand. */
template <int NH>
__device__ static void hidden_and_dz(const cs_train_job &q, const cs_train_tile &t, int32_t lane,
                                     const uint32_t *w1, const uint32_t *w2,
                                     uint32_t a[1][NH][4])
{
    float z[2 * NH][4], v[1][2 * NH][4];
    cs_row_place place[2];

    begin_with_bias<NH>(q, t.c, z);
    product_rows<NH>(q, lane, w1, [&](int32_t k, uint4 u[2]) {
        cs_load_step(q, cs_lane_octets(q, q.x, t, k), t, k, u);
    }, z);
    CS_UNROLL
    for (int m = 0; m < NH / 2; m++) {       /* so that few registers hold gelu(z) */
        uint32_t hidden[1][2][4];
        cs_gelu_units<NH>(m, z, hidden);
        write_units(q, t, hidden[0], m, q.hidden);
    }
    cs_places_of(q, t, place);
    CS_UNROLL
    for (int i = 0; i < 8 * NH; i++)
        v[0][i / 4][i % 4] = 0;
    product_rows<NH>(q, lane, w2, [&](int32_t k, uint4 u[2]) {
        const int32_t octet = k * (CS_WIDE / CS_OCTET) + t.c;
        const cs_octet_tracks tracks = cs_tracks_of(q, octet);
        CS_UNROLL
        for (int i = 0; i < 2; i++)
            u[i] = cs_read_octet<CS_EITHER>(q, q.dy + octet * q.pitch,
                                         cs_octet_of<CS_EITHER>(q, place[i], tracks));
    }, v[0]);
    cs_dz_units<NH>(z, v, a);
    CS_UNROLL
    for (int m = 0; m < NH / 2; m++)
        write_units(q, t, a[0] + 2 * m, m, q.dz);
}

/* NH: steps of 16 hidden units. */
template <int NH>
static __global__ void __launch_bounds__(CS_BLOCK, 1) train_backward(cs_train_job q)
{
    CS_SHARED_ARRAY(uint4, weights);
    const uint32_t *w1 = (const uint32_t *)weights, *w2 = w1 + q.hp * CS_SMEM_LD(q.dp);
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, warp = (int32_t)threadIdx.x / CS_WARP;
    int32_t r0 = q.first + ((int32_t)blockIdx.x * CS_WARPS + warp) * CS_STEP;

    cs_block_copy(q.pack, weights, 2 * q.hp * CS_SMEM_LD(q.dp) / 4);
    for (; r0 < q.rows; r0 += (int32_t)gridDim.x * CS_WARPS * CS_STEP) {
        const cs_train_tile t = { r0, lane / 4, lane % 4 };
        uint32_t a[1][NH][4];
        hidden_and_dz<NH>(q, t, lane, w1, w2, a);
        write_dx<NH>(q, t, lane, w1, a[0]);
    }
}

/* ---- calls ------------------------------------------------------------------------------- */

static int64_t weight_bytes(int32_t width, int32_t hidden)
{
    return 2 * (int64_t)cs_padded_hidden(hidden) * CS_SMEM_LD(cs_padded_width(width))
        * (int64_t)sizeof(uint32_t);
}

/* One block of threads per multiprocessor; each warp takes 16 rows at a time. */
static void launch(cs_backend *be, void (*kernel)(cs_train_job), const cs_train_job &q)
{
    cs_cuda *cu = cs_cuda_of(be);
    const size_t n_bytes = (size_t)weight_bytes(q.d, q.h);
    const int64_t n_block = cs_div_up(q.rows - q.first, CS_STEP * CS_WARPS);

    cs_launch_shared(be, "chord_block_bwd", kernel,
                     (unsigned)(n_block < cu->n_sm ? n_block : cu->n_sm), CS_BLOCK, n_bytes, q);
}

/* Rows per slice of the backward pass: 8 tiles per warp of the GPU, or 6 per warpgroup, enough to
 * amortise the launches without idle warps at the end. With 132 multiprocessors: 135,168 rows or
 * 152,064, and 66 or 74 MiB for hidden and dz of 128 units. */
static int64_t slice_rows(cs_backend *be, bool groups)
{
    enum { TILES = 8, GROUP_TILES = 6 };
    return (groups ? (int64_t)GROUP_TILES * CS_WGMMA_ROWS * CS_CONSUMERS
                   : (int64_t)TILES * CS_STEP * CS_WARPS) * cs_cuda_of(be)->n_sm;
}

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }

/* Offsets in the scratch memory of a call, in floats; the packed weights come first. The forward
 * pass needs the tables of rows only. */
struct layout { int64_t off, shift, segment, hidden, dz, part, end; };

static layout layout_of(cs_backend *be, cs_seg seg, const cs_chord *k, bool backward)
{
    enum { LINE = 16 };
    const int32_t width = k->w1.c, h = (int32_t)k->w1.r, hp = cs_padded_hidden(h);
    const bool groups = cs_cuda_chord_train_has_groups(be, seg, k);
    const int64_t rows = backward ? min_of(seg.rows, slice_rows(be, groups)) : 0;
    const int64_t kept = groups ? cs_train_pitch(rows) : rows;
    const int64_t parts = !backward ? 0 : groups ? cs_cuda_chord_group_parts(be, width, hp, rows)
                                                 : cs_cuda_chord_parts(be, width, hp, rows);
    const int64_t size[] = { backward ? weight_bytes(width, h) / (int64_t)sizeof(float)
                                      : cs_cuda_chord_pack_size(width, h),
                             seg.n + 1, (int64_t)seg.n * (width / k->track), seg.rows,
                             kept * hp / 2, kept * hp / 2, parts };
    enum { N = sizeof size / sizeof size[0] };
    int64_t at[N + 1] = { 0 };
    for (int i = 0; i < N; i++)
        at[i + 1] = at[i] + (size[i] + LINE - 1) / LINE * LINE;
    return { at[1], at[2], at[3], at[4], at[5], at[6], at[7] };
}

/* Rows in octets, and their tables in scratch memory. */
static cs_chord_rows<int32_t, int32_t, int64_t> rows_of(cs_backend *be, cs_seg seg,
                                                        const cs_chord *k, cs_mat x,
                                                        const layout &at, cs_real *work)
{
    const int32_t d = k->w1.c, n_track = d / k->track;
    const cs_chord_tables t = { (int32_t *)(work + at.off), (int32_t *)(work + at.shift),
                                (int32_t *)(work + at.segment), NULL, 0 };
    CS_BUG(seg.rows > INT32_MAX / 4);        /* so many would take a terabyte */
    cs_cuda_chord_tables(be, seg, n_track, t);
    return { (int32_t)seg.rows, x.r, d, k->track, n_track, cs_reciprocal(k->track), t.off,
             t.segment, t.shift };
}

static void cuda_chord_block(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y,
                             cs_real *work)
{
    const int32_t d = k->w1.c, h = (int32_t)k->w1.r;
    if (seg.rows == 0)
        return;
    cs_cuda_chord_prepare(be, k, work);
    const cs_chord_job q = { rows_of(be, seg, k, x, layout_of(be, seg, k, false), work),
                             cs_padded_width(d), cs_padded_hidden(h), (const uint4 *)x.p,
                             (const uint4 *)work, (uint4 *)y.p, NULL, false };
    cs_cuda_chord_block(be, q, cs_tile_rows(be, seg.rows), false);
}

static void cuda_chord_block_bwd(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x,
                                 const cs_chord_grads *g, cs_real *work)
{
    const int32_t h = (int32_t)k->w1.r;
    const bool groups = cs_cuda_chord_train_has_groups(be, seg, k);
    const int64_t n_slice = slice_rows(be, groups);
    const layout at = layout_of(be, seg, k, true);

    if (seg.rows == 0)
        return;
    cs_train_job q = { rows_of(be, seg, k, x, at, work), 0, cs_padded_width(k->w1.c), h,
                       cs_padded_hidden(h), k->b1, (const uint4 *)work, (const uint4 *)x.p,
                       (const uint4 *)g->dy.p, (uint4 *)g->dx.p, g->beta != 0,
                       (uint4 *)(work + at.hidden), (uint4 *)(work + at.dz),
                       cs_train_pitch(min_of(seg.rows, n_slice)), work + at.part };
    if (groups)
        cs_cuda_chord_train_pack(be, *k, (uint32_t *)work);
    else
        pack_weights(be, *k, q.dp, q.hp, (uint32_t *)work);
    for (int64_t first = 0; first < seg.rows; first += n_slice) {
        q.first = (int32_t)first;
        q.rows = (int32_t)min_of(first + n_slice, seg.rows);
        if (groups) {
            cs_cuda_chord_train_groups(be, q);
            cs_cuda_chord_weights_groups(be, q, &g->dk);
        } else {
            launch(be, q.hp == 32 ? train_backward<2> : q.hp == 64 ? train_backward<4>
                                                                   : train_backward<8>, q);
            cs_cuda_chord_weights(be, q, &g->dk);
        }
    }
}

static int64_t cuda_chord_work(cs_backend *be, cs_seg seg, const cs_chord *k, bool backward)
{
    return layout_of(be, seg, k, backward).end;
}

/* ---- into octets and out of them --------------------------------------------------------- */

static cs_mat packed_shape(int64_t rows, int32_t c)
{
    const int32_t n_real = (c + CS_OCTET - 1) / CS_OCTET * (CS_OCTET / 2);
    return { NULL, cs_div_up(rows, 8) * 8, n_real, n_real };
}

/* Are rows made of whole, aligned quads, which are read and written by one instruction? */
static bool in_quads(cs_mat x)
{
    return x.c % 4 == 0 && x.ld % 4 == 0 && (uintptr_t)x.p % sizeof(float4) == 0;
}

/* Channels j .. j + 7 of row r; 0 beyond the last one. */
__device__ static inline void load_octet(cs_mat x, bool quads, int64_t r, int32_t j,
                                         float v[CS_OCTET])
{
    CS_UNROLL
    for (int e = 0; e < CS_OCTET; e += 4) {
        const bool in = j + e < x.c;
        float4 f = quads && in ? cs_row_quad(x, r, j + e) : make_float4(0, 0, 0, 0);
        v[e] = f.x, v[e + 1] = f.y, v[e + 2] = f.z, v[e + 3] = f.w;
        for (int i = e; !quads && i < e + 4; i++)
            v[i] = j + i < x.c ? cs_el(x, r, j + i) : 0;
    }
}

/* Stores them, without those beyond the last one. */
__device__ static inline void store_octet(cs_mat x, bool quads, int64_t r, int32_t j,
                                          const float v[CS_OCTET])
{
    CS_UNROLL
    for (int e = 0; e < CS_OCTET; e += 4) {
        if (quads && j + e < x.c)
            *(float4 *)&cs_el(x, r, j + e) = make_float4(v[e], v[e + 1], v[e + 2], v[e + 3]);
        for (int i = e; !quads && i < e + 4; i++)
            if (j + i < x.c)
                cs_el(x, r, j + i) = v[i];
    }
}

__device__ static inline void unpack_octet(uint4 w, float v[CS_OCTET])
{
    CS_UNROLL
    for (int e = 0; e < CS_OCTET; e++)
        v[e] = 0;
    cs_add_octet(w, v);
}

/* f(r, octet) for all octets of rows: neighbouring threads take 16 rows of an octet, and so access
 * 256 bytes of it at once. */
template <class F> static void each_octet(cs_backend *be, int64_t rows, int32_t n_octet, F f,
                                          CS_CALLER)
{
    enum { ROWS = 16 };
    cs_each(be, cs_div_up(rows, ROWS), n_octet * ROWS, [=] __device__(int64_t i, int32_t k) {
        if (i * ROWS + k % ROWS < rows)
            f(i * ROWS + k % ROWS, k / ROWS);
    }, what);
}

/* Octets are contiguous whatever the shape: an octet's pitch is the number of rows. */
static void pack_rows(cs_backend *be, cs_mat x, cs_real beta, cs_mat packed)
{
    uint4 *const octets = (uint4 *)packed.p;
    const int64_t pitch = packed.r;
    const bool quads = in_quads(x);
    each_octet(be, x.r, packed.c / 4, [=] __device__(int64_t r, int32_t octet) {
        uint4 *const at = octets + octet * pitch + r;
        float v[CS_OCTET], old[CS_OCTET];
        load_octet(x, quads, r, octet * CS_OCTET, v);
        if (beta != 0) {
            unpack_octet(*at, old);
            CS_UNROLL
            for (int e = 0; e < CS_OCTET; e++)
                v[e] += beta * old[e];
        }
        *at = make_uint4(cs_bf16_pair(v[0], v[1]), cs_bf16_pair(v[2], v[3]),
                         cs_bf16_pair(v[4], v[5]), cs_bf16_pair(v[6], v[7]));
    });
}

static void unpack_rows(cs_backend *be, cs_mat packed, cs_real beta, cs_mat x)
{
    const uint4 *const octets = (const uint4 *)packed.p;
    const int64_t pitch = packed.r;
    const bool quads = in_quads(x);
    each_octet(be, x.r, packed.c / 4, [=] __device__(int64_t r, int32_t octet) {
        float v[CS_OCTET], old[CS_OCTET];
        unpack_octet(octets[octet * pitch + r], v);
        if (beta != 0) {
            load_octet(x, quads, r, octet * CS_OCTET, old);
            CS_UNROLL
            for (int e = 0; e < CS_OCTET; e++)
                v[e] += beta * old[e];
        }
        store_octet(x, quads, r, octet * CS_OCTET, v);
    });
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
    f->packed_shape = packed_shape;
    f->pack_rows = pack_rows;
    f->unpack_rows = unpack_rows;
}

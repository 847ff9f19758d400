/* cu_chord_train_group.cu - backward through a ChordMixer block by warpgroups, for sm_90a.
 *
 * DESIGN. The same as train_backward of cu_chord_train.cu, by the warpgroups of chord_group.cuh. Of
 * each tile the ring brings the rows of x, the rotated rows of dy and those of dy in place.
 *
 *   z = x w1' + b1, dz = dy[rotated] w2 gelu'(z)   both factors in shared memory
 *   dx = dy + dz w1                                dz in registers, by 64 channels
 *
 * w1 and w2' are [octet of channels][hidden unit][8]: octets of terms in the first two products,
 * and octets of columns in the last one. Hidden units are permuted (cs_unit_at), so that a lane
 * has octets of hidden and of dz. Of dx a lane has two channels of each octet: a warp writes
 * 128 contiguous bytes at a time.
 *
 * No GPU has run this kernel and cu_chord_weights_group.cu, so they are used only with
 * CHORDSEQ_WGMMA_BACKWARD=1.
 *
 * Source: Khalitov et al., ChordMixer; mma.cuh for the layouts.
 */
#include "kernels/cuda/chord_group.cuh"
#include "kernels/cuda/chord_train.cuh"

enum { HIDDEN = CS_MAX_HIDDEN, NH = HIDDEN / 16 };

/* ---- weights ----------------------------------------------------------------------------- */

/* 16-byte words of one of the two weights */
__device__ __host__ static inline int32_t n_word4(int32_t dp) { return dp / CS_OCTET * HIDDEN; }

void cs_cuda_chord_train_pack(cs_backend *be, const cs_chord &k, uint32_t *to)
{
    enum { WORDS = HIDDEN * CS_OCTET / 2 };
    const cs_mat w1 = k.w1, w2 = k.w2;
    const int32_t n_octet = cs_padded_width(w1.c) / CS_OCTET;
    cs_each(be, 2 * n_octet, WORDS, [=] __device__(int64_t r, int32_t w) {
        const int32_t u = cs_unit_at(w / (CS_OCTET / 2));
        const int32_t j = (int32_t)r % n_octet * CS_OCTET + w % (CS_OCTET / 2) * 2;
        to[r * WORDS + w] = cs_weight_pair(w1, w2, r >= n_octet, u, j);
    }, "chord_block_bwd");
}

/* ---- copies ------------------------------------------------------------------------------ */

/* Keeps a warpgroup's ring full, by one thread. */
__device__ static void copy_tiles(const cs_train_job &q, cs_ring f, int32_t first)
{
    cs_slots_producer(f);
    for (int32_t r0 = first; r0 < q.rows; r0 = cs_next_tile(r0)) {
        const int32_t n = cs_tile_size(q.rows, r0);
        const cs_segment_rows s = cs_segment_of_row(q, r0);
        cs_ring_rows(f, q, q.x, r0, n);
        cs_ring_fill(f, q.d, n, [&](uint4 *to, int32_t octet, uint64_t *bar) {
            cs_copy_rotated(q, s, to, q.dy, octet, r0, n, bar);
        });
        cs_ring_rows(f, q, q.dy, r0, n);
    }
}

/* ---- a tile ------------------------------------------------------------------------------ */

/* What a warpgroup has in shared memory. */
struct kept { const uint4 *w1, *w2; const float *b1; };

/* Stores units 8c .. 8c + 7 of the m-th 32: octets, with 0 for rows beyond the last one. */
__device__ static inline void write_units(const cs_train_job &q, const cs_train_tile &t,
                                          const uint32_t a[2][4], int m, uint4 *to)
{
    uint4 *const at = to + (4 * m + t.c) * q.unit_pitch - q.first;
    CS_UNROLL
    for (int i = 0; i < 2; i++)
        at[cs_row_of(t, i)] = cs_row_of(t, i) < q.rows ? cs_units_of(a, i)
                                                       : make_uint4(0, 0, 0, 0);
}

/* Stores hidden and dz; a: dz, as an operand. */
__device__ static inline void hidden_and_dz(const cs_train_job &q, cs_ring &f, const kept &w,
                                            const cs_train_tile &t, uint32_t a[1][NH][4])
{
    float z[2 * NH][4], v[1][2 * NH][4];

    CS_UNROLL
    for (int n = 0; n < 2 * NH; n++) {
        const float2 b = *(const float2 *)(w.b1 + 8 * n + 2 * t.c);
        z[n][0] = z[n][2] = b.x;
        z[n][1] = z[n][3] = b.y;
    }
    cs_ring_product(f, q.d, w.w1, z);
    CS_UNROLL
    for (int m = 0; m < NH / 2; m++) {
        uint32_t hidden[1][2][4] = {};
        /* A branch for each, or registers would hold those of all. */
        if ((int32_t)cs_opaque((uint32_t)t.r0) < q.rows)
            cs_gelu_units<NH>(m, z, hidden);
        write_units(q, t, hidden[0], m, q.hidden);
    }
    CS_UNROLL
    for (int i = 0; i < 8 * NH; i++)
        v[0][i / 4][i % 4] = 0;
    cs_ring_product(f, q.d, w.w2, v[0]);
    cs_dz_units<NH>(z, v, a);
    CS_UNROLL
    for (int m = 0; m < NH / 2; m++)
        write_units(q, t, a[0] + 2 * m, m, q.dz);
}

/* dx of N steps of the ring, added to dx if ADD; w1: from this octet on. WHOLE: all of these octets
 * are x's. */
template <bool ADD, int N, bool WHOLE>
__device__ static inline void dx_step(const cs_train_job &q, cs_ring &f, const cs_train_tile &t,
                                      int32_t octet, const uint4 *w1, const uint32_t dz[NH][4])
{
    enum { OCTETS = N * CS_STEP_OCTETS, WORDS = CS_OCTET / 2,        /* of a row of an octet */
           BEHIND = 8 * WORDS };             /* the lane's other row */
    const int32_t row = (int32_t)threadIdx.x % CS_WARPGROUP / CS_WARP * 16 + t.g;
    const int32_t n_octet = q.d / CS_OCTET - octet;
    const bool in[2] = { cs_row_of(t, 0) < q.rows, cs_row_of(t, 1) < q.rows };
    uint32_t *at = (uint32_t *)(q.dx + octet * q.pitch + cs_row_of(t, 0)) + t.c;
    float out[OCTETS][4] = {};
    uint32_t dy[OCTETS][2], dx[OCTETS][2];

    cs_wgmma_begin(out);
    CS_UNROLL
    for (int h = 0; h < NH; h++)
        cs_wgmma(out, dz[h], cs_mn_major{ w1 + 16 * h, HIDDEN });
    cs_wgmma_commit();
    /* Reads during the products. */
    CS_UNROLL
    for (int n = 0; n < OCTETS; n++) {
        const int k = n % CS_STEP_OCTETS;
        const uint4 *from = k == 0 ? cs_ring_wait(f) : cs_ring_at(f);
        CS_UNROLL
        for (int i = 0; i < 2; i++)
            dy[n][i] = ((const uint32_t *)(from + k * CS_WGMMA_ROWS + row))[t.c + i * BEHIND];
        if (k == CS_STEP_OCTETS - 1) {
            cs_fence_proxy_async();          /* ordinary reads come before the next copy */
            __syncwarp();
            cs_slots_release(f);
        }
    }
    CS_UNROLL
    for (int n = 0; n < OCTETS; n++)
        CS_UNROLL
        for (int i = 0; i < 2; i++)
            dx[n][i] = ADD && in[i] && (WHOLE || n < n_octet)
                           ? at[n * q.pitch * WORDS + i * BEHIND]
                           : 0;
    cs_wgmma_wait(out);
    CS_UNROLL
    for (int n = 0; n < OCTETS; n++, at += q.pitch * WORDS)
        CS_UNROLL
        for (int i = 0; i < 2; i++) {
            const float low = out[n][2 * i], high = out[n][2 * i + 1];
            const uint32_t v = ADD ? cs_sum_pair(dx[n][i], dy[n][i], low, high)
                                   : cs_add_pair(dy[n][i], low, high);
            if (in[i] && (WHOLE || n < n_octet))
                at[i * BEHIND] = v;
        }
}

template <bool ADD>
__device__ static inline void one_tile(const cs_train_job &q, cs_ring &f, const kept &w,
                                       const cs_train_tile &t)
{
    enum { WIDE = 2 * CS_STEP_OCTETS };
    const int32_t n_octet = q.d / CS_OCTET;
    uint32_t dz[1][NH][4];
    int32_t octet = 0;

    hidden_and_dz(q, f, w, t, dz);
    for (; octet + WIDE <= n_octet; octet += WIDE)
        dx_step<ADD, 2, true>(q, f, t, octet, w.w1 + octet * HIDDEN, dz[0]);
    for (; octet < n_octet; octet += CS_STEP_OCTETS)
        dx_step<ADD, 1, false>(q, f, t, octet, w.w1 + octet * HIDDEN, dz[0]);
}

/* ---- the kernel -------------------------------------------------------------------------- */

template <bool ADD>
static __global__ void __launch_bounds__(CS_GROUP_THREADS, 1)
train_group_kernel(cs_train_job q, int32_t n_stage)
{
    CS_SHARED_ARRAY(uint4, shared);
    const cs_group_role me = cs_group_role_of();
    const int32_t n_w = n_word4(q.dp), first = cs_first_tile(q.first, me.group);
    float *b1 = (float *)(shared + 2 * n_w);
    cs_ring f = cs_ring_make(shared + 2 * n_w + HIDDEN / 4, n_stage, me);
    const kept w = { shared, shared + n_w, b1 };

    for (int32_t i = (int32_t)threadIdx.x; i < 2 * n_w; i += CS_GROUP_THREADS)
        shared[i] = q.pack[i];
    for (int32_t i = (int32_t)threadIdx.x; i < HIDDEN; i += CS_GROUP_THREADS) {
        const int32_t u = cs_unit_at(i);
        b1[i] = u < q.h ? q.b1.p[u] : 0;
    }
    cs_fence_proxy_async();
    __syncthreads();
    if (me.producer) {
        cs_setmaxnreg<24, false>();
        if (me.group < CS_CONSUMERS && me.thread % CS_WARP == 0)
            copy_tiles(q, f, first);
    } else {
        cs_setmaxnreg<160, true>();
        const int32_t warp = me.thread / CS_WARP, lane = me.thread % CS_WARP;
        for (int32_t r0 = first; r0 < q.rows; r0 = cs_next_tile(r0))
            one_tile<ADD>(q, f, w, { r0 + 16 * warp, lane / 4, lane % 4 });
    }
}

/* ---- the launch -------------------------------------------------------------------------- */

static int64_t kept_bytes(int32_t dp)
{
    return 2 * (int64_t)n_word4(dp) * (int64_t)sizeof(uint4) + HIDDEN * (int64_t)sizeof(float);
}

/* Segments are long enough for copies of many rows at a time. */
bool cs_cuda_chord_train_has_groups(cs_backend *be, cs_seg seg, const cs_chord *k)
{
    return cs_cuda_of(be)->wgmma_backward
        && cs_group_takes(be, seg.rows, k->w1.c, k->track, cs_padded_hidden((int32_t)k->w1.r),
                          kept_bytes(cs_padded_width(k->w1.c)))
        && seg.rows >= (int64_t)CS_WGMMA_ROWS * seg.n;
}

void cs_cuda_chord_train_groups(cs_backend *be, const cs_train_job &q)
{
    cs_cuda *cu = cs_cuda_of(be);
    const int32_t n_stage = cs_group_stages(cu, kept_bytes(q.dp));
    const size_t n_bytes = (size_t)(kept_bytes(q.dp) + n_stage * CS_STAGE_BYTES);

    const auto kernel = q.add ? train_group_kernel<true> : train_group_kernel<false>;

    cs_launch_shared(be, "chord_block_bwd", kernel, (unsigned)cu->n_sm, CS_GROUP_THREADS, n_bytes,
                     q, n_stage);
}

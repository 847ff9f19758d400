/* cu_chord_group.cu - a ChordMixer block for inference by warpgroups, for sm_90a.
 *
 * DESIGN. The same as chord_kernel of cu_chord_block.cu, by the warpgroups of chord_group.cuh. Both
 * weights stay in shared memory, as octets.
 *
 *   hidden = gelu(x w1' + b1)   in steps of 32 channels of x, from the ring of stages
 *   y[rotated] = x[rotated] + hidden w2' + b2   in steps of 64 channels; hidden is factor a, in
 *                               registers. Channels are permuted as in chord_tile.cuh, so that a
 *                               lane has octets; its rotated x is read one step ahead
 *
 * Sums have another order than chord_kernel's, so that the last bits of a record depend on whether
 * its batch has rows for all warpgroups, within the tolerance of bf16.
 *
 * Reading rotated x, or the x of the next tile, into the L2 cache in advance made the kernel slower
 * (tests/bench/results).
 */
#include "kernels/cuda/chord_group.cuh"

enum { HIDDEN = CS_MAX_HIDDEN, NH = HIDDEN / 16,
       SECOND = 2 * CS_WIDE };   /* channels of a step of the second product */

/* ---- weights ----------------------------------------------------------------------------- */

/* The packed weights (cu_chord_block.cu) in the order of wgmma.cuh: w1 [octet of channels][hidden
 * unit], w2 [step of 64 channels][octet of hidden units][column], where a last step may have 32. */
__device__ static void load_weights(const cs_chord_job &q, uint4 *to)
{
    const int32_t n_w = cs_n_word4(q), n_wide = q.dp / SECOND;
    uint32_t *w2 = (uint32_t *)(to + n_w);

    for (int32_t i = (int32_t)threadIdx.x; i < n_w; i += CS_GROUP_THREADS) {
        const int32_t lane = i % CS_WARP, at = i / CS_WARP, g = lane / 4, c = lane % 4;
        const int32_t octet = at / (HIDDEN / 8) * CS_STEP_OCTETS + c;
        to[octet * HIDDEN + at % (HIDDEN / 8) * 8 + g] = q.pack[i];
        /* Tiles 2 p and 2 p + 1, 16 rows of hidden units: word c of two octets of each column. */
        const uint4 v = q.pack[n_w + i];
        const int32_t p = at % 2, row = at / 2 % NH, step = at / 2 / NH;
        const int32_t n_col = step / 2 < n_wide ? (int32_t)SECOND : (int32_t)CS_WIDE;
        uint32_t *column = w2 + (step / 2 * 2 * NH * SECOND + 2 * row * n_col
                                 + step % 2 * CS_WIDE + 16 * p + g) * 4 + c;
        column[0] = v.x;
        column[4 * n_col] = v.y;
        column[4 * 8] = v.z;
        column[4 * (n_col + 8)] = v.w;
    }
}

/* ---- the first product ------------------------------------------------------------------- */

/* acc = x w1' + b1 */
__device__ static void first_product(const cs_chord_job &q, cs_ring &f, const uint4 *w1,
                                     const float *b, int32_t thread, float (&acc)[2 * NH][4])
{
    CS_UNROLL
    for (int n = 0; n < 2 * NH; n++) {
        const float2 v = *(const float2 *)(b + 8 * n + 2 * (thread % 4));
        acc[n][0] = acc[n][2] = v.x;
        acc[n][1] = acc[n][3] = v.y;
    }
    cs_ring_product(f, q.d, w1, acc);
}

/* ---- the second product ------------------------------------------------------------------ */

/* A lane's two rows: both of the tile's one segment (SAME), whose shifts are spread over the lanes,
 * by track; or of any two. */
template <bool SAME> struct places { cs_row_place row[2]; int32_t shift; };

/* s: the segment of row r, if SAME */
template <bool SAME>
__device__ static inline void places_of(const cs_chord_job &q, int32_t s, int32_t r, int32_t lane,
                                        places<SAME> &p)
{
    if (SAME) {
        p.row[0] = { s * q.n_track, r, q.off[s], q.off[s + 1] - q.off[s] };
        p.row[1] = p.row[0];
        p.row[1].r = r + 8;
        p.shift = lane < q.n_track ? q.shift[s * q.n_track + lane] : 0;
    } else {
        p.row[0] = cs_place_of(q, r);
        p.row[1] = cs_place_of(q, r + 8);
        p.shift = 0;
    }
}

/* A lane's rows of two octets at rotated places: offsets from x or y, negative where there is none;
 * values. */
struct rotated { int32_t at[2][2]; uint4 v[2][2]; };

template <bool SAME>
__device__ static inline void read_rotated(const cs_chord_job &q, const places<SAME> &p,
                                           int32_t octet, rotated &x)
{
    CS_UNROLL
    for (int n = 0; n < 2; n++, octet += CS_STEP_OCTETS) {
        const int32_t track = cs_track_of(q, octet * CS_OCTET);
        const int32_t same = SAME ? __shfl_sync(0xFFFFFFFFu, p.shift, track) : 0;
        CS_UNROLL
        for (int i = 0; i < 2; i++) {
            const cs_row_place &row = p.row[i];
            x.at[n][i] = -1;
            x.v[n][i] = make_uint4(0, 0, 0, 0);
            if (row.shift < 0 || octet * CS_OCTET >= q.d)
                continue;
            const int32_t to = row.r - (SAME ? same : q.shift[row.shift + track]);
            x.at[n][i] = octet * (int32_t)q.pitch + (to < row.start ? to + row.len : to);
            x.v[n][i] = q.x[x.at[n][i]];
        }
    }
}

template <bool STREAM> __device__ static inline void store(uint4 *p, uint4 v)
{
    if (STREAM)
        __stcs(p, v);
    else
        *p = v;
}

/* The N octets of a step; x: theirs; next: those of the next step, read during the products. */
template <int N, bool SAME, bool STREAM>
__device__ static inline void second_step(const cs_chord_job &q, const places<SAME> &p,
                                          int32_t octet, const uint4 *w2, const float *b,
                                          const uint32_t hidden[NH][4], const rotated &x,
                                          rotated &next)
{
    float out[4 * N][4];

    CS_UNROLL
    for (int n = 0; n < 2 * N; n++) {
        const int32_t j = (octet + n / 2 * CS_STEP_OCTETS) * CS_OCTET + n % 2 * 4;
        const float4 v = *(const float4 *)(b + j);
        out[2 * n][0] = out[2 * n][2] = v.x;
        out[2 * n][1] = out[2 * n][3] = v.y;
        out[2 * n + 1][0] = out[2 * n + 1][2] = v.z;
        out[2 * n + 1][1] = out[2 * n + 1][3] = v.w;
    }
    cs_wgmma_begin(out);
    CS_UNROLL
    for (int h = 0; h < NH; h++)
        cs_wgmma(out, hidden[h], cs_k_major{ w2 + 2 * h * N * CS_WIDE, N * CS_WIDE });
    cs_wgmma_commit();
    if (N == 2)
        read_rotated(q, p, octet + N * CS_STEP_OCTETS, next);
    cs_wgmma_wait(out);
    CS_UNROLL
    for (int n = 0; n < N; n++)
        CS_UNROLL
        for (int i = 0; i < 2; i++) {
            const uint4 v = x.v[n][i];
            const float (*o)[4] = out + 4 * n;
            const int e = 2 * i;
            if (x.at[n][i] >= 0)
                store<STREAM>(q.y + x.at[n][i],
                              make_uint4(cs_add_pair(v.x, o[0][e], o[0][e + 1]),
                                         cs_add_pair(v.y, o[1][e], o[1][e + 1]),
                                         cs_add_pair(v.z, o[2][e], o[2][e + 1]),
                                         cs_add_pair(v.w, o[3][e], o[3][e + 1])));
        }
}

/* y = x + rotated(hidden w2' + b2); x: the first step's. Two sets of registers take turns: a copy
 * would wait for what is being read. */
template <bool SAME, bool STREAM>
__device__ static void second_product(const cs_chord_job &q, const places<SAME> &p, int32_t c,
                                      const uint4 *w2, const float *b,
                                      const uint32_t hidden[NH][4], rotated &x)
{
    enum { WORD4 = 2 * NH * SECOND };        /* of a step of w2 */
    rotated next;
    const int32_t n_wide = q.dp / SECOND;
    int32_t k = 0, octet = c;

    for (; k + 1 < n_wide; k += 2, octet += 4 * CS_STEP_OCTETS, w2 += 2 * WORD4) {
        second_step<2, SAME, STREAM>(q, p, octet, w2, b, hidden, x, next);
        second_step<2, SAME, STREAM>(q, p, octet + 2 * CS_STEP_OCTETS, w2 + WORD4, b, hidden, next,
                                     x);
    }
    if (k < n_wide) {
        second_step<2, SAME, STREAM>(q, p, octet, w2, b, hidden, x, next);
        if (q.dp % SECOND)
            second_step<1, SAME, STREAM>(q, p, octet + 2 * CS_STEP_OCTETS, w2 + WORD4, b, hidden,
                                         next, x);
    } else if (q.dp % SECOND) {
        second_step<1, SAME, STREAM>(q, p, octet, w2, b, hidden, x, next);
    }
}

/* ---- the block --------------------------------------------------------------------------- */

/* What a warpgroup has in shared memory. */
struct kept { const uint4 *w1, *w2; const float *b1, *b2; };

/* s: the segment of all rows, if SAME */
template <bool SAME, bool STREAM>
__device__ static inline void one_tile(const cs_chord_job &q, cs_ring &f, const kept &w, int32_t s,
                                       int32_t r0, int32_t thread)
{
    const int32_t lane = thread % CS_WARP;
    float acc[1][2 * NH][4];
    uint32_t hidden[1][NH][4];
    places<SAME> p;
    rotated x;

    places_of(q, s, r0 + thread / CS_WARP * 16 + lane / 4, lane, p);
    first_product(q, f, w.w1, w.b1, thread, acc[0]);
    read_rotated(q, p, lane % 4, x);
    cs_tile_gelu<NH, 1>(acc);
    cs_tile_pairs<NH, 1>(acc, hidden);
    second_product<SAME, STREAM>(q, p, lane % 4, w.w2, w.b2, hidden[0], x);
}

/* Segments of the first and the last row of a tile; -1 beyond the rows */
struct ends { int32_t first, last; };

__device__ static inline ends ends_of(const cs_chord_job &q, int32_t r0)
{
    const int32_t last = r0 + CS_WGMMA_ROWS - 1;
    return { r0 < q.rows ? q.segment[r0] : -1, last < q.rows ? q.segment[last] : -1 };
}

/* Keeps a warpgroup's ring full, by one thread. */
__device__ static void copy_tiles(const cs_chord_job &q, cs_ring f, int32_t first)
{
    cs_slots_producer(f);
    for (int32_t r0 = first; r0 < q.rows; r0 = cs_next_tile(r0))
        cs_ring_rows(f, q, q.x, r0, cs_tile_size(q.rows, r0));
}

/* A warpgroup's tiles. */
template <bool STREAM>
__device__ static void compute_tiles(const cs_chord_job &q, cs_ring &f, const kept &w,
                                     int32_t first, int32_t thread)
{
    ends now = ends_of(q, first);
    for (int32_t r0 = first; r0 < q.rows; r0 = cs_next_tile(r0)) {
        const ends next = ends_of(q, cs_next_tile(r0));  /* read during this tile */
        if (now.first == now.last)
            one_tile<true, STREAM>(q, f, w, now.first, r0, thread);
        else
            one_tile<false, STREAM>(q, f, w, now.first, r0, thread);
        now = next;
    }
}

/* The last warpgroup copies x for the others: a warp for each of them. */
template <bool STREAM>
static __global__ void __launch_bounds__(CS_GROUP_THREADS, 1)
chord_group_kernel(cs_chord_job q, int32_t n_stage)
{
    CS_SHARED_ARRAY(uint4, shared);
    const cs_group_role me = cs_group_role_of();
    const int32_t n_w = cs_n_word4(q);
    float *bias = (float *)(shared + 2 * n_w);
    cs_ring f = cs_ring_make(shared + 2 * n_w + (q.hp + q.dp) / 4, n_stage, me);
    const kept w = { shared, shared + n_w, bias, bias + q.hp };

    load_weights(q, shared);
    for (int32_t i = (int32_t)threadIdx.x; i < q.hp + q.dp; i += CS_GROUP_THREADS)
        bias[i] = cs_bias1(q)[i];
    cs_fence_proxy_async();
    __syncthreads();
    if (me.producer) {
        cs_setmaxnreg<24, false>();
        if (me.group < CS_CONSUMERS && me.thread % CS_WARP == 0)
            copy_tiles(q, f, cs_first_tile(0, me.group));
    } else {
        cs_setmaxnreg<160, true>();
        compute_tiles<STREAM>(q, f, w, cs_first_tile(0, me.group), me.thread);
    }
}

/* ---- the launch -------------------------------------------------------------------------- */

/* Weights and biases */
static int64_t kept_bytes(const cs_chord_job &q)
{
    return cs_weight_bytes(q.dp, q.hp) + (q.hp + q.dp) * (int64_t)sizeof(float);
}

bool cs_cuda_chord_has_groups(cs_backend *be, const cs_chord_job &q)
{
    return cs_group_takes(be, q.rows, q.d, q.track, q.hp, kept_bytes(q))
        && q.n_track <= CS_WARP && q.pitch * (q.dp / CS_OCTET) <= INT32_MAX;
}

void cs_cuda_chord_groups(cs_backend *be, const cs_chord_job &q)
{
    cs_cuda *cu = cs_cuda_of(be);
    const int32_t n_stage = cs_group_stages(cu, kept_bytes(q));
    const size_t n_bytes = (size_t)(kept_bytes(q) + n_stage * CS_STAGE_BYTES);
    const auto kernel = q.stream ? chord_group_kernel<true> : chord_group_kernel<false>;

    cs_launch_shared(be, "chord_stack", kernel, (unsigned)cu->n_sm, CS_GROUP_THREADS, n_bytes, q,
                     n_stage);
}

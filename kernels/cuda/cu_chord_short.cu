/* cu_chord_short.cu - ChordMixer for short sequences: from tokens to means in one launch.
 *
 * DESIGN. A block of threads processes its share of the batch slice by slice: a slice is
 * consecutive sequences that fit in shared memory together, and it passes all layers at once.
 * Activations stay in shared memory, as octets. Weights are streamed: a ring of two steps holds the
 * current step of a product while the next one is copied from the L2 cache.
 *
 * Rotation needs no second copy of the activations. After the first product a warp has everything
 * it needs of x in registers: the hidden layer of its rows. After a barrier the second product does
 * x[rotated] += out in place. The rows of a slice are therefore limited by warps (16 with 32 rows
 * for up to 64 hidden units, 8 for more: 12 would spill registers) and by memory: a token takes 2 d
 * bytes, the ring 4 to 16 KiB, and there are small tables. With 8 warps each has 16 rows more,
 * whose first product follows that of the 32, because registers hold the sums of 32 rows only; w1
 * is streamed twice in a slice that has such rows, more than 256. So two reads of 150 bases form a
 * slice at d = 336. Maximum rows for (d, h):
 *
 *                   (72, 32)   (72, 64)   (208, 128)   (288, 128)   (336, 128)
 *    sm_90, 227 KiB    512        512          384          370          318
 *    sm_80, 163 KiB    512        512          358          258          222
 *    sm_86, 99 KiB     512        512          202          142          122
 *
 * All sequences of a batch have one depth; this kernel is used if 2^depth rows fit.
 *
 * A row's result depends on its own sequence only, and a mean is summed from the first row of its
 * sequence on, so neighbours do not change a bit. Rows are bit-equal to those of cu_chord_block.cu.
 * Means are taken over the last block's rows, which cu_chord_block.cu never computes.
 */
#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/chord_tile.cuh"

enum { TILE_STEPS = 2, TILE_ROWS = 16 * TILE_STEPS, EXTRA_ROWS = 16,
       SLICE_SEGMENTS = 16 };    /* maximum per slice: very short sequences leave rows unused */

/* Limited by registers: 64 Ki per multiprocessor, 128 or 255 per thread. Rows of the warps' tiles,
 * and of their second ones of EXTRA_ROWS. */
template <int NH> struct slice_size {
    enum { WARPS = NH <= 4 ? 16 : 8, THREADS = WARPS * CS_WARP, TILES = WARPS * TILE_ROWS,
           ROWS = TILES + (NH <= 4 ? 0 : WARPS * EXTRA_ROWS) };
};

/* A batch and its partition into slices. */
struct short_job {
    cs_chord_tokens tokens;      /* id NULL: rows of x */
    cs_mat          x, mean;     /* mean.p NULL: output is rows */
    const int64_t  *off;
    const uint4    *pack;        /* of the first block that is not a table */
    int64_t         block_words; /* 16-byte words per block */
    int32_t         n_seg, n_block, d, track;
    uint32_t        per_track;   /* cs_reciprocal(track) */
    int32_t         rows, pitch; /* of a slice, at most */
};

typedef cs_chord_rows<int16_t, int16_t, int32_t> slice_rows;

/* A slice: sequences of the batch from s0 on, whose rows begin at r0. */
struct slice : slice_rows { int32_t n_seg, s0; int64_t r0; uint4 *x; };

/* ---- streamed weights -------------------------------------------------------------------- */

template <int NH> struct ring {
    enum { MANY_REGS = NH != 4 };    /* 16 warps have 128 registers per thread */
    uint4       *ring_memory;    /* two steps */
    const uint4 *pack;
    int64_t      block_words;
    int32_t      n_step, n_total;    /* steps per block, in total */
    int32_t      repeat;         /* steps of w1 that are streamed twice: all or none */
    int32_t      i;              /* the step being copied */

    __device__ void issue_copies() const
    {
        const int32_t step = i % n_step, back = NH > 4 && step >= repeat ? repeat : 0;
        const uint4 *from = pack + i / n_step * block_words + (step - back) * cs_step<NH>::WORD4;
        uint4 *to = ring_memory + i % 2 * cs_step<NH>::WORD4;
        for (int32_t k = (int32_t)threadIdx.x; i < n_total && k < cs_step<NH>::WORD4;
             k += slice_size<NH>::THREADS)
            cs_cp_async_16(to + k, from + k);
    }

    /* After the barrier all threads' copies are complete, and no thread reads the other half of
     * the ring. */
    __device__ const uint4 *next()
    {
        const uint4 *step = ring_memory + i % 2 * cs_step<NH>::WORD4;
        cs_cp_async_wait_all();
        __syncthreads();
        i++;
        issue_copies();
        return step;
    }
};

/* ---- a slice ----------------------------------------------------------------------------- */

/* Layout of shared memory after the ring. */
struct slice_memory { uint4 *x; int16_t *segment, *off, *shift; };

__host__ __device__ static inline int32_t octets_of(int32_t d)
{
    return (d + CS_OCTET - 1) / CS_OCTET;
}

__device__ static slice_memory memory_of(const short_job &q, uint4 *after_ring)
{
    int16_t *table = (int16_t *)(after_ring + octets_of(q.d) * q.pitch);
    return { after_ring, table, table + q.pitch, table + q.pitch + SLICE_SEGMENTS + 1 };
}

/* The first sequence of a block's share. */
__device__ static int32_t share_of(const short_job &q, unsigned block)
{
    return (int32_t)((int64_t)q.n_seg * block / gridDim.x);
}

__device__ static int32_t slice_end(const short_job &q, int32_t s, int32_t end)
{
    int32_t n = 1;
    while (n < SLICE_SEGMENTS && s + n < end && q.off[s + n + 1] - q.off[s] <= q.rows)
        n++;
    return s + n;
}

/* Builds the slice's tables; valid for all threads after the next barrier. */
__device__ static slice build_slice(const short_job &q, const slice_memory &m, int32_t s0,
                                    int32_t s1)
{
    const int64_t *off = q.off + s0, r0 = *off;
    const int32_t n = s1 - s0, n_track = q.d / q.track;
    const int32_t thread = (int32_t)threadIdx.x, step = (int32_t)blockDim.x;

    for (int32_t i = thread; i <= n; i += step)
        m.off[i] = (int16_t)(off[i] - r0);
    for (int32_t i = thread; i < n * n_track; i += step) {
        const int32_t s = i / n_track;
        m.shift[i] = (int16_t)cs_track_shift(i % n_track, off[s + 1] - off[s]);
    }
    for (int32_t s = 0; s < n; s++)
        for (int64_t r = off[s] - r0 + thread; r < off[s + 1] - r0; r += step)
            m.segment[r] = (int16_t)s;
    return { { (int32_t)(off[n] - r0), q.pitch, q.d, q.track, n_track, q.per_track, m.off,
               m.segment, m.shift }, n, s0, r0, m.x };
}

__device__ static void fill_slice(const short_job &q, const slice &p)
{
    cs_chord_tokens tokens = q.tokens;
    tokens.id += tokens.id ? p.r0 : 0;
    for (int32_t i = (int32_t)threadIdx.x; i < p.rows * octets_of(q.d); i += (int32_t)blockDim.x) {
        const int32_t octet = i / p.rows, r = i % p.rows;
        p.x[octet * p.pitch + r] = tokens.id
            ? cs_token_octet(p, tokens, cs_place_of(p, r), cs_table_row(tokens, r), octet)
            : cs_octet_from(octet, q.d, [&](int32_t j) { return cs_row_quad(q.x, p.r0 + r, j); });
    }
}

template <int NH, int NM>
__device__ static void hidden_of(const slice &p, const cs_warp_tile<NM, int32_t> &t,
                                 ring<NH> &weights, const float *b, uint32_t hidden[NM][NH][4])
{
    float acc[NM][2 * NH][4];
    cs_first_product<NH>(p, p.x, t, weights, b, acc);
    if (t.r0 < p.rows) {
        cs_tile_gelu<NH, NM>(acc);
        cs_tile_pairs<NH, NM>(acc, hidden);
    }
}

/* A warp's rows: two tiles, of which the second may have none. */
template <int NH> struct two_tiles {
    cs_warp_tile<TILE_STEPS, int32_t> t;
    cs_warp_tile<1, int32_t>          extra;
    uint32_t                          hidden[TILE_STEPS][NH][4], extra_hidden[1][NH][4];
};

/* As cs_second_product(), a step of weights for both tiles. One loop for tracks of any width: two
 * would spill registers. */
template <int NH>
__device__ static void second_products(const slice &p, const two_tiles<NH> &w, ring<NH> &weights,
                                       const float *b)
{
    cs_row_place place[2 * TILE_STEPS], extra_place[2];

    cs_places_of(p, w.t, place);
    cs_places_of(p, w.extra, extra_place);
    for (int32_t k = 0, n_step = cs_steps_of(p.d); k < n_step; k++) {
        const uint4 *w2 = weights.next();
        if (w.t.r0 < p.rows)
            cs_add_step<CS_EITHER, NH, TILE_STEPS>(p, p.x, p.x, w.t, place, k, w2, b, w.hidden);
        if (w.extra.r0 < p.rows)
            cs_add_step<CS_EITHER, NH, 1>(p, p.x, p.x, w.extra, extra_place, k, w2, b,
                                          w.extra_hidden);
    }
}

/* x is overwritten after the barrier that delivers the first step of w2. */
template <int NH>
__device__ static void run_block(const slice &p, ring<NH> &weights, const float *b)
{
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, warp = (int32_t)threadIdx.x / CS_WARP;
    two_tiles<NH> w = { { warp * TILE_ROWS, lane / 4, lane % 4 },
                        { slice_size<NH>::TILES + warp * EXTRA_ROWS, lane / 4, lane % 4 },
                        {}, {} };

    hidden_of<NH, TILE_STEPS>(p, w.t, weights, b, w.hidden);
    if constexpr (NH <= 4) {
        cs_second_product<NH>(p, p.x, p.x, w.t, weights, b + 16 * NH, w.hidden);
        return;
    }
    if (weights.repeat > 0)
        hidden_of<NH, 1>(p, w.extra, weights, b, w.extra_hidden);
    second_products<NH>(p, w, weights, b + 16 * NH);
}

template <int NH>
__device__ static void run_blocks(const short_job &q, const slice &p, ring<NH> &weights)
{
    for (int32_t l = 0; l < q.n_block; l++) {
        run_block<NH>(p, weights, (const float *)(q.pack + l * q.block_words
                                                  + 2 * cs_steps_of(q.d) * cs_step<NH>::WORD4));
        __syncthreads();         /* all have written x */
    }
}

/* A warp per 32 channels of a sequence; a lane has 8 of them, of every eighth row. */
__device__ static void mean_of_slice(const short_job &q, const slice &p)
{
    const int32_t n_step = cs_steps_of(q.d), lane = (int32_t)threadIdx.x % CS_WARP;
    for (int32_t i = (int32_t)threadIdx.x / CS_WARP; i < p.n_seg * n_step;
         i += (int32_t)blockDim.x / CS_WARP) {
        const int32_t s = i / n_step, len = p.off[s + 1] - p.off[s];
        const int32_t octet = i % n_step * (CS_WIDE / CS_OCTET) + lane % 4;
        float sum[CS_OCTET] = { 0 };
        for (int32_t t = lane / 4; octet * CS_OCTET < q.d && t < len; t += 8)
            cs_add_octet(p.x[octet * p.pitch + p.off[s] + t], sum);
        CS_UNROLL
        for (int e = 0; e < CS_OCTET; e++) {
            const int32_t j = octet * CS_OCTET + e;
            const float total = cs_lane_rows_sum(sum[e]);
            if (lane < 4 && j < q.d)
                cs_el(q.mean, p.s0 + s, j) = len > 0 ? total / (float)len : 0;
        }
    }
}

__device__ static void rows_of_slice(const short_job &q, const slice &p)
{
    for (int32_t i = (int32_t)threadIdx.x; i < p.rows * q.d; i += (int32_t)blockDim.x)
        cs_el(q.x, p.r0 + i / q.d, i % q.d) = cs_channel_at(p.x, p.pitch, i / q.d, i % q.d);
}

template <int NH>
static __global__ void __launch_bounds__(slice_size<NH>::THREADS, 1) chord_short_kernel(short_job q)
{
    CS_SHARED_ARRAY(uint4, shared);
    const slice_memory m = memory_of(q, shared + 2 * cs_step<NH>::WORD4);
    const int32_t n_step = cs_steps_of(q.d), end = share_of(q, blockIdx.x + 1);

    for (int32_t s = share_of(q, blockIdx.x); s < end;) {
        const int32_t s1 = slice_end(q, s, end);
        if (q.off[s + 1] - q.off[s] > q.rows)
            __trap();            /* longer than the batch's depth allows: does not fit */
        const int32_t repeat = q.off[s1] - q.off[s] > slice_size<NH>::TILES ? n_step : 0;
        const int32_t per_block = 2 * n_step + repeat;
        ring<NH> weights = { shared, q.pack, q.block_words, per_block, per_block * q.n_block,
                             repeat, 0 };
        weights.issue_copies();
        const slice p = build_slice(q, m, s, s1);
        __syncthreads();
        fill_slice(q, p);
        __syncthreads();
        run_blocks<NH>(q, p, weights);
        if (q.mean.p)
            mean_of_slice(q, p);
        else
            rows_of_slice(q, p);
        __syncthreads();         /* the next slice overwrites this one */
        s = s1;
    }
}

/* ---- the launch -------------------------------------------------------------------------- */

/* Octet pitch for that many rows: of 8 lanes reading together, four octets of two rows, no two
 * share a bank if the pitch is 2 modulo 4. */
static int32_t pitch_of(int32_t rows)
{
    return rows + (6 - rows % 4) % 4;
}

template <int NH> static int64_t shared_bytes(const cs_chord_stack *s, int32_t rows)
{
    const int64_t pitch = pitch_of(rows), n_track = s->width / s->track;
    return (int64_t)sizeof(uint4) * (2 * cs_step<NH>::WORD4 + octets_of(s->width) * pitch)
         + (int64_t)sizeof(int16_t) * (pitch + SLICE_SEGMENTS + 1 + SLICE_SEGMENTS * n_track);
}

/* Maximum rows of a slice: as many as the warps cover, or as fit in memory. */
template <int NH> static int32_t slice_rows_of(cs_backend *be, const cs_chord_stack *s)
{
    int32_t rows = slice_size<NH>::ROWS;
    while (rows > 0 && shared_bytes<NH>(s, rows) > (int64_t)cs_cuda_of(be)->shared_bytes)
        rows--;
    return rows;
}

bool cs_cuda_chord_is_short(cs_backend *be, cs_seg seg, const cs_chord_stack *s)
{
    const int32_t rows = s->hidden <= 32 ? slice_rows_of<2>(be, s)
                       : s->hidden <= 64 ? slice_rows_of<4>(be, s) : slice_rows_of<8>(be, s);
    return seg.depth < 31 && INT32_C(1) << seg.depth <= rows;
}

template <int NH> static void launch(cs_backend *be, short_job q, const cs_chord_stack *s)
{
    const cs_cuda *cu = cs_cuda_of(be);
    q.rows = slice_rows_of<NH>(be, s);
    q.pitch = pitch_of(q.rows);
    const auto kernel = chord_short_kernel<NH>;
    const size_t n_bytes = (size_t)shared_bytes<NH>(s, q.rows);

    cs_launch_shared(be, "chord_stack", kernel, (unsigned)(q.n_seg < cu->n_sm ? q.n_seg : cu->n_sm),
                     slice_size<NH>::THREADS, n_bytes, q);
}

void cs_cuda_chord_short(cs_backend *be, cs_seg seg, const cs_chord_stack *s, cs_mat x,
                         cs_mat mean)
{
    const int64_t one = cs_cuda_chord_pack_size(s->width, s->hidden);
    const int32_t l0 = s->id && s->first.p ? 1 : 0;
    const short_job q = { { s->id, s->embed, s->first }, x, mean, seg.off,
                          (const uint4 *)(s->pack + l0 * one), one / 4, seg.n, s->n_block - l0,
                          s->width, s->track, cs_reciprocal(s->track), 0, 0 };
    if (s->hidden <= 32)
        launch<2>(be, q, s);
    else if (s->hidden <= 64)
        launch<4>(be, q, s);
    else
        launch<8>(be, q, s);
}

/* cu_chord_weights_group.cu - gradients of a ChordMixer block's weights by warpgroups, for sm_90a.
 *
 * DESIGN. The same as train_weights of cu_chord_weights.cu: sums over tokens of products of a left
 * factor, dz or hidden, and a right one, x or the rotated dy. A block of threads takes a range of
 * tokens for all columns of one of the two, so that every factor is read once. A warpgroup holds
 * the sums of 64 hidden units in registers; a warp of a third one copies 64 tokens of both factors
 * at a time to shared memory (bulk.cuh), MN-major (wgmma.cuh), some tiles ahead.
 *
 * Bias gradients are products with ones: dz' 1, and (rotated dy)' 1 by 64 columns, which the two
 * warpgroups share. In the first product the others of these sums are computed again and not used.
 *
 * Beyond the last row of all, rows of the left factor and of ones are 0; those of the right factor
 * are of an earlier tile, or 0 at first.
 */
#include "kernels/cuda/chord_train.cuh"
#include "kernels/cuda/wgmma.cuh"

enum { READERS = 2, THREADS = (READERS + 1) * CS_WARPGROUP, UNITS = CS_MAX_HIDDEN,
       UNIT_OCTETS = UNITS / CS_OCTET, ROWS = CS_WGMMA_ROWS, LEFT = UNIT_OCTETS * ROWS,
       COLUMNS = 64, COLUMN_OCTETS = COLUMNS / CS_OCTET, MAX_CHUNKS = 6,     /* of 64 columns */
       MAX_STAGES = 4 };         /* tiles at a time */

/* A tile in shared memory: the right factor, then the left one, into which products of the last 64
 * columns may reach. */
__device__ __host__ static inline int32_t tile_places(int32_t d)
{
    return d / CS_OCTET * ROWS + LEFT;
}

/* ---- copies ------------------------------------------------------------------------------ */

/* Fills slots with tiles i0 .. i1 - 1, by a warp. */
__device__ static void copy_tiles(const cs_train_job &q, bool second, cs_slots f, uint4 *tiles,
                                  int32_t i0, int32_t i1)
{
    const int32_t lane = (int32_t)threadIdx.x % CS_WARP, n_octet = q.d / CS_OCTET;

    cs_slots_producer(f);
    for (int32_t i = i0; i < i1; i++, cs_slots_next(f)) {
        const int32_t r0 = q.first + i * ROWS, left = q.rows - r0;
        const int32_t n = left < ROWS ? left : (int32_t)ROWS, size = (int32_t)sizeof(uint4);
        uint4 *const to = tiles + f.slot * tile_places(q.d);
        uint64_t *const bar = &f.full[f.slot];

        cs_slots_wait_empty(f);
        if (lane == 0)
            cs_mbarrier_expect_tx(bar, (LEFT + n_octet * n) * size);
        __syncwarp();
        const cs_segment_rows s = cs_segment_of_row(q, r0);
        for (int32_t o = lane; o < n_octet; o += CS_WARP) {
            if (second)
                cs_copy_rotated(q, s, to + o * ROWS, q.dy, o, r0, n, bar);
            else
                cs_bulk_copy(to + o * ROWS, q.x + o * q.pitch + r0, n * size, bar);
        }
        for (int32_t o = lane; o < UNIT_OCTETS; o += CS_WARP)
            cs_bulk_copy(to + (n_octet + o) * ROWS,
                         (second ? q.hidden : q.dz) + o * q.unit_pitch + i * ROWS, ROWS * size,
                         bar);
    }
}

/* ---- sums -------------------------------------------------------------------------------- */

/* A warpgroup's: 64 units by chunks of columns; and of the columns of factors. */
template <int NC> struct sums { float weight[NC][8][4], bias[(NC + 1) / 2][1][4]; };

/* Ones for the bias gradients: octets of rows by 8 columns, ROWS places of 16 bytes. For whole
 * tiles, and for the last one of a job, which has n rows. */
__device__ static inline void make_ones(int32_t n, uint4 *to)
{
    for (int32_t i = (int32_t)threadIdx.x; i < 2 * ROWS; i += THREADS) {
        const int32_t r = i % ROWS / CS_OCTET * CS_OCTET;
        uint32_t v[CS_OCTET / 2];
        CS_UNROLL
        for (int e = 0; e < CS_OCTET / 2; e++)
            v[e] = cs_bf16_pair(i < ROWS || r + 2 * e < n, i < ROWS || r + 2 * e + 1 < n);
        to[i] = make_uint4(v[0], v[1], v[2], v[3]);
    }
}

/* Adds a tile. */
template <int NC>
__device__ static inline void add_tile(const uint4 *right, const uint4 *left, const uint4 *ones,
                                       bool second, int32_t group, sums<NC> &s)
{
    CS_UNROLL
    for (int c = 0; c < NC; c++)
        cs_wgmma_begin(s.weight[c]);
    CS_UNROLL
    for (int c = 0; c < (NC + 1) / 2; c++)
        cs_wgmma_begin(s.bias[c]);
    left += group * COLUMN_OCTETS * ROWS;
    CS_UNROLL
    for (int r = 0; r < ROWS; r += 16) {
        CS_UNROLL
        for (int c = 0; c < NC; c++)
            cs_wgmma(s.weight[c], cs_mn_major{ left + r, ROWS },
                     cs_mn_major{ right + c * COLUMN_OCTETS * ROWS + r, ROWS });
        CS_UNROLL
        for (int c = 0; c < (NC + 1) / 2; c++) {
            /* With an odd number of chunks the second warpgroup has one fewer. */
            const int32_t chunk = 2 * c + group < NC ? 2 * c + group : 0;
            const uint4 *of = second ? right + chunk * COLUMN_OCTETS * ROWS : left;
            cs_wgmma(s.bias[c], cs_mn_major{ of + r, ROWS },
                     cs_k_major{ ones + r, CS_OCTET });
        }
    }
    cs_wgmma_commit();
    CS_UNROLL
    for (int c = 0; c < NC; c++)
        cs_wgmma_wait(s.weight[c]);
    CS_UNROLL
    for (int c = 0; c < (NC + 1) / 2; c++)
        cs_wgmma_wait(s.bias[c]);
}

/* Stores the sums of a range. */
template <int NC>
__device__ static inline void write_sums(const cs_train_parts &to, int32_t range, bool second,
                                         int32_t group, const sums<NC> &s)
{
    const int32_t thread = (int32_t)threadIdx.x % CS_WARPGROUP, c = thread % 4;
    const int32_t row = thread / CS_WARP * 16 + thread % CS_WARP / 4;        /* of 64 */

    CS_UNROLL
    for (int i = 0; i < 2; i++) {
        float *const at = to.weights(range, second, group * 64 + row + 8 * i) + 2 * c;
        CS_UNROLL
        for (int k = 0; k < NC * 8; k++) {
            const float *v = s.weight[k / 8][k % 8] + 2 * i;
            *(float2 *)(at + 8 * k) = { v[0], v[1] };
        }
        CS_UNROLL
        for (int k = 0; k < (NC + 1) / 2; k++) {
            const int32_t chunk = 2 * k + group;
            if (c == 0 && second && chunk < NC)
                to.columns(range)[chunk * COLUMNS + row + 8 * i] = s.bias[k][0][2 * i];
        }
        if (c == 0 && !second)
            to.units(range)[group * 64 + row + 8 * i] = s.bias[0][0][2 * i];
    }
}

/* NC: chunks of columns. Grid: (ranges of tokens, two products). */
template <int NC>
static __global__ void __launch_bounds__(THREADS, 1)
train_weights_group(cs_train_job q, cs_train_parts to, int32_t n_stage)
{
    CS_SHARED_ARRAY(uint4, shared);
    /* The same for all lanes, which the compiler must know: products are not for some. */
    const int32_t warp = __shfl_sync(0xFFFFFFFFu, (int32_t)threadIdx.x / CS_WARP, 0);
    const int32_t group = warp / (CS_WARPGROUP / CS_WARP), range = (int32_t)blockIdx.x;
    const int32_t n_tile = (q.rows - q.first + ROWS - 1) / ROWS, n_place = tile_places(q.d);
    const int32_t i0 = (int32_t)((int64_t)range * n_tile / to.n_range);
    const int32_t i1 = (int32_t)((int64_t)(range + 1) * n_tile / to.n_range);
    const bool second = blockIdx.y == 1;
    uint4 *const tiles = shared + 2 * ROWS;
    cs_slots f = cs_slots_make((uint64_t *)(tiles + n_stage * n_place), n_stage,
                               READERS * CS_WARPGROUP / CS_WARP, threadIdx.x == 0);

    make_ones(q.rows - q.first - (n_tile - 1) * ROWS, shared);
    for (int32_t i = (int32_t)threadIdx.x; i < n_stage * n_place; i += THREADS)
        tiles[i] = make_uint4(0, 0, 0, 0);
    cs_fence_proxy_async();
    __syncthreads();
    if (group == READERS) {
        cs_setmaxnreg<40, false>();
        if (warp % (CS_WARPGROUP / CS_WARP) == 0)
            copy_tiles(q, second, f, tiles, i0, i1);
    } else {
        cs_setmaxnreg<232, true>();
        sums<NC> s = {};
        for (int32_t i = i0; i < i1; i++) {
            const uint4 *const right = tiles + f.slot * n_place;
            cs_slots_wait_full(f);
            add_tile(right, right + n_place - LEFT, shared + (i == n_tile - 1 ? ROWS : 0), second,
                     group, s);
            cs_slots_release(f);
        }
        write_sums(to, range, second, group, s);
    }
}

/* ---- calls ------------------------------------------------------------------------------- */

static int32_t chunks_of(int32_t d) { return (d + COLUMNS - 1) / COLUMNS; }

static cs_train_parts parts_of(cs_backend *be, int32_t d, int32_t hp, int64_t rows, float *part)
{
    const int64_t n_tile = cs_div_up(rows, ROWS), half = cs_cuda_of(be)->n_sm / 2;
    const int64_t n = half < n_tile ? half : n_tile;
    return { part, (int32_t)(n > 1 ? n : 1), hp, chunks_of(d) * (int64_t)COLUMNS };
}

int64_t cs_cuda_chord_group_parts(cs_backend *be, int32_t d, int32_t hp, int64_t rows)
{
    return parts_of(be, d, hp, rows, NULL).size();
}

template <int NC> static void launch(cs_backend *be, const cs_train_job &q, const cs_train_parts &p)
{
    const cs_cuda *cu = cs_cuda_of(be);
    const int64_t stage = tile_places(q.d) * (int64_t)sizeof(uint4)
                          + 2 * (int64_t)sizeof(uint64_t);
    const int64_t ones = 2 * ROWS * (int64_t)sizeof(uint4);
    const int64_t fit = ((int64_t)cu->shared_bytes - ones) / stage;
    const int32_t n_stage = fit < MAX_STAGES ? (int32_t)fit : (int32_t)MAX_STAGES;
    const size_t n_bytes = (size_t)(ones + n_stage * stage);

    CS_BUG(n_stage < 1);
    cs_launch_shared(be, "chord_block_bwd", train_weights_group<NC>, dim3((unsigned)p.n_range, 2),
                     THREADS, n_bytes, q, p, n_stage);
}

void cs_cuda_chord_weights_groups(cs_backend *be, const cs_train_job &q, const cs_chord *dk)
{
    static void (*const with[MAX_CHUNKS])(cs_backend *, const cs_train_job &,
                                          const cs_train_parts &) =
        { launch<1>, launch<2>, launch<3>, launch<4>, launch<5>, launch<6> };
    const cs_train_parts parts = parts_of(be, q.d, q.hp, q.rows - q.first, q.part);

    CS_BUG(chunks_of(q.d) > MAX_CHUNKS);     /* wider blocks are not for warpgroups */
    with[chunks_of(q.d) - 1](be, q, parts);
    cs_cuda_chord_add_parts(be, parts, dk);
}

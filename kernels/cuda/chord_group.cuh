/* chord_group.cuh - warp-specialised kernels of a ChordMixer block: producer and consumers, sm_90a.
 *
 * DESIGN. Three consumer warpgroups take tiles of 64 rows, without waiting for each other: while
 * one computes GELU or waits for memory, others use the tensor cores (wgmma.cuh). Each reads its
 * rows from a ring of stages of 32 channels in shared memory. A fourth warpgroup is the producer:
 * one of its warps per ring fills free stages (bulk.cuh), also with the next tiles. It leaves most
 * of its registers to the consumers.
 */
#ifndef CS_KERNELS_CUDA_CHORD_GROUP_H
#define CS_KERNELS_CUDA_CHORD_GROUP_H

#include "kernels/cuda/bulk.cuh"
#include "kernels/cuda/chord_tile.cuh"
#include "kernels/cuda/wgmma.cuh"

enum { CS_CONSUMERS = 3, CS_GROUP_THREADS = (CS_CONSUMERS + 1) * CS_WARPGROUP,
       CS_STEP_OCTETS = CS_WIDE / CS_OCTET,
       CS_STAGE = CS_STEP_OCTETS * CS_WGMMA_ROWS,    /* places of 16 bytes */
       CS_STAGE_BYTES = CS_CONSUMERS * (CS_STAGE * 16 + 2 * 8), /* of all rings, with barriers */
       CS_MAX_STAGES = 8 };

/* The role of a thread. thread: number in its warpgroup; group: the consumer that it is part of or
 * copies for (CS_CONSUMERS: none). */
struct cs_group_role { int32_t thread, group; bool producer; };

/** cs_group_role_of - the calling thread's */
__device__ static inline cs_group_role cs_group_role_of(void)
{
    enum { WARPS = CS_WARPGROUP / CS_WARP };
    /* __shfl_sync tells the compiler that all lanes have the same value, as wgmma requires. */
    const int32_t warp = __shfl_sync(0xFFFFFFFFu, (int32_t)threadIdx.x / CS_WARP, 0);
    const bool producer = warp >= CS_CONSUMERS * WARPS;
    return { (int32_t)threadIdx.x % CS_WARPGROUP, producer ? warp % WARPS : warp / WARPS,
             producer };
}

/** cs_first_tile - first row of a warpgroup's first tile, in rows from `first` on */
__device__ static inline int32_t cs_first_tile(int32_t first, int32_t group)
{
    return first + ((int32_t)blockIdx.x + group * (int32_t)gridDim.x) * CS_WGMMA_ROWS;
}

/** cs_next_tile - of its tile after that at r0 */
__device__ static inline int32_t cs_next_tile(int32_t r0)
{
    return r0 + (int32_t)gridDim.x * CS_CONSUMERS * CS_WGMMA_ROWS;
}

/** cs_tile_size - rows of the tile at r0 */
__device__ static inline int32_t cs_tile_size(int32_t rows, int32_t r0)
{
    return rows - r0 < CS_WGMMA_ROWS ? rows - r0 : (int32_t)CS_WGMMA_ROWS;
}

/* ---- the ring of stages ------------------------------------------------------------------ */

/* A warpgroup's: [n][CS_STEP_OCTETS][CS_WGMMA_ROWS]. */
struct cs_ring : cs_slots { uint4 *stage; };

/** cs_ring_make - a warpgroup's ring in shared memory, by all threads of the block. To be followed
 * by cs_fence_proxy_async() and __syncthreads() */
__device__ static inline cs_ring cs_ring_make(uint4 *stages, int32_t n_stage,
                                              const cs_group_role &p)
{
    uint64_t *bars = (uint64_t *)(stages + CS_CONSUMERS * n_stage * CS_STAGE)
                     + p.group * 2 * n_stage;
    /* Rows of a slot beyond those of the last tile are read, too. */
    for (int32_t i = (int32_t)threadIdx.x; i < CS_CONSUMERS * n_stage * CS_STAGE;
         i += CS_GROUP_THREADS)
        stages[i] = make_uint4(0, 0, 0, 0);
    return { cs_slots_make(bars, n_stage, CS_WARPGROUP / CS_WARP, !p.producer && p.thread == 0),
             stages + p.group * n_stage * CS_STAGE };
}

/** cs_ring_at - the slot's rows */
__device__ static inline uint4 *cs_ring_at(const cs_ring &f)
{
    return f.stage + f.slot * CS_STAGE;
}

/** cs_ring_wait - the same, when they have come */
__device__ static inline const uint4 *cs_ring_wait(const cs_ring &f)
{
    cs_slots_wait_full(f);
    return cs_ring_at(f);
}

/** cs_ring_fill - when the slot has been read, copy n_row rows of d channels into it and the next
 * ones; copy(to, octet, bar) starts the copy of an octet's rows, which `bar` counts */
template <class F>
__device__ static inline void cs_ring_fill(cs_ring &f, int32_t d, int32_t n_row, F copy)
{
    const int32_t n_octet = d / CS_OCTET;
    for (int32_t o = 0; o < n_octet; o += CS_STEP_OCTETS) {
        const int32_t n = n_octet - o < CS_STEP_OCTETS ? n_octet - o : (int32_t)CS_STEP_OCTETS;
        cs_slots_wait_empty(f);
        cs_mbarrier_expect_tx(&f.full[f.slot], n * n_row * (int32_t)sizeof(uint4));
        for (int32_t i = 0; i < n; i++)
            copy(cs_ring_at(f) + i * CS_WGMMA_ROWS, o + i, &f.full[f.slot]);
        cs_slots_next(f);
    }
}

/** cs_ring_rows - fill a ring with n_row rows of x from r0 on */
template <class Q>
__device__ static inline void cs_ring_rows(cs_ring &f, const Q &q, const uint4 *x, int32_t r0,
                                           int32_t n_row)
{
    cs_ring_fill(f, q.d, n_row, [&](uint4 *to, int32_t octet, uint64_t *bar) {
        cs_bulk_copy(to, x + octet * q.pitch + r0, n_row * (int32_t)sizeof(uint4), bar);
    });
}

/* ---- products ---------------------------------------------------------------------------- */

/* A step of N sets of 16 channels. */
template <int N, int NT>
__device__ static inline void cs_ring_step(cs_ring &f, const uint4 *w, float (&acc)[NT][4])
{
    const uint4 *x = cs_ring_wait(f);

    cs_wgmma_begin(acc);
    CS_UNROLL
    for (int i = 0; i < N; i++)
        cs_wgmma(acc, { x + 2 * i * CS_WGMMA_ROWS, CS_WGMMA_ROWS },
                 { w + 2 * i * 8 * NT, 8 * NT });
    cs_wgmma_commit();
    cs_wgmma_wait(acc);
    cs_slots_release(f);
}

/** cs_ring_product - acc += x w', where x are the ring's next rows of d channels, a multiple of 16,
 * and w is octets, [octet of channels][column][8] */
template <int NT>
__device__ static inline void cs_ring_product(cs_ring &f, int32_t d, const uint4 *w,
                                              float (&acc)[NT][4])
{
    const int32_t n_whole = d / CS_WIDE;

    for (int32_t k = 0; k < n_whole; k++, w += CS_STEP_OCTETS * 8 * NT)
        cs_ring_step<2>(f, w, acc);
    if (d % CS_WIDE)
        cs_ring_step<1>(f, w, acc);
}

/* ---- the launch -------------------------------------------------------------------------- */

/** cs_group_stages - stages for each warpgroup beside n_bytes of shared memory */
static inline int32_t cs_group_stages(const cs_cuda *cu, int64_t n_bytes)
{
    const int64_t n = ((int64_t)cu->shared_bytes - n_bytes) / CS_STAGE_BYTES;
    return n < CS_MAX_STAGES ? (int32_t)n : (int32_t)CS_MAX_STAGES;
}

/** cs_group_takes - can warpgroups take rows of d channels and hp padded hidden units, with n_bytes
 * of shared memory for weights, and are there rows for all of them? */
static inline bool cs_group_takes(cs_backend *be, int64_t rows, int32_t d, int32_t track,
                                  int32_t hp, int64_t n_bytes)
{
    enum { MIN_STAGES = 2, MIN_TILES = 2 };  /* tiles per warpgroup */
    const cs_cuda *cu = cs_cuda_of(be);
    return cu->has_wgmma && hp == CS_MAX_HIDDEN && d % (2 * CS_OCTET) == 0 && track % CS_OCTET == 0
        && cs_group_stages(cu, n_bytes) >= MIN_STAGES
        && rows >= (int64_t)MIN_TILES * CS_WGMMA_ROWS * CS_CONSUMERS * cu->n_sm;
}

#endif

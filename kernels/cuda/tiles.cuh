/* tiles.cuh - products of tiles of 32 by 32: a block of 32 x 8 threads, four rows per thread.
 *
 * Lane x of warp y holds column x of rows y, y + 8, y + 16 and y + 24.
 */
#ifndef CS_KERNELS_CUDA_TILES_H
#define CS_KERNELS_CUDA_TILES_H

#include "kernels/cuda/device.cuh"

enum { CS_TILE = 32, CS_ROWS = CS_TILE / CS_WARPS };

typedef float cs_shared_tile[CS_TILE][CS_TILE + 1];   /* padded: columns in different banks */

/** cs_tile_load - t[i][j] = f(i, j) for the whole tile; f returns 0 outside its matrix. Call
 * between barriers */
template <class F> __device__ static inline void cs_tile_load(cs_shared_tile t, F f)
{
    for (int i = (int)threadIdx.y; i < CS_TILE; i += CS_WARPS)
        t[i][threadIdx.x] = f(i, (int)threadIdx.x);
}

/** cs_tile_mul - acc += a b, sums over the 32 columns of a */
__device__ static inline void cs_tile_mul(const cs_shared_tile a, const cs_shared_tile b,
                                          float acc[CS_ROWS])
{
    for (int k = 0; k < CS_TILE; k++)
        for (int i = 0; i < CS_ROWS; i++)
            acc[i] += a[threadIdx.y + CS_WARPS * (unsigned)i][k] * b[k][threadIdx.x];
}

/** cs_tile_row - row of this thread's value i */
__device__ static inline int cs_tile_row(int i) { return (int)threadIdx.y + CS_WARPS * i; }

#endif

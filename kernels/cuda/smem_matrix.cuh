/* smem_matrix.cuh - a bf16 matrix in shared memory, read by cs_mma as it is or transposed.
 *
 * DESIGN. cs_mma needs pairs of adjacent terms of the sum (mma.cuh); training sums over both
 * columns and rows of these matrices. Rows are contiguous, and lane (g, c) reads
 *
 *   cs_load_b        sum over columns, 16 per step: columns 4c .. 4c + 3 of row g
 *   cs_load_b_trans  sum over rows, 16 per step: rows 2c, 2c + 1, 2c + 8, 2c + 9 (the order of
 *                    cs_mma's results, which are an operand without shuffles) of word g, i.e.
 *                    columns 2g and 2g + 1. They are re-paired into column g of two tiles, of the
 *                    even and of the odd columns; of both tiles' results a lane has columns 4c ..
 *                    4c + 3 of a row
 *
 * No bank conflicts: a row has an odd multiple of 8 words, so rows that differ modulo 4 are in
 * different banks. cs_load_b reads rows 0 to 3 or 4 to 7 by half a warp, cs_load_b_trans rows 0, 2,
 * 4, 6 or 1, 3, 5, 7 by a warp. Rows are swizzled: row n is stored at n ^ (n / 4 % 2), which keeps
 * these four in different banks.
 */
#ifndef CS_KERNELS_CUDA_SMEM_MATRIX_H
#define CS_KERNELS_CUDA_SMEM_MATRIX_H

#include "kernels/cuda/mma.cuh"

enum { CS_STEP = 16 };           /* terms per cs_mma */

/** CS_SMEM_LD - words of a row of n columns, padded */
#define CS_SMEM_LD(n) (((n) + CS_STEP - 1) / CS_STEP * (CS_STEP / 2) | 8)

/** cs_smem_row - swizzled row of row n; its own inverse */
__device__ static inline int32_t cs_smem_row(int32_t n) { return n ^ (n >> 2 & 1); }

/** cs_load_b - operand b of cs_mma for rows n0 .. n0 + 7 (n0 a multiple of 8) in step k */
__device__ static inline uint2 cs_load_b(const uint32_t *m, int32_t ld, int32_t n0, int32_t k,
                                         int32_t lane)
{
    const int32_t row = n0 + cs_smem_row(lane / 4);
    return *(const uint2 *)(m + row * ld + CS_STEP / 2 * k + 2 * (lane % 4));
}

/* Operand b of the tiles of even and of odd columns. */
struct cs_b_even_odd { uint32_t even[2], odd[2]; };

/** cs_load_b_trans - columns 16 k .. 16 k + 15 of rows r0 .. r0 + 15 (r0 a multiple of 8) */
__device__ static inline cs_b_even_odd cs_load_b_trans(const uint32_t *m, int32_t ld, int32_t r0,
                                                       int32_t k, int32_t lane)
{
    const int32_t row = cs_smem_row(2 * (lane % 4));
    cs_b_even_odd b;
    CS_UNROLL
    for (int i = 0; i < 2; i++) {
        const uint32_t *at = m + (r0 + 8 * i) * ld + CS_STEP / 2 * k + lane / 4;
        const uint32_t u = at[row * ld], v = at[(row ^ 1) * ld];
        b.even[i] = (u & 0xFFFF) | v << 16;
        b.odd[i] = u >> 16 | (v & 0xFFFF0000u);
    }
    return b;
}

/** cs_lane_columns - a lane's four columns of row g (half 0) or g + 8 of both tiles */
__device__ static inline float4 cs_lane_columns(const float d[2][4], int half)
{
    return make_float4(d[0][2 * half], d[1][2 * half], d[0][2 * half + 1], d[1][2 * half + 1]);
}

#endif

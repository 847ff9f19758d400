/* cu_pool.cu - max and log-sum-exp pooling of segments.
 *
 * DESIGN. A block of 32 columns by 8 rows processes a segment; the results of the 8 rows of threads
 * are combined in order, so that sums do not depend on scheduling.
 */
#include <math.h>

#include "kernels/cuda/device.cuh"

/* Segment and columns of block s * n_tile + k: columns from 32 k on. */
struct cs_pool_place { int64_t r0, r1; int32_t s, j; };

__device__ static inline cs_pool_place place_of(cs_seg seg, int32_t cols)
{
    const int32_t n_tile = (cols + CS_WARP - 1) / CS_WARP, s = (int32_t)blockIdx.x / n_tile;
    const int32_t j = (int32_t)blockIdx.x % n_tile * CS_WARP + (int32_t)threadIdx.x;
    return { seg.off[s], seg.off[s + 1], s, j };
}

/* NaN compares as larger than any number. */
__device__ static inline double larger(double a, double b)
{
    return b > a || b != b ? b : a;
}

static __global__ void max_kernel(cs_seg seg, bool soft, cs_mat x, cs_mat y)
{
    __shared__ double part[CS_WARPS][CS_WARP];
    const cs_pool_place at = place_of(seg, x.c);
    const bool in = at.j < x.c;
    double max = -INFINITY, sum = 0;

    for (int64_t r = at.r0 + threadIdx.y; in && r < at.r1; r += CS_WARPS)
        max = larger(max, (double)cs_el(x, r, at.j));
    part[threadIdx.y][threadIdx.x] = max;
    __syncthreads();
    for (int w = 0; w < CS_WARPS; w++)
        max = larger(max, part[w][threadIdx.x]);
    __syncthreads();
    for (int64_t r = at.r0 + threadIdx.y; soft && in && r < at.r1; r += CS_WARPS)
        sum += exp((double)cs_el(x, r, at.j) - max);
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || !in)
        return;
    for (int w = 1; w < CS_WARPS; w++)
        sum += part[w][threadIdx.x];
    max = soft ? max + log(sum / (double)(at.r1 - at.r0)) : max;
    cs_el(y, at.s, at.j) = at.r0 < at.r1 ? (cs_real)max : 0;
}

/* The gradient goes to the first row that holds the maximum. */
static __global__ void max_bwd_kernel(cs_seg seg, cs_mat x, cs_mat y, cs_mat dy, cs_mat dx)
{
    __shared__ int64_t part[CS_WARPS][CS_WARP];
    const cs_pool_place at = place_of(seg, x.c);
    const bool in = at.j < x.c;
    int64_t first = at.r0 + threadIdx.y;

    while (in && first < at.r1 && cs_el(x, first, at.j) < cs_el(y, at.s, at.j))
        first += CS_WARPS;
    part[threadIdx.y][threadIdx.x] = first;
    __syncthreads();
    if (threadIdx.y > 0 || !in)
        return;
    for (int w = 1; w < CS_WARPS; w++)
        first = part[w][threadIdx.x] < first ? part[w][threadIdx.x] : first;
    if (first < at.r1)
        cs_el(dx, first, at.j) += cs_el(dy, at.s, at.j);
}

static unsigned n_block(cs_seg seg, int32_t cols)
{
    return (unsigned)(seg.n * cs_div_up(cols, CS_WARP));
}

static void cuda_seg_max(cs_backend *be, cs_seg seg, bool soft, cs_mat x, cs_mat y)
{
    if (seg.n > 0 && x.c > 0)
        CS_LAUNCH(be, "seg_max", max_kernel, n_block(seg, x.c), dim3(CS_WARP, CS_WARPS), seg, soft,
                  x, y);
}

static void cuda_seg_max_bwd(cs_backend *be, cs_seg seg, bool soft, cs_mat x, cs_mat y, cs_mat dy,
                             cs_mat dx)
{
    if (soft)
        cs_each_token(be, seg, x.c, [=] __device__(cs_token_pos at, int64_t r, int32_t j) {
            const double p = exp((double)cs_el(x, r, j) - (double)cs_el(y, at.s, j));
            cs_el(dx, r, j) += cs_el(dy, at.s, j) * (cs_real)(p / (double)at.len);
        });
    else if (seg.n > 0 && x.c > 0)
        CS_LAUNCH(be, "seg_max_bwd", max_bwd_kernel, n_block(seg, x.c), dim3(CS_WARP, CS_WARPS),
                  seg, x, y, dy, dx);
}

void cs_cuda_pool(cs_ops *op)
{
    op->seg_max = cuda_seg_max;
    op->seg_max_bwd = cuda_seg_max_bwd;
}

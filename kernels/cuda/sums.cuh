/* sums.cuh - sums over rows and whole matrices, in an order fixed by shapes.
 *
 * DESIGN. Rows are cut into chunks whose number depends on shapes only; a block sums a chunk for 32
 * columns, and a second kernel adds the chunks in order. A single chunk needs no second kernel.
 */
#ifndef CS_KERNELS_CUDA_SUMS_H
#define CS_KERNELS_CUDA_SUMS_H

#include "kernels/cuda/device.cuh"

/* Row sets to sum over: the rows of segment s, a window of them, or (off NULL) all of a matrix. */
struct cs_row_sets {
    const int64_t *off;
    int64_t        rows;
    int32_t        n;            /* number of sets */
    int64_t        window;       /* maximum number of rows, 0: all */
    bool           centre;       /* the rows in the centre, otherwise the first */
};

static inline cs_row_sets cs_all_rows(int64_t rows) { return { NULL, rows, 1, 0, false }; }

static inline cs_row_sets cs_rows_of(cs_seg seg) { return { seg.off, seg.rows, seg.n, 0, false }; }

/** cs_rows_at - the first row of set s and the row after its last one */
__device__ static inline void cs_rows_at(const cs_row_sets &q, int32_t s, int64_t *r0, int64_t *r1)
{
    *r0 = q.off ? q.off[s] : 0;
    *r1 = q.off ? q.off[s + 1] : q.rows;
    if (q.window > 0 && q.window < *r1 - *r0) {
        *r0 += q.centre ? (*r1 - *r0 - q.window) / 2 : 0;
        *r1 = *r0 + q.window;
    }
}

/* One block: 32 columns of chunk k of set s, by 8 rows at a time. */
template <int K, class F, class G>
static __global__ void cs_sum_rows_kernel(cs_row_sets q, int32_t cols, int32_t n_chunk, F f, G g,
                                          double *part)
{
    __shared__ double sum[K][CS_WARPS][CS_WARP];
    int64_t n_tile = (cols + CS_WARP - 1) / CS_WARP, r0, r1;
    int64_t k = blockIdx.x / n_tile % n_chunk;
    int32_t s = (int32_t)(blockIdx.x / n_tile / n_chunk);
    int32_t j = (int32_t)(blockIdx.x % n_tile) * CS_WARP + (int32_t)threadIdx.x;
    double v[K] = { 0 };

    cs_rows_at(q, s, &r0, &r1);
    int64_t step = (r1 - r0 + n_chunk - 1) / n_chunk, from = r0 + k * step;
    int64_t to = from + step < r1 ? from + step : r1;
    for (int64_t r = from + threadIdx.y; j < cols && r < to; r += CS_WARPS)
        f(s, r, j, v);
    for (int i = 0; i < K; i++)
        sum[i][threadIdx.y][threadIdx.x] = v[i];
    __syncthreads();
    if (threadIdx.y > 0 || j >= cols)
        return;
    for (int i = 0; i < K; i++) {
        v[i] = 0;
        for (int w = 0; w < CS_WARPS; w++)
            v[i] += sum[i][w][threadIdx.x];
        if (n_chunk > 1)
            part[(((int64_t)s * n_chunk + k) * K + i) * cols + j] = v[i];
    }
    if (n_chunk == 1)
        g(s, j, v, r1 - r0);
}

template <int K, class G> struct cs_sum_chunks {
    cs_row_sets q;
    int32_t     cols, n_chunk;
    G           g;
    double     *part;
    __device__ void operator()(int64_t s, int32_t j) const
    {
        int64_t r0, r1;
        double v[K] = { 0 };
        cs_rows_at(q, (int32_t)s, &r0, &r1);
        for (int32_t k = 0; k < n_chunk; k++)
            for (int i = 0; i < K; i++)
                v[i] += part[((s * n_chunk + k) * K + i) * cols + j];
        g((int32_t)s, j, v, r1 - r0);
    }
};

enum { CS_SUMS_KEPT = 2 };       /* doubles per column that stay at the end of the scratch, for the
                                  * op */

/**
 * cs_sum_rows - K sums per set of rows and column
 *
 * f        f(s, r, j, v) adds row r's terms for column j to v[0 .. K-1]
 * g        g(s, j, v, n) receives the sums of set s, which has n rows
 */
template <int K, class F, class G>
static void cs_sum_rows(cs_backend *be, cs_row_sets q, int32_t cols, F f, G g, CS_CALLER)
{
    enum { ROWS = 512 };         /* enough for a chunk of its own */
    cs_cuda *cu = cs_cuda_of(be);
    if (q.n <= 0 || cols <= 0)
        return;
    int64_t n_chunk = q.rows / q.n / ROWS;
    int64_t fits = ((int64_t)cu->n_scratch - CS_SUMS_KEPT * cols) / K / cols / q.n;
    n_chunk = n_chunk > 256 ? 256 : n_chunk;
    n_chunk = n_chunk > fits ? fits : n_chunk;
    n_chunk = n_chunk < 1 ? 1 : n_chunk;
    int64_t n_block = cs_div_up(cols, CS_WARP) * n_chunk * q.n;
    auto kernel = cs_sum_rows_kernel<K, F, G>;
    CS_LAUNCH(be, what, kernel, (unsigned)n_block, dim3(CS_WARP, CS_WARPS), q, cols,
              (int32_t)n_chunk, f, g, cu->scratch);
    if (n_chunk > 1)
        cs_each(be, q.n, cols, cs_sum_chunks<K, G>{ q, cols, (int32_t)n_chunk, g, cu->scratch },
                what);
}

/** cs_block_sum - sum over the threads of a block of CS_BLOCK along x; thread 0 gets it */
__device__ static inline double cs_block_sum(double v)
{
    __shared__ double warp[CS_WARPS];
    v = cs_warp_sum(v);
    __syncthreads();             /* all have read the previous sum */
    if (threadIdx.x % CS_WARP == 0)
        warp[threadIdx.x / CS_WARP] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < CS_WARPS; w++)
        v += warp[w];
    return v;
}

enum { CS_SUM_BLOCKS = CS_BLOCK };   /* one thread adds the blocks' sums at the end */

template <class F> static __global__ void cs_sum_all_kernel(F f, int64_t rows, int32_t cols,
                                                            double *part)
{
    double v = 0;
    int64_t n = rows * cols;
    for (int64_t i = (int64_t)blockIdx.x * CS_BLOCK + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * CS_BLOCK)
        v += f(i / cols, (int32_t)(i % cols));
    v = cs_block_sum(v);
    if (threadIdx.x == 0)
        part[blockIdx.x] = v;
}

template <class G> static __global__ void cs_sum_parts_kernel(G g, const double *part, unsigned n)
{
    double v = cs_block_sum(threadIdx.x < n ? part[threadIdx.x] : 0);
    if (threadIdx.x == 0)
        g(v);
}

/** cs_sum_all - g(sum of f(r, j) over a matrix) */
template <class F, class G>
static void cs_sum_all(cs_backend *be, int64_t rows, int32_t cols, F f, G g, CS_CALLER)
{
    double *part = cs_cuda_of(be)->scratch;
    int64_t n_block = cs_div_up(rows * cols, CS_BLOCK), max = CS_SUM_BLOCKS;
    unsigned n = (unsigned)(n_block < 1 ? 1 : n_block < max ? n_block : max);
    CS_LAUNCH(be, what, cs_sum_all_kernel<F>, n, CS_BLOCK, f, rows, cols, part);
    CS_LAUNCH(be, what, cs_sum_parts_kernel<G>, 1, CS_BLOCK, g, part, n);
}

#endif

/* cu_conv.cu - circular dilated convolution as a product over gathered rows, and its weights.
 *
 * DESIGN. These kernels, in tiles of 32 by 32, compute in fp32, and in any precision if the weights
 * exceed shared memory; otherwise tensor cores do (cu_conv_mma.cu, cu_conv_mma_dw.cu).
 *
 * Source: Cheng, Khalitov et al., CDIL-CNN (2023); torch.nn.Conv1d with padding_mode "circular",
 * for any length.
 */
#include "kernels/cuda/conv.cuh"
#include "kernels/cuda/tiles.cuh"

/* A block: 32 tokens by 32 output channels. */
static __global__ void conv_kernel(cs_conv_job q)
{
    __shared__ cs_shared_tile a, b;
    __shared__ int64_t from[CS_TILE];
    int64_t r0 = (int64_t)blockIdx.x * CS_TILE;
    int32_t j0 = (int32_t)blockIdx.y * CS_TILE, j = j0 + (int32_t)threadIdx.x;
    float acc[CS_ROWS] = { 0 };

    for (int32_t k = 0; k < q.taps.n; k++) {
        if (threadIdx.y == 0) {
            int64_t r = r0 + threadIdx.x;
            from[threadIdx.x] = r < q.seg.rows
                ? cs_tap_row(q.taps, q.adjoint, k, cs_token_pos_at(q.seg, r)) : -1;
        }
        for (int32_t i0 = 0; i0 < q.x.c; i0 += CS_TILE) {
            __syncthreads();
            cs_tile_load(a, [&](int t, int i) {
                return from[t] >= 0 && i0 + i < q.x.c ? cs_el(q.x, from[t], i0 + i) : 0;
            });
            cs_tile_load(b, [&](int i, int n) { return cs_tap_weight(q, k, i0 + i, j0 + n); });
            __syncthreads();
            cs_tile_mul(a, b, acc);
        }
    }
    for (int i = 0; i < CS_ROWS; i++) {
        int64_t r = r0 + cs_tile_row(i);
        if (r >= q.seg.rows || j >= q.y.c)
            continue;
        float init = q.beta != 0 ? cs_el(q.y, r, j) : q.bias.r ? q.bias.p[j] : 0;
        cs_el(q.y, r, j) = init + acc[i];
    }
}

static void cuda_seg_conv(cs_backend *be, cs_seg seg, cs_taps taps, bool adjoint, cs_mat x,
                          cs_mat w, cs_mat bias, cs_real beta, cs_mat y)
{
    const cs_conv_job q = { seg, taps, adjoint, x, w, bias, y, beta };
    dim3 grid((unsigned)cs_div_up(seg.rows, CS_TILE), (unsigned)cs_div_up(y.c, CS_TILE));
    if (seg.rows > 0 && y.c > 0 && !cs_cuda_conv_mma(be, q))
        CS_LAUNCH(be, "seg_conv", conv_kernel, grid, dim3(CS_WARP, CS_WARPS), q);
}

/* ---- gradient of the weights ------------------------------------------------------------- */

/* A block: 32 x 32 of tap k's weights over one chunk of rows; 32 rows are summed in float, these
 * sums in double. part is NULL for a single chunk, which is added to the output directly. */
static __global__ void conv_dw_kernel(cs_conv_job q, int64_t n_chunk, double *part)
{
    __shared__ cs_shared_tile a, b;
    __shared__ int64_t from[CS_TILE];
    int32_t n_i = (q.x.c + CS_TILE - 1) / CS_TILE, n_j = (q.y.c + CS_TILE - 1) / CS_TILE;
    int64_t chunk = blockIdx.x % n_chunk, tile = blockIdx.x / n_chunk;
    int32_t j0 = (int32_t)(tile % n_j) * CS_TILE, i0 = (int32_t)(tile / n_j % n_i) * CS_TILE;
    int32_t k = (int32_t)(tile / n_j / n_i);
    int64_t step = (q.seg.rows + n_chunk - 1) / n_chunk, end = (chunk + 1) * step;
    double total[CS_ROWS] = { 0 };

    end = end < q.seg.rows ? end : q.seg.rows;
    for (int64_t r0 = chunk * step; r0 < end; r0 += CS_TILE) {
        float acc[CS_ROWS] = { 0 };
        if (threadIdx.y == 0) {
            int64_t r = r0 + threadIdx.x;
            from[threadIdx.x] = r < end ? cs_tap_row(q.taps, false, k, cs_token_pos_at(q.seg, r))
                                        : -1;
        }
        __syncthreads();
        cs_tile_load(a, [&](int i, int t) {
            return from[t] >= 0 && i0 + i < q.x.c ? cs_el(q.x, from[t], i0 + i) : 0;
        });
        cs_tile_load(b, [&](int t, int j) {
            return r0 + t < end && j0 + j < q.y.c ? cs_el(q.y, r0 + t, j0 + j) : 0;
        });
        __syncthreads();
        cs_tile_mul(a, b, acc);
        for (int i = 0; i < CS_ROWS; i++)
            total[i] += acc[i];
    }
    for (int n = 0; n < CS_ROWS; n++) {
        int32_t i = i0 + cs_tile_row(n), j = j0 + (int32_t)threadIdx.x;
        int64_t r = (int64_t)k * q.x.c + i;
        if (i >= q.x.c || j >= q.y.c)
            continue;
        if (part)
            part[(chunk * q.w.r + r) * q.y.c + j] = total[n];
        else
            cs_el(q.w, r, j) = (cs_real)(cs_el(q.w, r, j) + total[n]);
    }
}

static void cuda_seg_conv_dw(cs_backend *be, cs_seg seg, cs_taps taps, cs_mat x, cs_mat dy,
                             cs_mat dw)
{
    cs_cuda *cu = cs_cuda_of(be);
    const cs_conv_job q = { seg, taps, false, x, dw, cs_mat(), dy, 0 };
    int64_t n_chunk = seg.rows / 1024, n_fit = (int64_t)cu->n_scratch / (dw.r * dw.c + 1);

    n_chunk = n_chunk > 64 ? 64 : n_chunk;
    n_chunk = n_chunk > n_fit ? n_fit : n_chunk;
    n_chunk = n_chunk < 1 ? 1 : n_chunk;
    double *part = n_chunk > 1 ? cu->scratch : NULL;
    if (seg.rows <= 0 || dw.r * dw.c == 0 || cs_cuda_conv_dw_mma(be, q))
        return;
    int64_t n_tile = cs_div_up(x.c, CS_TILE) * cs_div_up(dy.c, CS_TILE) * taps.n;
    CS_LAUNCH(be, "seg_conv_dw", conv_dw_kernel, (unsigned)(n_tile * n_chunk),
              dim3(CS_WARP, CS_WARPS), q, n_chunk, part);
    if (!part)
        return;
    cs_each(be, dw.r, dw.c, [=] __device__(int64_t r, int32_t j) {
        double sum = 0;
        for (int64_t k = 0; k < n_chunk; k++)
            sum += part[(k * dw.r + r) * dw.c + j];
        cs_el(dw, r, j) = (cs_real)(cs_el(dw, r, j) + sum);
    });
}

/* ---- weights: one warp per output channel ------------------------------------------------ */

__device__ static double norm_of(const cs_real *v, int32_t n, int32_t lane)
{
    double sum = 0;
    for (int32_t i = lane; i < n; i += CS_WARP)
        sum += (double)v[i] * v[i];
    return sqrt(cs_warp_sum(sum));
}

static void cuda_conv_weight(cs_backend *be, int32_t n_tap, cs_mat v, cs_mat g, cs_mat w)
{
    int32_t c = v.c / n_tap;
    cs_each_warp(be, v.r, [=] __device__(int64_t o, int32_t lane) {
        const cs_real *row = &cs_el(v, o, 0);
        double scale = g.r ? cs_el(g, o, 0) / norm_of(row, v.c, lane) : 1;
        for (int32_t i = lane; i < v.c; i += CS_WARP)
            cs_el(w, i % n_tap * c + i / n_tap, o) = (cs_real)(row[i] * scale);
    });
}

/* w = g u with u = v/|v|:  dg = <dw, u>,  dv = g/|v| (dw - u <dw, u>) */
static void cuda_conv_weight_bwd(cs_backend *be, int32_t n_tap, cs_mat v, cs_mat g, cs_mat dw,
                                 cs_mat dv, cs_mat dg)
{
    int32_t c = v.c / n_tap;
    cs_each_warp(be, v.r, [=] __device__(int64_t o, int32_t lane) {
        const cs_real *row = &cs_el(v, o, 0);
        double norm = g.r ? norm_of(row, v.c, lane) : 1, gain = g.r ? (double)cs_el(g, o, 0) : 1;
        double dot = 0;
        for (int32_t i = lane; g.r && i < v.c; i += CS_WARP)
            dot += (double)cs_el(dw, i % n_tap * c + i / n_tap, o) * row[i] / norm;
        dot = g.r ? cs_warp_sum(dot) : 0;
        for (int32_t i = lane; i < v.c; i += CS_WARP) {
            double d = cs_el(dw, i % n_tap * c + i / n_tap, o);
            double along = g.r ? row[i] / norm * dot : 0;
            cs_el(dv, o, i) += (cs_real)(gain / norm * (d - along));
        }
        if (g.r && lane == 0)
            cs_el(dg, o, 0) += (cs_real)dot;
    });
}

void cs_cuda_conv(cs_ops *op)
{
    op->seg_conv = cuda_seg_conv;
    op->seg_conv_dw = cuda_seg_conv_dw;
    op->conv_weight = cuda_conv_weight;
    op->conv_weight_bwd = cuda_conv_weight_bwd;
}

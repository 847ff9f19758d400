/* cu_attn_seg.cu - a product per segment, and softmax over a segment's rows. */
#include "kernels/cuda/tiles.cuh"

/* ---- products ---------------------------------------------------------------------------- */

struct product {
    cs_seg     seg;
    bool       ta, tb;
    cs_operand a, b, c;
    cs_real    beta;
};

/* Rows of an operand that belong to segment s. */
__device__ static cs_mat part_of(const cs_operand &p, const cs_seg &seg, int32_t s)
{
    int64_t from = seg.off[s], n = seg.off[s + 1] - from, each = p.m.r / seg.n;
    if (p.layout == CS_SEG_SHARED)
        return { p.m.p, n, p.m.c, p.m.ld };
    if (p.layout == CS_SEG_BLOCK)
        return { p.m.p + s * each * p.m.ld, each, p.m.c, p.m.ld };
    return { p.m.p + from * p.m.ld, n, p.m.c, p.m.ld };
}

__device__ static float at(cs_mat m, bool transposed, int64_t i, int64_t j)
{
    int64_t r = transposed ? j : i, c = transposed ? i : j;
    return r < m.r && c < m.c ? cs_el(m, r, c) : 0;
}

/* At most n rows of segment s from row i0 on, 32 columns from j0 on. */
__device__ static void product_tile(const product &q, int32_t s, int64_t i0, int64_t n, int64_t j0)
{
    __shared__ cs_shared_tile x, y;
    cs_mat a = part_of(q.a, q.seg, s), b = part_of(q.b, q.seg, s), c = part_of(q.c, q.seg, s);
    int64_t n_k = q.ta ? a.r : a.c, j = j0 + threadIdx.x;
    float acc[CS_ROWS] = { 0 };

    for (int64_t k0 = 0; k0 < n_k; k0 += CS_TILE) {
        __syncthreads();
        cs_tile_load(x, [&](int i, int k) {
            return k0 + k < n_k ? at(a, q.ta, i0 + i, k0 + k) : 0;
        });
        cs_tile_load(y, [&](int k, int n) {
            return k0 + k < n_k ? at(b, q.tb, k0 + k, j0 + n) : 0;
        });
        __syncthreads();
        cs_tile_mul(x, y, acc);
    }
    for (int i = 0; i < CS_ROWS; i++) {
        int64_t r = i0 + cs_tile_row(i);
        if (cs_tile_row(i) < n && r < c.r && j < c.c)
            cs_el(c, r, j) = q.beta != 0 ? acc[i] + q.beta * cs_el(c, r, j) : acc[i];
    }
}

/* Block (tile, column tile, segment); a table as output is shared, so it sums over segments in
 * order. */
static __global__ void product_kernel(product q, int64_t n_row_tile)
{
    int64_t tile = blockIdx.x % n_row_tile, j0 = (int64_t)blockIdx.y * CS_TILE;
    int32_t s = (int32_t)(blockIdx.x / n_row_tile), end = s + 1;
    if (q.c.layout == CS_SEG_SHARED)
        end = q.seg.n;
    for (; s < end; s++) {
        int64_t n = q.c.layout == CS_SEG_BLOCK ? q.c.m.r / q.seg.n
                                               : q.seg.off[s + 1] - q.seg.off[s];
        if (tile * CS_TILE < n)
            product_tile(q, s, tile * CS_TILE, CS_TILE, j0);
    }
}

/* Products with output by rows: launched over tiles of the packed rows, which cover few segments
 * each. */
static __global__ void product_rows_kernel(product q)
{
    int64_t r = (int64_t)blockIdx.x * CS_TILE, j0 = (int64_t)blockIdx.y * CS_TILE;
    int64_t end = r + CS_TILE < q.seg.rows ? r + CS_TILE : q.seg.rows;
    while (r < end) {
        cs_token_pos p = cs_token_pos_at(q.seg, r);
        int64_t n = p.start + p.len < end ? p.start + p.len - r : end - r;
        product_tile(q, p.s, p.t, n, j0);
        r += n;
    }
}

static void cuda_seg_gemm(cs_backend *be, cs_seg seg, bool ta, bool tb, const cs_operand *a,
                          const cs_operand *b, cs_real beta, const cs_operand *c)
{
    product q = { seg, ta, tb, *a, *b, *c, beta };
    unsigned n_col = (unsigned)cs_div_up(c->m.c, CS_TILE);
    dim3 block(CS_WARP, CS_WARPS);
    if (seg.n <= 0 || n_col == 0)
        return;
    if (c->layout == CS_SEG_ROWS) {
        if (seg.rows > 0)
            CS_LAUNCH(be, "seg_gemm", product_rows_kernel,
                      dim3((unsigned)cs_div_up(seg.rows, CS_TILE), n_col), block, q);
        return;
    }
    int64_t rows = c->layout == CS_SEG_BLOCK ? c->m.r / seg.n : c->m.r;
    int64_t n_tile = cs_div_up(rows, CS_TILE), n_part = c->layout == CS_SEG_BLOCK ? seg.n : 1;
    if (n_tile > 0)
        CS_LAUNCH(be, "seg_gemm", product_kernel, dim3((unsigned)(n_tile * n_part), n_col), block,
                  q, n_tile);
}

/* ---- softmax over the rows of a segment -------------------------------------------------- */

/* Maximum or sum of f(r) over a segment's rows by the 8 warps of a block; each lane has its own
 * column. A template over f, so that each instance has its own shared memory and needs no barrier
 * after the previous one. */
template <class F>
__device__ static double over_rows(const cs_seg &seg, int32_t s, bool largest, F f)
{
    __shared__ double warp[CS_WARPS][CS_WARP];
    double v = largest ? -INFINITY : 0;
    for (int64_t r = seg.off[s] + threadIdx.y; r < seg.off[s + 1]; r += CS_WARPS)
        v = largest ? fmax(v, f(r)) : v + f(r);
    warp[threadIdx.y][threadIdx.x] = v;
    __syncthreads();
    v = warp[0][threadIdx.x];
    for (int w = 1; w < CS_WARPS; w++)
        v = largest ? fmax(v, warp[w][threadIdx.x]) : v + warp[w][threadIdx.x];
    return v;
}

static __global__ void seg_softmax_kernel(cs_seg seg, cs_mat x, cs_mat y)
{
    int32_t n_tile = (x.c + CS_WARP - 1) / CS_WARP, s = (int32_t)(blockIdx.x / n_tile);
    int32_t j = (int32_t)(blockIdx.x % n_tile) * CS_WARP + (int32_t)threadIdx.x;
    int32_t at_col = j < x.c ? j : 0;
    double max = over_rows(seg, s, true, [=](int64_t r) { return (double)cs_el(x, r, at_col); });
    double sum = over_rows(seg, s, false, [=](int64_t r) {
        return exp(cs_el(x, r, at_col) - max);
    });
    for (int64_t r = seg.off[s] + threadIdx.y; j < x.c && r < seg.off[s + 1]; r += CS_WARPS)
        cs_el(y, r, j) = (cs_real)(exp(cs_el(x, r, j) - max) / sum);
}

static void cuda_seg_softmax(cs_backend *be, cs_seg seg, cs_mat x, cs_mat y)
{
    int64_t n_block = cs_div_up(x.c, CS_WARP) * seg.n;
    if (n_block > 0)
        CS_LAUNCH(be, "seg_softmax", seg_softmax_kernel, (unsigned)n_block,
                  dim3(CS_WARP, CS_WARPS), seg, x, y);
}

static __global__ void seg_softmax_bwd_kernel(cs_seg seg, cs_mat y, cs_mat dy, cs_mat dx)
{
    int32_t n_tile = (y.c + CS_WARP - 1) / CS_WARP, s = (int32_t)(blockIdx.x / n_tile);
    int32_t j = (int32_t)(blockIdx.x % n_tile) * CS_WARP + (int32_t)threadIdx.x;
    int32_t at_col = j < y.c ? j : 0;
    double dot = over_rows(seg, s, false, [=](int64_t r) {
        return (double)cs_el(y, r, at_col) * cs_el(dy, r, at_col);
    });
    for (int64_t r = seg.off[s] + threadIdx.y; j < y.c && r < seg.off[s + 1]; r += CS_WARPS)
        cs_el(dx, r, j) += (cs_real)(cs_el(y, r, j) * (cs_el(dy, r, j) - dot));
}

static void cuda_seg_softmax_bwd(cs_backend *be, cs_seg seg, cs_mat y, cs_mat dy, cs_mat dx)
{
    int64_t n_block = cs_div_up(y.c, CS_WARP) * seg.n;
    if (n_block > 0)
        CS_LAUNCH(be, "seg_softmax_bwd", seg_softmax_bwd_kernel, (unsigned)n_block,
                  dim3(CS_WARP, CS_WARPS), seg, y, dy, dx);
}

void cs_cuda_attn_seg(cs_ops *op)
{
    op->seg_gemm = cuda_seg_gemm;
    op->seg_softmax = cuda_seg_softmax;
    op->seg_softmax_bwd = cuda_seg_softmax_bwd;
}

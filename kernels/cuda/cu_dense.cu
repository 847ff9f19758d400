/* cu_dense.cu - products by cuBLAS, activations, sums, embeddings. */
#include "kernels/cuda/sums.cuh"

/* ---- products ---------------------------------------------------------------------------- */

/* Full single precision unless --precision allows less. */
static cublasComputeType_t arithmetic(const cs_backend *be)
{
    switch (be->precision) {
    case CS_IN_TF32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case CS_IN_BF16: return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:      return CUBLAS_COMPUTE_32F;
    }
}

/* cuBLAS is column-major and sees our matrices transposed: it computes c' = op(b)' op(a)'. */
static void cuda_gemm(cs_backend *be, bool ta, bool tb, cs_mat a, cs_mat b, cs_real beta, cs_mat c)
{
    const float one = 1;
    int64_t n_k = ta ? a.r : a.c;
    if (c.r <= 0 || c.c <= 0)
        return;
    if (n_k == 0) {
        if (beta == 0)
            be->op.zero(be, c);
        return;
    }
    cs_cuda *cu = cs_cuda_of(be);
    cs_cuda_set_device(be);
    cublasStatus_t e = cu->blas->gemm(cu->handle, tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                                      ta ? CUBLAS_OP_T : CUBLAS_OP_N, c.c, c.r, n_k, &one, b.p,
                                      CUDA_R_32F, b.ld, a.p, CUDA_R_32F, a.ld, &beta, c.p,
                                      CUDA_R_32F, c.ld, arithmetic(be), CUBLAS_GEMM_DEFAULT);
    if (e != CUBLAS_STATUS_SUCCESS)
        cs_cuda_record_error(be, cudaErrorUnknown, cu->blas->status_name(e));
    cs_cuda_check_launch(be, "gemm");
}

/* ---- elementwise ops --------------------------------------------------------------------- */

static void cuda_add_bias(cs_backend *be, cs_mat bias, cs_mat y)
{
    cs_each(be, y.r, y.c, [=] __device__(int64_t r, int32_t j) { cs_el(y, r, j) += bias.p[j]; });
}

/* gelu(x) = x Phi(x). erfc keeps relative accuracy in the negative tail, where 1 + erf cancels. */
__device__ static float normal_cdf(float x)
{
    return 0.5f * erfcf(x * -0.70710678118654752440f);
}

__device__ static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

__device__ static float act_value(cs_act f, float x)
{
    switch (f) {
    case CS_ACT_GELU:     return x * normal_cdf(x);
    case CS_ACT_RELU:     return x > 0 ? x : 0;
    case CS_ACT_SIGMOID:  return sigmoid(x);
    case CS_ACT_SOFTPLUS: return x > 20 ? x : log1pf(expf(x));
    case CS_ACT_TANH:     return tanhf(x);
    default:              return x;
    }
}

/* gelu'(x) = Phi(x) + x phi(x); relu'(0) = 0, as in torch. */
__device__ static float act_slope(cs_act f, float x)
{
    switch (f) {
    case CS_ACT_GELU:     return normal_cdf(x) + x * 0.39894228040143267794f * expf(-0.5f * x * x);
    case CS_ACT_RELU:     return x > 0 ? 1 : 0;
    case CS_ACT_SIGMOID:  return sigmoid(x) * sigmoid(-x);
    case CS_ACT_SOFTPLUS: return x > 20 ? 1 : sigmoid(x);
    case CS_ACT_TANH:     return 1 - tanhf(x) * tanhf(x);
    default:              return 1;
    }
}

static void cuda_act(cs_backend *be, cs_act f, cs_mat x, cs_mat y)
{
    cs_each(be, x.r, x.c, [=] __device__(int64_t r, int32_t j) {
        cs_el(y, r, j) = act_value(f, cs_el(x, r, j));
    });
}

static void cuda_act_bwd(cs_backend *be, cs_act f, cs_mat x, cs_mat dy, cs_mat dx)
{
    cs_each(be, x.r, x.c, [=] __device__(int64_t r, int32_t j) {
        float before = dx.p == dy.p ? 0 : cs_el(dx, r, j);
        cs_el(dx, r, j) = before + cs_el(dy, r, j) * act_slope(f, cs_el(x, r, j));
    });
}

/* (f(a) - f(b)) / (a - b). If a and b are close, the slope at their midpoint is more accurate than
 * the quotient, which cancels; relu's quotient is exact. */
__device__ static float act_quotient(cs_act f, float a, float b)
{
    if (fabsf(a - b) <= (f == CS_ACT_RELU ? 0 : 1e-2f))
        return act_slope(f, 0.5f * (a + b));
    return (act_value(f, a) - act_value(f, b)) / (a - b);
}

static void cuda_act_rescale(cs_backend *be, cs_act f, cs_mat x, cs_mat dy, cs_mat dx)
{
    int64_t h = x.r / 2;
    cs_each(be, h, x.c, [=] __device__(int64_t r, int32_t j) {
        cs_el(dx, r, j) += cs_el(dy, r, j) * act_quotient(f, cs_el(x, r, j), cs_el(x, r + h, j));
    });
}

/* b = 0 overwrites y: NaN times zero would stay NaN. */
static void cuda_axpby(cs_backend *be, cs_real a, cs_mat x, cs_real b, cs_mat y)
{
    cs_each(be, x.r, x.c, [=] __device__(int64_t r, int32_t j) {
        cs_real v = a * cs_el(x, r, j);
        cs_el(y, r, j) = b != 0 ? v + b * cs_el(y, r, j) : v;
    });
}

static void cuda_mul(cs_backend *be, cs_mat a, cs_mat b, cs_real beta, cs_mat y)
{
    cs_each(be, y.r, y.c, [=] __device__(int64_t r, int32_t j) {
        cs_real v = cs_el(a, r, j) * cs_el(b, r, j);
        cs_el(y, r, j) = beta != 0 ? v + beta * cs_el(y, r, j) : v;
    });
}

/* ---- sums -------------------------------------------------------------------------------- */

static void cuda_colsum(cs_backend *be, cs_mat x, cs_mat y)
{
    cs_sum_rows<1>(be, cs_all_rows(x.r), x.c,
        [=] __device__(int32_t, int64_t r, int32_t j, double *v) { v[0] += cs_el(x, r, j); },
        [=] __device__(int32_t, int32_t j, const double *v, int64_t) { y.p[j] += (cs_real)v[0]; });
}

static void cuda_sumsq(cs_backend *be, cs_mat x, cs_mat y)
{
    cs_sum_all(be, x.r, x.c,
        [=] __device__(int64_t r, int32_t j) {
            double v = cs_el(x, r, j);
            return v * v;
        },
        [=] __device__(double sum) { y.p[0] += (cs_real)sum; });
}

/* ---- embeddings -------------------------------------------------------------------------- */

static void cuda_embed(cs_backend *be, const int32_t *id, cs_mat table, cs_mat y)
{
    cs_each(be, y.r, y.c, [=] __device__(int64_t r, int32_t j) {
        cs_el(y, r, j) = id[r] < 0 ? 0 : cs_el(table, id[r], j);
    });
}

static void cuda_embed_mean(cs_backend *be, cs_seg seg, const int32_t *id, cs_mat table, cs_mat y)
{
    cs_sum_rows<1>(be, cs_rows_of(seg), table.c,
        [=] __device__(int32_t, int64_t r, int32_t j, double *v) {
            v[0] += id[r] < 0 ? 0 : cs_el(table, id[r], j);
        },
        [=] __device__(int32_t s, int32_t j, const double *v, int64_t n) {
            cs_el(y, s, j) = (cs_real)(v[0] / (n > 0 ? n : 1));
        });
}

/* Power of two that scales n values of at most `largest` so that their sum fits in 62 bits. */
__device__ static int fixed_point(float largest, int64_t n)
{
    int bits = 0;
    while (bits < 62 && INT64_C(1) << bits < n)
        bits++;
    return 61 - bits - (largest > 0 && isfinite(largest) ? ilogbf(largest) + 1 : 0);
}

/* Tables of at most FEW_IDS rows, as of bases: rows per step of a block of threads. */
enum { FEW_IDS = 16, SLICE_ROWS = 1024 };

struct embed_sums {
    const int32_t *id;
    int32_t pad, j0, w;          /* the slice of columns j0 .. j0 + w - 1 */
    const int *largest;
    unsigned long long *sum;     /* [row of the table][w] */
};

__device__ static inline unsigned long long scaled(float v, int up)
{
    return (unsigned long long)llrint(ldexp((double)v, up));
}

/* A thread adds rows of one column to sums of its own, and then these: millions of rows that add to
 * the same few numbers would wait for each other. */
static __global__ void embed_few_kernel(embed_sums e, cs_mat dy, int32_t n_id)
{
    __shared__ unsigned long long own[FEW_IDS][CS_BLOCK];
    const int32_t me = (int32_t)(threadIdx.y * CS_WARP + threadIdx.x);
    const int32_t j = (int32_t)(blockIdx.y * CS_WARP + threadIdx.x);
    const int up = fixed_point(__int_as_float(*e.largest), dy.r);

    for (int32_t v = 0; v < n_id; v++)
        own[v][me] = 0;
    for (int64_t r0 = (int64_t)blockIdx.x * SLICE_ROWS; j < e.w && r0 < dy.r;
         r0 += (int64_t)gridDim.x * SLICE_ROWS)
        for (int64_t r = r0 + threadIdx.y; r < r0 + SLICE_ROWS && r < dy.r; r += CS_WARPS)
            if (e.id[r] >= 0 && e.id[r] != e.pad)
                own[e.id[r]][me] += scaled(cs_el(dy, r, e.j0 + j), up);
    for (int32_t v = 0; v < n_id && j < e.w; v++)
        if (own[v][me] != 0)
            atomicAdd(&e.sum[(int64_t)v * e.w + j], own[v][me]);
}

static void embed_few(cs_backend *be, const embed_sums &e, cs_mat dy, int64_t n_id)
{
    const dim3 grid(cs_grid(cs_div_up(dy.r, SLICE_ROWS)), (unsigned)cs_div_up(e.w, CS_WARP));
    CS_LAUNCH(be, "embed_bwd", embed_few_kernel, grid, dim3(CS_WARP, CS_WARPS), e, dy,
              (int32_t)n_id);
}

/* Many rows add to one row of the table. Integer sums do not depend on their order, so the addends
 * are converted to fixed point: with N rows they keep 62 - log2 N bits below the largest one, more
 * than the gradients have. The table is processed in slices of columns that fit in the scratch. */
static void cuda_embed_bwd(cs_backend *be, const int32_t *id, int32_t pad, cs_mat dy,
                           cs_mat dtable)
{
    cs_cuda *cu = cs_cuda_of(be);
    int *largest = (int *)cu->scratch;
    unsigned long long *sum = (unsigned long long *)(cu->scratch + 1);
    int64_t n_col = ((int64_t)cu->n_scratch - 1) / (dtable.r > 0 ? dtable.r : 1), n = dy.r;

    if (dy.r <= 0 || dy.c <= 0 || dtable.r <= 0)
        return;
    n_col = n_col < dy.c ? n_col : dy.c;
    if (n_col < 1) {
        cs_cuda_record_error(be, cudaErrorMemoryAllocation, "embed_bwd: too large a vocabulary");
        return;
    }
    cs_each(be, 1, 1, [=] __device__(int64_t, int32_t) { *largest = 0; });
    /* Positive floats compare like their bit patterns, infinity and NaN above all. */
    cs_each_warp(be, cs_div_up(dy.r, CS_WARP), [=] __device__(int64_t i, int32_t lane) {
        int max = 0;
        for (int64_t r = i * CS_WARP; r < (i + 1) * CS_WARP && r < dy.r; r++)
            for (int32_t j = lane; id[r] >= 0 && id[r] != pad && j < dy.c; j += CS_WARP) {
                int v = __float_as_int(fabsf(cs_el(dy, r, j)));
                max = v > max ? v : max;
            }
        max = (int)cs_warp_max(max);
        if (lane == 0)
            atomicMax(largest, max);
    });
    for (int32_t j0 = 0; j0 < dy.c; j0 += (int32_t)n_col) {
        int32_t w = dy.c - j0 < n_col ? dy.c - j0 : (int32_t)n_col;
        cs_each(be, dtable.r, w, [=] __device__(int64_t r, int32_t j) { sum[r * w + j] = 0; });
        if (dtable.r <= FEW_IDS)
            embed_few(be, { id, pad, j0, w, largest, sum }, dy, dtable.r);
        else
            cs_each(be, dy.r, w, [=] __device__(int64_t r, int32_t j) {
                int up = fixed_point(__int_as_float(*largest), n);
                if (id[r] >= 0 && id[r] != pad)
                    atomicAdd(&sum[(int64_t)id[r] * w + j], scaled(cs_el(dy, r, j0 + j), up));
            });
        cs_each(be, dtable.r, w, [=] __device__(int64_t r, int32_t j) {
            float max = __int_as_float(*largest);
            int up = fixed_point(max, n);
            cs_el(dtable, r, j0 + j) += isfinite(max)
                ? (cs_real)ldexp((double)(long long)sum[r * w + j], -up) : (cs_real)NAN;
        });
    }
}

void cs_cuda_dense(cs_ops *op)
{
    op->gemm = cuda_gemm;
    op->add_bias = cuda_add_bias;
    op->act = cuda_act;
    op->act_bwd = cuda_act_bwd;
    op->act_rescale = cuda_act_rescale;
    op->axpby = cuda_axpby;
    op->mul = cuda_mul;
    op->colsum = cuda_colsum;
    op->sumsq = cuda_sumsq;
    op->embed = cuda_embed;
    op->embed_bwd = cuda_embed_bwd;
    op->embed_mean = cuda_embed_mean;
}

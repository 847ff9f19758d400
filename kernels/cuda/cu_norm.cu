/* cu_norm.cu - layer, batch and group normalisation and softmax. */
#include "kernels/cuda/sums.cuh"

/* ---- rows, one warp each -------------------------------------------------------------------- */

static void cuda_layernorm(cs_backend *be, cs_real eps, cs_mat x, cs_mat gamma, cs_mat beta,
                           cs_mat y, cs_mat stat)
{
    cs_each_warp(be, x.r, [=] __device__(int64_t r, int32_t lane) {
        double sum = 0, square = 0;
        for (int32_t j = lane; j < x.c; j += CS_WARP)
            sum += cs_el(x, r, j);
        double mean = cs_warp_sum(sum) / x.c;
        for (int32_t j = lane; j < x.c; j += CS_WARP) {
            double d = cs_el(x, r, j) - mean;
            square += d * d;
        }
        double rstd = 1 / sqrt(cs_warp_sum(square) / x.c + eps);
        for (int32_t j = lane; j < x.c; j += CS_WARP)
            cs_el(y, r, j) = (cs_real)((cs_el(x, r, j) - mean) * rstd * gamma.p[j] + beta.p[j]);
        if (lane == 0) {
            cs_el(stat, r, 0) = (cs_real)mean;
            cs_el(stat, r, 1) = (cs_real)rstd;
        }
    });
}

/* With n = (x - mean) rstd and g = dy gamma:  dx = rstd (g - mean(g) - n mean(g n)). */
static void cuda_layernorm_bwd(cs_backend *be, cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy,
                               cs_mat dx, cs_mat dgamma, cs_mat dbeta)
{
    cs_each_warp(be, x.r, [=] __device__(int64_t r, int32_t lane) {
        double mean = cs_el(stat, r, 0), rstd = cs_el(stat, r, 1), sum = 0, dot = 0;
        for (int32_t j = lane; j < x.c; j += CS_WARP) {
            double g = (double)cs_el(dy, r, j) * gamma.p[j];
            sum += g;
            dot += g * (cs_el(x, r, j) - mean) * rstd;
        }
        sum = cs_warp_sum(sum) / x.c;
        dot = cs_warp_sum(dot) / x.c;
        for (int32_t j = lane; j < x.c; j += CS_WARP) {
            double n = (cs_el(x, r, j) - mean) * rstd;
            double g = (double)cs_el(dy, r, j) * gamma.p[j];
            cs_el(dx, r, j) += (cs_real)(rstd * (g - sum - n * dot));
        }
    });
    cs_sum_rows<2>(be, cs_all_rows(x.r), x.c,
        [=] __device__(int32_t, int64_t r, int32_t j, double *v) {
            double d = cs_el(dy, r, j);
            v[0] += d * ((double)cs_el(x, r, j) - cs_el(stat, r, 0)) * cs_el(stat, r, 1);
            v[1] += d;
        },
        [=] __device__(int32_t, int32_t j, const double *v, int64_t) {
            dgamma.p[j] += (cs_real)v[0];
            dbeta.p[j] += (cs_real)v[1];
        });
}

/* See ref_norm.c. */
static void cuda_layernorm_rescale(cs_backend *be, cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy,
                                   cs_mat dx)
{
    int64_t h = x.r / 2;
    cs_each_warp(be, h, [=] __device__(int64_t r, int32_t lane) {
        double mv = cs_el(stat, r, 0), s = cs_el(stat, r, 1), sum = 0, dot = 0;
        double mu = cs_el(stat, r + h, 0), t = cs_el(stat, r + h, 1);
        double both = 2 * s * t / (s + t);
        for (int32_t j = lane; j < x.c; j += CS_WARP) {
            double g = (double)cs_el(dy, r, j) * gamma.p[j];
            sum += g;
            dot += g * ((cs_el(x, r, j) - mv) * s + (cs_el(x, r + h, j) - mu) * t);
        }
        sum = cs_warp_sum(sum) / x.c;
        dot = cs_warp_sum(dot) / x.c;
        for (int32_t j = lane; j < x.c; j += CS_WARP) {
            double g = (double)cs_el(dy, r, j) * gamma.p[j];
            double c = cs_el(x, r, j) - mv + (cs_el(x, r + h, j) - mu);
            cs_el(dx, r, j) += (cs_real)(both * (g - sum) - both * both / 4 * c * dot);
        }
    });
}

static void cuda_softmax(cs_backend *be, cs_mat x, cs_mat y)
{
    cs_each_warp(be, x.r, [=] __device__(int64_t r, int32_t lane) {
        double max = -INFINITY, sum = 0;
        for (int32_t j = lane; j < x.c; j += CS_WARP)
            max = fmax(max, (double)cs_el(x, r, j));
        max = cs_warp_max(max);
        for (int32_t j = lane; j < x.c; j += CS_WARP)
            sum += exp(cs_el(x, r, j) - max);
        sum = cs_warp_sum(sum);
        for (int32_t j = lane; j < x.c; j += CS_WARP)
            cs_el(y, r, j) = (cs_real)(exp(cs_el(x, r, j) - max) / sum);
    });
}

static void cuda_softmax_bwd(cs_backend *be, cs_mat y, cs_mat dy, cs_mat dx)
{
    cs_each_warp(be, y.r, [=] __device__(int64_t r, int32_t lane) {
        double dot = 0;
        for (int32_t j = lane; j < y.c; j += CS_WARP)
            dot += (double)cs_el(y, r, j) * cs_el(dy, r, j);
        dot = cs_warp_sum(dot);
        for (int32_t j = lane; j < y.c; j += CS_WARP)
            cs_el(dx, r, j) += (cs_real)(cs_el(y, r, j) * (cs_el(dy, r, j) - dot));
    });
}

/* ---- batch: columns over all rows -------------------------------------------------------- */

static void cuda_batch_stat(cs_backend *be, cs_mat x, cs_mat stat)
{
    cs_sum_rows<1>(be, cs_all_rows(x.r), x.c,
        [=] __device__(int32_t, int64_t r, int32_t j, double *v) { v[0] += cs_el(x, r, j); },
        [=] __device__(int32_t, int32_t j, const double *v, int64_t n) {
            cs_el(stat, 0, j) = (cs_real)(v[0] / (n > 0 ? n : 1));
        });
    /* Sum of squares about the rounded mean, corrected for the rounding. */
    cs_sum_rows<2>(be, cs_all_rows(x.r), x.c,
        [=] __device__(int32_t, int64_t r, int32_t j, double *v) {
            double d = (double)cs_el(x, r, j) - cs_el(stat, 0, j);
            v[0] += d * d;
            v[1] += d;
        },
        [=] __device__(int32_t, int32_t j, const double *v, int64_t n) {
            double count = n > 0 ? (double)n : 1, off = v[1] / count;
            cs_el(stat, 1, j) = (cs_real)(v[0] / count - off * off);
        });
}

static void cuda_batch_track(cs_backend *be, cs_real momentum, int64_t n, cs_mat stat,
                             cs_mat running)
{
    double unbias = n > 1 ? (double)n / (double)(n - 1) : 1;
    cs_each(be, 2, stat.c, [=] __device__(int64_t r, int32_t j) {
        double v = cs_el(stat, r, j) * (r == 1 ? unbias : 1.0);
        cs_el(running, r, j) = (cs_real)((1 - (double)momentum) * cs_el(running, r, j)
                                         + momentum * v);
    });
}

static void cuda_batchnorm(cs_backend *be, cs_real eps, cs_mat x, cs_mat stat, cs_mat gamma,
                           cs_mat beta, cs_mat y)
{
    cs_each(be, x.r, x.c, [=] __device__(int64_t r, int32_t j) {
        double rstd = 1 / sqrt((double)cs_el(stat, 1, j) + eps);
        cs_el(y, r, j) = (cs_real)(((double)cs_el(x, r, j) - cs_el(stat, 0, j)) * rstd * gamma.p[j]
                                   + beta.p[j]);
    });
}

/* Per column, with n = (x - mean) rstd:  dx = rstd gamma (dy - [mean(dy) + n mean(dy n)]); the
 *                                        bracket applies only if mean and variance were computed
 *                                        from x. */
static void cuda_batchnorm_bwd(cs_backend *be, bool from_batch, cs_real eps, cs_mat x, cs_mat stat,
                               cs_mat gamma, cs_mat dy, cs_mat dx, cs_mat dgamma, cs_mat dbeta)
{
    /* The sums stay in scratch, after the partial sums, until all rows have read them. */
    cs_cuda *cu = cs_cuda_of(be);
    double *sum = cu->scratch + cu->n_scratch - CS_SUMS_KEPT * (size_t)x.c;
    cs_sum_rows<2>(be, cs_all_rows(x.r), x.c,
        [=] __device__(int32_t, int64_t r, int32_t j, double *v) {
            double rstd = 1 / sqrt((double)cs_el(stat, 1, j) + eps), d = cs_el(dy, r, j);
            v[0] += d;
            v[1] += d * ((double)cs_el(x, r, j) - cs_el(stat, 0, j)) * rstd;
        },
        [=] __device__(int32_t, int32_t j, const double *v, int64_t n) {
            double count = n > 0 ? (double)n : 1;
            dbeta.p[j] += (cs_real)v[0];
            dgamma.p[j] += (cs_real)v[1];
            sum[2 * j] = from_batch ? v[0] / count : 0;
            sum[2 * j + 1] = from_batch ? v[1] / count : 0;
        });
    cs_each(be, x.r, x.c, [=] __device__(int64_t r, int32_t j) {
        double rstd = 1 / sqrt((double)cs_el(stat, 1, j) + eps);
        double n = ((double)cs_el(x, r, j) - cs_el(stat, 0, j)) * rstd;
        double d = cs_el(dy, r, j) - sum[2 * j] - n * sum[2 * j + 1];
        cs_el(dx, r, j) += (cs_real)(rstd * gamma.p[j] * d);
    });
}

/* ---- groups of columns over the rows of a segment ---------------------------------------- */

/* One segment and group, computed by a block: columns j0 .. j0+w-1, rows r0 .. r1-1. */
struct group { int64_t r0, r1; int32_t j0, w; };

__device__ static group group_at(cs_seg seg, int32_t n_group, int32_t n_col, int64_t k)
{
    int32_t w = n_col / n_group;
    return { seg.off[k / n_group], seg.off[k / n_group + 1], (int32_t)(k % n_group) * w, w };
}

template <class F> static __global__ void each_group_kernel(F f, cs_seg seg, int32_t n_group,
                                                            int32_t n_col)
{
    f(group_at(seg, n_group, n_col, blockIdx.x), (int64_t)blockIdx.x);
}

/* Calls f(group, number) by a whole block; f may use sum_group(). */
template <class F>
static void each_group(cs_backend *be, cs_seg seg, int32_t n_group, int32_t n_col, F f, CS_CALLER)
{
    if (seg.n > 0)
        CS_LAUNCH(be, what, each_group_kernel<F>, (unsigned)((int64_t)seg.n * n_group), CS_BLOCK,
                  f, seg, n_group, n_col);
}

template <class F> __device__ static double sum_group(const group &g, F f)
{
    double v = 0;
    for (int64_t i = threadIdx.x; i < (g.r1 - g.r0) * g.w; i += CS_BLOCK)
        v += f(g.r0 + i / g.w, g.j0 + (int32_t)(i % g.w));
    return cs_block_sum(v);
}

static void cuda_seg_groupnorm(cs_backend *be, cs_seg seg, int32_t n_group, cs_real eps, cs_mat x,
                               cs_mat gamma, cs_mat beta, cs_mat y, cs_mat stat)
{
    each_group(be, seg, n_group, x.c, [=] __device__(const group &g, int64_t k) {
        double n = g.r1 > g.r0 ? (double)(g.r1 - g.r0) * g.w : 1;
        double mean = sum_group(g, [=](int64_t r, int32_t j) { return (double)cs_el(x, r, j); });
        mean /= n;
        double square = sum_group(g, [=](int64_t r, int32_t j) {
            return (cs_el(x, r, j) - mean) * (cs_el(x, r, j) - mean);
        });
        if (threadIdx.x == 0) {
            cs_el(stat, k, 0) = (cs_real)mean;
            cs_el(stat, k, 1) = (cs_real)(1 / sqrt(square / n + eps));
        }
    });
    cs_each_token(be, seg, x.c, [=] __device__(cs_token_pos at, int64_t r, int32_t j) {
        int64_t k = (int64_t)at.s * n_group + j / (x.c / n_group);
        double n = ((double)cs_el(x, r, j) - cs_el(stat, k, 0)) * cs_el(stat, k, 1);
        cs_el(y, r, j) = (cs_real)(n * gamma.p[j] + beta.p[j]);
    });
}

/* As in layernorm: dx = rstd (g - mean(g) - n mean(g n)), with means over the group's elements. */
static void cuda_seg_groupnorm_bwd(cs_backend *be, cs_seg seg, int32_t n_group, cs_mat x,
                                   cs_mat gamma, cs_mat stat, cs_mat dy, cs_mat dx, cs_mat dgamma,
                                   cs_mat dbeta)
{
    each_group(be, seg, n_group, x.c, [=] __device__(const group &g, int64_t k) {
        double mean = cs_el(stat, k, 0), rstd = cs_el(stat, k, 1);
        double n = (double)(g.r1 - g.r0) * g.w;
        double sum = sum_group(g, [=](int64_t r, int32_t j) {
            return (double)cs_el(dy, r, j) * gamma.p[j];
        }) / n;
        double dot = sum_group(g, [=](int64_t r, int32_t j) {
            return (double)cs_el(dy, r, j) * gamma.p[j] * (cs_el(x, r, j) - mean) * rstd;
        }) / n;
        for (int64_t i = threadIdx.x; i < (g.r1 - g.r0) * g.w; i += CS_BLOCK) {
            int64_t r = g.r0 + i / g.w;
            int32_t j = g.j0 + (int32_t)(i % g.w);
            double v = (cs_el(x, r, j) - mean) * rstd;
            double d = (double)cs_el(dy, r, j) * gamma.p[j];
            cs_el(dx, r, j) += (cs_real)(rstd * (d - sum - v * dot));
        }
    });
    cs_sum_rows<2>(be, cs_all_rows(seg.rows), x.c,
        [=] __device__(int32_t, int64_t r, int32_t j, double *v) {
            int64_t k = (int64_t)cs_token_pos_at(seg, r).s * n_group + j / (x.c / n_group);
            double d = cs_el(dy, r, j);
            v[0] += d * ((double)cs_el(x, r, j) - cs_el(stat, k, 0)) * cs_el(stat, k, 1);
            v[1] += d;
        },
        [=] __device__(int32_t, int32_t j, const double *v, int64_t) {
            dgamma.p[j] += (cs_real)v[0];
            dbeta.p[j] += (cs_real)v[1];
        });
}

void cs_cuda_norm(cs_ops *op)
{
    op->layernorm = cuda_layernorm;
    op->layernorm_bwd = cuda_layernorm_bwd;
    op->layernorm_rescale = cuda_layernorm_rescale;
    op->softmax = cuda_softmax;
    op->softmax_bwd = cuda_softmax_bwd;
    op->batch_stat = cuda_batch_stat;
    op->batch_track = cuda_batch_track;
    op->batchnorm = cuda_batchnorm;
    op->batchnorm_bwd = cuda_batchnorm_bwd;
    op->seg_groupnorm = cuda_seg_groupnorm;
    op->seg_groupnorm_bwd = cuda_seg_groupnorm_bwd;
}

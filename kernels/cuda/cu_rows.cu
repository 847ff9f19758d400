/* cu_rows.cu - row-wise ops: layer normalisation and softmax, one warp per row. */
#include "kernels/cuda/sums.cuh"

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

/* As ref_norm.c has it. */
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

void cs_cuda_rows(cs_ops *op)
{
    op->layernorm = cuda_layernorm;
    op->layernorm_bwd = cuda_layernorm_bwd;
    op->layernorm_rescale = cuda_layernorm_rescale;
    op->softmax = cuda_softmax;
    op->softmax_bwd = cuda_softmax_bwd;
}

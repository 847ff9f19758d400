/* ref_norm.c - layer, batch and group normalisation and softmax as plain loops. */
#include <math.h>

#include "kernels/cpu/heads.h"
#include "kernels/cpu/tables.h"

static void ref_layernorm(cs_backend *be, cs_real eps, cs_mat x, cs_mat gamma, cs_mat beta,
                          cs_mat y, cs_mat stat)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++) {
        const cs_real *v = cs_row(x, r);
        double sum = 0, square = 0;
        for (int32_t j = 0; j < x.c; j++)
            sum += (double)v[j];
        double mean = sum / x.c;
        for (int32_t j = 0; j < x.c; j++)
            square += ((double)v[j] - mean) * ((double)v[j] - mean);
        double rstd = 1 / sqrt(square / x.c + (double)eps);
        for (int32_t j = 0; j < x.c; j++)
            cs_row(y, r)[j] = (cs_real)(((double)v[j] - mean) * rstd * (double)gamma.p[j] +
                                        (double)beta.p[j]);
        cs_row(stat, r)[0] = (cs_real)mean;
        cs_row(stat, r)[1] = (cs_real)rstd;
    }
}

/* With n = (x - mean) rstd and g = dy gamma:  dx = rstd (g - mean(g) - n mean(g n)). */
static void layernorm_dx(cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy, cs_mat dx, int64_t r)
{
    const cs_real *v = cs_row(x, r), *d = cs_row(dy, r);
    double mean = (double)cs_row(stat, r)[0], rstd = (double)cs_row(stat, r)[1];
    double sum = 0, dot = 0;
    for (int32_t j = 0; j < x.c; j++) {
        double g = (double)d[j] * (double)gamma.p[j];
        sum += g;
        dot += g * ((double)v[j] - mean) * rstd;
    }
    for (int32_t j = 0; j < x.c; j++) {
        double n = ((double)v[j] - mean) * rstd;
        double g = (double)d[j] * (double)gamma.p[j];
        cs_row(dx, r)[j] += (cs_real)(rstd * (g - sum / x.c - n * dot / x.c));
    }
}

/* DeepLIFT's rescale rule for n = c s, the product of the centred row c = x - mean and s = rstd.
 * D is the difference between row r and its reference, row o:
 *
 *     D n = 2 s_r s_o / (s_r + s_o) D c + (n_r + n_o) / (s_r + s_o) D s
 *     D s = -s_r^2 s_o^2 / (s_r + s_o) D var,  D var = mean((c_r + c_o) D c)
 *
 * c_r and c_o are weighted by their s, so both terms stay small even beside a row without variance,
 * where s is 1 / sqrt(eps); equal weights would cancel. The formula for D s has no difference. */
static void layernorm_rescale(cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy, cs_mat dx, int64_t r)
{
    const int64_t o = r + x.r / 2;
    const cs_real *v = cs_row(x, r), *u = cs_row(x, o), *d = cs_row(dy, r);
    const double mv = (double)cs_row(stat, r)[0], s = (double)cs_row(stat, r)[1];
    const double mu = (double)cs_row(stat, o)[0], t = (double)cs_row(stat, o)[1];
    const double harmonic = 2 * s * t / (s + t);
    double sum = 0, dot = 0;

    for (int32_t j = 0; j < x.c; j++) {
        const double g = (double)d[j] * (double)gamma.p[j];
        sum += g;
        dot += g * (((double)v[j] - mv) * s + ((double)u[j] - mu) * t);
    }
    for (int32_t j = 0; j < x.c; j++) {
        const double g = (double)d[j] * (double)gamma.p[j];
        const double c = (double)v[j] - mv + (double)u[j] - mu;
        cs_row(dx, r)[j] += (cs_real)(harmonic * (g - sum / x.c)
                                      - harmonic * harmonic / 4 * c * dot / x.c);
    }
}

static void ref_layernorm_rescale(cs_backend *be, cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy,
                                  cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r / 2 * x.c))
    for (int64_t r = 0; r < x.r / 2; r++)
        layernorm_rescale(x, gamma, stat, dy, dx, r);
}

/* Gradients of gamma and beta for a block of columns from j0 on: sums over rows of dy n and of dy.
 * `stat` is by row. */
static void layernorm_dparam(cs_backend *be, cs_mat x, cs_mat stat, cs_mat dy, int32_t j0,
                             cs_mat dgamma, cs_mat dbeta)
{
    double part[CS_CHUNKS][2][CS_CHUNK_COLS] = { 0 };
    int32_t n = x.c - j0 < CS_CHUNK_COLS ? x.c - j0 : CS_CHUNK_COLS;
    int64_t step = cs_chunk_rows(x.r);
    #pragma omp parallel for num_threads(cs_threads(be, x.r * n))
    for (int k = 0; k < CS_CHUNKS; k++)
        for (int64_t r = k * step; r < cs_min64((k + 1) * step, x.r); r++) {
            double mean = (double)cs_row(stat, r)[0], rstd = (double)cs_row(stat, r)[1];
            for (int32_t j = 0; j < n; j++) {
                double d = (double)cs_row(dy, r)[j0 + j];
                part[k][0][j] += d * ((double)cs_row(x, r)[j0 + j] - mean) * rstd;
                part[k][1][j] += d;
            }
        }
    for (int32_t j = 0; j < n; j++) {
        double g = 0, b = 0;
        for (int k = 0; k < CS_CHUNKS; k++) {
            g += part[k][0][j];
            b += part[k][1][j];
        }
        dgamma.p[j0 + j] += (cs_real)g;
        dbeta.p[j0 + j] += (cs_real)b;
    }
}

static void ref_layernorm_bwd(cs_backend *be, cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy,
                              cs_mat dx, cs_mat dgamma, cs_mat dbeta)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        layernorm_dx(x, gamma, stat, dy, dx, r);
    for (int32_t j0 = 0; j0 < x.c; j0 += CS_CHUNK_COLS)
        layernorm_dparam(be, x, stat, dy, j0, dgamma, dbeta);
}

/* Batch normalisation works by columns. Threads take columns, so every sum runs in order of
 * rows. */
static void ref_batch_stat(cs_backend *be, cs_mat x, cs_mat stat)
{
    double n = x.r > 0 ? (double)x.r : 1;
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int32_t j = 0; j < x.c; j++) {
        double sum = 0, square = 0;
        for (int64_t r = 0; r < x.r; r++)
            sum += (double)cs_row(x, r)[j];
        double mean = sum / n;
        for (int64_t r = 0; r < x.r; r++) {
            double d = (double)cs_row(x, r)[j] - mean;
            square += d * d;
        }
        cs_row(stat, 0)[j] = (cs_real)mean;
        cs_row(stat, 1)[j] = (cs_real)(square / n);
    }
}

static void ref_batch_track(cs_backend *be, cs_real momentum, int64_t n, cs_mat stat,
                            cs_mat running)
{
    (void)be;
    double unbias = n > 1 ? (double)n / (double)(n - 1) : 1;
    for (int k = 0; k < 2; k++)
        for (int32_t j = 0; j < stat.c; j++) {
            double now = (double)cs_row(stat, k)[j] * (k ? unbias : 1);
            cs_real *v = cs_row(running, k) + j;
            *v = (cs_real)((1 - (double)momentum) * (double)*v + (double)momentum * now);
        }
}

static void ref_batchnorm(cs_backend *be, cs_real eps, cs_mat x, cs_mat stat, cs_mat gamma,
                          cs_mat beta, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        for (int32_t j = 0; j < x.c; j++) {
            double mean = (double)cs_row(stat, 0)[j];
            double rstd = 1 / sqrt((double)cs_row(stat, 1)[j] + (double)eps);
            cs_row(y, r)[j] = (cs_real)(((double)cs_row(x, r)[j] - mean) * rstd *
                                        (double)gamma.p[j] + (double)beta.p[j]);
        }
}

/* Per column, with n = (x - mean) rstd: dx = rstd gamma (dy - [mean(dy) + n mean(dy n)]). The
 * bracket applies only if mean and variance were computed from x. */
static void ref_batchnorm_bwd(cs_backend *be, bool from_batch, cs_real eps, cs_mat x, cs_mat stat,
                              cs_mat gamma, cs_mat dy, cs_mat dx, cs_mat dgamma, cs_mat dbeta)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int32_t j = 0; j < x.c; j++) {
        double mean = (double)cs_row(stat, 0)[j];
        double rstd = 1 / sqrt((double)cs_row(stat, 1)[j] + (double)eps);
        double sum = 0, dot = 0;
        for (int64_t r = 0; r < x.r; r++) {
            double d = (double)cs_row(dy, r)[j];
            sum += d;
            dot += d * ((double)cs_row(x, r)[j] - mean) * rstd;
        }
        double a = from_batch ? sum / (double)x.r : 0, b = from_batch ? dot / (double)x.r : 0;
        for (int64_t r = 0; r < x.r; r++) {
            double n = ((double)cs_row(x, r)[j] - mean) * rstd;
            double d = (double)cs_row(dy, r)[j] - a - n * b;
            cs_row(dx, r)[j] += (cs_real)(rstd * (double)gamma.p[j] * d);
        }
        dgamma.p[j] += (cs_real)dot;
        dbeta.p[j] += (cs_real)sum;
    }
}

static void ref_softmax(cs_backend *be, cs_mat x, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++) {
        const cs_real *z = cs_row(x, r);
        double max = (double)z[0], sum = 0;
        for (int32_t j = 1; j < x.c; j++)
            max = fmax(max, (double)z[j]);
        for (int32_t j = 0; j < x.c; j++)
            sum += exp((double)z[j] - max);
        for (int32_t j = 0; j < x.c; j++)
            cs_row(y, r)[j] = (cs_real)(exp((double)z[j] - max) / sum);
    }
}

static void ref_softmax_bwd(cs_backend *be, cs_mat y, cs_mat dy, cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t r = 0; r < y.r; r++) {
        const cs_real *p = cs_row(y, r), *g = cs_row(dy, r);
        double dot = 0;
        for (int32_t j = 0; j < y.c; j++)
            dot += (double)p[j] * (double)g[j];
        for (int32_t j = 0; j < y.c; j++)
            cs_row(dx, r)[j] += (cs_real)((double)p[j] * ((double)g[j] - dot));
    }
}

/* Mean and 1/sqrt(var + eps) of columns j0..j1-1 over rows r0..r1-1; zeros without rows. */
static void group_stat(cs_mat x, int64_t r0, int64_t r1, int32_t j0, int32_t j1, double eps,
                       cs_real *stat)
{
    double n = r1 > r0 ? (double)(r1 - r0) * (j1 - j0) : 1, sum = 0, square = 0;
    for (int64_t r = r0; r < r1; r++)
        for (int32_t j = j0; j < j1; j++)
            sum += (double)cs_row(x, r)[j];
    double mean = sum / n;
    for (int64_t r = r0; r < r1; r++)
        for (int32_t j = j0; j < j1; j++) {
            double d = (double)cs_row(x, r)[j] - mean;
            square += d * d;
        }
    stat[0] = (cs_real)mean;
    stat[1] = (cs_real)(1 / sqrt(square / n + eps));
}

static void ref_seg_groupnorm(cs_backend *be, cs_seg seg, int32_t group, cs_real eps, cs_mat x,
                              cs_mat gamma, cs_mat beta, cs_mat y, cs_mat stat)
{
    int32_t w = x.c / group;
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int64_t k = 0; k < (int64_t)seg.n * group; k++) {
        int64_t r0 = seg.off[k / group], r1 = seg.off[k / group + 1];
        int32_t j0 = (int32_t)(k % group) * w;
        cs_real *st = cs_row(stat, k);
        group_stat(x, r0, r1, j0, j0 + w, (double)eps, st);
        for (int64_t r = r0; r < r1; r++)
            for (int32_t j = j0; j < j0 + w; j++)
                cs_row(y, r)[j] = (cs_real)(((double)cs_row(x, r)[j] - (double)st[0]) *
                                            (double)st[1] * (double)gamma.p[j] +
                                            (double)beta.p[j]);
    }
}

/* As in layernorm: dx = rstd (g - mean(g) - n mean(g n)), with means over the elements of a group,
 * the rows and columns of which are given. */
static void group_dx(cs_mat x, cs_mat gamma, const cs_real *stat, cs_mat dy, cs_mat dx)
{
    double mean = (double)stat[0], rstd = (double)stat[1];
    double count = (double)x.r * x.c, sum = 0, dot = 0;
    for (int64_t r = 0; r < x.r; r++)
        for (int32_t j = 0; j < x.c; j++) {
            double g = (double)cs_row(dy, r)[j] * (double)gamma.p[j];
            sum += g;
            dot += g * ((double)cs_row(x, r)[j] - mean) * rstd;
        }
    for (int64_t r = 0; r < x.r; r++)
        for (int32_t j = 0; j < x.c; j++) {
            double n = ((double)cs_row(x, r)[j] - mean) * rstd;
            double g = (double)cs_row(dy, r)[j] * (double)gamma.p[j];
            cs_row(dx, r)[j] += (cs_real)(rstd * (g - sum / count - n * dot / count));
        }
}

static void ref_seg_groupnorm_bwd(cs_backend *be, cs_seg seg, int32_t group, cs_mat x,
                                  cs_mat gamma, cs_mat stat, cs_mat dy, cs_mat dx, cs_mat dgamma,
                                  cs_mat dbeta)
{
    int32_t w = x.c / group;
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int64_t k = 0; k < (int64_t)seg.n * group; k++) {
        int32_t i = (int32_t)(k % group);
        int64_t from = seg.off[k / group], n = seg.off[k / group + 1] - from;
        group_dx(cs_head_view(x, i, group, from, n), cs_head_view(gamma, i, group, 0, 1),
                 cs_row(stat, k), cs_head_view(dy, i, group, from, n),
                 cs_head_view(dx, i, group, from, n));
    }
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int32_t j = 0; j < x.c; j++) {
        double dg = 0, db = 0;
        for (int32_t s = 0; s < seg.n; s++) {
            const cs_real *st = cs_row(stat, (int64_t)s * group + j / w);
            for (int64_t r = seg.off[s]; r < seg.off[s + 1]; r++) {
                double d = (double)cs_row(dy, r)[j];
                dg += d * ((double)cs_row(x, r)[j] - (double)st[0]) * (double)st[1];
                db += d;
            }
        }
        dgamma.p[j] += (cs_real)dg;
        dbeta.p[j] += (cs_real)db;
    }
}

void cs_ref_norm(cs_ops *op)
{
    op->layernorm = ref_layernorm;
    op->layernorm_bwd = ref_layernorm_bwd;
    op->layernorm_rescale = ref_layernorm_rescale;
    op->batch_stat = ref_batch_stat;
    op->batch_track = ref_batch_track;
    op->batchnorm = ref_batchnorm;
    op->batchnorm_bwd = ref_batchnorm_bwd;
    op->softmax = ref_softmax;
    op->softmax_bwd = ref_softmax_bwd;
    op->seg_groupnorm = ref_seg_groupnorm;
    op->seg_groupnorm_bwd = ref_seg_groupnorm_bwd;
}

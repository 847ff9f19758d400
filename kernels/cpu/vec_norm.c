/* vec_norm.c - layer and batch normalisation and the sum of squares. */
#include "kernels/cpu/norm.h"
#include "kernels/cpu/tables.h"

#include <string.h>

static void vec_layernorm(cs_backend *be, cs_real eps, cs_mat x, cs_mat gamma, cs_mat beta,
                           cs_mat y, cs_mat stat)
{
    enum { ROWS = 16 };
    const cs_norm_job q = { .x = x, .gamma = gamma, .beta = beta, .y = y, .stat = stat,
                            .eps = eps };
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r += ROWS)
        cs_norm_rows(false, &q, r, cs_min64(r + ROWS, x.r));
}

/* With n = (x - mean) rstd and g = dy gamma:  dx += rstd (g - mean(g) - n mean(g n)). */
static void layernorm_dx(const float *x, int32_t n, const float *gamma, const float *stat,
                                const float *dy, float *dx)
{
    const cs_vec mean = cs_vset(stat[0]), rstd = cs_vset(stat[1]);
    cs_total sum = cs_total_zero(), dot = sum;
    for (int32_t j = 0; j < n; j += CS_VEC) {
        cs_vec g = cs_vmul(cs_get(dy + j, n - j), cs_get(gamma + j, n - j));
        sum = cs_total_add(sum, g, j);
        dot = cs_total_fma(dot, g, cs_vmul(cs_deviation(x + j, n - j, mean), rstd), j);
    }
    const cs_vec a = cs_vset(cs_total_sum(sum) / (float)n);
    const cs_vec b = cs_vset(cs_total_sum(dot) / (float)n);
    for (int32_t j = 0; j < n; j += CS_VEC) {
        cs_vec g = cs_vfms(cs_get(dy + j, n - j), cs_get(gamma + j, n - j), a);
        cs_vec v = cs_vmul(cs_deviation(x + j, n - j, mean), rstd);
        g = cs_vfnma(v, b, g);
        cs_put(dx + j, n - j, cs_vfma(rstd, g, cs_get(dx + j, n - j)));
    }
}

/* Sums of dy n and of dy in some columns of a chunk of rows. */
typedef struct dparam { double gamma[CS_CHUNK_COLS], beta[CS_CHUNK_COLS]; } dparam;

/* Arguments of layernorm_bwd. */
typedef struct layer_slope { cs_mat x, gamma, stat, dy, dx; } layer_slope;

/* Adds the rows r0 .. r1-1 of CS_VEC columns from j on. */
static void dparam_rows(const layer_slope *q, int64_t r0, int64_t r1, int32_t j, double *gamma,
                        double *beta)
{
    cs_wide g = cs_wide_load(gamma), b = cs_wide_load(beta);
    for (int64_t r = r0; r < r1; r++) {
        const float *st = cs_row(q->stat, r);
        cs_vec d = cs_get(cs_row(q->dy, r) + j, q->x.c - j);
        cs_vec v = cs_deviation(cs_row(q->x, r) + j, q->x.c - j, cs_vset(st[0]));
        v = cs_vmul(d, cs_vmul(v, cs_vset(st[1])));
        g = cs_wide_add(g, cs_widen(v));
        b = cs_wide_add(b, cs_widen(d));
    }
    cs_wide_store(gamma, g);
    cs_wide_store(beta, b);
}

/* The gradient of x, once, and the sums of n columns from j0 on, while a few rows are in cache. */
static void layernorm_chunk(const layer_slope *q, int64_t r0, int64_t r1, int32_t j0, int32_t n,
                            dparam *sum)
{
    enum { ROWS = 16 };
    memset(sum, 0, sizeof *sum);
    for (int64_t r = r0; r < r1; r += ROWS) {
        const int64_t end = cs_min64(r + ROWS, r1);
        for (int64_t i = r; j0 == 0 && i < end; i++)
            layernorm_dx(cs_row(q->x, i), q->x.c, q->gamma.p, cs_row(q->stat, i),
                         cs_row(q->dy, i), cs_row(q->dx, i));
        for (int32_t j = 0; j < n; j += CS_VEC)
            dparam_rows(q, r, end, j0 + j, sum->gamma + j, sum->beta + j);
    }
}

/* Sums are taken in chunks that depend on the number of rows only. */
static void vec_layernorm_bwd(cs_backend *be, cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy,
                               cs_mat dx, cs_mat dgamma, cs_mat dbeta)
{
    const layer_slope q = { x, gamma, stat, dy, dx };
    const int64_t step = cs_chunk_rows(x.r), n_chunk = (x.r + step - 1) / step;
    dparam sum[CS_CHUNKS];
    for (int32_t j0 = 0; j0 < x.c; j0 += CS_CHUNK_COLS) {
        const int32_t n = x.c - j0 < CS_CHUNK_COLS ? x.c - j0 : CS_CHUNK_COLS;
        #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
        for (int64_t k = 0; k < n_chunk; k++)
            layernorm_chunk(&q, k * step, cs_min64((k + 1) * step, x.r), j0, n, &sum[k]);
        for (int32_t j = 0; j < n; j++) {
            double g = 0, b = 0;
            for (int64_t k = 0; k < n_chunk; k++) {
                g += sum[k].gamma[j];
                b += sum[k].beta[j];
            }
            dgamma.p[j0 + j] += (float)g;
            dbeta.p[j0 + j] += (float)b;
        }
    }
}

/* ---- over the rows of a batch --------------------------------------------------------------
 *
 * CS_VEC columns at a time, sums in double and in order of rows, so that they do not depend on the
 * number of threads, which take columns. */

CS_INLINE cs_vec times_of(cs_wide v, double times)
{
    return cs_narrow(cs_wide_mul(v, cs_wide_set(times)));
}

static void stat_columns(cs_mat x, int32_t j, cs_mat stat)
{
    const double part = x.r > 0 ? 1 / (double)x.r : 1;
    cs_wide sum = cs_wide_set(0), square = sum;
    for (int64_t r = 0; r < x.r; r++)
        sum = cs_wide_add(sum, cs_widen(cs_get(cs_row(x, r) + j, x.c - j)));
    const cs_wide mean = cs_wide_mul(sum, cs_wide_set(part));
    for (int64_t r = 0; r < x.r; r++) {
        cs_wide v = cs_wide_sub(cs_widen(cs_get(cs_row(x, r) + j, x.c - j)), mean);
        square = cs_wide_fma(v, v, square);
    }
    cs_put(cs_row(stat, 0) + j, x.c - j, times_of(sum, part));
    cs_put(cs_row(stat, 1) + j, x.c - j, times_of(square, part));
}

static void vec_batch_stat(cs_backend *be, cs_mat x, cs_mat stat)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int32_t j = 0; j < x.c; j += CS_VEC)
        stat_columns(x, j, stat);
}

/* 1 / sqrt(variance + eps) */
CS_INLINE cs_vec batch_rstd(cs_mat stat, int32_t j, float eps)
{
    cs_vec v = cs_vadd(cs_get(cs_row(stat, 1) + j, stat.c - j), cs_vset(eps));
    return cs_vdiv(cs_vset(1), cs_vsqrt(v));
}

/* Arguments of batchnorm. */
typedef struct batchnorm { cs_mat x, stat, gamma, beta, y; float eps; } batchnorm;

static void batchnorm_columns(const batchnorm *q, int64_t r0, int64_t r1, int32_t j)
{
    const int64_t n = q->x.c - j;
    const cs_vec mean = cs_get(q->stat.p + j, n), beta = cs_get(q->beta.p + j, n);
    const cs_vec gamma = cs_get(q->gamma.p + j, n), rstd = batch_rstd(q->stat, j, q->eps);
    for (int64_t r = r0; r < r1; r++) {
        cs_vec v = cs_vsub(cs_get(cs_row(q->x, r) + j, n), mean);
        v = cs_vfma(cs_vmul(v, rstd), gamma, beta);
        cs_put(cs_row(q->y, r) + j, n, v);
    }
}

static void vec_batchnorm(cs_backend *be, cs_real eps, cs_mat x, cs_mat stat, cs_mat gamma,
                           cs_mat beta, cs_mat y)
{
    enum { ROWS = 64 };          /* rows per block: their columns stay in cache from one vector to
                                  * the next */
    const batchnorm q = { x, stat, gamma, beta, y, eps };
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r += ROWS)
        for (int32_t j = 0; j < x.c; j += CS_VEC)
            batchnorm_columns(&q, r, cs_min64(r + ROWS, x.r), j);
}

/* Arguments of batchnorm_bwd. */
typedef struct batch_slope {
    bool   from_batch;
    float  eps;
    cs_mat x, stat, gamma, dy, dx, dgamma, dbeta;
} batch_slope;

/* Per column, with n = (x - mean) rstd:  dx += rstd gamma (dy - [mean(dy) + n mean(dy n)]); the
 *                                        bracket applies only if mean and variance were computed
 *                                        from x. */
static void slope_columns(const batch_slope *q, int32_t j)
{
    const cs_mat x = q->x;
    const int64_t n = x.c - j;
    const cs_vec mean = cs_get(q->stat.p + j, n), rstd = batch_rstd(q->stat, j, q->eps);
    const cs_vec times = cs_vmul(rstd, cs_get(q->gamma.p + j, n));
    cs_wide sum = cs_wide_set(0), dot = sum;
    for (int64_t r = 0; r < x.r; r++) {
        cs_vec v = cs_vsub(cs_get(cs_row(x, r) + j, n), mean);
        cs_wide d = cs_widen(cs_get(cs_row(q->dy, r) + j, n));
        sum = cs_wide_add(sum, d);
        dot = cs_wide_fma(d, cs_widen(cs_vmul(v, rstd)), dot);
    }
    const double part = q->from_batch ? 1 / (double)x.r : 0;
    const cs_vec a = times_of(sum, part), b = times_of(dot, part);
    for (int64_t r = 0; r < x.r; r++) {
        cs_vec v = cs_vmul(cs_vsub(cs_get(cs_row(x, r) + j, n), mean), rstd);
        cs_vec d = cs_vsub(cs_get(cs_row(q->dy, r) + j, n), a);
        float *dx = cs_row(q->dx, r) + j;
        cs_put(dx, n, cs_vfma(times, cs_vfnma(v, b, d), cs_get(dx, n)));
    }
    float *dg = q->dgamma.p + j, *db = q->dbeta.p + j;
    cs_put(dg, n, cs_vadd(cs_get(dg, n), times_of(dot, 1)));
    cs_put(db, n, cs_vadd(cs_get(db, n), times_of(sum, 1)));
}

static void vec_batchnorm_bwd(cs_backend *be, bool from_batch, cs_real eps, cs_mat x, cs_mat stat,
                               cs_mat gamma, cs_mat dy, cs_mat dx, cs_mat dgamma, cs_mat dbeta)
{
    const batch_slope q = { from_batch, eps, x, stat, gamma, dy, dx, dgamma, dbeta };
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int32_t j = 0; j < x.c; j += CS_VEC)
        slope_columns(&q, j);
}

/* ---- sum of squares ------------------------------------------------------------------------- */

static double square_run(const float *x, int64_t n)
{
    cs_squares sum = cs_squares_zero();
    for (int64_t i = 0; i < n; i += CS_VEC)
        sum = cs_squares_add(sum, cs_get(x + i, n - i), i);
    return cs_squares_sum(sum);
}

/* A matrix without gaps is one run, such as the slab of all gradients, the largest. */
static void vec_sumsq(cs_backend *be, cs_mat x, cs_mat y)
{
    bool flat = x.ld == x.c;
    int64_t n_run = flat ? 1 : x.r, n = flat ? x.r * x.c : x.c, step = cs_chunk_rows(n);
    double sum = 0;
    for (int64_t i = 0; i < n_run; i++) {
        double part[CS_CHUNKS] = { 0 };
        #pragma omp parallel for num_threads(cs_threads(be, n))
        for (int k = 0; k < CS_CHUNKS; k++)
            part[k] = square_run(cs_row(x, i) + k * step, cs_min64(step, n - k * step));
        for (int k = 0; k < CS_CHUNKS; k++)
            sum += part[k];
    }
    y.p[0] += (float)sum;
}

void cs_vec_norm(cs_ops *op)
{
    op->layernorm = vec_layernorm;
    op->layernorm_bwd = vec_layernorm_bwd;
    op->batch_stat = vec_batch_stat;
    op->batchnorm = vec_batchnorm;
    op->batchnorm_bwd = vec_batchnorm_bwd;
    op->sumsq = vec_sumsq;
}

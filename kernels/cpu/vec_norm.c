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

/* Arguments of layernorm_bwd and epilogue_bwd. Constants of the functions below: relu: dy counts
 * where n gamma + beta > 0 only (beta is not used without it); add: dx is added to. */
typedef struct layer_slope { cs_mat x, gamma, beta, stat, dy, dx; } layer_slope;

/* n = (x - mean) rstd and the gradient of n gamma + beta, in n_col columns from j on of a row */
CS_INLINE cs_vec slope_at(const bool relu, const layer_slope *q, int64_t r, int64_t j,
                          int64_t n_col, cs_vec *norm)
{
    const float *stat = cs_row(q->stat, r);
    const cs_vec d = cs_get(cs_row(q->dy, r) + j, n_col);
    *norm = cs_vmul(cs_deviation(cs_row(q->x, r) + j, n_col, cs_vset(stat[0])), cs_vset(stat[1]));
    if (!relu)
        return d;
    return cs_vpositive(cs_vfma(*norm, cs_get(q->gamma.p + j, n_col),
                                cs_get(q->beta.p + j, n_col)), d);
}

/* With g = dy gamma: sums of g and g n, in n columns from j on of four rows. */
CS_INLINE void slope_sums(const bool relu, const layer_slope *q, const int64_t r[4], int64_t j,
                          int64_t n, cs_acc8 sum[4], cs_acc8 dot[4])
{
    const cs_vec gamma = cs_get(q->gamma.p + j, n);
    cs_vec g[4], norm[4];
#define SUM(i) g[i] = cs_vmul(slope_at(relu, q, r[i], j, n, &norm[i]), gamma);                \
    sum[i] = cs_acc8_add(sum[i], g[i], j);                                                    \
    dot[i] = cs_acc8_fma(dot[i], g[i], norm[i], j);
    CS_FOUR(SUM)
#undef SUM
}

/* dx = or += rstd (g - a - n b), a and b the means of g and g n. All rows are read before one is
 * written: they may be the same. */
CS_INLINE void slope_write(const bool relu, const bool add, const layer_slope *q,
                           const int64_t r[4], int64_t j, int64_t n, const cs_vec a[4],
                           const cs_vec b[4])
{
    const cs_vec gamma = cs_get(q->gamma.p + j, n);
    cs_vec g[4], norm[4];
#define SLOPE(i) g[i] = cs_vfms(slope_at(relu, q, r[i], j, n, &norm[i]), gamma, a[i]);        \
    g[i] = cs_vfnma(norm[i], b[i], g[i]);                                                     \
    g[i] = cs_vfma(cs_vset(cs_row(q->stat, r[i])[1]), g[i],                                   \
                   add ? cs_get(cs_row(q->dx, r[i]) + j, n) : cs_vset(0));
#define PUT(i) cs_put(cs_row(q->dx, r[i]) + j, n, g[i]);
    CS_FOUR(SLOPE)
    CS_FOUR(PUT)
#undef SLOPE
#undef PUT
}

/* Up to four rows from r0 on; of fewer, the last one is repeated. */
CS_INLINE void layernorm_dx(const bool relu, const bool add, const layer_slope *q, int64_t r0,
                            int64_t end)
{
    const int32_t n = q->x.c, whole = n - n % CS_VEC;
    int64_t r[4];
    cs_acc8 sum[4], dot[4];
    cs_vec a[4], b[4];

#define BEGIN(i) r[i] = cs_min64(r0 + i, end - 1); sum[i] = dot[i] = cs_acc8_zero();
    CS_FOUR(BEGIN)
    for (int32_t j = 0; j < whole; j += CS_VEC)
        slope_sums(relu, q, r, j, CS_VEC, sum, dot);
    if (whole < n)
        slope_sums(relu, q, r, whole, n - whole, sum, dot);
#define MEAN(i) a[i] = cs_vset(cs_acc8_sum(sum[i]) / (float)n);                               \
    b[i] = cs_vset(cs_acc8_sum(dot[i]) / (float)n);
    CS_FOUR(MEAN)
#undef BEGIN
#undef MEAN
    for (int32_t j = 0; j < whole; j += CS_VEC)
        slope_write(relu, add, q, r, j, CS_VEC, a, b);
    if (whole < n)
        slope_write(relu, add, q, r, whole, n - whole, a, b);
}

/* Sums of dy n and of dy in some columns of a chunk of rows. */
typedef struct dparam { double gamma[CS_CHUNK_COLS], beta[CS_CHUNK_COLS]; } dparam;

/* Adds the rows r0 .. r1-1 of CS_VEC columns from j on. */
CS_INLINE void dparam_rows(const bool relu, const layer_slope *q, int64_t r0, int64_t r1,
                           int32_t j, double *gamma, double *beta)
{
    cs_dvec g = cs_dvec_load(gamma), b = cs_dvec_load(beta);
    for (int64_t r = r0; r < r1; r++) {
        cs_vec norm, d = slope_at(relu, q, r, j, q->x.c - j, &norm);
        g = cs_dvec_add(g, cs_to_dvec(cs_vmul(d, norm)));
        b = cs_dvec_add(b, cs_to_dvec(d));
    }
    cs_dvec_store(gamma, g);
    cs_dvec_store(beta, b);
}

/* The gradient of x, once, and the sums of n columns from j0 on, while a few rows are in cache. */
CS_INLINE void layernorm_chunk(const bool relu, const bool add, const layer_slope *q, int64_t r0,
                               int64_t r1, int32_t j0, int32_t n, dparam *sum)
{
    enum { ROWS = 16 };
    memset(sum, 0, sizeof *sum);
    for (int64_t r = r0; r < r1; r += ROWS) {
        const int64_t end = cs_min64(r + ROWS, r1);
        for (int64_t i = r; j0 == 0 && i < end; i += CS_NORM_ROWS)
            layernorm_dx(relu, add, q, i, end);
        for (int32_t j = 0; j < n; j += CS_VEC)
            dparam_rows(relu, q, r, end, j0 + j, sum->gamma + j, sum->beta + j);
    }
}

static void plain_chunk(const layer_slope *q, int64_t r0, int64_t r1, int32_t j0, int32_t n,
                        dparam *sum)
{
    layernorm_chunk(false, true, q, r0, r1, j0, n, sum);
}

static void epilogue_chunk(const layer_slope *q, int64_t r0, int64_t r1, int32_t j0, int32_t n,
                           dparam *sum)
{
    layernorm_chunk(true, false, q, r0, r1, j0, n, sum);
}

/* Sums are taken in chunks that depend on the number of rows only. */
static void each_chunk(cs_backend *be, const layer_slope *q, bool epi, cs_mat dgamma,
                       cs_mat dbeta)
{
    const cs_mat x = q->x;
    const int64_t step = cs_chunk_rows(x.r), n_chunk = (x.r + step - 1) / step;
    dparam sum[CS_CHUNKS];
    for (int32_t j0 = 0; j0 < x.c; j0 += CS_CHUNK_COLS) {
        const int32_t n = x.c - j0 < CS_CHUNK_COLS ? x.c - j0 : CS_CHUNK_COLS;
        #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
        for (int64_t k = 0; k < n_chunk; k++)
            (epi ? epilogue_chunk : plain_chunk)(q, k * step, cs_min64((k + 1) * step, x.r), j0, n,
                                                 &sum[k]);
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

static void vec_layernorm_bwd(cs_backend *be, cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy,
                              cs_mat dx, cs_mat dgamma, cs_mat dbeta)
{
    const layer_slope q = { .x = x, .gamma = gamma, .stat = stat, .dy = dy, .dx = dx };
    each_chunk(be, &q, false, dgamma, dbeta);
}

static void epilogue_bwd(cs_backend *be, const cs_epilogue *t, cs_mat dy, cs_mat dpre,
                         cs_mat dgamma, cs_mat dbeta)
{
    const layer_slope q = { t->pre, t->gamma, t->beta, t->stat, dy, dpre };
    each_chunk(be, &q, true, dgamma, dbeta);
}

/* ---- over the rows of a batch --------------------------------------------------------------
 *
 * CS_VEC columns at a time, sums in double and in order of rows, so that they do not depend on the
 * number of threads, which take columns. */

CS_INLINE cs_vec times_of(cs_dvec v, double times)
{
    return cs_to_vec(cs_dvec_mul(v, cs_dvec_set(times)));
}

static void stat_columns(cs_mat x, int32_t j, cs_mat stat)
{
    const double part = x.r > 0 ? 1 / (double)x.r : 1;
    cs_dvec sum = cs_dvec_set(0), square = sum;
    for (int64_t r = 0; r < x.r; r++)
        sum = cs_dvec_add(sum, cs_to_dvec(cs_get(cs_row(x, r) + j, x.c - j)));
    const cs_dvec mean = cs_dvec_mul(sum, cs_dvec_set(part));
    for (int64_t r = 0; r < x.r; r++) {
        cs_dvec v = cs_dvec_sub(cs_to_dvec(cs_get(cs_row(x, r) + j, x.c - j)), mean);
        square = cs_dvec_fma(v, v, square);
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

/* Per column, with n = (x - mean) rstd: dx += rstd gamma (dy - [mean(dy) + n mean(dy n)]). The
 * bracket applies only if mean and variance were computed from x. */
static void slope_columns(const batch_slope *q, int32_t j)
{
    const cs_mat x = q->x;
    const int64_t n = x.c - j;
    const cs_vec mean = cs_get(q->stat.p + j, n), rstd = batch_rstd(q->stat, j, q->eps);
    const cs_vec times = cs_vmul(rstd, cs_get(q->gamma.p + j, n));
    cs_dvec sum = cs_dvec_set(0), dot = sum;
    for (int64_t r = 0; r < x.r; r++) {
        cs_vec v = cs_vsub(cs_get(cs_row(x, r) + j, n), mean);
        cs_dvec d = cs_to_dvec(cs_get(cs_row(q->dy, r) + j, n));
        sum = cs_dvec_add(sum, d);
        dot = cs_dvec_fma(d, cs_to_dvec(cs_vmul(v, rstd)), dot);
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

void cs_vec_epilogue_bwd(cs_fused *fused)
{
    fused->epilogue_bwd = epilogue_bwd;
}

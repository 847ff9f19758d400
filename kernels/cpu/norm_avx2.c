/* norm_avx2.c - layer and batch normalisation and the sum of squares on AVX2. */
#include "kernels/cpu/impl.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/vec_avx2.h"

#define TARGET __attribute__((target("avx2,fma")))

/* The eight lanes' sum, always in the same order. */
TARGET static float lanes(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/* v - mean in the first n lanes, 0 behind them */
CS_AVX2 __m256 deviation(const float *v, int64_t n, __m256 mean)
{
    return _mm256_and_ps(_mm256_castsi256_ps(cs_first(n < 8 ? (int)n : 8)),
                         _mm256_sub_ps(cs_get(v, n), mean));
}

TARGET static void layernorm_row(const float *x, int32_t n, float eps, const float *gamma,
                                 const float *beta, float *y, float *stat)
{
    __m256 sum = _mm256_setzero_ps(), square = sum;
    for (int32_t j = 0; j < n; j += 8)
        sum = _mm256_add_ps(sum, cs_get(x + j, n - j));
    stat[0] = lanes(sum) / (float)n;
    const __m256 mean = _mm256_set1_ps(stat[0]);
    for (int32_t j = 0; j < n; j += 8) {
        __m256 d = deviation(x + j, n - j, mean);
        square = _mm256_fmadd_ps(d, d, square);
    }
    stat[1] = 1 / sqrtf(lanes(square) / (float)n + eps);
    const __m256 rstd = _mm256_set1_ps(stat[1]);
    for (int32_t j = 0; j < n; j += 8) {
        __m256 d = _mm256_mul_ps(deviation(x + j, n - j, mean), rstd);
        cs_put(y + j, n - j, _mm256_fmadd_ps(d, cs_get(gamma + j, n - j),
                                             cs_get(beta + j, n - j)));
    }
}

static void avx2_layernorm(cs_backend *be, cs_real eps, cs_mat x, cs_mat gamma, cs_mat beta,
                           cs_mat y, cs_mat stat)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        layernorm_row(cs_row(x, r), x.c, eps, gamma.p, beta.p, cs_row(y, r), cs_row(stat, r));
}

/* With n = (x - mean) rstd and g = dy gamma:  dx += rstd (g - mean(g) - n mean(g n)). */
TARGET static void layernorm_dx(const float *x, int32_t n, const float *gamma, const float *stat,
                                const float *dy, float *dx)
{
    const __m256 mean = _mm256_set1_ps(stat[0]), rstd = _mm256_set1_ps(stat[1]);
    __m256 sum = _mm256_setzero_ps(), dot = sum;
    for (int32_t j = 0; j < n; j += 8) {
        __m256 g = _mm256_mul_ps(cs_get(dy + j, n - j), cs_get(gamma + j, n - j));
        sum = _mm256_add_ps(sum, g);
        dot = _mm256_fmadd_ps(g, _mm256_mul_ps(deviation(x + j, n - j, mean), rstd), dot);
    }
    const __m256 a = _mm256_set1_ps(lanes(sum) / (float)n);
    const __m256 b = _mm256_set1_ps(lanes(dot) / (float)n);
    for (int32_t j = 0; j < n; j += 8) {
        __m256 g = _mm256_mul_ps(cs_get(dy + j, n - j), cs_get(gamma + j, n - j));
        __m256 v = _mm256_mul_ps(deviation(x + j, n - j, mean), rstd);
        g = _mm256_fnmadd_ps(v, b, _mm256_sub_ps(g, a));
        cs_put(dx + j, n - j, _mm256_fmadd_ps(rstd, g, cs_get(dx + j, n - j)));
    }
}

/* Sums of dy n and of dy over the rows r0 .. r1-1 for eight columns from j on. */
TARGET static void dparam_rows(cs_mat x, cs_mat stat, cs_mat dy, int64_t r0, int64_t r1, int32_t j,
                               double out[2][8])
{
    __m256d g0 = _mm256_setzero_pd(), g1 = g0, b0 = g0, b1 = g0;
    for (int64_t r = r0; r < r1; r++) {
        const float *st = cs_row(stat, r);
        __m256 d = cs_get(cs_row(dy, r) + j, x.c - j);
        __m256 v = deviation(cs_row(x, r) + j, x.c - j, _mm256_set1_ps(st[0]));
        v = _mm256_mul_ps(d, _mm256_mul_ps(v, _mm256_set1_ps(st[1])));
        g0 = _mm256_add_pd(g0, _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
        g1 = _mm256_add_pd(g1, _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
        b0 = _mm256_add_pd(b0, _mm256_cvtps_pd(_mm256_castps256_ps128(d)));
        b1 = _mm256_add_pd(b1, _mm256_cvtps_pd(_mm256_extractf128_ps(d, 1)));
    }
    _mm256_storeu_pd(out[0], g0);
    _mm256_storeu_pd(out[0] + 4, g1);
    _mm256_storeu_pd(out[1], b0);
    _mm256_storeu_pd(out[1] + 4, b1);
}

/* Eight columns of both parameter gradients, in chunks of rows that their number alone fixes. */
static void dparam(cs_backend *be, cs_mat x, cs_mat stat, cs_mat dy, int32_t j, float *dgamma,
                   float *dbeta)
{
    double part[CS_CHUNKS][2][8];
    int64_t step = cs_chunk_rows(x.r), n_chunk = (x.r + step - 1) / step;
    #pragma omp parallel for num_threads(cs_threads(be, x.r * 8))
    for (int64_t k = 0; k < n_chunk; k++)
        dparam_rows(x, stat, dy, k * step, cs_min64((k + 1) * step, x.r), j, part[k]);
    for (int32_t i = 0; i < 8 && j + i < x.c; i++) {
        double g = 0, b = 0;
        for (int64_t k = 0; k < n_chunk; k++) {
            g += part[k][0][i];
            b += part[k][1][i];
        }
        dgamma[j + i] += (float)g;
        dbeta[j + i] += (float)b;
    }
}

static void avx2_layernorm_bwd(cs_backend *be, cs_mat x, cs_mat gamma, cs_mat stat, cs_mat dy,
                               cs_mat dx, cs_mat dgamma, cs_mat dbeta)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        layernorm_dx(cs_row(x, r), x.c, gamma.p, cs_row(stat, r), cs_row(dy, r), cs_row(dx, r));
    for (int32_t j = 0; j < x.c; j += 8)
        dparam(be, x, stat, dy, j, dgamma.p, dbeta.p);
}

/* ---- over the rows of a batch --------------------------------------------------------------
 *
 * Eight columns at a time, sums in double and in order of rows, so that they do not depend on the
 * number of threads, which take columns. */

typedef struct wide { __m256d lo, hi; } wide;

CS_AVX2 wide widen(__m256 v)
{
    return (wide){ _mm256_cvtps_pd(_mm256_castps256_ps128(v)),
                   _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)) };
}

CS_AVX2 __m256 narrow(wide v, double times)
{
    const __m256d t = _mm256_set1_pd(times);
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_mul_pd(v.hi, t)),
                           _mm256_cvtpd_ps(_mm256_mul_pd(v.lo, t)));
}

TARGET static void stat_columns(cs_mat x, int32_t j, cs_mat stat)
{
    const double part = x.r > 0 ? 1 / (double)x.r : 1;
    const __m256d times = _mm256_set1_pd(part), zero = _mm256_setzero_pd();
    wide sum = { zero, zero }, square = sum;
    for (int64_t r = 0; r < x.r; r++) {
        wide v = widen(cs_get(cs_row(x, r) + j, x.c - j));
        sum.lo = _mm256_add_pd(sum.lo, v.lo);
        sum.hi = _mm256_add_pd(sum.hi, v.hi);
    }
    const __m256d lo = _mm256_mul_pd(sum.lo, times), hi = _mm256_mul_pd(sum.hi, times);
    for (int64_t r = 0; r < x.r; r++) {
        wide v = widen(cs_get(cs_row(x, r) + j, x.c - j));
        v = (wide){ _mm256_sub_pd(v.lo, lo), _mm256_sub_pd(v.hi, hi) };
        square.lo = _mm256_fmadd_pd(v.lo, v.lo, square.lo);
        square.hi = _mm256_fmadd_pd(v.hi, v.hi, square.hi);
    }
    cs_put(cs_row(stat, 0) + j, x.c - j, narrow(sum, part));
    cs_put(cs_row(stat, 1) + j, x.c - j, narrow(square, part));
}

static void avx2_batch_stat(cs_backend *be, cs_mat x, cs_mat stat)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int32_t j = 0; j < x.c; j += 8)
        stat_columns(x, j, stat);
}

/* 1 / sqrt(variance + eps) */
CS_AVX2 __m256 batch_rstd(cs_mat stat, int32_t j, float eps)
{
    __m256 v = _mm256_add_ps(cs_get(cs_row(stat, 1) + j, stat.c - j), _mm256_set1_ps(eps));
    return _mm256_div_ps(_mm256_set1_ps(1), _mm256_sqrt_ps(v));
}

/* What batchnorm is given. */
typedef struct batchnorm { cs_mat x, stat, gamma, beta, y; float eps; } batchnorm;

TARGET static void batchnorm_columns(const batchnorm *q, int64_t r0, int64_t r1, int32_t j)
{
    const int64_t n = q->x.c - j;
    const __m256 mean = cs_get(q->stat.p + j, n), beta = cs_get(q->beta.p + j, n);
    const __m256 gamma = cs_get(q->gamma.p + j, n), rstd = batch_rstd(q->stat, j, q->eps);
    for (int64_t r = r0; r < r1; r++) {
        __m256 v = _mm256_sub_ps(cs_get(cs_row(q->x, r) + j, n), mean);
        v = _mm256_fmadd_ps(_mm256_mul_ps(v, rstd), gamma, beta);
        cs_put(cs_row(q->y, r) + j, n, v);
    }
}

static void avx2_batchnorm(cs_backend *be, cs_real eps, cs_mat x, cs_mat stat, cs_mat gamma,
                           cs_mat beta, cs_mat y)
{
    enum { ROWS = 64 };          /* whose columns stay in cache from one eight to the next */
    const batchnorm q = { x, stat, gamma, beta, y, eps };
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r += ROWS)
        for (int32_t j = 0; j < x.c; j += 8)
            batchnorm_columns(&q, r, cs_min64(r + ROWS, x.r), j);
}

/* What batchnorm_bwd is given. */
typedef struct batch_slope {
    bool   from_batch;
    float  eps;
    cs_mat x, stat, gamma, dy, dx, dgamma, dbeta;
} batch_slope;

/* Per column, with n = (x - mean) rstd:  dx += rstd gamma (dy - [mean(dy) + n mean(dy n)]), the
 * bracket only when mean and variance were computed from x. */
TARGET static void slope_columns(const batch_slope *q, int32_t j)
{
    const cs_mat x = q->x;
    const int64_t n = x.c - j;
    const __m256 mean = cs_get(q->stat.p + j, n), rstd = batch_rstd(q->stat, j, q->eps);
    const __m256 times = _mm256_mul_ps(rstd, cs_get(q->gamma.p + j, n));
    wide sum = { _mm256_setzero_pd(), _mm256_setzero_pd() }, dot = sum;
    for (int64_t r = 0; r < x.r; r++) {
        __m256 v = _mm256_sub_ps(cs_get(cs_row(x, r) + j, n), mean);
        wide d = widen(cs_get(cs_row(q->dy, r) + j, n)), m = widen(_mm256_mul_ps(v, rstd));
        sum.lo = _mm256_add_pd(sum.lo, d.lo);
        sum.hi = _mm256_add_pd(sum.hi, d.hi);
        dot.lo = _mm256_fmadd_pd(d.lo, m.lo, dot.lo);
        dot.hi = _mm256_fmadd_pd(d.hi, m.hi, dot.hi);
    }
    const double part = q->from_batch ? 1 / (double)x.r : 0;
    const __m256 a = narrow(sum, part), b = narrow(dot, part);
    for (int64_t r = 0; r < x.r; r++) {
        __m256 v = _mm256_mul_ps(_mm256_sub_ps(cs_get(cs_row(x, r) + j, n), mean), rstd);
        __m256 d = _mm256_sub_ps(cs_get(cs_row(q->dy, r) + j, n), a);
        float *dx = cs_row(q->dx, r) + j;
        cs_put(dx, n, _mm256_fmadd_ps(times, _mm256_fnmadd_ps(v, b, d), cs_get(dx, n)));
    }
    float *dg = q->dgamma.p + j, *db = q->dbeta.p + j;
    cs_put(dg, n, _mm256_add_ps(cs_get(dg, n), narrow(dot, 1)));
    cs_put(db, n, _mm256_add_ps(cs_get(db, n), narrow(sum, 1)));
}

static void avx2_batchnorm_bwd(cs_backend *be, bool from_batch, cs_real eps, cs_mat x, cs_mat stat,
                               cs_mat gamma, cs_mat dy, cs_mat dx, cs_mat dgamma, cs_mat dbeta)
{
    const batch_slope q = { from_batch, eps, x, stat, gamma, dy, dx, dgamma, dbeta };
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int32_t j = 0; j < x.c; j += 8)
        slope_columns(&q, j);
}

/* ---- sum of squares ------------------------------------------------------------------------- */

TARGET static double square_run(const float *x, int64_t n)
{
    __m256d a = _mm256_setzero_pd(), b = a;
    for (int64_t i = 0; i < n; i += 8) {
        __m256 v = cs_get(x + i, n - i);
        __m256d lo = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
        __m256d hi = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
        a = _mm256_fmadd_pd(lo, lo, a);
        b = _mm256_fmadd_pd(hi, hi, b);
    }
    double s[4];
    _mm256_storeu_pd(s, _mm256_add_pd(a, b));
    return s[0] + s[1] + s[2] + s[3];
}

/* A matrix without gaps is one run: the slab of all gradients is, and it is the large one. */
static void avx2_sumsq(cs_backend *be, cs_mat x, cs_mat y)
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

void cs_avx2_norm(cs_ops *op)
{
    op->layernorm = avx2_layernorm;
    op->layernorm_bwd = avx2_layernorm_bwd;
    op->batch_stat = avx2_batch_stat;
    op->batchnorm = avx2_batchnorm;
    op->batchnorm_bwd = avx2_batchnorm_bwd;
    op->sumsq = avx2_sumsq;
}

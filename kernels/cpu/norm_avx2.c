/* norm_avx2.c - layer normalisation and the sum of squares on AVX2. */
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
    op->sumsq = avx2_sumsq;
}

/* softmax_avx2.c - softmax over columns, and over the rows of segments, on AVX2.
 *
 * Rows are summed in floats, lane by lane; columns in doubles, because a segment has millions of
 * rows. A NaN stays one: max() returns its second operand then, and exp(NaN - max) spoils the sum.
 */
#include "kernels/cpu/impl.h"

#include <math.h>

#include "kernels/cpu/vec_avx2.h"

#define TARGET __attribute__((target("avx2,fma")))

enum { LANES = 8, FOUR = 4, STEP = FOUR * LANES };

/* v = exp(v - max); below e^-86 the least that cs_exp2_avx2() can tell */
CS_AVX2 void exp_four(__m256 v[FOUR], __m256 max)
{
    const __m256 log2e = _mm256_set1_ps(1.44269504f), least = _mm256_set1_ps(-125);
#define CS_POWER(i) v[i] = _mm256_max_ps(least, _mm256_mul_ps(_mm256_sub_ps(v[i], max), log2e));
    CS_FOUR(CS_POWER)
    cs_exp2_avx2(v, 1);
#undef CS_POWER
}

/* The first n lanes of v, and `rest` behind them. */
CS_AVX2 __m256 first_or(__m256 v, int64_t n, __m256 rest)
{
    const int k = n < LANES ? (int)n : LANES;
    return _mm256_blendv_ps(rest, v, _mm256_castsi256_ps(cs_first(k)));
}

CS_AVX2 float lanes_max(__m256 v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
}

/* The eight lanes' sum, always in the same order. */
CS_AVX2 float lanes_sum(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/* ---- over columns ---------------------------------------------------------------------------*/

/* y may be x. */
TARGET static void softmax_row(const float *x, int32_t n, float *y)
{
    const __m256 low = _mm256_set1_ps(-INFINITY), zero = _mm256_setzero_ps();
    __m256 most = low, sum = zero;

    for (int32_t j = 0; j < n; j += LANES)
        most = _mm256_max_ps(most, first_or(cs_get(x + j, n - j), n - j, low));
    const __m256 max = _mm256_set1_ps(lanes_max(most));
    for (int32_t j = 0; j < n; j += STEP) {
        __m256 v[FOUR];
        for (int i = 0; i < FOUR; i++)
            v[i] = cs_get(x + j + i * LANES, n - j - i * LANES);
        exp_four(v, max);
        for (int i = 0; i < FOUR; i++) {
            sum = _mm256_add_ps(sum, first_or(v[i], n - j - i * LANES, zero));
            cs_put(y + j + i * LANES, n - j - i * LANES, v[i]);
        }
    }
    const __m256 scale = _mm256_set1_ps(1 / lanes_sum(sum));
    for (int32_t j = 0; j < n; j += LANES)
        cs_put(y + j, n - j, _mm256_mul_ps(cs_get(y + j, n - j), scale));
}

static void avx2_softmax(cs_backend *be, cs_mat x, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        softmax_row(cs_row(x, r), x.c, cs_row(y, r));
}

/* dx += y (dy - <y, dy>) */
TARGET static void softmax_row_bwd(const float *y, int32_t n, const float *dy, float *dx)
{
    __m256 dot = _mm256_setzero_ps();

    for (int32_t j = 0; j < n; j += LANES)
        dot = _mm256_fmadd_ps(cs_get(y + j, n - j), cs_get(dy + j, n - j), dot);
    const __m256 mean = _mm256_set1_ps(lanes_sum(dot));
    for (int32_t j = 0; j < n; j += LANES) {
        const __m256 d = _mm256_sub_ps(cs_get(dy + j, n - j), mean);
        cs_put(dx + j, n - j, _mm256_fmadd_ps(cs_get(y + j, n - j), d, cs_get(dx + j, n - j)));
    }
}

static void avx2_softmax_bwd(cs_backend *be, cs_mat y, cs_mat dy, cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t r = 0; r < y.r; r++)
        softmax_row_bwd(cs_row(y, r), y.c, cs_row(dy, r), cs_row(dx, r));
}

/* ---- over the rows of a segment -------------------------------------------------------------*/

/* Eight columns' sums in doubles. */
typedef struct sums { __m256d lo, hi; } sums;

CS_AVX2 sums sums_zero(void)
{
    return (sums){ _mm256_setzero_pd(), _mm256_setzero_pd() };
}

CS_AVX2 sums sums_add(sums s, __m256 v)
{
    s.lo = _mm256_add_pd(s.lo, _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
    s.hi = _mm256_add_pd(s.hi, _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
    return s;
}

CS_AVX2 __m256 sums_round(sums s)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(s.hi), _mm256_cvtpd_ps(s.lo));
}

/* Rows r0 .. r1-1 of at most eight columns from j on. */
TARGET static void softmax_columns(cs_mat x, int64_t r0, int64_t r1, int32_t j, cs_mat y)
{
    const int64_t n = x.c - j;
    const __m256 one = _mm256_set1_ps(1);
    __m256 max = _mm256_set1_ps(-INFINITY);
    sums sum = sums_zero();

    for (int64_t r = r0; r < r1; r++)
        max = _mm256_max_ps(max, cs_get(cs_row(x, r) + j, n));
    for (int64_t r = r0; r < r1; r += FOUR) {
        const int k = (int)cs_min64(FOUR, r1 - r);
        __m256 v[FOUR] = { max, max, max, max };
        for (int i = 0; i < k; i++)
            v[i] = cs_get(cs_row(x, r + i) + j, n);
        exp_four(v, max);
        for (int i = 0; i < k; i++) {
            sum = sums_add(sum, v[i]);
            cs_put(cs_row(y, r + i) + j, n, v[i]);
        }
    }
    const __m256 scale = _mm256_div_ps(one, sums_round(sum));
    for (int64_t r = r0; r < r1; r++)
        cs_put(cs_row(y, r) + j, n, _mm256_mul_ps(cs_get(cs_row(y, r) + j, n), scale));
}

static int64_t blocks_of(cs_mat x)
{
    return (x.c + LANES - 1) / LANES;
}

static void avx2_seg_softmax(cs_backend *be, cs_seg seg, cs_mat x, cs_mat y)
{
    const int64_t m = blocks_of(x);

    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t k = 0; k < seg.n * m; k++)
        softmax_columns(x, seg.off[k / m], seg.off[k / m + 1], (int32_t)(k % m) * LANES, y);
}

TARGET static void softmax_columns_bwd(cs_mat y, int64_t r0, int64_t r1, int32_t j, cs_mat dy,
                                       cs_mat dx)
{
    const int64_t n = y.c - j;
    sums dot = sums_zero();

    for (int64_t r = r0; r < r1; r++)
        dot = sums_add(dot, _mm256_mul_ps(cs_get(cs_row(y, r) + j, n),
                                          cs_get(cs_row(dy, r) + j, n)));
    const __m256 mean = sums_round(dot);
    for (int64_t r = r0; r < r1; r++) {
        const __m256 d = _mm256_sub_ps(cs_get(cs_row(dy, r) + j, n), mean);
        float *out = cs_row(dx, r) + j;
        cs_put(out, n, _mm256_fmadd_ps(cs_get(cs_row(y, r) + j, n), d, cs_get(out, n)));
    }
}

static void avx2_seg_softmax_bwd(cs_backend *be, cs_seg seg, cs_mat y, cs_mat dy, cs_mat dx)
{
    const int64_t m = blocks_of(y);

    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t k = 0; k < seg.n * m; k++)
        softmax_columns_bwd(y, seg.off[k / m], seg.off[k / m + 1], (int32_t)(k % m) * LANES, dy,
                            dx);
}

void cs_avx2_softmax(cs_ops *op)
{
    op->softmax = avx2_softmax;
    op->softmax_bwd = avx2_softmax_bwd;
    op->seg_softmax = avx2_seg_softmax;
    op->seg_softmax_bwd = avx2_seg_softmax_bwd;
}

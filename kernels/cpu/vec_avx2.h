/* vec_avx2.h - eight floats at a time: GELU (exact erf form) and its slope, partial loads, pieces.
 *
 *   gelu(x) = max(x, 0) - a Phi(-a),  a = min(|x|, 5.7),  Phi(-a) = 2^(a Q(a) - 1)
 *
 * Q is a polynomial of degree 7 and 2^f one of degree 5 on [-1/2, 1/2], both fitted by minimax. No
 * division and no branch; the form keeps the relative accuracy of the negative tail that
 * x (1 + erf) / 2 loses. Absolute error <= 3e-7, at most 4 ulp for x > -1. A NaN stays a NaN: min
 * and max return their second operand then.
 */
#ifndef CS_KERNELS_CPU_VEC_AVX2_H
#define CS_KERNELS_CPU_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>

#define CS_AVX2 __attribute__((target("avx2,fma"))) static inline

/* scale * 2^p for -126 < p <= 0: the integer part goes into the exponent by an integer addition */
CS_AVX2 __m256 cs_exp2_avx2(__m256 p, float scale)
{
    const __m256 magic = _mm256_set1_ps(12582912.0f);    /* 1.5 * 2^23: rounds to an integer */
    __m256 t = _mm256_add_ps(p, magic);
    __m256 f = _mm256_sub_ps(p, _mm256_sub_ps(t, magic));
    __m256 e = _mm256_set1_ps(scale * 1.326472719e-03f);
    e = _mm256_fmadd_ps(e, f, _mm256_set1_ps(scale * 9.671512640e-03f));
    e = _mm256_fmadd_ps(e, f, _mm256_set1_ps(scale * 5.550733743e-02f));
    e = _mm256_fmadd_ps(e, f, _mm256_set1_ps(scale * 2.402224209e-01f));
    e = _mm256_fmadd_ps(e, f, _mm256_set1_ps(scale * 6.931469776e-01f));
    e = _mm256_fmadd_ps(e, f, _mm256_set1_ps(scale));
    __m256i n = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(e), n));
}

CS_AVX2 __m256 cs_gelu_clamp(__m256 x)
{
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    return _mm256_min_ps(_mm256_set1_ps(5.7f), _mm256_and_ps(x, magnitude));
}

/* Phi(-a) for 0 <= a <= 5.7 */
CS_AVX2 __m256 cs_gelu_tail(__m256 a)
{
    __m256 p = _mm256_set1_ps(-2.626523145e-06f);
    p = _mm256_fmadd_ps(p, a, _mm256_set1_ps(3.690655509e-05f));
    p = _mm256_fmadd_ps(p, a, _mm256_set1_ps(-1.745858340e-04f));
    p = _mm256_fmadd_ps(p, a, _mm256_set1_ps(-1.644816114e-04f));
    p = _mm256_fmadd_ps(p, a, _mm256_set1_ps(7.098569331e-03f));
    p = _mm256_fmadd_ps(p, a, _mm256_set1_ps(-5.251963282e-02f));
    p = _mm256_fmadd_ps(p, a, _mm256_set1_ps(-4.592009430e-01f));
    p = _mm256_fmadd_ps(p, a, _mm256_set1_ps(-1.151105945e+00f));
    return cs_exp2_avx2(_mm256_mul_ps(p, a), 0.5f);
}

CS_AVX2 __m256 cs_gelu_avx2(__m256 x)
{
    __m256 a = cs_gelu_clamp(x);
    return _mm256_fnmadd_ps(a, cs_gelu_tail(a), _mm256_max_ps(_mm256_setzero_ps(), x));
}

/* gelu(x), and in *slope gelu'(x) = Phi(x) + x phi(x) */
CS_AVX2 __m256 cs_gelu_slope_avx2(__m256 x, __m256 *slope)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 a = cs_gelu_clamp(x), tail = cs_gelu_tail(a);
    __m256 cdf = _mm256_blendv_ps(_mm256_sub_ps(_mm256_set1_ps(1.0f), tail), tail, x);
    __m256 q = _mm256_mul_ps(_mm256_mul_ps(a, a), _mm256_set1_ps(-0.72134752f));
    __m256 pdf = cs_exp2_avx2(q, 0.39894228f);
    __m256 signed_a = _mm256_or_ps(a, _mm256_and_ps(x, sign));
    *slope = _mm256_fmadd_ps(signed_a, pdf, cdf);
    return _mm256_fnmadd_ps(a, tail, _mm256_max_ps(_mm256_setzero_ps(), x));
}

/* The first n (1..8) floats at p; what lies behind them is neither read nor written. */
CS_AVX2 __m256i cs_first(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

CS_AVX2 __m256 cs_get(const float *p, int64_t n)
{
    return n >= 8 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, cs_first((int)n));
}

CS_AVX2 void cs_put(float *p, int64_t n, __m256 v)
{
    if (n >= 8)
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, cs_first((int)n), v);
}

/* Part of a rotation: out[r, j] = in[r, j] + buf[r, j] (in NULL: = buf[r, j]) over n_row rows of w
 * columns, w a multiple of 4. */
typedef struct cs_piece {
    const float *in;  int64_t ldi;
    const float *buf; int64_t ldb;
    float       *out; int64_t ldo;
} cs_piece;
void cs_piece_move(const cs_piece *q, int64_t n_row, int32_t w);

#endif

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

#include "kernels/backend.h"

#define CS_AVX2 __attribute__((target("avx2,fma"), always_inline)) static inline

/* Four vectors go through every step side by side, because the chain of one is longer than the
 * processor looks ahead: 10.3 cycles a vector instead of 13.7. */
#define CS_FOUR(STEP) STEP(0) STEP(1) STEP(2) STEP(3)

/* One number eight times, in a register: the compiler would load it anew for each of its uses, and
 * there are two loads per cycle, as many as multiply-adds. */
CS_AVX2 __m256 cs_constant(float v)
{
    __m256 c = _mm256_set1_ps(v);
    __asm__("" : "+x"(c));
    return c;
}

/* scale * 2^p for -126 < p <= 0: the integer part goes into the exponent by an integer addition */
CS_AVX2 void cs_exp2_avx2(__m256 p[4], float scale)
{
    const __m256 magic = cs_constant(12582912.0f);       /* 1.5 * 2^23: rounds to an integer */
    __m256 t[4], f[4], e[4];
#define CS_SPLIT(i) t[i] = _mm256_add_ps(p[i], magic);                     \
    f[i] = _mm256_sub_ps(p[i], _mm256_sub_ps(t[i], magic));                \
    e[i] = _mm256_set1_ps(scale * 1.326472719e-03f);
#define CS_TERM(i) e[i] = _mm256_fmadd_ps(e[i], f[i], c);
#define CS_NEXT(term) do { const __m256 c = cs_constant(term); CS_FOUR(CS_TERM) } while (0)
    CS_FOUR(CS_SPLIT)
    CS_NEXT(scale * 9.671512640e-03f);
    CS_NEXT(scale * 5.550733743e-02f);
    CS_NEXT(scale * 2.402224209e-01f);
    CS_NEXT(scale * 6.931469776e-01f);
    CS_NEXT(scale);
#define CS_JOIN(i) p[i] = _mm256_castsi256_ps(_mm256_add_epi32(            \
        _mm256_castps_si256(e[i]), _mm256_slli_epi32(_mm256_castps_si256(t[i]), 23)));
    CS_FOUR(CS_JOIN)
#undef CS_SPLIT
#undef CS_TERM
#undef CS_JOIN
}

CS_AVX2 __m256 cs_gelu_clamp(__m256 x)
{
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    return _mm256_min_ps(_mm256_set1_ps(5.7f), _mm256_and_ps(x, magnitude));
}

/* Phi(-a) for 0 <= a <= 5.7 */
CS_AVX2 void cs_gelu_tail(const __m256 a[4], __m256 tail[4])
{
#define CS_FIRST(i) tail[i] = _mm256_set1_ps(-2.626523145e-06f);
#define CS_TERM(i)  tail[i] = _mm256_fmadd_ps(tail[i], a[i], c);
#define CS_TIMES(i) tail[i] = _mm256_mul_ps(tail[i], a[i]);
    CS_FOUR(CS_FIRST)
    CS_NEXT(3.690655509e-05f);
    CS_NEXT(-1.745858340e-04f);
    CS_NEXT(-1.644816114e-04f);
    CS_NEXT(7.098569331e-03f);
    CS_NEXT(-5.251963282e-02f);
    CS_NEXT(-4.592009430e-01f);
    CS_NEXT(-1.151105945e+00f);
    CS_FOUR(CS_TIMES)
    cs_exp2_avx2(tail, 0.5f);
#undef CS_FIRST
#undef CS_TERM
#undef CS_TIMES
#undef CS_NEXT
}

/* x = gelu(x) */
CS_AVX2 void cs_gelu_four(__m256 x[4])
{
    __m256 a[4], tail[4];
#define CS_CLAMP(i) a[i] = cs_gelu_clamp(x[i]);
#define CS_GELU(i) \
    x[i] = _mm256_fnmadd_ps(a[i], tail[i], _mm256_max_ps(_mm256_setzero_ps(), x[i]));
    CS_FOUR(CS_CLAMP)
    cs_gelu_tail(a, tail);
    CS_FOUR(CS_GELU)
#undef CS_GELU
}

CS_AVX2 __m256 cs_gelu_avx2(__m256 x)
{
    __m256 v[4] = { x, x, x, x };
    cs_gelu_four(v);
    return v[0];
}

/* x = gelu(x), and slope = gelu'(x) = Phi(x) + x phi(x) */
CS_AVX2 void cs_gelu_slope_four(__m256 x[4], __m256 slope[4])
{
    const __m256 sign = _mm256_set1_ps(-0.0f), one = _mm256_set1_ps(1.0f);
    __m256 a[4], tail[4], pdf[4];
#define CS_SQUARE(i) \
    pdf[i] = _mm256_mul_ps(_mm256_mul_ps(a[i], a[i]), _mm256_set1_ps(-0.72134752f));
#define CS_SLOPE(i) do {                                                                  \
        __m256 cdf = _mm256_blendv_ps(_mm256_sub_ps(one, tail[i]), tail[i], x[i]);        \
        __m256 signed_a = _mm256_or_ps(a[i], _mm256_and_ps(x[i], sign));                  \
        slope[i] = _mm256_fmadd_ps(signed_a, pdf[i], cdf);                                \
        x[i] = _mm256_fnmadd_ps(a[i], tail[i], _mm256_max_ps(_mm256_setzero_ps(), x[i])); \
    } while (0);
    CS_FOUR(CS_CLAMP)
    cs_gelu_tail(a, tail);
    CS_FOUR(CS_SQUARE)
    cs_exp2_avx2(pdf, 0.39894228f);
    CS_FOUR(CS_SLOPE)
#undef CS_CLAMP
#undef CS_SQUARE
#undef CS_SLOPE
}

CS_AVX2 __m256 cs_gelu_slope_avx2(__m256 x, __m256 *slope)
{
    __m256 v[4] = { x, x, x, x }, s[4];
    cs_gelu_slope_four(v, s);
    *slope = s[0];
    return v[0];
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

/** cs_mean_rows - y = mean of rows r0 .. r1-1 (zeros if there are none), the same for any number of
 * threads */
void cs_mean_rows(cs_mat x, int64_t r0, int64_t r1, int n_thread, float *y);

#endif

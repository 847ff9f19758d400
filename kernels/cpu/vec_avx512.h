/* vec_avx512.h - sixteen floats at a time, with AVX-512 F, BW, DQ and VL: see vec.h. */
#ifndef CS_KERNELS_CPU_VEC_AVX512_H
#define CS_KERNELS_CPU_VEC_AVX512_H
#ifdef __AVX512DQ__

#include <immintrin.h>
#include <stdint.h>

#include "kernels/cpu/level.h"

enum { CS_VEC = 16, CS_STRIP = 12, CS_STRIP_EDGE = 8 };

typedef __m512    cs_vec;
typedef __mmask16 cs_vmask;
typedef __m128    cs_quad;
typedef __m256    cs_acc8;
typedef struct cs_dvec { __m512d lo, hi; } cs_dvec;
typedef struct cs_squares { __m256d lo, hi; } cs_squares;

CS_INLINE cs_vec cs_vset(float v)                         { return _mm512_set1_ps(v); }
CS_INLINE cs_vec cs_vload(const float *p)                 { return _mm512_loadu_ps(p); }
CS_INLINE void   cs_vstore(float *p, cs_vec v)            { _mm512_storeu_ps(p, v); }
CS_INLINE cs_vec cs_vadd(cs_vec a, cs_vec b)              { return _mm512_add_ps(a, b); }
CS_INLINE cs_vec cs_vsub(cs_vec a, cs_vec b)              { return _mm512_sub_ps(a, b); }
CS_INLINE cs_vec cs_vmul(cs_vec a, cs_vec b)              { return _mm512_mul_ps(a, b); }
CS_INLINE cs_vec cs_vdiv(cs_vec a, cs_vec b)              { return _mm512_div_ps(a, b); }
CS_INLINE cs_vec cs_vsqrt(cs_vec a)                       { return _mm512_sqrt_ps(a); }
CS_INLINE cs_vec cs_vmax(cs_vec a, cs_vec b)              { return _mm512_max_ps(a, b); }
CS_INLINE cs_vec cs_vmin(cs_vec a, cs_vec b)              { return _mm512_min_ps(a, b); }
CS_INLINE cs_vec cs_vfma(cs_vec a, cs_vec b, cs_vec c)    { return _mm512_fmadd_ps(a, b, c); }
CS_INLINE cs_vec cs_vfms(cs_vec a, cs_vec b, cs_vec c)    { return _mm512_fmsub_ps(a, b, c); }
CS_INLINE cs_vec cs_vfnma(cs_vec a, cs_vec b, cs_vec c)   { return _mm512_fnmadd_ps(a, b, c); }
CS_INLINE cs_vec cs_vabs(cs_vec a)                        { return _mm512_abs_ps(a); }

CS_INLINE cs_vec cs_vsigned(cs_vec a, cs_vec sign)
{
    return _mm512_or_ps(a, _mm512_and_ps(sign, _mm512_set1_ps(-0.0f)));
}

CS_INLINE cs_vec cs_vnegative(cs_vec x, cs_vec a, cs_vec b)
{
    return _mm512_mask_blend_ps(_mm512_movepi32_mask(_mm512_castps_si512(x)), b, a);
}

CS_INLINE cs_vec cs_vpositive(cs_vec x, cs_vec v)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), v);
}

CS_INLINE cs_vec cs_vexponent(cs_vec v, cs_vec t)
{
    return _mm512_castsi512_ps(_mm512_add_epi32(
        _mm512_castps_si512(v), _mm512_slli_epi32(_mm512_castps_si512(t), 23)));
}

CS_INLINE cs_vec cs_constant(float v)
{
    __m512 c = _mm512_set1_ps(v);
    __asm__("" : "+v"(c));
    return c;
}

/* ---- masked lanes --------------------------------------------------------------------------- */

CS_INLINE cs_vmask cs_first(int n)
{
    return (cs_vmask)((1u << (n > 0 ? n : 0)) - 1);
}

CS_INLINE cs_vec cs_vload_first(cs_vmask m, const float *p) { return _mm512_maskz_loadu_ps(m, p); }
CS_INLINE void cs_vstore_first(cs_vmask m, float *p, cs_vec v)
{
    _mm512_mask_storeu_ps(p, m, v);
}

CS_INLINE cs_vec cs_vmerge(cs_vmask m, cs_vec v, cs_vec rest)
{
    return _mm512_mask_blend_ps(m, rest, v);
}

/* ---- across lanes --------------------------------------------------------------------------- */

CS_INLINE float cs_vlargest(cs_vec v)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
}

CS_INLINE cs_acc8 cs_acc8_zero(void)                     { return _mm256_setzero_ps(); }
CS_INLINE void cs_acc8_store(float *p, cs_acc8 t)        { _mm256_storeu_ps(p, t); }

CS_INLINE cs_acc8 cs_acc8_add(cs_acc8 t, cs_vec v, int64_t j)
{
    (void)j;
    t = _mm256_add_ps(t, _mm512_castps512_ps256(v));
    return _mm256_add_ps(t, _mm512_extractf32x8_ps(v, 1));
}

CS_INLINE cs_acc8 cs_acc8_fma(cs_acc8 t, cs_vec a, cs_vec b, int64_t j)
{
    (void)j;
    t = _mm256_fmadd_ps(_mm512_castps512_ps256(a), _mm512_castps512_ps256(b), t);
    return _mm256_fmadd_ps(_mm512_extractf32x8_ps(a, 1), _mm512_extractf32x8_ps(b, 1), t);
}

CS_INLINE float cs_acc8_sum(cs_acc8 t)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/* ---- doubles -------------------------------------------------------------------------------- */

CS_INLINE cs_dvec cs_dvec_set(double v)
{
    return (cs_dvec){ _mm512_set1_pd(v), _mm512_set1_pd(v) };
}

CS_INLINE cs_dvec cs_dvec_load(const double *p)
{
    return (cs_dvec){ _mm512_loadu_pd(p), _mm512_loadu_pd(p + 8) };
}

CS_INLINE void cs_dvec_store(double *p, cs_dvec w)
{
    _mm512_storeu_pd(p, w.lo);
    _mm512_storeu_pd(p + 8, w.hi);
}

CS_INLINE cs_dvec cs_to_dvec(cs_vec v)
{
    return (cs_dvec){ _mm512_cvtps_pd(_mm512_castps512_ps256(v)),
                      _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)) };
}

CS_INLINE cs_vec cs_to_vec(cs_dvec w)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(w.lo)),
                              _mm512_cvtpd_ps(w.hi), 1);
}

CS_INLINE cs_dvec cs_dvec_add(cs_dvec a, cs_dvec b)
{
    return (cs_dvec){ _mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi) };
}

CS_INLINE cs_dvec cs_dvec_sub(cs_dvec a, cs_dvec b)
{
    return (cs_dvec){ _mm512_sub_pd(a.lo, b.lo), _mm512_sub_pd(a.hi, b.hi) };
}

CS_INLINE cs_dvec cs_dvec_mul(cs_dvec a, cs_dvec b)
{
    return (cs_dvec){ _mm512_mul_pd(a.lo, b.lo), _mm512_mul_pd(a.hi, b.hi) };
}

CS_INLINE cs_dvec cs_dvec_fma(cs_dvec a, cs_dvec b, cs_dvec c)
{
    return (cs_dvec){ _mm512_fmadd_pd(a.lo, b.lo, c.lo), _mm512_fmadd_pd(a.hi, b.hi, c.hi) };
}

CS_INLINE cs_squares cs_squares_zero(void)
{
    return (cs_squares){ _mm256_setzero_pd(), _mm256_setzero_pd() };
}

CS_INLINE cs_squares cs_squares_add(cs_squares q, cs_vec v, int64_t j)
{
    const cs_dvec w = cs_to_dvec(v);
    const __m256d a = _mm512_castpd512_pd256(w.lo), b = _mm512_extractf64x4_pd(w.lo, 1);
    const __m256d c = _mm512_castpd512_pd256(w.hi), d = _mm512_extractf64x4_pd(w.hi, 1);
    (void)j;
    q = (cs_squares){ _mm256_fmadd_pd(a, a, q.lo), _mm256_fmadd_pd(b, b, q.hi) };
    return (cs_squares){ _mm256_fmadd_pd(c, c, q.lo), _mm256_fmadd_pd(d, d, q.hi) };
}

CS_INLINE double cs_squares_sum(cs_squares q)
{
    double s[4];
    _mm256_storeu_pd(s, _mm256_add_pd(q.lo, q.hi));
    return s[0] + s[1] + s[2] + s[3];
}

/* ---- quads ---------------------------------------------------------------------------------- */

CS_INLINE cs_quad cs_qload(const float *p)             { return _mm_loadu_ps(p); }
CS_INLINE void    cs_qstore(float *p, cs_quad v)       { _mm_storeu_ps(p, v); }
CS_INLINE cs_quad cs_qadd(cs_quad a, cs_quad b)        { return _mm_add_ps(a, b); }

CS_INLINE cs_vec cs_vquads(const float *p, int64_t ld)
{
    const __m512 a = _mm512_insertf32x4(_mm512_castps128_ps512(_mm_loadu_ps(p)),
                                        _mm_loadu_ps(p + ld), 1);
    return _mm512_insertf32x4(_mm512_insertf32x4(a, _mm_loadu_ps(p + 2 * ld), 2),
                              _mm_loadu_ps(p + 3 * ld), 3);
}

CS_INLINE cs_quad cs_vquad(cs_vec v, const int i)
{
    return i == 0 ? _mm512_castps512_ps128(v) : i == 1 ? _mm512_extractf32x4_ps(v, 1)
         : i == 2 ? _mm512_extractf32x4_ps(v, 2) : _mm512_extractf32x4_ps(v, 3);
}

#define CS_VEC_JOINS 4
CS_INLINE cs_vec cs_vjoin(const cs_vec v[4], const int i)
{
    __m512 a, b;
    if (i < 2) {
        a = _mm512_shuffle_f32x4(v[0], v[1], 0x44);
        b = _mm512_shuffle_f32x4(v[2], v[3], 0x44);
    } else {
        a = _mm512_shuffle_f32x4(v[0], v[1], 0xee);
        b = _mm512_shuffle_f32x4(v[2], v[3], 0xee);
    }
    return i % 2 == 0 ? _mm512_shuffle_f32x4(a, b, 0x88) : _mm512_shuffle_f32x4(a, b, 0xdd);
}

/* Transposes four blocks of four by four at once (AVX2: two). */
CS_INLINE void cs_vtranspose(const float *b, int64_t sj, float *out, int64_t width)
{
    __m512 r[16], t[16];
    for (int j = 0; j < 16; j++)
        r[j] = _mm512_loadu_ps(b + j * sj);
    for (int j = 0; j < 16; j += 2) {                    /* interleave pairs of columns */
        t[j] = _mm512_unpacklo_ps(r[j], r[j + 1]);
        t[j + 1] = _mm512_unpackhi_ps(r[j], r[j + 1]);
    }
    for (int j = 0; j < 16; j += 4) {                    /* then groups of four */
        r[j] = _mm512_shuffle_ps(t[j], t[j + 2], 0x44);
        r[j + 1] = _mm512_shuffle_ps(t[j], t[j + 2], 0xee);
        r[j + 2] = _mm512_shuffle_ps(t[j + 1], t[j + 3], 0x44);
        r[j + 3] = _mm512_shuffle_ps(t[j + 1], t[j + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        const __m512 v[4] = { r[i], r[i + 4], r[i + 8], r[i + 12] };
        for (int q = 0; q < 4; q++)
            _mm512_storeu_ps(out + (4 * q + i) * width, cs_vjoin(v, q));
    }
}

#endif
#endif

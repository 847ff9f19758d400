/* vec_avx2.h - eight floats at a time, with AVX2 and FMA: see vec.h. */
#ifndef CS_KERNELS_CPU_VEC_AVX2_H
#define CS_KERNELS_CPU_VEC_AVX2_H
#ifdef __AVX2__

#include <immintrin.h>
#include <stdint.h>

#include "kernels/cpu/level.h"

enum { CS_VEC = 8, CS_STRIP = 6, CS_STRIP_EDGE = 4 };

typedef __m256  cs_vec;
typedef __m256i cs_vmask;
typedef __m128  cs_quad;
typedef __m256  cs_acc8;
typedef struct cs_dvec { __m256d lo, hi; } cs_dvec;
typedef cs_dvec cs_squares;

CS_INLINE cs_vec cs_vset(float v)                         { return _mm256_set1_ps(v); }
CS_INLINE cs_vec cs_vload(const float *p)                 { return _mm256_loadu_ps(p); }
CS_INLINE void   cs_vstore(float *p, cs_vec v)            { _mm256_storeu_ps(p, v); }
CS_INLINE cs_vec cs_vadd(cs_vec a, cs_vec b)              { return _mm256_add_ps(a, b); }
CS_INLINE cs_vec cs_vsub(cs_vec a, cs_vec b)              { return _mm256_sub_ps(a, b); }
CS_INLINE cs_vec cs_vmul(cs_vec a, cs_vec b)              { return _mm256_mul_ps(a, b); }
CS_INLINE cs_vec cs_vdiv(cs_vec a, cs_vec b)              { return _mm256_div_ps(a, b); }
CS_INLINE cs_vec cs_vsqrt(cs_vec a)                       { return _mm256_sqrt_ps(a); }
CS_INLINE cs_vec cs_vmax(cs_vec a, cs_vec b)              { return _mm256_max_ps(a, b); }
CS_INLINE cs_vec cs_vmin(cs_vec a, cs_vec b)              { return _mm256_min_ps(a, b); }
CS_INLINE cs_vec cs_vfma(cs_vec a, cs_vec b, cs_vec c)    { return _mm256_fmadd_ps(a, b, c); }
CS_INLINE cs_vec cs_vfms(cs_vec a, cs_vec b, cs_vec c)    { return _mm256_fmsub_ps(a, b, c); }
CS_INLINE cs_vec cs_vfnma(cs_vec a, cs_vec b, cs_vec c)   { return _mm256_fnmadd_ps(a, b, c); }

CS_INLINE cs_vec cs_vabs(cs_vec a)
{
    return _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)));
}

CS_INLINE cs_vec cs_vsigned(cs_vec a, cs_vec sign)
{
    return _mm256_or_ps(a, _mm256_and_ps(sign, _mm256_set1_ps(-0.0f)));
}

CS_INLINE cs_vec cs_vnegative(cs_vec x, cs_vec a, cs_vec b)
{
    return _mm256_blendv_ps(b, a, x);
}

CS_INLINE cs_vec cs_vpositive(cs_vec x, cs_vec v)
{
    return _mm256_and_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ), v);
}

CS_INLINE cs_vec cs_vexponent(cs_vec v, cs_vec t)
{
    return _mm256_castsi256_ps(_mm256_add_epi32(
        _mm256_castps_si256(v), _mm256_slli_epi32(_mm256_castps_si256(t), 23)));
}

CS_INLINE cs_vec cs_constant(float v)
{
    __m256 c = _mm256_set1_ps(v);
    __asm__("" : "+x"(c));
    return c;
}

/* ---- masked lanes --------------------------------------------------------------------------- */

CS_INLINE cs_vmask cs_first(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

CS_INLINE cs_vec cs_vload_first(cs_vmask m, const float *p)  { return _mm256_maskload_ps(p, m); }
CS_INLINE void   cs_vstore_first(cs_vmask m, float *p, cs_vec v) { _mm256_maskstore_ps(p, m, v); }

CS_INLINE cs_vec cs_vmerge(cs_vmask m, cs_vec v, cs_vec rest)
{
    return _mm256_blendv_ps(rest, v, _mm256_castsi256_ps(m));
}

/* ---- across lanes --------------------------------------------------------------------------- */

CS_INLINE cs_acc8 cs_acc8_zero(void)                     { return _mm256_setzero_ps(); }
CS_INLINE void cs_acc8_store(float *p, cs_acc8 t)        { _mm256_storeu_ps(p, t); }

CS_INLINE cs_acc8 cs_acc8_add(cs_acc8 t, cs_vec v, int64_t j)
{
    (void)j;
    return _mm256_add_ps(t, v);
}

CS_INLINE cs_acc8 cs_acc8_fma(cs_acc8 t, cs_vec a, cs_vec b, int64_t j)
{
    (void)j;
    return _mm256_fmadd_ps(a, b, t);
}

CS_INLINE float cs_acc8_sum(cs_acc8 t)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

CS_INLINE float cs_vlargest(cs_vec v)
{
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
}

/* ---- doubles -------------------------------------------------------------------------------- */

CS_INLINE cs_dvec cs_dvec_set(double v)
{
    return (cs_dvec){ _mm256_set1_pd(v), _mm256_set1_pd(v) };
}

CS_INLINE cs_dvec cs_dvec_load(const double *p)
{
    return (cs_dvec){ _mm256_loadu_pd(p), _mm256_loadu_pd(p + 4) };
}

CS_INLINE void cs_dvec_store(double *p, cs_dvec w)
{
    _mm256_storeu_pd(p, w.lo);
    _mm256_storeu_pd(p + 4, w.hi);
}

CS_INLINE cs_dvec cs_to_dvec(cs_vec v)
{
    return (cs_dvec){ _mm256_cvtps_pd(_mm256_castps256_ps128(v)),
                      _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)) };
}

CS_INLINE cs_vec cs_to_vec(cs_dvec w)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(w.hi), _mm256_cvtpd_ps(w.lo));
}

CS_INLINE cs_dvec cs_dvec_add(cs_dvec a, cs_dvec b)
{
    return (cs_dvec){ _mm256_add_pd(a.lo, b.lo), _mm256_add_pd(a.hi, b.hi) };
}

CS_INLINE cs_dvec cs_dvec_sub(cs_dvec a, cs_dvec b)
{
    return (cs_dvec){ _mm256_sub_pd(a.lo, b.lo), _mm256_sub_pd(a.hi, b.hi) };
}

CS_INLINE cs_dvec cs_dvec_mul(cs_dvec a, cs_dvec b)
{
    return (cs_dvec){ _mm256_mul_pd(a.lo, b.lo), _mm256_mul_pd(a.hi, b.hi) };
}

CS_INLINE cs_dvec cs_dvec_fma(cs_dvec a, cs_dvec b, cs_dvec c)
{
    return (cs_dvec){ _mm256_fmadd_pd(a.lo, b.lo, c.lo), _mm256_fmadd_pd(a.hi, b.hi, c.hi) };
}

CS_INLINE cs_squares cs_squares_zero(void)                { return cs_dvec_set(0); }

CS_INLINE cs_squares cs_squares_add(cs_squares q, cs_vec v, int64_t j)
{
    const cs_dvec w = cs_to_dvec(v);
    (void)j;
    return cs_dvec_fma(w, w, q);
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
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + ld), 1);
}

CS_INLINE cs_quad cs_vquad(cs_vec v, const int i)
{
    return i == 0 ? _mm256_castps256_ps128(v) : _mm256_extractf128_ps(v, 1);
}

#define CS_VEC_JOINS 2
CS_INLINE cs_vec cs_vjoin(const cs_vec v[2], const int i)
{
    return i == 0 ? _mm256_permute2f128_ps(v[0], v[1], 0x20)
                  : _mm256_permute2f128_ps(v[0], v[1], 0x31);
}

CS_INLINE void cs_vtranspose(const float *b, int64_t sj, float *out, int64_t width)
{
    __m256 r[8], t[8];
    for (int j = 0; j < 8; j++)
        r[j] = _mm256_loadu_ps(b + j * sj);
    for (int j = 0; j < 8; j += 2) {                     /* interleave pairs of columns */
        t[j] = _mm256_unpacklo_ps(r[j], r[j + 1]);
        t[j + 1] = _mm256_unpackhi_ps(r[j], r[j + 1]);
    }
    for (int j = 0; j < 8; j += 4) {                     /* then groups of four */
        r[j] = _mm256_shuffle_ps(t[j], t[j + 2], 0x44);
        r[j + 1] = _mm256_shuffle_ps(t[j], t[j + 2], 0xee);
        r[j + 2] = _mm256_shuffle_ps(t[j + 1], t[j + 3], 0x44);
        r[j + 3] = _mm256_shuffle_ps(t[j + 1], t[j + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(out + i * width, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * width, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

#endif
#endif

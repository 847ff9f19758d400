/* vec_neon.h - four floats at a time, with NEON on aarch64: see vec.h. */
#ifndef CS_KERNELS_CPU_VEC_NEON_H
#define CS_KERNELS_CPU_VEC_NEON_H
#ifdef __aarch64__

#include <arm_neon.h>
#include <stdint.h>

#include "kernels/cpu/level.h"

/* At level bfmmla the compiler loads all rows of a strip first, for which twelve leave no room. */
enum { CS_VEC = 4, CS_STRIP = CS_LEVEL_IS(bfmmla) ? 8 : 12,
       CS_STRIP_EDGE = CS_LEVEL_IS(bfmmla) ? 6 : 8 };

typedef float32x4_t cs_vec;
typedef int cs_vmask;            /* number of lanes */
typedef float32x4_t cs_quad;
typedef struct cs_dvec { float64x2_t lo, hi; } cs_dvec;
typedef struct cs_acc8 { float32x4_t v[2]; } cs_acc8;
typedef struct cs_squares { cs_dvec v[2]; } cs_squares;

CS_INLINE cs_vec cs_vset(float v)                         { return vdupq_n_f32(v); }
CS_INLINE cs_vec cs_vload(const float *p)                 { return vld1q_f32(p); }
CS_INLINE void   cs_vstore(float *p, cs_vec v)            { vst1q_f32(p, v); }
CS_INLINE cs_vec cs_vadd(cs_vec a, cs_vec b)              { return vaddq_f32(a, b); }
CS_INLINE cs_vec cs_vsub(cs_vec a, cs_vec b)              { return vsubq_f32(a, b); }
CS_INLINE cs_vec cs_vmul(cs_vec a, cs_vec b)              { return vmulq_f32(a, b); }
CS_INLINE cs_vec cs_vdiv(cs_vec a, cs_vec b)              { return vdivq_f32(a, b); }
CS_INLINE cs_vec cs_vsqrt(cs_vec a)                       { return vsqrtq_f32(a); }
CS_INLINE cs_vec cs_vabs(cs_vec a)                        { return vabsq_f32(a); }
CS_INLINE cs_vec cs_vfma(cs_vec a, cs_vec b, cs_vec c)    { return vfmaq_f32(c, a, b); }
CS_INLINE cs_vec cs_vfms(cs_vec a, cs_vec b, cs_vec c)    { return vfmaq_f32(vnegq_f32(c), a, b); }
CS_INLINE cs_vec cs_vfnma(cs_vec a, cs_vec b, cs_vec c)   { return vfmsq_f32(c, a, b); }

/* Not vmaxq_f32() and vminq_f32(): these return a NaN if either operand is one. */
CS_INLINE cs_vec cs_vmax(cs_vec a, cs_vec b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

CS_INLINE cs_vec cs_vmin(cs_vec a, cs_vec b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

CS_INLINE cs_vec cs_vsigned(cs_vec a, cs_vec s)
{
    return vbslq_f32(vdupq_n_u32(0x80000000u), s, a);
}

CS_INLINE cs_vec cs_vnegative(cs_vec x, cs_vec a, cs_vec b)
{
    return vbslq_f32(vcltzq_s32(vreinterpretq_s32_f32(x)), a, b);
}

CS_INLINE cs_vec cs_vpositive(cs_vec x, cs_vec v)
{
    return vbslq_f32(vcgtzq_f32(x), v, vdupq_n_f32(0));
}

CS_INLINE cs_vec cs_vexponent(cs_vec v, cs_vec t)
{
    return vreinterpretq_f32_u32(vaddq_u32(vreinterpretq_u32_f32(v),
                                           vshlq_n_u32(vreinterpretq_u32_f32(t), 23)));
}

CS_INLINE cs_vec cs_constant(float v)
{
    float32x4_t c = vdupq_n_f32(v);
    __asm__("" : "+w"(c));
    return c;
}

/* ---- masked lanes --------------------------------------------------------------------------- */

CS_INLINE cs_vmask cs_first(int n)                        { return n; }

CS_INLINE cs_vec cs_vload_first(cs_vmask m, const float *p)
{
    float v[4] = { 0 };
    for (int i = 0; i < m; i++)
        v[i] = p[i];
    return vld1q_f32(v);
}

CS_INLINE void cs_vstore_first(cs_vmask m, float *p, cs_vec a)
{
    float v[4];
    vst1q_f32(v, a);
    for (int i = 0; i < m; i++)
        p[i] = v[i];
}

CS_INLINE cs_vec cs_vmerge(cs_vmask m, cs_vec v, cs_vec rest)
{
    static const int32_t lane[4] = { 0, 1, 2, 3 };
    return vbslq_f32(vcgtq_s32(vdupq_n_s32(m), vld1q_s32(lane)), v, rest);
}

/* ---- across lanes --------------------------------------------------------------------------- */

CS_INLINE float cs_vlargest(cs_vec v)                     { return vmaxvq_f32(v); }

CS_INLINE cs_acc8 cs_acc8_zero(void)
{
    return (cs_acc8){ { vdupq_n_f32(0), vdupq_n_f32(0) } };
}

CS_INLINE void cs_acc8_store(float *p, cs_acc8 t)
{
    vst1q_f32(p, t.v[0]);
    vst1q_f32(p + 4, t.v[1]);
}

CS_INLINE cs_acc8 cs_acc8_add(cs_acc8 t, cs_vec v, int64_t j)
{
    t.v[j / 4 % 2] = vaddq_f32(t.v[j / 4 % 2], v);
    return t;
}

CS_INLINE cs_acc8 cs_acc8_fma(cs_acc8 t, cs_vec a, cs_vec b, int64_t j)
{
    t.v[j / 4 % 2] = vfmaq_f32(t.v[j / 4 % 2], a, b);
    return t;
}

CS_INLINE float cs_acc8_sum(cs_acc8 t)
{
    const float32x4_t s = vaddq_f32(t.v[0], t.v[1]);
    const float32x2_t h = vadd_f32(vget_low_f32(s), vget_high_f32(s));
    return vget_lane_f32(h, 0) + vget_lane_f32(h, 1);
}

/* ---- doubles -------------------------------------------------------------------------------- */

CS_INLINE cs_dvec cs_dvec_set(double v)
{
    return (cs_dvec){ vdupq_n_f64(v), vdupq_n_f64(v) };
}

CS_INLINE cs_dvec cs_dvec_load(const double *p)
{
    return (cs_dvec){ vld1q_f64(p), vld1q_f64(p + 2) };
}

CS_INLINE void cs_dvec_store(double *p, cs_dvec w)
{
    vst1q_f64(p, w.lo);
    vst1q_f64(p + 2, w.hi);
}

CS_INLINE cs_dvec cs_to_dvec(cs_vec v)
{
    return (cs_dvec){ vcvt_f64_f32(vget_low_f32(v)), vcvt_high_f64_f32(v) };
}

CS_INLINE cs_vec cs_to_vec(cs_dvec w)
{
    return vcvt_high_f32_f64(vcvt_f32_f64(w.lo), w.hi);
}

CS_INLINE cs_dvec cs_dvec_add(cs_dvec a, cs_dvec b)
{
    return (cs_dvec){ vaddq_f64(a.lo, b.lo), vaddq_f64(a.hi, b.hi) };
}

CS_INLINE cs_dvec cs_dvec_sub(cs_dvec a, cs_dvec b)
{
    return (cs_dvec){ vsubq_f64(a.lo, b.lo), vsubq_f64(a.hi, b.hi) };
}

CS_INLINE cs_dvec cs_dvec_mul(cs_dvec a, cs_dvec b)
{
    return (cs_dvec){ vmulq_f64(a.lo, b.lo), vmulq_f64(a.hi, b.hi) };
}

CS_INLINE cs_dvec cs_dvec_fma(cs_dvec a, cs_dvec b, cs_dvec c)
{
    return (cs_dvec){ vfmaq_f64(c.lo, a.lo, b.lo), vfmaq_f64(c.hi, a.hi, b.hi) };
}

CS_INLINE cs_squares cs_squares_zero(void)
{
    return (cs_squares){ { cs_dvec_set(0), cs_dvec_set(0) } };
}

CS_INLINE cs_squares cs_squares_add(cs_squares q, cs_vec v, int64_t j)
{
    const cs_dvec w = cs_to_dvec(v);
    q.v[j / 4 % 2] = cs_dvec_fma(w, w, q.v[j / 4 % 2]);
    return q;
}

CS_INLINE double cs_squares_sum(cs_squares q)
{
    double s[4];
    cs_dvec_store(s, cs_dvec_add(q.v[0], q.v[1]));
    return s[0] + s[1] + s[2] + s[3];
}

/* ---- quads ---------------------------------------------------------------------------------- */

CS_INLINE cs_quad cs_qload(const float *p)                { return vld1q_f32(p); }
CS_INLINE void    cs_qstore(float *p, cs_quad v)          { vst1q_f32(p, v); }
CS_INLINE cs_quad cs_qadd(cs_quad a, cs_quad b)           { return vaddq_f32(a, b); }

#define CS_VEC_JOINS 1
CS_INLINE cs_quad cs_vquad(cs_vec v, const int i)         { (void)i; return v; }
CS_INLINE cs_vec  cs_vquads(const float *p, int64_t ld)   { (void)ld; return vld1q_f32(p); }
CS_INLINE cs_vec  cs_vjoin(const cs_vec *v, const int i)  { (void)i; return v[0]; }

CS_INLINE void cs_vtranspose(const float *b, int64_t sj, float *out, int64_t width)
{
    const float32x4x2_t p = vtrnq_f32(vld1q_f32(b), vld1q_f32(b + sj));
    const float32x4x2_t q = vtrnq_f32(vld1q_f32(b + 2 * sj), vld1q_f32(b + 3 * sj));
    for (int i = 0; i < 2; i++) {
        vst1q_f32(out + i * width, vcombine_f32(vget_low_f32(p.val[i]), vget_low_f32(q.val[i])));
        vst1q_f32(out + (i + 2) * width,
                  vcombine_f32(vget_high_f32(p.val[i]), vget_high_f32(q.val[i])));
    }
}

#endif
#endif

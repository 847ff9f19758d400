/* vec_any.h - four floats at a time in plain C, to test the vectorised sources on any CPU: see
 * vec.h.
 *
 * Without a hardware fused multiply-add, libm computes it: exact but slow.
 */
#ifndef CS_KERNELS_CPU_VEC_ANY_H
#define CS_KERNELS_CPU_VEC_ANY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/level.h"

enum { CS_VEC = 4, CS_STRIP = 6, CS_STRIP_EDGE = 4 };

typedef struct cs_vec { float v[4]; } cs_vec;
typedef int cs_vmask;            /* number of lanes */
typedef cs_vec cs_quad;
typedef struct cs_dvec { double v[4]; } cs_dvec;
typedef struct cs_acc8 { float v[8]; } cs_acc8;
typedef struct cs_squares { double v[8]; } cs_squares;

#define CS_EACH_LANE(type, expression)                                                       \
    type r;                                                                                  \
    for (int i = 0; i < CS_VEC; i++)                                                         \
        r.v[i] = (expression);                                                               \
    return r;

CS_INLINE cs_vec cs_vset(float v)                        { CS_EACH_LANE(cs_vec, v) }
CS_INLINE cs_vec cs_constant(float v)                    { return cs_vset(v); }
CS_INLINE cs_vec cs_vload(const float *p)                { CS_EACH_LANE(cs_vec, p[i]) }
CS_INLINE void   cs_vstore(float *p, cs_vec v)           { memcpy(p, v.v, sizeof v.v); }
CS_INLINE cs_vec cs_vadd(cs_vec a, cs_vec b)             { CS_EACH_LANE(cs_vec, a.v[i] + b.v[i]) }
CS_INLINE cs_vec cs_vsub(cs_vec a, cs_vec b)             { CS_EACH_LANE(cs_vec, a.v[i] - b.v[i]) }
CS_INLINE cs_vec cs_vmul(cs_vec a, cs_vec b)             { CS_EACH_LANE(cs_vec, a.v[i] * b.v[i]) }
CS_INLINE cs_vec cs_vdiv(cs_vec a, cs_vec b)             { CS_EACH_LANE(cs_vec, a.v[i] / b.v[i]) }
CS_INLINE cs_vec cs_vsqrt(cs_vec a)                      { CS_EACH_LANE(cs_vec, sqrtf(a.v[i])) }
CS_INLINE cs_vec cs_vabs(cs_vec a)                       { CS_EACH_LANE(cs_vec, fabsf(a.v[i])) }

CS_INLINE cs_vec cs_vmax(cs_vec a, cs_vec b)
{
    CS_EACH_LANE(cs_vec, a.v[i] > b.v[i] ? a.v[i] : b.v[i])
}

CS_INLINE cs_vec cs_vmin(cs_vec a, cs_vec b)
{
    CS_EACH_LANE(cs_vec, a.v[i] < b.v[i] ? a.v[i] : b.v[i])
}

CS_INLINE cs_vec cs_vfma(cs_vec a, cs_vec b, cs_vec c)
{
    CS_EACH_LANE(cs_vec, fmaf(a.v[i], b.v[i], c.v[i]))
}

CS_INLINE cs_vec cs_vfms(cs_vec a, cs_vec b, cs_vec c)
{
    CS_EACH_LANE(cs_vec, fmaf(a.v[i], b.v[i], -c.v[i]))
}

CS_INLINE cs_vec cs_vfnma(cs_vec a, cs_vec b, cs_vec c)
{
    CS_EACH_LANE(cs_vec, fmaf(-a.v[i], b.v[i], c.v[i]))
}

CS_INLINE cs_vec cs_vsigned(cs_vec a, cs_vec s)
{
    CS_EACH_LANE(cs_vec, copysignf(a.v[i], s.v[i]))
}

CS_INLINE cs_vec cs_vnegative(cs_vec x, cs_vec a, cs_vec b)
{
    CS_EACH_LANE(cs_vec, signbit(x.v[i]) ? a.v[i] : b.v[i])
}

CS_INLINE cs_vec cs_vpositive(cs_vec x, cs_vec v)
{
    CS_EACH_LANE(cs_vec, x.v[i] > 0 ? v.v[i] : 0)
}

CS_INLINE cs_vec cs_vexponent(cs_vec v, cs_vec t)
{
    for (int i = 0; i < CS_VEC; i++) {
        uint32_t a, b;
        memcpy(&a, &v.v[i], sizeof a);
        memcpy(&b, &t.v[i], sizeof b);
        a += b << 23;
        memcpy(&v.v[i], &a, sizeof a);
    }
    return v;
}

/* ---- masked lanes --------------------------------------------------------------------------- */

CS_INLINE cs_vmask cs_first(int n)                       { return n; }

CS_INLINE cs_vec cs_vload_first(cs_vmask m, const float *p)
{
    CS_EACH_LANE(cs_vec, i < m ? p[i] : 0)
}

CS_INLINE void cs_vstore_first(cs_vmask m, float *p, cs_vec v)
{
    for (int i = 0; i < m; i++)
        p[i] = v.v[i];
}

CS_INLINE cs_vec cs_vmerge(cs_vmask m, cs_vec v, cs_vec rest)
{
    CS_EACH_LANE(cs_vec, i < m ? v.v[i] : rest.v[i])
}

/* ---- across lanes --------------------------------------------------------------------------- */

CS_INLINE float cs_vlargest(cs_vec v)
{
    return fmaxf(fmaxf(v.v[0], v.v[2]), fmaxf(v.v[1], v.v[3]));
}

CS_INLINE cs_acc8 cs_acc8_zero(void)                     { return (cs_acc8){ { 0 } }; }
CS_INLINE void cs_acc8_store(float *p, cs_acc8 t)        { memcpy(p, t.v, sizeof t.v); }

CS_INLINE cs_acc8 cs_acc8_add(cs_acc8 t, cs_vec v, int64_t j)
{
    for (int i = 0; i < CS_VEC; i++)
        t.v[j % 8 + i] += v.v[i];
    return t;
}

CS_INLINE cs_acc8 cs_acc8_fma(cs_acc8 t, cs_vec a, cs_vec b, int64_t j)
{
    for (int i = 0; i < CS_VEC; i++)
        t.v[j % 8 + i] = fmaf(a.v[i], b.v[i], t.v[j % 8 + i]);
    return t;
}

CS_INLINE float cs_acc8_sum(cs_acc8 t)
{
    float s[4];
    for (int i = 0; i < 4; i++)
        s[i] = t.v[i] + t.v[i + 4];
    return (s[0] + s[2]) + (s[1] + s[3]);
}

/* ---- doubles -------------------------------------------------------------------------------- */

CS_INLINE cs_dvec cs_dvec_set(double v)                  { CS_EACH_LANE(cs_dvec, v) }
CS_INLINE cs_dvec cs_dvec_load(const double *p)          { CS_EACH_LANE(cs_dvec, p[i]) }
CS_INLINE void    cs_dvec_store(double *p, cs_dvec w)    { memcpy(p, w.v, sizeof w.v); }
CS_INLINE cs_dvec cs_to_dvec(cs_vec v)                     { CS_EACH_LANE(cs_dvec, (double)v.v[i]) }
CS_INLINE cs_vec  cs_to_vec(cs_dvec w)                   { CS_EACH_LANE(cs_vec, (float)w.v[i]) }

CS_INLINE cs_dvec cs_dvec_add(cs_dvec a, cs_dvec b)
{
    CS_EACH_LANE(cs_dvec, a.v[i] + b.v[i])
}

CS_INLINE cs_dvec cs_dvec_sub(cs_dvec a, cs_dvec b)
{
    CS_EACH_LANE(cs_dvec, a.v[i] - b.v[i])
}

CS_INLINE cs_dvec cs_dvec_mul(cs_dvec a, cs_dvec b)
{
    CS_EACH_LANE(cs_dvec, a.v[i] * b.v[i])
}

CS_INLINE cs_dvec cs_dvec_fma(cs_dvec a, cs_dvec b, cs_dvec c)
{
    CS_EACH_LANE(cs_dvec, fma(a.v[i], b.v[i], c.v[i]))
}

CS_INLINE cs_squares cs_squares_zero(void)               { return (cs_squares){ { 0 } }; }

CS_INLINE cs_squares cs_squares_add(cs_squares q, cs_vec v, int64_t j)
{
    for (int i = 0; i < CS_VEC; i++)
        q.v[j % 8 + i] = fma((double)v.v[i], (double)v.v[i], q.v[j % 8 + i]);
    return q;
}

CS_INLINE double cs_squares_sum(cs_squares q)
{
    double s[4];
    for (int i = 0; i < 4; i++)
        s[i] = q.v[i] + q.v[i + 4];
    return s[0] + s[1] + s[2] + s[3];
}

/* ---- quads ---------------------------------------------------------------------------------- */

CS_INLINE cs_quad cs_qload(const float *p)               { return cs_vload(p); }
CS_INLINE void    cs_qstore(float *p, cs_quad v)         { cs_vstore(p, v); }
CS_INLINE cs_quad cs_qadd(cs_quad a, cs_quad b)          { return cs_vadd(a, b); }

#define CS_VEC_JOINS 1
CS_INLINE cs_quad cs_vquad(cs_vec v, const int i)        { (void)i; return v; }
CS_INLINE cs_vec  cs_vquads(const float *p, int64_t ld)  { (void)ld; return cs_vload(p); }
CS_INLINE cs_vec  cs_vjoin(const cs_vec *v, const int i) { (void)i; return v[0]; }

CS_INLINE void cs_vtranspose(const float *b, int64_t sj, float *out, int64_t width)
{
    for (int i = 0; i < CS_VEC; i++)
        for (int j = 0; j < CS_VEC; j++)
            out[i * width + j] = b[i + j * sj];
}

#undef CS_EACH_LANE

#endif

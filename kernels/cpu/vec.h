/* vec.h - vectors of floats for any instruction set: arithmetic, partial loads, GELU, pieces.
 *
 * A level (vec_avx2.h, vec_avx512.h, ...) defines:
 *   cs_vec, CS_VEC            a vector and its number of floats, a multiple of 4
 *   CS_STRIP, CS_STRIP_EDGE   rows of a strip of up to two vectors, and of three: see strip.h
 *   cs_vset, cs_vload, cs_vstore, cs_vadd, cs_vsub, cs_vmul, cs_vdiv, cs_vsqrt, cs_vabs
 *   cs_vfma, cs_vfms, cs_vfnma      a b + c, a b - c, c - a b, rounded once
 *   cs_vmax, cs_vmin                a > b ? a : b, a < b ? a : b: the second if one is a NaN
 *   cs_vsigned(a, s)          a >= 0 with the sign of s
 *   cs_vnegative(x, a, b)     a where x has its sign bit set, else b
 *   cs_vpositive(x, v)        v where x > 0, else 0
 *   cs_vexponent(v, t)        v with the integer in t's low bits added to its exponent
 *   cs_constant(f)            f in all lanes, kept in a register: the compiler would reload it for
 *                             each use, and loads are as scarce as multiply-adds
 *   cs_vmask, cs_first(n)     mask of the first n lanes, empty for n < 1; n < CS_VEC
 *   cs_vload_first, cs_vstore_first   masked load and store: no other lane is read or written
 *   cs_vmerge(m, v, rest)     v in the lanes of m, rest in the others
 *   cs_vlargest               maximum over the lanes
 *   cs_acc8 ...               eight running sums at any CS_VEC: lane l of the columns from j on
 *                             belongs to sum (j + l) % 8. cs_acc8_add(t, v, j), cs_acc8_fma(t, a,
 *                             b, j) += a b; cs_acc8_sum; cs_acc8_store to float[8]
 *   cs_squares ...            running sums of squares, in double: cs_squares_add, cs_squares_sum
 *   cs_dvec ...               CS_VEC doubles: cs_to_dvec, cs_to_vec, and cs_dvec_{set, load, store,
 *                             add, sub, mul, fma}
 *   cs_quad ...               four floats: cs_qload, cs_qstore, cs_qadd; cs_vquad(v, i) is quad i
 *                             of a vector, cs_vquads(p, ld) a vector of quads, ld apart
 *   cs_vjoin(v, i)            quad i of each of CS_VEC_JOINS (CS_VEC / 4) vectors, in one vector
 *   cs_vtranspose(b, sj, out, w)   transpose: out[i*w + j] = b[i + j*sj] for i and j below CS_VEC
 *
 * Sums over columns use cs_acc8 and cs_squares; all others have one column per lane. So all levels
 * give identical bits.
 *
 * GELU, exact erf form:
 *
 *   gelu(x) = max(x, 0) - a Phi(-a),  a = min(|x|, 5.7),  Phi(-a) = 2^(a Q(a) - 1)
 *
 * Q is a polynomial of degree 7, and 2^f one of degree 5 on [-1/2, 1/2], both minimax fits. There
 * is no division and no branch, and the negative tail keeps the relative accuracy lost by
 * x (1 + erf) / 2. Absolute error <= 3e-7, at most 4 ulp for x > -1. A NaN stays a NaN, by the rule
 * of cs_vmin and cs_vmax.
 */
#ifndef CS_KERNELS_CPU_VEC_H
#define CS_KERNELS_CPU_VEC_H

#include "kernels/backend.h"
#include "kernels/cpu/level.h"

#if CS_LEVEL_IS(neon) || CS_LEVEL_IS(bfmmla)
#include "kernels/cpu/vec_neon.h"
#elif CS_LEVEL_IS(avx512) || CS_LEVEL_PAIRS
#include "kernels/cpu/vec_avx512.h"
#elif CS_LEVEL_IS(avx2)
#include "kernels/cpu/vec_avx2.h"
#else
#include "kernels/cpu/vec_any.h"
#endif

/* Four vectors are interleaved in every step, because the dependency chain of one exceeds the
 * out-of-order window: 10.3 cycles per vector instead of 13.7 (AVX2). */
#define CS_FOUR(STEP) STEP(0) STEP(1) STEP(2) STEP(3)

/* A step of Horner's rule in four vectors; the function defines CS_TERM, which adds c. */
#define CS_NEXT(term) do { const cs_vec c = cs_constant(term); CS_FOUR(CS_TERM) } while (0)

/* p = scale * 2^(p q) for -126 < p q <= 0: the integer part is added to the exponent bits */
CS_INLINE void cs_exp2_four(cs_vec p[4], const cs_vec q[4], float scale)
{
    const cs_vec magic = cs_constant(12582912.0f);       /* 1.5 * 2^23: rounds to an integer */
    cs_vec t[4], f[4], e[4];
#define CS_SPLIT(i) t[i] = cs_vfma(p[i], q[i], magic);                     \
    f[i] = cs_vfms(p[i], q[i], cs_vsub(t[i], magic));                      \
    e[i] = cs_vset(scale * 1.326472719e-03f);
#define CS_TERM(i) e[i] = cs_vfma(e[i], f[i], c);
    CS_FOUR(CS_SPLIT)
    CS_NEXT(scale * 9.671512640e-03f);
    CS_NEXT(scale * 5.550733743e-02f);
    CS_NEXT(scale * 2.402224209e-01f);
    CS_NEXT(scale * 6.931469776e-01f);
    CS_NEXT(scale);
#define CS_JOIN(i) p[i] = cs_vexponent(e[i], t[i]);
    CS_FOUR(CS_JOIN)
#undef CS_SPLIT
#undef CS_TERM
#undef CS_JOIN
}

/* v = exp(v - max); below e^-86 the smallest value of cs_exp2_four(). A NaN stays a NaN. */
CS_INLINE void cs_exp_four(cs_vec v[4], cs_vec max)
{
    const cs_vec log2e = cs_vset(1.44269504f), min_exp = cs_vset(-125), one = cs_vset(1);
    const cs_vec q[4] = { one, one, one, one };
#define CS_POWER(i) v[i] = cs_vmax(min_exp, cs_vmul(cs_vsub(v[i], max), log2e));
    CS_FOUR(CS_POWER)
    cs_exp2_four(v, q, 1);
#undef CS_POWER
}

/* a of the formula above */
CS_INLINE cs_vec cs_gelu_clamp(cs_vec x)
{
    return cs_vmin(cs_vset(5.7f), cs_vabs(x));
}

/* Phi(-a) for 0 <= a <= 5.7 */
CS_INLINE void cs_gelu_tail(const cs_vec a[4], cs_vec tail[4])
{
#define CS_FIRST(i) tail[i] = cs_vset(-2.626523145e-06f);
#define CS_TERM(i)  tail[i] = cs_vfma(tail[i], a[i], c);
    CS_FOUR(CS_FIRST)
    CS_NEXT(3.690655509e-05f);
    CS_NEXT(-1.745858340e-04f);
    CS_NEXT(-1.644816114e-04f);
    CS_NEXT(7.098569331e-03f);
    CS_NEXT(-5.251963282e-02f);
    CS_NEXT(-4.592009430e-01f);
    CS_NEXT(-1.151105945e+00f);
    cs_exp2_four(tail, a, 0.5f);
#undef CS_FIRST
#undef CS_TERM
#undef CS_NEXT
}

/* x = gelu(x) */
CS_INLINE void cs_gelu_four(cs_vec x[4])
{
    cs_vec a[4], tail[4];
#define CS_CLAMP(i) a[i] = cs_gelu_clamp(x[i]);
#define CS_GELU(i)  x[i] = cs_vfnma(a[i], tail[i], cs_vmax(cs_vset(0), x[i]));
    CS_FOUR(CS_CLAMP)
    cs_gelu_tail(a, tail);
    CS_FOUR(CS_GELU)
#undef CS_GELU
}

/* The same for one vector. */
CS_INLINE cs_vec cs_gelu(cs_vec x)
{
    cs_vec v[4] = { x, x, x, x };
    cs_gelu_four(v);
    return v[0];
}

/* x = gelu(x), and slope = gelu'(x) = Phi(x) + x phi(x) */
CS_INLINE void cs_gelu_slope_four(cs_vec x[4], cs_vec slope[4])
{
    const cs_vec one = cs_vset(1.0f), half = cs_vset(-0.72134752f);
    const cs_vec times[4] = { half, half, half, half };
    cs_vec a[4], tail[4], pdf[4];
#define CS_SQUARE(i) pdf[i] = cs_vmul(a[i], a[i]);
#define CS_SLOPE(i) do {                                                                  \
        cs_vec cdf = cs_vnegative(x[i], tail[i], cs_vsub(one, tail[i]));                  \
        slope[i] = cs_vfma(cs_vsigned(a[i], x[i]), pdf[i], cdf);                          \
        x[i] = cs_vfnma(a[i], tail[i], cs_vmax(cs_vset(0), x[i]));                        \
    } while (0);
    CS_FOUR(CS_CLAMP)
    cs_gelu_tail(a, tail);
    CS_FOUR(CS_SQUARE)
    cs_exp2_four(pdf, times, 0.39894228f);
    CS_FOUR(CS_SLOPE)
#undef CS_CLAMP
#undef CS_SQUARE
#undef CS_SLOPE
}

/* The same for one vector: returns gelu(x). */
CS_INLINE cs_vec cs_gelu_slope(cs_vec x, cs_vec *slope)
{
    cs_vec v[4] = { x, x, x, x }, s[4];
    cs_gelu_slope_four(v, s);
    *slope = s[0];
    return v[0];
}

/* Loads the first n floats at p, at most a vector; nothing beyond them is read. */
CS_INLINE cs_vec cs_get(const float *p, int64_t n)
{
    return n >= CS_VEC ? cs_vload(p) : cs_vload_first(cs_first((int)n), p);
}

/* Stores the first n lanes at p, at most a vector; nothing beyond them is written. */
CS_INLINE void cs_put(float *p, int64_t n, cs_vec v)
{
    if (n >= CS_VEC)
        cs_vstore(p, v);
    else
        cs_vstore_first(cs_first((int)n), p, v);
}

/* The first n lanes of v, `rest` in the others. */
CS_INLINE cs_vec cs_first_or(cs_vec v, int64_t n, cs_vec rest)
{
    return n >= CS_VEC ? v : cs_vmerge(cs_first((int)n), v, rest);
}

/* Part of a rotation: out[r, j] = in[r, j] + buf[r, j], or without `in` (NULL) buf[r, j]. */
typedef struct cs_piece {
    const float *in;  int64_t ldi;
    const float *buf; int64_t ldb;
    float       *out; int64_t ldo;
} cs_piece;
/** cs_piece_move - run it on n_row rows of w columns; w is a multiple of 4 */
void cs_piece_move(const cs_piece *q, int64_t n_row, int32_t w);

/** cs_mean_rows - y = mean of rows r0 .. r1-1 (zeros if there are none); the same bits for any
 * number of threads */
void cs_mean_rows(cs_mat x, int64_t r0, int64_t r1, int n_thread, float *y);

#endif

/* strip_avx2.h - the micro-kernel: up to 6 rows by 8, 16 or 24 columns of a product, in registers.
 *
 * DESIGN. Twelve accumulators (6 x 16 or 4 x 24), the vectors of b and a broadcast of a fill the
 * sixteen registers, and twelve independent chains hide the latency of two multiply-adds per cycle
 * (4 cycles each). The accumulators are named scalars: gcc 12 keeps an array of __m256 in memory,
 * at a third of the speed. What is constant where the function is inlined (rows, vectors, where the
 * sums go) vanishes at compile time. In L1, gcc 12 and clang 14 reach 99 % of the multiply-add peak
 * with it for depths from 64 on, so there is no assembly.
 *
 * Every element is one chain of fused multiply-adds over k, starting at 0, to which init is added
 * last: its bits depend neither on the rows beside it nor on the shape of the strip.
 */
#ifndef CS_KERNELS_CPU_STRIP_AVX2_H
#define CS_KERNELS_CPU_STRIP_AVX2_H

#include <immintrin.h>

#include "kernels/cpu/gemm.h"

enum { CS_STRIP = 6,             /* rows of a strip of up to two vectors; four with three vectors */
       CS_LANES = 6 };           /* groups of four columns in the widest strip */

/* How the left operand is stored, see cs_panel: in rows, in columns, in runs, or in tracks. Runs
 * and tracks are fetched a strip ahead: pieces so short do not announce one another. */
typedef enum cs_left { CS_LEFT_ROWS, CS_LEFT_TURNED, CS_LEFT_RUNS, CS_LEFT_AHEAD } cs_left;

/* What becomes of init + sum. */
typedef enum cs_strip_end {
    CS_STRIP_STORE,              /* c = it */
    CS_STRIP_ROWS,               /* out = in + it, a whole row of the strip at one place */
    CS_STRIP_QUADS,              /* out = in + it, every four columns at a place of their own */
    CS_STRIP_PAIRS               /* the same where a lane's rows follow one another: by twos */
} cs_strip_end;

/* Places of a strip's rows: lane l of row i is at element base[l] + at[l][i] of in and of out. Rows
 * have one lane, of all columns; quads and pairs have n lanes, of four columns each. at is not used
 * by pairs: it is 4 i. */
typedef struct cs_lanes {
    const float   *in;
    float         *out;
    int32_t        n;
    int64_t        base[CS_LANES];
    const int64_t *at[CS_LANES];
} cs_lanes;

#define CS_STRIP_INLINE                                                                   \
    __attribute__((target("avx2,fma"), always_inline)) static inline

/**
 * cs_strip - rows r .. r+mr-1 of a panel of nv vectors
 *
 * mr, nv, left, end   constants: at most 6 rows with nv <= 2, at most 4 with nv = 3
 * q                   as for cs_avx2_panel(); c is used with CS_STRIP_STORE only
 * t                   used with the others
 */
CS_STRIP_INLINE void cs_strip(const int mr, const int nv, const cs_left left,
                              const cs_strip_end end, const cs_panel *q, int64_t r,
                              const cs_lanes *t)
{
    /* long: the accumulators are its variables, and macros its loops over them */
    const bool turned = left == CS_LEFT_TURNED;
    const int64_t row = turned ? 1 : q->lda, next = turned ? q->lda : 1;
    const bool ahead = left == CS_LEFT_AHEAD;
    int64_t run = ahead || left == CS_LEFT_RUNS ? q->track : q->n_k;
    const int64_t *start = q->run;
    const float *a = q->a + r * row, *b = q->b;

#define CS_EACH_ROW(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5)
#define CS_CLEAR(i) __m256 x##i = _mm256_setzero_ps(), y##i = x##i, z##i = x##i;
    CS_EACH_ROW(CS_CLEAR)
#define CS_MULTIPLY(i) if (mr > i) {                                    \
        __m256 v = _mm256_broadcast_ss(a + i * row);                    \
        x##i = _mm256_fmadd_ps(v, b0, x##i);                            \
        y##i = nv > 1 ? _mm256_fmadd_ps(v, b1, y##i) : y##i;            \
        z##i = nv > 2 ? _mm256_fmadd_ps(v, b2, z##i) : z##i;            \
    }
    for (int64_t rest = q->n_k; rest > 0; rest -= run) {
        if (ahead) {
            run = rest < run ? rest : run;
            for (int64_t i = 0; i < mr * row; i += row < CS_PANEL ? CS_PANEL : row)
                __builtin_prefetch(a + mr * row + i);
        }
        if (left == CS_LEFT_RUNS) {
            a = q->a + r * row + *start++;
            for (int i = 0; i < mr; i++)
                for (int64_t k = 0; k < run; k += CS_PANEL)
                    __builtin_prefetch(a + (mr + i) * row + k);
        }
        /* Four steps at a time, because the end of a longer loop is predicted wrongly each time. */
#pragma GCC unroll 4
        for (int64_t k = 0; k < run; k++) {
            __m256 b0 = _mm256_loadu_ps(b);
            __m256 b1 = nv > 1 ? _mm256_loadu_ps(b + 8) : b0;
            __m256 b2 = nv > 2 ? _mm256_loadu_ps(b + 16) : b0;
            CS_EACH_ROW(CS_MULTIPLY)
            a += next;
            b += q->ldb;
        }
        a += ahead ? q->next - run : 0;
    }
#define CS_INIT(i) if (mr > i) {                                                              \
        const float *init = q->init + (r + i) * q->ldi;                                       \
        x##i = _mm256_add_ps(_mm256_loadu_ps(init), x##i);                                    \
        y##i = nv > 1 ? _mm256_add_ps(_mm256_loadu_ps(init + 8), y##i) : y##i;                \
        z##i = nv > 2 ? _mm256_add_ps(_mm256_loadu_ps(init + 16), z##i) : z##i;               \
    }
    CS_EACH_ROW(CS_INIT)
    if (end == CS_STRIP_STORE) {
#define CS_STORE(i) if (mr > i) {                                                             \
        float *c = q->c + (r + i) * q->ldc;                                                   \
        _mm256_storeu_ps(c, x##i);                                                            \
        if (nv > 1)                                                                           \
            _mm256_storeu_ps(c + 8, y##i);                                                    \
        if (nv > 2)                                                                           \
            _mm256_storeu_ps(c + 16, z##i);                                                   \
    }
        CS_EACH_ROW(CS_STORE)
        return;
    }
    /* Copied out of t: for all the compiler knows, a vector store might change it. */
#define CS_LANE(l)                                                                            \
    const int64_t *at = t->at[l];                                                             \
    const float *in = t->in + t->base[l];                                                     \
    float *out = t->out + t->base[l];
    if (end == CS_STRIP_ROWS) {
        CS_LANE(0)
#define CS_ADD(p, v) _mm256_storeu_ps(out + (p), _mm256_add_ps(_mm256_loadu_ps(in + (p)), v))
#define CS_ROW(i) if (mr > i) {                                                               \
        CS_ADD(at[i], x##i);                                                                  \
        if (nv > 1)                                                                           \
            CS_ADD(at[i] + 8, y##i);                                                          \
        if (nv > 2)                                                                           \
            CS_ADD(at[i] + 16, z##i);                                                         \
    }
        CS_EACH_ROW(CS_ROW)
        return;
    }
    const int32_t n = t->n;
    if (end == CS_STRIP_PAIRS) {
#define CS_PAIR(i, u, v, HALF) if (mr > i + 1)                                                \
        CS_ADD(4 * (i), _mm256_permute2f128_ps(u, v, HALF));                                  \
    else if (mr > i)                                                                          \
        _mm_storeu_ps(out + 4 * (i), _mm_add_ps(_mm_loadu_ps(in + 4 * (i)), (HALF) == 0x20    \
                      ? _mm256_castps256_ps128(u) : _mm256_extractf128_ps(u, 1)));
#define CS_PAIRS(l, v, HALF) if ((l) / 2 < nv && (l) < n) {                                   \
        const float *in = t->in + t->base[l];                                                 \
        float *out = t->out + t->base[l];                                                     \
        CS_PAIR(0, v##0, v##1, HALF) CS_PAIR(2, v##2, v##3, HALF) CS_PAIR(4, v##4, v##5, HALF)\
    }
        CS_PAIRS(0, x, 0x20)
        CS_PAIRS(1, x, 0x31)
        CS_PAIRS(2, y, 0x20)
        CS_PAIRS(3, y, 0x31)
        CS_PAIRS(4, z, 0x20)
        CS_PAIRS(5, z, 0x31)
        return;
    }
#define CS_QUAD(i, v) if (mr > i) \
        _mm_storeu_ps(out + at[i], _mm_add_ps(_mm_loadu_ps(in + at[i]), v));
#define CS_LOW(v)  _mm256_castps256_ps128(v)
#define CS_HIGH(v) _mm256_extractf128_ps(v, 1)
#define CS_QUADS(l, v, HALF) if ((l) / 2 < nv && (l) < n) {                                   \
        CS_LANE(l)                                                                            \
        CS_QUAD(0, HALF(v##0)) CS_QUAD(1, HALF(v##1)) CS_QUAD(2, HALF(v##2))                  \
        CS_QUAD(3, HALF(v##3)) CS_QUAD(4, HALF(v##4)) CS_QUAD(5, HALF(v##5))                  \
    }
    CS_QUADS(0, x, CS_LOW)
    CS_QUADS(1, x, CS_HIGH)
    CS_QUADS(2, y, CS_LOW)
    CS_QUADS(3, y, CS_HIGH)
    CS_QUADS(4, z, CS_LOW)
    CS_QUADS(5, z, CS_HIGH)
}

#undef CS_EACH_ROW
#undef CS_CLEAR
#undef CS_MULTIPLY
#undef CS_INIT
#undef CS_STORE
#undef CS_LANE
#undef CS_ADD
#undef CS_ROW
#undef CS_QUAD
#undef CS_LOW
#undef CS_HIGH
#undef CS_QUADS
#undef CS_PAIR
#undef CS_PAIRS

/** cs_strip_rows - rows of a full strip of nv vectors */
static inline int cs_strip_rows(int nv) { return nv > 2 ? 4 : CS_STRIP; }

/* Weights of the panel after this one: so that they are in the second-level cache in time, each
 * strip of this one asks for its share. Packed panels follow one another. Where panels are small,
 * the weights of all blocks stay in that cache, and nothing is fetched. */
typedef struct cs_ahead { const float *b; int64_t share; } cs_ahead;

/** cs_ahead_of - from the first strip of q on, of step rows each */
static inline cs_ahead cs_ahead_of(const cs_panel *q, int step)
{
    enum { SMALL = 1 << 11 };    /* floats: a panel of 16 columns and 128 rows is not */
    int64_t all = q->n_k * q->ldb, n_strip = (q->n_row + step - 1) / step;
    int64_t n_line = all < SMALL ? 0 : all / CS_PANEL;
    return (cs_ahead){ q->b + all, (n_line + n_strip - 1) / n_strip * CS_PANEL };
}

/** cs_ahead_fetch - the next strip's share */
static inline void cs_ahead_fetch(cs_ahead *f)
{
    enum { LEVEL = 2 };          /* of __builtin_prefetch: the second-level cache */
    for (int64_t k = 0; k < f->share; k += CS_PANEL)
        __builtin_prefetch(f->b + k, 0, LEVEL);
    f->b += f->share;
}

/** cs_strip_any - the same for mr = 1 .. cs_strip_rows(nv) that only the run knows */
CS_STRIP_INLINE void cs_strip_any(int mr, const int nv, const cs_left left, const cs_strip_end end,
                                  const cs_panel *q, int64_t r, const cs_lanes *t)
{
    switch (mr) {
    case 6:  cs_strip(nv > 2 ? 4 : 6, nv, left, end, q, r, t); break;
    case 5:  cs_strip(nv > 2 ? 4 : 5, nv, left, end, q, r, t); break;
    case 4:  cs_strip(4, nv, left, end, q, r, t); break;
    case 3:  cs_strip(3, nv, left, end, q, r, t); break;
    case 2:  cs_strip(2, nv, left, end, q, r, t); break;
    default: cs_strip(1, nv, left, end, q, r, t); break;
    }
}

#endif

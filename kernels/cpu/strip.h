/* strip.h - the micro-kernel: a strip of rows by one to three vectors of a product, in registers.
 *
 * DESIGN. The accumulators, the vectors of b and a broadcast of a fill the registers: 6 rows x 2 or
 * 4 x 3 accumulators with sixteen registers, 12 x 2 or 8 x 3 with thirty-two (CS_STRIP,
 * CS_STRIP_EDGE). That many independent chains hide the latency of two multiply-adds per cycle (4
 * cycles each). The accumulators are named scalars: gcc 12 keeps an array of vectors in memory, at
 * a third of the speed. Constant arguments (rows, vectors, destination) are folded when the
 * function is inlined. In L1, gcc 12 and clang 14 reach 99 % of the multiply-add peak of AVX2 for
 * depths from 64 on, so there is no assembly.
 *
 * At level bfmmla (cell.h) an accumulator is two rows by two columns.
 *
 * Every element is one chain of fused multiply-adds over k that starts at 0; init is added last.
 * Its bits depend neither on other rows nor on the shape of the strip.
 */
#ifndef CS_KERNELS_CPU_STRIP_H
#define CS_KERNELS_CPU_STRIP_H

#include "kernels/cpu/gemm.h"

enum { CS_STRIP_MAX = 12,        /* maximum rows of a strip at any level */
       CS_LANES = 3 * CS_VEC / 4 };      /* groups of four columns in the widest strip */

/* Storage of the left operand, see cs_panel: rows, columns, runs, or tracks. Runs and tracks are
 * prefetched a strip ahead, because they are too short for the hardware prefetcher. */
typedef enum cs_left { CS_LEFT_ROWS, CS_LEFT_TRANSPOSED, CS_LEFT_RUNS, CS_LEFT_TRACKS } cs_left;

/* Destination of init + sum. */
typedef enum cs_strip_end {
    CS_STRIP_STORE,              /* c = sum */
    CS_STRIP_ROWS,               /* out = in + sum, rows contiguous */
    CS_STRIP_VECS,               /* out = in + sum, a separate address per vector */
    CS_STRIP_QUADS,              /* the same per four columns */
    CS_STRIP_JOINS               /* the same with consecutive rows of a lane contiguous: stored by
                                  * vectors */
} cs_strip_end;

/* Addresses of a strip's rows: lane l of row i is at element base[l] + at[l][i] of in and of out.
 * With CS_STRIP_ROWS there is one lane of all columns; otherwise n lanes, of CS_VEC columns (VECS)
 * or four (QUADS, JOINS). JOINS does not use at: it is 4 i. */
typedef struct cs_lanes {
    const float   *in;
    float         *out;
    int32_t        n;
    int64_t        base[CS_LANES];
    const int64_t *at[CS_LANES];
} cs_lanes;

/** cs_strip_lanes - number of lanes of a strip of nv vectors */
static inline int cs_strip_lanes(const int nv, const cs_strip_end end)
{
    return end == CS_STRIP_ROWS ? 1 : end == CS_STRIP_VECS ? nv : nv * (CS_VEC / 4);
}

/**
 * cs_strip - rows r .. r+mr-1 of a panel of nv vectors
 *
 * mr, nv, left, end   constants: at most CS_STRIP rows with nv <= 2, CS_STRIP_EDGE with nv = 3
 * q                   as for cs_panel_of(); c is used with CS_STRIP_STORE only
 * t                   used with all other destinations
 */
CS_INLINE void cs_strip(const int mr, const int nv, const cs_left left, const cs_strip_end end,
                        const cs_panel *q, int64_t r, const cs_lanes *t)
{
    /* long: the accumulators are local variables, and macros loop over them */
    const bool transposed = left == CS_LEFT_TRANSPOSED;
    const int64_t row = transposed ? 1 : q->lda, next = transposed ? q->lda : 1;
    const bool tracks = left == CS_LEFT_TRACKS;
    int64_t run = tracks || left == CS_LEFT_RUNS ? q->track : q->n_k;
    const int64_t *start = q->run;
    const float *a = q->a + r * row, *b = q->b;

#define CS_EACH_ROW(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)
#define CS_CLEAR(i) cs_vec x##i = cs_vset(0), y##i = x##i, z##i = x##i;
    CS_EACH_ROW(CS_CLEAR)
#if CS_LEVEL_IS(bfmmla)
    /* Squares of rows i and j: the first half of a vector's columns in x##i, the other in x##j; the
     * row after the last one is that one. CS_UNTANGLE makes rows of them. */
#define CS_EACH_TWO(OP) OP(0, 1) OP(2, 3) OP(4, 5) OP(6, 7) OP(8, 9) OP(10, 11)
#define CS_SQUARES(i, j) if (mr > i) {                                  \
        cs_vec v = cs_vrows(a + i * row, a + (mr > j ? j : i) * row);   \
        x##i = cs_vsquare(v, b0, x##i);                                 \
        x##j = cs_vsquare(v, b1, x##j);                                 \
        y##i = nv > 1 ? cs_vsquare(v, b2, y##i) : y##i;                 \
        y##j = nv > 1 ? cs_vsquare(v, b3, y##j) : y##j;                 \
        z##i = nv > 2 ? cs_vsquare(v, b4, z##i) : z##i;                 \
        z##j = nv > 2 ? cs_vsquare(v, b5, z##j) : z##j;                 \
    }
#define CS_UNTANGLE(i, j) CS_HALVES(x##i, x##j) CS_HALVES(y##i, y##j) CS_HALVES(z##i, z##j)
#define CS_HALVES(p, q) do {                                            \
        const cs_vec first = vcombine_f32(vget_low_f32(p), vget_low_f32(q)); \
        q = vcombine_f32(vget_high_f32(p), vget_high_f32(q));           \
        p = first;                                                      \
    } while (0);
#else
#define CS_MULTIPLY(i) if (mr > i) {                                    \
        cs_vec v = cs_vset(a[i * row]);                                 \
        x##i = cs_vdot(v, b0, x##i);                                    \
        y##i = nv > 1 ? cs_vdot(v, b1, y##i) : y##i;                    \
        z##i = nv > 2 ? cs_vdot(v, b2, z##i) : z##i;                    \
    }
#endif
    for (int64_t rest = q->n_k; rest > 0; rest -= run) {
        if (tracks) {
            run = rest < run ? rest : run;
            for (int64_t i = 0; i < mr * row; i += row < CS_LINE ? CS_LINE : row)
                __builtin_prefetch(a + mr * row + i);
        }
        if (left == CS_LEFT_RUNS) {
            a = q->a + r * row + *start++;
            for (int i = 0; i < mr; i++)
                for (int64_t k = 0; k < run; k += CS_LINE)
                    __builtin_prefetch(a + (mr + i) * row + k);
        }
#if CS_LEVEL_IS(bfmmla)
        for (int64_t k = 0; k < run; k += 2) {
            const cs_vec b0 = cs_vload(b), b1 = cs_vload(b + CS_VEC);
            const cs_vec b2 = nv > 1 ? cs_vload(b + 2 * CS_VEC) : b0;
            const cs_vec b3 = nv > 1 ? cs_vload(b + 3 * CS_VEC) : b0;
            const cs_vec b4 = nv > 2 ? cs_vload(b + 4 * CS_VEC) : b0;
            const cs_vec b5 = nv > 2 ? cs_vload(b + 5 * CS_VEC) : b0;
            CS_EACH_TWO(CS_SQUARES)
            a += 2;
            b += 2 * q->ldb;
        }
#else
        /* Unrolled by four: the exit branch of a longer loop is mispredicted each time. */
#pragma GCC unroll 4
        for (int64_t k = 0; k < run; k++) {
            cs_vec b0 = cs_vload(b);
            cs_vec b1 = nv > 1 ? cs_vload(b + CS_VEC) : b0;
            cs_vec b2 = nv > 2 ? cs_vload(b + 2 * CS_VEC) : b0;
            CS_EACH_ROW(CS_MULTIPLY)
            a += next;
            b += q->ldb;
        }
#endif
        a += tracks ? q->next - run : 0;
    }
#if CS_LEVEL_IS(bfmmla)
    (void)next;                  /* of transposed operands, which cells never are */
    CS_EACH_TWO(CS_UNTANGLE)
#undef CS_EACH_TWO
#undef CS_SQUARES
#undef CS_UNTANGLE
#undef CS_HALVES
#endif
#define CS_INIT(i) if (mr > i) {                                                              \
        const float *init = q->init + (r + i) * q->ldi;                                       \
        x##i = cs_vadd(cs_vload(init), x##i);                                                 \
        y##i = nv > 1 ? cs_vadd(cs_vload(init + CS_VEC), y##i) : y##i;                        \
        z##i = nv > 2 ? cs_vadd(cs_vload(init + 2 * CS_VEC), z##i) : z##i;                    \
    }
    CS_EACH_ROW(CS_INIT)
    if (end == CS_STRIP_STORE) {
#define CS_STORE(i) if (mr > i) {                                                             \
        float *c = q->c + (r + i) * q->ldc;                                                   \
        cs_vstore(c, x##i);                                                                   \
        if (nv > 1)                                                                           \
            cs_vstore(c + CS_VEC, y##i);                                                      \
        if (nv > 2)                                                                           \
            cs_vstore(c + 2 * CS_VEC, z##i);                                                  \
    }
        CS_EACH_ROW(CS_STORE)
        return;
    }
    /* Copies of t's members: the compiler must assume that a vector store changes t. */
#define CS_LANE(l)                                                                            \
    const int64_t *at = t->at[l];                                                             \
    const float *in = t->in + t->base[l];                                                     \
    float *out = t->out + t->base[l];
#define CS_ADD(p, v) cs_vstore(out + (p), cs_vadd(cs_vload(in + (p)), v))
#define CS_ADD_QUAD(p, v) cs_qstore(out + (p), cs_qadd(cs_qload(in + (p)), v))
    if (end == CS_STRIP_ROWS) {
        CS_LANE(0)
#define CS_ROW(i) if (mr > i) {                                                               \
        CS_ADD(at[i], x##i);                                                                  \
        if (nv > 1)                                                                           \
            CS_ADD(at[i] + CS_VEC, y##i);                                                     \
        if (nv > 2)                                                                           \
            CS_ADD(at[i] + 2 * CS_VEC, z##i);                                                 \
    }
        CS_EACH_ROW(CS_ROW)
        return;
    }
    const int32_t n = t->n;
#define CS_EACH_VEC(OP) OP(0, x) OP(1, y) OP(2, z)
    if (end == CS_STRIP_VECS) {
#define CS_VEC_AT(i, v) if (mr > i) CS_ADD(at[i], v);
#define CS_VEC_LANE(l, v) if ((l) < nv && (l) < n) {                                          \
        CS_LANE(l)                                                                            \
        CS_VEC_AT(0, v##0) CS_VEC_AT(1, v##1) CS_VEC_AT(2, v##2) CS_VEC_AT(3, v##3)           \
        CS_VEC_AT(4, v##4) CS_VEC_AT(5, v##5) CS_VEC_AT(6, v##6) CS_VEC_AT(7, v##7)           \
        CS_VEC_AT(8, v##8) CS_VEC_AT(9, v##9) CS_VEC_AT(10, v##10) CS_VEC_AT(11, v##11)       \
    }
        CS_EACH_VEC(CS_VEC_LANE)
        return;
    }
#define CS_EACH_QUAD(OP, s, v) OP(s, 0, v) OP(s, 1, v) OP(s, 2, v) OP(s, 3, v)
#define CS_QUAD_LANES(s, v) CS_EACH_QUAD(CS_QUADS, s, v)
#define CS_IS_LANE(s, p) ((s) < nv && (p) < CS_VEC / 4 && (s) * (CS_VEC / 4) + (p) < n)
    if (end == CS_STRIP_JOINS) {
#define CS_JOINED(i, p, v0, v1, v2, v3)                                                       \
        if (mr >= (i) + CS_VEC_JOINS) {                                                       \
            const cs_vec v[4] = { v0, v1, v2, v3 };                                           \
            CS_ADD(4 * (i), cs_vjoin(v, p));                                                  \
        } else {                                                                              \
            CS_SINGLE(i, 0, p, v0) CS_SINGLE(i, 1, p, v1)                                     \
            CS_SINGLE(i, 2, p, v2) CS_SINGLE(i, 3, p, v3)                                     \
        }
#define CS_SINGLE(i, j, p, v)                                                                 \
        if ((j) < CS_VEC_JOINS && mr > (i) + (j)) CS_ADD_QUAD(4 * ((i) + (j)), cs_vquad(v, p));
#define CS_TWICE(i, p, v0, v1, v2, v3)                                                        \
        CS_JOINED(i, p, v0, v1, v2, v3)                                                       \
        if (CS_VEC_JOINS == 2) { CS_JOINED((i) + 2, p, v2, v3, v2, v3) }
#define CS_QUADS(s, p, v) if (CS_IS_LANE(s, p)) {                                             \
        const float *in = t->in + t->base[(s) * (CS_VEC / 4) + (p)];                          \
        float *out = t->out + t->base[(s) * (CS_VEC / 4) + (p)];                              \
        CS_TWICE(0, p, v##0, v##1, v##2, v##3)                                                \
        CS_TWICE(4, p, v##4, v##5, v##6, v##7)                                                \
        CS_TWICE(8, p, v##8, v##9, v##10, v##11)                                              \
    }
        CS_EACH_VEC(CS_QUAD_LANES)
        return;
    }
#undef CS_QUADS
#define CS_QUAD(i, p, v) if (mr > i) CS_ADD_QUAD(at[i], cs_vquad(v, p));
#define CS_QUADS(s, p, v) if (CS_IS_LANE(s, p)) {                                             \
        CS_LANE((s) * (CS_VEC / 4) + (p))                                                     \
        CS_QUAD(0, p, v##0) CS_QUAD(1, p, v##1) CS_QUAD(2, p, v##2) CS_QUAD(3, p, v##3)       \
        CS_QUAD(4, p, v##4) CS_QUAD(5, p, v##5) CS_QUAD(6, p, v##6) CS_QUAD(7, p, v##7)       \
        CS_QUAD(8, p, v##8) CS_QUAD(9, p, v##9) CS_QUAD(10, p, v##10) CS_QUAD(11, p, v##11)   \
    }
    CS_EACH_VEC(CS_QUAD_LANES)
}
#undef CS_EACH_ROW
#undef CS_CLEAR
#undef CS_MULTIPLY
#undef CS_INIT
#undef CS_STORE
#undef CS_LANE
#undef CS_ADD
#undef CS_ADD_QUAD
#undef CS_ROW
#undef CS_EACH_VEC
#undef CS_VEC_AT
#undef CS_VEC_LANE
#undef CS_EACH_QUAD
#undef CS_QUAD_LANES
#undef CS_IS_LANE
#undef CS_JOINED
#undef CS_SINGLE
#undef CS_TWICE
#undef CS_QUAD
#undef CS_QUADS

/** cs_strip_rows - rows of a full strip of nv vectors */
static inline int cs_strip_rows(int nv) { return nv > 2 ? CS_STRIP_EDGE : CS_STRIP; }

/* Prefetches the next panel's weights into the L2 cache: each strip of this panel fetches a share.
 * Packed panels are contiguous. Small panels are skipped, because the weights of all blocks stay in
 * L2. */
typedef struct cs_prefetch { const float *b; int64_t share; } cs_prefetch;

/** cs_prefetch_of - prefetch state for the strips of q, of step rows each */
static inline cs_prefetch cs_prefetch_of(const cs_panel *q, int step)
{
    enum { SMALL = 1 << 11 };    /* floats; excludes panels of 16 columns and 128 rows */
    int64_t all = q->n_k * q->ldb, n_strip = (q->n_row + step - 1) / step;
    int64_t n_line = all < SMALL ? 0 : all / CS_LINE;
    return (cs_prefetch){ q->b + all, (n_line + n_strip - 1) / n_strip * CS_LINE };
}

/** cs_prefetch_next - prefetch the next share */
static inline void cs_prefetch_next(cs_prefetch *f)
{
    enum { LEVEL = 2 };          /* locality of __builtin_prefetch: L2 */
    for (int64_t k = 0; k < f->share; k += CS_LINE)
        __builtin_prefetch(f->b + k, 0, LEVEL);
    f->b += f->share;
}

/** cs_strip_any - cs_strip with an mr below cs_strip_rows(nv) that is not a constant */
CS_INLINE void cs_strip_any(int mr, const int nv, const cs_left left, const cs_strip_end end,
                            const cs_panel *q, int64_t r, const cs_lanes *t)
{
#define CS_CASE(i) case i:                                                                    \
        cs_strip(i < (nv > 2 ? CS_STRIP_EDGE : CS_STRIP) ? i : 1, nv, left, end, q, r, t); return;
    switch (mr) {
    CS_CASE(11) CS_CASE(10) CS_CASE(9) CS_CASE(8) CS_CASE(7) CS_CASE(6) CS_CASE(5) CS_CASE(4)
    CS_CASE(3) CS_CASE(2)
    default: cs_strip(1, nv, left, end, q, r, t);
    }
#undef CS_CASE
}

#endif

/* gemm.h - panels of a matrix product: what gemm.c and the fused kernels build upon. */
#ifndef CS_KERNELS_CPU_GEMM_H
#define CS_KERNELS_CPU_GEMM_H

#include "kernels/cpu/impl.h"
#include "kernels/cpu/vec.h"

#ifndef CS_DOUBLE

enum { CS_PANEL = 2 * CS_VEC,    /* columns of a full panel, */
       CS_EDGE = 3 * CS_VEC,     /* and of the widest */
       CS_LINE = 16 };           /* floats of a cache line */

/* c[r, j] = init[r, j] + sum_k a(r, k) b[k, j] over a panel of one, two or three vectors
 * of columns j.
 * a(r, k) is a[r*lda + k], or a[k*lda + r] for a transposed left operand. Of a left operand that is
 * stored in tracks it is a[r*lda + k/track*next + k%track], and of one that is given in runs
 * a[r*lda + run[k/track] + k%track]. */
typedef struct cs_panel {
    const float *a;    int64_t lda, track, next;
    const int64_t *run;                  /* NULL unless it is */
    const float *b;    int64_t ldb;      /* ldb is the panel's width when b is packed */
    const float *init; int64_t ldi;      /* ldi = 0: one row for all (a bias); may be c itself */
    float       *c;    int64_t ldc;
    int64_t n_row, n_k;
} cs_panel;

/**
 * cs_panel_of - compute one panel
 *
 * trans    the left operand is transposed
 * width    its columns: CS_VEC, CS_PANEL or CS_EDGE
 *
 * Every element is one chain of fused multiply-adds over k, starting at 0, to which init is added
 * last, whatever n_row is and wherever its row stands: a row's bits depend on that row alone, a
 * bias gives the same bits as added afterwards, and a sum over many blocks of k rounds little.
 * Thread   any; no state
 */
void cs_panel_of(bool trans, int width, const cs_panel *q);

/** cs_panel_run - the same of the first `valid` columns only: c and init have no more */
void cs_panel_run(bool trans, int width, int valid, const cs_panel *q);

/* Width and start of panel number p of n columns: the last one is a vector where that suffices. */
static inline int cs_panel_width(int32_t n, int32_t p)
{
    return n - p * CS_PANEL <= CS_VEC ? CS_VEC : CS_PANEL;
}
static inline int32_t cs_panel_count(int32_t n) { return (n + CS_PANEL - 1) / CS_PANEL; }

/** cs_pack_panel - one panel: columns 0 .. valid-1 of b, then zeros */
void cs_pack_panel(const float *b, int64_t sk, int64_t sj, int64_t n_k, int width, int32_t valid,
                   float *out);

/**
 * cs_pack - copy op(b) into panels, zeros where the last panel is wider than the matrix
 *
 * b        the block: n_k rows and n columns of op(b), element (k, j) at b[k*sk + j*sj]
 * out      panel p at out + p * CS_PANEL * n_k, [n_k][width]: see cs_pack_size()
 */
void cs_pack(const float *b, int64_t sk, int64_t sj, int64_t n_k, int32_t n, float *out);

/** cs_pack_size - floats that cs_pack() writes at most */
static inline int64_t cs_pack_size(int64_t n_k, int32_t n)
{
    return n_k * cs_panel_count(n) * CS_PANEL;
}

#endif
#endif

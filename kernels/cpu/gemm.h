/* gemm.h - matrix products by panels, for vec_gemm.c and the fused kernels. */
#ifndef CS_KERNELS_CPU_GEMM_H
#define CS_KERNELS_CPU_GEMM_H

#include "kernels/cpu/impl.h"
#include "kernels/cpu/cell.h"

#ifndef CS_DOUBLE

enum { CS_PANEL = 2 * CS_VEC,    /* columns of a full panel, */
       CS_EDGE = 3 * CS_VEC,     /* of the widest panel */
       CS_LINE = 16,             /* floats of a cache line */
       CS_BY_TILES = CS_LEVEL_IS(amx),   /* panels are computed by tiles of TILE rows, not by
                                          * strips (strip.h) */
       CS_PANEL_ROWS = CS_BY_TILES ? 16 : 1 };   /* a whole number of them is fastest */

/* c[r, j] = init[r, j] + sum_k a(r, k) b[k, j] for a panel of one, two or three vectors of columns
 * j; a and b are cells (cell.h), counted by n_k, track and all strides.
 * a(r, k) is a[r*lda + k], or a[k*lda + r] if the left operand is transposed. If it is stored by
 * tracks: a[r*lda + k/track*next + k%track]; if it is stored in runs: a[r*lda + run[k/track] +
 * k%track]. */
typedef struct cs_panel {
    const float *a;    int64_t lda, track, next;
    const int64_t *run;                  /* NULL unless a is stored in runs */
    const float *b;    int64_t ldb;      /* ldb is the panel's width when b is packed */
    const float *init; int64_t ldi;      /* ldi = 0: one row for all (a bias); may be c itself */
    float       *c;    int64_t ldc;
    int64_t n_row, n_k;
} cs_panel;

/**
 * cs_panel_of - compute one panel
 *
 * trans    the left operand is transposed
 * width    columns of the panel: CS_VEC, CS_PANEL or CS_EDGE
 *
 * Every element is one chain of fused multiply-adds over k that starts at 0; init is added last.
 * The chain does not depend on n_row or the row's position: a row's bits depend on that row only,
 * adding a bias here or afterwards gives the same bits, and sums over many blocks of k keep a small
 * rounding error. At level amx the chain is that of tiles, and starts at init unless ldi is 0.
 * Thread   any; no state
 */
void cs_panel_of(bool trans, int width, const cs_panel *q);

/** cs_panel_run - cs_panel_of for a panel of which only the first `valid` columns exist in c and
 * init */
void cs_panel_run(bool trans, int width, int valid, const cs_panel *q);

/** cs_panel_done - release the tile configuration of a thread, at the end of a task */
#if CS_LEVEL_IS(amx)
void cs_panel_done(void);
#else
#undef cs_panel_done
static inline void cs_panel_done(void) { }
#endif

/** cs_panel_rows - n rounded up to a multiple of CS_PANEL_ROWS, for rows that exist in scratch */
static inline int64_t cs_panel_rows(int64_t n)
{
    return (n + CS_PANEL_ROWS - 1) / CS_PANEL_ROWS * CS_PANEL_ROWS;
}

/** cs_panel_width, cs_panel_count - width of panel p, and number of panels, of n columns: the last
 * panel is one vector wide if that suffices */
static inline int cs_panel_width(int32_t n, int32_t p)
{
    return n - p * CS_PANEL <= CS_VEC ? CS_VEC : CS_PANEL;
}
static inline int32_t cs_panel_count(int32_t n) { return (n + CS_PANEL - 1) / CS_PANEL; }

/* A task of a product: rows by columns of the result, in blocks of the summed dimension. */
enum { CS_DEPTH = 384,           /* of a block: a packed panel of 24 KB fits in L1 */
       CS_DEPTH_T = 192,         /* the same if the left operand is transposed: its lines are in L1,
                                  * too */
       CS_TASK_COLS = 192, CS_TASK_ROWS_MIN = 96, CS_TASK_ROWS_MAX = 1536 };
_Static_assert(CS_DEPTH * CS_TASK_COLS == CS_PACK_SCRATCH, "a packed block fills the scratch");

/** cs_task_rows - rows of a task: as many as possible, for at least n_task blocks of n_row rows */
static inline int64_t cs_task_rows(int64_t n_row, int64_t n_task)
{
    const int64_t n = (n_row / n_task + CS_STRIP - 1) / CS_STRIP * CS_STRIP;
    return n < CS_TASK_ROWS_MIN ? CS_TASK_ROWS_MIN : n > CS_TASK_ROWS_MAX ? CS_TASK_ROWS_MAX : n;
}
/** cs_task_cols - columns of a task: as many as possible, for at least n_thread tasks */
static inline int32_t cs_task_cols(int64_t n_row_block, int32_t n_col, int n_thread)
{
    int32_t n = CS_TASK_COLS;
    while (n_row_block * ((n_col + n - 1) / n) < n_thread && n > CS_PANEL)
        n = (n / 2 + CS_PANEL - 1) / CS_PANEL * CS_PANEL;
    return n;
}

/** cs_pack_panel - pack one panel: cells of columns 0 .. valid-1 of n_k rows of b, then zeros; sk
 * or sj is 1 */
void cs_pack_panel(const float *b, int64_t sk, int64_t sj, int64_t n_k, int width, int32_t valid,
                   float *out);

/**
 * cs_pack - pack op(b) into panels, zero-padded to the width of the last panel
 *
 * b        n_k rows and n columns of op(b), element (k, j) at b[k*sk + j*sj]
 * out      cells, n = cs_cell_count(n_k) rows: panel p at out + p * CS_PANEL * n, [n][width]: see
 *          cs_pack_size()
 */
void cs_pack(const float *b, int64_t sk, int64_t sj, int64_t n_k, int32_t n, float *out);

#if CS_LEVEL_PAIRS
/** cs_cells_transposed - cells of n_k rows, transposed: out[j*ld + k/2] has rows k and k + 1 of
 * column j0 + j, for n columns; row k is at row[k] */
void cs_cells_transposed(const float *const *row, int64_t n_k, int64_t j0, int64_t n, float *out,
                         int64_t ld);
#endif

/** cs_pack_size - maximum number of floats written by cs_pack() */
static inline int64_t cs_pack_size(int64_t n_k, int32_t n)
{
    return cs_cell_count(n_k) * cs_panel_count(n) * CS_PANEL;
}

#endif
#endif

/* vec_gemm.c - matrix product by blocks: pack a block of the right operand, run panels over it.
 *
 * DESIGN. c is cut into tasks of rows by columns. A task loops over blocks of k and packs op(b)'s
 * block into its thread's scratch. Packing is repeated for every block of rows (1/rows of the
 * arithmetic); in return there is a single parallel loop without barriers, for tall products (x W',
 * dy W) and deep ones (dW = dy' x over all rows) alike. The cut in rows and columns does not change
 * an element's chain of additions; the cut in k depends on k only.
 * If there are few rows, as in a head, packing costs as much as the product: weights that do not
 * change are packed once.
 */
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/tables.h"

#include <string.h>

enum { ROWS_CELLS = 192 };       /* rows of the left operand that are rounded together */
_Static_assert(CS_DEPTH * ROWS_CELLS <= CS_PACK_SCRATCH, "cells of both operands fill the scratch");

static const float zeros[CS_PANEL];

typedef struct gemm {
    bool ta, tb;
    cs_mat a, b, c;
    const float *packed;         /* op(b) packed in blocks of k; NULL: pack it here */
    const float *bias;           /* row to add, only with a single block; or NULL */
    bool add;                    /* beta is 1 */
    int64_t n_k, depth, rows;    /* depth, rows and cols of a task's block */
    int32_t cols;
} gemm;

void cs_pack(const float *b, int64_t sk, int64_t sj, int64_t n_k, int32_t n, float *out)
{
    for (int32_t p = 0; p < cs_panel_count(n); p++)
        cs_pack_panel(b + p * CS_PANEL * sj, sk, sj, n_k, cs_panel_width(n, p), n - p * CS_PANEL,
                      out + p * CS_PANEL * cs_cell_count(n_k));
}

#if !CS_LEVEL_IS(amx)
/* A panel with columns outside c: through a buffer of the panel's width. */
static void edge(bool ta, int width, int valid, const cs_panel *q)
{
    const int64_t row = ta ? 1 : q->lda;
    float buf[CS_STRIP * CS_PANEL] = { 0 };
    for (int64_t r = 0; r < q->n_row; r += CS_STRIP) {
        cs_panel s = *q;
        s.n_row = cs_min64(CS_STRIP, q->n_row - r);
        s.a += r * row;
        s.init = s.c = buf;
        s.ldi = s.ldc = CS_PANEL;
        for (int64_t i = 0; i < s.n_row; i++)
            for (int j = 0; j < valid; j++)
                buf[i * CS_PANEL + j] = q->init[(r + i) * q->ldi + j];
        cs_panel_of(ta, width, &s);
        for (int64_t i = 0; i < s.n_row; i++)
            for (int j = 0; j < valid; j++)
                q->c[(r + i) * q->ldc + j] = buf[i * CS_PANEL + j];
    }
}

void cs_panel_run(bool ta, int width, int valid, const cs_panel *q)
{
    if (valid >= width)
        cs_panel_of(ta, width, q);
    else
        edge(ta, width, valid, q);
}
#endif

/* Packed panel of column j0 in the block of n_k rows from k on. */
static const float *at_panel(const gemm *g, int64_t k, int64_t n_k, int32_t j0)
{
    return g->packed + k / g->depth * cs_pack_size(g->depth, g->c.c) + j0 * cs_cell_count(n_k);
}

/* Rows i .. i+n_row-1 of the left operand in a block of k: a, lda and n_k of a panel, and its
 * `trans`. */
typedef struct left { const float *a; int64_t lda, i, n_row, n_k; bool trans; } left;

/* Cells of n_row rows of op(a) if a is transposed: columns of a, the first one from `from` down. */
static void transposed_cells(const gemm *g, const float *from, int64_t n_row, int64_t n_k,
                             float *cells)
{
#if CS_LEVEL_PAIRS
    const float *line[CS_DEPTH_T];
    for (int64_t k = 0; k < n_k; k++)
        line[k] = from + k * g->a.ld;
    cs_cells_transposed(line, n_k, 0, n_row, cells, cs_cell_count(n_k));
#else
    (void)g, (void)from, (void)n_row, (void)n_k, (void)cells;
#endif
}

/* n_row rows of op(a) from i on, in the block of n_k from k on: as pairs in `cells`, or, if cells
 * are floats, in place. */
static left left_of(const gemm *g, int64_t i, int64_t n_row, int64_t k, int64_t n_k, float *cells)
{
    const int64_t row = g->ta ? 1 : g->a.ld, n = cs_cell_count(n_k);
    const float *a = g->a.p + i * row + k * (g->ta ? g->a.ld : 1);
    if (CS_PER_CELL == 1)
        return (left){ .a = a, .lda = g->a.ld, .i = i, .n_row = n_row, .n_k = n_k,
                       .trans = g->ta };
    if (g->ta)
        transposed_cells(g, a, n_row, n_k, cells);
    else
        for (int64_t r = 0; r < n_row; r++)
            cs_cells(a + r * row, n_k, cells + r * n);
    return (left){ .a = cells, .lda = n, .i = i, .n_row = n_row, .n_k = n };
}

/* Columns j0 .. j0+n-1 of c in the rows of a; b is packed. */
static void task_panels(const gemm *g, const left *a, bool add, const float *b, int32_t j0,
                        int32_t n)
{
    for (int32_t p = 0; p < cs_panel_count(n); p++) {
        int width = cs_panel_width(n, p), valid = n - p * CS_PANEL;
        const int32_t j = j0 + p * CS_PANEL;
        float *c = cs_row(g->c, a->i) + j;
        cs_panel q = { .a = a->a, .lda = a->lda, .b = b + p * CS_PANEL * a->n_k, .ldb = width,
                       .init = add ? c : g->bias ? g->bias + j : zeros,
                       .ldi = add ? g->c.ld : 0,
                       .c = c, .ldc = g->c.ld, .n_row = a->n_row, .n_k = a->n_k };
        cs_panel_run(a->trans, width, valid, &q);
    }
}

static void task(const gemm *g, int64_t i0, int32_t j0, float *pack)
{
    const int64_t end = cs_min64(i0 + g->rows, g->c.r);
    const int64_t step = CS_PER_CELL > 1 ? ROWS_CELLS : g->rows;
    int32_t n = g->c.c - j0 < g->cols ? g->c.c - j0 : g->cols;
    int64_t sk = g->tb ? 1 : g->b.ld, sj = g->tb ? g->b.ld : 1;
    for (int64_t k = 0; k < g->n_k || k == 0; k += g->depth) {
        int64_t n_k = cs_min64(g->depth, g->n_k - k);
        const float *b = g->packed ? at_panel(g, k, n_k, j0) : pack;
        if (!g->packed)
            cs_pack(g->b.p + k * sk + j0 * sj, sk, sj, n_k, n, pack);
        for (int64_t i = i0; i < end; i += step) {
            const int64_t n_row = cs_min64(step, end - i);
            const left a = left_of(g, i, n_row, k, n_k, pack + CS_PACK_SCRATCH / 2);
            task_panels(g, &a, g->add || k > 0, b, j0, n);
        }
    }
    cs_panel_done();
}

/* Rows per block of k, of n_k in total. */
static int64_t depth_of(int64_t n_k, int64_t max_depth)
{
    const int64_t n_block = (n_k + max_depth - 1) / max_depth;
    return n_block ? (n_k + n_block - 1) / n_block : 1;
}

static void run(cs_backend *be, gemm *g)
{
    const cs_mat c = g->c;
    if (c.r == 0 || c.c == 0)
        return;
    int n_thread = cs_threads(be, c.r * c.c * g->n_k);
    g->depth = depth_of(g->n_k, g->ta ? CS_DEPTH_T : CS_DEPTH);
    g->rows = cs_task_rows(c.r, n_thread > 1 ? 4 * n_thread : 1);
    int64_t n_i = (c.r + g->rows - 1) / g->rows;
    g->cols = cs_task_cols(n_i, c.c, n_thread);
    int64_t n_j = (c.c + g->cols - 1) / g->cols;
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int64_t t = 0; t < n_i * n_j; t++)
        task(g, t / n_j * g->rows, (int32_t)(t % n_j) * g->cols, cs_pack_scratch(be));
}

static void vec_gemm(cs_backend *be, bool ta, bool tb, cs_mat a, cs_mat b, cs_real beta, cs_mat c)
{
    gemm g = { .ta = ta, .tb = tb, .a = a, .b = b, .c = c, .add = beta != 0,
               .n_k = ta ? a.r : a.c };
    run(be, &g);
}

/* ---- prepacked weights --------------------------------------------------------------------- */

static int64_t affine_pack_size(cs_mat w)
{
    const int64_t depth = depth_of(w.c, CS_DEPTH);
    return (w.c + depth - 1) / depth * cs_pack_size(depth, (int32_t)w.r);
}

static void affine_prepare(cs_backend *be, cs_mat w, cs_real *pack)
{
    const int64_t depth = depth_of(w.c, CS_DEPTH);
    (void)be;
    for (int64_t k = 0; k < w.c; k += depth, pack += cs_pack_size(depth, (int32_t)w.r))
        cs_pack(w.p + k, 1, w.ld, cs_min64(depth, w.c - k), (int32_t)w.r, pack);
}

static void affine(cs_backend *be, cs_mat x, const cs_real *pack, cs_mat bias, cs_mat y)
{
    const bool at_once = bias.r > 0 && x.c <= CS_DEPTH;
    gemm g = { .tb = true, .a = x, .c = y, .n_k = x.c, .packed = pack,
               .bias = at_once ? bias.p : NULL };
    run(be, &g);
    if (bias.r > 0 && !at_once)
        be->op.add_bias(be, bias, y);
}

void cs_vec_gemm(cs_ops *op)
{
    op->gemm = vec_gemm;
}

void cs_vec_affine(cs_fused *fused)
{
    fused->affine = affine;
    fused->affine_prepare = affine_prepare;
    fused->affine_pack_size = affine_pack_size;
}

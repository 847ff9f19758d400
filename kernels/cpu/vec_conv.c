/* vec_conv.c - circular dilated convolution as implicit GEMM on packed panels.
 *
 * DESIGN. For one tap, consecutive tokens read consecutive rows, which wrap once at the end of the
 * segment. Between the wraps of all taps, a convolution is a product whose left operand is given in
 * runs, one per tap, on the panels of gemm.h. Nothing is gathered or copied (cells are packed once
 * for all taps), and the sum over taps and channels stays in registers.
 * Taps are grouped as far as their weights fit in the L1 cache, and the groups' sums are added in
 * the output. An element's chain of additions depends on the number of channels and taps only, so a
 * prediction is bit-equal alone or in a batch. Tasks are blocks of rows by columns. If the weights
 * of all taps fit in a thread's scratch, they are packed once and all groups run on a few rows at a
 * time; otherwise the loop over groups is the outer one. An epilogue (norm, relu, residual) follows
 * while these rows are in cache.
 */
#include <string.h>

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/norm.h"
#include "kernels/cpu/tables.h"

/* Blocks have up to CS_DEPTH channels or, for the gradient of the weights, CS_DEPTH_T tokens. */
enum { TAPS = 16,                /* maximum number of taps in a group */
       ROWS = (CS_PER_CELL > 1 ? 2 : 1) * CS_TASK_ROWS_MIN,  /* that all taps pass together */
       CELLS = CS_PACK_SCRATCH / 2,      /* part of the scratch for cells of x, where these are
                                          * pairs: ROWS rows of CS_DEPTH channels */
       PACK = CS_PER_CELL > 1 ? CS_PACK_SCRATCH - CELLS : CS_PACK_SCRATCH };
_Static_assert(CS_PER_CELL == 1 || ROWS * CS_DEPTH / CS_PER_CELL <= CELLS, "rows fill their part");

static const float zeros[CS_PANEL];

typedef struct conv {
    cs_seg  seg;
    cs_taps taps;
    bool    adjoint, add;        /* add: accumulate into y */
    cs_mat  x, w, bias, y;
    const cs_epilogue *epi;      /* epilogue of a task, which then has all columns; NULL: none */
    cs_mat  out;                 /* the epilogue's result */
    int64_t rows;                /* rows of a task's block */
    int32_t cols;
} conv;

/* A group of taps and a block of channels, for columns j0 .. j0+n-1; pack has their weights, tap
 * after tap in each panel. */
typedef struct part {
    const float *pack;
    float  *cells;               /* scratch of CELLS floats */
    int64_t k0, n_k;             /* channels of x */
    int32_t tap, n_tap, j0, n;
    bool    first;               /* first group: init is the bias, zero, or y */
} part;

/* The next group of p's rows, in order of taps, then of channels. */
static bool next_part(const conv *q, part *p)
{
    p->first = p->n_tap == 0;
    p->k0 = p->k0 + p->n_k < q->x.c ? p->k0 + p->n_k : 0;
    p->tap += p->k0 == 0 ? p->n_tap : 0;
    p->n_k = cs_min64(CS_DEPTH, q->x.c - p->k0);
    const int64_t fit = q->x.c < CS_DEPTH ? CS_DEPTH / (CS_PER_CELL * cs_cell_count(q->x.c)) : 1;
    p->n_tap = (int32_t)cs_min64(cs_min64(TAPS, q->taps.n - p->tap), fit);
    return p->tap < q->taps.n;
}

/* The panels of some rows of y from `to` on; `left` has the left operand. */
static void run_panels(const conv *q, const part *p, cs_panel left, int64_t to, int64_t n_row)
{
    bool add = q->add || !p->first;
    for (int32_t k = 0; k < cs_panel_count(p->n); k++) {
        int width = cs_panel_width(p->n, k), j = p->j0 + k * CS_PANEL;
        float *c = cs_row(q->y, to) + j;
        const float *start = q->bias.r ? q->bias.p + j : zeros;
        cs_panel panel = left;
        panel.b = p->pack + k * CS_PANEL * left.n_k;
        panel.ldb = width;
        panel.init = add ? c : start;
        panel.ldi = add ? q->y.ld : 0;
        panel.c = c;
        panel.ldc = q->y.ld;
        panel.n_row = n_row;
        cs_panel_run(false, width, p->n - k * CS_PANEL, &panel);
    }
}

#if CS_LEVEL_PAIRS
/* row[i] = the row of x that row r + i of y reads under a tap, for n rows */
static void tap_rows(cs_seg seg, cs_taps taps, int32_t tap, bool adjoint, cs_mat x, int64_t r,
                     int64_t n, const float **row)
{
    int32_t s = cs_seg_find(seg, r);
    for (int64_t i = 0; i < n;) {
        const cs_seg_span a = cs_seg_span_at(seg, &s, r + i, r + n);
        int64_t from = (a.t0 + cs_tap_shift(taps, tap, adjoint, a.len)) % a.len;
        for (int64_t end = i + a.n; i < end; i++, from = from + 1 == a.len ? 0 : from + 1)
            row[i] = cs_row(x, a.start + from);
    }
}

/* Rows of y that are far apart under the taps, or of short segments: a row's cells under each tap
 * are written side by side. */
static void run_apart(const conv *q, const part *p, int64_t r, int64_t n)
{
    const int64_t n_cell = cs_cell_count(p->n_k);
    const cs_panel left = { .a = p->cells, .lda = p->n_tap * n_cell, .n_k = p->n_tap * n_cell };
    const float *row[CS_TASK_ROWS_MIN];
    for (int32_t k = 0; k < p->n_tap; k++) {
        tap_rows(q->seg, q->taps, p->tap + k, q->adjoint, q->x, r, n, row);
        for (int64_t i = 0; i < n; i++)
            cs_cells(row[i] + p->k0, p->n_k, p->cells + (i * p->n_tap + k) * n_cell);
    }
    run_panels(q, p, left, r, n);
}

/* Rows of one segment: cells of all tokens under any tap are written once, in circular order. */
static void run_span(const conv *q, const part *p, cs_seg_span a)
{
    const int64_t n_cell = cs_cell_count(p->n_k);
    const int32_t last = p->n_tap - 1;
    int64_t run[TAPS], n = a.n + last * q->taps.dilation;
    int64_t t = a.t0 + cs_tap_shift(q->taps, p->tap + (q->adjoint ? last : 0), q->adjoint, a.len);
    float *cells = p->cells;
    for (t %= a.len; n > 0; n--, cells += n_cell, t = t + 1 == a.len ? 0 : t + 1)
        cs_cells(cs_row(q->x, a.start + t) + p->k0, p->n_k, cells);
    for (int32_t k = 0; k <= last; k++)
        run[k] = (q->adjoint ? last - k : k) * q->taps.dilation * n_cell;
    run_panels(q, p, (cs_panel){ .a = p->cells, .lda = n_cell, .track = n_cell, .run = run,
                                 .n_k = p->n_tap * n_cell }, a.start + a.t0, a.n);
}

static void run_part(const conv *q, const part *p, int64_t r0, int64_t r1)
{
    enum { SHORT = 32 };         /* tokens: fewer than a product takes together */
    const int64_t max_rows = CELLS / cs_cell_count(p->n_k) - (p->n_tap - 1) * q->taps.dilation;
    int32_t s = cs_seg_find(q->seg, r0);
    for (int64_t r = r0, n; r < r1; r += n) {
        cs_seg_span a = cs_seg_span_at(q->seg, &s, r, r1);
        n = cs_min64(a.n, max_rows);
        if (n >= SHORT && n > q->taps.dilation) {
            a.n = n;
            run_span(q, p, a);
        } else {
            n = cs_min64(CS_TASK_ROWS_MIN, r1 - r);
            run_apart(q, p, r, n);
        }
    }
}
#else
/* The rows of x under each tap are contiguous and begin at run[]. */
static void run_part(const conv *q, const part *p, int64_t r0, int64_t r1)
{
    int64_t run[TAPS];
    const cs_panel left = { .a = q->x.p + p->k0, .lda = q->x.ld, .track = p->n_k, .run = run,
                            .n_k = p->n_tap * p->n_k };
    int32_t s = cs_seg_find(q->seg, r0);
    for (int64_t r = r0, n; r < r1; r += n) {
        cs_seg_span a = cs_seg_span_at(q->seg, &s, r, r1);
        n = a.n;
        for (int32_t k = 0; k < p->n_tap; k++) {
            int64_t shift = cs_tap_shift(q->taps, p->tap + k, q->adjoint, a.len);
            int64_t from = a.t0 + shift < a.len ? a.t0 + shift : a.t0 + shift - a.len;
            n = cs_min64(n, a.len - from);
            run[k] = (a.start + from) * q->x.ld;
        }
        run_panels(q, p, left, r, n);
    }
}
#endif

/* Cells of a group's weights. */
static int64_t part_size(const part *p)
{
    return p->n_tap * cs_pack_size(p->n_k, p->n);
}

static void pack_part(const conv *q, const part *p, float *pack)
{
    int64_t sk = q->adjoint ? 1 : q->w.ld, sj = q->adjoint ? q->w.ld : 1;
    for (int32_t k = 0; k < cs_panel_count(p->n); k++) {
        int width = cs_panel_width(p->n, k);
        for (int32_t i = 0; i < p->n_tap; i++, pack += cs_cell_count(p->n_k) * width) {
            const float *w = cs_row(q->w, q->w.r / q->taps.n * (p->tap + i));
            cs_pack_panel(w + p->k0 * sk + (p->j0 + k * CS_PANEL) * sj, sk, sj, p->n_k, width,
                          p->n - k * CS_PANEL, pack);
        }
    }
}

/* All taps and channels over some rows; packs the weights unless `packed`. */
static void run_taps(const conv *q, part p, bool packed, float *pack, int64_t r0, int64_t r1)
{
    float *end = pack;
    while (next_part(q, &p)) {
        p.pack = packed ? end : pack;
        if (packed)
            end += part_size(&p);
        else
            pack_part(q, &p, pack);
        run_part(q, &p, r0, r1);
    }
}

/* y = relu(y) + res in some rows. */
static void relu_rows(cs_mat res, cs_mat y, int64_t r0, int64_t r1)
{
    for (int64_t r = r0; r < r1; r++)
        for (int32_t j = 0; j < y.c; j += CS_VEC) {
            float *to = cs_row(y, r) + j;
            cs_vec v = cs_vmax(cs_vset(0), cs_get(to, y.c - j));
            if (res.r)
                v = cs_vadd(v, cs_get(cs_row(res, r) + j, y.c - j));
            cs_put(to, y.c - j, v);
        }
}

/* The epilogue of rows whose convolution is in pre, which may be y. */
static void run_epilogue(const cs_epilogue *t, cs_mat pre, cs_mat y, int64_t r0, int64_t r1)
{
    if (t->gamma.r)
        cs_norm_rows(true, &(cs_norm_job){ .x = pre, .gamma = t->gamma, .beta = t->beta,
                                           .res = t->res, .y = y, .stat = t->stat,
                                           .eps = t->eps }, r0, r1);
    else
        relu_rows(t->res, y, r0, r1);
}

/* Columns j0 .. j0+n-1 of a block of rows. */
static void conv_task(const conv *q, int64_t r0, int32_t j0, int32_t n, float *pack)
{
    int64_t r1 = cs_min64(r0 + q->rows, q->seg.rows);
    part p = { .j0 = j0, .n = n, .cells = pack + PACK };
    int64_t n_pack = 0;

    for (part group = p; next_part(q, &group);)
        n_pack += part_size(&group);
    if (n_pack > PACK) {
        for (const int32_t end = j0 + n; p.j0 < end; p.j0 += CS_TASK_COLS) {
            p.n = end - p.j0 < CS_TASK_COLS ? end - p.j0 : CS_TASK_COLS;
            run_taps(q, p, false, pack, r0, r1);
        }
        if (q->epi)
            run_epilogue(q->epi, q->y, q->out, r0, r1);
        return;
    }
    float *to = pack;
    for (part group = p; next_part(q, &group); to += part_size(&group))
        pack_part(q, &group, to);
    for (int64_t r = r0; r < r1; r += ROWS) {
        run_taps(q, p, true, pack, r, cs_min64(r + ROWS, r1));
        if (q->epi)
            run_epilogue(q->epi, q->y, q->out, r, cs_min64(r + ROWS, r1));
    }
}

static void run_conv(cs_backend *be, conv *q)
{
    int n_thread = cs_threads(be, q->x.r * q->w.r * q->w.c);
    q->rows = cs_task_rows(q->seg.rows, 4 * n_thread);
    int64_t n_i = (q->seg.rows + q->rows - 1) / q->rows;
    q->cols = q->epi ? q->y.c : cs_task_cols(n_i, q->y.c, n_thread);
    int64_t n_j = (q->y.c + q->cols - 1) / q->cols;
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int64_t t = 0; t < n_i * n_j; t++) {
        const int32_t j = (int32_t)(t % n_j) * q->cols;
        conv_task(q, t / n_j * q->rows, j, q->y.c - j < q->cols ? q->y.c - j : q->cols,
                  cs_pack_scratch(be));
        cs_panel_done();
    }
}

static void vec_seg_conv(cs_backend *be, cs_seg seg, cs_taps taps, bool adjoint, cs_mat x,
                         cs_mat w, cs_mat bias, cs_real beta, cs_mat y)
{
    conv q = { .seg = seg, .taps = taps, .adjoint = adjoint, .add = beta != 0, .x = x, .w = w,
               .bias = bias, .y = y };
    run_conv(be, &q);
}

/* Few rows are cut by columns, to occupy all threads, and the epilogue is a second pass. */
static void vec_conv_epilogue(cs_backend *be, cs_seg seg, cs_taps taps, cs_mat x, cs_mat w,
                              const cs_epilogue *epi, cs_mat y)
{
    const int n_thread = cs_threads(be, x.r * w.r * w.c);
    const bool by_columns = seg.rows <= (n_thread - 1) * CS_TASK_ROWS_MIN;
    conv q = { .seg = seg, .taps = taps, .x = x, .w = w, .bias = epi->bias,
               .y = epi->pre.r ? epi->pre : y, .epi = by_columns ? NULL : epi, .out = y };
    run_conv(be, &q);
    if (!by_columns)
        return;
    #pragma omp parallel for num_threads(n_thread)
    for (int64_t r = 0; r < y.r; r += CS_NORM_ROWS)
        run_epilogue(epi, q.y, y, r, cs_min64(r + CS_NORM_ROWS, y.r));
}

/* conv_epilogue supports every size. */
static bool conv_fits(cs_backend *be, cs_taps taps, cs_mat x, cs_mat y, bool norm)
{
    (void)be, (void)taps, (void)x, (void)y, (void)norm;
    return true;
}

/* ---- gradient of the weights --------------------------------------------------------------- */

typedef struct dweight {
    cs_seg  seg;
    cs_taps taps;
    cs_mat  x, dy, dw;
    int32_t cols;
} dweight;

/* Rows r .. r+n-1 and columns j0 .. j0+n_col-1 of dy, packed at the start of a thread's scratch. */
typedef struct block { float *pack; int64_t r, n; int32_t j0, n_col; } block;

#if CS_LEVEL_PAIRS
/* A tap's rows of dw += x' dy over the rows of a block */
static void dw_tap(const dweight *q, int32_t tap, const block *dy)
{
    const int64_t n_cell = cs_cell_count(dy->n), step = CELLS / cs_cell_count(CS_DEPTH_T);
    const float *row[CS_DEPTH_T];
    tap_rows(q->seg, q->taps, tap, false, q->x, dy->r, dy->n, row);
    for (int64_t c = 0; c < q->x.c; c += step) {
        const int64_t n_row = cs_min64(step, q->x.c - c);
        float *to = cs_row(q->dw, (int64_t)tap * q->x.c + c) + dy->j0;
        cs_cells_transposed(row, dy->n, c, n_row, dy->pack + PACK, n_cell);
        for (int32_t k = 0; k < cs_panel_count(dy->n_col); k++, to += CS_PANEL) {
            const int width = cs_panel_width(dy->n_col, k);
            const cs_panel panel = { .a = dy->pack + PACK, .lda = n_cell,
                                     .b = dy->pack + k * CS_PANEL * n_cell, .ldb = width,
                                     .init = to, .ldi = q->dw.ld, .c = to, .ldc = q->dw.ld,
                                     .n_row = n_row, .n_k = n_cell };
            cs_panel_run(false, width, dy->n_col - k * CS_PANEL, &panel);
        }
    }
}

/* Transposing a row's cells takes longer than pairing them. So dy is transposed, once for all taps,
 * where its product with x, the transpose of dw, fits in the scratch beside it. */
enum { TRANSPOSED = CS_DEPTH_T / CS_PER_CELL * CS_TASK_COLS,
       PAIRED = CS_DEPTH_T / CS_PER_CELL * CS_PANEL,
       SUMS = CS_PACK_SCRATCH - TRANSPOSED - PAIRED };

static bool sums_fit(const dweight *q)
{
    return (q->dy.c < CS_TASK_COLS ? q->dy.c : CS_TASK_COLS) * (int64_t)q->taps.n * q->x.c <= SUMS;
}

/* Cells of a panel's columns from j on, of which `valid` exist, of n rows that are anywhere. */
static void pair_rows(const float *const *row, int64_t n, int64_t j, int width, int64_t valid,
                      float *out)
{
    const int64_t n_pair = valid < width ? 0 : n / 2;
    float *panel = out;
    for (int64_t c = 0; c < n_pair; c++) {
        const float *a = row[2 * c] + j, *b = row[2 * c + 1] + j;
        for (int i = 0; i < width; i += CS_VEC, out += CS_VEC)
            cs_vstore(out, cs_vpair(cs_vload(a + i), cs_vload(b + i)));
    }
    for (int64_t c = n_pair; c < cs_cell_count(n); c++)
        for (int i = 0; i < width; i += CS_VEC, out += CS_VEC) {
            const int64_t first = 2 * c < n ? valid - i : 0;
            const int64_t second = 2 * c + 1 < n ? valid - i : 0;
            const cs_vec a = cs_get(first > 0 ? row[2 * c] + j + i : *row, first);
            const cs_vec b = cs_get(second > 0 ? row[2 * c + 1] + j + i : *row, second);
            cs_vstore(out, cs_vpair(a, b));
        }
    cs_cells_zip(panel, cs_cell_count(n), width);
}

/* sum (dy->n_col, x.c) += dy' x under a tap over the rows of a block, which is transposed. */
static void sum_tap(const dweight *q, int32_t tap, const block *dy, float *sum, int64_t ld)
{
    const int64_t n_cell = cs_cell_count(dy->n);
    float *pairs = dy->pack + TRANSPOSED;
    const float *row[CS_DEPTH_T];
    tap_rows(q->seg, q->taps, tap, false, q->x, dy->r, dy->n, row);
    for (int32_t k = 0; k < cs_panel_count(q->x.c); k++, sum += CS_PANEL) {
        const int width = cs_panel_width(q->x.c, k), valid = q->x.c - k * CS_PANEL;
        const cs_panel panel = { .a = dy->pack, .lda = n_cell, .b = pairs, .ldb = width,
                                 .init = sum, .ldi = ld, .c = sum, .ldc = ld,
                                 .n_row = dy->n_col, .n_k = n_cell };
        pair_rows(row, dy->n, k * CS_PANEL, width, valid, pairs);
        cs_panel_run(false, width, valid, &panel);
    }
}

/* dw's rows from `from` on, columns from j0 on, += the transpose of sum (n_col, n) */
static void add_transposed(const float *sum, int32_t n_col, int64_t n, cs_mat dw, int64_t from,
                           int32_t j0)
{
    for (int64_t i = 0; i < n; i += CS_VEC)
        for (int32_t j = 0; j < n_col; j += CS_VEC) {
            float square[CS_VEC * CS_VEC] = { 0 }, transposed[CS_VEC * CS_VEC];
            for (int32_t k = 0; k < CS_VEC && j + k < n_col; k++)
                cs_vstore(square + k * CS_VEC, cs_get(sum + (j + k) * n + i, n - i));
            cs_vtranspose(square, CS_VEC, transposed, CS_VEC);
            for (int64_t k = 0; k < CS_VEC && i + k < n; k++) {
                float *to = cs_row(dw, from + i + k) + j0 + j;
                cs_put(to, n_col - j, cs_vadd(cs_get(to, n_col - j),
                                              cs_vload(transposed + k * CS_VEC)));
            }
        }
}

static void dw_transposed(const dweight *q, const int32_t tap[2], int32_t j0, int32_t n_col,
                          float *pack)
{
    const int64_t ld = (int64_t)(tap[1] - tap[0]) * q->x.c;
    float *sum = pack + TRANSPOSED + PAIRED;
    memset(sum, 0, (size_t)(n_col * ld) * sizeof *sum);
    for (int64_t r = 0, n; r < q->seg.rows; r += n) {
        const float *row[CS_DEPTH_T];
        n = cs_min64(CS_DEPTH_T, q->seg.rows - r);
        for (int64_t i = 0; i < n; i++)
            row[i] = cs_row(q->dy, r + i);
        cs_cells_transposed(row, n, j0, n_col, pack, cs_cell_count(n));
        const block dy = { .pack = pack, .r = r, .n = n, .j0 = j0, .n_col = n_col };
        for (int32_t k = tap[0]; k < tap[1]; k++)
            sum_tap(q, k, &dy, sum + (k - tap[0]) * q->x.c, ld);
    }
    add_transposed(sum, n_col, ld, q->dw, (int64_t)tap[0] * q->x.c, j0);
}

/* All rows in order, in blocks, so sums do not depend on the number of threads. */
static void dw_task(const dweight *q, const int32_t tap[2], int32_t j0, float *pack)
{
    const int32_t n_col = q->dy.c - j0 < q->cols ? q->dy.c - j0 : q->cols;
    if (sums_fit(q)) {
        dw_transposed(q, tap, j0, n_col, pack);
        return;
    }
    for (int64_t r = 0, n; r < q->seg.rows; r += n) {
        n = cs_min64(CS_DEPTH_T, q->seg.rows - r);
        cs_pack(cs_row(q->dy, r) + j0, q->dy.ld, 1, n, n_col, pack);
        const block dy = { .pack = pack, .r = r, .n = n, .j0 = j0, .n_col = n_col };
        for (int32_t k = tap[0]; k < tap[1]; k++)
            dw_tap(q, k, &dy);
    }
}
#else
/* A tap's rows of dw += x' dy for n rows of x from `from` on and of dy from the block's row `done`
 * on. Its panels are stored row by row, `width` floats each. */
static void dw_rows(const dweight *q, int32_t tap, const block *dy, int64_t done, int64_t from,
                    int64_t n)
{
    for (int32_t k = 0; k < cs_panel_count(dy->n_col); k++) {
        int width = cs_panel_width(dy->n_col, k);
        float *c = cs_row(q->dw, (int64_t)tap * q->x.c) + dy->j0 + k * CS_PANEL;
        cs_panel panel = { .a = cs_row(q->x, from), .lda = q->x.ld,
                           .b = dy->pack + k * CS_PANEL * dy->n + done * width, .ldb = width,
                           .init = c, .ldi = q->dw.ld, .c = c, .ldc = q->dw.ld,
                           .n_row = q->x.c, .n_k = n };
        cs_panel_run(true, width, dy->n_col - k * CS_PANEL, &panel);
    }
}

/* Tokens of a segment: their rows of dy are packed once, for all taps. */
static void dw_block(const dweight *q, const int32_t tap[2], cs_seg_span a, int32_t j0, float *pack)
{
    const block dy = { .pack = pack, .r = a.start + a.t0, .n = a.n, .j0 = j0,
                       .n_col = q->dy.c - j0 < q->cols ? q->dy.c - j0 : q->cols };
    cs_pack(cs_row(q->dy, dy.r) + j0, q->dy.ld, 1, a.n, dy.n_col, pack);
    for (int32_t k = tap[0]; k < tap[1]; k++) {
        int64_t from = (a.t0 + cs_tap_shift(q->taps, k, false, a.len)) % a.len;
        for (int64_t done = 0, n; done < a.n; done += n, from = 0) {
            n = cs_min64(a.n - done, a.len - from);
            dw_rows(q, k, &dy, done, a.start + from, n);
        }
    }
}

/* All rows in order, in blocks that depend on the segments only, so sums do not depend on the
 * number of threads. */
static void dw_task(const dweight *q, const int32_t tap[2], int32_t j0, float *pack)
{
    int32_t s = 0;
    for (int64_t r = 0; r < q->seg.rows;) {
        cs_seg_span a = cs_seg_span_at(q->seg, &s, r, q->seg.rows);
        a.n = cs_min64(a.n, CS_DEPTH_T);
        dw_block(q, tap, a, j0, pack);
        r += a.n;
    }
}
#endif

static void vec_seg_conv_dw(cs_backend *be, cs_seg seg, cs_taps taps, cs_mat x, cs_mat dy,
                            cs_mat dw)
{
    int n_thread = cs_threads(be, x.r * dw.r * dw.c);
    const dweight q = { .seg = seg, .taps = taps, .x = x, .dy = dy, .dw = dw,
                        .cols = cs_task_cols(1, dy.c, n_thread) };
    int64_t n_j = (dy.c + q.cols - 1) / q.cols;
    /* one tap per task only if there are too few columns for the threads */
    int32_t task_taps = n_j < n_thread ? 1 : taps.n, n_i = taps.n / task_taps;
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int64_t t = 0; t < n_i * n_j; t++) {
        int32_t k = (int32_t)(t / n_j) * task_taps;
        dw_task(&q, (const int32_t[2]){ k, k + task_taps }, (int32_t)(t % n_j) * q.cols,
                cs_pack_scratch(be));
        cs_panel_done();
    }
}

void cs_vec_conv(cs_ops *op)
{
    op->seg_conv = vec_seg_conv;
    op->seg_conv_dw = vec_seg_conv_dw;
}

void cs_vec_conv_epilogue(cs_fused *fused)
{
    fused->conv_epilogue = vec_conv_epilogue;
    fused->conv_fits = conv_fits;
}

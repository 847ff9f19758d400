/* vec_chord_bwd.c - the fused ChordMixer block, backward; the hidden layer is recomputed. */
#include "kernels/cpu/chord.h"

#include <string.h>

#include "kernels/cpu/strip.h"

/* One thread's tiles: x (floats only), rotated dy, then g (later dh) and GELU's slope per hidden
 * unit. Cells of d and of h columns, and both operands of a product over rows. */
typedef struct tiles { float *x, *dy, *g, *slope, *buf, *wide, *deep, *transposed, *packed; } tiles;

/* An operand in floats: n columns of a tile. */
typedef struct columns { const float *p; int64_t ld; int32_t n; } columns;

/* The left operand of a product: n rows of n_k cells. */
typedef struct rows { const float *p; int64_t ld, n, n_k; } rows;

/* A group's sums, laid out as in cs_chord_plan.sum. */
typedef struct sums { float *w1, *w2, *b1, *b2; } sums;

static tiles tiles_at(const cs_chord_plan *f, float *p)
{
    float *dy = p + CS_TILE * f->ldd, *g = dy + CS_TILE * f->ldd;
    const cs_chord_tmp tmp = cs_chord_plan_tmp(f, p);
    float *deep = tmp.cells + CS_TILE * cs_cells_ld(f->dp);
    float *transposed = deep + CS_TILE * cs_cells_ld(f->hp);
    return (tiles){ p, dy, g, g + CS_TILE * f->ldh, tmp.buf, tmp.cells, deep, transposed,
                    transposed + f->n_transposed };
}

static sums sums_at(const cs_chord_plan *f, int32_t group)
{
    float *w1 = f->sum + group * f->sum_stride, *w2 = w1 + (int64_t)f->h * f->dp;
    float *b1 = w2 + (int64_t)f->d * f->hp;
    return (sums){ w1, w2, b1, b1 + f->hp };
}

/* Loads dy and undoes the rotation: dy of the product's token t, track i is that of y's token
 * t - shift. */
static void load_rotated(const cs_chord_plan *f, const cs_tile *t, cs_mat dy, float *out)
{
    for (int32_t c = 0; c < f->d; c += f->track) {
        float *to = out + c;
        for (int32_t i = 0; i < t->n_span; i++) {
            const cs_seg_span *s = &t->span[i];
            int64_t from = s->t0 - cs_shift(c / f->track, s->len);
            from = from < 0 ? from + s->len : from;
            for (int64_t n = s->n, run; n > 0; n -= run, to += run * f->ldd, from = 0) {
                run = cs_min64(n, s->len - from);
                cs_piece q = { .buf = cs_row(dy, s->start + from) + c, .ldb = dy.ld,
                               .out = to, .ldo = f->ldd };
                cs_piece_move(&q, run, f->track);
            }
        }
    }
}

static void gelu_tile(const cs_chord_plan *f, int64_t n_row, float *g, float *slope)
{
    enum { FOUR = 4 * CS_VEC };
    for (int64_t r = 0; r < n_row; r++, g += f->ldh, slope += f->ldh) {
        int32_t j = 0;
        for (; j + FOUR <= f->hp; j += FOUR) {
            cs_vec v[4], s[4];
#define LOAD(i)  v[i] = cs_vload(g + j + CS_VEC * i);
#define STORE(i) cs_vstore(g + j + CS_VEC * i, v[i]);            \
            cs_vstore(slope + j + CS_VEC * i, s[i]);
            CS_FOUR(LOAD)
            cs_gelu_slope_four(v, s);
            CS_FOUR(STORE)
        }
        for (; j < f->hp; j += CS_VEC) {
            cs_vec s, v = cs_gelu_slope(cs_vload(g + j), &s);
            cs_vstore(g + j, v);
            cs_vstore(slope + j, s);
        }
    }
}

static void multiply_tile(const cs_chord_plan *f, int64_t n_row, float *g,
                          const float *slope)
{
    for (int64_t r = 0; r < n_row; r++)
        for (int32_t j = 0; j < f->hp; j += CS_VEC) {
            float *v = g + r * f->ldh + j;
            cs_vec s = cs_vload(slope + r * f->ldh + j);
            cs_vstore(v, cs_vmul(cs_vload(v), s));
        }
}

/* sum[j] += the sum of column j, in order of rows; n is a multiple of CS_VEC */
static void add_columns(const float *v, int64_t ld, int64_t n_row, int32_t n, float *sum)
{
    for (int32_t j = 0; j < n; j += CS_VEC) {
        cs_vec a = cs_vset(0);
        for (int64_t r = 0; r < n_row; r++)
            a = cs_vadd(a, cs_vload(v + r * ld + j));
        cs_vstore(sum + j, cs_vadd(cs_vload(sum + j), a));
    }
}

static rows rows_of(columns a, int64_t n_row, float *cells)
{
    const int64_t ld = cs_cells_ld(a.n);
    if (CS_PER_CELL == 1)
        return (rows){ a.p, a.ld, n_row, a.n };
    for (int64_t r = 0; r < n_row; r++)
        cs_cells(a.p + r * a.ld, a.n, cells + r * ld);
    return (rows){ cells, ld, cs_panel_rows(n_row), cs_cell_count(a.n) };
}

/* c = init + a b over all panels of n_col columns, init one row */
static void product(rows a, const float *b, const float *init, int32_t n_col, float *c,
                    int64_t ldc)
{
    for (int32_t p = 0; p < cs_chord_panels(n_col); p++) {
        int32_t j = p * CS_PANEL, width = cs_chord_panel_width(n_col, p);
        cs_panel q = { .a = a.p, .lda = a.ld, .b = b + j * a.n_k, .ldb = width, .init = init + j,
                       .c = c + j, .ldc = ldc, .n_row = a.n, .n_k = a.n_k };
        cs_panel_of(false, width, &q);
    }
}

/* c (a.n, b.n) += a' b over the tile's rows; rows of c are padded to whole panels, ldc apart */
#if CS_LEVEL_PAIRS
static void outer(int64_t n_row, columns a, columns b, float *c, int64_t ldc, const tiles *v)
{
    const int64_t n_k = cs_cell_count(n_row);
    const float *row[CS_TILE];
    for (int64_t r = 0; r < n_row; r++)
        row[r] = a.p + r * a.ld;
    cs_cells_transposed(row, n_row, 0, a.n, v->transposed, n_k);
    cs_chord_pack_matrix(b.p, b.ld, 1, n_row, b.n, v->packed);
    for (int32_t p = 0; p < cs_chord_panels(b.n); p++) {
        const int32_t width = cs_chord_panel_width(b.n, p);
        float *to = c + p * CS_PANEL;
        const cs_panel q = { .a = v->transposed, .lda = n_k, .b = v->packed + p * CS_PANEL * n_k,
                             .ldb = width, .init = to, .ldi = ldc, .c = to, .ldc = ldc,
                             .n_row = a.n, .n_k = n_k };
        cs_panel_of(false, width, &q);
    }
}
#else
static void outer(int64_t n_row, columns a, columns b, float *c, int64_t ldc, const tiles *v)
{
    (void)v;
    for (int32_t p = 0; p < cs_chord_panels(b.n); p++) {
        float *to = c + p * CS_PANEL;
        cs_panel q = { .a = a.p, .lda = a.ld, .b = b.p + p * CS_PANEL, .ldb = b.ld, .init = to,
                       .ldi = ldc, .c = to, .ldc = ldc, .n_row = a.n, .n_k = n_row };
        cs_panel_of(true, cs_chord_panel_width(b.n, p), &q);
    }
}
#endif

/* Add the rows of a panel to their rows of dx, with q->init = dy. */
CS_INLINE void add_panel(const int nv, const cs_panel *q, cs_mat dx, int64_t r0, int32_t c)
{
    const int step = cs_strip_rows(nv);
    int64_t at[CS_STRIP];
    for (int i = 0; i < CS_STRIP; i++)
        at[i] = i * (int64_t)dx.ld;
    cs_lanes to = { .in = dx.p, .out = dx.p, .n = 1, .at = { at } };
    for (int64_t r = 0; r < q->n_row; r += step) {
        int mr = (int)cs_min64(step, q->n_row - r);
        to.base[0] = (r0 + r) * dx.ld + c;
        if (mr == step)
            cs_strip(step, nv, CS_LEFT_ROWS, CS_STRIP_ROWS, q, r, &to);
        else
            cs_strip_any(mr, nv, CS_LEFT_ROWS, CS_STRIP_ROWS, q, r, &to);
    }
}

static void add_3(const cs_panel *q, cs_mat dx, int64_t r0, int32_t c)
{
    add_panel(3, q, dx, r0, c);
}

static void add_2(const cs_panel *q, cs_mat dx, int64_t r0, int32_t c)
{
    add_panel(2, q, dx, r0, c);
}

static void add_1(const cs_panel *q, cs_mat dx, int64_t r0, int32_t c)
{
    add_panel(1, q, dx, r0, c);
}

/* The last columns, narrower than their panel: columns beyond them must not be written. */
static void add_edge(const cs_panel *q, int width, cs_mat dx, int64_t r0, int32_t c, float *buf)
{
    cs_panel b = *q;
    int64_t ld = cs_tile_ld(width);
    b.init = b.c = buf;
    b.ldi = b.ldc = ld;
    for (int64_t r = 0; r < q->n_row; r++) {
        memset(buf + r * ld, 0, (size_t)width * sizeof *buf);
        memcpy(buf + r * ld, q->init + r * q->ldi, (size_t)(dx.c - c) * sizeof *buf);
    }
    cs_panel_of(false, width, &b);
    cs_piece m = { .in = cs_row(dx, r0) + c, .ldi = dx.ld, .buf = buf, .ldb = ld,
                   .out = cs_row(dx, r0) + c, .ldo = dx.ld };
    cs_piece_move(&m, q->n_row, dx.c - c);
}

/* The same by tile registers (AMX): columns that do not exist are not touched. */
static void add_tiles(const cs_panel *q, int width, cs_mat dx, int64_t r0, int32_t c, float *buf)
{
    const int32_t n = dx.c - c < width ? dx.c - c : width;
    cs_panel b = *q;
    b.c = buf;
    b.ldc = CS_BUF;
    cs_panel_run(false, width, n, &b);
    const cs_piece m = { .in = cs_row(dx, r0) + c, .ldi = dx.ld, .buf = buf, .ldb = CS_BUF,
                         .out = cs_row(dx, r0) + c, .ldo = dx.ld };
    cs_piece_move(&m, q->n_row, n);
}

/* Zero n columns from c on of the rows of a tile. */
static void clear(const cs_tile *t, cs_mat m, int32_t c, int32_t n)
{
    for (int64_t r = 0; r < t->n; r++)
        memset(cs_row(m, t->r0 + r) + c, 0, (size_t)n * sizeof *m.p);
}

/* dx = beta dx + dy (the residual) + dh w1 */
static void add_dx(const cs_chord_plan *f, const cs_tile *t, const tiles *v,
                   const cs_chord_grads *grad)
{
    static void (*const run[3])(const cs_panel *, cs_mat, int64_t, int32_t) =
        { add_1, add_2, add_3 };
    const rows g = rows_of((columns){ .p = v->g, .ld = f->ldh, .n = f->h }, t->n, v->deep);
    const cs_mat dy = grad->dy, dx = grad->dx;
    for (int32_t p = 0; p < cs_chord_panels(f->d); p++) {
        int32_t c = p * CS_PANEL, width = cs_chord_panel_width(f->d, p);
        cs_panel q = { .a = g.p, .lda = g.ld, .b = f->back[1] + c * g.n_k,
                       .ldb = width, .init = cs_row(dy, t->r0) + c, .ldi = dy.ld, .n_row = t->n,
                       .n_k = g.n_k };
        const bool edge = c + width > f->d;
        if (grad->beta == 0 && !CS_BY_TILES && !edge) {
            q.c = cs_row(dx, t->r0) + c;
            q.ldc = dx.ld;
            cs_panel_of(false, width, &q);
            continue;
        }
        if (grad->beta == 0)
            clear(t, dx, c, edge ? f->d - c : width);
        if (CS_BY_TILES)
            add_tiles(&q, width, dx, t->r0, c, v->buf);
        else if (edge)
            add_edge(&q, width, dx, t->r0, c, v->buf);
        else
            run[width / CS_VEC - 1](&q, dx, t->r0, c);
    }
}

static void backward_tile(const cs_chord_plan *f, int64_t no, cs_mat x, const cs_chord_grads *grad,
                          const tiles *v, const sums *sum)
{
    /* x needs no copy if it has no padding columns, or where tile registers (AMX) load it. */
    const bool in_place = CS_BY_TILES || f->d == f->dp;
    cs_tile t;
    cs_tile_init(&t, f->seg, no);
    load_rotated(f, &t, grad->dy, v->dy);
    for (int64_t r = 0; !in_place && r < t.n; r++)
        memcpy(v->x + r * f->ldd, cs_row(x, t.r0 + r), (size_t)f->d * sizeof(float));
    const columns in = { .p = in_place ? cs_row(x, t.r0) : v->x,
                         .ld = in_place ? x.ld : f->ldd, .n = f->d };
    const columns dy = { .p = v->dy, .ld = f->ldd, .n = f->d };
    const columns g = { .p = v->g, .ld = f->ldh, .n = f->h };
    product(rows_of(in, t.n, v->wide), f->pack.w1, f->pack.b1, f->h, v->g, f->ldh);
    gelu_tile(f, t.n, v->g, v->slope);
    outer(t.n, dy, g, sum->w2, f->hp, v);
    product(rows_of(dy, t.n, v->wide), f->back[0], f->zero, f->h, v->g, f->ldh);
    multiply_tile(f, t.n, v->g, v->slope);
    outer(t.n, g, in, sum->w1, f->dp, v);
    add_columns(v->g, f->ldh, t.n, f->hp, sum->b1);
    add_columns(v->dy, f->ldd, t.n, f->dp, sum->b2);
    add_dx(f, &t, v, grad);
}

/* A group's tiles in order. Clears the sums, and the tiles' padding columns. */
static void backward_group(const cs_chord_plan *f, int32_t g, cs_mat x,
                           const cs_chord_grads *grad, float *tile)
{
    tiles v = tiles_at(f, tile);
    sums sum = sums_at(f, g);
    memset(tile, 0, (size_t)f->tile_stride * sizeof *tile);
    memset(sum.w1, 0, (size_t)f->sum_stride * sizeof *sum.w1);
    for (int64_t i = g * f->n_tile / f->n_group; i < (g + 1) * f->n_tile / f->n_group; i++)
        backward_tile(f, i, x, grad, &v, &sum);
    cs_panel_done();
}

/* m += the sums of all groups in order; `first` is group 0's, with rows ld apart */
static void reduce(cs_backend *be, const cs_chord_plan *f, const float *first, int64_t ld, cs_mat m)
{
    #pragma omp parallel for num_threads(cs_threads(be, m.r * m.c * f->n_group))
    for (int64_t r = 0; r < m.r; r++)
        for (int32_t g = 0; g < f->n_group; g++) {
            const float *from = first + g * f->sum_stride + r * ld;
            float *to = cs_row(m, r);
            for (int32_t j = 0; j < m.c; j++)
                to[j] += from[j];
        }
}

void cs_chord_bwd(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x,
                  const cs_chord_grads *grad, cs_real *work)
{
    cs_chord_plan f = cs_chord_plan_make(be, seg, x.c, (int32_t)k->w1.r, k->track, work);
    cs_chord_pack_matrix(k->w1.p, 1, k->w1.ld, f.d, f.h, f.pack.w1);
    cs_chord_pack_bias(k->b1, f.pack.b1);
    cs_chord_pack_matrix(k->w2.p, k->w2.ld, 1, f.d, f.h, f.back[0]);
    cs_chord_pack_matrix(k->w1.p, k->w1.ld, 1, f.h, f.d, f.back[1]);
    memset(f.zero, 0, (size_t)f.hp * sizeof *f.zero);
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int32_t g = 0; g < f.n_group; g++)
        backward_group(&f, g, x, grad, f.tile + cs_thread_no() * f.tile_stride);
    if (f.n_group == 0)
        return;
    sums sum = sums_at(&f, 0);
    reduce(be, &f, sum.w1, f.dp, grad->dk.w1);
    reduce(be, &f, sum.w2, f.hp, grad->dk.w2);
    reduce(be, &f, sum.b1, 0, grad->dk.b1);
    reduce(be, &f, sum.b2, 0, grad->dk.b2);
}

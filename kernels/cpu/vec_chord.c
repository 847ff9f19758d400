/* vec_chord.c - the fused ChordMixer block: packed weights, tiles, first product with GELU. */
#include "kernels/cpu/chord.h"

#include <string.h>

#include "kernels/cpu/strip.h"

/* ---- packed weights ---------------------------------------------------------------------- */

void cs_chord_pack_matrix(const float *b, int64_t sk, int64_t sj, int64_t n_k, int32_t n,
                          float *out)
{
    for (int32_t p = 0; p < cs_chord_panels(n); p++)
        cs_pack_panel(b + p * CS_PANEL * sj, sk, sj, n_k, cs_chord_panel_width(n, p),
                      n - p * CS_PANEL, out + p * CS_PANEL * cs_cell_count(n_k));
}

/* Rounds up to a cache line: each part starts at one. */
static int64_t round_up_line(int64_t n)
{
    return (n + CS_LINE - 1) / CS_LINE * CS_LINE;
}

cs_chord_pack cs_chord_pack_at(int32_t d, int32_t h, int32_t track, float *p)
{
    int64_t w1 = round_up_line(cs_cell_count(d) * cs_chord_padded(h));
    int64_t w2 = round_up_line(cs_cell_count(h) * cs_chord_padded(d));
    float *b1 = p + w1 + w2;
    return (cs_chord_pack){ d, h, track, p, p + w1, b1, b1 + round_up_line(cs_chord_padded(h)) };
}

int64_t cs_chord_pack_size(int32_t d, int32_t h)
{
    return round_up_line(cs_cell_count(d) * cs_chord_padded(h))
        + round_up_line(cs_cell_count(h) * cs_chord_padded(d))
        + round_up_line(cs_chord_padded(h)) + round_up_line(cs_chord_padded(d));
}

void cs_chord_pack_bias(cs_mat b, float *out)
{
    memset(out, 0, (size_t)cs_chord_padded(b.c) * sizeof *out);
    memcpy(out, b.p, (size_t)b.c * sizeof *out);
}

void cs_chord_pack_fill(const cs_chord *k, cs_chord_pack *to)
{
    cs_chord_pack_matrix(k->w1.p, 1, k->w1.ld, to->d, to->h, to->w1);
    cs_chord_pack_matrix(k->w2.p, 1, k->w2.ld, to->h, to->d, to->w2);
    cs_chord_pack_bias(k->b1, to->b1);
    cs_chord_pack_bias(k->b2, to->b2);
}

/* ---- tiles ------------------------------------------------------------------------------- */

void cs_tile_init(cs_tile *t, cs_seg seg, int64_t no)
{
    t->r0 = no * CS_TILE;
    t->n = cs_min64(CS_TILE, seg.rows - t->r0);
    t->n_span = 0;
    int32_t s = cs_seg_find(seg, t->r0);
    for (int64_t r = t->r0; r < t->r0 + t->n;) {
        cs_seg_span q = cs_seg_span_at(seg, &s, r, t->r0 + t->n);
        t->span[t->n_span++] = q;
        r += q.n;
    }
}

/* ---- first product ----------------------------------------------------------------------- */

/* GELU of n_row rows of nv vectors, four vectors at a time; the last ones may be computed twice. */
CS_INLINE void gelu_rows(const int nv, float *h, int64_t ldh, int n_row)
{
    const int n = n_row * nv;
    for (int i = 0; i < n; i += 4) {
        float *p[4];
        cs_vec v[4];
#define LOAD(j) {                                              \
            int k = i + j < n ? i + j : n - 1;                  \
            p[j] = h + k / nv * ldh + k % nv * CS_VEC;          \
            v[j] = cs_vload(p[j]);                       \
        }
#define STORE(j) cs_vstore(p[j], v[j]);
        CS_FOUR(LOAD)
        cs_gelu_four(v);
        CS_FOUR(STORE)
#undef LOAD
#undef STORE
    }
}

__attribute__((noinline)) static void gelu_3(float *h, int64_t ldh, int n_row)
{
    gelu_rows(3, h, ldh, n_row);
}

__attribute__((noinline)) static void gelu_2(float *h, int64_t ldh, int n_row)
{
    gelu_rows(2, h, ldh, n_row);
}

__attribute__((noinline)) static void gelu_1(float *h, int64_t ldh, int n_row)
{
    gelu_rows(1, h, ldh, n_row);
}

/* GELU runs on a strip's sums while they are in the L1 cache. */
CS_INLINE void hidden_panel(const int nv, const cs_panel *q)
{
    const int step = cs_strip_rows(nv);
    cs_prefetch weights = cs_prefetch_of(q, step);
    for (int64_t r = 0; r < q->n_row; r += step) {
        int mr = (int)cs_min64(step, q->n_row - r);
        cs_prefetch_next(&weights);
        if (mr == step)
            cs_strip(step, nv, CS_LEFT_TRACKS, CS_STRIP_STORE, q, r, NULL);
        else
            cs_strip_any(mr, nv, CS_LEFT_TRACKS, CS_STRIP_STORE, q, r, NULL);
        (nv > 2 ? gelu_3 : nv > 1 ? gelu_2 : gelu_1)(q->c + r * q->ldc, q->ldc, mr);
    }
}

static void hidden_3(const cs_panel *q) { hidden_panel(3, q); }
static void hidden_2(const cs_panel *q) { hidden_panel(2, q); }
static void hidden_1(const cs_panel *q) { hidden_panel(1, q); }

#if CS_LEVEL_PAIRS
enum { QUADS = CS_VEC / 4, CELLS = 2 * CS_VEC }; /* quads of a vector; columns of a vector of
                                                  * cells */

/* Cells of columns c .. c+CELLS-1 of tokens stored track by track: a vector has a quad of `step`
 * tokens, and its transpose quads of a token. */
CS_INLINE void narrow_cells(const int row, const cs_chord_pack *k, const cs_tracks *x, int32_t c,
                            int64_t n_row, float *out, int64_t ld)
{
    const int step = (CS_VEC - 4) / row + 1;
    const int64_t n_cell = cs_cell_count(k->d) - c / 2;
    const float *from[2 * QUADS];
    int64_t n[2 * QUADS];
    for (int32_t q = 0, j = c; q < 2 * QUADS; q++, j += 4) {
        from[q] = j < k->d ? x->p + j / row * x->track + j % row : x->p;
        n[q] = j < k->d ? n_row * row - j % row : 0;
    }
    for (int64_t r = 0; r < n_row; r += step) {
        cs_vec v[2 * QUADS];
        for (int q = 0; q < 2 * QUADS; q++)
            v[q] = cs_get(from[q] + (n[q] ? r * row : 0), n[q] - r * row);
#pragma GCC unroll 4
        for (int i = 0; i < step; i++)
            if (r + i < n_row)
                cs_put(out + (r + i) * ld, n_cell,
                       cs_vcells(cs_vjoin(v, i * row / 4), cs_vjoin(v + QUADS, i * row / 4)));
    }
}

/* The cells of a tile's tokens, row by row. Tracks of less than a vector may be stored apart. */
static void tile_cells(const cs_chord_pack *k, const cs_tracks *x, int64_t n_row, float *cells,
                       int64_t ld)
{
    if (x->track == k->track) {
        for (int64_t r = 0; r < n_row; r++)
            cs_cells(x->p + r * x->row, k->d, cells + r * ld);
        return;
    }
    CS_BUG(x->row != k->track);
    for (int32_t c = 0; c < k->d; c += CELLS)
        switch (x->row) {
        case 4:  narrow_cells(4, k, x, c, n_row, cells + c / 2, ld); break;
        case 8:  narrow_cells(8, k, x, c, n_row, cells + c / 2, ld); break;
        case 12: narrow_cells(12, k, x, c, n_row, cells + c / 2, ld); break;
        default: CS_BUG(true);
        }
}

/* to = the cells of gelu(from + bias), n_row rows of n columns (whole vectors); the row after an
 * odd one exists */
static void gelu_cells(const float *from, const float *bias, int64_t n_row, int n, float *to,
                       int64_t ld)
{
    for (int j = 0; j < n; j += CELLS) {
        const bool is_pair = j + (int)CS_VEC < n;
        const cs_vec lo = cs_vload(bias + j), hi = cs_vload(bias + j + (is_pair ? CS_VEC : 0));
        for (int64_t r = 0; r < n_row; r += 2) {
            const float *a = from + r * CS_BUF + j, *b = a + CS_BUF;
            const int second = is_pair ? CS_VEC : 0;
            cs_vec v[4] = { cs_vadd(cs_vload(a), lo), cs_vadd(cs_vload(a + second), hi),
                            cs_vadd(cs_vload(b), lo), cs_vadd(cs_vload(b + second), hi) };
            cs_gelu_four(v);
            cs_vstore(to + r * ld + j / 2, cs_vcells(v[0], is_pair ? v[1] : cs_vset(0)));
            cs_vstore(to + (r + 1) * ld + j / 2, cs_vcells(v[2], is_pair ? v[3] : cs_vset(0)));
        }
    }
}

/* cs_chord_hidden() or, if `floats` is false, cs_chord_hidden_cells(), by tile registers (AMX); the
 * tokens' cells are in tmp->cells */
static void hidden_tiles(const cs_chord_pack *k, int64_t n_row, const cs_chord_tmp *tmp,
                         bool floats, float *h, int64_t ldh)
{
    static const float zeros[CS_EDGE];
    const int64_t n_k = cs_cell_count(k->d);
    for (int32_t p = 0; p < cs_chord_panels(k->h); p++) {
        const int32_t c = p * CS_PANEL, width = cs_chord_panel_width(k->h, p);
        const cs_panel q = { .a = tmp->cells, .lda = cs_cells_ld(k->d), .b = k->w1 + c * n_k,
                             .ldb = width, .init = floats ? k->b1 + c : zeros,
                             .c = floats ? h + c : tmp->buf, .ldc = floats ? ldh : CS_BUF,
                             .n_row = cs_panel_rows(n_row), .n_k = n_k };
        cs_panel_of(false, width, &q);
        if (floats)
            (width > CS_PANEL ? gelu_3 : width > CS_VEC ? gelu_2 : gelu_1)(h + c, ldh, (int)n_row);
        else
            gelu_cells(tmp->buf, k->b1 + c, n_row, width, h + c / 2, ldh);
    }
}
#endif

void cs_chord_hidden(const cs_chord_pack *k, cs_tracks x, int64_t n_row, const cs_chord_tmp *tmp,
                     float *h, int64_t ldh)
{
    static void (*const run[3])(const cs_panel *) = { hidden_1, hidden_2, hidden_3 };
#if CS_LEVEL_PAIRS
    const int64_t ldc = cs_cells_ld(k->d);
    tile_cells(k, &x, n_row, tmp->cells, ldc);
    x = (cs_tracks){ tmp->cells, ldc, k->track };
    if (CS_BY_TILES) {
        hidden_tiles(k, n_row, tmp, true, h, ldh);
        return;
    }
#else
    (void)tmp;
#endif
    bool matrix = x.track == k->track;
    for (int32_t p = 0; p < cs_chord_panels(k->h); p++) {
        int32_t c = p * CS_PANEL, width = cs_chord_panel_width(k->h, p);
        cs_panel q = { .a = x.p, .lda = x.row, .track = matrix ? CS_LINE : k->track,
                       .next = matrix ? CS_LINE : x.track,
                       .b = k->w1 + c * cs_cell_count(k->d), .ldb = width, .init = k->b1 + c,
                       .c = h + c, .ldc = ldh, .n_row = n_row, .n_k = cs_cell_count(k->d) };
        run[width / CS_VEC - 1](&q);
    }
}

void cs_chord_hidden_cells(const cs_chord_pack *k, cs_tracks x, int64_t n_row,
                           const cs_chord_tmp *tmp, float *h, int64_t ldh)
{
#if CS_LEVEL_IS(amx)
    tile_cells(k, &x, n_row, tmp->cells, cs_cells_ld(k->d));
    hidden_tiles(k, n_row, tmp, false, h, ldh);
#else
    cs_chord_hidden(k, x, n_row, tmp, h, ldh);
    for (int64_t r = 0; CS_PER_CELL > 1 && r < n_row; r++)
        cs_cells(h + r * ldh, k->h, h + r * ldh);
#endif
}

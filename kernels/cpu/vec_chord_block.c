/* vec_chord_block.c - the fused ChordMixer block for training, forward:
 * y = x + roll(gelu(x w1' + b1) w2' + b2). */
#include "kernels/cpu/chord.h"
#include "kernels/cpu/strip.h"
#include "kernels/cpu/tables.h"

/* ---- second product ---------------------------------------------------------------------- */

/* State of storing one panel. Between strips, `to.base` of a lane is the address of its next row;
 * the following `until_wrap` rows are contiguous. */
typedef struct panel_store {
    const cs_tile *tile;
    int32_t  track, c, lane;     /* the panel's first column; columns per lane */
    int64_t  ld;                 /* row stride of x and y */
    int32_t  span;               /* the span of the next row, */
    int64_t  rest;               /* and its remaining rows */
    int64_t  until_wrap[CS_LANES];
    int64_t  n_contiguous;       /* the minimum of rest and all of until_wrap */
    int64_t  row_offset[CS_STRIP];           /* i * ld: contiguous rows */
    int64_t  wrapped_offset[CS_LANES][CS_STRIP];
    cs_lanes to;
} panel_store;

/* Token t of the product is added to token t - shift of y. */
static int64_t target_token(const cs_seg_span *q, int64_t t, int32_t track)
{
    int64_t to = t - cs_shift(track, q->len);
    return to < 0 ? to + q->len : to;
}

static void find_contiguous(panel_store *s)
{
    s->n_contiguous = s->rest;
    for (int32_t l = 0; l < s->to.n; l++)
        s->n_contiguous = cs_min64(s->n_contiguous, s->until_wrap[l]);
}

/* Go to row `done` of a span. */
static void enter_span(panel_store *s, int32_t span, int64_t done)
{
    const cs_seg_span *q = &s->tile->span[span];
    s->span = span;
    s->rest = q->n - done;
    for (int32_t l = 0, c = s->c; l < s->to.n; l++, c += s->lane) {
        int64_t to = target_token(q, q->t0 + done, c / s->track);
        s->until_wrap[l] = q->len - to;
        s->to.base[l] = (q->start + to) * s->ld + c;
        s->to.at[l] = s->row_offset;
    }
    find_contiguous(s);
}

/* Offsets of a lane's next mr rows if these are not contiguous: the rotation wraps or a span
 * ends. */
static void set_row_offsets(panel_store *s, int32_t l, int mr)
{
    const cs_seg_span *q = &s->tile->span[s->span];
    int32_t c = s->c + l * s->lane;
    int64_t rest = s->rest, to = q->len - s->until_wrap[l];
    for (int i = 0; i < mr;) {
        for (; i < mr && rest > 0; i++, rest--, to = to + 1 == q->len ? 0 : to + 1)
            s->wrapped_offset[l][i] = (q->start + to) * s->ld + c - s->to.base[l];
        if (i < mr) {
            q++;
            rest = q->n;
            to = target_token(q, q->t0, c / s->track);
        }
    }
    s->to.at[l] = s->wrapped_offset[l];
}

static void set_strip_offsets(panel_store *s, int mr)
{
    for (int32_t l = 0; l < s->to.n; l++)
        if (mr > s->rest || mr > s->until_wrap[l])
            set_row_offsets(s, l, mr);
}

/* Advance by mr rows that were not all contiguous. */
static void advance_strip(panel_store *s, int mr)
{
    const cs_seg_span *q = &s->tile->span[s->span];
    int32_t span = s->span;
    int64_t done = mr - s->rest;
    s->rest -= mr;
    if (s->rest <= 0) {
        for (span++; span < s->tile->n_span && done >= s->tile->span[span].n; span++)
            done -= s->tile->span[span].n;
        if (span < s->tile->n_span)
            enter_span(s, span, done);
        return;
    }
    for (int32_t l = 0; l < s->to.n; l++) {
        bool wraps = s->until_wrap[l] <= mr;
        s->to.at[l] = s->row_offset;
        s->to.base[l] += (mr - (wraps ? q->len : 0)) * s->ld;
        s->until_wrap[l] += (wraps ? q->len : 0) - mr;
    }
    find_contiguous(s);
}

CS_INLINE void store_panel(const int nv, const cs_strip_end end, const cs_panel *q, panel_store *s)
{
    const int step = cs_strip_rows(nv);
    for (int64_t r = 0; r < q->n_row; r += step) {
        int mr = (int)cs_min64(step, q->n_row - r);
        bool contiguous = mr < s->n_contiguous;
        if (!contiguous)
            set_strip_offsets(s, mr);
        if (mr == step)
            cs_strip(step, nv, CS_LEFT_ROWS, end, q, r, &s->to);
        else
            cs_strip_any(mr, nv, CS_LEFT_ROWS, end, q, r, &s->to);
        if (!contiguous) {
            advance_strip(s, mr);
            continue;
        }
        s->n_contiguous -= mr;
        s->rest -= mr;
        for (int l = 0; l < cs_strip_lanes(nv, end); l++) {
            s->to.base[l] += mr * s->ld;
            s->until_wrap[l] -= mr;
        }
    }
}

#define STORE(name, nv, end) \
    static void name(const cs_panel *q, panel_store *s) { store_panel(nv, end, q, s); }
STORE(rows_2, 2, CS_STRIP_ROWS)
STORE(vecs_1, 1, CS_STRIP_VECS)
STORE(vecs_2, 2, CS_STRIP_VECS)
STORE(vecs_3, 3, CS_STRIP_VECS)
STORE(quads_1, 1, CS_STRIP_QUADS)
STORE(quads_2, 2, CS_STRIP_QUADS)
STORE(quads_3, 3, CS_STRIP_QUADS)
#undef STORE

/* The columns of a panel from c on, from buf. */
static void store_buf(const cs_tile *t, int32_t track, int32_t c, int32_t n, const float *buf,
                       cs_mat x, cs_mat y)
{
    for (int32_t end = c + n, w; c < end; c += w, buf += w) {
        const float *from = buf;
        w = track - c % track < end - c ? track - c % track : end - c;
        for (int32_t i = 0; i < t->n_span; i++) {
            const cs_seg_span *s = &t->span[i];
            int64_t to = target_token(s, s->t0, c / track);
            for (int64_t left = s->n, run; left > 0; left -= run, from += run * CS_BUF, to = 0) {
                run = cs_min64(left, s->len - to);
                const cs_piece q = { .in = cs_row(x, s->start + to) + c, .ldi = x.ld,
                                     .buf = from, .ldb = CS_BUF,
                                     .out = cs_row(y, s->start + to) + c, .ldo = y.ld };
                cs_piece_move(&q, run, w);
            }
        }
    }
}

/* store_tile() by tile registers (AMX), which store to buf only. */
static void store_by_tiles(const cs_chord_pack *k, const cs_tile *t, const float *h, int64_t ldh,
                         float *buf, cs_mat x, cs_mat y)
{
    const int64_t n_k = cs_cell_count(k->h);
    for (int32_t p = 0; p < cs_chord_panels(k->d); p++) {
        const int32_t c = p * CS_PANEL, width = cs_chord_panel_width(k->d, p);
        const cs_panel q = { .a = h, .lda = ldh, .b = k->w2 + c * n_k, .ldb = width,
                             .init = k->b2 + c, .c = buf, .ldc = CS_BUF,
                             .n_row = cs_panel_rows(t->n), .n_k = n_k };
        cs_panel_of(false, width, &q);
        store_buf(t, k->track, c, k->d - c < width ? k->d - c : width, buf, x, y);
    }
}

/* y = x + rotated(h w2' + b2), for the rows of tile t. h has the cells of its rows; x and y have
 * the same row stride. */
static void store_tile(const cs_chord_pack *k, const cs_tile *t, const float *h, int64_t ldh,
                        float *buf, cs_mat x, cs_mat y)
{
    static void (*const run[2][3])(const cs_panel *, panel_store *) = {
        { quads_1, quads_2, quads_3 }, { vecs_1, vecs_2, vecs_3 } };
    const int64_t n_k = cs_cell_count(k->h);
    CS_BUG(x.ld != y.ld);
    if (CS_BY_TILES) {
        store_by_tiles(k, t, h, ldh, buf, x, y);
        return;
    }
    for (int32_t p = 0; p < cs_chord_panels(k->d); p++) {
        int32_t c = p * CS_PANEL, width = cs_chord_panel_width(k->d, p);
        int32_t n = k->d - c < width ? k->d - c : width;
        const bool rows = k->track % CS_PANEL == 0 && n == CS_PANEL;
        const bool vecs = k->track % CS_VEC == 0;
        const int32_t lane = rows ? CS_PANEL : vecs ? CS_VEC : 4;
        cs_panel q = { .a = h, .lda = ldh, .b = k->w2 + c * n_k, .ldb = width,
                       .init = k->b2 + c, .n_row = t->n, .n_k = n_k };
        panel_store s = { .tile = t, .track = k->track, .c = c, .lane = lane, .ld = x.ld,
                     .to = { .in = x.p, .out = y.p, .n = n / lane } };
        for (int i = 0; i < CS_STRIP; i++)
            s.row_offset[i] = i * s.ld;
        enter_span(&s, 0, 0);
        if (rows)
            rows_2(&q, &s);
        else
            run[vecs][width / CS_VEC - 1](&q, &s);
    }
}

/* ---- the block --------------------------------------------------------------------------- */

static float *reserve(cs_chord_plan *f, float *work, int64_t n)
{
    float *p = work ? work + f->size : NULL;
    f->size += (n + CS_LINE - 1) / CS_LINE * CS_LINE;
    return p;
}

cs_chord_plan cs_chord_plan_make(const cs_backend *be, cs_seg seg, int32_t width, int32_t hidden,
                                 int32_t track, float *work)
{
    cs_chord_plan f = { .seg = seg, .d = width, .h = hidden, .track = track,
                        .dp = cs_chord_padded(width), .hp = cs_chord_padded(hidden),
                        .ldd = cs_tile_ld(width), .ldh = cs_tile_ld(hidden) };
    f.n_tile = (seg.rows + CS_TILE - 1) / CS_TILE;
    f.n_group = (int32_t)cs_min64((f.n_tile + CS_TILES_PER_GROUP - 1) / CS_TILES_PER_GROUP,
                                  CS_GROUPS);
    float *pack = reserve(&f, work, cs_chord_pack_size(width, hidden));
    if (pack)
        f.pack = cs_chord_pack_at(width, hidden, track, pack);
    f.tile_stride = CS_TILE * (2 * f.ldd + 2 * f.ldh + CS_BUF);
    f.n_transposed = CS_PER_CELL > 1 ? cs_cell_count(CS_TILE) * (f.dp > f.hp ? f.dp : f.hp) : 0;
    f.tile_stride += CS_PER_CELL > 1 ? CS_TILE * (cs_cells_ld(f.dp) + cs_cells_ld(f.hp)) : 0;
    f.tile_stride += 2 * f.n_transposed;
    f.tile = reserve(&f, work, be->n_thread * f.tile_stride);
    f.forward_size = f.size;
    f.back[0] = reserve(&f, work, cs_cell_count(width) * f.hp);
    f.back[1] = reserve(&f, work, cs_cell_count(hidden) * f.dp);
    f.zero = reserve(&f, work, f.hp);
    f.sum_stride = (int64_t)f.h * f.dp + (int64_t)f.d * f.hp + f.hp + f.dp;
    f.sum = reserve(&f, work, f.n_group * f.sum_stride);
    return f;
}

static void forward_tile(const cs_chord_plan *f, int64_t no, cs_mat x, cs_mat y, float *h)
{
    const cs_chord_tmp tmp = cs_chord_plan_tmp(f, h);
    cs_tile t;
    cs_tile_init(&t, f->seg, no);
    cs_tracks from = { cs_row(x, t.r0), x.ld, f->track };
    cs_chord_hidden_cells(&f->pack, from, t.n, &tmp, h, f->ldh);
    store_tile(&f->pack, &t, h, f->ldh, tmp.buf, x, y);
    cs_panel_done();
}

static void vec_chord_block(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y,
                            cs_real *work)
{
    cs_chord_plan f = cs_chord_plan_make(be, seg, x.c, (int32_t)k->w1.r, k->track, work);
    cs_chord_pack_fill(k, &f.pack);
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int64_t i = 0; i < f.n_tile; i++)
        forward_tile(&f, i, x, y, f.tile + cs_thread_no() * f.tile_stride);
}

static int64_t vec_chord_work(cs_backend *be, cs_seg all, const cs_chord *k, bool backward)
{
    const cs_seg seg = { .rows = all.rows };
    const cs_chord_plan f = cs_chord_plan_make(be, seg, k->w1.c, (int32_t)k->w1.r, 4, NULL);
    return backward ? f.size : f.forward_size;
}

void cs_vec_chord_block(cs_fused *fused)
{
    fused->chord_block = vec_chord_block;
    fused->chord_block_bwd = cs_chord_bwd;
    fused->chord_block_fits = cs_chord_fits;
    fused->chord_work = vec_chord_work;
}

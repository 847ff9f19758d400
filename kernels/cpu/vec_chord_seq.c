/* vec_chord_seq.c - a ChordMixer block on one sequence, in place.
 *
 * DESIGN. Rotation moves the product of token t to token t - shift. Tiles are processed forwards:
 * tokens before a tile have passed their first product, so they can be written at once, and the
 * hidden layer is stored for one tile only. The products of the first `shift` tokens wrap around to
 * the end of the sequence. They are deferred: stored in a buffer, and added when all tokens have
 * been read. Each thread takes ranges and processes a range from its first tile to its last;
 * products that go to tokens before the range are deferred as well. Each element of x gets one
 * addition per block, so results do not depend on the ranges.
 *
 * Late products are stored track by track, range after range: of range r and track i, those of the
 * first min(shift, tokens of the range) tokens.
 */
#include "kernels/cpu/chord.h"
#include "kernels/cpu/strip.h"

enum { RANGES = 2,               /* per thread: more ranges balance better but have more deferred
                                  * products */
       RANGE_MIN = 2 * CS_TILE,  /* tokens */
       DEFERRED_BLOCK = 512 };   /* tokens whose deferred products are added together */

/* A range, or part of one, in one block. */
typedef struct range {
    const cs_chord_seq  *q;
    const cs_chord_pack *k;
    int64_t a, b;                /* its tokens */
    float  *deferred, *h;
    int64_t ldh;
    cs_chord_tmp tmp;
} range;

/* Destination of a tile's rows in one track: the first `deferred` rows go to the buffer, the others
 * to x. */
typedef struct target {
    int64_t deferred;
    int64_t deferred_at;         /* element of range.deferred for row 0 */
    int64_t at;                  /* element of x for row 0 */
} target;

static int32_t range_count(int64_t len, int n_thread)
{
    int64_t n = cs_min64(len / RANGE_MIN, n_thread > 1 ? RANGES * n_thread : 1);
    return n < 1 ? 1 : (int32_t)n;
}

/* A tile's hidden layer, a panel's buffer, and the cells of its tokens, or of one row of the hidden
 * layer. */
int64_t cs_chord_seq_tile(int32_t width, int32_t hidden)
{
    const int64_t cells = CS_PER_CELL > 1 ? CS_TILE * cs_cells_ld(width) : 0;
    const int64_t row = CS_PER_CELL > 1 ? cs_cells_ld(hidden) : 0;
    return CS_TILE * (cs_tile_ld(cs_chord_padded(hidden)) + CS_BUF) + (cells > row ? cells : row);
}

cs_chord_tmp cs_chord_seq_tmp(const cs_chord_pack *k, float *tile)
{
    float *buf = tile + CS_TILE * cs_tile_ld(cs_chord_padded(k->h));
    return (cs_chord_tmp){ .cells = buf + CS_TILE * CS_BUF, .buf = buf };
}

int64_t cs_chord_seq_deferred(int32_t width, int32_t track, int64_t max_len, int n_thread)
{
    int64_t n_range = range_count(max_len, n_thread), n = 0, max_rows = max_len + n_range * CS_TILE;
    for (int32_t i = 1; i < width / track; i++) {
        bool is_capped = i > 40 || n_range << (i - 1) > max_rows;
        n += (is_capped ? max_rows : n_range << (i - 1)) * track;
    }
    return n;
}

void cs_chord_seq_partition(cs_chord_seq *q)
{
    int64_t n_tile = (q->len + CS_TILE - 1) / CS_TILE;
    q->n_range = range_count(q->len, q->n_thread);
    q->range = (n_tile + q->n_range - 1) / q->n_range * CS_TILE;
}

/* First token of a range. Range lengths differ by at most one tile. */
static int64_t range_start(const cs_chord_seq *q, int32_t no)
{
    int64_t n_tile = (q->len + CS_TILE - 1) / CS_TILE;
    return cs_min64(n_tile * no / q->n_range * CS_TILE, q->len);
}

/* Number of deferred tokens of a track in a range of n tokens. */
static int64_t deferred_rows(const cs_chord_seq *q, int32_t track, int64_t n)
{
    return cs_min64(cs_shift(track, q->len), n);
}

/* Offset of track n_track in the deferred products of a range of n tokens, in floats. */
static int64_t deferred_before(const cs_chord_seq *q, int32_t track, int32_t n_track, int64_t n)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < n_track; i++)
        sum += deferred_rows(q, i, n) * track;
    return sum;
}

/* ---- storing a tile ------------------------------------------------------------------------ */

static target target_of(const range *r, int32_t track, int64_t before, int64_t t0, int64_t n)
{
    int64_t shift = cs_shift(track, r->q->len), deferred = r->a + shift - t0;
    return (target){ deferred < 0 ? 0 : cs_min64(deferred, n), before + (t0 - r->a) * r->k->track,
                    (t0 - shift) * r->q->x.row + track * r->q->x.track };
}

CS_INLINE void add_strips(const int nv, const cs_strip_end end, const cs_panel *q,
                          int64_t next, cs_lanes *to)
{
    const int step = cs_strip_rows(nv);
    cs_prefetch weights = cs_prefetch_of(q, step);
    for (int64_t r = 0; r < q->n_row; r += step) {
        int mr = (int)cs_min64(step, q->n_row - r);
        cs_prefetch_next(&weights);
        if (end == CS_STRIP_ROWS)        /* prefetch: these lines are too far apart for the
                                          * hardware */
            for (int i = 0; i < step; i++)
                __builtin_prefetch(to->out + to->base[0] + (step + i) * next, 1);
        if (mr == step)
            cs_strip(step, nv, CS_LEFT_ROWS, end, q, r, to);
        else
            cs_strip_any(mr, nv, CS_LEFT_ROWS, end, q, r, to);
        for (int l = 0; l < cs_strip_lanes(nv, end); l++)
            to->base[l] += mr * next;
    }
}

#define ADD(name, nv, end)                                                                    \
    static void name(const cs_panel *q, int64_t next, cs_lanes *to)                    \
    {                                                                                         \
        add_strips(nv, end, q, next, to);                                                     \
    }
ADD(rows_2, 2, CS_STRIP_ROWS)
ADD(vecs_1, 1, CS_STRIP_VECS)
ADD(vecs_2, 2, CS_STRIP_VECS)
ADD(vecs_3, 3, CS_STRIP_VECS)
ADD(quads_1, 1, CS_STRIP_QUADS)
ADD(quads_2, 2, CS_STRIP_QUADS)
ADD(quads_3, 3, CS_STRIP_QUADS)
ADD(joins_1, 1, CS_STRIP_JOINS)
ADD(joins_2, 2, CS_STRIP_JOINS)
ADD(joins_3, 3, CS_STRIP_JOINS)

/* A panel inside one track: deferred rows first, then contiguous rows of x. */
static void add_rows(const range *r, cs_panel q, int32_t c, const target *p)
{
    const cs_tracks *x = &r->q->x;
    int64_t row_offset[CS_STRIP], n_row = q.n_row, w = r->k->track;
    cs_lanes to = { .in = x->p, .out = x->p, .n = 1, .at = { row_offset },
                    .base = { p->at + p->deferred * x->row + c % w } };
    for (int i = 0; i < CS_STRIP; i++)
        row_offset[i] = i * x->row;
    if (p->deferred > 0) {
        q.c = r->deferred + p->deferred_at + c % w;
        q.ldc = w;
        q.n_row = p->deferred;
        cs_panel_of(false, CS_PANEL, &q);
    }
    if (p->deferred < n_row) {
        q.a += p->deferred * q.lda;
        q.n_row = n_row - p->deferred;
        rows_2(&q, x->row, &to);
    }
}

/* A panel across tracks with deferred rows, or by tile registers (AMX): through a buffer. */
static void add_pieces(const range *r, cs_panel q, int width, int32_t c, int32_t n,
                       const target *lane)
{
    const cs_tracks *x = &r->q->x;
    const int64_t n_row = q.n_row;
    const float *buf = r->tmp.buf;
    q.c = r->tmp.buf;
    q.ldc = CS_BUF;
    q.n_row = cs_panel_rows(n_row);
    cs_panel_of(false, width, &q);
    for (int32_t l = 0, w; l < 4 * n; l += w, buf += w) {
        int32_t j = (c + l) % r->k->track;
        const target *p = &lane[l / 4];
        w = r->k->track - j < 4 * n - l ? r->k->track - j : 4 * n - l;
        cs_piece deferred_at = { .buf = buf, .ldb = CS_BUF, .out = r->deferred + p->deferred_at + j,
                             .ldo = r->k->track };
        cs_piece_move(&deferred_at, p->deferred, w);
        if (p->deferred < n_row) {
            float *to = x->p + p->at + p->deferred * x->row + j;
            cs_piece add = { .in = to, .ldi = x->row, .out = to, .ldo = x->row,
                             .buf = buf + p->deferred * CS_BUF, .ldb = CS_BUF };
            cs_piece_move(&add, n_row - p->deferred, w);
        }
    }
}

/* A panel across tracks: a separate address per vector or per four columns. */
static void add_lanes(const range *r, const cs_panel *q, int width, int32_t c, int32_t n,
                      const target *lane)
{
    static void (*const run[3][3])(const cs_panel *, int64_t, cs_lanes *) = {
        { quads_1, quads_2, quads_3 }, { joins_1, joins_2, joins_3 }, { vecs_1, vecs_2, vecs_3 } };
    const bool vecs = r->k->track % CS_VEC == 0;
    const int32_t lane_quads = vecs ? CS_VEC / 4 : 1;  /* quads per lane */
    const cs_tracks *x = &r->q->x;
    int64_t row_offset[CS_STRIP];
    cs_lanes to = { .in = x->p, .out = x->p, .n = n / lane_quads };
    bool deferred = CS_BY_TILES;
    for (int i = 0; i < CS_STRIP; i++)
        row_offset[i] = i * x->row;
    for (int32_t l = 0; l < n; l++) {
        deferred = deferred || lane[l].deferred > 0;
        to.base[l / lane_quads] = lane[l].at + (c + 4 * l) % r->k->track - l % lane_quads * 4;
        to.at[l / lane_quads] = row_offset;
    }
    if (deferred)
        add_pieces(r, *q, width, c, n, lane);
    else
        run[vecs ? 2 : CS_VEC_JOINS > 1 && x->row == 4][width / CS_VEC - 1](q, x->row, &to);
}

/* Second product of tokens t0 .. t0+n-1, stored rotated. */
static void store_tile(const range *r, int64_t t0, int64_t n)
{
    const cs_chord_pack *k = r->k;
    const int32_t w = k->track;
    const int64_t n_k = cs_cell_count(k->h);
    int64_t before = 0;          /* floats of deferred products of the tracks so far */
    int32_t track = 0;
    for (int32_t p = 0; p < cs_chord_panels(k->d); p++) {
        int32_t c = p * CS_PANEL, width = cs_chord_panel_width(k->d, p), n_lane = 0;
        int32_t n_col = k->d - c < width ? k->d - c : width;
        cs_panel q = { .a = r->h, .lda = r->ldh, .b = k->w2 + c * n_k, .ldb = width,
                       .init = k->b2 + c, .n_row = n, .n_k = n_k };
        target lane[CS_LANES];
        for (int32_t j = c; j < c + n_col; j += 4) {
            for (; track < j / w; track++)
                before += deferred_rows(r->q, track, r->b - r->a) * w;
            lane[n_lane++] = target_of(r, track, before, t0, n);
        }
        if (!CS_BY_TILES && w % CS_PANEL == 0 && n_col == CS_PANEL)
            add_rows(r, q, c, lane);
        else
            add_lanes(r, &q, width, c, n_lane, lane);
    }
}

static void run_range(const cs_chord_seq *q, const cs_chord_pack *k, int32_t no, int64_t stride,
                      float *tile)
{
    range r = { .q = q, .k = k, .a = range_start(q, no), .b = range_start(q, no + 1),
                .deferred = q->deferred + no * stride, .h = tile,
                .ldh = CS_BY_TILES ? cs_cells_ld(k->h) : cs_tile_ld(cs_chord_padded(k->h)),
                .tmp = cs_chord_seq_tmp(k, tile) };
    for (int64_t t0 = r.a; t0 < r.b; t0 += CS_TILE) {
        int64_t n = cs_min64(CS_TILE, r.b - t0);
        cs_tracks from = q->x;
        from.p += t0 * from.row;
        cs_chord_hidden_cells(k, from, n, &r.tmp, r.h, r.ldh);
        store_tile(&r, t0, n);
    }
    cs_panel_done();
}

/* ---- deferred products --------------------------------------------------------------------- */

/* Deferred products of tokens t0 .. t1-1 of a track, with rows of `width` floats. */
typedef struct run { const float *p; int32_t track, width; int64_t t0, t1; } run;

/* Add those of tokens a .. b-1. */
static void add_deferred_run(const cs_chord_seq *q, const run *d, int64_t a, int64_t b)
{
    int64_t lo = a > d->t0 ? a : d->t0, hi = cs_min64(b, d->t1);
    if (lo >= hi)
        return;
    float *to = q->x.p + lo * q->x.row + d->track * q->x.track;
    cs_piece m = { .in = to, .ldi = q->x.row, .buf = d->p + (lo - d->t0) * d->width,
                   .ldb = d->width, .out = to, .ldo = q->x.row };
    if (q->x.row == d->width)
        cs_piece_move(&m, 1, (int32_t)(hi - lo) * d->width);
    else
        cs_piece_move(&m, hi - lo, d->width);
}

/* Add all deferred products for tokens a .. b-1. */
static void add_deferred(const cs_chord_seq *q, const cs_chord_pack *k, int64_t stride, int64_t a,
                   int64_t b)
{
    for (int32_t no = 0; no < q->n_range; no++) {
        int64_t from = range_start(q, no), n = range_start(q, no + 1) - from;
        const float *deferred = q->deferred + no * stride;
        for (int32_t i = 1; i < k->d / k->track; i++) {
            int64_t rows = deferred_rows(q, i, n), t0 = from - cs_shift(i, q->len);
            t0 += t0 < 0 ? q->len : 0;
            for (int64_t t1; rows > 0; rows -= t1 - t0, t0 = 0) {
                t1 = cs_min64(t0 + rows, q->len);
                const run d = { .p = deferred, .track = i, .width = k->track, .t0 = t0, .t1 = t1 };
                add_deferred_run(q, &d, a, b);
                deferred += (t1 - t0) * k->track;
            }
        }
    }
}

void cs_chord_seq_block(const cs_chord_seq *q, const cs_chord_pack *k)
{
    int64_t stride = deferred_before(q, k->track, k->d / k->track, q->range);
    int64_t tile = cs_chord_seq_tile(k->d, k->h);
    if (q->n_thread == 1) {
        for (int32_t i = 0; i < q->n_range; i++)
            run_range(q, k, i, stride, q->tile);
        for (int64_t a = 0; a < q->len; a += DEFERRED_BLOCK)
            add_deferred(q, k, stride, a, cs_min64(a + DEFERRED_BLOCK, q->len));
        return;
    }
    #pragma omp parallel for num_threads(q->n_thread) schedule(dynamic)
    for (int32_t i = 0; i < q->n_range; i++)
        run_range(q, k, i, stride, q->tile + cs_thread_no() * tile);
    #pragma omp parallel for num_threads(q->n_thread)
    for (int64_t a = 0; a < q->len; a += DEFERRED_BLOCK)
        add_deferred(q, k, stride, a, cs_min64(a + DEFERRED_BLOCK, q->len));
}

/* chord_avx2.c - the fused ChordMixer block, forward: y = x + roll(gelu(x w1' + b1) w2' + b2). */
#include "kernels/cpu/chord.h"

#include <omp.h>
#include <string.h>

#include "kernels/cpu/vec_avx2.h"

/* Odd multiples of a cache line, so that consecutive rows of a tile fall into different sets. */
static int64_t tile_ld(int32_t n)
{
    return CS_PANEL * (int64_t)(cs_panel_count(n) | 1);
}

static float *take(cs_chord_plan *f, float *work, int64_t n)
{
    float *p = work ? work + f->size : NULL;
    f->size += (n + CS_PANEL - 1) / CS_PANEL * CS_PANEL;
    return p;
}

cs_chord_plan cs_chord_plan_make(const cs_backend *be, cs_seg seg, int32_t width, int32_t hidden,
                                 int32_t track, float *work)
{
    cs_chord_plan f = { .seg = seg, .d = width, .h = hidden, .track = track,
                        .dp = cs_panel_count(width) * CS_PANEL,
                        .hp = cs_panel_count(hidden) * CS_PANEL,
                        .ldd = tile_ld(width), .ldh = tile_ld(hidden) };
    f.n_tile = (seg.rows + CS_TILE - 1) / CS_TILE;
    f.n_group = (int32_t)cs_min64((f.n_tile + CS_TILES_PER_GROUP - 1) / CS_TILES_PER_GROUP,
                                  CS_GROUPS);
    f.pack[0] = take(&f, work, cs_pack_size(width, hidden));
    f.pack[1] = take(&f, work, cs_pack_size(width, hidden));
    f.pack[2] = take(&f, work, cs_pack_size(hidden, width));
    f.b1 = take(&f, work, f.hp);
    f.b2 = take(&f, work, f.dp);
    f.zero = take(&f, work, f.hp);
    f.sum_stride = (int64_t)f.h * f.dp + (int64_t)f.d * f.hp + f.hp + f.dp;
    f.sum = take(&f, work, f.n_group * f.sum_stride);
    f.tile_stride = CS_TILE * (2 * f.ldd + 2 * f.ldh + CS_PANEL);
    f.tile = take(&f, work, be->n_thread * f.tile_stride);
    return f;
}

void cs_tile_init(cs_tile *t, cs_seg seg, int64_t no)
{
    t->r0 = no * CS_TILE;
    t->n = cs_min64(CS_TILE, seg.rows - t->r0);
    t->n_span = 0;
    int32_t s = cs_seg_find(seg, t->r0);
    for (int64_t r = t->r0; r < t->r0 + t->n;) {
        cs_span q = cs_span_at(seg, &s, r, t->r0 + t->n);
        t->span[t->n_span++] = q;
        r += q.n;
    }
}

void cs_chord_product(const cs_panel *q, const float *b, int32_t n_col)
{
    for (int32_t p = 0; p < cs_panel_count(n_col); p++) {
        cs_panel s = *q;
        s.b = b + p * CS_PANEL * q->n_k;
        s.ldb = cs_panel_width(n_col, p);
        s.init += p * CS_PANEL;
        s.c += p * CS_PANEL;
        cs_avx2_panel(false, (int)s.ldb, &s);
    }
}

/* Columns c .. c+w-1 of one track: token t of the buffer belongs to token t - shift of y. */
static void scatter(const cs_chord_plan *f, const cs_tile *t, const float *buf, int32_t c,
                    int32_t w, cs_mat x, cs_mat y)
{
    for (int32_t i = 0; i < t->n_span; i++) {
        const cs_span *s = &t->span[i];
        int64_t to = s->t0 - cs_shift(c / f->track, s->len);
        to = to < 0 ? to + s->len : to;
        for (int64_t n = s->n, run; n > 0; n -= run, buf += run * CS_PANEL, to = 0) {
            run = cs_min64(n, s->len - to);
            cs_piece q = { .in = cs_row(x, s->start + to) + c, .ldi = x.ld,
                           .buf = buf, .ldb = CS_PANEL,
                           .out = cs_row(y, s->start + to) + c, .ldo = y.ld };
            cs_piece_move(&q, run, w);
        }
    }
}

__attribute__((target("avx2,fma")))
static void gelu_panel(float *h, int64_t ldh, int64_t n_row, int width)
{
    for (int64_t r = 0; r < n_row; r++, h += ldh)
        for (int j = 0; j < width; j += 8)
            _mm256_storeu_ps(h + j, cs_gelu_avx2(_mm256_loadu_ps(h + j)));
}

/* The copy of the tile's input pays: it streams from memory once, and the panels read the cache. */
static void forward_tile(const cs_chord_plan *f, int64_t no, cs_mat x, cs_mat y, float *tile)
{
    cs_tile t;
    cs_tile_init(&t, f->seg, no);
    float *h = tile + CS_TILE * f->ldd, *buf = h + CS_TILE * f->ldh;
    for (int64_t r = 0; r < t.n; r++)
        memcpy(tile + r * f->ldd, cs_row(x, t.r0 + r), (size_t)f->d * sizeof(float));
    for (int32_t p = 0; p < cs_panel_count(f->h); p++) {
        int width = cs_panel_width(f->h, p);
        cs_panel q = { .a = tile, .lda = f->ldd,
                       .b = f->pack[0] + p * CS_PANEL * f->d, .ldb = width,
                       .init = f->b1 + p * CS_PANEL, .c = h + p * CS_PANEL, .ldc = f->ldh,
                       .n_row = t.n, .n_k = f->d };
        cs_avx2_panel(false, width, &q);
        gelu_panel(h + p * CS_PANEL, f->ldh, t.n, width);
    }
    for (int32_t p = 0; p < cs_panel_count(f->d); p++) {
        int width = cs_panel_width(f->d, p);
        cs_panel q = { .a = h, .lda = f->ldh, .b = f->pack[2] + p * CS_PANEL * f->h,
                       .ldb = width, .init = f->b2 + p * CS_PANEL, .c = buf, .ldc = CS_PANEL,
                       .n_row = t.n, .n_k = f->h };
        cs_avx2_panel(false, width, &q);
        int32_t c = p * CS_PANEL, end = c + width < f->d ? c + width : f->d;
        for (int32_t next; c < end; c = next) {
            next = (c / f->track + 1) * f->track;
            next = next < end ? next : end;
            scatter(f, &t, buf + c % CS_PANEL, c, next - c, x, y);
        }
    }
}

static void avx2_chord_block(cs_backend *be, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y,
                             cs_real *work)
{
    cs_chord_plan f = cs_chord_plan_make(be, seg, x.c, (int32_t)k->w1.r, k->track, work);
    cs_pack(k->w1.p, 1, k->w1.ld, f.d, f.h, f.pack[0]);
    cs_pack(k->w2.p, 1, k->w2.ld, f.h, f.d, f.pack[2]);
    cs_pack(k->b1.p, 0, 1, 1, f.h, f.b1);
    cs_pack(k->b2.p, 0, 1, 1, f.d, f.b2);
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int64_t i = 0; i < f.n_tile; i++)
        forward_tile(&f, i, x, y, f.tile + omp_get_thread_num() * f.tile_stride);
}

/* Rotation moves vectors of four floats, so a track must consist of them. */
static bool avx2_chord_fits(int32_t width, int32_t hidden, int32_t track)
{
    return track > 0 && track % 4 == 0 && width > 0 && width % track == 0 && hidden > 0;
}

static int64_t avx2_chord_work(cs_backend *be, int32_t width, int32_t hidden, int64_t rows)
{
    return cs_chord_plan_make(be, (cs_seg){ .rows = rows }, width, hidden, 4, NULL).size;
}

void cs_avx2_chord(cs_fused *fused)
{
    fused->chord_block = avx2_chord_block;
    fused->chord_block_bwd = cs_avx2_chord_bwd;
    fused->chord_fits = avx2_chord_fits;
    fused->chord_work = avx2_chord_work;
}

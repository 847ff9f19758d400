/* chord_stack_avx2.c - ChordMixer blocks one after another, in place, for answers only.
 *
 * DESIGN. A block over one sequence has two phases, each a loop over tiles: the hidden layer of all
 * tokens, then what its second product adds to the tokens where rotation takes it. Both together
 * need the sequence's tokens and hidden layer, and no second copy of either. Short sequences
 * (CS_CHORD_SHORT tokens) go through all blocks one worker each, while they are in its cache;
 * longer ones, or few, one after the other, with their tiles shared out. The answers' bits are the
 * same: a tile's arithmetic does not depend on who does it, and means are taken in chunks that a
 * sequence's length fixes.
 *
 * Two steps are left out where nothing else needs them. The first block sees one row per token of
 * the vocabulary, so its product is a table, and the block adds a table's rows. And rotation keeps
 * a sequence's mean, so the mean after the last block is mean(x) + mean(h) w2' + b2: one row goes
 * through its second product instead of all.
 */
#include <omp.h>
#include <string.h>

#include "kernels/cpu/chord.h"

#define TARGET __attribute__((target("avx2,fma")))

enum { CS_CHORD_SHORT = 1 << 14, /* tokens: 6 to 19 MB of third-level cache with usual widths */
       SHARE = 4 };              /* short sequences per thread below which tiles are shared out */

/* One call. */
typedef struct run {
    const cs_chord_stack *s;
    cs_seg   seg;
    int32_t  d, h;
    int64_t  n_pack;             /* floats of one block's packed weights */
    cs_mat   x, mean;            /* as given; absent where not wanted */
    int64_t  max_len, ldh;
    /* one worker's scratch: the hidden layer, two rows, and the tokens unless x is there */
    int64_t  row_h, row_d, own_x, stride;
} run;

/* A sequence on its way, and the block it is in. */
typedef struct trip {
    const run *r;
    cs_mat     x;                /* its rows */
    float     *work;             /* its worker's scratch, which begins with its hidden layer */
    const int32_t *id;
    cs_chord_pack pack;
    int        n_thread;
} trip;

static int64_t longest(cs_seg seg)
{
    return seg.depth < 62 ? cs_min64(seg.rows, INT64_C(1) << seg.depth) : seg.rows;
}

static bool each_alone(const cs_backend *be, cs_seg seg)
{
    return longest(seg) <= CS_CHORD_SHORT && seg.n >= SHARE * be->n_thread;
}

static int64_t lines(int64_t n)
{
    return (n + CS_PANEL - 1) / CS_PANEL * CS_PANEL;
}

static run run_of(cs_seg seg, int32_t d, int32_t h, bool own_x)
{
    run r = { .seg = seg, .d = d, .h = h, .n_pack = cs_chord_pack_size(d, h),
              .max_len = longest(seg), .ldh = cs_wide_cols(h) };
    r.row_h = lines(r.max_len * r.ldh);
    r.row_d = r.row_h + lines(cs_wide_cols(h));
    r.own_x = r.row_d + lines(cs_wide_cols(d));
    r.stride = r.own_x + (own_x ? lines(r.max_len * d) : 0);
    return r;
}

int64_t cs_avx2_chord_stack_work(cs_backend *be, cs_seg seg, int32_t width, int32_t hidden,
                                 bool own_x)
{
    run r = run_of(seg, width, hidden, own_x);
    return r.stride * (each_alone(be, seg) ? be->n_thread : 1);
}

/* ---- phases, each of one tile ------------------------------------------------------------- */

static const float *row_of(cs_mat table, int32_t id)
{
    return cs_row(table, id < 0 ? table.r - 1 : id);
}

TARGET static void add_track(const float *from, float *to, int32_t n)
{
    for (int32_t j = 0; j < n; j += 4)
        _mm_storeu_ps(to + j, _mm_add_ps(_mm_loadu_ps(to + j), _mm_loadu_ps(from + j)));
}

/* Rows of the embedding plus what the first block adds to them. */
static void first_tile(const trip *t, int64_t t0, int64_t n)
{
    const cs_chord_stack *s = t->r->s;
    int32_t w = s->track;
    for (int64_t i = t0; i < t0 + n; i++)
        memcpy(cs_row(t->x, i), row_of(s->embed, t->id[i]), (size_t)t->x.c * sizeof(float));
    for (int32_t c = 0; c < t->x.c; c += w) {
        int64_t from = (t0 + cs_shift(c / w, t->x.r)) % t->x.r;
        for (int64_t i = t0; i < t0 + n; i++, from = from + 1 == t->x.r ? 0 : from + 1)
            add_track(row_of(s->first, t->id[from]) + c, cs_row(t->x, i) + c, w);
    }
}

static void hidden_tile(const trip *t, int64_t t0, int64_t n)
{
    cs_chord_hidden(&t->pack, cs_row(t->x, t0), t->x.ld, n, t->work + t0 * t->r->ldh, t->r->ldh);
}

static void spread_tile(const trip *t, int64_t t0, int64_t n)
{
    cs_tile tile;
    tile.r0 = t0;
    tile.n = n;
    tile.n_span = 1;
    tile.span[0] = (cs_span){ 0, t->x.r, t0, n };
    cs_chord_spread(&t->pack, &tile, t->work + t0 * t->r->ldh, t->r->ldh, t->x, t->x);
}

static void each_tile(const trip *t, void (*f)(const trip *, int64_t t0, int64_t n))
{
    if (t->n_thread == 1) {
        for (int64_t t0 = 0; t0 < t->x.r; t0 += CS_TILE)
            f(t, t0, cs_min64(CS_TILE, t->x.r - t0));
        return;
    }
    #pragma omp parallel for num_threads(t->n_thread) schedule(dynamic)
    for (int64_t t0 = 0; t0 < t->x.r; t0 += CS_TILE)
        f(t, t0, cs_min64(CS_TILE, t->x.r - t0));
}

/* mean = mean(x) + (mean(h) w2' + b2) */
static void mean_after(const trip *t, float *mean)
{
    const cs_chord_pack *k = &t->pack;
    float *h = t->work + t->r->row_h, *y = t->work + t->r->row_d;
    cs_mat hidden = { t->work, t->x.r, k->h, (int32_t)t->r->ldh };
    cs_mean_rows(hidden, 0, t->x.r, t->n_thread, h);
    cs_mean_rows(t->x, 0, t->x.r, t->n_thread, mean);
    for (int32_t p = 0; p < cs_wide_count(k->d); p++) {
        int32_t c = p * CS_PANEL, width = cs_wide_width(k->d, p);
        cs_panel q = { .a = h, .lda = t->r->ldh, .b = k->w2 + (int64_t)c * k->h, .ldb = width,
                       .init = k->b2 + c, .c = y + c, .ldc = width, .n_row = 1, .n_k = k->h };
        cs_avx2_panel(false, width, &q);
    }
    for (int32_t c = 0; c < k->d; c++)
        mean[c] += y[c];
}

/* ---- a sequence, a batch ------------------------------------------------------------------ */

static void segment(const run *r, int32_t no, int n_thread, float *work)
{
    const cs_chord_stack *s = r->s;
    int64_t from = r->seg.off[no], n = r->seg.off[no + 1] - from;
    trip t = { .r = r, .work = work, .n_thread = n_thread,
               .x = { r->x.p ? cs_row(r->x, from) : work + r->own_x, n, r->d,
                      r->x.p ? r->x.ld : r->d } };
    int32_t l = 0;

    CS_BUG(n > r->max_len);
    if (s->id) {
        t.id = s->id + from;
        each_tile(&t, first_tile);
        l = 1;
    }
    for (; l < s->n_block && n > 0; l++) {
        t.pack = cs_chord_pack_at(r->d, r->h, s->track, s->pack + l * r->n_pack);
        each_tile(&t, hidden_tile);
        if (r->mean.p && l + 1 == s->n_block) {
            mean_after(&t, cs_row(r->mean, no));
            return;
        }
        each_tile(&t, spread_tile);
    }
    if (r->mean.p)
        cs_mean_rows(t.x, 0, n, n_thread, cs_row(r->mean, no));
}

void cs_avx2_chord_stack(cs_backend *be, cs_seg seg, const cs_chord_stack *s, cs_mat x, cs_mat mean,
                         cs_real *work)
{
    run r = run_of(seg, s->width, s->hidden, !x.p);
    int n_thread = cs_threads(be, seg.rows * s->width);

    CS_BUG(!x.p && (!s->id || !mean.p));
    r.s = s;
    r.x = x;
    r.mean = mean;
    if (!each_alone(be, seg)) {
        for (int32_t i = 0; i < seg.n; i++)
            segment(&r, i, n_thread, work);
        return;
    }
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int32_t i = 0; i < seg.n; i++)
        segment(&r, i, 1, work + omp_get_thread_num() * r.stride);
}

void cs_avx2_chord_prepare(cs_backend *be, const cs_chord *k, cs_real *pack)
{
    (void)be;
    cs_chord_pack p = cs_chord_pack_at(k->w1.c, (int32_t)k->w1.r, k->track, pack);
    cs_chord_pack_fill(k, &p);
}

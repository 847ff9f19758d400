/* vec_chord_stack.c - ChordMixer blocks in sequence, in place, for predictions only.
 *
 * DESIGN. A block works in place (vec_chord_seq.c). Short sequences (up to CS_CHORD_SHORT tokens)
 * are distributed over threads; each runs through all blocks while it is in the cache. Long or few
 * sequences run one after the other, with their token ranges distributed. Both give the same bits:
 * a token's arithmetic does not depend on the thread, and means are taken in chunks that depend on
 * the length only.
 *
 * Two shortcuts save work. The first block sees one of n_vocab different rows, so its product is a
 * look-up table. And rotation preserves a sequence's mean, so the mean after the last block is
 * mean(x) + mean(h) w2' + b2: one row instead of all goes through the second product.
 */
#include <string.h>

#include "kernels/cpu/chord.h"
#include "kernels/cpu/tables.h"

enum { CS_CHORD_SHORT = 1 << 14, /* tokens: 5 to 19 MB of L3 cache at usual widths */
       MIN_SHARE = 4 };          /* short sequences per thread, else ranges are distributed */

/* Arguments and layout of a call. */
typedef struct run {
    const cs_chord_stack *s;
    cs_seg   seg;
    int32_t  d, h, track;
    int64_t  n_pack;             /* floats of one block's packed weights */
    cs_mat   x, mean;            /* as passed; may be absent */
    int64_t  max_len, ldh;
    int      n_thread;           /* threads per sequence */
    /* offsets in one worker's scratch, after its tiles: deferred products, sums of the hidden
     * layer, two rows, and the tokens if x is absent */
    int64_t  deferred, sum, row_h, row_d, own_x, stride;
} run;

/* Where a worker is: its sequence, and the weights of its block. */
typedef struct cursor {
    const run *r;
    cs_chord_seq q;
    float     *work;             /* the worker's scratch */
    const int32_t *id;
    cs_chord_pack pack;
} cursor;

static int64_t longest(cs_seg seg)
{
    return seg.depth < 62 ? cs_min64(seg.rows, INT64_C(1) << seg.depth) : seg.rows;
}

static bool by_sequence(const cs_backend *be, cs_seg seg)
{
    return longest(seg) <= CS_CHORD_SHORT && seg.n >= MIN_SHARE * be->n_thread;
}

static int64_t line_count(int64_t n)
{
    return (n + CS_LINE - 1) / CS_LINE;
}

/* Stride between tracks in a worker's own n tokens. A narrow track's part of a token is less than a
 * cache line, and rotation would touch each quarter of the line at another time, so narrow tracks
 * are stored track-major. They are read in parallel, so they must not start in the same cache set,
 * as they would for lengths of 2^k. */
static int64_t track_stride(int64_t n, int32_t track)
{
    enum { SETS = 64, APART = 27 };
    int64_t n_line = line_count(n * track);
    if (track >= CS_LINE)
        return track;
    if (n_line < SETS)
        return (n_line | 1) * CS_LINE;
    return ((n_line - APART + SETS - 1) / SETS * SETS + APART) * CS_LINE;
}

cs_tracks cs_chord_layout(float *p, int64_t n, int32_t width, int32_t track)
{
    return (cs_tracks){ p, track < CS_LINE ? track : width, track_stride(n, track) };
}

int64_t cs_chord_layout_size(int64_t n, int32_t width, int32_t track)
{
    return track < CS_LINE ? track_stride(n, track) * (width / track) : n * width;
}

static run run_of(const cs_backend *be, cs_seg seg, const cs_chord_stack *s, bool own_x)
{
    run r = { .s = s, .seg = seg, .d = s->width, .h = s->hidden, .track = s->track,
              .n_pack = cs_chord_pack_size(s->width, s->hidden), .max_len = longest(seg),
              .ldh = cs_tile_ld(cs_chord_padded(s->hidden)),
              .n_thread = by_sequence(be, seg) ? 1 : be->n_thread };
    const int64_t sums = CS_CHUNKS * (int64_t)(sizeof(double) / sizeof(float));
    r.deferred = r.n_thread * CS_LINE * line_count(cs_chord_seq_tile(r.d, r.h));
    r.sum = r.deferred
            + CS_LINE * line_count(cs_chord_seq_deferred(r.d, r.track, r.max_len, r.n_thread));
    r.row_h = r.sum + CS_LINE * line_count(sums * cs_chord_padded(r.h));
    r.row_d = r.row_h + CS_LINE * line_count(cs_chord_padded(r.h));
    r.own_x = r.row_d + CS_LINE * line_count(cs_chord_padded(r.d));
    r.stride = r.own_x;
    if (own_x)
        r.stride += CS_LINE * line_count(cs_chord_layout_size(r.max_len, r.d, r.track));
    return r;
}

static int64_t chord_stack_work(cs_backend *be, cs_seg seg, const cs_chord_stack *s, bool own_x)
{
    return run_of(be, seg, s, own_x).stride * (by_sequence(be, seg) ? be->n_thread : 1);
}

/* ---- first block and mean ------------------------------------------------------------------- */

static const float *row_of(cs_mat table, int32_t id)
{
    return cs_row(table, id < 0 ? table.r - 1 : id);
}

/* to = a + b, or a if b is NULL */
static void add_track(const float *a, const float *b, float *to, int32_t n)
{
    for (int32_t j = 0; j < n; j += 4) {
        cs_quad v = cs_qload(a + j);
        cs_qstore(to + j, b ? cs_qadd(v, cs_qload(b + j)) : v);
    }
}

/* Rows of the embedding plus, if its table exists, the product of the first block. */
static void first_tile(const cursor *t, int64_t t0, int64_t n)
{
    const cs_chord_stack *s = t->r->s;
    const cs_tracks *x = &t->q.x;
    int32_t w = s->track;
    for (int32_t c = 0; c < s->width; c += w) {
        float *to = x->p + t0 * x->row + c / w * x->track;
        int64_t from = (t0 + cs_shift(c / w, t->q.len)) % t->q.len;
        for (int64_t i = t0; i < t0 + n; i++, to += x->row) {
            const float *product = s->first.p ? row_of(s->first, t->id[from]) + c : NULL;
            add_track(row_of(s->embed, t->id[i]) + c, product, to, w);
            from = from + 1 == t->q.len ? 0 : from + 1;
        }
    }
}

static void first_tiles(const cursor *t)
{
    if (t->q.n_thread == 1) {
        for (int64_t t0 = 0; t0 < t->q.len; t0 += CS_TILE)
            first_tile(t, t0, cs_min64(CS_TILE, t->q.len - t0));
        return;
    }
    #pragma omp parallel for num_threads(t->q.n_thread)
    for (int64_t t0 = 0; t0 < t->q.len; t0 += CS_TILE)
        first_tile(t, t0, cs_min64(CS_TILE, t->q.len - t0));
}

/* sum += the rows of h, in order */
static void add_rows(const float *h, int64_t ldh, int64_t n, int32_t n_col, double *sum)
{
    for (int32_t j = 0; j < n_col; j += CS_VEC) {
        cs_dvec a = cs_dvec_load(sum + j);
        for (int64_t r = 0; r < n; r++)
            a = cs_dvec_add(a, cs_to_dvec(cs_vload(h + r * ldh + j)));
        cs_dvec_store(sum + j, a);
    }
}

/* Sum of the hidden layer over a chunk, tile by tile. */
static void sum_chunk(const cursor *t, int64_t t0, int64_t t1, double *sum, float *h)
{
    const run *r = t->r;
    const cs_chord_tmp tmp = cs_chord_seq_tmp(&t->pack, h);
    memset(sum, 0, (size_t)cs_chord_padded(r->h) * sizeof *sum);
    for (; t0 < t1; t0 += CS_TILE) {
        int64_t n = cs_min64(CS_TILE, t1 - t0);
        cs_tracks from = t->q.x;
        from.p += t0 * from.row;
        cs_chord_hidden(&t->pack, from, n, &tmp, h, r->ldh);
        add_rows(h, r->ldh, n, cs_chord_padded(r->h), sum);
    }
    cs_panel_done();
}

/* Mean of the hidden layer, in chunks that depend on the length only. */
static void mean_hidden(const cursor *t, float *mean)
{
    const run *r = t->r;
    const int64_t n = t->q.len, step = cs_chunk_rows(n), n_chunk = (n + step - 1) / step;
    const int32_t n_col = cs_chord_padded(r->h);
    double *sum = (double *)(void *)(t->work + r->sum);
    if (t->q.n_thread == 1) {
        for (int64_t k = 0; k < n_chunk; k++)
            sum_chunk(t, k * step, cs_min64((k + 1) * step, n), sum + k * n_col, t->q.tile);
    } else {
        #pragma omp parallel for num_threads(t->q.n_thread) schedule(dynamic)
        for (int64_t k = 0; k < n_chunk; k++)
            sum_chunk(t, k * step, cs_min64((k + 1) * step, n), sum + k * n_col,
                      t->q.tile + cs_thread_no() * cs_chord_seq_tile(r->d, r->h));
    }
    for (int32_t j = 0; j < n_col; j++) {
        double total = 0;
        for (int64_t k = 0; k < n_chunk; k++)
            total += sum[k * n_col + j];
        mean[j] = (float)(total / (double)n);
    }
}

static void mean_tokens(const cursor *t, float *mean)
{
    const cs_tracks *x = &t->q.x;
    const int32_t d = t->r->d, w = x->track == t->r->track ? d : t->r->track;  /* one matrix? */
    for (int32_t i = 0; i < d / w; i++) {
        cs_mat m = { x->p + i * x->track, t->q.len, w, (int32_t)x->row };
        cs_mean_rows(m, 0, t->q.len, t->q.n_thread, mean + i * w);
    }
}

/* y = init + h w2' for one row of cells */
static void row_product(const cs_chord_pack *k, const float *h, const float *init, float *y)
{
    const int64_t n_k = cs_cell_count(k->h);
    for (int32_t p = 0; p < cs_chord_panels(k->d); p++) {
        int32_t c = p * CS_PANEL, width = cs_chord_panel_width(k->d, p);
        cs_panel q = { .a = h, .lda = n_k, .b = k->w2 + c * n_k, .ldb = width, .init = init + c,
                       .ldi = width, .c = y + c, .ldc = width, .n_row = 1, .n_k = n_k };
        cs_panel_of(false, width, &q);
    }
}

/* mean = mean(x) + (mean(h) w2' + b2). Where cells round, mean(h) is taken as a sum of two
 * roundings: errors of a mean, unlike those of its tokens, do not cancel. */
static void mean_after(const cursor *t, float *mean)
{
    const cs_chord_pack *k = &t->pack;
    float *h = t->work + t->r->row_h, *y = t->work + t->r->row_d;
    float *cells = CS_PER_CELL > 1 ? cs_chord_seq_tmp(k, t->q.tile).cells : h;
    mean_hidden(t, h);
    mean_tokens(t, mean);
    for (int i = 0; i < CS_PER_CELL; i++) {
        if (CS_PER_CELL > 1)
            cs_cells_rest(h, k->h, cells);
        row_product(k, cells, i > 0 ? y : k->b2, y);
    }
    cs_panel_done();
    for (int32_t c = 0; c < k->d; c++)
        mean[c] += y[c];
}

/* ---- a sequence, a batch ------------------------------------------------------------------ */

static void segment(const run *r, int32_t no, float *work)
{
    const cs_chord_stack *s = r->s;
    int64_t from = r->seg.off[no], n = r->seg.off[no + 1] - from;
    cursor t = { .r = r, .work = work,
               .q = { .len = n, .n_thread = r->n_thread, .tile = work,
                       .deferred = work + r->deferred } };
    int32_t l = 0;

    CS_BUG(n > r->max_len);
    if (n == 0) {
        if (r->mean.p)
            memset(cs_row(r->mean, no), 0, (size_t)r->d * sizeof(float));
        return;
    }
    t.q.x = r->x.p ? (cs_tracks){ cs_row(r->x, from), r->x.ld, r->track }
                   : cs_chord_layout(work + r->own_x, n, r->d, r->track);
    cs_chord_seq_partition(&t.q);
    if (s->id) {
        t.id = s->id + from;
        first_tiles(&t);
        l = s->first.p != NULL;
    }
    for (; l < s->n_block; l++) {
        t.pack = cs_chord_pack_at(r->d, r->h, s->track, s->pack + l * r->n_pack);
        if (r->mean.p && l + 1 == s->n_block) {
            mean_after(&t, cs_row(r->mean, no));
            return;
        }
        cs_chord_seq_block(&t.q, &t.pack);
    }
    if (r->mean.p)
        mean_tokens(&t, cs_row(r->mean, no));
}

static void chord_stack(cs_backend *be, cs_seg seg, const cs_chord_stack *s, cs_mat x, cs_mat mean,
                        cs_real *work)
{
    run r = run_of(be, seg, s, !x.p);

    CS_BUG(!x.p && (!s->id || !mean.p));
    r.x = x;
    r.mean = mean;
    if (!by_sequence(be, seg)) {
        if (cs_threads(be, seg.rows * s->width) == 1)
            r.n_thread = 1;
        for (int32_t i = 0; i < seg.n; i++)
            segment(&r, i, work);
        return;
    }
    #pragma omp parallel for num_threads(cs_threads(be, seg.rows * s->width)) schedule(dynamic)
    for (int32_t i = 0; i < seg.n; i++)
        segment(&r, i, work + cs_thread_no() * r.stride);
}

static void chord_prepare(cs_backend *be, const cs_chord *k, cs_real *pack)
{
    (void)be;
    cs_chord_pack p = cs_chord_pack_at(k->w1.c, (int32_t)k->w1.r, k->track, pack);
    cs_chord_pack_fill(k, &p);
}

/* Rotation moves vectors of four floats, so a track must be a multiple of four. */
bool cs_chord_fits(int32_t width, int32_t hidden, int32_t track)
{
    return track > 0 && track % 4 == 0 && width > 0 && width % track == 0 && hidden > 0;
}

void cs_vec_chord(cs_fused *fused)
{
    fused->chord_fits = cs_chord_fits;
    fused->chord_pack_size = cs_chord_pack_size;
    fused->chord_prepare = chord_prepare;
    fused->chord_stack = chord_stack;
    fused->chord_stack_work = chord_stack_work;
}

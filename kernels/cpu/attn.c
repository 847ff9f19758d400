/*
 * attn.c - softmax attention in tiles of queries and keys, forward and backward.
 *
 * DESIGN
 * Only a tile of scores exists at a time (FlashAttention; Milakov, Gimelshein 2018; Dao et al.
 * 2022). The forward pass keeps a running maximum and a sum of exponentials per query, and rescales
 * the output when the maximum grows. The backward pass recomputes the probabilities from the
 * logarithm of that sum, once for the gradients of the queries and once for those of keys and
 * values. So each thread writes its own rows, and every sum runs in the order of the rows. A row's
 * result does not depend on the other rows of its tile, hence neither on the number of threads nor
 * on the segment's neighbours.
 *
 * Each tile is summed separately and then added to the total: in single precision the error grows
 * with the number of tiles instead of the number of keys.
 */
#include "kernels/cpu/attn.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "kernels/cpu/heads.h"

/* Arguments of a call, and the functions that compute tiles. */
typedef struct work {
    const cs_tile_ops *op;
    const cs_attn *a;
    const cs_qkv  *m, *d;
    int32_t        n_group;      /* number of heads of keys and values */
} work;

static work new_work(const cs_tile_ops *op, const cs_attn *a, const cs_qkv *m, const cs_qkv *d)
{
    return (work){ op, a, m, d, m->k.c / (m->q.c / a->n_head) };
}

/* Key head of query head h. */
static int32_t group_of(const work *w, int32_t h)
{
    return (int32_t)((int64_t)h * w->n_group / w->a->n_head);
}

static int threads_for(const cs_backend *be, const work *w)
{
    int64_t n_key = 1 + w->m->k.r / (w->a->seg.n > 0 ? w->a->seg.n : 1);
    return cs_threads(be, w->m->q.r * n_key * w->m->q.c);
}

/* Head h of segment s: a tile of queries, and a tile of keys that starts at row j. */
typedef struct tile { cs_mat q, k, v, y, dy; cs_range row; int32_t h, s; int64_t j; } tile;

static tile query_tile(const work *w, int32_t h, int32_t s, cs_range r)
{
    int32_t n_head = w->a->n_head;
    int64_t n = r.to - r.from;
    tile t = { .q = cs_head_view(w->m->q, h, n_head, r.from, n),
               .y = cs_head_view(w->m->y, h, n_head, r.from, n), .row = r, .h = h, .s = s };
    if (w->d)
        t.dy = cs_head_view(w->d->y, h, n_head, r.from, n);
    return t;
}

static void set_keys(const work *w, tile *t, int64_t from, int64_t n)
{
    int32_t g = group_of(w, t->h);
    t->k = cs_head_view(w->m->k, g, w->n_group, from, n);
    t->v = cs_head_view(w->m->v, g, w->n_group, from, n);
    t->j = from;
}

/* Dropout: multiplies the weights of row i by 0 or 1 / (1 - dropout). */
static void drop(const work *w, const tile *t, int64_t i, cs_real *p)
{
    const cs_attn *a = w->a;
    const int64_t start = a->seg.off[t->s], len = a->seg.off[t->s + 1] - start;
    const cs_range key = cs_key_rows(a->key, t->s);
    const uint64_t first = (uint64_t)((t->h * len + t->row.from + i - start)
                                      * (key.to - key.from) + t->j - key.from);
    const cs_real gain = (cs_real)(1 / (1 - a->dropout));

    for (int64_t j = 0; j < t->k.r; j++)
        p[j] = cs_rng_unit(a->drop_key, first + (uint64_t)j) >= a->dropout ? p[j] * gain : 0;
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Running maxima and sums of exponentials, per query. */
typedef struct state { cs_real max[CS_TILE_ROWS]; double sum[CS_TILE_ROWS]; } state;

static void attend_tile(const work *w, const tile *t, state *st)
{
    cs_score_tile p;
    int n_key = (int)t->k.r;

    w->op->scores(t->q, t->k, p);
    for (int64_t i = 0; i < t->q.r; i++) {
        cs_real max = w->op->row_max(p[i], n_key, w->a->scale, st->max[i]);
        double decay = exp((double)st->max[i] - (double)max);
        cs_real *y = cs_row(t->y, i);
        st->sum[i] = st->sum[i] * decay + w->op->exp_sum(p[i], n_key, w->a->scale, max);
        for (int32_t c = 0; st->max[i] < max && c < t->y.c; c++)
            y[c] *= (cs_real)decay;
        st->max[i] = max;
        if (w->a->dropout > 0)       /* st->sum includes dropped weights */
            drop(w, t, i, p[i]);
    }
    w->op->mix((const cs_real (*)[CS_TILE_KEYS])p, n_key, t->v, t->y);
}

/* Attention of rows r of segment s, head h. */
static void attend_rows(const work *w, int32_t h, int32_t s, cs_range r)
{
    tile t = query_tile(w, h, s, r);
    cs_range key = cs_key_rows(w->a->key, s);
    bool any = key.to > key.from;
    state st;

    for (int64_t i = 0; i < t.q.r; i++) {
        st.max[i] = (cs_real)-INFINITY;
        st.sum[i] = 0;
        memset(cs_row(t.y, i), 0, (size_t)t.y.c * sizeof *t.y.p);
    }
    for (int64_t j = key.from; j < key.to; j += CS_TILE_KEYS) {
        set_keys(w, &t, j, cs_min64(CS_TILE_KEYS, key.to - j));
        attend_tile(w, &t, &st);
    }
    for (int64_t i = 0; i < t.q.r; i++) {
        for (int32_t c = 0; any && c < t.y.c; c++)
            cs_row(t.y, i)[c] = (cs_real)((double)cs_row(t.y, i)[c] / st.sum[i]);
        cs_row(w->m->stat, r.from + i)[h] = any ? st.max[i] + (cs_real)log(st.sum[i]) : 0;
    }
}

/* Calls f for each head and each tile of queries; a tile does not cross the end of a segment. */
static void each_query_tile(const work *w, int n_thread,
                            void (*f)(const work *, int32_t, int32_t, cs_range))
{
    cs_seg seg = w->a->seg;
    int32_t n_head = w->a->n_head;
    int64_t n_block = (seg.rows + CS_TILE_ROWS - 1) / CS_TILE_ROWS;
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int64_t task = 0; task < n_block * n_head; task++) {
        int64_t r = task / n_head * CS_TILE_ROWS, end = cs_min64(r + CS_TILE_ROWS, seg.rows);
        int32_t s = cs_seg_find(seg, r);
        while (r < end) {
            cs_seg_span q = cs_seg_span_at(seg, &s, r, end);
            f(w, (int32_t)(task % n_head), s, (cs_range){ r, r + q.n });
            r += q.n;
        }
    }
}

void cs_attend_tiles(cs_backend *be, const cs_tile_ops *op, const cs_attn *a, const cs_qkv *m)
{
    work w = new_work(op, a, m, NULL);
    each_query_tile(&w, threads_for(be, &w), attend_rows);
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Probabilities p after dropout, and gradients of the scores, ds = scale p (dy v' - dy y').
 * Dropout applies to dy v'; dy y' includes it, because y does. */
static void tile_gradients(const work *w, const tile *t, cs_score_tile p, cs_score_tile ds)
{
    cs_real scale = w->a->scale;
    int n_key = (int)t->k.r;

    w->op->scores(t->q, t->k, p);
    w->op->scores(t->dy, t->v, ds);
    for (int64_t i = 0; i < t->q.r; i++) {
        const cs_real *dy = cs_row(t->dy, i), *y = cs_row(t->y, i);
        double dot = 0;
        for (int32_t c = 0; c < t->y.c; c++)
            dot += (double)dy[c] * (double)y[c];
        (void)w->op->exp_sum(p[i], n_key, scale, cs_row(w->m->stat, t->row.from + i)[t->h]);
        if (w->a->dropout > 0)
            drop(w, t, i, ds[i]);
        w->op->softmax_bwd(p[i], n_key, scale, (cs_real)dot, ds[i]);
        if (w->a->dropout > 0)
            drop(w, t, i, p[i]);
    }
}

static void query_gradient(const work *w, int32_t h, int32_t s, cs_range r)
{
    tile t = query_tile(w, h, s, r);
    cs_range key = cs_key_rows(w->a->key, s);
    cs_mat dq = cs_head_view(w->d->q, h, w->a->n_head, r.from, r.to - r.from);
    cs_score_tile p, ds;

    for (int64_t j = key.from; j < key.to; j += CS_TILE_KEYS) {
        set_keys(w, &t, j, cs_min64(CS_TILE_KEYS, key.to - j));
        tile_gradients(w, &t, p, ds);
        w->op->mix((const cs_real (*)[CS_TILE_KEYS])ds, t.k.r, t.k, dq);
    }
}

/* Contribution of queries r (segment s, head h) to the gradients of keys and values j. */
static void key_tile(const work *w, int32_t h, int32_t s, cs_range r, cs_range j)
{
    int32_t g = group_of(w, h);
    int64_t n = j.to - j.from;
    tile t = query_tile(w, h, s, r);
    cs_score_tile p, ds;

    set_keys(w, &t, j.from, n);
    tile_gradients(w, &t, p, ds);
    w->op->mix_transposed((const cs_real (*)[CS_TILE_KEYS])p, t.q.r, t.dy,
                          cs_head_view(w->d->v, g, w->n_group, j.from, n));
    w->op->mix_transposed((const cs_real (*)[CS_TILE_KEYS])ds, t.q.r, t.q,
                          cs_head_view(w->d->k, g, w->n_group, j.from, n));
}

/* Gradients of keys j (segment s, key head g): sums over all queries of the segment, in order. */
static void key_gradient(const work *w, int32_t g, cs_range j, int32_t s)
{
    int64_t end = w->a->seg.off[s + 1];
    for (int32_t h = 0; h < w->a->n_head; h++)
        for (int64_t r = w->a->seg.off[s]; group_of(w, h) == g && r < end; r += CS_TILE_ROWS)
            key_tile(w, h, s, (cs_range){ r, cs_min64(r + CS_TILE_ROWS, end) }, j);
}

void cs_attend_tiles_bwd(cs_backend *be, const cs_tile_ops *op, const cs_attn *a, const cs_qkv *m,
                         const cs_qkv *d)
{
    work w = new_work(op, a, m, d);
    int64_t n_block = (a->key.rows + CS_TILE_KEYS - 1) / CS_TILE_KEYS;
    int n_thread = threads_for(be, &w);

    each_query_tile(&w, n_thread, query_gradient);
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int64_t task = 0; task < n_block * w.n_group; task++) {
        int64_t from = task / w.n_group * CS_TILE_KEYS;
        int64_t end = cs_min64(from + CS_TILE_KEYS, a->key.rows);
        int32_t s = 0;
        cs_range j = cs_next_keys(a->key, from, end, &s);
        while (j.from < j.to) {
            key_gradient(&w, (int32_t)(task % w.n_group), j, s);
            j = cs_next_keys(a->key, j.to, end, &s);
        }
    }
}

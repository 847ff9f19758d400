/*
 * ref_attn.c - softmax attention and linear attention, forward and backward, as plain loops.
 *
 * DESIGN
 * Scores exist for a tile of TILE queries and TILE keys only. Going forward, every query keeps the
 * largest score so far and the sum of exponentials relative to it, and rescales what it has summed
 * when a larger one comes (Milakov, Gimelshein 2018; Dao et al., FlashAttention, 2022). Going
 * backward, the probabilities are computed again from the logarithm of that sum: once for the
 * queries' gradients and once for those of keys and values, so that every thread writes rows of its
 * own and every sum runs in the order of the rows. A row's result does not depend on which rows
 * share its tile, hence neither on the number of threads nor on the segment's neighbours.
 *
 * Sums over a tile are taken apart and added to the total, so that in single precision the error
 * grows with the number of tiles rather than of keys.
 */
#include <math.h>
#include <string.h>

#include "kernels/cpu/impl.h"

enum { TILE = 64 };

#ifdef CS_DOUBLE
#define real_exp exp
#else
#define real_exp expf
#endif

static cs_real dot(const cs_real *a, const cs_real *b, int32_t n)
{
    cs_real sum = 0;
    #pragma omp simd reduction(+:sum)
    for (int32_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* y = decay y + sum_j w[j * step] x[j,:], over n rows of x */
static void mix(const cs_real *w, int step, int n, cs_mat x, cs_real decay, cs_real *y)
{
    for (int32_t c0 = 0; c0 < x.c; c0 += CS_CHUNK_COLS) {
        int32_t n_col = x.c - c0 < CS_CHUNK_COLS ? x.c - c0 : CS_CHUNK_COLS;
        cs_real sum[CS_CHUNK_COLS] = { 0 };
        for (int j = 0; j < n; j++) {
            const cs_real *v = cs_row(x, j) + c0;
            cs_real p = w[j * step];
            #pragma omp simd
            for (int32_t c = 0; c < n_col; c++)
                sum[c] += p * v[c];
        }
        #pragma omp simd
        for (int32_t c = 0; c < n_col; c++)
            y[c0 + c] = decay * y[c0 + c] + sum[c];
    }
}

/* ---- heads and segments -------------------------------------------------------------------- */

/* n rows of a matrix from row r on, the columns of part h of n_part. */
static cs_mat view(cs_mat m, int32_t h, int32_t n_part, int64_t r, int64_t n)
{
    int32_t w = m.c / n_part;
    return (cs_mat){ cs_row(m, r) + h * w, n, w, m.ld };
}

/* How many keys' heads there are, and which one a query's head uses. */
static int32_t n_group(const cs_attn *a, const cs_qkv *m)
{
    return m->k.c / (m->q.c / a->n_head);
}

static int32_t group_of(const cs_attn *a, const cs_qkv *m, int32_t h)
{
    return (int32_t)((int64_t)h * n_group(a, m) / a->n_head);
}

typedef struct range { int64_t from, to; } range;

/* The rows of segment s that may be looked at. */
static range key_rows(cs_seg key, int32_t s)
{
    if (!key.off) {
        int64_t each = key.rows / key.n;
        return (range){ s * each, (s + 1) * each };
    }
    return (range){ key.off[s], key.n_valid ? key.off[s] + key.n_valid[s] : key.off[s + 1] };
}

/* The part of rows `from`.. that lies in one segment and before `end`; s is that segment. Keys that
 * nobody looks at are passed over: the range is empty where there are no more. */
static range next_keys(cs_seg key, int64_t from, int64_t end, int32_t *s)
{
    while (from < end) {
        *s = key.off ? cs_seg_find(key, from) : (int32_t)(from / (key.rows / key.n));
        range q = key_rows(key, *s);
        if (from < q.to)
            return (range){ from, cs_min64(q.to, end) };
        from = key.off[*s + 1];
    }
    return (range){ end, end };
}

static int threads_for(const cs_backend *be, const cs_attn *a, const cs_qkv *m)
{
    return cs_threads(be, m->q.r * (1 + m->k.r / (a->seg.n > 0 ? a->seg.n : 1)) * m->q.c);
}

/* ---- softmax attention ----------------------------------------------------------------------- */

/* One head: a tile of queries and a tile of keys. */
typedef struct tile { cs_mat q, k, v, y, dy; const cs_real *stat; int32_t ld_stat; cs_real scale; }
    tile;

/* The queries' running maxima and sums of exponentials. */
typedef struct state { cs_real max[TILE]; double sum[TILE]; } state;

static void attend_tile(const tile *t, state *st)
{
    cs_real p[TILE];
    for (int i = 0; i < (int)t->q.r; i++) {
        cs_real max = st->max[i];
        double sum = 0;
        for (int j = 0; j < (int)t->k.r; j++) {
            p[j] = t->scale * dot(cs_row(t->q, i), cs_row(t->k, j), t->q.c);
            max = p[j] > max || isnan(p[j]) ? p[j] : max;
        }
        for (int j = 0; j < (int)t->k.r; j++) {
            p[j] = real_exp(p[j] - max);
            sum += (double)p[j];
        }
        cs_real decay = real_exp(st->max[i] - max);
        st->sum[i] = st->sum[i] * (double)decay + sum;
        st->max[i] = max;
        mix(p, 1, (int)t->k.r, t->v, decay, cs_row(t->y, i));
    }
}

/* Rows r0 .. r1-1, which lie in one segment, of head h. */
static void attend_rows(const cs_attn *a, const cs_qkv *m, int32_t h, int64_t r0, int64_t r1,
                        range key)
{
    int32_t g = group_of(a, m, h), n_g = n_group(a, m);
    tile t = { .q = view(m->q, h, a->n_head, r0, r1 - r0),
               .y = view(m->y, h, a->n_head, r0, r1 - r0), .scale = a->scale };
    state st;

    for (int i = 0; i < (int)t.q.r; i++) {
        st.max[i] = (cs_real)-INFINITY;
        st.sum[i] = 0;
        memset(cs_row(t.y, i), 0, (size_t)t.y.c * sizeof *t.y.p);
    }
    for (int64_t j = key.from; j < key.to; j += TILE) {
        int64_t n = cs_min64(TILE, key.to - j);
        t.k = view(m->k, g, n_g, j, n);
        t.v = view(m->v, g, n_g, j, n);
        attend_tile(&t, &st);
    }
    for (int i = 0; i < (int)t.q.r; i++) {
        bool any = key.to > key.from;
        for (int32_t c = 0; any && c < t.y.c; c++)
            cs_row(t.y, i)[c] = (cs_real)((double)cs_row(t.y, i)[c] / st.sum[i]);
        cs_row(m->stat, r0 + i)[h] = any ? st.max[i] + (cs_real)log(st.sum[i]) : 0;
    }
}

static void ref_attend(cs_backend *be, const cs_attn *a, const cs_qkv *m)
{
    int64_t n_block = (a->seg.rows + TILE - 1) / TILE;
    #pragma omp parallel for num_threads(threads_for(be, a, m)) schedule(dynamic)
    for (int64_t task = 0; task < n_block * a->n_head; task++) {
        int64_t r = task / a->n_head * TILE, end = cs_min64(r + TILE, a->seg.rows);
        int32_t s = cs_seg_find(a->seg, r);
        while (r < end) {
            cs_span q = cs_span_at(a->seg, &s, r, end);
            attend_rows(a, m, (int32_t)(task % a->n_head), r, r + q.n, key_rows(a->key, s));
            r += q.n;
        }
    }
}

/* Probabilities p and gradients of the scaled scores ds: ds = p (dy v' - dy y') */
static void tile_gradients(const tile *t, cs_real (*p)[TILE], cs_real (*ds)[TILE])
{
    for (int i = 0; i < (int)t->q.r; i++) {
        const cs_real *dy = cs_row(t->dy, i);
        cs_real log_sum = t->stat[(int64_t)i * t->ld_stat];
        cs_real whole = dot(dy, cs_row(t->y, i), t->y.c);
        for (int j = 0; j < (int)t->k.r; j++) {
            cs_real s = t->scale * dot(cs_row(t->q, i), cs_row(t->k, j), t->q.c);
            p[i][j] = real_exp(s - log_sum);
            ds[i][j] = t->scale * p[i][j] * (dot(dy, cs_row(t->v, j), t->v.c) - whole);
        }
    }
}

static tile query_tile(const cs_attn *a, const cs_qkv *m, cs_mat dy, int32_t h, range r)
{
    int64_t n = r.to - r.from;
    return (tile){ .q = view(m->q, h, a->n_head, r.from, n),
                   .y = view(m->y, h, a->n_head, r.from, n),
                   .dy = view(dy, h, a->n_head, r.from, n),
                   .stat = cs_row(m->stat, r.from) + h, .ld_stat = m->stat.ld, .scale = a->scale };
}

static void query_gradient(const cs_attn *a, const cs_qkv *m, const cs_qkv *d, int32_t h, range r,
                           range key)
{
    int32_t g = group_of(a, m, h), n_g = n_group(a, m);
    tile t = query_tile(a, m, d->y, h, r);
    cs_mat dq = view(d->q, h, a->n_head, r.from, r.to - r.from);
    cs_real p[TILE][TILE], ds[TILE][TILE];

    for (int64_t j = key.from; j < key.to; j += TILE) {
        int64_t n = cs_min64(TILE, key.to - j);
        t.k = view(m->k, g, n_g, j, n);
        t.v = view(m->v, g, n_g, j, n);
        tile_gradients(&t, p, ds);
        for (int i = 0; i < (int)t.q.r; i++)
            mix(ds[i], 1, (int)n, t.k, 1, cs_row(dq, i));
    }
}

/* What queries r of head h add to the gradients of the keys j and their values. */
static void key_tile(const cs_attn *a, const cs_qkv *m, const cs_qkv *d, int32_t h, range r,
                     range j)
{
    int32_t g = group_of(a, m, h), n_g = n_group(a, m);
    int64_t n = j.to - j.from;
    tile t = query_tile(a, m, d->y, h, r);
    cs_mat dk = view(d->k, g, n_g, j.from, n), dv = view(d->v, g, n_g, j.from, n);
    cs_real p[TILE][TILE], ds[TILE][TILE];

    t.k = view(m->k, g, n_g, j.from, n);
    t.v = view(m->v, g, n_g, j.from, n);
    tile_gradients(&t, p, ds);
    for (int i = 0; i < (int)n; i++) {
        mix(&p[0][i], TILE, (int)t.q.r, t.dy, 1, cs_row(dv, i));
        mix(&ds[0][i], TILE, (int)t.q.r, t.q, 1, cs_row(dk, i));
    }
}

static void key_gradient(const cs_attn *a, const cs_qkv *m, const cs_qkv *d, int32_t g, range j,
                         int32_t s)
{
    for (int32_t h = 0; h < a->n_head; h++)
        for (int64_t r = a->seg.off[s]; group_of(a, m, h) == g && r < a->seg.off[s + 1]; r += TILE)
            key_tile(a, m, d, h, (range){ r, cs_min64(r + TILE, a->seg.off[s + 1]) }, j);
}

static void ref_attend_bwd(cs_backend *be, const cs_attn *a, const cs_qkv *m, const cs_qkv *d)
{
    int64_t n_q = (a->seg.rows + TILE - 1) / TILE, n_k = (a->key.rows + TILE - 1) / TILE;
    int32_t n_g = n_group(a, m);
    int n_thread = threads_for(be, a, m);

    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int64_t task = 0; task < n_q * a->n_head; task++) {
        int64_t r = task / a->n_head * TILE, end = cs_min64(r + TILE, a->seg.rows);
        int32_t s = cs_seg_find(a->seg, r);
        while (r < end) {
            cs_span q = cs_span_at(a->seg, &s, r, end);
            query_gradient(a, m, d, (int32_t)(task % a->n_head), (range){ r, r + q.n },
                           key_rows(a->key, s));
            r += q.n;
        }
    }
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int64_t task = 0; task < n_k * n_g; task++) {
        int64_t end = cs_min64((task / n_g + 1) * TILE, a->key.rows);
        int32_t s = 0;
        range j = next_keys(a->key, task / n_g * TILE, end, &s);
        while (j.from < j.to) {
            key_gradient(a, m, d, (int32_t)(task % n_g), j, s);
            j = next_keys(a->key, j.to, end, &s);
        }
    }
}

/* ---- linear attention ------------------------------------------------------------------------ */

/* The sums S and z of one segment and head, (dk, dv + 1), from matrix `stat` of all of them. */
static cs_mat sums(const cs_attn *a, const cs_qkv *m, cs_mat stat, int32_t s, int32_t h)
{
    int32_t dk = m->q.c / a->n_head, dv = m->v.c / a->n_head;
    return (cs_mat){ cs_row(stat, (int64_t)s * a->n_head + h), dk, dv + 1, dv + 1 };
}

/* Row c of S and z: sum over the keys of k_jc (v_j, 1), in double for long sequences. */
static void sum_row(cs_mat k, cs_mat v, int32_t c, cs_real *out)
{
    for (int32_t e0 = 0; e0 <= v.c; e0 += CS_CHUNK_COLS) {
        double sum[CS_CHUNK_COLS] = { 0 };
        int32_t n = v.c + 1 - e0 < CS_CHUNK_COLS ? v.c + 1 - e0 : CS_CHUNK_COLS;
        for (int64_t j = 0; j < k.r; j++)
            for (int32_t e = 0; e < n; e++) {
                double w = e0 + e < v.c ? (double)cs_row(v, j)[e0 + e] : 1;
                sum[e] += (double)cs_row(k, j)[c] * w;
            }
        for (int32_t e = 0; e < n; e++)
            out[e0 + e] = (cs_real)sum[e];
    }
}

static void linear_sums(cs_backend *be, const cs_attn *a, const cs_qkv *m)
{
    int32_t dk = m->q.c / a->n_head;
    int64_t n_task = (int64_t)a->seg.n * a->n_head * dk;
    #pragma omp parallel for num_threads(cs_threads(be, m->k.r * m->k.c * 8)) schedule(dynamic)
    for (int64_t task = 0; task < n_task; task++) {
        int32_t c = (int32_t)(task % dk), h = (int32_t)(task / dk % a->n_head);
        int32_t s = (int32_t)(task / dk / a->n_head);
        range j = key_rows(a->key, s);
        sum_row(view(m->k, h, a->n_head, j.from, j.to - j.from),
                view(m->v, h, a->n_head, j.from, j.to - j.from), c,
                cs_row(sums(a, m, m->stat, s, h), c));
    }
}

/* q z, which positive q and k keep positive */
static double share(const cs_real *q, cs_mat sum)
{
    double den = 0;
    for (int32_t c = 0; c < (int32_t)sum.r; c++)
        den += (double)q[c] * (double)cs_row(sum, c)[sum.c - 1];
    return den;
}

static void linear_row(const cs_real *q, cs_mat sum, cs_real *y)
{
    double den = share(q, sum);
    for (int32_t e = 0; e < sum.c - 1; e++) {
        double num = 0;
        for (int32_t c = 0; c < (int32_t)sum.r; c++)
            num += (double)q[c] * (double)cs_row(sum, c)[e];
        y[e] = (cs_real)(num / den);
    }
}

static void ref_linear_attend(cs_backend *be, const cs_attn *a, const cs_qkv *m)
{
    int32_t dk = m->q.c / a->n_head, dv = m->v.c / a->n_head;
    linear_sums(be, a, m);
    #pragma omp parallel for num_threads(cs_threads(be, m->q.r * m->q.c * 8))
    for (int64_t r = 0; r < a->seg.rows; r++) {
        int32_t s = cs_seg_find(a->seg, r);
        for (int32_t h = 0; h < a->n_head; h++)
            linear_row(cs_row(m->q, r) + h * dk, sums(a, m, m->stat, s, h),
                       cs_row(m->y, r) + h * dv);
    }
}

static double dot_double(const cs_real *a, const cs_real *b, int32_t n)
{
    double sum = 0;
    for (int32_t e = 0; e < n; e++)
        sum += (double)a[e] * (double)b[e];
    return sum;
}

/* With S' = (S, z), a query's gradient is S' g, g = (dy, -dy y') / (q z). */
static void linear_dq(const cs_real *q, cs_mat sum, const cs_real *y, const cs_real *dy,
                      cs_real *dq)
{
    int32_t dv = sum.c - 1;
    double den = share(q, sum), whole = dot_double(dy, y, dv);
    for (int32_t c = 0; c < (int32_t)sum.r; c++) {
        const cs_real *row = cs_row(sum, c);
        dq[c] += (cs_real)((dot_double(row, dy, dv) - (double)row[dv] * whole) / den);
    }
}

/* Row c of the gradient of S': sum over the queries of q_c g. */
static void linear_dsum(cs_mat q, cs_mat sum, cs_mat y, cs_mat dy, int32_t c, cs_real *out)
{
    for (int32_t e0 = 0; e0 <= y.c; e0 += CS_CHUNK_COLS) {
        double part[CS_CHUNK_COLS] = { 0 };
        int32_t n = y.c + 1 - e0 < CS_CHUNK_COLS ? y.c + 1 - e0 : CS_CHUNK_COLS;
        for (int64_t r = 0; r < q.r; r++) {
            const cs_real *g = cs_row(dy, r);
            double w = (double)cs_row(q, r)[c] / share(cs_row(q, r), sum);
            double whole = e0 + n > y.c ? dot_double(g, cs_row(y, r), y.c) : 0;
            for (int32_t e = 0; e < n; e++)
                part[e] += w * (e0 + e < y.c ? (double)g[e0 + e] : -whole);
        }
        for (int32_t e = 0; e < n; e++)
            out[e0 + e] = (cs_real)part[e];
    }
}

static void linear_dkey(cs_mat dsum, const cs_real *k, const cs_real *v, cs_real *dk, cs_real *dv)
{
    int32_t n = dsum.c - 1;
    for (int32_t c = 0; c < (int32_t)dsum.r; c++) {
        const cs_real *row = cs_row(dsum, c);
        dk[c] += (cs_real)(dot_double(row, v, n) + (double)row[n]);
    }
    for (int32_t e = 0; e < n; e++) {
        double g = 0;
        for (int32_t c = 0; c < (int32_t)dsum.r; c++)
            g += (double)k[c] * (double)cs_row(dsum, c)[e];
        dv[e] += (cs_real)g;
    }
}

static void linear_dsums(const cs_attn *a, const cs_qkv *m, const cs_qkv *d, int n_thread)
{
    int32_t dk = m->q.c / a->n_head;
    int64_t n_task = (int64_t)a->seg.n * a->n_head * dk;
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int64_t task = 0; task < n_task; task++) {
        int32_t c = (int32_t)(task % dk), h = (int32_t)(task / dk % a->n_head);
        int32_t s = (int32_t)(task / dk / a->n_head);
        int64_t r = a->seg.off[s], n = a->seg.off[s + 1] - r;
        linear_dsum(view(m->q, h, a->n_head, r, n), sums(a, m, m->stat, s, h),
                    view(m->y, h, a->n_head, r, n), view(d->y, h, a->n_head, r, n), c,
                    cs_row(sums(a, m, d->stat, s, h), c));
    }
}

static void ref_linear_attend_bwd(cs_backend *be, const cs_attn *a, const cs_qkv *m,
                                  const cs_qkv *d)
{
    int32_t dk = m->q.c / a->n_head, dv = m->v.c / a->n_head;
    int n_thread = cs_threads(be, m->q.r * m->q.c * 8);

    linear_dsums(a, m, d, n_thread);
    #pragma omp parallel for num_threads(n_thread)
    for (int64_t r = 0; r < a->seg.rows; r++) {
        int32_t s = cs_seg_find(a->seg, r);
        for (int32_t h = 0; h < a->n_head; h++)
            linear_dq(cs_row(m->q, r) + h * dk, sums(a, m, m->stat, s, h), cs_row(m->y, r) + h * dv,
                      cs_row(d->y, r) + h * dv, cs_row(d->q, r) + h * dk);
    }
    #pragma omp parallel for num_threads(n_thread)
    for (int64_t r = 0; r < a->key.rows; r++) {
        int32_t s = 0;
        range j = next_keys(a->key, r, r + 1, &s);
        for (int32_t h = 0; j.from < j.to && h < a->n_head; h++)
            linear_dkey(sums(a, m, d->stat, s, h), cs_row(m->k, r) + h * dk,
                        cs_row(m->v, r) + h * dv, cs_row(d->k, r) + h * dk,
                        cs_row(d->v, r) + h * dv);
    }
}

void cs_ref_attn(cs_ops *op)
{
    op->attend = ref_attend;
    op->attend_bwd = ref_attend_bwd;
    op->linear_attend = ref_linear_attend;
    op->linear_attend_bwd = ref_linear_attend_bwd;
}

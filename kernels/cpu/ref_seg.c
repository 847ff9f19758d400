/* ref_seg.c - segment-wise ops as plain loops: rotation, mean, windows, masks, positions. */

#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

/* Source: Khalitov et al., ChordMixer; track i reads 2^(i-1) tokens ahead, circularly. */
static void roll_span(cs_seg_span q, int32_t track, int sign, cs_mat x, cs_real beta, cs_mat y)
{
    for (int32_t i = 0; i < x.c / track; i++) {
        int64_t from = (q.t0 + sign * cs_shift(i, q.len) + q.len) % q.len;
        for (int64_t t = q.t0; t < q.t0 + q.n; t++) {
            const cs_real *a = cs_row(x, q.start + from) + i * track;
            cs_real *b = cs_row(y, q.start + t) + i * track;
            for (int32_t j = 0; j < track; j++)
                b[j] = beta != 0 ? a[j] + beta * b[j] : a[j];
            from = from + 1 == q.len ? 0 : from + 1;
        }
    }
}

static void ref_seg_roll(cs_backend *be, cs_seg seg, int32_t track, int sign, cs_mat x,
                         cs_real beta, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r0 = 0; r0 < seg.rows; r0 += CS_ROW_BLOCK) {
        int64_t end = cs_min64(r0 + CS_ROW_BLOCK, seg.rows);
        int32_t s = cs_seg_find(seg, r0);
        for (int64_t r = r0; r < end;) {
            cs_seg_span q = cs_seg_span_at(seg, &s, r, end);
            roll_span(q, track, sign, x, beta, y);
            r += q.n;
        }
    }
}

/* Rows of a part that begins at row `first`. Forward, row t goes to row t - shift; the adjoint
 * reads it from there. */
static void part_span(cs_seg_span q, int32_t track, int64_t first, bool put, cs_mat part,
                      cs_mat whole)
{
    for (int32_t i = 0; i < part.c / track; i++) {
        int64_t at = (q.t0 - cs_shift(i, q.len) + q.len) % q.len;
        for (int64_t t = q.t0; t < q.t0 + q.n; t++) {
            cs_real *a = cs_row(part, q.start + t - first) + i * track;
            cs_real *b = cs_row(whole, q.start + at) + i * track;
            for (int32_t j = 0; j < track; j++)
                *(put ? b + j : a + j) += put ? a[j] : b[j];
            at = at + 1 == q.len ? 0 : at + 1;
        }
    }
}

static void roll_part(cs_backend *be, cs_seg seg, int32_t track, int64_t first, bool put,
                      cs_mat part, cs_mat whole)
{
    #pragma omp parallel for num_threads(cs_threads(be, part.r * part.c))
    for (int64_t r0 = first; r0 < first + part.r; r0 += CS_ROW_BLOCK) {
        int64_t end = cs_min64(r0 + CS_ROW_BLOCK, first + part.r);
        int32_t s = cs_seg_find(seg, r0);
        for (int64_t r = r0; r < end;) {
            cs_seg_span q = cs_seg_span_at(seg, &s, r, end);
            part_span(q, track, first, put, part, whole);
            r += q.n;
        }
    }
}

static void ref_seg_roll_put(cs_backend *be, cs_seg seg, int32_t track, int64_t first, cs_mat x,
                             cs_mat y)
{
    roll_part(be, seg, track, first, true, x, y);
}

static void ref_seg_roll_take(cs_backend *be, cs_seg seg, int32_t track, int64_t first, cs_mat y,
                              cs_mat x)
{
    roll_part(be, seg, track, first, false, x, y);
}

/* Mean over one segment, in chunks that depend on its length only: a long segment uses all threads,
 * and a mean does not depend on neighbours. */
static void mean_segment(cs_mat x, int64_t r0, int64_t r1, int n_thread, cs_real *y)
{
    int64_t step = cs_chunk_rows(r1 - r0);
    double n = r1 > r0 ? (double)(r1 - r0) : 1;
    for (int32_t j0 = 0; j0 < x.c; j0 += CS_CHUNK_COLS) {
        int32_t n_col = x.c - j0 < CS_CHUNK_COLS ? x.c - j0 : CS_CHUNK_COLS;
        double part[CS_CHUNKS][CS_CHUNK_COLS] = { 0 };
        #pragma omp parallel for num_threads(n_thread)
        for (int k = 0; k < CS_CHUNKS; k++)
            for (int64_t r = r0 + k * step; r < cs_min64(r0 + (k + 1) * step, r1); r++)
                for (int32_t j = 0; j < n_col; j++)
                    part[k][j] += (double)cs_row(x, r)[j0 + j];
        for (int32_t j = 0; j < n_col; j++) {
            double sum = 0;
            for (int k = 0; k < CS_CHUNKS; k++)
                sum += part[k][j];
            y[j0 + j] = (cs_real)(sum / n);
        }
    }
}

static void ref_seg_mean(cs_backend *be, cs_seg seg, cs_mat x, cs_mat y)
{
    int n_thread = cs_threads(be, x.r * x.c);
    if (seg.n < 2 * n_thread) {
        for (int32_t s = 0; s < seg.n; s++)
            mean_segment(x, seg.off[s], seg.off[s + 1], n_thread, cs_row(y, s));
        return;
    }
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int32_t s = 0; s < seg.n; s++)
        mean_segment(x, seg.off[s], seg.off[s + 1], 1, cs_row(y, s));
}

static void ref_seg_mean_bwd(cs_backend *be, cs_seg seg, cs_mat dy, cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, dx.r * dx.c))
    for (int64_t r0 = 0; r0 < seg.rows; r0 += CS_ROW_BLOCK) {
        int32_t s = cs_seg_find(seg, r0);
        for (int64_t r = r0; r < cs_min64(r0 + CS_ROW_BLOCK, seg.rows); r++) {
            cs_seg_span q = cs_seg_span_at(seg, &s, r, r + 1);
            for (int32_t j = 0; j < dx.c; j++)
                cs_row(dx, r)[j] += cs_row(dy, s)[j] / (cs_real)q.len;
        }
    }
}

/* The first n rows of segment s or the n in its centre; all rows of a shorter segment. */
static void window(cs_seg seg, int32_t s, bool centre, int64_t n, int64_t *r0, int64_t *r1)
{
    int64_t len = seg.off[s + 1] - seg.off[s];
    n = cs_min64(n, len);
    *r0 = seg.off[s] + (centre ? (len - n) / 2 : 0);
    *r1 = *r0 + n;
}

static void ref_seg_window(cs_backend *be, cs_seg seg, bool centre, int64_t n, cs_mat x, cs_mat y)
{
    (void)be;
    for (int32_t s = 0; s < seg.n; s++) {
        int64_t r0, r1;
        window(seg, s, centre, n, &r0, &r1);
        mean_segment(x, r0, r1, 1, cs_row(y, s));
    }
}

static void ref_seg_window_bwd(cs_backend *be, cs_seg seg, bool centre, int64_t n, cs_mat dy,
                               cs_mat dx)
{
    (void)be;
    for (int32_t s = 0; s < seg.n; s++) {
        int64_t r0, r1;
        window(seg, s, centre, n, &r0, &r1);
        for (int64_t r = r0; r < r1; r++)
            for (int32_t j = 0; j < dx.c; j++)
                cs_row(dx, r)[j] += cs_row(dy, s)[j] / (cs_real)(r1 - r0);
    }
}

static int32_t word_at(const int32_t *id, cs_words w)
{
    int64_t at = 0;

    for (int32_t i = 0; i < w.n; i++) {
        const int32_t token = id[(int64_t)i * w.shift];
        if (token < 0 || token >= w.n_vocab)
            return 1;
        at = at * w.n_vocab + token;
    }
    return w.map[at];
}

static void ref_seg_words(cs_backend *be, cs_seg seg, const int32_t *id, cs_words w, int32_t *word)
{
    const int64_t reach = (int64_t)(w.n - 1) * w.shift;

    (void)be;
    for (int32_t s = 0; s < seg.n; s++)
        for (int64_t r = seg.off[s]; r < seg.off[s + 1]; r++)
            word[r] = r + reach < seg.off[s + 1] ? word_at(id + r, w) : -1;
}

static void ref_seg_mask(cs_backend *be, cs_seg seg, cs_real value, cs_mat x, cs_real beta,
                         cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++) {
        int32_t s = cs_seg_find(seg, r);
        bool valid = !seg.n_valid || r - seg.off[s] < seg.n_valid[s];
        cs_real *v = cs_row(y, r);
        for (int32_t j = 0; j < x.c; j++) {
            cs_real new = valid ? cs_row(x, r)[j] : value;
            v[j] = beta != 0 ? new + beta * v[j] : new;
        }
    }
}

static void ref_seg_position(cs_backend *be, cs_seg seg, cs_real scale, cs_mat table, cs_mat x,
                             cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++) {
        const cs_real *p = cs_row(table, r - seg.off[cs_seg_find(seg, r)]);
        for (int32_t j = 0; j < x.c; j++)
            cs_row(y, r)[j] = cs_row(x, r)[j] + scale * p[j];
    }
}

/* Threads take rows of the table, so that every sum runs in the order of the segments. */
static void ref_seg_position_bwd(cs_backend *be, cs_seg seg, cs_real scale, cs_mat dy,
                                 cs_mat dtable)
{
    int64_t longest = 0;
    for (int32_t s = 0; s < seg.n; s++)
        if (seg.off[s + 1] - seg.off[s] > longest)
            longest = seg.off[s + 1] - seg.off[s];
    #pragma omp parallel for num_threads(cs_threads(be, dy.r * dy.c))
    for (int64_t t = 0; t < longest; t++)
        for (int32_t s = 0; s < seg.n; s++) {
            bool has = t < seg.off[s + 1] - seg.off[s];
            for (int32_t j = 0; has && j < dy.c; j++)
                cs_row(dtable, t)[j] += scale * cs_row(dy, seg.off[s] + t)[j];
        }
}

void cs_ref_seg(cs_ops *op)
{
    op->seg_mask = ref_seg_mask;
    op->seg_position = ref_seg_position;
    op->seg_position_bwd = ref_seg_position_bwd;
    op->seg_words = ref_seg_words;
    op->seg_window = ref_seg_window;
    op->seg_window_bwd = ref_seg_window_bwd;
    op->seg_roll = ref_seg_roll;
    op->seg_roll_put = ref_seg_roll_put;
    op->seg_roll_take = ref_seg_roll_take;
    op->seg_mean = ref_seg_mean;
    op->seg_mean_bwd = ref_seg_mean_bwd;
}

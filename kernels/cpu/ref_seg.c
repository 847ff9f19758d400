/* ref_seg.c - segment-wise ops as plain loops: rotation, group norm, mean over tokens. */
#include <math.h>

#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

/* Source: Khalitov et al., ChordMixer; track i reads 2^(i-1) tokens ahead, circularly. */
static void roll_span(cs_span q, int32_t track, int sign, cs_mat x, cs_real beta, cs_mat y)
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
            cs_span q = cs_span_at(seg, &s, r, end);
            roll_span(q, track, sign, x, beta, y);
            r += q.n;
        }
    }
}

/* Rows of a part that begins at row `first`: what stands at t goes to t - shift, or comes from
 * there. */
static void part_span(cs_span q, int32_t track, int64_t first, bool put, cs_mat part, cs_mat whole)
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
            cs_span q = cs_span_at(seg, &s, r, end);
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

/* Mean and 1/sqrt(var + eps) of columns j0..j1-1 over the rows r0..r1-1 (no rows: as zeros) */
static void group_stat(cs_mat x, int64_t r0, int64_t r1, int32_t j0, int32_t j1, double eps,
                       cs_real *stat)
{
    double n = r1 > r0 ? (double)(r1 - r0) * (j1 - j0) : 1, sum = 0, square = 0;
    for (int64_t r = r0; r < r1; r++)
        for (int32_t j = j0; j < j1; j++)
            sum += (double)cs_row(x, r)[j];
    double mean = sum / n;
    for (int64_t r = r0; r < r1; r++)
        for (int32_t j = j0; j < j1; j++) {
            double d = (double)cs_row(x, r)[j] - mean;
            square += d * d;
        }
    stat[0] = (cs_real)mean;
    stat[1] = (cs_real)(1 / sqrt(square / n + eps));
}

static void ref_seg_groupnorm(cs_backend *be, cs_seg seg, int32_t group, cs_real eps, cs_mat x,
                              cs_mat gamma, cs_mat beta, cs_mat y, cs_mat stat)
{
    int32_t w = x.c / group;
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int64_t k = 0; k < (int64_t)seg.n * group; k++) {
        int64_t r0 = seg.off[k / group], r1 = seg.off[k / group + 1];
        int32_t j0 = (int32_t)(k % group) * w;
        cs_real *st = cs_row(stat, k);
        group_stat(x, r0, r1, j0, j0 + w, (double)eps, st);
        for (int64_t r = r0; r < r1; r++)
            for (int32_t j = j0; j < j0 + w; j++)
                cs_row(y, r)[j] = (cs_real)(((double)cs_row(x, r)[j] - (double)st[0]) *
                                            (double)st[1] * (double)gamma.p[j] +
                                            (double)beta.p[j]);
    }
}

/* As layernorm's: dx = rstd (g - mean(g) - n mean(g n)), the means over the group's elements. */
static void group_dx(cs_mat x, int64_t r0, int64_t r1, int32_t j0, int32_t j1, cs_mat gamma,
                     const cs_real *stat, cs_mat dy, cs_mat dx)
{
    double mean = (double)stat[0], rstd = (double)stat[1];
    double count = (double)(r1 - r0) * (j1 - j0), sum = 0, dot = 0;
    for (int64_t r = r0; r < r1; r++)
        for (int32_t j = j0; j < j1; j++) {
            double g = (double)cs_row(dy, r)[j] * (double)gamma.p[j];
            sum += g;
            dot += g * ((double)cs_row(x, r)[j] - mean) * rstd;
        }
    for (int64_t r = r0; r < r1; r++)
        for (int32_t j = j0; j < j1; j++) {
            double n = ((double)cs_row(x, r)[j] - mean) * rstd;
            double g = (double)cs_row(dy, r)[j] * (double)gamma.p[j];
            cs_row(dx, r)[j] += (cs_real)(rstd * (g - sum / count - n * dot / count));
        }
}

static void ref_seg_groupnorm_bwd(cs_backend *be, cs_seg seg, int32_t group, cs_mat x,
                                  cs_mat gamma, cs_mat stat, cs_mat dy, cs_mat dx, cs_mat dgamma,
                                  cs_mat dbeta)
{
    int32_t w = x.c / group;
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int64_t k = 0; k < (int64_t)seg.n * group; k++) {
        int32_t j0 = (int32_t)(k % group) * w;
        group_dx(x, seg.off[k / group], seg.off[k / group + 1], j0, j0 + w, gamma,
                 cs_row(stat, k), dy, dx);
    }
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int32_t j = 0; j < x.c; j++) {
        double dg = 0, db = 0;
        for (int32_t s = 0; s < seg.n; s++) {
            const cs_real *st = cs_row(stat, (int64_t)s * group + j / w);
            for (int64_t r = seg.off[s]; r < seg.off[s + 1]; r++) {
                double d = (double)cs_row(dy, r)[j];
                dg += d * ((double)cs_row(x, r)[j] - (double)st[0]) * (double)st[1];
                db += d;
            }
        }
        dgamma.p[j] += (cs_real)dg;
        dbeta.p[j] += (cs_real)db;
    }
}

/* The mean over one segment, in chunks that its own length fixes, so that one long segment keeps
 * all threads busy and a segment's mean does not depend on its neighbours. */
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
            cs_span q = cs_span_at(seg, &s, r, r + 1);
            for (int32_t j = 0; j < dx.c; j++)
                cs_row(dx, r)[j] += cs_row(dy, s)[j] / (cs_real)q.len;
        }
    }
}

/* Rows of segment s: the first n, or the n in its middle; all of a shorter one. */
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

void cs_ref_seg(cs_ops *op)
{
    op->seg_words = ref_seg_words;
    op->seg_window = ref_seg_window;
    op->seg_window_bwd = ref_seg_window_bwd;
    op->seg_roll = ref_seg_roll;
    op->seg_roll_put = ref_seg_roll_put;
    op->seg_roll_take = ref_seg_roll_take;
    op->seg_groupnorm = ref_seg_groupnorm;
    op->seg_groupnorm_bwd = ref_seg_groupnorm_bwd;
    op->seg_mean = ref_seg_mean;
    op->seg_mean_bwd = ref_seg_mean_bwd;
}

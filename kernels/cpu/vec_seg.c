/* vec_seg.c - rotation, means over segments and sums of columns. */
#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

#include <string.h>

#include "kernels/cpu/vec.h"

enum { LINE = 16,                /* floats of a cache line */
       PREFETCH_ROWS = 16 };     /* the hardware does not prefetch lines that are far apart */

/* Copies of q's members: the compiler must assume that a vector store changes q. */
CS_INLINE void move_rows(const cs_piece *q, int64_t n_row, const int32_t w, const bool add,
                         const bool prefetch)
{
    const float *buf = q->buf, *in = add ? q->in : buf;
    float *out = q->out;
    const int64_t ldi = add ? q->ldi : 0, ldb = q->ldb, ldo = q->ldo;
    for (int64_t r = 0; r < n_row; r++, in += ldi, buf += ldb, out += ldo) {
        int32_t j = 0;
        if (prefetch) {
            __builtin_prefetch(out + PREFETCH_ROWS * ldo, 1);
            __builtin_prefetch(in + PREFETCH_ROWS * ldi);
        }
        for (; j + CS_VEC <= w; j += CS_VEC) {
            cs_vec v = cs_vload(buf + j);
            cs_vstore(out + j, add ? cs_vadd(cs_vload(in + j), v) : v);
        }
        for (; j < w; j += 4) {
            cs_quad v = cs_qload(buf + j);
            cs_qstore(out + j, add ? cs_qadd(cs_qload(in + j), v) : v);
        }
    }
}

/* Rows of four that are contiguous, except in buf: by vectors; returns their number. */
CS_INLINE int64_t join_rows(const cs_piece *q, int64_t n_row, const bool add)
{
    const float *buf = q->buf, *in = q->in;
    float *out = q->out;
    const int64_t ldb = q->ldb;
    int64_t r = 0;
    for (; r + CS_VEC / 4 <= n_row; r += CS_VEC / 4) {
        const cs_vec v = cs_vquads(buf + r * ldb, ldb);
        cs_vstore(out + 4 * r, add ? cs_vadd(cs_vload(in + 4 * r), v) : v);
    }
    return r;
}

/* Constant widths unroll to one or two vectors. */
CS_INLINE void move_any(const cs_piece *q, int64_t n_row, int32_t w, const bool add,
                        const bool prefetch)
{
    switch (w) {
    case 4:  move_rows(q, n_row, 4, add, prefetch); break;
    case 8:  move_rows(q, n_row, 8, add, prefetch); break;
    case 16: move_rows(q, n_row, 16, add, prefetch); break;
    default: move_rows(q, n_row, w, add, prefetch);
    }
}

void cs_piece_move(const cs_piece *q, int64_t n_row, int32_t w)
{
    const bool add = q->in != NULL, prefetch = q->ldo >= LINE;
    cs_piece rest = *q;
    if (w == 4 && q->ldo == 4 && (!add || q->ldi == 4)) {
        const int64_t n = add ? join_rows(q, n_row, true) : join_rows(q, n_row, false);
        rest.in = add ? q->in + 4 * n : NULL;
        rest.buf += n * q->ldb;
        rest.out += 4 * n;
        n_row -= n;
    }
    if (prefetch && add)
        move_any(&rest, n_row, w, true, true);
    else if (add)
        move_any(&rest, n_row, w, true, false);
    else if (prefetch)
        move_any(&rest, n_row, w, false, true);
    else
        move_any(&rest, n_row, w, false, false);
}

/* y = x + beta y, of any width; beta 0 overwrites. */
static void roll_rows(const float *x, int64_t ldx, float beta, float *y, int64_t ldy, int64_t n_row,
                      int32_t w)
{
    for (int64_t r = 0; r < n_row; r++)
        for (int32_t j = 0; j < w; j++) {
            float *v = y + r * ldy + j;
            *v = beta != 0 ? x[r * ldx + j] + beta * *v : x[r * ldx + j];
        }
}

/* One track of one span: a run of source rows, and a second one where the rotation wraps. */
static void roll_track(cs_seg_span s, int32_t i, int32_t track, int sign, cs_mat x, float beta,
                       cs_mat y)
{
    int64_t from = (s.t0 + sign * cs_shift(i, s.len) + s.len) % s.len, row = s.start + s.t0;
    for (int64_t n = s.n, run; n > 0; n -= run, row += run, from = 0) {
        run = cs_min64(n, s.len - from);
        const float *in = cs_row(x, s.start + from) + i * track;
        float *out = cs_row(y, row) + i * track;
        bool plain = track % 4 == 0 && (beta == 0 || beta == 1);
        cs_piece q = { .in = beta != 0 ? out : NULL, .ldi = y.ld, .buf = in, .ldb = x.ld,
                       .out = out, .ldo = y.ld };
        if (plain)
            cs_piece_move(&q, run, track);
        else
            roll_rows(in, x.ld, beta, out, y.ld, run, track);
    }
}

static void vec_seg_roll(cs_backend *be, cs_seg seg, int32_t track, int sign, cs_mat x,
                         cs_real beta, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int64_t r0 = 0; r0 < seg.rows; r0 += CS_ROW_BLOCK) {
        int64_t end = cs_min64(r0 + CS_ROW_BLOCK, seg.rows);
        int32_t s = cs_seg_find(seg, r0);
        for (int64_t r = r0; r < end;) {
            cs_seg_span q = cs_seg_span_at(seg, &s, r, end);
            for (int32_t i = 0; i < x.c / track; i++)
                roll_track(q, i, track, sign, x, beta, y);
            r += q.n;
        }
    }
}

/* One track of a span of a part that begins at row `first`; see ref_seg.c. */
static void part_track(cs_seg_span s, int32_t i, int32_t track, int64_t first, bool put,
                       cs_mat part, cs_mat whole)
{
    int64_t at = (s.t0 - cs_shift(i, s.len) + s.len) % s.len, row = s.start + s.t0 - first;
    for (int64_t n = s.n, run; n > 0; n -= run, row += run, at = 0) {
        run = cs_min64(n, s.len - at);
        float *a = cs_row(part, row) + i * track, *b = cs_row(whole, s.start + at) + i * track;
        float *to = put ? b : a;
        const float *from = put ? a : b;
        const int64_t ld_to = put ? whole.ld : part.ld, ld_from = put ? part.ld : whole.ld;
        cs_piece q = { .in = to, .ldi = ld_to, .buf = from, .ldb = ld_from, .out = to,
                       .ldo = ld_to };
        if (track % 4 == 0)
            cs_piece_move(&q, run, track);
        else
            roll_rows(from, ld_from, 1, to, ld_to, run, track);
    }
}

static void roll_part(cs_backend *be, cs_seg seg, int32_t track, int64_t first, bool put,
                      cs_mat part, cs_mat whole)
{
    #pragma omp parallel for num_threads(cs_threads(be, part.r * part.c)) schedule(dynamic)
    for (int64_t r0 = first; r0 < first + part.r; r0 += CS_ROW_BLOCK) {
        int64_t end = cs_min64(r0 + CS_ROW_BLOCK, first + part.r);
        int32_t s = cs_seg_find(seg, r0);
        for (int64_t r = r0; r < end;) {
            cs_seg_span q = cs_seg_span_at(seg, &s, r, end);
            for (int32_t i = 0; i < part.c / track; i++)
                part_track(q, i, track, first, put, part, whole);
            r += q.n;
        }
    }
}

static void vec_seg_roll_put(cs_backend *be, cs_seg seg, int32_t track, int64_t first, cs_mat x,
                             cs_mat y)
{
    roll_part(be, seg, track, first, true, x, y);
}

static void vec_seg_roll_take(cs_backend *be, cs_seg seg, int32_t track, int64_t first, cs_mat y,
                              cs_mat x)
{
    roll_part(be, seg, track, first, false, x, y);
}

/* sum += columns j .. j+3 of rows r0 .. r1-1: a whole narrow track */
static void add_four(cs_mat x, int64_t r0, int64_t r1, int32_t j, double *sum)
{
    double a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    for (int64_t r = r0; r < r1; r++) {
        const float *v = cs_row(x, r) + j;
        a += (double)v[0];
        b += (double)v[1];
        c += (double)v[2];
        d += (double)v[3];
    }
    sum[0] = a;
    sum[1] = b;
    sum[2] = c;
    sum[3] = d;
}

/* sum += columns j0 .. j0+n-1 of the rows r0 .. r1-1 */
static void add_rows(cs_mat x, int64_t r0, int64_t r1, int32_t j0, int32_t n, double *sum)
{
    for (int32_t j = 0; j < n; j += CS_VEC) {
        if (n - j == 4) {
            add_four(x, r0, r1, j0 + j, sum + j);
            return;
        }
        cs_dvec a = cs_dvec_load(sum + j);
        for (int64_t r = r0; r < r1; r++)
            a = cs_dvec_add(a, cs_to_dvec(cs_get(cs_row(x, r) + j0 + j, n - j)));
        cs_dvec_store(sum + j, a);
    }
}

/* Sums of columns j0 .. j0+n-1 over rows r0 .. r1-1, in double and in order of rows. A few rows at
 * a time: otherwise a wide matrix would be read from memory once per eight columns. */
static void sum_rows(cs_mat x, int64_t r0, int64_t r1, int32_t j0, int32_t n, double *sum)
{
    enum { STEP = 32 };
    memset(sum, 0, CS_CHUNK_COLS * sizeof *sum);
    for (; r0 < r1; r0 += STEP)
        add_rows(x, r0, cs_min64(r0 + STEP, r1), j0, n, sum);
}

/* The same over all chunks, which depend on the number of rows only. */
static void sum_chunks(cs_mat x, int64_t r0, int64_t r1, int32_t j0, int32_t n, int n_thread,
                       double *sum)
{
    double part[CS_CHUNKS][CS_CHUNK_COLS];
    int64_t step = cs_chunk_rows(r1 - r0), n_chunk = (r1 - r0 + step - 1) / step;
    /* opening a parallel region costs as much as the sum of a short segment */
    if (n_chunk > 1 && n_thread > 1) {
        #pragma omp parallel for num_threads(n_thread)
        for (int64_t k = 0; k < n_chunk; k++)
            sum_rows(x, r0 + k * step, cs_min64(r0 + (k + 1) * step, r1), j0, n, part[k]);
    } else {
        for (int64_t k = 0; k < n_chunk; k++)
            sum_rows(x, r0 + k * step, cs_min64(r0 + (k + 1) * step, r1), j0, n, part[k]);
    }
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (int64_t k = 0; k < n_chunk; k++)
        for (int32_t j = 0; j < n; j++)
            sum[j] += part[k][j];
}

static void vec_colsum(cs_backend *be, cs_mat x, cs_mat y)
{
    for (int32_t j0 = 0; j0 < x.c; j0 += CS_CHUNK_COLS) {
        int32_t n = x.c - j0 < CS_CHUNK_COLS ? x.c - j0 : CS_CHUNK_COLS;
        double sum[CS_CHUNK_COLS];
        sum_chunks(x, 0, x.r, j0, n, cs_threads(be, x.r * n), sum);
        for (int32_t j = 0; j < n; j++)
            y.p[j0 + j] += (float)sum[j];
    }
}

void cs_mean_rows(cs_mat x, int64_t r0, int64_t r1, int n_thread, float *y)
{
    double scale = r1 > r0 ? 1 / (double)(r1 - r0) : 0;
    for (int32_t j0 = 0; j0 < x.c; j0 += CS_CHUNK_COLS) {
        int32_t n = x.c - j0 < CS_CHUNK_COLS ? x.c - j0 : CS_CHUNK_COLS;
        double sum[CS_CHUNK_COLS];
        sum_chunks(x, r0, r1, j0, n, n_thread, sum);
        for (int32_t j = 0; j < n; j++)
            y[j0 + j] = (float)(sum[j] * scale);
    }
}

/* Threads share a segment if there are few; otherwise each takes its own. The sums are the same. */
static void vec_seg_mean(cs_backend *be, cs_seg seg, cs_mat x, cs_mat y)
{
    int n_thread = cs_threads(be, x.r * x.c);
    if (seg.n < 2 * n_thread) {
        for (int32_t s = 0; s < seg.n; s++)
            cs_mean_rows(x, seg.off[s], seg.off[s + 1], n_thread, cs_row(y, s));
        return;
    }
    #pragma omp parallel for num_threads(n_thread) schedule(dynamic)
    for (int32_t s = 0; s < seg.n; s++)
        cs_mean_rows(x, seg.off[s], seg.off[s + 1], 1, cs_row(y, s));
}

static void add_scaled(const float *x, float scale, float *y, int32_t n)
{
    const cs_vec s = cs_vset(scale);
    for (int32_t j = 0; j < n; j += CS_VEC)
        cs_put(y + j, n - j, cs_vfma(s, cs_get(x + j, n - j), cs_get(y + j, n - j)));
}

static void vec_seg_mean_bwd(cs_backend *be, cs_seg seg, cs_mat dy, cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, dx.r * dx.c))
    for (int64_t r0 = 0; r0 < seg.rows; r0 += CS_ROW_BLOCK) {
        int32_t s = cs_seg_find(seg, r0);
        for (int64_t r = r0; r < cs_min64(r0 + CS_ROW_BLOCK, seg.rows); r++) {
            cs_seg_span q = cs_seg_span_at(seg, &s, r, r + 1);
            add_scaled(cs_row(dy, s), 1 / (float)q.len, cs_row(dx, r), dx.c);
        }
    }
}

void cs_vec_seg(cs_ops *op)
{
    op->seg_roll = vec_seg_roll;
    op->seg_roll_put = vec_seg_roll_put;
    op->seg_roll_take = vec_seg_roll_take;
    op->colsum = vec_colsum;
    op->seg_mean = vec_seg_mean;
    op->seg_mean_bwd = vec_seg_mean_bwd;
}

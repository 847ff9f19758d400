/*
 * ref_linear_attn.c - linear attention, forward and backward, as plain loops.
 *
 * DESIGN. The sums S and z over the keys of each segment and head are computed first, in parallel
 * over their rows so that a single long sequence uses all threads too; then each query reads them.
 * The backward pass mirrors this: sums over the queries first, which each key then reads.
 */
#include "kernels/cpu/heads.h"
#include "kernels/cpu/tables.h"

/* S and z of one segment and head, a (dk, dv + 1) view of `stat`, the matrix of all of them. */
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
        cs_range j = cs_key_rows(a->key, s);
        sum_row(cs_head_view(m->k, h, a->n_head, j.from, j.to - j.from),
                cs_head_view(m->v, h, a->n_head, j.from, j.to - j.from), c,
                cs_row(sums(a, m, m->stat, s, h), c));
    }
}

/* q z; positive because q and k are */
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

/* Gradient of a query, with S' = (S, z): S' g, where g = (dy, -dy y') / (q z). */
static void linear_dq(const cs_real *q, cs_mat sum, const cs_real *y, const cs_real *dy,
                      cs_real *dq)
{
    int32_t dv = sum.c - 1;
    double den = share(q, sum), dot = dot_double(dy, y, dv);
    for (int32_t c = 0; c < (int32_t)sum.r; c++) {
        const cs_real *row = cs_row(sum, c);
        dq[c] += (cs_real)((dot_double(row, dy, dv) - (double)row[dv] * dot) / den);
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
            double dot = e0 + n > y.c ? dot_double(g, cs_row(y, r), y.c) : 0;
            for (int32_t e = 0; e < n; e++)
                part[e] += w * (e0 + e < y.c ? (double)g[e0 + e] : -dot);
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
        linear_dsum(cs_head_view(m->q, h, a->n_head, r, n), sums(a, m, m->stat, s, h),
                    cs_head_view(m->y, h, a->n_head, r, n),
                    cs_head_view(d->y, h, a->n_head, r, n), c,
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
        cs_range j = cs_next_keys(a->key, r, r + 1, &s);
        for (int32_t h = 0; j.from < j.to && h < a->n_head; h++)
            linear_dkey(sums(a, m, d->stat, s, h), cs_row(m->k, r) + h * dk,
                        cs_row(m->v, r) + h * dv, cs_row(d->k, r) + h * dk,
                        cs_row(d->v, r) + h * dv);
    }
}

void cs_ref_linear_attn(cs_ops *op)
{
    op->linear_attend = ref_linear_attend;
    op->linear_attend_bwd = ref_linear_attend_bwd;
}

/* ref_sparse.c - product with a sparse factor, one weight per link and token, as plain loops.
 *
 * Source: Khalitov et al., Sparse factorization of square matrices with application to neural
 * attention modeling, 2022; Yu et al., Paramixer, 2022. Each row has a few links, so a product
 * reads that many rows of v; the dense matrix is never formed.
 */
#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

typedef struct sparse {
    const cs_links *links;
    cs_mat w, v, r, y;
} sparse;

/* sum_k of weight[k] times row[k], in blocks of columns so that sums fit on the stack in double */
static void combine(const double *weight, const cs_real *const *row, int32_t n, int32_t c,
                    const cs_real *start, cs_real *y)
{
    for (int32_t j0 = 0; j0 < c; j0 += CS_CHUNK_COLS) {
        int32_t m = c - j0 < CS_CHUNK_COLS ? c - j0 : CS_CHUNK_COLS;
        double sum[CS_CHUNK_COLS] = { 0 };
        for (int32_t k = 0; k < n; k++)
            for (int32_t j = 0; j < m; j++)
                sum[j] += weight[k] * (double)row[k][j0 + j];
        for (int32_t j = 0; j < m; j++)
            y[j0 + j] = (cs_real)((start ? (double)start[j0 + j] : 0) + sum[j]);
    }
}

static void product_row(const sparse *q, cs_seg_span p)
{
    double weight[CS_LINKS_MAX];
    const cs_real *row[CS_LINKS_MAX];
    int64_t at = p.start + p.t0;

    for (int32_t k = 0; k < q->w.c; k++) {
        weight[k] = (double)cs_row(q->w, at)[k];
        row[k] = cs_row(q->v, p.start + cs_link_to(q->links, k, p.t0, p.len));
    }
    combine(weight, row, q->w.c, q->y.c, q->r.r ? cs_row(q->r, at) : NULL,
            cs_row(q->y, at));
}

static void ref_seg_sparse(cs_backend *be, cs_seg seg, const cs_links *links, cs_mat w, cs_mat v,
                           cs_mat r, cs_mat y)
{
    const sparse q = { links, w, v, r, y };
    #pragma omp parallel for num_threads(cs_threads(be, v.r * v.c * w.c))
    for (int64_t r0 = 0; r0 < seg.rows; r0 += CS_ROW_BLOCK) {
        int64_t end = cs_min64(r0 + CS_ROW_BLOCK, seg.rows);
        int32_t s = cs_seg_find(seg, r0);
        for (int64_t i = r0; i < end; i++)
            product_row(&q, cs_seg_span_at(seg, &s, i, i + 1));
    }
}

/* Row u of dv gathers from the rows that link to it, so no two threads add to one element. */
static void dv_row(const sparse *q, cs_mat dy, cs_mat dv, cs_seg_span p)
{
    double weight[CS_LINKS_MAX];
    const cs_real *row[CS_LINKS_MAX];

    for (int32_t k = 0; k < q->w.c; k++) {
        int64_t from = p.start + cs_link_from(q->links, k, p.t0, p.len);
        weight[k] = (double)cs_row(q->w, from)[k];
        row[k] = cs_row(dy, from);
    }
    cs_real *to = cs_row(dv, p.start + p.t0);
    combine(weight, row, q->w.c, dv.c, to, to);
}

static void dw_row(const sparse *q, cs_mat dy, cs_mat dw, cs_seg_span p)
{
    const cs_real *d = cs_row(dy, p.start + p.t0);
    for (int32_t k = 0; k < q->w.c; k++) {
        const cs_real *v = cs_row(q->v, p.start + cs_link_to(q->links, k, p.t0, p.len));
        double sum = 0;
        for (int32_t j = 0; j < dy.c; j++)
            sum += (double)d[j] * (double)v[j];
        cs_row(dw, p.start + p.t0)[k] += (cs_real)sum;
    }
}

static void ref_seg_sparse_bwd(cs_backend *be, cs_seg seg, const cs_links *links, cs_mat w,
                               cs_mat v, cs_mat dy, cs_mat dw, cs_mat dv)
{
    const sparse q = { .links = links, .w = w, .v = v };
    #pragma omp parallel for num_threads(cs_threads(be, v.r * v.c * w.c))
    for (int64_t r0 = 0; r0 < seg.rows; r0 += CS_ROW_BLOCK) {
        int64_t end = cs_min64(r0 + CS_ROW_BLOCK, seg.rows);
        int32_t s = cs_seg_find(seg, r0);
        for (int64_t i = r0; i < end; i++) {
            cs_seg_span p = cs_seg_span_at(seg, &s, i, i + 1);
            dw_row(&q, dy, dw, p);
            dv_row(&q, dy, dv, p);
        }
    }
}

void cs_ref_sparse(cs_ops *op)
{
    op->seg_sparse = ref_seg_sparse;
    op->seg_sparse_bwd = ref_seg_sparse_bwd;
}

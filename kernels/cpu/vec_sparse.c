/* vec_sparse.c - product with a sparse factor: a row of the result sums a few rows of v.
 *
 * Blocks of 32 columns are summed over the links in registers. Sums are in float (the reference:
 * double): a product has at most CS_LINKS_MAX terms, and a weight's gradient eight running sums.
 */
#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

#include "kernels/cpu/vec.h"

enum { WIDE = 4 * CS_VEC,        /* columns of a block */
       SUMS = 4,                 /* weight gradients computed together */
       ROWS = 32 };              /* per parallel step: few, since the matrices of `chordseq
                                  * factorize` have a few hundred rows in all */

/* The rows combined into one row, and their weights. */
struct terms {
    int32_t      n;
    float        weight[CS_LINKS_MAX];
    const float *row[CS_LINKS_MAX];
};

/* y[j0 ..] = start + the sum, for one block */
CS_INLINE void combine_block(const struct terms *e, int32_t j0, const float *start, float *y)
{
    cs_vec sum[4];
    for (int i = 0; i < 4; i++)
        sum[i] = start ? cs_vload(start + j0 + CS_VEC * i) : cs_vset(0);
    for (int32_t k = 0; k < e->n; k++) {
        const cs_vec w = cs_vset(e->weight[k]);
        const float *v = e->row[k] + j0;
        for (int i = 0; i < 4; i++)
            sum[i] = cs_vfma(w, cs_vload(v + CS_VEC * i), sum[i]);
    }
    for (int i = 0; i < 4; i++)
        cs_vstore(y + j0 + CS_VEC * i, sum[i]);
}

/* A column's sum does not depend on the loop that computes it: both add in order of k. */
static void combine(const struct terms *e, int32_t c, const float *start, float *y)
{
    int32_t j = 0;
    for (; j + WIDE <= c; j += WIDE)
        combine_block(e, j, start, y);
    for (; j < c; j += CS_VEC) {
        cs_vec sum = start ? cs_get(start + j, c - j) : cs_vset(0);
        for (int32_t k = 0; k < e->n; k++)
            sum = cs_vfma(cs_vset(e->weight[k]), cs_get(e->row[k] + j, c - j), sum);
        cs_put(y + j, c - j, sum);
    }
}

/* dw[k] += dy . row[k] */
static void dots(const struct terms *e, int32_t c, const float *dy, float *dw)
{
    for (int32_t k0 = 0; k0 < e->n; k0 += SUMS) {
        const int32_t n = e->n - k0 < SUMS ? e->n - k0 : SUMS;
        const float *row[SUMS];
        cs_acc8 sum[SUMS];
        for (int32_t k = 0; k < SUMS; k++) {
            row[k] = e->row[k < n ? k0 + k : k0];
            sum[k] = cs_acc8_zero();
        }
        for (int32_t j = 0; j < c; j += CS_VEC) {
            const cs_vec d = cs_get(dy + j, c - j);
            for (int32_t k = 0; k < SUMS; k++)
                sum[k] = cs_acc8_fma(sum[k], d, cs_get(row[k] + j, c - j), j);
        }
        for (int32_t k = 0; k < n; k++)
            dw[k0 + k] += cs_acc8_sum(sum[k]);
    }
}

static void gather(const cs_links *links, cs_mat w, cs_mat v, cs_seg_span p, struct terms *e)
{
    const float *weight = cs_row(w, p.start + p.t0);
    e->n = w.c;
    for (int32_t k = 0; k < w.c; k++) {
        e->weight[k] = weight[k];
        e->row[k] = cs_row(v, p.start + cs_link_to(links, k, p.t0, p.len));
    }
}

/* The rows that link to row u, with their weights for it. */
static void gather_back(const cs_links *links, cs_mat w, cs_mat dy, cs_seg_span p, struct terms *e)
{
    e->n = w.c;
    for (int32_t k = 0; k < w.c; k++) {
        const int64_t from = p.start + cs_link_from(links, k, p.t0, p.len);
        e->weight[k] = cs_row(w, from)[k];
        e->row[k] = cs_row(dy, from);
    }
}

static void vec_seg_sparse(cs_backend *be, cs_seg seg, const cs_links *links, cs_mat w, cs_mat v,
                           cs_mat r, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, v.r * v.c * w.c))
    for (int64_t r0 = 0; r0 < seg.rows; r0 += ROWS) {
        const int64_t end = cs_min64(r0 + ROWS, seg.rows);
        int32_t s = cs_seg_find(seg, r0);
        struct terms e;
        for (int64_t i = r0; i < end; i++) {
            gather(links, w, v, cs_seg_span_at(seg, &s, i, i + 1), &e);
            combine(&e, y.c, r.r ? cs_row(r, i) : NULL, cs_row(y, i));
        }
    }
}

static void vec_seg_sparse_bwd(cs_backend *be, cs_seg seg, const cs_links *links, cs_mat w,
                               cs_mat v, cs_mat dy, cs_mat dw, cs_mat dv)
{
    #pragma omp parallel for num_threads(cs_threads(be, v.r * v.c * w.c))
    for (int64_t r0 = 0; r0 < seg.rows; r0 += ROWS) {
        const int64_t end = cs_min64(r0 + ROWS, seg.rows);
        int32_t s = cs_seg_find(seg, r0);
        struct terms e;
        for (int64_t i = r0; i < end; i++) {
            const cs_seg_span p = cs_seg_span_at(seg, &s, i, i + 1);
            gather(links, w, v, p, &e);
            dots(&e, v.c, cs_row(dy, i), cs_row(dw, i));
            gather_back(links, w, dy, p, &e);
            combine(&e, dv.c, cs_row(dv, i), cs_row(dv, i));
        }
    }
}

void cs_vec_sparse(cs_ops *op)
{
    op->seg_sparse = vec_seg_sparse;
    op->seg_sparse_bwd = vec_seg_sparse_bwd;
}

/* ref_attn_seg.c - products, softmax, masks, positions, penalties per segment: plain loops. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

static cs_mat part_of(const cs_operand *p, cs_seg seg, int32_t s)
{
    int64_t r = seg.off[s], n = seg.off[s + 1] - r, each = p->m.r / seg.n;
    switch (p->cut) {
    case CS_CUT_TABLE: return (cs_mat){ p->m.p, n, p->m.c, p->m.ld };
    case CS_CUT_BLOCK: return (cs_mat){ cs_row(p->m, s * each), each, p->m.c, p->m.ld };
    default:           return (cs_mat){ cs_row(p->m, r), n, p->m.c, p->m.ld };
    }
}

/* One product after the other: each keeps the threads busy by itself where it matters. */
static void ref_seg_gemm(cs_backend *be, cs_seg seg, bool ta, bool tb, const cs_operand *a,
                         const cs_operand *b, cs_real beta, const cs_operand *c)
{
    for (int32_t s = 0; s < seg.n; s++)
        be->op.gemm(be, ta, tb, part_of(a, seg, s), part_of(b, seg, s), beta, part_of(c, seg, s));
}

/* ---- softmax --------------------------------------------------------------------------------- */

static void softmax_column(cs_mat x, int64_t r0, int64_t r1, int32_t j, cs_mat y)
{
    double max = -INFINITY, sum = 0;
    for (int64_t r = r0; r < r1; r++)
        max = fmax(max, (double)cs_row(x, r)[j]);
    for (int64_t r = r0; r < r1; r++)
        sum += exp((double)cs_row(x, r)[j] - max);
    for (int64_t r = r0; r < r1; r++)
        cs_row(y, r)[j] = (cs_real)(exp((double)cs_row(x, r)[j] - max) / sum);
}

static void ref_seg_softmax(cs_backend *be, cs_seg seg, cs_mat x, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int64_t k = 0; k < (int64_t)seg.n * x.c; k++)
        softmax_column(x, seg.off[k / x.c], seg.off[k / x.c + 1], (int32_t)(k % x.c), y);
}

static void softmax_column_bwd(cs_mat y, int64_t r0, int64_t r1, int32_t j, cs_mat dy, cs_mat dx)
{
    double dot = 0;
    for (int64_t r = r0; r < r1; r++)
        dot += (double)cs_row(y, r)[j] * (double)cs_row(dy, r)[j];
    for (int64_t r = r0; r < r1; r++)
        cs_row(dx, r)[j] += (cs_real)((double)cs_row(y, r)[j] * ((double)cs_row(dy, r)[j] - dot));
}

static void ref_seg_softmax_bwd(cs_backend *be, cs_seg seg, cs_mat y, cs_mat dy, cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c)) schedule(dynamic)
    for (int64_t k = 0; k < (int64_t)seg.n * y.c; k++)
        softmax_column_bwd(y, seg.off[k / y.c], seg.off[k / y.c + 1], (int32_t)(k % y.c), dy, dx);
}

static void ref_softmax_bwd(cs_backend *be, cs_mat y, cs_mat dy, cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t r = 0; r < y.r; r++) {
        const cs_real *p = cs_row(y, r), *g = cs_row(dy, r);
        double dot = 0;
        for (int32_t j = 0; j < y.c; j++)
            dot += (double)p[j] * (double)g[j];
        for (int32_t j = 0; j < y.c; j++)
            cs_row(dx, r)[j] += (cs_real)((double)p[j] * ((double)g[j] - dot));
    }
}

/* ---- rows of a segment ----------------------------------------------------------------------- */

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

/* ---- penalties ------------------------------------------------------------------------------- */

/* What an element adds to the penalty, and its slope. */
static double penalty_of(cs_pen kind, double x, bool diagonal, double *slope)
{
    double d = kind == CS_PEN_ORTHO && diagonal ? x - 1 : x;
    bool counts = kind == CS_PEN_ORTHO || !diagonal;
    *slope = !counts ? 0 : kind == CS_PEN_OFF ? 1 : 2 * d;
    return !counts ? 0 : kind == CS_PEN_OFF ? d : d * d;
}

/* A matrix is some (c, c) blocks, small beside the rest of a network: one thread. */
static void ref_penalty(cs_backend *be, cs_pen kind, cs_real scale, cs_mat x, cs_mat loss,
                        cs_mat grad)
{
    double sum = 0, slope;
    (void)be;
    for (int64_t r = 0; r < x.r; r++)
        for (int32_t j = 0; j < x.c; j++) {
            sum += penalty_of(kind, (double)cs_row(x, r)[j], r % x.c == j, &slope);
            cs_row(grad, r)[j] = (cs_real)((double)scale * slope);
        }
    if (loss.p)
        loss.p[0] += (cs_real)((double)scale * sum);
}

void cs_ref_attn_seg(cs_ops *op)
{
    op->seg_gemm = ref_seg_gemm;
    op->seg_softmax = ref_seg_softmax;
    op->seg_softmax_bwd = ref_seg_softmax_bwd;
    op->softmax_bwd = ref_softmax_bwd;
    op->seg_mask = ref_seg_mask;
    op->seg_position = ref_seg_position;
    op->seg_position_bwd = ref_seg_position_bwd;
    op->penalty = ref_penalty;
}

/* ref_attn_seg.c - products and softmax per segment: plain loops. */
#include <math.h>

#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

static cs_mat part_of(const cs_operand *p, cs_seg seg, int32_t s)
{
    int64_t r = seg.off[s], n = seg.off[s + 1] - r, each = p->m.r / seg.n;
    switch (p->layout) {
    case CS_SEG_SHARED: return (cs_mat){ p->m.p, n, p->m.c, p->m.ld };
    case CS_SEG_BLOCK: return (cs_mat){ cs_row(p->m, s * each), each, p->m.c, p->m.ld };
    default:           return (cs_mat){ cs_row(p->m, r), n, p->m.c, p->m.ld };
    }
}

/* Products run one after the other; a product large enough to matter uses all threads by itself. */
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

void cs_ref_attn_seg(cs_ops *op)
{
    op->seg_gemm = ref_seg_gemm;
    op->seg_softmax = ref_seg_softmax;
    op->seg_softmax_bwd = ref_seg_softmax_bwd;
}

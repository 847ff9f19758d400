/* ops_sparse.c - sparse product, its adjoint, and the two link protocols. */
#include "nn/ops/ops_sparse.h"

#include "nn/ops/tape.h"

enum { SIDE = 4 };               /* neighbours on either side under the dilated protocol */

cs_links cs_links_chord(int32_t n)
{
    cs_links l = { .n = n };
    CS_BUG(n < 1 || n > CS_LINKS_MAX - 1);
    for (int32_t k = 1; k < n; k++)
        l.off[k] = INT64_C(1) << (k - 1);
    return l;
}

cs_links cs_links_dilated(int32_t level)
{
    cs_links l = { .n = 2 * SIDE + 1 };
    CS_BUG(level < 0 || level > 58);
    for (int32_t k = 1; k <= SIDE; k++) {
        l.off[k] = k * (INT64_C(1) << level);
        l.off[SIDE + k] = -l.off[k];
    }
    return l;
}

static void sparse_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_mat w = n->m[0], v = n->m[1], r = n->m[2], dy = cs_grad_of(cx, n->m[3]);
    cx->be->op.seg_sparse_bwd(cx->be, n->seg, n->ptr, w, v, dy, cs_grad_to(cx, w),
                              cs_grad_to(cx, v));
    if (r.r)
        cx->be->op.axpby(cx->be, 1, dy, 1, cs_grad_to(cx, r));
}

/* The mean of a matrix's two halves, in both. */
static cs_mat halves_mean(cs_ctx *cx, cs_mat m)
{
    const cs_ops *op = &cx->be->op;
    const int64_t h = m.r / 2;
    cs_mat y = cs_empty(cx, m.r, m.c);

    if (cx->dry)
        return y;
    const cs_mat low = { m.p + h * m.ld, h, m.c, m.ld }, to = { y.p, h, y.c, y.ld };
    op->axpby(cx->be, (cs_real)0.5, (cs_mat){ m.p, h, m.c, m.ld }, 0, to);
    op->axpby(cx->be, (cs_real)0.5, low, 1, to);
    op->copy(cx->be, to, (cs_mat){ y.p + h * y.ld, h, y.c, y.ld });
    return y;
}

/* Rescale rule of a product: w v - w' v' = (w - w') (v + v') / 2 + (w + w') / 2 (v - v'). */
static void sparse_rescale(cs_ctx *cx, const cs_node *n)
{
    const int64_t mark = cs_mark(cx);
    const cs_mat w = halves_mean(cx, n->m[0]), v = halves_mean(cx, n->m[1]);

    if (!cx->dry) {
        cs_mat dy = cs_grad_of(cx, n->m[3]);
        cx->be->op.seg_sparse_bwd(cx->be, n->seg, n->ptr, w, v, dy,
                                  cs_grad_to(cx, n->m[0]), cs_grad_to(cx, n->m[1]));
        if (n->m[2].r)
            cx->be->op.axpby(cx->be, 1, dy, 1, cs_grad_to(cx, n->m[2]));
    }
    cs_release_to(cx, mark);
}

void cs_sparse(cs_ctx *cx, cs_seg seg, const cs_links *links, cs_mat w, cs_mat v, cs_mat r,
               cs_mat y)
{
    CS_BUG(seg.rows != v.r || w.r != v.r || w.c > links->n || y.r != v.r || y.c != v.c);
    CS_BUG(r.c > 0 && (r.r != v.r || r.c != v.c));
    cs_tape_push(cx, &(cs_node){ .adjoint = sparse_adjoint, .rescale = sparse_rescale,
                                 .m = { w, v, r, y }, .seg = seg, .ptr = links,
                                 .counts = cx->rescale });
    if (!cx->dry)
        cx->be->op.seg_sparse(cx->be, seg, links, w, v, r, y);
}

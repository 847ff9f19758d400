/* fused.c - call the fused kernel where the backend has one, else compose it from ops. */
#include "nn/fused.h"

#include "nn/ops.h"
#include "nn/tape.h"

bool cs_chord_is_fused(const cs_ctx *cx, const cs_chord *k)
{
    const cs_fused *f = &cx->be->fused;
    return !cx->no_fused && f->chord_block && f->chord_block_bwd
           && f->chord_fits(k->w1.c, (int32_t)k->w1.r, k->track);
}

/* Scratch of the kernels: their own layout, so only its size matters here. */
static cs_mat work_for(cs_ctx *cx, cs_mat w1, int64_t rows)
{
    enum { W = 16 };
    int64_t n = cx->be->fused.chord_work(cx->be, w1.c, (int32_t)w1.r, rows);
    return cs_tmp(cx, (n + W - 1) / W, W);
}

static void chord_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_chord k = { n->m[2], n->m[3], n->m[4], n->m[5], n->i };
    int64_t mark = cs_mark(cx);
    cs_mat work = work_for(cx, k.w1, n->m[0].r);

    if (!cx->dry) {
        cs_chord dk = { cs_grad_to(cx, k.w1), cs_grad_to(cx, k.b1), cs_grad_to(cx, k.w2),
                        cs_grad_to(cx, k.b2), n->i };
        cx->be->fused.chord_block_bwd(cx->be, n->seg, &k, n->m[0], cs_grad_of(cx, n->m[1]),
                                      cs_grad_to(cx, n->m[0]), &dk, work.p);
    }
    cs_release_to(cx, mark);
}

static void fused(cs_ctx *cx, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y)
{
    int64_t mark = cs_mark(cx);
    cs_mat work = work_for(cx, k->w1, x.r);

    cs_tape_push(cx, &(cs_node){ .adjoint = chord_adjoint, .seg = seg, .i = k->track,
                                 .m = { x, y, k->w1, k->b1, k->w2, k->b2 }, .counts = true });
    if (!cx->dry)
        cx->be->fused.chord_block(cx->be, seg, k, x, y, work.p);
    cs_release_to(cx, mark);
}

void cs_chord_block(cs_ctx *cx, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y)
{
    CS_BUG(x.r != y.r || x.c != y.c || k->w1.c != x.c || k->w2.r != x.c || k->w2.c != k->w1.r);
    if (cs_chord_is_fused(cx, k)) {
        fused(cx, seg, k, x, y);
        return;
    }
    cs_mat pre = cs_tmp(cx, x.r, (int32_t)k->w1.r);
    cs_affine(cx, x, k->w1, k->b1, pre);
    cs_mat h = cx->recording ? cs_tmp(cx, pre.r, pre.c) : pre;
    cs_activate(cx, CS_ACT_GELU, pre, h);
    cs_mat out = cs_tmp(cx, x.r, x.c);
    cs_affine(cx, h, k->w2, k->b2, out);
    cs_roll_add(cx, seg, k->track, out, x, y);
}

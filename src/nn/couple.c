/*
 * couple.c - the reversible step and its adjoint.
 *
 * DESIGN
 * Gradients lie at the offsets of the activations (nn/ctx.h), and here activations are overwritten:
 * the place of y holds y after the step, and going backward y before it. So does the place of its
 * gradient, which is one and the same for both, because y is only added to.
 */
#include "nn/couple.h"

static void couple_adjoint(cs_ctx *cx, const cs_node *n)
{
    const cs_ops *op = &cx->be->op;
    cs_mat x = n->m[0], y = n->m[1];
    cs_rerun again = cs_rerun_begin(cx, n->key);
    cs_mat h = cs_tmp(cx, x.r, x.c);

    n->block(cx, n->ptr, n->seg, x, h);
    cs_rerun_ready(cx, &again);
    if (!cx->dry)
        op->seg_roll(cx->be, n->seg, n->i, -1, cs_grad_of(cx, y), 1, cs_grad_to(cx, h));
    cs_rerun_back(cx, &again);
    if (!cx->dry) {
        op->axpby(cx->be, -2, h, 1, h);      /* its negative, exactly */
        op->seg_roll(cx->be, n->seg, n->i, +1, h, 1, y);
    }
    cs_release_to(cx, again.mark);
}

void cs_couple(cs_ctx *cx, cs_block_fn f, const void *net, cs_seg seg, int32_t track, cs_mat x,
               cs_mat y)
{
    bool recording = cx->recording;
    int64_t mark = cs_mark(cx);
    cs_node node = { .adjoint = couple_adjoint, .m = { x, y }, .seg = seg, .ptr = net, .block = f,
                     .key = cx->n_random, .i = track, .counts = true };

    CS_BUG(x.r != y.r || x.c != y.c || seg.rows != x.r || track <= 0 || x.c % track != 0);
    cx->recording = false;
    cs_mat h = cs_tmp(cx, x.r, x.c);
    f(cx, net, seg, x, h);
    if (!cx->dry)
        cx->be->op.seg_roll(cx->be, seg, track, +1, h, 1, y);
    cs_release_to(cx, mark);
    cx->recording = recording;
    cs_tape_push(cx, &node);
}

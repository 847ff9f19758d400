/* ops_conv.c - ops of convolutions and their adjoints. */
#include "nn/ops/ops_conv.h"

#include "nn/ops/ops.h"
#include "nn/ops/tape.h"

static void weight_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_mat v = n->m[0], g = n->m[1], none = { 0 };
    cx->be->op.conv_weight_bwd(cx->be, n->i, v, g, cs_grad_of(cx, n->m[2]), cs_grad_to(cx, v),
                               g.r ? cs_grad_to(cx, g) : none);
}

cs_mat cs_conv_weight(cs_ctx *cx, int32_t n_tap, cs_mat v, cs_mat g)
{
    CS_BUG(n_tap <= 0 || v.c % n_tap != 0 || (g.r > 0 && (g.r != v.r || g.c != 1)));
    cs_mat w = cs_empty(cx, v.c, (int32_t)v.r);
    cs_tape_push(cx, &(cs_node){ .adjoint = weight_adjoint, .rescale = weight_adjoint,
                                 .m = { v, g, w }, .i = n_tap });
    if (!cx->dry)
        cx->be->op.conv_weight(cx->be, n_tap, v, g, w);
    return w;
}

static void conv_adjoint(cs_ctx *cx, const cs_node *n)
{
    const cs_ops *op = &cx->be->op;
    cs_taps taps = { n->i, (int64_t)n->key };
    cs_mat x = n->m[0], w = n->m[1], bias = n->m[2], dy = cs_grad_of(cx, n->m[3]);
    bool add;
    cs_mat dx = cs_grad_into(cx, x, &add);
    op->seg_conv(cx->be, n->seg, taps, true, dy, w, (cs_mat){ 0 }, add, dx);
    op->seg_conv_dw(cx->be, n->seg, taps, x, dy, cs_grad_to(cx, w));
    if (bias.r)
        op->colsum(cx->be, dy, cs_grad_to(cx, bias));
}

void cs_conv(cs_ctx *cx, cs_seg seg, cs_taps taps, cs_mat x, cs_mat w, cs_mat bias, cs_mat y)
{
    CS_BUG(taps.n <= 0 || taps.n % 2 == 0 || taps.dilation < 0 || seg.rows != x.r || y.r != x.r);
    CS_BUG(w.r != (int64_t)taps.n * x.c || w.c != y.c);
    CS_BUG(bias.r > 0 && (bias.r != 1 || bias.c != y.c));
    cs_tape_push(cx, &(cs_node){ .adjoint = conv_adjoint, .rescale = conv_adjoint,
                                 .m = { x, w, bias, y }, .seg = seg, .i = taps.n,
                                 .key = (uint64_t)taps.dilation });
    cs_count_flop(cx, 2.0 * (double)x.r * taps.n * x.c * y.c);
    if (!cx->dry)
        cx->be->op.seg_conv(cx->be, seg, taps, false, x, w, bias, 0, y);
}

bool cs_conv_can_infer(const cs_ctx *cx, cs_taps taps, cs_mat x, cs_mat y, bool norm)
{
    const cs_fused *f = &cx->be->fused;
    return !cx->training && !cx->recording && !cx->no_fused && f->conv_epilogue
        && f->conv_fits(cx->be, taps, x, y, norm);
}

static void check_epilogue(cs_seg seg, cs_taps taps, cs_mat x, cs_mat w, const cs_epilogue *epi,
                           cs_mat y)
{
    const cs_mat res = epi->res, gamma = epi->gamma;
    CS_BUG(seg.rows != x.r || y.r != x.r || w.r != (int64_t)taps.n * x.c || w.c != y.c);
    CS_BUG(res.r > 0 && (res.r != y.r || res.c != y.c));
    CS_BUG(gamma.r > 0 && (gamma.c != y.c || epi->beta.c != y.c));
}

void cs_conv_infer(cs_ctx *cx, cs_seg seg, cs_taps taps, cs_mat x, cs_mat w,
                   const cs_epilogue *epi, cs_mat y)
{
    cs_epilogue t = *epi;
    CS_BUG(!cs_conv_can_infer(cx, taps, x, y, t.gamma.r > 0));
    check_epilogue(seg, taps, x, w, epi, y);
    t.eps = (cs_real)CS_NORM_EPS;
    if (!cx->dry)
        cx->be->fused.conv_epilogue(cx->be, seg, taps, x, w, &t, y);
}

/* ---- with its norm, in training ------------------------------------------------------------ */

static void epilogue_adjoint(cs_ctx *cx, const cs_node *n)
{
    const cs_mat res = n->m[3], dy = cs_grad_of(cx, n->m[4]);
    const cs_epilogue t = { .pre = n->m[0], .gamma = n->m[1], .beta = n->m[2], .stat = n->m[5],
                             .eps = (cs_real)CS_NORM_EPS };
    bool add;
    if (res.r) {
        cs_mat dres = cs_grad_into(cx, res, &add);
        cx->be->op.axpby(cx->be, 1, dy, add, dres);
    }
    cs_mat dpre = cs_grad_into(cx, t.pre, &add);
    CS_BUG(add && dpre.r > 0);   /* nothing else reads pre */
    cx->be->fused.epilogue_bwd(cx->be, &t, dy, dpre, cs_grad_to(cx, t.gamma),
                               cs_grad_to(cx, t.beta));
}

bool cs_conv_can_train(const cs_ctx *cx, cs_taps taps, cs_mat x, cs_mat y)
{
    const cs_fused *f = &cx->be->fused;
    return cx->training && !cx->rescale && !cx->no_fused && f->conv_epilogue && f->epilogue_bwd
        && f->conv_fits(cx->be, taps, x, y, true);
}

void cs_conv_train(cs_ctx *cx, cs_seg seg, cs_taps taps, cs_mat x, cs_mat w,
                   const cs_epilogue *epi, cs_mat y)
{
    cs_epilogue t = *epi;
    CS_BUG(!cs_conv_can_train(cx, taps, x, y) || t.gamma.r == 0);
    check_epilogue(seg, taps, x, w, epi, y);
    t.eps = (cs_real)CS_NORM_EPS;
    t.pre = cs_empty(cx, y.r, y.c);
    t.stat = cs_empty(cx, y.r, 2);
    cs_tape_push(cx, &(cs_node){ .adjoint = conv_adjoint, .m = { x, w, t.bias, t.pre },
                                 .seg = seg, .i = taps.n, .key = (uint64_t)taps.dilation });
    cs_tape_push(cx, &(cs_node){ .adjoint = epilogue_adjoint,
                                 .m = { t.pre, t.gamma, t.beta, t.res, y, t.stat } });
    cs_count_flop(cx, 2.0 * (double)x.r * taps.n * x.c * y.c);
    if (!cx->dry)
        cx->be->fused.conv_epilogue(cx->be, seg, taps, x, w, &t, y);
}

/* Batch normalisation is affine in each channel: without mean and shift it is the scale, and of a
 * row of zeros it is the bias. */
cs_mat cs_conv_fold(cs_ctx *cx, cs_mat gamma, cs_mat beta, cs_mat running, cs_mat w)
{
    const cs_ops *op = &cx->be->op;
    CS_BUG(cx->recording || gamma.c != w.c || beta.c != w.c || running.c != w.c || running.r != 2);
    cs_mat bias = cs_empty(cx, 1, w.c);
    int64_t mark = cs_mark(cx);
    cs_mat zero = cs_empty(cx, 1, w.c), stat = cs_empty(cx, 2, w.c), plain = cs_empty(cx, w.r, w.c);
    if (!cx->dry) {
        cs_mat var = { running.p + running.ld, 1, w.c, running.ld };
        op->zero(cx->be, zero);
        op->zero(cx->be, stat);
        op->copy(cx->be, var, (cs_mat){ stat.p + stat.ld, 1, w.c, stat.ld });
        op->copy(cx->be, w, plain);
        op->batchnorm(cx->be, (cs_real)CS_NORM_EPS, plain, stat, gamma, zero, w);
        op->batchnorm(cx->be, (cs_real)CS_NORM_EPS, zero, running, gamma, beta, bias);
    }
    cs_release_to(cx, mark);
    return bias;
}

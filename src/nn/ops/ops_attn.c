/* ops_attn.c - ops of attention and their adjoints. */
#include "nn/ops/ops_attn.h"

#include "base/rng.h"
#include "nn/ops/tape.h"

static bool same(cs_mat a, cs_mat b)
{
    return a.r == b.r && a.c == b.c;
}

/* ---- products ---------------------------------------------------------------------------- */

static void matmul_adjoint(cs_ctx *cx, const cs_node *n)
{
    const cs_ops *op = &cx->be->op;
    cs_mat x = n->m[0], w = n->m[1], dy = cs_grad_of(cx, n->m[2]);
    op->gemm(cx->be, false, true, dy, w, 1, cs_grad_to(cx, x));
    op->gemm(cx->be, true, false, x, dy, 1, cs_grad_to(cx, w));
}

void cs_matmul(cs_ctx *cx, cs_mat x, cs_mat w, cs_mat y)
{
    CS_BUG(w.r != x.c || y.r != x.r || y.c != w.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = matmul_adjoint, .m = { x, w, y } });
    cs_count_flop(cx, 2.0 * (double)x.r * x.c * y.c);
    if (!cx->dry)
        cx->be->op.gemm(cx->be, false, false, x, w, 0, y);
}

static void gram_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_mat x = n->m[0], dx = cs_grad_to(cx, x), dy = cs_grad_of(cx, n->m[1]);
    cx->be->op.gemm(cx->be, false, false, x, dy, 1, dx);
    cx->be->op.gemm(cx->be, false, true, x, dy, 1, dx);
}

void cs_gram(cs_ctx *cx, cs_mat x, cs_mat y)
{
    CS_BUG(y.r != x.c || y.c != x.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = gram_adjoint, .m = { x, y } });
    if (!cx->dry)
        cx->be->op.gemm(cx->be, true, false, x, x, 0, y);
}

enum { TA = 1, TB = 2, LAYOUT = 3, SHIFT_A = 2, SHIFT_B = 4, SHIFT_C = 6 };

static cs_operand part(cs_mat m, int32_t flags, int shift)
{
    return (cs_operand){ m, (cs_seg_layout)((flags >> shift) & LAYOUT) };
}

/* c = op(a) op(b): da = dc op(b)' where op is the identity, op(b) dc' where it transposes. */
static void seg_gemm_adjoint(cs_ctx *cx, const cs_node *n)
{
    const cs_ops *op = &cx->be->op;
    bool ta = n->i & TA, tb = n->i & TB;
    cs_operand a = part(n->m[0], n->i, SHIFT_A), b = part(n->m[1], n->i, SHIFT_B);
    cs_operand dc = part(cs_grad_of(cx, n->m[2]), n->i, SHIFT_C);
    cs_operand da = part(cs_grad_to(cx, a.m), n->i, SHIFT_A);
    cs_operand db = part(cs_grad_to(cx, b.m), n->i, SHIFT_B);

    if (ta)
        op->seg_gemm(cx->be, n->seg, tb, true, &b, &dc, 1, &da);
    else
        op->seg_gemm(cx->be, n->seg, false, !tb, &dc, &b, 1, &da);
    if (tb)
        op->seg_gemm(cx->be, n->seg, true, ta, &dc, &a, 1, &db);
    else
        op->seg_gemm(cx->be, n->seg, !ta, false, &a, &dc, 1, &db);
}

static bool fits_layout(cs_seg seg, cs_operand p)
{
    if (p.layout == CS_SEG_ROWS)
        return p.m.r == seg.rows;
    return p.layout == CS_SEG_SHARED || p.m.r % (seg.n ? seg.n : 1) == 0;
}

void cs_seg_gemm(cs_ctx *cx, cs_seg seg, bool ta, bool tb, cs_operand a, cs_operand b, cs_operand c)
{
    int32_t flags = (ta ? TA : 0) | (tb ? TB : 0) | (int32_t)a.layout << SHIFT_A
                    | (int32_t)b.layout << SHIFT_B | (int32_t)c.layout << SHIFT_C;
    CS_BUG(!fits_layout(seg, a) || !fits_layout(seg, b) || !fits_layout(seg, c)
           || c.layout == CS_SEG_SHARED);
    cs_tape_push(cx, &(cs_node){ .adjoint = seg_gemm_adjoint, .m = { a.m, b.m, c.m }, .seg = seg,
                                 .i = flags });
    if (!cx->dry)
        cx->be->op.seg_gemm(cx->be, seg, ta, tb, &a, &b, 0, &c);
}

/* ---- attention --------------------------------------------------------------------------- */

static cs_attn attn_of(const cs_node *n)
{
    return (cs_attn){ n->seg, n->keys, n->i, (cs_real)n->p, n->rate, n->key };
}

static cs_qkv gradients(cs_ctx *cx, const cs_node *n)
{
    return (cs_qkv){ cs_grad_to(cx, n->m[0]), cs_grad_to(cx, n->m[1]), cs_grad_to(cx, n->m[2]),
                     cs_grad_of(cx, n->m[3]), cs_grad_of(cx, n->m[4]) };
}

static cs_node attn_node(const cs_attn *a, const cs_qkv *m, cs_adjoint adjoint)
{
    return (cs_node){ .adjoint = adjoint, .m = { m->q, m->k, m->v, m->y, m->stat }, .seg = a->seg,
                      .keys = a->key, .i = a->n_head, .p = (double)a->scale,
                      .rate = a->dropout, .key = a->drop_key };
}

static void attend_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_attn a = attn_of(n);
    cs_qkv m = { n->m[0], n->m[1], n->m[2], n->m[3], n->m[4] }, d = gradients(cx, n);
    cx->be->op.attend_bwd(cx->be, &a, &m, &d);
}

void cs_attend(cs_ctx *cx, const cs_attn *a, cs_mat q, cs_mat k, cs_mat v, cs_mat y)
{
    cs_attn with = *a;
    int32_t dk = q.c / a->n_head, n_g = k.c / dk;
    CS_BUG(q.r != a->seg.rows || y.r != q.r);
    CS_BUG(k.r != a->key.rows || v.r != k.r || a->key.n != a->seg.n);
    CS_BUG(q.c != dk * a->n_head || k.c != dk * n_g || n_g < 1 || a->n_head % n_g != 0);
    CS_BUG(v.c % n_g != 0 || y.c != v.c / n_g * a->n_head);
    cs_qkv m = { q, k, v, y, cs_empty(cx, q.r, a->n_head) };
    if (cs_is_training(cx) && a->dropout > 0)
        with.drop_key = cs_rng_key(cx->key, cx->n_random++);
    else
        with.dropout = 0;
    cs_node n = attn_node(&with, &m, attend_adjoint);
    cs_tape_push(cx, &n);
    if (!cx->dry)
        cx->be->op.attend(cx->be, &with, &m);
}

static void linear_attend_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_attn a = attn_of(n);
    cs_qkv m = { n->m[0], n->m[1], n->m[2], n->m[3], n->m[4] }, d = gradients(cx, n);
    cx->be->op.linear_attend_bwd(cx->be, &a, &m, &d);
}

void cs_linear_attend(cs_ctx *cx, const cs_attn *a, cs_mat q, cs_mat k, cs_mat v, cs_mat y)
{
    int32_t dk = q.c / a->n_head, dv = v.c / a->n_head;
    CS_BUG(q.r != a->seg.rows || y.r != q.r || k.r != a->key.rows || v.r != k.r);
    CS_BUG(q.c != dk * a->n_head || v.c != dv * a->n_head || k.c != q.c || y.c != v.c);
    cs_mat stat = cs_empty(cx, (int64_t)a->seg.n * a->n_head, dk * (dv + 1));
    cs_qkv m = { q, k, v, y, stat };
    cs_node n = attn_node(a, &m, linear_attend_adjoint);
    cs_tape_push(cx, &n);
    if (!cx->dry)
        cx->be->op.linear_attend(cx->be, a, &m);
}

/* ---- softmax ----------------------------------------------------------------------------- */

static void seg_softmax_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.seg_softmax_bwd(cx->be, n->seg, n->m[1], cs_grad_of(cx, n->m[1]),
                               cs_grad_to(cx, n->m[0]));
}

void cs_seg_softmax(cs_ctx *cx, cs_seg seg, cs_mat x, cs_mat y)
{
    CS_BUG(!same(x, y) || seg.rows != x.r);
    cs_tape_push(cx, &(cs_node){ .adjoint = seg_softmax_adjoint, .m = { x, y }, .seg = seg });
    if (!cx->dry)
        cx->be->op.seg_softmax(cx->be, seg, x, y);
}

static void row_softmax_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.softmax_bwd(cx->be, n->m[1], cs_grad_of(cx, n->m[1]), cs_grad_to(cx, n->m[0]));
}

void cs_row_softmax(cs_ctx *cx, cs_mat x, cs_mat y)
{
    CS_BUG(!same(x, y));
    cs_tape_push(cx, &(cs_node){ .adjoint = row_softmax_adjoint, .m = { x, y } });
    if (!cx->dry)
        cx->be->op.softmax(cx->be, x, y);
}

/* ---- sums -------------------------------------------------------------------------------- */

static void scale_add_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_mat dy = cs_grad_of(cx, n->m[2]);
    cx->be->op.axpby(cx->be, (cs_real)n->p, dy, 1, cs_grad_to(cx, n->m[0]));
    if (n->m[1].r > 0)
        cx->be->op.axpby(cx->be, 1, dy, 1, cs_grad_to(cx, n->m[1]));
}

void cs_scale_add(cs_ctx *cx, double scale, cs_mat x, cs_mat b, cs_mat y)
{
    bool has = b.r > 0;
    CS_BUG(!same(x, y) || (has && !same(b, y)));
    cs_tape_push(cx, &(cs_node){ .adjoint = scale_add_adjoint, .m = { x, b, y }, .p = scale });
    if (cx->dry)
        return;
    if (has)
        cx->be->op.copy(cx->be, b, y);
    cx->be->op.axpby(cx->be, (cs_real)scale, x, has, y);
}

/* ---- rows -------------------------------------------------------------------------------- */

static void mask_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.seg_mask(cx->be, n->seg, 0, cs_grad_of(cx, n->m[1]), 1, cs_grad_to(cx, n->m[0]));
}

void cs_seg_mask(cs_ctx *cx, cs_seg seg, cs_real value, cs_mat x, cs_mat y)
{
    CS_BUG(!same(x, y) || seg.rows != x.r);
    cs_tape_push(cx, &(cs_node){ .adjoint = mask_adjoint, .m = { x, y }, .seg = seg });
    if (!cx->dry)
        cx->be->op.seg_mask(cx->be, seg, value, x, 0, y);
}

static void position_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_mat dy = cs_grad_of(cx, n->m[2]);
    cx->be->op.axpby(cx->be, 1, dy, 1, cs_grad_to(cx, n->m[1]));
    if (!n->i)
        cx->be->op.seg_position_bwd(cx->be, n->seg, (cs_real)n->p, dy, cs_grad_to(cx, n->m[0]));
}

void cs_seg_position(cs_ctx *cx, cs_seg seg, bool fixed, cs_real scale, cs_mat table, cs_mat x,
                     cs_mat y)
{
    CS_BUG(!same(x, y) || table.c != x.c || seg.rows != x.r);
    cs_tape_push(cx, &(cs_node){ .adjoint = position_adjoint, .rescale = position_adjoint,
                                 .m = { table, x, y }, .seg = seg, .p = (double)scale,
                                 .i = fixed });
    if (!cx->dry)
        cx->be->op.seg_position(cx->be, seg, scale, table, x, y);
}

/* ---- penalties --------------------------------------------------------------------------- */

static void penalty_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.axpby(cx->be, 1, n->m[1], 1, cs_grad_to(cx, n->m[0]));
}

void cs_penalty(cs_ctx *cx, cs_penalty_kind kind, double scale, cs_mat x)
{
    if (!cx->training || cx->aux_scale == 0 || scale == 0)
        return;
    CS_BUG(x.r % x.c != 0);
    cs_mat grad = cs_empty(cx, x.r, x.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = penalty_adjoint, .m = { x, grad } });
    /* A recomputed block has added its penalty already. */
    if (!cx->dry)
        cx->be->op.penalty(cx->be, kind, (cs_real)(scale * cx->aux_scale), x,
                           cx->replaying ? (cs_mat){ 0 } : cx->loss, grad);
}

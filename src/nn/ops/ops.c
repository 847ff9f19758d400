/* ops.c - dense, token and segment ops, losses, and their adjoints. */
#include "nn/ops/ops.h"

#include "base/rng.h"
#include "nn/ops/tape.h"

static bool same(cs_mat a, cs_mat b)
{
    return a.r == b.r && a.c == b.c;
}

static bool is_row(cs_mat m, int32_t c)
{
    return m.r == 1 && m.c == c;
}

/* ---- dense ------------------------------------------------------------------------------- */

static void affine_adjoint(cs_ctx *cx, const cs_node *n)
{
    const cs_ops *op = &cx->be->op;
    cs_mat x = n->m[0], w = n->m[1], b = n->m[2], dy = cs_grad_of(cx, n->m[3]);
    bool add;
    cs_mat dx = cs_grad_into(cx, x, &add);
    op->gemm(cx->be, false, false, dy, w, add, dx);
    op->gemm(cx->be, true, false, dy, x, 1, cs_grad_to(cx, w));
    if (n->i)
        op->colsum(cx->be, dy, cs_grad_to(cx, b));
}

void cs_affine(cs_ctx *cx, cs_mat x, cs_mat w, cs_mat b, cs_mat y)
{
    bool has_bias = b.r > 0;
    CS_BUG(w.c != x.c || y.r != x.r || y.c != (int32_t)w.r || (has_bias && !is_row(b, y.c)));
    cs_tape_push(cx, &(cs_node){ .adjoint = affine_adjoint, .rescale = affine_adjoint,
                                 .m = { x, w, b, y }, .i = has_bias });
    cs_count_flop(cx, 2.0 * (double)x.r * x.c * y.c);
    if (cx->dry)
        return;
    cx->be->op.gemm(cx->be, false, true, x, w, 0, y);
    if (has_bias)
        cx->be->op.add_bias(cx->be, b, y);
}

static void act_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.act_bwd(cx->be, (cs_act)n->i, n->m[0], cs_grad_of(cx, n->m[1]),
                       cs_grad_to(cx, n->m[0]));
}

static void act_rescale(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.act_rescale(cx->be, (cs_act)n->i, n->m[0], cs_grad_of(cx, n->m[1]),
                           cs_grad_to(cx, n->m[0]));
}

/* relu's slope depends on its result; the rescale rule takes differences of inputs. */
bool cs_act_in_place(const cs_ctx *cx, cs_act f)
{
    return !cx->recording || (f == CS_ACT_RELU && !cx->rescale);
}

void cs_activate(cs_ctx *cx, cs_act f, cs_mat x, cs_mat y)
{
    CS_BUG(!same(x, y));
    CS_BUG(cx->recording && !cx->dry && x.p == y.p && !cs_act_in_place(cx, f));
    cs_tape_push(cx, &(cs_node){ .adjoint = act_adjoint, .rescale = act_rescale, .m = { x, y },
                                 .i = (int32_t)f });
    if (!cx->dry)
        cx->be->op.act(cx->be, f, x, y);
}

static void check_binary(const cs_ctx *cx, cs_mat a, cs_mat b, cs_mat y)
{
    CS_BUG(!same(a, b) || !same(a, y));
    CS_BUG(cx->recording && !cx->dry && y.r > 0 && (y.p == a.p || y.p == b.p));
}

/* x's gradient += scale dy */
static void pass_on(cs_ctx *cx, cs_real scale, cs_mat dy, cs_mat x)
{
    bool add;
    cs_mat dx = cs_grad_into(cx, x, &add);
    cx->be->op.axpby(cx->be, scale, dy, add, dx);
}

static void add_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_mat dy = cs_grad_of(cx, n->m[2]);
    pass_on(cx, 1, dy, n->m[0]);
    pass_on(cx, 1, dy, n->m[1]);
}

void cs_add(cs_ctx *cx, cs_mat a, cs_mat b, cs_mat y)
{
    check_binary(cx, a, b, y);
    cs_tape_push(cx, &(cs_node){ .adjoint = add_adjoint, .rescale = add_adjoint,
                                 .m = { a, b, y } });
    if (cx->dry)
        return;
    if (y.p == b.p) {
        cx->be->op.axpby(cx->be, 1, a, 1, y);
        return;
    }
    if (y.p != a.p)
        cx->be->op.copy(cx->be, a, y);
    cx->be->op.axpby(cx->be, 1, b, 1, y);
}

static void sub_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_mat dy = cs_grad_of(cx, n->m[2]);
    pass_on(cx, 1, dy, n->m[0]);
    pass_on(cx, -1, dy, n->m[1]);
}

void cs_sub(cs_ctx *cx, cs_mat a, cs_mat b, cs_mat y)
{
    check_binary(cx, a, b, y);
    cs_tape_push(cx, &(cs_node){ .adjoint = sub_adjoint, .rescale = sub_adjoint,
                                 .m = { a, b, y } });
    if (cx->dry)
        return;
    cx->be->op.copy(cx->be, a, y);
    cx->be->op.axpby(cx->be, -1, b, 1, y);
}

static void mul_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_mat a = n->m[0], b = n->m[1], dy = cs_grad_of(cx, n->m[2]);
    cx->be->op.mul(cx->be, dy, b, 1, cs_grad_to(cx, a));
    cx->be->op.mul(cx->be, dy, a, 1, cs_grad_to(cx, b));
}

void cs_mul(cs_ctx *cx, cs_mat a, cs_mat b, cs_mat y)
{
    check_binary(cx, a, b, y);
    cs_tape_push(cx, &(cs_node){ .adjoint = mul_adjoint, .m = { a, b, y } });
    if (!cx->dry)
        cx->be->op.mul(cx->be, a, b, 0, y);
}

static void dropout_adjoint(cs_ctx *cx, const cs_node *n)
{
    bool add;
    cs_mat dy = cs_grad_of(cx, n->m[1]), dx = cs_grad_into(cx, n->m[0], &add);
    cx->be->op.dropout(cx->be, n->key, n->p, dy, add, dx);
}

cs_mat cs_dropout(cs_ctx *cx, double p, cs_mat x)
{
    if (!cs_is_training(cx) || p == 0)
        return x;
    uint64_t key = cs_rng_key(cx->key, cx->n_random++);
    cs_mat y = cs_empty(cx, x.r, x.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = dropout_adjoint, .m = { x, y }, .p = p, .key = key });
    if (!cx->dry)
        cx->be->op.dropout(cx->be, key, p, x, 0, y);
    return y;
}

/* ---- tokens and segments ----------------------------------------------------------------- */

static void embed_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.embed_bwd(cx->be, n->ptr, n->i, cs_grad_of(cx, n->m[1]), cs_grad_to(cx, n->m[0]));
}

void cs_embed(cs_ctx *cx, const int32_t *id, int32_t pad, cs_mat table, cs_mat y)
{
    CS_BUG(table.c != y.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = embed_adjoint, .m = { table, y }, .ptr = id,
                                 .i = pad });
    if (!cx->dry)
        cx->be->op.embed(cx->be, id, table, y);
}

static void embed_mean_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->fused.embed_mean_bwd(cx->be, n->seg, n->ptr, cs_grad_of(cx, n->m[1]),
                                 cs_grad_to(cx, n->m[0]));
}

void cs_embed_mean(cs_ctx *cx, cs_seg seg, const int32_t *id, cs_mat table, cs_mat y)
{
    CS_BUG((cx->recording && !cx->be->fused.embed_mean_bwd) || table.c != y.c || y.r != seg.n);
    cs_tape_push(cx, &(cs_node){ .adjoint = embed_mean_adjoint, .m = { table, y }, .ptr = id,
                                 .seg = seg });
    if (!cx->dry)
        cx->be->op.embed_mean(cx->be, seg, id, table, y);
}

void cs_count_mean(cs_ctx *cx, const int64_t *count, int64_t n, cs_mat table, cs_mat y)
{
    CS_BUG(cx->recording || !cx->be->fused.count_mean || table.c != y.c || y.r != 1);
    if (!cx->dry)
        cx->be->fused.count_mean(cx->be, count, n, table, y);
}

static void roll_add_adjoint(cs_ctx *cx, const cs_node *n)
{
    bool add;
    cs_mat dy = cs_grad_of(cx, n->m[2]), dh = cs_grad_into(cx, n->m[0], &add);
    cx->be->op.seg_roll(cx->be, n->seg, n->i, -1, dy, add, dh);
    pass_on(cx, 1, dy, n->m[1]);
}

void cs_roll_add(cs_ctx *cx, cs_seg seg, int32_t track, cs_mat h, cs_mat x, cs_mat y)
{
    CS_BUG(!same(h, x) || !same(x, y) || seg.rows != x.r || track <= 0 || x.c % track != 0);
    cs_tape_push(cx, &(cs_node){ .adjoint = roll_add_adjoint, .rescale = roll_add_adjoint,
                                 .m = { h, x, y }, .seg = seg, .i = track });
    if (cx->dry || cs_is_unread(cx, y))
        return;
    cx->be->op.copy(cx->be, x, y);
    cx->be->op.seg_roll(cx->be, seg, track, +1, h, 1, y);
}

void cs_seg_words(cs_ctx *cx, cs_seg seg, const int32_t *id, cs_words w, int32_t *word)
{
    CS_BUG(w.n < 1 || w.shift < 1 || w.n_vocab < 1);
    if (!cx->dry)
        cx->be->op.seg_words(cx->be, seg, id, w, word);
}

static void seg_mean_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.seg_mean_bwd(cx->be, n->seg, cs_grad_of(cx, n->m[1]), cs_grad_to(cx, n->m[0]));
}

void cs_seg_mean(cs_ctx *cx, cs_seg seg, cs_mat x, cs_mat y)
{
    CS_BUG(seg.rows != x.r || y.r != seg.n || y.c != x.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = seg_mean_adjoint, .rescale = seg_mean_adjoint,
                                 .m = { x, y }, .seg = seg });
    if (!cx->dry)
        cx->be->op.seg_mean(cx->be, seg, x, y);
}

static void seg_window_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.seg_window_bwd(cx->be, n->seg, n->i != 0, (int64_t)n->key, cs_grad_of(cx, n->m[1]),
                              cs_grad_to(cx, n->m[0]));
}

void cs_seg_window(cs_ctx *cx, cs_seg seg, bool centre, int64_t n, cs_mat x, cs_mat y)
{
    CS_BUG(seg.rows != x.r || y.r != seg.n || y.c != x.c || n < 1);
    cs_tape_push(cx, &(cs_node){ .adjoint = seg_window_adjoint, .rescale = seg_window_adjoint,
                                 .m = { x, y }, .seg = seg, .i = centre, .key = (uint64_t)n });
    if (!cx->dry)
        cx->be->op.seg_window(cx->be, seg, centre, n, x, y);
}

static void seg_max_adjoint(cs_ctx *cx, const cs_node *n)
{
    const cs_mat x = n->m[0], y = n->m[1];
    cx->be->op.seg_max_bwd(cx->be, n->seg, n->i != 0, x, y, cs_grad_of(cx, y), cs_grad_to(cx, x));
}

void cs_seg_max(cs_ctx *cx, cs_seg seg, bool soft, cs_mat x, cs_mat y)
{
    CS_BUG(seg.rows != x.r || y.r != seg.n || y.c != x.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = seg_max_adjoint, .m = { x, y }, .seg = seg,
                                 .i = soft });
    if (!cx->dry)
        cx->be->op.seg_max(cx->be, seg, soft, x, y);
}

/* ---- normalisations ---------------------------------------------------------------------- */

static void check_norm(cs_mat x, cs_mat gamma, cs_mat beta, cs_mat y)
{
    CS_BUG(!same(x, y) || !is_row(gamma, x.c) || !is_row(beta, x.c));
}

static void layernorm_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.layernorm_bwd(cx->be, n->m[0], n->m[1], n->m[4], cs_grad_of(cx, n->m[3]),
                             cs_grad_to(cx, n->m[0]), cs_grad_to(cx, n->m[1]),
                             cs_grad_to(cx, n->m[2]));
}

static void layernorm_rescale(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.layernorm_rescale(cx->be, n->m[0], n->m[1], n->m[4], cs_grad_of(cx, n->m[3]),
                                 cs_grad_to(cx, n->m[0]));
}

void cs_layernorm(cs_ctx *cx, cs_mat x, cs_mat gamma, cs_mat beta, cs_mat y)
{
    check_norm(x, gamma, beta, y);
    cs_mat stat = cs_empty(cx, x.r, 2);
    cs_tape_push(cx, &(cs_node){ .adjoint = layernorm_adjoint, .rescale = layernorm_rescale,
                                 .m = { x, gamma, beta, y, stat } });
    if (!cx->dry)
        cx->be->op.layernorm(cx->be, (cs_real)CS_NORM_EPS, x, gamma, beta, y, stat);
}

static void groupnorm_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.seg_groupnorm_bwd(cx->be, n->seg, n->i, n->m[0], n->m[1], n->m[4],
                                 cs_grad_of(cx, n->m[3]), cs_grad_to(cx, n->m[0]),
                                 cs_grad_to(cx, n->m[1]), cs_grad_to(cx, n->m[2]));
}

void cs_groupnorm(cs_ctx *cx, cs_seg seg, int32_t n_group, cs_mat x, cs_mat gamma, cs_mat beta,
                  cs_mat y)
{
    check_norm(x, gamma, beta, y);
    CS_BUG(seg.rows != x.r || n_group <= 0 || x.c % n_group != 0);
    cs_mat stat = cs_empty(cx, (int64_t)seg.n * n_group, 2);
    cs_tape_push(cx, &(cs_node){ .adjoint = groupnorm_adjoint, .seg = seg, .i = n_group,
                                 .m = { x, gamma, beta, y, stat } });
    if (!cx->dry)
        cx->be->op.seg_groupnorm(cx->be, seg, n_group, (cs_real)CS_NORM_EPS, x, gamma, beta, y,
                                 stat);
}

static void batchnorm_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.batchnorm_bwd(cx->be, n->i != 0, (cs_real)CS_NORM_EPS, n->m[0], n->m[4], n->m[1],
                             cs_grad_of(cx, n->m[3]), cs_grad_to(cx, n->m[0]),
                             cs_grad_to(cx, n->m[1]), cs_grad_to(cx, n->m[2]));
}

void cs_batchnorm(cs_ctx *cx, cs_mat x, cs_mat gamma, cs_mat beta, cs_mat running, cs_mat y)
{
    const cs_ops *op = &cx->be->op;
    check_norm(x, gamma, beta, y);
    CS_BUG(running.r != 2 || running.c != x.c);
    bool from_batch = cs_is_training(cx);
    cs_mat stat = from_batch ? cs_empty(cx, 2, x.c) : running;
    cs_tape_push(cx, &(cs_node){ .adjoint = batchnorm_adjoint, .i = from_batch,
                                 .rescale = from_batch ? NULL : batchnorm_adjoint,
                                 .m = { x, gamma, beta, y, stat } });
    if (cx->dry)
        return;
    if (from_batch)
        op->batch_stat(cx->be, x, stat);
    if (from_batch && !cx->replaying)
        op->batch_track(cx->be, (cs_real)CS_NORM_MOMENTUM, x.r, stat, running);
    op->batchnorm(cx->be, (cs_real)CS_NORM_EPS, x, stat, gamma, beta, y);
}

/* ---- predictions and losses ------------------------------------------------------------------ */

void cs_softmax(cs_ctx *cx, cs_mat x)
{
    if (!cx->dry)
        cx->be->op.softmax(cx->be, x, x);
}

void cs_xent(cs_ctx *cx, cs_real scale, cs_mat logit, cs_mat target, cs_mat weight)
{
    CS_BUG(target.r != logit.r || target.c < 1 || target.c > 2 ||
           (weight.r > 0 && !is_row(weight, logit.c)));
    cs_mat grad = cs_empty(cx, logit.r, logit.c);
    if (!cx->dry)
        cx->be->op.xent(cx->be, scale, logit, target, weight, cx->loss, grad);
    cs_grad_seed(cx, logit, grad);
}

void cs_xent_tree(cs_ctx *cx, cs_real scale, const cs_clades *k, cs_mat logit, cs_mat target)
{
    CS_BUG(target.r != logit.r || target.c != 1 || !same(k->group, k->share)
           || k->group.c != logit.c || (k->weight.r > 0 && !is_row(k->weight, logit.c)));
    cs_mat grad = cs_empty(cx, logit.r, logit.c);
    if (!cx->dry)
        cx->be->op.xent_tree(cx->be, scale, k, logit, target, cx->loss, grad);
    cs_grad_seed(cx, logit, grad);
}

void cs_xent_labels(cs_ctx *cx, cs_real scale, cs_mat logit, cs_mat target, cs_mat weight)
{
    CS_BUG(!same(logit, target)
           || (weight.r > 0 && (weight.c != 2 || (weight.r > 1 && weight.r != logit.c))));
    cs_mat grad = cs_empty(cx, logit.r, logit.c);
    if (!cx->dry)
        cx->be->op.xent_labels(cx->be, scale, logit, target, weight, cx->loss, grad);
    cs_grad_seed(cx, logit, grad);
}

void cs_mse(cs_ctx *cx, cs_real scale, cs_mat y, cs_mat target)
{
    CS_BUG(!same(y, target));
    cs_mat grad = cs_empty(cx, y.r, y.c);
    if (!cx->dry)
        cx->be->op.mse(cx->be, scale, y, target, cx->loss, grad);
    cs_grad_seed(cx, y, grad);
}

/* ops_cases.h - the ops under test, each with its operands, and the sizes to test.
 *
 * An op is a row of a table: the spec of its operands (ops_operands.h), and a function that calls
 * it.
 */
#ifndef CS_TESTS_NN_OPS_CASES_H
#define CS_TESTS_NN_OPS_CASES_H

#include "tests/nn/ops_operands.h"

/* ---- the ops ----------------------------------------------------------------------------- */

#define CASE(name_) static void name_(cs_backend *be, const op_sizes *sz, const cs_mat *m)
#define CALL(...) do { (void)sz; __VA_ARGS__; } while (0)

CASE(gemm_nn)  { CALL(be->op.gemm(be, false, false, m[0], m[1], 0, m[2])); }
CASE(gemm_nn1) { CALL(be->op.gemm(be, false, false, m[0], m[1], 1, m[2])); }
CASE(gemm_nt)  { CALL(be->op.gemm(be, false, true, m[0], m[1], 0, m[2])); }
CASE(gemm_tn)  { CALL(be->op.gemm(be, true, false, m[0], m[1], 1, m[2])); }
CASE(gemm_tt)  { CALL(be->op.gemm(be, true, true, m[0], m[1], 0, m[2])); }
CASE(add_bias) { CALL(be->op.add_bias(be, m[0], m[1])); }
CASE(none)     { CALL(be->op.act(be, CS_ACT_NONE, m[0], m[1])); }
CASE(gelu)     { CALL(be->op.act(be, CS_ACT_GELU, m[0], m[1])); }
CASE(relu)     { CALL(be->op.act(be, CS_ACT_RELU, m[0], m[1])); }
CASE(in_place) { CALL(be->op.act(be, CS_ACT_GELU, m[0], m[0])); }
CASE(none_bwd) { CALL(be->op.act_bwd(be, CS_ACT_NONE, m[0], m[1], m[2])); }
CASE(gelu_bwd) { CALL(be->op.act_bwd(be, CS_ACT_GELU, m[0], m[1], m[2])); }
CASE(relu_bwd_in_place) { CALL(be->op.act_bwd(be, CS_ACT_RELU, m[0], m[1], m[1])); }
CASE(relu_bwd) { CALL(be->op.act_bwd(be, CS_ACT_RELU, m[0], m[1], m[2])); }
CASE(sigmoid)  { CALL(be->op.act(be, CS_ACT_SIGMOID, m[0], m[1])); }
CASE(softplus) { CALL(be->op.act(be, CS_ACT_SOFTPLUS, m[0], m[1])); }
CASE(hyp_tan)  { CALL(be->op.act(be, CS_ACT_TANH, m[0], m[1])); }
CASE(sigmoid_bwd)  { CALL(be->op.act_bwd(be, CS_ACT_SIGMOID, m[0], m[1], m[2])); }
CASE(softplus_bwd) { CALL(be->op.act_bwd(be, CS_ACT_SOFTPLUS, m[0], m[1], m[2])); }
CASE(hyp_tan_bwd)  { CALL(be->op.act_bwd(be, CS_ACT_TANH, m[0], m[1], m[2])); }
CASE(gelu_rescale) { CALL(be->op.act_rescale(be, CS_ACT_GELU, m[0], m[1], m[2])); }
CASE(relu_rescale) { CALL(be->op.act_rescale(be, CS_ACT_RELU, m[0], m[1], m[2])); }
CASE(mul)      { CALL(be->op.mul(be, m[0], m[1], 0, m[2])); }
CASE(mul_add)  { CALL(be->op.mul(be, m[0], m[1], (cs_real)0.5, m[2])); }
CASE(mul_in_place) { CALL(be->op.mul(be, m[0], m[1], 0, m[1])); }
CASE(scale)    { CALL(be->op.axpby(be, 3, m[0], 0, m[1])); }
CASE(axpby)    { CALL(be->op.axpby(be, 3, m[0], (cs_real)0.5, m[1])); }
CASE(zero)     { CALL(be->op.zero(be, m[0])); }
CASE(copy)     { CALL(be->op.copy(be, m[0], m[1])); }
CASE(colsum)   { CALL(be->op.colsum(be, m[0], m[1])); }
CASE(sumsq)    { CALL(be->op.sumsq(be, m[0], m[1])); }
CASE(softmax)  { CALL(be->op.softmax(be, m[0], m[1])); }
CASE(layernorm)
{
    CALL(be->op.layernorm(be, (cs_real)1e-5, m[0], m[1], m[2], m[3], m[4]));
}
CASE(layernorm_rescale)
{
    CALL(be->op.layernorm_rescale(be, m[0], m[1], m[2], m[3], m[4]));
}
CASE(layernorm_bwd)
{
    CALL(be->op.layernorm_bwd(be, m[0], m[1], m[2], m[3], m[4], m[5], m[6]));
}
CASE(batch_stat)  { CALL(be->op.batch_stat(be, m[0], m[1])); }
CASE(batch_track) { CALL(be->op.batch_track(be, (cs_real)0.1, sz->r, m[0], m[1])); }
CASE(batchnorm)
{
    CALL(be->op.batchnorm(be, (cs_real)1e-5, m[0], m[1], m[2], m[3], m[4]));
}
CASE(batchnorm_bwd)
{
    CALL(be->op.batchnorm_bwd(be, true, (cs_real)1e-5, m[0], m[1], m[2], m[3], m[4], m[5], m[6]));
}
CASE(batchnorm_bwd_fixed)
{
    CALL(be->op.batchnorm_bwd(be, false, (cs_real)1e-5, m[0], m[1], m[2], m[3], m[4], m[5],
                              m[6]));
}
CASE(embed)     { be->op.embed(be, sz->id, m[0], m[1]); }
CASE(embed_bwd) { be->op.embed_bwd(be, sz->id, 2, m[0], m[1]); }
CASE(roll)      { be->op.seg_roll(be, sz->seg, sz->track, 1, m[0], 0, m[1]); }
CASE(roll_back) { be->op.seg_roll(be, sz->seg, sz->track, -1, m[0], 0, m[1]); }
CASE(roll_add)  { be->op.seg_roll(be, sz->seg, sz->track, 1, m[0], 1, m[1]); }
CASE(roll_half) { be->op.seg_roll(be, sz->seg, sz->track, -1, m[0], (cs_real)0.5, m[1]); }
CASE(mean)      { be->op.seg_mean(be, sz->seg, m[0], m[1]); }
CASE(mean_bwd)  { be->op.seg_mean_bwd(be, sz->seg, m[0], m[1]); }
CASE(embed_mean) { be->op.embed_mean(be, sz->seg, sz->id, m[0], m[1]); }
CASE(window)    { be->op.seg_window(be, sz->seg, true, 4, m[0], m[1]); }
CASE(first)     { be->op.seg_window(be, sz->seg, false, 1, m[0], m[1]); }
CASE(window_bwd) { be->op.seg_window_bwd(be, sz->seg, true, 4, m[0], m[1]); }
CASE(groupnorm)
{
    be->op.seg_groupnorm(be, sz->seg, sz->group, (cs_real)1e-5, m[0], m[1], m[2], m[3], m[4]);
}
CASE(groupnorm_bwd)
{
    be->op.seg_groupnorm_bwd(be, sz->seg, sz->group, m[0], m[1], m[2], m[3], m[4], m[5], m[6]);
}
CASE(xent) { CALL(be->op.xent(be, (cs_real)0.3, m[0], m[1], m[2], m[3], m[4])); }
CASE(xent_plain)
{
    CALL(be->op.xent(be, (cs_real)0.3, m[0], m[1], (cs_mat){ 0 }, m[2], m[3]));
}
/* Class numbers and weights of the rows beside each other. */
CASE(xent_rows)
{
    cs_mat t = scratch(be, sz->r, 2);
    for (int64_t r = 0; r < sz->r; r++) {
        be->op.copy(be, (cs_mat){ row(m[1], r), 1, 1, 1 }, (cs_mat){ row(t, r), 1, 1, 1 });
        be->op.copy(be, (cs_mat){ row(m[2], r), 1, 1, 1 }, (cs_mat){ row(t, r) + 1, 1, 1, 1 });
    }
    be->op.xent(be, (cs_real)0.3, m[0], t, m[3], m[4], m[5]);
    be->op.dealloc(be, t.p);
}
CASE(xent_tree)
{
    const cs_clades k = { m[2], m[3], m[4] };
    CALL(be->op.xent_tree(be, (cs_real)0.3, &k, m[0], m[1], m[5], m[6]));
}
CASE(xent_tree_plain)
{
    const cs_clades k = { { 0 }, m[2], m[3] };
    CALL(be->op.xent_tree(be, (cs_real)0.3, &k, m[0], m[1], m[4], m[5]));
}
CASE(xent_labels)
{
    CALL(be->op.xent_labels(be, (cs_real)0.3, m[0], m[1], m[2], m[3], m[4]));
}
CASE(xent_labels_plain)
{
    CALL(be->op.xent_labels(be, (cs_real)0.3, m[0], m[1], (cs_mat){ 0 }, m[2], m[3]));
}
CASE(mse)     { CALL(be->op.mse(be, (cs_real)0.3, m[0], m[1], m[2], m[3])); }
CASE(dropout) { CALL(be->op.dropout(be, 77, 0.3, m[0], 0, m[1])); }
CASE(dropout_add) { CALL(be->op.dropout(be, 77, 0.3, m[0], 1, m[1])); }

/* The track is the dilation: some segments are shorter. */
static cs_taps taps_of(const op_sizes *sz)
{
    return (cs_taps){ N_TAP, sz->track };
}

CASE(conv) { be->op.seg_conv(be, sz->seg, taps_of(sz), false, m[0], m[1], m[2], 0, m[3]); }
CASE(conv_add)
{
    be->op.seg_conv(be, sz->seg, taps_of(sz), false, m[0], m[1], (cs_mat){ 0 }, 1, m[2]);
}
CASE(conv_adjoint)
{
    be->op.seg_conv(be, sz->seg, taps_of(sz), true, m[0], m[1], (cs_mat){ 0 }, 0, m[2]);
}
CASE(conv_dw)     { be->op.seg_conv_dw(be, sz->seg, taps_of(sz), m[0], m[1], m[2]); }
CASE(conv_weight) { CALL(be->op.conv_weight(be, N_TAP, m[0], m[1], m[2])); }
CASE(conv_weight_plain) { CALL(be->op.conv_weight(be, N_TAP, m[0], (cs_mat){ 0 }, m[1])); }
CASE(conv_weight_bwd) { CALL(be->op.conv_weight_bwd(be, N_TAP, m[0], m[1], m[2], m[3], m[4])); }
CASE(conv_weight_bwd_plain)
{
    CALL(be->op.conv_weight_bwd(be, N_TAP, m[0], (cs_mat){ 0 }, m[1], m[2], (cs_mat){ 0 }));
}

/* y = relu(norm(conv + bias)) + res, fused if the backend supports these sizes. */
static void run_epilogue(cs_backend *be, const op_sizes *sz, const cs_mat *m, const cs_epilogue *t,
                         cs_mat y)
{
    const cs_fused *f = &be->fused;
    if (f->conv_epilogue && f->conv_fits(be, taps_of(sz), m[0], y, t->gamma.r > 0)) {
        f->conv_epilogue(be, sz->seg, taps_of(sz), m[0], m[1], t, y);
        return;
    }
    cs_mat pre = t->pre.r ? t->pre : scratch(be, y.r, y.c);
    cs_mat stat = t->pre.r ? t->stat : scratch(be, y.r, 2);
    be->op.seg_conv(be, sz->seg, taps_of(sz), false, m[0], m[1], t->bias, 0, pre);
    if (t->gamma.r)
        be->op.layernorm(be, t->eps, pre, t->gamma, t->beta, y, stat);
    be->op.act(be, CS_ACT_RELU, t->gamma.r ? y : pre, y);
    if (t->res.r)
        be->op.axpby(be, 1, t->res, 1, y);
    if (t->pre.r)
        return;
    be->op.dealloc(be, pre.p);
    be->op.dealloc(be, stat.p);
}

/* Its adjoint: m is pre, gamma, beta, stat (output), dy, dpre, dgamma, dbeta. dy is added to dpre:
 * rows of one or two columns have a gradient of rounding errors only. */
CASE(epilogue_bwd)
{
    const cs_epilogue t = { .pre = m[0], .gamma = m[1], .beta = m[2], .stat = m[3] };
    cs_mat h = scratch(be, m[0].r, m[0].c), d = scratch(be, m[0].r, m[0].c);
    (void)sz;
    be->op.layernorm(be, (cs_real)1e-5, m[0], m[1], m[2], h, m[3]);
    if (be->fused.epilogue_bwd) {
        be->fused.epilogue_bwd(be, &t, m[4], m[5], m[6], m[7]);
    } else {
        be->op.copy(be, m[4], d);
        be->op.act_bwd(be, CS_ACT_RELU, h, d, d);
        be->op.zero(be, m[5]);
        be->op.layernorm_bwd(be, m[0], m[1], m[3], d, m[5], m[6], m[7]);
    }
    be->op.axpby(be, 1, m[4], 1, m[5]);
    be->op.dealloc(be, h.p);
    be->op.dealloc(be, d.p);
}

CASE(conv_norm)
{
    const cs_epilogue t = { .gamma = m[2], .beta = m[3], .eps = (cs_real)1e-5 };
    run_epilogue(be, sz, m, &t, m[4]);
}
CASE(conv_bias_norm_res)
{
    const cs_epilogue t = { .bias = m[2], .gamma = m[3], .beta = m[4], .res = m[5],
                            .eps = (cs_real)1e-5 };
    run_epilogue(be, sz, m, &t, m[6]);
}
CASE(conv_relu_res)
{
    const cs_epilogue t = { .bias = m[2], .res = m[3] };
    run_epilogue(be, sz, m, &t, m[4]);
}
CASE(conv_relu)
{
    run_epilogue(be, sz, m, &(cs_epilogue){ .bias = { 0 } }, m[2]);
}

/* K links; in short segments some have the same target. */
static cs_links links_of(const op_sizes *sz)
{
    cs_links l = { .n = sz->k < CS_LINKS_MAX ? sz->k : CS_LINKS_MAX };
    for (int32_t k = 0; k < l.n; k++)
        l.off[k] = k % 3 == 2 ? -(INT64_C(1) << k % 7) : k;
    return l;
}

CASE(sparse)
{
    cs_links l = links_of(sz);
    cs_mat w = { m[0].p, m[0].r, l.n, m[0].ld };
    be->op.seg_sparse(be, sz->seg, &l, w, m[1], m[2], m[3]);
}
CASE(sparse_plain)
{
    cs_links l = links_of(sz);
    cs_mat w = { m[0].p, m[0].r, l.n, m[0].ld };
    be->op.seg_sparse(be, sz->seg, &l, w, m[1], (cs_mat){ 0 }, m[2]);
}

static const cs_adam adam_l2 = { .lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8,
                                 .decay = 0.1, .grad_scale = 0.5, .step = 3 };
CASE(adam) { CALL(be->op.adam(be, &adam_l2, m[0], m[1], m[2], m[3])); }
CASE(adamw)
{
    cs_adam h = adam_l2;
    h.decoupled = true;
    CALL(be->op.adam(be, &h, m[0], m[1], m[2], m[3]));
}

/* The weights of a block, from four matrices. */
static cs_chord chord_of(const cs_mat *m, int32_t track)
{
    return (cs_chord){ m[0], m[1], m[2], m[3], track };
}

/* Scratch of a fused block: NaN at first, followed by guard words that must stay NaN. */
enum { WORK_GUARD = 16 };
static cs_mat new_work(cs_backend *be, const op_sizes *sz, bool backward)
{
    const cs_chord k = { .w1 = { .r = sz->k, .c = sz->c }, .track = sz->track };
    int64_t n = be->fused.chord_work(be, sz->seg, &k, backward) + WORK_GUARD;
    cs_mat work = scratch(be, n, 1);
    cs_real *nan = cs_xmalloc((size_t)n * sizeof *nan);
    memset(nan, 0xFF, (size_t)n * sizeof *nan);
    be->op.upload(be, work.p, nan, (size_t)n * sizeof *nan);
    free(nan);
    return work;
}

static void free_work(cs_backend *be, cs_mat work)
{
    cs_real guard[WORK_GUARD], want[WORK_GUARD];
    memset(want, 0xFF, sizeof want);
    be->op.download(be, guard, work.p + work.r - WORK_GUARD, sizeof guard);
    assert_memory_equal(guard, want, sizeof want);
    be->op.dealloc(be, work.p);
}

/* x in the packed layout of the fused block, followed by a guard. */
static cs_mat packed_rows(cs_backend *be, cs_mat x)
{
    if (!be->fused.packed_shape)
        return x;
    cs_mat p = be->fused.packed_shape(x.r, x.c);
    const int64_t n = p.r * p.c + WORK_GUARD;
    cs_real *nan = cs_xmalloc((size_t)n * sizeof *nan);
    memset(nan, 0xFF, (size_t)n * sizeof *nan);
    p.p = scratch(be, n, 1).p;
    be->op.upload(be, p.p, nan, (size_t)n * sizeof *nan);
    be->fused.pack_rows(be, x, 0, p);
    free(nan);
    return p;
}

/* Checks the guard and frees the rows; first unpacks them into x unless that is absent. */
static void free_packed(cs_backend *be, cs_mat p, cs_mat x)
{
    if (!be->fused.packed_shape)
        return;
    if (x.p)
        be->fused.unpack_rows(be, p, 0, x);
    free_work(be, (cs_mat){ p.p, p.r * p.c + WORK_GUARD, 1, 1 });
}

/* The fused block where the backend has one, else the same by plain ops. */
CASE(chord)
{
    cs_chord k = chord_of(m + 1, sz->track);
    cs_mat pre = scratch(be, sz->r, sz->k), out = scratch(be, sz->r, sz->c);
    if (be->fused.chord_block) {
        const cs_mat x = packed_rows(be, m[0]), y = packed_rows(be, m[5]);
        cs_mat work = new_work(be, sz, false);
        be->fused.chord_block(be, sz->seg, &k, x, y, work.p);
        free_packed(be, x, (cs_mat){ 0 });
        free_packed(be, y, m[5]);
        free_work(be, work);
    } else {
        be->op.gemm(be, false, true, m[0], k.w1, 0, pre);
        be->op.add_bias(be, k.b1, pre);
        be->op.act(be, CS_ACT_GELU, pre, pre);
        be->op.gemm(be, false, true, pre, k.w2, 0, out);
        be->op.add_bias(be, k.b2, out);
        be->op.copy(be, m[0], m[5]);
        be->op.seg_roll(be, sz->seg, sz->track, 1, out, 1, m[5]);
    }
    be->op.dealloc(be, pre.p);
    be->op.dealloc(be, out.p);
}

static void chord_bwd_composed(cs_backend *be, const op_sizes *sz, const cs_chord *k,
                               const cs_mat *m, cs_real beta, const cs_chord *dk)
{
    cs_mat pre = scratch(be, sz->r, sz->k), h = scratch(be, sz->r, sz->k);
    cs_mat dh = scratch(be, sz->r, sz->k), dpre = scratch(be, sz->r, sz->k);
    cs_mat out = scratch(be, sz->r, sz->c);
    be->op.gemm(be, false, true, m[0], k->w1, 0, pre);
    be->op.add_bias(be, k->b1, pre);
    be->op.act(be, CS_ACT_GELU, pre, h);
    if (beta == 0)
        be->op.zero(be, m[6]);
    be->op.axpby(be, 1, m[5], 1, m[6]);
    be->op.seg_roll(be, sz->seg, sz->track, -1, m[5], 0, out);
    be->op.colsum(be, out, dk->b2);
    be->op.gemm(be, true, false, out, h, 1, dk->w2);
    be->op.gemm(be, false, false, out, k->w2, 0, dh);
    be->op.act_bwd(be, CS_ACT_GELU, pre, dh, dpre);
    be->op.colsum(be, dpre, dk->b1);
    be->op.gemm(be, true, false, dpre, m[0], 1, dk->w1);
    be->op.gemm(be, false, false, dpre, k->w1, 1, m[6]);
    be->op.dealloc(be, pre.p);
    be->op.dealloc(be, h.p);
    be->op.dealloc(be, dh.p);
    be->op.dealloc(be, dpre.p);
    be->op.dealloc(be, out.p);
}

static void chord_bwd_of(cs_backend *be, const op_sizes *sz, const cs_mat *m, cs_real beta)
{
    cs_chord k = chord_of(m + 1, sz->track);
    cs_chord_grads g = { m[5], m[6], beta, chord_of(m + 7, sz->track) };
    if (be->fused.chord_block_bwd) {
        const cs_mat x = packed_rows(be, m[0]);
        cs_mat work = new_work(be, sz, true);
        g.dy = packed_rows(be, g.dy);
        g.dx = packed_rows(be, g.dx);
        be->fused.chord_block_bwd(be, sz->seg, &k, x, &g, work.p);
        free_packed(be, x, (cs_mat){ 0 });
        free_packed(be, g.dy, (cs_mat){ 0 });
        free_packed(be, g.dx, m[6]);
        free_work(be, work);
    } else {
        chord_bwd_composed(be, sz, &k, m, beta, &g.dk);
    }
}

CASE(chord_bwd) { chord_bwd_of(be, sz, m, 1); }
CASE(chord_bwd_first) { chord_bwd_of(be, sz, m, 0); }

static const op_case element_ops[] = {
    { "none",        "iRC oRC", none, true },
    { "gelu",        "iRC oRC", gelu, true },
    { "gelu_inplace", "aRC", in_place, true },
    { "relu",        "kRC oRC", relu, true },
    { "none_bwd",    "iRC iRC aRC", none_bwd, true },
    { "gelu_bwd",    "iRC iRC aRC", gelu_bwd, true },
    { "relu_bwd",    "iRC iRC aRC", relu_bwd, true },
    { "relu_bwd_in_place", "iRC aRC", relu_bwd_in_place, true },
    { "sigmoid",     "iRC oRC", sigmoid, true },
    { "softplus",    "iRC oRC", softplus, true },
    { "tanh",        "iRC oRC", hyp_tan, true },
    { "sigmoid_bwd", "iRC iRC aRC", sigmoid_bwd, true },
    { "softplus_bwd", "iRC iRC aRC", softplus_bwd, true },
    { "tanh_bwd",    "iRC iRC aRC", hyp_tan_bwd, true },
    { "gelu_rescale", "iRC iRC aRC", gelu_rescale, false },
    { "relu_rescale", "kRC iRC aRC", relu_rescale, false },
    { "mul",         "iRC iRC oRC", mul, true },
    { "mul_add",     "iRC iRC aRC", mul_add, true },
    { "mul_inplace", "iRC aRC", mul_in_place, true },
    { "scale",       "iRC oRC", scale, true },
    { "axpby",       "iRC aRC", axpby, true },
    { "zero",        "oRC", zero, true },
    { "copy",        "iRC oRC", copy, true },
    { "add_bias",    "i1C aRC", add_bias, true },
    { "colsum",      "iRC a1C", colsum, false },
    { "sumsq",       "iRC a11", sumsq, false },
    { "xent_labels", "iRC bRC pC2 a11 oRC", xent_labels, false },
    { "xent_labels_both", "iRC bRC p12 a11 oRC", xent_labels, false },
    { "xent_labels_plain", "iRC bRC a11 oRC", xent_labels_plain, false },
    { "mse",         "iRC nRC a11 oRC", mse, false },
    { "dropout",     "iRC oRC", dropout, false },
    { "dropout_add", "iRC aRC", dropout_add, false },
    { "adam",        "aRC iRC aRC qRC", adam, true },
    { "adamw",       "aRC iRC aRC qRC", adamw, true },
    { "embed",       "iVC oRC", embed, true },
    { "embed_bwd",   "iRC aVC", embed_bwd, false },
    { "embed_bwd_large", "iRC aLC", embed_bwd, false },
};

static const op_case row_ops[] = {
    { "gemm_nn",     "iRK iKC oRC", gemm_nn, true },
    { "gemm_nn_add", "iRK iKC aRC", gemm_nn1, true },
    { "gemm_nt",     "iRK iCK oRC", gemm_nt, true },
    { "gemm_tn",     "iKR iKC aRC", gemm_tn, false },
    { "gemm_tt",     "iKR iCK oRC", gemm_tt, false },
    { "gemm_deep",   "iRK iRC aKC", gemm_tn, false },
    { "softmax",     "iRC oRC", softmax, true },
    { "layernorm",   "iRC i1C i1C oRC oR2", layernorm, true },
    { "layernorm_bwd", "iRC i1C pR2 iRC aRC a1C a1C", layernorm_bwd, false },
    { "layernorm_rescale", "iRC i1C pR2 iRC aRC", layernorm_rescale, false },
    { "batch_stat",  "iRC o2C", batch_stat, false },
    { "batch_track", "p2C a2C", batch_track, false },
    { "batchnorm",   "iRC p2C i1C i1C oRC", batchnorm, true },
    { "batchnorm_bwd", "iRC p2C i1C iRC aRC a1C a1C", batchnorm_bwd, false },
    { "batchnorm_bwd_fixed", "iRC p2C i1C iRC aRC a1C a1C", batchnorm_bwd_fixed, false },
    { "xent",        "iRC tR1 p1C a11 oRC", xent, false },
    { "xent_plain",  "iRC tR1 a11 oRC", xent_plain, false },
    { "xent_rows",   "iRC tR1 pR1 p1C a11 oRC", xent_rows, false },
    { "xent_tree",   "iRC tR1 p1C t2C p2C a11 oRC", xent_tree, false },
    { "xent_tree_plain", "iRC tR1 t2C p2C a11 oRC", xent_tree_plain, false },
};

static const op_case seg_ops[] = {
    { "roll",        "iRC oRC", roll, true },
    { "roll_back",   "iRC oRC", roll_back, true },
    { "roll_add",    "iRC aRC", roll_add, true },
    { "roll_half",   "iRC aRC", roll_half, true },
    { "mean",        "iRC oSC", mean, true },
    { "mean_bwd",    "iSC aRC", mean_bwd, true },
    { "embed_mean",  "iVC oSC", embed_mean, true },
    { "window",      "iRC oSC", window, true },
    { "first",       "iRC oSC", first, true },
    { "window_bwd",  "iSC aRC", window_bwd, true },
    { "groupnorm",   "iRC i1C i1C oRC oG2", groupnorm, true },
    { "groupnorm_bwd", "iRC i1C pG2 iRC aRC a1C a1C", groupnorm_bwd, false },
};

static const op_case conv_ops[] = {
    { "conv",         "iRK iTC i1C oRC", conv, true },
    { "conv_add",     "iRK iTC aRC", conv_add, true },
    { "conv_adjoint", "iRC iTC oRK", conv_adjoint, true },
    { "conv_dw",      "iRK iRC aTC", conv_dw, false },
    { "conv_weight",  "iCT pC1 oTC", conv_weight, false },
    { "conv_weight_plain", "iCT oTC", conv_weight_plain, false },
    { "conv_weight_bwd", "iCT pC1 iTC aCT aC1", conv_weight_bwd, false },
    { "conv_weight_bwd_plain", "iCT iTC aCT", conv_weight_bwd_plain, false },
};

/* Where training is not fused, predictions may be. */
CASE(conv_train)
{
    cs_backend own = *be;
    const cs_epilogue t = { .gamma = m[2], .beta = m[3], .res = m[4], .pre = m[6], .stat = m[7],
                            .eps = (cs_real)1e-5 };
    own.fused.conv_epilogue = be->fused.epilogue_bwd ? be->fused.conv_epilogue : NULL;
    run_epilogue(&own, sz, m, &t, m[5]);
}

static const op_case conv_epilogues[] = {
    { "conv_norm",          "iRK iTC i1C i1C oRC", conv_norm, true },
    { "conv_bias_norm_res", "iRK iTC i1C i1C i1C iRC oRC", conv_bias_norm_res, true },
    { "conv_relu_res",      "iRK iTC i1C iRC oRC", conv_relu_res, true },
    { "conv_relu",          "iRK iTC oRC", conv_relu, true },
    { "conv_train",         "iRK iTC i1C i1C iRC oRC oRC oR2", conv_train, true },
    { "epilogue_bwd",       "iRC i1C i1C oR2 iRC oRC a1C a1C", epilogue_bwd, false },
};

static const op_case sparse_ops[] = {
    { "sparse",       "iRK iRC iRC oRC", sparse, true },
    { "sparse_plain", "iRK iRC oRC", sparse_plain, true },
};

static const op_case chord_ops[] = {
    { "chord",       "iRC iKC i1K iCK i1C oRC", chord, true },
    { "chord_bwd",   "iRC iKC i1K iCK i1C iRC aRC aKC a1K aCK a1C", chord_bwd, false },
    { "chord_bwd_first", "iRC iKC i1K iCK i1C iRC oRC aKC a1K aCK a1C", chord_bwd_first, false },
};

/* ---- sizes ------------------------------------------------------------------------------- */

static const int64_t uneven[] = { 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128,
                                  129 };

static inline void with_element_sizes(void (*check)(const op_case *, int, const op_sizes *))
{
    for (int32_t n = 0; n <= 67; n++) {
        op_sizes sz = new_sizes((int64_t[]){ 1 }, 1, n, 1, 0);
        check(element_ops, COUNT(element_ops), &sz);
        free(sz.id);
    }
    for (int32_t n = 128; n <= 16384; n *= 2)
        for (int32_t d = -1; d <= 1; d++) {
            op_sizes sz = new_sizes((int64_t[]){ 1, 2 }, 2, n + d, 1, 0);
            check(element_ops, COUNT(element_ops), &sz);
            free(sz.id);
        }
}

static inline void check_row_tables(void (*check)(const op_case *, int, const op_sizes *),
                                    const op_sizes *sz)
{
    check(row_ops, COUNT(row_ops), sz);
    check(seg_ops, COUNT(seg_ops), sz);
    check(conv_ops, COUNT(conv_ops), sz);
    check(conv_epilogues, COUNT(conv_epilogues), sz);
    check(sparse_ops, COUNT(sparse_ops), sz);
    check(element_ops, COUNT(element_ops), sz);
}

static inline void with_row_sizes(void (*check)(const op_case *, int, const op_sizes *))
{
    for (int32_t n = 1; n <= 67; n++) {
        op_sizes sz = new_sizes((int64_t[]){ 1, n % 14, 3 }, 3, n, 68 - n, n % 3);
        check_row_tables(check, &sz);
        free(sz.id);
    }
}

static inline void with_long_sizes(void (*check)(const op_case *, int, const op_sizes *))
{
    static const int32_t width[][3] = { { 96, 40, 0 }, { 30, 385, 2 }, { 200, 17, 0 } };
    for (int i = 0; i < COUNT(width); i++) {
        op_sizes sz = new_sizes(uneven, COUNT(uneven), width[i][0], width[i][1], width[i][2]);
        check_row_tables(check, &sz);
        free(sz.id);
    }
}

static inline void with_chord_sizes(void (*check)(const op_case *, int, const op_sizes *))
{
    static const int32_t width[][4] = { { 96, 96, 4, 0 }, { 64, 128, 16, 0 }, { 72, 64, 4, 0 },
                                        { 20, 13, 4, 4 }, { 48, 9, 12, 0 }, { 36, 24, 36, 0 },
                                        { 4, 1, 4, 3 }, { 80, 40, 8, 0 }, { 288, 128, 16, 0 } };
    static const struct { int64_t len[MAX_SEG]; int n; } set[] = {
        { { 1 }, 1 }, { { 0, 5, 0, 95, 1, 0 }, 6 }, { { 191 }, 1 }, { { 1500, 70 }, 2 } };
    for (int i = 0; i < COUNT(width); i++)
        for (int k = 0; k <= COUNT(set); k++) {
            op_sizes sz = k < COUNT(set) ? new_sizes(set[k].len, set[k].n, width[i][0], width[i][1],
                                             width[i][3])
                                   : new_sizes(uneven, COUNT(uneven), width[i][0], width[i][1],
                                             width[i][3]);
            sz.track = width[i][2];
            check(chord_ops, COUNT(chord_ops), &sz);
            check(seg_ops, 4, &sz);
            free(sz.id);
        }
}

#endif

/* head_class.c - one class per sequence: softmax and cross-entropy over the pooled answer. */
#include "nn/head.h"
#include "nn/ops.h"
#include "nn/pooled.h"

static void *class_build(const void *cfg, int32_t width, int32_t n_out, cs_params *ps)
{
    return cs_pooled_new(cfg, width, n_out, ps);
}

static int64_t class_answer_len(const void *net, int64_t n_tok)
{
    (void)n_tok;
    return ((const cs_pooled *)net)->out.n_out;
}

static int32_t class_n_target(const void *net)
{
    (void)net;
    return 1;
}

static cs_mat class_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h)
{
    return cs_pooled_apply(cx, net, seg, h);
}

static void class_activate(cs_ctx *cx, const void *net, cs_mat y)
{
    (void)net;
    cs_softmax(cx, y);
}

static void class_decide(const void *net, float *v, int64_t n, double temperature)
{
    (void)net;
    cs_pooled_decide(v, n, temperature);
}

static void class_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                       cs_real scale)
{
    (void)net;
    cs_xent(cx, scale, y, target, weight);
}

const cs_head cs_head_class = {
    .name = "class",
    .summary = "one class per sequence: one vector, linear or two-layer network, softmax",
    .is_class = true,
    .opt = cs_pooled_opt,
    .cfg_size = sizeof(cs_pooled_cfg),
    .check = cs_pooled_check,
    .build = class_build,
    .answer_len = class_answer_len,
    .n_target = class_n_target,
    .forward = class_forward,
    .activate = class_activate,
    .decide = class_decide,
    .loss = class_loss,
    .pools = cs_pooled_by_mean,
    .vector = cs_pooled_vector,
    .n_vector = cs_pooled_n_vector,
    .release = cs_pooled_free
};

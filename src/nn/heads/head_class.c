/* head_class.c - head class: one class per sequence, softmax cross-entropy of pooled logits. */
#include "nn/heads/head.h"
#include "nn/heads/pooled.h"
#include "nn/ops/ops.h"

static void *class_build(const void *cfg, int32_t width, int32_t n_out, cs_params *ps)
{
    return cs_pooled_new(cfg, width, n_out, ps);
}

static cs_mat class_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h)
{
    return cs_pooled_apply(cx, net, seg, h);
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
    .word = cs_pooled_word,
    .take_words = cs_pooled_take_words,
    .output_len = cs_pooled_output_len,
    .n_target = cs_pooled_class,
    .forward = class_forward,
    .activate = cs_pooled_softmax,
    .decide = cs_pooled_decide_class,
    .loss = class_loss,
    .pools = cs_pooled_by_mean,
    .vector = cs_pooled_vector,
    .n_vector = cs_pooled_n_vector,
    .release = cs_pooled_free
};

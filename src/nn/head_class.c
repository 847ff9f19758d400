/* head_class.c - mean over the tokens, one linear layer, softmax over classes. */
#include "base/mem.h"
#include "nn/head.h"
#include "nn/layer.h"
#include "nn/ops.h"

static void *class_build(const void *cfg, int32_t width, int32_t n_out, cs_params *ps)
{
    (void)cfg;
    cs_linear *l = cs_xcalloc(1, sizeof *l);
    *l = cs_linear_declare(ps, width, n_out, 1, "head");
    return l;
}

static int64_t class_answer_len(const void *net, int64_t n_tok)
{
    (void)n_tok;
    return ((const cs_linear *)net)->n_out;
}

static int32_t class_n_target(const void *net)
{
    (void)net;
    return 1;
}

static cs_mat class_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h)
{
    return cs_linear_pooled(cx, net, seg, h);
}

static void class_activate(cs_ctx *cx, const void *net, cs_mat y)
{
    (void)net;
    cs_softmax(cx, y);
}

static void class_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                       cs_real scale)
{
    (void)net;
    cs_xent(cx, scale, y, target, weight);
}

const cs_head cs_head_class = {
    .name = "class",
    .summary = "one class per sequence: mean over tokens, linear, softmax",
    .is_class = true,
    .build = class_build,
    .answer_len = class_answer_len,
    .n_target = class_n_target,
    .forward = class_forward,
    .activate = class_activate,
    .loss = class_loss,
    .release = free
};

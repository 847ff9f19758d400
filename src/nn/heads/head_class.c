/* head_class.c - head class: one class per sequence, softmax cross-entropy of pooled logits. */
#include "nn/heads/head.h"
#include "nn/heads/pooled.h"
#include "nn/ops/ops.h"

static void class_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                       cs_real scale)
{
    (void)net;
    cs_xent(cx, scale, y, target, weight);
}

const cs_head cs_head_class = {
    .name = "class",
    .is_class = true,
    .check = cs_pooled_check,
    .n_target = cs_pooled_class,
    .activate = cs_pooled_softmax,
    .decide = cs_pooled_decide_class,
    .loss = class_loss,
    CS_POOLED_HEAD
};

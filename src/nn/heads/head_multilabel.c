/*
 * head_multilabel.c - head multilabel: several labels per sequence, a probability each.
 *
 * Labels are not mutually exclusive, and may be unknown: a target is 0, 1 or NaN. The loss of a
 * record is the sum of the cross-entropies of its known labels, divided by the number of all
 * labels, so every known target has the same weight; without masks it is torch's BCEWithLogitsLoss.
 * The weights are its pos_weight.
 */
#include "nn/heads/head.h"
#include "nn/heads/pooled.h"
#include "nn/ops/ops.h"

static void multilabel_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                            cs_real scale)
{
    const cs_mat pairs = { weight.p, weight.r > 0 ? y.c : 0, 2, 2 };

    (void)net;
    cs_xent_labels(cx, scale / (cs_real)y.c, y, target, pairs);
}

const cs_head cs_head_multilabel = {
    .name = "multilabel",
    .is_labels = true,
    .check = cs_pooled_check,
    .n_target = cs_pooled_labels,
    .activate = cs_pooled_sigmoid,
    .decide = cs_pooled_decide_labels,
    .loss = multilabel_loss,
    CS_POOLED_HEAD
};

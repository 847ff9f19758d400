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

static void *multilabel_build(const void *cfg, int32_t width, int32_t n_out, cs_params *ps)
{
    return cs_pooled_new(cfg, width, n_out, ps);
}

static cs_mat multilabel_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h)
{
    return cs_pooled_apply(cx, net, seg, h);
}

static void multilabel_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                            cs_real scale)
{
    const cs_mat pairs = { weight.p, weight.r > 0 ? y.c : 0, 2, 2 };

    (void)net;
    cs_xent_labels(cx, scale / (cs_real)y.c, y, target, pairs);
}

const cs_head cs_head_multilabel = {
    .name = "multilabel",
    .summary = "several labels per sequence: one vector, linear or two-layer network, a "
               "probability each",
    .is_labels = true,
    .opt = cs_pooled_opt,
    .cfg_size = sizeof(cs_pooled_cfg),
    .check = cs_pooled_check,
    .build = multilabel_build,
    .word = cs_pooled_word,
    .take_words = cs_pooled_take_words,
    .output_len = cs_pooled_output_len,
    .n_target = cs_pooled_labels,
    .forward = multilabel_forward,
    .activate = cs_pooled_sigmoid,
    .decide = cs_pooled_decide_labels,
    .loss = multilabel_loss,
    .pools = cs_pooled_by_mean,
    .vector = cs_pooled_vector,
    .n_vector = cs_pooled_n_vector,
    .release = cs_pooled_free
};

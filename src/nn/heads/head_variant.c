/* head_variant.c - head variant: a probability per label from the pooled difference of reference
 * and alternate.
 *
 * Labels are not mutually exclusive: 49 tissues have 49 predictions, and a record's loss is the sum
 * of the cross-entropies of its known labels. Source: Cheng et al., CDIL for DNA, 2023,
 * github.com/wiedersehne/cdilDNA (encoder of both, difference, predictor, mean, linear).
 */
#include "nn/heads/head.h"
#include "nn/heads/pooled.h"
#include "nn/ops/ops.h"

static void *variant_build(const void *cfg, int32_t width, int32_t n_out, cs_params *ps)
{
    cs_pooled *p = cs_pooled_new(cfg, width, n_out, ps);
    p->is_variant = true;
    return p;
}

static cs_mat variant_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h)
{
    return cs_pooled_by_part(net) ? cs_pooled_infer(cx, net, seg, h)
                                  : cs_pooled_apply(cx, net, seg, h);
}

static void variant_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                         cs_real scale)
{
    (void)net;
    cs_xent_labels(cx, scale, y, target, weight);
}

const cs_head cs_head_variant = {
    .name = "variant",
    .n_part = 2,
    .n_weight = 2,
    .is_labels = true,
    .adds_labels = true,
    .check = cs_pooled_check_variant,
    .build = variant_build,
    .output_len = cs_pooled_output_len,
    .n_target = cs_pooled_labels,
    .part = cs_pooled_part,
    .forward = variant_forward,
    .activate = cs_pooled_sigmoid,
    .decide = cs_pooled_decide_labels,
    .loss = variant_loss,
    .pools = cs_pooled_by_mean,
    .keeps_hidden = cs_pooled_by_hidden,
    CS_POOLED_NET
};

/* head_variant.c - the effect of a variant: what the pooled difference of reference and alternate
 * says of every label, a probability each.
 *
 * Labels need not exclude each other: 49 tissues have 49 answers, and a record's loss is the sum of
 * the cross-entropies of those that it has a truth for. Source: Cheng et al., CDIL for DNA, 2023,
 * github.com/wiedersehne/cdilDNA (encoder of both, difference, predictor, mean, linear).
 */
#include <math.h>

#include "nn/head.h"
#include "nn/ops.h"
#include "nn/pooled.h"

static void *variant_build(const void *cfg, int32_t width, int32_t n_out, cs_params *ps)
{
    return cs_pooled_new(cfg, width, n_out, ps);
}

static int64_t variant_answer_len(const void *net, int64_t n_tok)
{
    (void)n_tok;
    return ((const cs_pooled *)net)->out.n_out;
}

static int32_t variant_n_target(const void *net)
{
    return ((const cs_pooled *)net)->out.n_out;
}

static cs_mat variant_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h)
{
    return cs_pooled_apply(cx, net, seg, h);
}

static void variant_activate(cs_ctx *cx, const void *net, cs_mat y)
{
    (void)net;
    if (!cx->dry)
        cx->be->op.act(cx->be, CS_ACT_SIGMOID, y, y);
}

static void variant_decide(const void *net, float *v, int64_t n, double temperature)
{
    (void)net;
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)(1 / (1 + exp(-(double)v[i] / temperature)));
}

/* Sigmoid of z is softmax of (0, z): so each answer is a problem of two classes. */
static void variant_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                         cs_real scale)
{
    const int64_t n = y.r * y.c;
    const int32_t second = cx->dry ? 0 : 1;
    cs_mat both = cs_tmp(cx, n, 2), none = cs_tmp(cx, n, 1);

    (void)net;
    CS_BUG(y.ld != y.c || target.ld != target.c);
    if (!cx->dry) {
        cx->be->op.zero(cx->be, both);
        cx->be->op.zero(cx->be, none);
    }
    cs_add(cx, (cs_mat){ y.p, n, 1, 1 }, none, (cs_mat){ both.p + second, n, 1, both.ld });
    cs_xent(cx, scale, both, (cs_mat){ target.p, n, 1, 1 }, weight);
}

const cs_head cs_head_variant = {
    .name = "variant",
    .summary = "probabilities of labels, by the difference of a reference and an alternate "
               "sequence",
    .n_part = 2,
    .n_weight = 2,
    .opt = cs_pooled_opt,
    .cfg_size = sizeof(cs_pooled_cfg),
    .check = cs_pooled_check,
    .build = variant_build,
    .answer_len = variant_answer_len,
    .n_target = variant_n_target,
    .forward = variant_forward,
    .activate = variant_activate,
    .decide = variant_decide,
    .loss = variant_loss,
    .pools = cs_pooled_by_mean,
    .release = cs_pooled_free
};

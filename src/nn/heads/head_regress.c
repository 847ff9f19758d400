/* head_regress.c - head regress: real values per sequence, squared error. */
#include "nn/heads/head.h"
#include "nn/heads/pooled.h"
#include "nn/ops/ops.h"

static void *regress_build(const void *cfg, int32_t width, int32_t n_out, cs_params *ps)
{
    return cs_pooled_new(cfg, width, n_out, ps);
}

static int32_t regress_n_target(const void *net)
{
    return ((const cs_pooled *)net)->out.n_out;
}

static cs_mat regress_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h)
{
    return cs_pooled_apply(cx, net, seg, h);
}

static void regress_activate(cs_ctx *cx, const void *net, cs_mat y)
{
    (void)cx;
    (void)net;
    (void)y;
}

static void regress_decide(const void *net, float *v, int64_t n, double temperature)
{
    (void)net;
    (void)v;
    (void)n;
    (void)temperature;           /* values have no probability */
}

/* The loss of a record is the mean over its values, as in torch's MSELoss. */
static void regress_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                         cs_real scale)
{
    (void)net;
    (void)weight;                /* classes have weights, values have not */
    cs_mse(cx, scale / (cs_real)y.c, y, target);
}

const cs_head cs_head_regress = {
    .name = "regress",
    .summary = "real values per sequence: one vector, linear or two-layer network, squared error",
    .opt = cs_pooled_opt,
    .cfg_size = sizeof(cs_pooled_cfg),
    .check = cs_pooled_check,
    .build = regress_build,
    .word = cs_pooled_word,
    .take_words = cs_pooled_take_words,
    .output_len = cs_pooled_output_len,
    .n_target = regress_n_target,
    .forward = regress_forward,
    .activate = regress_activate,
    .decide = regress_decide,
    .loss = regress_loss,
    .pools = cs_pooled_by_mean,
    .vector = cs_pooled_vector,
    .n_vector = cs_pooled_n_vector,
    .release = cs_pooled_free
};

/* head_regress.c - head regress: real values per sequence, squared error. */
#include "nn/heads/head.h"
#include "nn/heads/pooled.h"
#include "nn/ops/ops.h"

static int32_t regress_n_target(const void *net)
{
    return ((const cs_pooled *)net)->out.n_out;
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
    .check = cs_pooled_check,
    .n_target = regress_n_target,
    .activate = regress_activate,
    .decide = regress_decide,
    .loss = regress_loss,
    CS_POOLED_HEAD
};

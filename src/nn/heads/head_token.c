/* head_token.c - head token: one class per token, softmax cross-entropy per row.
 *
 * The loss of a record is the mean over its tokens with a known class, so records have equal weight
 * for any length and mask, as with other heads; one without known tokens has none. Class weights
 * multiply a token's loss, but do not divide the mean: else they would cancel in a record of one
 * class.
 */
#include "nn/heads/head.h"
#include "nn/heads/pooled.h"
#include "nn/ops/ops.h"

static int64_t token_output_len(const void *net, int64_t n_tok)
{
    return n_tok * ((const cs_pooled *)net)->out.n_out;
}

static cs_mat token_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h)
{
    return cs_pooled_rows(cx, net, seg, h);
}

static void token_activate(cs_ctx *cx, const void *net, cs_mat y)
{
    (void)net;
    cs_softmax(cx, y);
}

static void token_decide(const void *net, float *v, int64_t n, double temperature)
{
    const int32_t n_out = ((const cs_pooled *)net)->out.n_out;

    for (int64_t i = 0; i < n; i += n_out)
        cs_pooled_decide(v + i, n_out, temperature);
}

static void token_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                       cs_real scale)
{
    (void)net;
    cs_xent(cx, scale, y, target, weight);
}

/* The mean of the encoder's output: the predictor and the hidden layer serve single tokens. */
static cs_mat token_vector(cs_ctx *cx, const void *net, cs_seg seg, cs_mat h, bool is_hidden)
{
    cs_mat y = cs_empty(cx, seg.n, h.c);

    (void)net;
    CS_BUG(is_hidden);
    cs_seg_mean(cx, seg, h, y);
    return y;
}

static int32_t token_n_vector(const void *net, bool is_hidden)
{
    return is_hidden ? 0 : ((const cs_pooled *)net)->n_in;
}

const cs_head cs_head_token = {
    .name = "token",
    .is_class = true,
    .per_token = true,
    .check = cs_pooled_check_rows,
    .output_len = token_output_len,
    .forward = token_forward,
    .activate = token_activate,
    .decide = token_decide,
    .loss = token_loss,
    .build = cs_pooled_build,
    .vector = token_vector,
    .n_vector = token_n_vector,
    CS_POOLED_NET
};

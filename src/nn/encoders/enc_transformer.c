/*
 * enc_transformer.c - the Transformer's encoder, the baseline of the long-sequence papers.
 *
 * DESIGN
 *   post   x = norm1(x + attention(x)),  x = norm2(x + linear2(act(linear1(x))))
 *   pre    x = x + attention(norm1(x)),  x = x + linear2(act(linear1(norm2(x))))
 *
 * As torch.nn.TransformerEncoderLayer, names of parameters included; there is no norm at the end.
 * Time is quadratic in the length of a sequence, memory linear (cs_attend). Dropout acts on the
 * results of sublayers, on hidden units and on attention weights, as in torch's layer. Positions
 * are added before the first layer; torch's encoder leaves that to the user.
 *
 * Source   Vaswani et al., Attention is all you need, NeurIPS 2017;
 *          torch.nn.TransformerEncoderLayer
 */
#include <math.h>
#include <stddef.h>

#include "nn/encoders/encoder.h"
#include "nn/encoders/sublayer.h"
#include "nn/ops/ops_attn.h"

struct config {
    int64_t dim, heads, layers, hidden, max_len;
    int     norm, act, position;
    double  dropout;
};

enum { NORM_POST, NORM_PRE };

static const char *const norm_names[] = { "post", "pre", NULL };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder transformer" },
    CS_OPT_DIM(struct config),
    CS_OPT_HEADS_DIVIDING(struct config),
    CS_OPT_LAYERS(struct config),
    CS_OPT_FFN_HIDDEN(struct config),
    { .type = CS_OPT_ENUM, .name = "norm", .off = offsetof(struct config, norm),
      .arg = "PLACE", .def = "post",
      .help = "layer normalisation after the residual (post) or before (pre)",
      .choice = norm_names },
    CS_OPT_FFN_ACT(struct config),
    CS_OPT_POSITION(struct config),
    CS_OPT_POSITION_MAX(struct config),
    CS_OPT_DROPOUT(struct config),
    { .type = CS_OPT_END }
};

/* in_w, in_b: queries, keys and values as one projection. */
struct layer {
    int       in_w, in_a, in_b;
    cs_proj   out;
    cs_ffn    ffn;
    cs_sublayer residual[2];
    int32_t   n_head;
};

static int transformer_check(const void *cfg)
{
    const struct config *c = cfg;
    return cs_check_heads(c->dim, c->heads);
}

static void transformer_declare_layer(void *layer, const void *cfg, int32_t l, cs_params *ps)
{
    const struct config *c = cfg;
    struct layer *k = layer;
    const int32_t d = (int32_t)c->dim;
    char name[64];

    k->n_head = (int32_t)c->heads;
    snprintf(name, sizeof name, "encoder.layers.%d.self_attn.in_proj_weight", l);
    k->in_w = cs_weight_declare(ps, 3 * d, d, 1, name, &k->in_a);
    k->in_b = cs_declare(ps, cs_shape1(3 * d), CS_INIT_ZERO, 1,
                         "encoder.layers.%d.self_attn.in_proj_bias", l);
    snprintf(name, sizeof name, "encoder.layers.%d.self_attn.out_proj", l);
    k->out = cs_proj_declare(ps, d, d, 0, true, name);
    k->ffn = cs_ffn_declare(ps, l, "linear1", "linear2", d, (int32_t)c->hidden);
    k->ffn.act = cs_ffn_acts[c->act];
    k->ffn.dropout = c->dropout;
    cs_sublayers_declare(ps, l, d, c->norm == NORM_PRE, c->dropout, k->residual);
}

static cs_mat attention(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct layer *k = net;
    int32_t d = x.c;
    const cs_attn a = { .seg = seg, .key = seg, .n_head = k->n_head, .dropout = k->ffn.dropout,
                        .scale = (cs_real)(1 / sqrt((double)d / k->n_head)) };
    cs_mat qkv = cs_empty(cx, x.r, 3 * d), y = cs_empty(cx, x.r, d);

    cs_weight_apply(cx, k->in_w, k->in_a, x, cs_value(cx->ps, k->in_b), qkv);
    cs_attend(cx, &a, cs_columns(qkv, 0, d), cs_columns(qkv, d, d), cs_columns(qkv, 2 * d, d), y);
    return cs_proj_apply(cx, &k->out, y);
}

static void transformer_run_layer(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct layer *k = net;
    cs_mat mid = cs_empty(cx, x.r, x.c);
    cs_sublayer_apply(cx, &k->residual[0], attention, k, seg, x, mid);
    cs_sublayer_apply(cx, &k->residual[1], cs_ffn_apply, &k->ffn, seg, mid, y);
}

static void *transformer_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    const cs_attn_stack s = {
        .width = (int32_t)c->dim, .n_layer = (int32_t)c->layers, .max_len = c->max_len,
        .position = (cs_position)c->position, .layer_bytes = sizeof(struct layer),
        .declare = transformer_declare_layer, .run = transformer_run_layer,
    };

    return cs_attn_stack_new(&s, cfg, ps);
}

const cs_encoder cs_enc_transformer = {
    .name = "transformer",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = transformer_check,
    .build = transformer_build,
    .width = cs_attn_stack_width,
    .max_len = cs_attn_stack_max_len,
    .forward = cs_attn_stack_forward,
    .release = free
};

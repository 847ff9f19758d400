/*
 * enc_linformer.c - Linformer: attention to a fixed number of sums over the tokens.
 *
 * DESIGN
 *   attention  softmax(q (E'k)' / sqrt(head)) (F'v);  E, F: (max-len, k), the same for all heads
 *   pre        x = x + attention(norm1(x)),  x = x + w2(act(w1(norm2(x))))
 *   post       x = norm1(x + attention(x)),  x = norm2(x + w2(act(w1(x))))
 *
 * As lucidrains' implementation, pre; post is the paper's figure. E and F are indexed by position,
 * so the maximum length is fixed; a shorter sequence uses their first rows, as in that
 * implementation.
 *
 * Source   Wang et al., Linformer, 2020; github.com/lucidrains/linformer
 */
#include <stddef.h>

#include "nn/encoders/attention.h"
#include "nn/encoders/encoder.h"

struct config {
    int64_t max_len, dim, heads, head, layers, hidden, k;
    int     norm, act, position, values, kv_heads;
    double  dropout;
};

enum { NORM_PRE, NORM_POST };
enum { VALUES_OWN, VALUES_KEYS };
enum { KV_ALL, KV_ONE };

static const char *const norm_names[] = { "pre", "post", NULL };
static const char *const value_names[] = { "own", "keys", NULL };
static const char *const kv_names[] = { "all", "one", NULL };
static const char *const position_names[] = { "learned", "none", NULL };
static const cs_position positions[] = { CS_POSITION_LEARNED, CS_POSITION_NONE };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder linformer" },
    { .type = CS_OPT_SIZE, .name = "max-len", .off = offsetof(struct config, max_len),
      .arg = "NUM", .def = "8192", .help = "maximum tokens of a sequence",
      .man = "The number of rows of E and F, one per position. A model accepts every length up "
             "to NUM.", .min = 1, .max = 1e9 },
    CS_OPT_DIM(struct config),
    CS_OPT_HEADS(struct config),
    CS_OPT_HEAD(struct config),
    CS_OPT_LAYERS(struct config),
    CS_OPT_FFN_HIDDEN(struct config),
    { .type = CS_OPT_INT, .name = "k", .off = offsetof(struct config, k),
      .arg = "NUM", .def = "64", .help = "number of projected keys and values",
      .min = 1, .max = CS_WIDTH_MAX },
    { .type = CS_OPT_ENUM, .name = "norm", .off = offsetof(struct config, norm),
      .arg = "PLACE", .def = "pre",
      .help = "layer normalisation before the residual (pre) or after (post)",
      .choice = norm_names },
    CS_OPT_FFN_ACT(struct config),
    { .type = CS_OPT_ENUM, .name = "values", .off = offsetof(struct config, values),
      .arg = "KIND", .def = "own", .help = "values: own, or equal to the keys (keys)",
      .man = "keys: E also replaces F.", .choice = value_names },
    { .type = CS_OPT_ENUM, .name = "kv-heads", .off = offsetof(struct config, kv_heads),
      .arg = "KIND", .def = "all",
      .help = "keys and values: of every head (all), or of one head that all share (one)",
      .choice = kv_names },
    { .type = CS_OPT_ENUM, .name = "position", .off = offsetof(struct config, position),
      .arg = "KIND", .def = "learned", .help = "position embedding: learned or none",
      .choice = position_names },
    CS_OPT_DROPOUT(struct config),
    { .type = CS_OPT_END }
};

struct layer {
    cs_linformer attn;
    cs_ffn       ffn;
    cs_sublayer    residual[2];
};

static int linformer_check(const void *cfg)
{
    const struct config *c = cfg;
    return c->head > 0 ? cs_check_columns(c->heads, c->head, "head")
                       : cs_check_heads(c->dim, c->heads);
}

static void linformer_declare_layer(void *layer, const void *cfg, int32_t l, cs_params *ps)
{
    const struct config *c = cfg;
    struct layer *k = layer;
    const int32_t d = (int32_t)c->dim;
    const cs_linformer_cfg attn = { .max_len = c->max_len, .dim = c->dim, .heads = c->heads,
                                    .head = c->head, .n_key = c->k,
                                    .share = c->values == VALUES_KEYS,
                                    .one = c->kv_heads == KV_ONE, .dropout = c->dropout };
    char name[64];

    snprintf(name, sizeof name, "encoder.layers.%d.attn", l);
    k->attn = cs_linformer_declare(ps, &attn, l, name);
    k->ffn = cs_ffn_declare(ps, l, "w1", "w2", d, (int32_t)c->hidden);
    k->ffn.act = cs_ffn_acts[c->act];
    k->ffn.dropout = c->dropout;
    cs_sublayers_declare(ps, l, d, c->norm == NORM_PRE, c->dropout, k->residual);
}

static void linformer_run_layer(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct layer *k = net;
    cs_mat mid = cs_empty(cx, x.r, x.c);
    cs_sublayer_apply(cx, &k->residual[0], cs_linformer_apply, &k->attn, seg, x, mid);
    cs_call_value_hook(cx, "attn", k->attn.layer, mid);
    cs_sublayer_apply(cx, &k->residual[1], cs_ffn_apply, &k->ffn, seg, mid, y);
}

static void *linformer_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    const cs_attn_stack s = {
        .width = (int32_t)c->dim, .n_layer = (int32_t)c->layers,
        .max_len = c->max_len, .fixed_len = true,
        .position = positions[c->position], .layer_bytes = sizeof(struct layer),
        .declare = linformer_declare_layer, .run = linformer_run_layer,
    };

    return cs_attn_stack_new(&s, cfg, ps);
}

const cs_encoder cs_enc_linformer = {
    .name = "linformer",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = linformer_check,
    .build = linformer_build,
    .width = cs_attn_stack_width,
    .max_len = cs_attn_stack_max_len,
    .forward = cs_attn_stack_forward,
    .release = free
};

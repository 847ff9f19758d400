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
 */
#include <stddef.h>

#include "base/mem.h"
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
    { CS_OPT_SIZE, 0, "max-len", offsetof(struct config, max_len), "NUM", "8192",
      "maximum tokens of a sequence", "It is the number of rows of E and F, whose rows belong to "
      "positions. A model accepts every length up to it.", 1, 1e9, NULL },
    CS_OPT_DIM(struct config),
    CS_OPT_HEADS(struct config),
    CS_OPT_HEAD(struct config),
    CS_OPT_LAYERS(struct config),
    CS_OPT_FFN_HIDDEN(struct config),
    { CS_OPT_INT, 0, "k", offsetof(struct config, k), "NUM", "64",
      "projected keys and values", NULL, 1, CS_WIDTH_MAX, NULL },
    { CS_OPT_ENUM, 0, "norm", offsetof(struct config, norm), "PLACE", "pre",
      "layer normalisation before the residual (pre) or after (post)", NULL, 0, 0, norm_names },
    CS_OPT_FFN_ACT(struct config),
    { CS_OPT_ENUM, 0, "values", offsetof(struct config, values), "KIND", "own",
      "values: own, or the keys (keys)", "keys also uses E for F.", 0, 0,
      value_names },
    { CS_OPT_ENUM, 0, "kv-heads", offsetof(struct config, kv_heads), "KIND", "all",
      "keys and values: per head, or one head shared by all", NULL, 0, 0, kv_names },
    { CS_OPT_ENUM, 0, "position", offsetof(struct config, position), "KIND", "learned",
      "position embedding: learned or none", NULL, 0, 0, position_names },
    CS_OPT_DROPOUT(struct config),
    { CS_OPT_END, 0, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, NULL }
};

struct layer {
    cs_linformer attn;
    cs_ffn       ffn;
    cs_sublayer    residual[2];
};

struct net {
    struct config cfg;
    int           position;
    struct layer  layer[];
};

static int linformer_check(const void *cfg)
{
    const struct config *c = cfg;
    return c->head > 0 ? CS_OK : cs_check_heads(c->dim, c->heads);
}

static void linformer_declare_layer(struct net *e, int32_t l, cs_params *ps)
{
    const struct config *c = &e->cfg;
    struct layer *k = &e->layer[l];
    int32_t d = (int32_t)c->dim, h = (int32_t)c->hidden;
    const cs_linformer_cfg attn = { .max_len = c->max_len, .dim = c->dim, .heads = c->heads,
                                    .head = c->head, .n_key = c->k,
                                    .share = c->values == VALUES_KEYS,
                                    .one = c->kv_heads == KV_ONE, .dropout = c->dropout };
    char name[64];

    snprintf(name, sizeof name, "encoder.layers.%d.attn", l);
    k->attn = cs_linformer_declare(ps, &attn, l, name);
    snprintf(name, sizeof name, "encoder.layers.%d.w1", l);
    k->ffn.up = cs_proj_declare(ps, d, h, 0, true, name);
    snprintf(name, sizeof name, "encoder.layers.%d.w2", l);
    k->ffn.down = cs_proj_declare(ps, h, d, 0, true, name);
    k->ffn.act = cs_ffn_acts[c->act];
    k->ffn.dropout = c->dropout;
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "encoder.layers.%d.norm%d", l, i + 1);
        k->residual[i] = (cs_sublayer){ cs_norm_declare(ps, CS_NORM_LAYER, d, 1, name),
                                    c->norm == NORM_PRE, c->dropout };
    }
}

static void *linformer_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    struct net *e = cs_xcalloc(1, sizeof *e + (size_t)c->layers * sizeof e->layer[0]);

    e->cfg = *c;
    e->position = cs_position_declare(ps, positions[c->position], c->max_len, (int32_t)c->dim,
                                      "encoder.position");
    for (int32_t l = 0; l < (int32_t)c->layers; l++)
        linformer_declare_layer(e, l, ps);
    return e;
}

static int32_t linformer_width(const void *net)
{
    return (int32_t)((const struct net *)net)->cfg.dim;
}

static int64_t linformer_max_len(const void *net)
{
    return ((const struct net *)net)->cfg.max_len;
}

static void linformer_run_layer(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct layer *k = net;
    cs_mat mid = cs_tmp(cx, x.r, x.c);
    cs_sublayer_apply(cx, &k->residual[0], cs_linformer_apply, &k->attn, seg, x, mid);
    cs_observe(cx, "attn", k->attn.layer, mid);
    cs_sublayer_apply(cx, &k->residual[1], cs_ffn_apply, &k->ffn, seg, mid, y);
}

static cs_mat linformer_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct net *e = net;
    CS_BUG(x.c != (int32_t)e->cfg.dim || x.r != seg.rows);
    x = cs_position_apply(cx, e->position, seg, 1, x);
    return cs_stack(cx, linformer_run_layer, e->layer, sizeof e->layer[0], (int32_t)e->cfg.layers,
                    seg, x);
}

const cs_encoder cs_enc_linformer = {
    .name = "linformer",
    .summary = "softmax attention to a fixed number of projected tokens",
    .source = "Wang et al., Linformer, 2020; github.com/lucidrains/linformer",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = linformer_check,
    .build = linformer_build,
    .width = linformer_width,
    .max_len = linformer_max_len,
    .forward = linformer_forward,
    .release = free
};

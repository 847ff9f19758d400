/*
 * enc_lowrank.c - the Low-Rank Transformer: linear layers as products of two low-rank factors.
 *
 * DESIGN
 *   code   LED(x) = B(A x) + b, A (rank, n), B (m, rank)
 *          x = norm(LED(input)) + position
 *          x = norm(LED_o(attention(LED_q x, LED_k x, LED_v x)) + x)
 *          x = norm(LED_2(relu(LED_1 x)) + x)
 *   paper  the same layers without input and biases, with E_i and D_i per head:
 *          q_i = x E_i D_i (equations 3.1 to 3.4)
 *
 * The released code factorises the attention even with factorisation disabled; --encoder.factor
 * attention is that. There all heads share A; in the paper's equations each head has its own.
 *
 * Source   Winata et al., Lightweight and efficient end-to-end speech recognition using low-rank
 *          transformer, ICASSP 2020; github.com/audioku/meta-transfer-learning
 */
#include <math.h>
#include <stddef.h>

#include "base/mem.h"
#include "nn/encoders/attention.h"
#include "nn/encoders/encoder.h"
#include "nn/ops/ops_attn.h"

struct config {
    int64_t max_len, input, dim, heads, key, value, layers, hidden, rank;
    int     form, factor, position;
    double  dropout;
};

enum { FORM_CODE, FORM_PAPER };
enum { FACTOR_ALL, FACTOR_ATTENTION };

static const char *const form_names[] = { "code", "paper", NULL };
static const char *const factor_names[] = { "all", "attention", NULL };
static const char *const position_names[] = { "sinusoid", "none", NULL };
static const cs_position positions[] = { CS_POSITION_SINUSOID, CS_POSITION_NONE };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder lowrank" },
    CS_OPT_POSITION_MAX(struct config),
    { .type = CS_OPT_INT, .name = "input", .off = offsetof(struct config, input),
      .arg = "NUM", .def = "0", .help = "channels of the embedded input; 0: those of a token",
      .man = "The paper's form has no input layer and needs 0.", .min = 0, .max = CS_WIDTH_MAX },
    CS_OPT_DIM(struct config),
    CS_OPT_HEADS(struct config),
    { .type = CS_OPT_INT, .name = "key", .off = offsetof(struct config, key),
      .arg = "NUM", .def = "0",
      .help = "channels of a head's queries and keys; 0: those of a token, divided by the number "
              "of heads", .min = 0, .max = CS_WIDTH_MAX },
    { .type = CS_OPT_INT, .name = "value", .off = offsetof(struct config, value),
      .arg = "NUM", .def = "0", .help = "channels of a head's values; 0: as key",
      .min = 0, .max = CS_WIDTH_MAX },
    CS_OPT_LAYERS(struct config),
    CS_OPT_FFN_HIDDEN(struct config),
    { .type = CS_OPT_INT, .name = "rank", .off = offsetof(struct config, rank),
      .arg = "NUM", .def = "16", .help = "rank of the factorised layers",
      .min = 1, .max = CS_WIDTH_MAX },
    { .type = CS_OPT_ENUM, .name = "form", .off = offsetof(struct config, form),
      .arg = "KIND", .def = "code", .help = "the authors' code, or the paper's equations",
      .man = "The paper has separate factors for every head, and no biases.",
      .choice = form_names },
    { .type = CS_OPT_ENUM, .name = "factor", .off = offsetof(struct config, factor),
      .arg = "WHICH", .def = "all", .help = "which layers are factorised: all, or attention only",
      .man = "The paper's form has all.", .choice = factor_names },
    { .type = CS_OPT_ENUM, .name = "position", .off = offsetof(struct config, position),
      .arg = "KIND", .def = "sinusoid", .help = "position embedding: sinusoid or none",
      .choice = position_names },
    CS_OPT_DROPOUT(struct config),
    { .type = CS_OPT_END }
};

struct layer {
    cs_mha    attn;
    cs_ffn    ffn;
    cs_sublayer residual[2];
};

struct net {
    struct config cfg;
    int           position;
    cs_proj       in;            /* with its norm: not in the paper's form */
    cs_norm       in_norm;
    struct layer  layer[];
};

static int lowrank_check(const void *cfg)
{
    const struct config *c = cfg;
    int rc = CS_OK;

    CS_TRY(c->key > 0 ? cs_check_columns(c->heads, c->key, "key")
                      : cs_check_heads(c->dim, c->heads));
    CS_TRY(cs_check_columns(c->heads, c->value, "value"));
    if (c->form == FORM_PAPER)
        rc = cs_check_columns(c->heads, c->rank, "rank");
out:
    return rc;
}

static int32_t key_of(const struct config *c)
{
    return (int32_t)(c->key ? c->key : c->dim / c->heads);
}

static void declare_code(struct layer *k, const struct config *c, int32_t l, cs_params *ps)
{
    int32_t d = (int32_t)c->dim, r = (int32_t)c->rank, rf = c->factor == FACTOR_ALL ? r : 0;
    int32_t dk = key_of(c) * (int32_t)c->heads, dv = k->attn.n_value, h = (int32_t)c->hidden;
    static const char *const names[] = { "query_linear", "key_linear", "value_linear",
                                         "output_linear" };
    const int32_t sizes[][2] = { { d, dk }, { d, dk }, { d, dv }, { dv, d } };
    cs_proj *proj[] = { &k->attn.q, &k->attn.k, &k->attn.v, &k->attn.o };
    char name[80];

    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "encoder.layers.%d.self_attn.%s", l, names[i]);
        *proj[i] = cs_proj_declare(ps, sizes[i][0], sizes[i][1], r, true, name);
    }
    snprintf(name, sizeof name, "encoder.layers.%d.pos_ffn.linear_1", l);
    k->ffn.up = cs_proj_declare(ps, d, h, rf, true, name);
    snprintf(name, sizeof name, "encoder.layers.%d.pos_ffn.linear_2", l);
    k->ffn.down = cs_proj_declare(ps, h, d, rf, true, name);
}

static void declare_paper(struct layer *k, const struct config *c, int32_t l, cs_params *ps)
{
    int32_t d = (int32_t)c->dim, r = (int32_t)c->rank, n = (int32_t)c->heads;
    int32_t dk = key_of(c) * n, dv = k->attn.n_value, h = (int32_t)c->hidden;
    const cs_proj_parts key = { .n_part = n, .n_in = d, .n_out = dk, .rank = r };
    const cs_proj_parts value = { .n_part = n, .n_in = d, .n_out = dv, .rank = r };
    const cs_proj_parts out = { .n_in = dv, .n_out = d, .rank = r };
    const cs_proj_parts up = { .n_in = d, .n_out = h, .rank = r };
    const cs_proj_parts down = { .n_in = h, .n_out = d, .rank = r };
    char name[64];

    snprintf(name, sizeof name, "encoder.layers.%d", l);
    k->attn.q = cs_proj_declare_parts(ps, &key, name, "Q");
    k->attn.k = cs_proj_declare_parts(ps, &key, name, "K");
    k->attn.v = cs_proj_declare_parts(ps, &value, name, "V");
    k->attn.o = cs_proj_declare_parts(ps, &out, name, "O");
    k->ffn.up = cs_proj_declare_parts(ps, &up, name, "1");
    k->ffn.down = cs_proj_declare_parts(ps, &down, name, "2");
}

static void lowrank_declare_layer(struct net *e, int32_t l, cs_params *ps)
{
    const struct config *c = &e->cfg;
    struct layer *k = &e->layer[l];
    int32_t dk = key_of(c);
    char name[64];

    k->attn = (cs_mha){ .n_head = (int32_t)c->heads, .layer = l, .scale = 1 / sqrt(dk),
                        .dropout = c->dropout,
                        .n_value = (int32_t)((c->value ? c->value : dk) * c->heads) };
    if (c->form == FORM_PAPER)
        declare_paper(k, c, l, ps);
    else
        declare_code(k, c, l, ps);
    k->ffn.act = CS_ACT_RELU;
    k->ffn.dropout = c->dropout;
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "encoder.layers.%d.%s.layer_norm", l,
                 i ? "pos_ffn" : "self_attn");
        k->residual[i] = (cs_sublayer){ cs_norm_declare(ps, CS_NORM_LAYER, (int32_t)c->dim, 1,
                                                        name),
                                    false, c->dropout };
    }
}

static int32_t lowrank_in_width(const void *net)
{
    const struct config *c = &((const struct net *)net)->cfg;
    return (int32_t)(c->form == FORM_CODE && c->input ? c->input : c->dim);
}

static void *lowrank_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    struct net *e = cs_xcalloc(1, sizeof *e + (size_t)c->layers * sizeof e->layer[0]);
    int32_t d = (int32_t)c->dim, r = c->factor == FACTOR_ALL ? (int32_t)c->rank : 0;

    e->cfg = *c;
    e->position = cs_position_declare(ps, positions[c->position], c->max_len, d,
                                      "encoder.positional_encoding.pe");
    if (c->form == FORM_CODE) {
        e->in = cs_proj_declare(ps, lowrank_in_width(e), d, r, true, "encoder.input_linear");
        e->in_norm = cs_norm_declare(ps, CS_NORM_LAYER, d, 1, "encoder.layer_norm_input");
    }
    for (int32_t l = 0; l < (int32_t)c->layers; l++)
        lowrank_declare_layer(e, l, ps);
    return e;
}

static int32_t lowrank_width(const void *net)
{
    return (int32_t)((const struct net *)net)->cfg.dim;
}

static int64_t lowrank_max_len(const void *net)
{
    const struct net *e = net;
    return e->position >= 0 ? e->cfg.max_len : 0;
}

static void lowrank_run_layer(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct layer *k = net;
    cs_mat mid = cs_empty(cx, x.r, x.c);
    cs_sublayer_apply(cx, &k->residual[0], cs_mha_apply, &k->attn, seg, x, mid);
    cs_sublayer_apply(cx, &k->residual[1], cs_ffn_apply, &k->ffn, seg, mid, y);
}

/* The code sets rows of padding to zero after every sublayer. */
static void run_masked(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct layer *k = net;
    cs_mat a = cs_empty(cx, x.r, x.c), b = cs_empty(cx, x.r, x.c), c = cs_empty(cx, x.r, x.c);
    cs_sublayer_apply(cx, &k->residual[0], cs_mha_apply, &k->attn, seg, x, a);
    cs_seg_mask(cx, seg, 0, a, b);
    cs_sublayer_apply(cx, &k->residual[1], cs_ffn_apply, &k->ffn, seg, b, c);
    cs_seg_mask(cx, seg, 0, c, y);
}

static cs_mat lowrank_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct net *e = net;
    bool code = e->cfg.form == FORM_CODE;
    CS_BUG(x.c != lowrank_in_width(e) || x.r != seg.rows);
    if (code) {
        cs_mat h = cs_proj_apply(cx, &e->in, x);
        x = cs_empty(cx, h.r, h.c);
        cs_norm_apply(cx, &e->in_norm, seg, h, x);
    }
    x = cs_position_apply(cx, e->position, seg, 1, x);
    return cs_stack(cx, code && seg.n_valid ? run_masked : lowrank_run_layer, e->layer,
                    sizeof e->layer[0], (int32_t)e->cfg.layers, seg, x);
}

const cs_encoder cs_enc_lowrank = {
    .name = "lowrank",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = lowrank_check,
    .build = lowrank_build,
    .width = lowrank_width,
    .in_width = lowrank_in_width,
    .max_len = lowrank_max_len,
    .forward = lowrank_forward,
    .release = free
};

/*
 * enc_paramixer.c - Paramixer: layers, each a product of sparse factors computed from the tokens.
 *
 * DESIGN
 *   V = X;  per layer: V = g(V), then V = W_m V + V, m = 1 .. n,  W_m = f_m(X), X the same for all
 *   protocol chord: row t of W_m links to t, t+1, t+2, t+4 .. t+2^(n-1)
 *   protocol cdil:  to t, and to t +- 1, 2, 3, 4 times 2^(m-1);  all circularly, meeting links add
 *
 * Released code and paper differ: the residual after each factor, one link more, and n rounded up
 * or down by folder. Here a setting fixes n, or a sequence of N tokens has ceil(log2 N).
 *
 * Source   Yu, Khalitov, Cheng, Yang, Paramixer: parameterizing mixing links in sparse factors
 *          works better than dot-product self-attention, CVPR 2022;
 *          github.com/wiedersehne/Paramixer
 */
#include <stddef.h>

#include "base/mem.h"
#include "batch/batch.h"
#include "nn/encoders/encoder.h"
#include "nn/encoders/factors.h"
#include "nn/encoders/sublayer.h"
#include "nn/ops/ops.h"

struct config {
    int64_t max_len, layers, factors, channels, hidden;
    int     protocol, residual, position;
    double  dropout;
};

enum { WIDTH_MAX = 1 << 16, FACTORS_MAX = 48 };
enum { POSITION_NONE, POSITION_LEARNED };

/* In the order of cs_protocol. */
static const char *const protocol_names[] = { "chord", "cdil", NULL };
static const char *const residual_names[] = { "last", "first", "none", NULL };
static const cs_factor_res residuals[] = { CS_FACTOR_LAST, CS_FACTOR_FIRST, CS_FACTOR_PLAIN };
static const char *const position_names[] = { "none", "learned", NULL };
static const cs_position positions[] = { CS_POSITION_NONE, CS_POSITION_LEARNED };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder paramixer" },
    { .type = CS_OPT_SIZE, .name = "max-len", .off = offsetof(struct config, max_len),
      .arg = "NUM", .def = "65536", .help = "maximum tokens of a sequence",
      .man = "Sets the number of factors, ceil(log2 NUM), and of learned positions. Without "
             "both, there is no limit.", .min = 1, .max = 1e12 },
    { .type = CS_OPT_INT, .name = "layers", .off = offsetof(struct config, layers),
      .arg = "NUM", .def = "2", .help = "layers, each with its own factors",
      .min = 1, .max = 1024 },
    { .type = CS_OPT_INT, .name = "factors", .off = offsetof(struct config, factors),
      .arg = "NUM", .def = "0", .help = "factors per layer; 0: ceil(log2 N) for N tokens",
      .min = 0, .max = FACTORS_MAX },
    { .type = CS_OPT_ENUM, .name = "protocol", .off = offsetof(struct config, protocol),
      .arg = "KIND", .def = "chord", .help = "links between tokens: chord or cdil",
      .man = "chord: links to tokens at distances of powers of two. cdil: links to four "
             "neighbours on either side; their distance doubles with every factor.",
      .choice = protocol_names },
    { .type = CS_OPT_INT, .name = "channels", .off = offsetof(struct config, channels),
      .arg = "NUM", .def = "64", .help = "channels of a token's vector",
      .min = 1, .max = WIDTH_MAX },
    { .type = CS_OPT_INT, .name = "hidden", .off = offsetof(struct config, hidden),
      .arg = "NUM", .def = "128", .help = "hidden units of the factor networks",
      .min = 1, .max = WIDTH_MAX },
    { .type = CS_OPT_ENUM, .name = "residual", .off = offsetof(struct config, residual),
      .arg = "KIND", .def = "last",
      .help = "residual added after every factor: last, first or none",
      .man = "last: the factor's input (the released code); first: the input of the layer's "
             "first factor; none: the paper's equation.", .choice = residual_names },
    { .type = CS_OPT_ENUM, .name = "position", .off = offsetof(struct config, position),
      .arg = "KIND", .def = "none", .help = "position embedding: none or learned",
      .choice = position_names },
    { .type = CS_OPT_REAL, .name = "dropout", .off = offsetof(struct config, dropout),
      .arg = "RATE", .def = "0", .help = "dropout rate of the input",
      .man = "Factors and values have independent masks.", .min = 0, .max = 0.99 },
    { .type = CS_OPT_END }
};

struct paramixer {
    struct config cfg;
    int32_t       n_factor;
    int           position;
    cs_factors   *layer[];
};

static int paramixer_check(const void *cfg)
{
    const struct config *c = cfg;
    return cs_factors_check_positions(c->position == POSITION_LEARNED, c->max_len);
}

static void *paramixer_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    struct paramixer *e = cs_xcalloc(1, sizeof *e + (size_t)c->layers * sizeof e->layer[0]);
    int32_t width = (int32_t)c->channels;
    char name[64];

    e->cfg = *c;
    e->n_factor = c->factors ? (int32_t)c->factors : cs_depth(c->max_len);
    e->position = cs_position_declare(ps, positions[c->position], c->max_len, width,
                                      "encoder.position.weight");
    for (int64_t l = 0; l < c->layers; l++) {
        snprintf(name, sizeof name, "encoder.layer.%d", (int)l);
        e->layer[l] = cs_factors_new(&(cs_factors_spec){
            .n_x = width, .n_in = width, .n_out = width, .hidden = (int32_t)c->hidden,
            .g_hidden = (int32_t)c->hidden, .n_factor = e->n_factor, .layer = (int32_t)l,
            .protocol = (cs_protocol)c->protocol, .res = residuals[c->residual] }, ps, name);
    }
    return e;
}

static int32_t paramixer_width(const void *net)
{
    return (int32_t)((const struct paramixer *)net)->cfg.channels;
}

static int64_t paramixer_max_len(const void *net)
{
    const struct paramixer *e = net;
    return e->cfg.factors && e->position < 0 ? 0 : e->cfg.max_len;
}

static cs_mat paramixer_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct paramixer *e = net;
    int32_t n = e->cfg.factors || seg.depth > e->n_factor ? e->n_factor : seg.depth;

    x = cs_position_apply(cx, e->position, seg, 1, x);
    cs_call_value_hook(cx, "X", 0, x);
    cs_mat v = cs_dropout(cx, e->cfg.dropout, x), scratch = { 0 };
    x = cs_dropout(cx, e->cfg.dropout, x);
    for (int32_t l = 0; l < (int32_t)e->cfg.layers; l++) {
        /* Without gradients two buffers take turns. */
        cs_mat y = cx->training || l < 2 ? cs_empty(cx, x.r, x.c) : scratch;
        cs_factors_apply(cx, e->layer[l], seg, n, x, v, y);
        scratch = v;
        v = y;
        if (cx->block_hook && !cx->dry)
            cx->block_hook(cx->block_hook_arg, l, v);
    }
    return v;
}

static void paramixer_release(void *net)
{
    struct paramixer *e = net;
    for (int64_t l = 0; e && l < e->cfg.layers; l++)
        cs_factors_free(e->layer[l]);
    free(e);
}

const cs_encoder cs_enc_paramixer = {
    .name = "paramixer",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = paramixer_check,
    .build = paramixer_build,
    .width = paramixer_width,
    .max_len = paramixer_max_len,
    .forward = paramixer_forward,
    .release = paramixer_release
};

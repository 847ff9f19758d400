/*
 * enc_fkernel.c - linear attention whose kernel is a trained feed-forward network.
 *
 * DESIGN
 *   attention  phi(q) (phi(k)'v) / (phi(q) sum_j phi(k_j)),  phi per head:
 *     linear   softplus(x F)
 *     glu      units of (x F) sigmoid(x G), the last softplus(x F) sigmoid(x G)
 *     aglu     the same with the gate's matrix of low rank, sigmoid((x A) B)
 *   layer      x = x + attention(norm1(x)),  x = x + w2(gelu(w1(norm2(x))))
 *
 * These are the paper's kernels: softplus linear; GLU, with more units than one the stacked GLU;
 * with --encoder.ortho the orthogonal ones, whose F start orthogonal (Saxe et al. 2014, as torch's
 * orthogonal_) and keep near it, because the loss also holds |F'F - 1|^2 of all F times that
 * number; aglu, the approximated GLU. No code was released; biases, own features for every head,
 * gains of the other initial weights and the wiring are choices that the paper leaves open.
 *
 * Source   Yorsh, Kovalenko, Linear self-attention approximation via trainable feedforward kernel,
 *          ICANN 2022, arXiv:2211.04076, on the linear attention of Katharopoulos et al., 2020
 */
#include <stddef.h>

#include "nn/encoders/attention.h"
#include "nn/encoders/encoder.h"

struct config {
    int64_t max_len, dim, heads, layers, hidden, units, rank;
    int     kernel, features, position;
    double  ortho, dropout;
};

enum { KERNEL_LINEAR, KERNEL_GLU, KERNEL_AGLU };
enum { FEATURES_OWN, FEATURES_SHARED };

static const char *const kernel_names[] = { "linear", "glu", "aglu", NULL };
static const char *const feature_names[] = { "own", "shared", NULL };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder fkernel" },
    CS_OPT_DIM(struct config),
    CS_OPT_HEADS_DIVIDING(struct config),
    CS_OPT_LAYERS(struct config),
    CS_OPT_FFN_HIDDEN(struct config),
    { .type = CS_OPT_ENUM, .name = "kernel", .off = offsetof(struct config, kernel),
      .arg = "KIND", .def = "glu",
      .help = "kernel features: linear (softplus), glu (gated) or aglu (low-rank gates)",
      .man = "Yorsh and Kovalenko 2022; gated linear units are those of Dauphin et al. 2017.",
      .choice = kernel_names },
    { .type = CS_OPT_INT, .name = "units", .off = offsetof(struct config, units),
      .arg = "NUM", .def = "1", .help = "gated units in sequence",
      .man = "linear has one.", .min = 1, .max = CS_FKERNEL_UNITS },
    { .type = CS_OPT_INT, .name = "rank", .off = offsetof(struct config, rank),
      .arg = "NUM", .def = "4", .help = "rank of aglu's gates", .min = 1, .max = CS_WIDTH_MAX },
    { .type = CS_OPT_ENUM, .name = "features", .off = offsetof(struct config, features),
      .arg = "KIND", .def = "own",
      .help = "feature weights per head (own), or shared by all heads (shared)",
      .choice = feature_names },
    { .type = CS_OPT_REAL, .name = "ortho", .off = offsetof(struct config, ortho),
      .arg = "NUM", .def = "0",
      .help = "loss weight of the orthogonality penalty of feature weights",
      .man = "Above 0, the weights are initialised orthogonal.", .min = 0, .max = 1e6 },
    CS_OPT_POSITION(struct config),
    CS_OPT_POSITION_MAX(struct config),
    CS_OPT_DROPOUT(struct config),
    { .type = CS_OPT_END }
};

struct layer {
    cs_fkernel attn;
    cs_ffn     ffn;
    cs_sublayer  residual[2];
};

static int fkernel_check(const void *cfg)
{
    const struct config *c = cfg;
    int rc = CS_OK;

    CS_TRY(cs_check_heads(c->dim, c->heads));
    /* Sums over the keys of a head are one row: see cs_linear_attend(). */
    CS_TRY(cs_check_columns(c->dim / c->heads, c->dim / c->heads + 1, "dim"));
    if (c->kernel == KERNEL_AGLU)
        rc = cs_check_columns(c->heads, c->rank, "rank");
out:
    return rc;
}

static void fkernel_declare_layer(void *layer, const void *cfg, int32_t l, cs_params *ps)
{
    const struct config *c = cfg;
    struct layer *k = layer;
    const int32_t d = (int32_t)c->dim;
    const cs_fkernel_cfg attn = { .dim = c->dim, .heads = c->heads,
                                  .units = c->kernel == KERNEL_LINEAR ? 1 : c->units,
                                  .rank = c->kernel == KERNEL_AGLU ? c->rank : 0,
                                  .gated = c->kernel != KERNEL_LINEAR,
                                  .shared = c->features == FEATURES_SHARED, .ortho = c->ortho };
    char name[64];

    snprintf(name, sizeof name, "encoder.layers.%d.attn", l);
    k->attn = cs_fkernel_declare(ps, &attn, l, name);
    k->ffn = cs_ffn_declare(ps, l, "w1", "w2", d, (int32_t)c->hidden);
    k->ffn.act = CS_ACT_GELU;
    k->ffn.dropout = c->dropout;
    cs_sublayers_declare(ps, l, d, true, c->dropout, k->residual);
}

static void fkernel_run_layer(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct layer *k = net;
    cs_mat mid = cs_empty(cx, x.r, x.c);
    cs_sublayer_apply(cx, &k->residual[0], cs_fkernel_apply, &k->attn, seg, x, mid);
    cs_sublayer_apply(cx, &k->residual[1], cs_ffn_apply, &k->ffn, seg, mid, y);
}

static void *fkernel_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    const cs_attn_stack s = {
        .width = (int32_t)c->dim, .n_layer = (int32_t)c->layers, .max_len = c->max_len,
        .position = (cs_position)c->position, .layer_bytes = sizeof(struct layer),
        .declare = fkernel_declare_layer, .run = fkernel_run_layer,
    };

    return cs_attn_stack_new(&s, cfg, ps);
}

const cs_encoder cs_enc_fkernel = {
    .name = "fkernel",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = fkernel_check,
    .build = fkernel_build,
    .width = cs_attn_stack_width,
    .max_len = cs_attn_stack_max_len,
    .forward = cs_attn_stack_forward,
    .release = free
};

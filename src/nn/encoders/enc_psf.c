/*
 * enc_psf.c - PSF-Attn: one product of sparse factors whose entries are computed from the tokens.
 *
 * DESIGN
 *   V = g(X);  V = W_m V (+ g(X)), m = 1 .. n,  W_m = f_m(X);  row t of W_m links to the tokens
 *   t, t+1, t+2, t+4 .. t+2^(n-1), circularly; f_m and g are linear, GELU, linear
 *
 * n = ceil(log2 N) factors span N tokens. Released code and paper differ: the code has one more
 * link than the paper (the token itself), adds g(X) after every factor, and takes n as a setting;
 * where that exceeds log2 N links meet, and their products sum. Here a setting fixes n, or every
 * sequence has its own.
 *
 * Source   Khalitov, Yu, Cheng, Yang, Sparse factorization of square matrices with application to
 *          neural attention modeling, 2022; github.com/RuslanKhalitov/SparseFactorization
 */
#include <stddef.h>

#include "base/mem.h"
#include "batch/batch.h"
#include "nn/encoders/encoder.h"
#include "nn/encoders/factors.h"
#include "nn/encoders/sublayer.h"
#include "nn/ops/ops.h"

struct config {
    int64_t max_len, factors, input, channels, hidden, g_hidden;
    int     residual, position;
    double  dropout;
};

enum { WIDTH_MAX = 1 << 16, FACTORS_MAX = 48 };
enum { POSITION_NONE, POSITION_LEARNED };

static const char *const residual_names[] = { "first", "last", "none", NULL };
static const cs_factor_res residuals[] = { CS_FACTOR_FIRST, CS_FACTOR_LAST, CS_FACTOR_PLAIN };
static const char *const position_names[] = { "none", "learned", NULL };
static const cs_position positions[] = { CS_POSITION_NONE, CS_POSITION_LEARNED };

static const cs_opt options[] = {
    { .type = CS_OPT_GROUP, .name = "Encoder psf" },
    { .type = CS_OPT_SIZE, .name = "max-len", .off = offsetof(struct config, max_len),
      .arg = "NUM", .def = "65536", .help = "maximum tokens of a sequence",
      .man = "Sets the number of factors, ceil(log2 NUM), and of learned positions. Without "
             "both, there is no limit.", .min = 1, .max = 1e12 },
    { .type = CS_OPT_INT, .name = "factors", .off = offsetof(struct config, factors),
      .arg = "NUM", .def = "0", .help = "factors per sequence; 0: ceil(log2 N) for N tokens",
      .min = 0, .max = FACTORS_MAX },
    { .type = CS_OPT_INT, .name = "input", .off = offsetof(struct config, input),
      .arg = "NUM", .def = "0", .help = "channels of the embedded input; 0: as channels",
      .min = 0, .max = WIDTH_MAX },
    { .type = CS_OPT_INT, .name = "channels", .off = offsetof(struct config, channels),
      .arg = "NUM", .def = "64", .help = "channels of a token's vector",
      .min = 1, .max = WIDTH_MAX },
    { .type = CS_OPT_INT, .name = "hidden", .off = offsetof(struct config, hidden),
      .arg = "NUM", .def = "128", .help = "hidden units of the factor networks",
      .min = 1, .max = WIDTH_MAX },
    { .type = CS_OPT_INT, .name = "g-hidden", .off = offsetof(struct config, g_hidden),
      .arg = "NUM", .def = "0", .help = "hidden units of the value network; 0: as hidden",
      .min = 0, .max = WIDTH_MAX },
    { .type = CS_OPT_ENUM, .name = "residual", .off = offsetof(struct config, residual),
      .arg = "KIND", .def = "first",
      .help = "residual added after every factor: first, last or none",
      .man = "first: the input of the first factor (the released code); last: this factor's "
             "input; none: the paper's equation.", .choice = residual_names },
    { .type = CS_OPT_ENUM, .name = "position", .off = offsetof(struct config, position),
      .arg = "KIND", .def = "none", .help = "position embedding: none or learned",
      .choice = position_names },
    { .type = CS_OPT_REAL, .name = "dropout", .off = offsetof(struct config, dropout),
      .arg = "RATE", .def = "0", .help = "dropout rate of the input", .min = 0, .max = 0.99 },
    { .type = CS_OPT_END }
};

struct psf {
    struct config cfg;
    cs_factors   *factors;
    int32_t       n_factor, in_width;
    int           position;
};

static int psf_check(const void *cfg)
{
    const struct config *c = cfg;
    return cs_factors_check_positions(c->position == POSITION_LEARNED, c->max_len);
}

static void *psf_build(const void *cfg, cs_params *ps)
{
    const struct config *c = cfg;
    struct psf *e = cs_xcalloc(1, sizeof *e);

    e->cfg = *c;
    e->n_factor = c->factors ? (int32_t)c->factors : cs_depth(c->max_len);
    e->in_width = (int32_t)(c->input ? c->input : c->channels);
    e->position = cs_position_declare(ps, positions[c->position], c->max_len, e->in_width,
                                      "encoder.position.weight");
    e->factors = cs_factors_new(&(cs_factors_spec){
        .n_x = e->in_width, .n_in = e->in_width, .n_out = (int32_t)c->channels,
        .hidden = (int32_t)c->hidden,
        .g_hidden = (int32_t)(c->g_hidden ? c->g_hidden : c->hidden), .n_factor = e->n_factor,
        .res = residuals[c->residual], .protocol = CS_PROTOCOL_CHORD }, ps, "encoder");
    return e;
}

static int32_t psf_width(const void *net)
{
    return (int32_t)((const struct psf *)net)->cfg.channels;
}

static int32_t psf_in_width(const void *net)
{
    return ((const struct psf *)net)->in_width;
}

static int64_t psf_max_len(const void *net)
{
    const struct psf *e = net;
    return e->cfg.factors && e->position < 0 ? 0 : e->cfg.max_len;
}

static cs_mat psf_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const struct psf *e = net;
    int32_t n = e->cfg.factors || seg.depth > e->n_factor ? e->n_factor : seg.depth;

    x = cs_position_apply(cx, e->position, seg, 1, x);
    cs_call_value_hook(cx, "X", 0, x);
    x = cs_dropout(cx, e->cfg.dropout, x);
    cs_mat y = cs_empty(cx, x.r, (int32_t)e->cfg.channels);
    cs_factors_apply(cx, e->factors, seg, n, x, x, y);
    return y;
}

static void psf_release(void *net)
{
    struct psf *e = net;
    if (e)
        cs_factors_free(e->factors);
    free(e);
}

const cs_encoder cs_enc_psf = {
    .name = "psf",
    .opt = options,
    .cfg_size = sizeof(struct config),
    .check = psf_check,
    .build = psf_build,
    .width = psf_width,
    .in_width = psf_in_width,
    .max_len = psf_max_len,
    .forward = psf_forward,
    .release = psf_release
};

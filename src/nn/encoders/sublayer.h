/* sublayer.h - parts of attention layers: projections, feed-forward networks, residuals with
 * normalisation, stacks. */
#ifndef CS_NN_SUBLAYER_H
#define CS_NN_SUBLAYER_H

#include <stddef.h>

#include "base/opt.h"
#include "nn/ops/blocks.h"
#include "nn/ops/layer.h"

/** cs_columns - columns from .. from+n-1 of a matrix */
static inline cs_mat cs_columns(cs_mat m, int32_t from, int32_t n)
{
    return (cs_mat){ m.p + from, m.r, n, m.ld };
}

/** cs_value_block - number i of the blocks (r, c) that a tensor of more dimensions consists of */
cs_mat cs_value_block(const cs_params *ps, int tensor, int32_t i, int64_t r, int32_t c);

/* x w' + b, or with a low rank (x a') w' + b. a, b: -1 where there is none. With n_part > 0 the
 * weights act on the right, and each of n_part groups of columns has its own: x a_i w_i. */
typedef struct cs_proj { int a, w, b; int32_t n_out, n_part, rank; } cs_proj;

/**
 * cs_proj_declare - "NAME.weight" (n_out, n_in) and, with bias, "NAME.bias"; with rank > 0
 * "NAME_a.weight" (rank, n_in), "NAME_b.weight" (n_out, rank) and "NAME_b.bias"
 *
 * Glorot-uniform weights, zero bias.
 */
cs_proj cs_proj_declare(cs_params *ps, int32_t n_in, int32_t n_out, int32_t rank, bool bias,
                        const char *name);
/* A projection of low rank with weights of its own for each of n_part groups of columns, n_out in
 * total. n_part is 0 for a single group whose weights have no dimension of groups. */
typedef struct cs_proj_parts { int32_t n_part, n_in, n_out, rank; } cs_proj_parts;
/** cs_proj_declare_parts - "NAME.E" + SUFFIX and "NAME.D" + SUFFIX, shapes (n_part, n_in, rank) and
 * (n_part, rank, n_out / n_part), or (n_in, rank) and (rank, n_out); normal, without bias */
cs_proj cs_proj_declare_parts(cs_params *ps, const cs_proj_parts *parts, const char *name,
                              const char *suffix);
/** cs_proj_apply - a new (N, n_out) matrix */
cs_mat cs_proj_apply(cs_ctx *cx, const cs_proj *p, cs_mat x);

/** cs_check_heads - CS_OK, or CS_EUSAGE if they do not divide the channels (--encoder.dim) */
int cs_check_heads(int64_t dim, int64_t heads);

/** cs_check_columns - CS_OK, or CS_EUSAGE naming an option if n times `each` are too many columns
 * for a matrix */
int cs_check_columns(int64_t n, int64_t each, const char *option);

/* Activations of a feed-forward network, for an ENUM option: in the order of cs_ffn_acts. */
extern const char *const cs_ffn_act_names[];
extern const cs_act cs_ffn_acts[];

/* down(dropout(act(up(x)))) */
typedef struct cs_ffn { cs_proj up, down; cs_act act; double dropout; } cs_ffn;
/** cs_ffn_declare - projections "encoder.layers.L.UP" and "encoder.layers.L.DOWN" */
cs_ffn cs_ffn_declare(cs_params *ps, int32_t l, const char *up, const char *down, int32_t width,
                      int32_t hidden);
/** cs_ffn_apply - a new matrix; a cs_sub_fn. seg is ignored */
cs_mat cs_ffn_apply(cs_ctx *cx, const void *ffn, cs_seg seg, cs_mat x);

/* The branch of a residual: a new matrix from x, which is unchanged. */
typedef cs_mat (*cs_sub_fn)(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x);

/* A sublayer with its residual and norm. */
typedef struct cs_sublayer { cs_norm norm; bool pre; double dropout; } cs_sublayer;
/** cs_sublayers_declare - the two of layer l: "encoder.layers.L.norm1" and "norm2" */
void cs_sublayers_declare(cs_params *ps, int32_t l, int32_t width, bool pre, double dropout,
                          cs_sublayer sublayer[2]);
/** cs_sublayer_apply - y = norm(x + f(x)), or x + f(norm(x)) when pre; dropout of f's result */
void cs_sublayer_apply(cs_ctx *cx, const cs_sublayer *a, cs_sub_fn f, const void *net, cs_seg seg,
                       cs_mat x, cs_mat y);

/* ---- positions ----------------------------------------------------------------------------- */

typedef enum cs_position {
    CS_POSITION_NONE, CS_POSITION_SINUSOID, CS_POSITION_LEARNED
} cs_position;
extern const char *const cs_position_names[];  /* for an ENUM option: in the order of the kinds */

/** cs_position_declare - a table "NAME" (n, width) of sinusoids or to be trained; -1 for NONE */
int cs_position_declare(cs_params *ps, cs_position kind, int64_t n, int32_t width,
                        const char *name);
/** cs_position_apply - x + scale * the table's rows, a new matrix; x itself without a table */
cs_mat cs_position_apply(cs_ctx *cx, int table, cs_seg seg, double scale, cs_mat x);

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Positions, then layers of one kind: the whole network of most attention encoders. */
typedef struct cs_attn_stack {
    int32_t     width, n_layer;
    int64_t     max_len;         /* of the table of positions */
    bool        fixed_len;       /* max_len holds without a table, too */
    cs_position position;
    int         table;           /* of positions, set by cs_attn_stack_new() */
    size_t      layer_bytes;
    /* Declares the weights of layer number l, whose memory is zeroed. */
    void      (*declare)(void *layer, const void *cfg, int32_t l, cs_params *ps);
    cs_block_fn run;             /* one layer */
    _Alignas(16) char layer[];
} cs_attn_stack;

/** cs_attn_stack_new - a copy of `s` with its layers; the encoder's cfg is passed to declare().
 * free() it */
void *cs_attn_stack_new(const cs_attn_stack *s, const void *cfg, cs_params *ps);

/* The encoder's functions: cs_encoder.width, .max_len, .forward. */
int32_t cs_attn_stack_width(const void *net);
int64_t cs_attn_stack_max_len(const void *net);
cs_mat  cs_attn_stack_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x);

/* ---- options ------------------------------------------------------------------------------- */

/* Rows that encoders share, for the table of one whose settings, a struct T, have the field. */
enum { CS_WIDTH_MAX = 1 << 16 };
#define CS_OPT_DIM(T) \
    { .type = CS_OPT_INT, .name = "dim", .off = offsetof(T, dim), .arg = "NUM", .def = "64", \
      .help = "channels of a token", .min = 1, .max = CS_WIDTH_MAX }
#define CS_OPT_DROPOUT(T) \
    { .type = CS_OPT_REAL, .name = "dropout", .off = offsetof(T, dropout), \
      .arg = "RATE", .def = "0", .help = "dropout rate", \
      .man = "Applies to the outputs of attention and feed-forward networks, to hidden units, " \
             "and to the weights of softmax attention, as in PyTorch's layers.", \
      .min = 0, .max = 0.99 }
#define CS_OPT_FFN_ACT(T) \
    { .type = CS_OPT_ENUM, .name = "act", .off = offsetof(T, act), .arg = "KIND", .def = "gelu", \
      .help = "activation of the feed-forward networks: gelu or relu", \
      .choice = cs_ffn_act_names }
#define CS_OPT_FFN_HIDDEN(T) \
    { .type = CS_OPT_INT, .name = "hidden", .off = offsetof(T, hidden), \
      .arg = "NUM", .def = "256", .help = "hidden units of the feed-forward networks", \
      .min = 1, .max = CS_WIDTH_MAX }
#define CS_OPT_HEAD(T) \
    { .type = CS_OPT_INT, .name = "head", .off = offsetof(T, head), .arg = "NUM", .def = "0", \
      .help = "channels of a head; 0: those of a token, divided by the number of heads", \
      .min = 0, .max = CS_WIDTH_MAX }
#define CS_OPT_HEADS(T) \
    { .type = CS_OPT_INT, .name = "heads", .off = offsetof(T, heads), .arg = "NUM", .def = "4", \
      .help = "attention heads", .min = 1, .max = CS_WIDTH_MAX }
#define CS_OPT_HEADS_DIVIDING(T) \
    { .type = CS_OPT_INT, .name = "heads", .off = offsetof(T, heads), .arg = "NUM", .def = "4", \
      .help = "attention heads; must divide the number of channels", \
      .min = 1, .max = CS_WIDTH_MAX }
#define CS_OPT_LAYERS(T) \
    { .type = CS_OPT_INT, .name = "layers", .off = offsetof(T, layers), \
      .arg = "NUM", .def = "4", .help = "layers, each attention and a feed-forward network", \
      .min = 1, .max = 1024 }
#define CS_OPT_POSITION(T) \
    { .type = CS_OPT_ENUM, .name = "position", .off = offsetof(T, position), \
      .arg = "KIND", .def = "sinusoid", \
      .help = "positions added to the tokens: none, sinusoid or learned", \
      .man = "Without positions, the order of tokens has no effect.", \
      .choice = cs_position_names }
#define CS_OPT_POSITION_MAX(T) \
    { .type = CS_OPT_SIZE, .name = "max-len", .off = offsetof(T, max_len), \
      .arg = "NUM", .def = "8192", \
      .help = "maximum tokens of a sequence if positions are added", .min = 1, .max = 1e9 }

#endif

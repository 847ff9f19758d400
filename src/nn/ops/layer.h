/* layer.h - linear layers and normalisations: parameters and forward pass. */
#ifndef CS_NN_LAYER_H
#define CS_NN_LAYER_H

#include "nn/ops/ctx.h"

/**
 * cs_weight_declare - the weights "NAME" (n_out, n_in) of a linear layer, Glorot-uniform times gain
 * (0: all zero)
 *
 * With a rank r from ps->ranks they are "NAME_a" (r, n_in) and "NAME_b" (n_out, r), for the product
 * b a. Every layer that may become low rank declares its weights here.
 *
 * a        receives the index of the first of the two; -1: there is one
 * Returns  the index of NAME or NAME_b
 */
int cs_weight_declare(cs_params *ps, int32_t n_out, int32_t n_in, double gain, const char *name,
                      int *a);
/** cs_weight_apply - the first y.c outputs: y = (x a') w' + bias, without a (-1) x w' + bias.
 * Shapes x (N, n_in), bias (1, n_out) or absent, y (N, at most n_out) */
void cs_weight_apply(cs_ctx *cx, int w, int a, cs_mat x, cs_mat bias, cs_mat y);
/** cs_params_ranks - ranks of another model's layers */
cs_ranks cs_params_ranks(const cs_params *like);
/** cs_params_low_rank - number of low-rank layers */
int32_t cs_params_low_rank(const cs_params *ps);

/* Indices of a linear layer's tensors: weights w and bias b; if `low`, the weights are the product
 * w a. */
typedef struct cs_linear { int w, b, a; bool low; int32_t n_out; } cs_linear;

/** cs_linear_declare - "NAME.weight" (n_out, n_in) and "NAME.bias" (n_out); Glorot-uniform weights
 * times gain (0: all zero), zero bias */
cs_linear cs_linear_declare(cs_params *ps, int32_t n_in, int32_t n_out, double gain,
                            const char *name);
/** cs_linear_apply - a new (N, n_out) matrix. Shapes x (N, n_in) */
cs_mat cs_linear_apply(cs_ctx *cx, const cs_linear *l, cs_mat x);
/** cs_linear_infer - identical bits, for few rows, as in a head: for predictions a packed copy of
 * the weights is cached outside of the arena */
cs_mat cs_linear_infer(cs_ctx *cx, const cs_linear *l, cs_mat x);
/** cs_linear_into - the first y.c outputs into y */
void cs_linear_into(cs_ctx *cx, const cs_linear *l, cs_mat x, cs_mat y);

typedef enum cs_norm_kind {
    CS_NORM_NONE, CS_NORM_LAYER, CS_NORM_BATCH, CS_NORM_GROUP
} cs_norm_kind;
extern const char *const cs_norm_names[];      /* for an ENUM option: in the order of the kinds */

typedef struct cs_norm { cs_norm_kind kind; int gamma, beta, mean, var; int32_t n_group; } cs_norm;

/** cs_norm_declare - "NAME.weight" (ones) and "NAME.bias" (zeros), and for BATCH the buffers
 * "NAME.running_mean" (zeros) and "NAME.running_var" (ones); nothing for NONE */
cs_norm cs_norm_declare(cs_params *ps, cs_norm_kind kind, int32_t width, int32_t n_group,
                        const char *name);
/** cs_norm_apply - y = norm(x); not for NONE */
void cs_norm_apply(cs_ctx *cx, const cs_norm *n, cs_seg seg, cs_mat x, cs_mat y);
/** cs_norm_running - mean and variance of a BATCH norm as (2, width) */
cs_mat cs_norm_running(const cs_params *ps, const cs_norm *n);

#endif

/* factors.h - V = W_n ... W_1 g(V): sparse factors whose entries small networks compute from X. */
#ifndef CS_NN_FACTORS_H
#define CS_NN_FACTORS_H

#include "nn/ops/layer.h"
#include "nn/ops/ops_sparse.h"

typedef enum cs_protocol { CS_PROTOCOL_CHORD, CS_PROTOCOL_CDIL } cs_protocol;
/* Residual after every factor: none, g(V), or the factor's input. */
typedef enum cs_factor_res { CS_FACTOR_PLAIN, CS_FACTOR_FIRST, CS_FACTOR_LAST } cs_factor_res;

/* One layer. Networks are linear, GELU, linear. */
typedef struct cs_factors_spec {
    int32_t       n_x, n_in, n_out;    /* channels of X, of V, of the result */
    int32_t       hidden, g_hidden;    /* units of the factors' networks, and of g's */
    int32_t       n_factor, layer;     /* layer: number for hooks, from 0 */
    cs_protocol   protocol;
    cs_factor_res res;
} cs_factors_spec;

typedef struct cs_factors cs_factors;

/** cs_factors_check_positions - CS_OK; CS_EUSAGE for too many positions to learn an embedding of */
int cs_factors_check_positions(bool learned, int64_t max_len) CS_MUST_CHECK;

/** cs_factors_new - declare "NAME.g.fc1.weight" ..., "NAME.f.m.fc1.weight" ... (m from 0) */
cs_factors *cs_factors_new(const cs_factors_spec *s, cs_params *ps, const char *name);
void        cs_factors_free(cs_factors *e);

/**
 * cs_factors_apply - a layer's result into y
 *
 * n        the first n factors; under the chord protocol with n + 1 links each, which span 2^n
 *          tokens: further links would be duplicates
 * Shapes   x (N, n_x), v (N, n_in), y (N, n_out), which overlaps neither
 * Memory   with recomputation in the backward pass, every factor's result is stored, not its
 *          entries
 * Hooks    values "V0" (g of v), "W1" (entries of the first factor) and "V1" (after it), layer
 */
void cs_factors_apply(cs_ctx *cx, const cs_factors *e, cs_seg seg, int32_t n, cs_mat x, cs_mat v,
                      cs_mat y);

#endif

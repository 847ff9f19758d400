/* attention.h - the attentions of the encoders, between projections of their own. All may serve as
 * a cs_sub_fn; `layer` is passed to cs_call_value_hook(). */
#ifndef CS_NN_ATTENTION_H
#define CS_NN_ATTENTION_H

#include "nn/encoders/sublayer.h"

/* Softmax attention. n_value: columns of all heads' values together; dropout: of weights. Hooks get
 * q and k. */
typedef struct cs_mha {
    cs_proj q, k, v, o;
    int32_t n_head, n_value, layer;
    double  scale, dropout;
} cs_mha;
/** cs_mha_apply - a new matrix */
cs_mat cs_mha_apply(cs_ctx *cx, const void *mha, cs_seg seg, cs_mat x);
/** cs_mha_cross - the rows x of seg attend to the rows z of key */
cs_mat cs_mha_cross(cs_ctx *cx, const cs_mha *m, cs_seg seg, cs_mat x, cs_seg key, cs_mat z);

/* Linformer's: keys and values are summed over the tokens with `n_key` trained weights each. */
typedef struct cs_linformer {
    cs_proj q, k, v, o;          /* v not declared when values are keys */
    int     sum_k, sum_v;        /* (max_len, n_key): weights of the sums */
    int32_t n_head, head, n_key, layer;
    bool    share;               /* values are keys */
    double  dropout;             /* of weights */
} cs_linformer;
/* one: a single head of keys and values for all of the queries */
typedef struct cs_linformer_cfg {
    int64_t max_len, dim, heads, head, n_key;
    bool    share, one;
    double  dropout;
} cs_linformer_cfg;
/** cs_linformer_declare - "NAME.to_q.weight" ..., "NAME.proj_k", "NAME.to_out.weight", ".bias" */
cs_linformer cs_linformer_declare(cs_params *ps, const cs_linformer_cfg *c, int32_t layer,
                                  const char *name);
/** cs_linformer_apply - a new matrix */
cs_mat cs_linformer_apply(cs_ctx *cx, const void *linformer, cs_seg seg, cs_mat x);

/* Linear attention between features of queries and keys, computed by a small network per head. */
enum { CS_FKERNEL_UNITS = 8 };
typedef struct cs_fkernel {
    cs_proj q, k, v, o;
    int     f[CS_FKERNEL_UNITS], g[CS_FKERNEL_UNITS], h[CS_FKERNEL_UNITS];  /* gate g, or g h */
    int32_t n_head, head, rank, n_unit, layer;
    bool    gated, shared;
    double  ortho;
} cs_fkernel;
/* rank 0: gates of full rank; shared: all heads have the same features; ortho: factor on the sum of
 * |f'f - 1|^2 in the loss */
typedef struct cs_fkernel_cfg {
    int64_t dim, heads, units, rank;
    bool    gated, shared;
    double  ortho;
} cs_fkernel_cfg;
/** cs_fkernel_declare - "NAME.wq.weight" ..., "NAME.kernel.Wf.0" (heads or 1, head, head), ... */
cs_fkernel cs_fkernel_declare(cs_params *ps, const cs_fkernel_cfg *c, int32_t layer,
                              const char *name);
/** cs_fkernel_apply - a new matrix. Hooks get phi_q, phi_k and heads */
cs_mat cs_fkernel_apply(cs_ctx *cx, const void *fkernel, cs_seg seg, cs_mat x);

#endif

/* nodes.h - nodes of the tape: operands of each op, and its adjoint. */
#ifndef CS_NN_NODES_H
#define CS_NN_NODES_H

#include "kernels/backend.h"

struct cs_ctx;                   /* see ctx.h */
typedef struct cs_node cs_node;

/* Adds to the gradients of a step's operands. Reads gradients with cs_grad_of(); destinations are
 * those of cs_grad_to(). */
typedef void (*cs_adjoint)(struct cs_ctx *cx, const cs_node *n);

/* A part of a network that can be recomputed from its input: writes y (and only y outlives it). */
typedef void (*cs_block_fn)(struct cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y);

/* The same with several input and output matrices, and a number. */
typedef void (*cs_block_multi_fn)(struct cs_ctx *cx, const void *net, cs_seg seg, const cs_mat *m,
                                  int32_t i);

/* A stack as a step of its own (blocks.c): n layers, `size` bytes from one net to the next, of
 * n_random dropout masks each; copies of n_copy inputs, made when `scratch` reals were reserved.
 * packed: inputs are packed rows, copied as they are. */
typedef struct cs_layers {
    size_t   size;
    int32_t  n, n_copy;
    uint64_t n_random;
    int64_t  scratch;
    bool     packed;
} cs_layers;

/* DeepLIFT's rescale rule (Shrikumar et al. 2017). In every matrix that depends on the input the
 * first half of the rows belongs to a sequence, the second to its reference. cx->rescale then
 * replays `rescale` instead of `adjoint`: a multiplier replaces the derivative, so a step's input
 * differences, times it, sum to its output differences. Linear steps pass their adjoint, steps
 * without it have no rule and set cx->no_rule. */

/* One step. The use of fields is private to the op and its adjoint. Parameters and activations are
 * referenced by their matrices, so a node owns nothing. */
struct cs_node {
    cs_adjoint  adjoint;
    cs_adjoint  rescale;         /* or NULL */
    cs_mat      m[6];
    cs_seg      seg, keys;       /* keys: the rows that seg's rows attend to */
    const void *ptr;             /* token ids; the net of a block */
    cs_block_fn block;
    cs_block_multi_fn block_multi;
    cs_layers   layers;
    double      p;               /* a rate or an epsilon */
    double      rate;            /* of an attention's dropout, whose scale is p */
    uint64_t    key;             /* random key; number of dropout layers before a block */
    int32_t     i;               /* a small number: track, group, activation, padding row */
    bool        counts;          /* the adjoint takes arena memory, so dry runs call it too */
};

typedef struct cs_tape {
    cs_node *node;
    size_t   n, cap;
} cs_tape;

/** cs_tape_new, cs_tape_free - an empty tape; accepts NULL */
cs_tape *cs_tape_new(void);
void     cs_tape_free(cs_tape *t);
/** cs_tape_reset - remove all steps, keep their memory */
void     cs_tape_reset(cs_tape *t);

#endif

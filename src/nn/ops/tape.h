/* tape.h - what was computed, in order, and how each step passes its gradient back. */
#ifndef CS_NN_TAPE_H
#define CS_NN_TAPE_H

#include "nn/ops/ctx.h"

typedef struct cs_node cs_node;

/* Adds to the gradients of a step's operands. Reads gradients with cs_grad_of(), and finds where to
 * add with cs_grad_to(). */
typedef void (*cs_adjoint)(cs_ctx *cx, const cs_node *n);

/* A part of a network that can run again from its input: writes y (and only y outlives it). */
typedef void (*cs_block_fn)(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y);

/* The same with several matrices, those that it reads and those that it writes, and a number. */
typedef void (*cs_part_fn)(cs_ctx *cx, const void *net, cs_seg seg, const cs_mat *m, int32_t i);

/* A stack as a step of its own (blocks.c): n layers, `size` bytes from one net to the next, of
 * n_random dropout masks each; copies of n_copy inputs, before which `scratch` reals were aside. */
typedef struct cs_layers {
    size_t   size;
    int32_t  n, n_copy;
    uint64_t n_random;
    int64_t  scratch;
} cs_layers;

/* DeepLIFT's rescale rule (Shrikumar et al. 2017). Of every matrix that depends on the input the
 * first half of the rows belongs to a sequence, the second to the reference that it is compared
 * with. cx->rescale then replays `rescale` where there is `adjoint`: a multiplier takes the
 * derivative's place, so that a step's differences of input, times it, add up to those of its
 * output. Linear steps pass their adjoint, steps without it have no rule and set cx->no_rule. */

/* One step. Which fields are used, and for what, is between the op and its adjoint. Parameters and
 * activations are referred to by their matrices, so a node owns nothing. */
struct cs_node {
    cs_adjoint  adjoint;
    cs_adjoint  rescale;         /* or NULL */
    cs_mat      m[6];
    cs_seg      seg, keys;       /* keys: the rows that seg's rows look at */
    const void *ptr;             /* token ids; the net of a block */
    cs_block_fn block;
    cs_part_fn  part;
    cs_layers   layers;
    double      p;               /* a rate or an epsilon */
    double      rate;            /* of an attention's dropout, whose scale is p */
    uint64_t    key;             /* random key; number of dropout layers before a block */
    int32_t     i;               /* a small number: track, group, activation, padding row */
    bool        counts;          /* the adjoint takes arena memory, so dry runs call it too */
};

/** cs_tape_new, cs_tape_free - an empty tape; accepts NULL */
cs_tape *cs_tape_new(void);
void     cs_tape_free(cs_tape *t);
void     cs_tape_reset(cs_tape *t);

/** cs_tape_push - record a step, unless the context is not recording; n is copied */
void cs_tape_push(cs_ctx *cx, const cs_node *n);

/** cs_grad_to - cs_grad_of() for adding: marks a parameter as touched */
cs_mat cs_grad_to(cs_ctx *cx, cs_mat m);

/** cs_seed - the loss depends on y with gradient g: backward adds g to y's gradient. Same shapes */
void cs_seed(cs_ctx *cx, cs_mat y, cs_mat g);

/**
 * cs_block - run f(net, seg, x) into y and free what it used
 *
 * With cx->keep the tape keeps x and y only, and the backward pass runs f once more, with the same
 * dropout masks, to record its steps. With CS_KEEP_ALL f is recorded as it runs.
 *
 * net      must outlive the pass
 */
void cs_block(cs_ctx *cx, cs_block_fn f, const void *net, cs_seg seg, cs_mat x, cs_mat y);

/** cs_part - cs_block() with n_mat matrices, all of which outlive it, and the number i */
void cs_part(cs_ctx *cx, cs_part_fn f, const void *net, cs_seg seg, const cs_mat *m, int n_mat,
             int32_t i);

/* For adjoints of steps that run a part of the network again: what the tape and the arena held
 * before it. Release the arena to `mark` in the end. */
typedef struct cs_rerun { size_t n_left; int64_t mark; uint64_t n_random; } cs_rerun;

/** cs_rerun_begin - record from here on; n_random dropout layers came before, the first time */
cs_rerun cs_rerun_begin(cs_ctx *cx, uint64_t n_random);
/** cs_rerun_ready - all is recorded; gradients of what the part took from the arena are zero now */
void     cs_rerun_ready(cs_ctx *cx, const cs_rerun *r);
/** cs_rerun_back - replay what was recorded */
void     cs_rerun_back(cs_ctx *cx, const cs_rerun *r);

#endif

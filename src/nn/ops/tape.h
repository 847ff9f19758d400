/* tape.h - tape: the ops of a pass in order, and their adjoints. */
#ifndef CS_NN_TAPE_H
#define CS_NN_TAPE_H

#include "nn/ops/ctx.h"
#include "nn/ops/nodes.h"

/** cs_tape_push - record a step, unless the context is not recording; n is copied */
void cs_tape_push(cs_ctx *cx, const cs_node *n);

/** cs_grad_to - cs_grad_of() for adding: marks a parameter as touched */
cs_mat cs_grad_to(cs_ctx *cx, cs_mat m);

/** cs_grad_into - the same for a step that writes all of m's gradient if *add is false: then it is
 * the first to add to it, and the memory is uninitialised */
cs_mat cs_grad_into(cs_ctx *cx, cs_mat m, bool *add);

/** cs_grad_seed - the loss depends on y with gradient g, of the same shape: backward adds g to y's
 * gradient */
void cs_grad_seed(cs_ctx *cx, cs_mat y, cs_mat g);

/**
 * cs_block - run f(net, seg, x) into y and release its temporaries
 *
 * With cx->keep the tape stores only x and y, and the backward pass runs f again, with the same
 * dropout masks, to record its steps. With CS_KEEP_ALL f is recorded as it runs.
 *
 * net      must outlive the pass
 */
void cs_block(cs_ctx *cx, cs_block_fn f, const void *net, cs_seg seg, cs_mat x, cs_mat y);

/** cs_block_multi - cs_block() with n_mat matrices, which outlive it, and the number i */
void cs_block_multi(cs_ctx *cx, cs_block_multi_fn f, const void *net, cs_seg seg, const cs_mat *m,
                    int n_mat, int32_t i);

/* For adjoints of steps that run a part of the network again: the previous state of tape and arena.
 * Release the arena to `mark` at the end. */
typedef struct cs_rerun { size_t n_left; int64_t mark; uint64_t n_random; } cs_rerun;

/** cs_rerun_begin - start recording; n_random: dropout layers before this part in the first run */
cs_rerun cs_rerun_begin(cs_ctx *cx, uint64_t n_random);
/** cs_rerun_ready - end recording; gradients of the part's activations are zero from here on */
void     cs_rerun_ready(cs_ctx *cx, const cs_rerun *r);
/** cs_rerun_back - replay the recorded part */
void     cs_rerun_back(cs_ctx *cx, const cs_rerun *r);

#endif

/* blocks.h - stacks of equal blocks with checkpointing. */
#ifndef CS_NN_BLOCKS_H
#define CS_NN_BLOCKS_H

#include <stddef.h>

#include "nn/ops/tape.h"

/**
 * cs_stack - run f for n layers, each on the result of the one before
 *
 * With cx->keep CS_KEEP_ALL the tape records everything. With k > 0 the inputs of at most k layers
 * are stored, the layers between are recomputed in the backward pass with the same dropout masks,
 * and gradients are equal bit for bit. If the backend has `to_bf16` (kernels/backend.h), in bf16,
 * the inputs are stored in bf16, and gradients are equal except for that rounding.
 *
 * layer    array of structs of `size` bytes, f's nets; outlives the pass. All layers use the same
 *          number of dropout masks
 * x        (N, c), like every layer's result. Overwritten unless everything is stored; the backward
 *          pass restores it, rounded as stored
 * Returns  the last layer's result, in x's memory or another. The block hook gets each
 */
cs_mat cs_stack(cs_ctx *cx, cs_block_fn f, const void *layer, size_t size, int32_t n, cs_seg seg,
                cs_mat x);

/** cs_stack_packed - the same of packed rows (cs_pack_rows()): checkpoints and gradients are exact.
 * There must be no block hook */
cs_mat cs_stack_packed(cs_ctx *cx, cs_block_fn f, const void *layer, size_t size, int32_t n,
                       cs_seg seg, cs_mat x);

/**
 * cs_stack_split - next input to checkpoint, with limited memory
 *
 * The backward pass of n layers has stored the input of the first, and can store n_more others.
 * Storing the returned one, and recursing into both parts, minimises recomputation (Griewank,
 * Walther, Revolve, 2000: layers run at most r times each where C(s + r, s) >= n, s = n_more + 1).
 *
 * Returns  its number from the first one on, 1 .. n - 1; n: none
 */
int32_t cs_stack_split(int32_t n, int32_t n_more);

#endif

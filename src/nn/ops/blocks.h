/* blocks.h - stacks of equal blocks with checkpointing. */
#ifndef CS_NN_BLOCKS_H
#define CS_NN_BLOCKS_H

#include <stddef.h>

#include "nn/ops/tape.h"

/**
 * cs_stack - run f for n layers, each of which reads what the one before gave
 *
 * With cx->keep CS_KEEP_ALL the tape records all that they compute. With k > 0 it keeps the inputs
 * of at most k layers, the layers between run again going backward, with the same dropout masks,
 * and gradients are the same to the bit. Where the backend has `narrow` (kernels/backend.h), in
 * bf16, the inputs are kept in bf16, and gradients are the same but for that rounding.
 *
 * layer    array of structs of `size` bytes, f's nets; outlives the pass. A layer takes as many
 *          dropout masks as any other
 * x        (N, c), as is what every layer gives. Overwritten unless everything is kept; when the
 *          backward pass has come through, it is there again, rounded as it was kept
 * Returns  what the last layer gave, in x's place or another. The watcher is told of each
 */
cs_mat cs_stack(cs_ctx *cx, cs_block_fn f, const void *layer, size_t size, int32_t n, cs_seg seg,
                cs_mat x);

/**
 * cs_stack_split - which input to keep next, where few can be kept
 *
 * Of n layers that are to be gone back through, the first one's input is kept, and those of n_more
 * others can be. Keeping the returned one, and then going on so with both parts, takes the fewest
 * layers run again (Griewank, Walther, Revolve, 2000: layers run at most r times each where
 * C(s + r, s) >= n, s = n_more + 1).
 *
 * Returns  its number from the first one on, 1 .. n - 1; n: none
 */
int32_t cs_stack_split(int32_t n, int32_t n_more);

#endif

/* fused.h - ops with optional fused kernels. */
#ifndef CS_NN_FUSED_H
#define CS_NN_FUSED_H

#include "nn/ops/ctx.h"

/**
 * cs_chord_block - y = x + rotated(fc2(gelu(fc1 x))), a ChordMixer block without norms or dropout
 *
 * k        weights (cs_value of the parameters)
 * Shapes   x, y (N, d); w1 (h, d), b1 (1, h), w2 (d, h), b2 (1, d)
 * Aliasing y and x do not overlap
 */
void cs_chord_block(cs_ctx *cx, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y);

/**
 * cs_chord_packed_block - the same on packed rows, a layout of the backend, in which a stack of
 * blocks stays: cs_pack_rows(), blocks, cs_unpack_rows()
 *
 * Shapes   x, y: of cs_pack_rows() for (N, d)
 */
void cs_chord_packed_block(cs_ctx *cx, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y);
/** cs_pack_rows - x (N, d) packed, in a new matrix; rounded to the precision of the backend's
 * products */
cs_mat cs_pack_rows(cs_ctx *cx, cs_mat x);
/** cs_unpack_rows - the blocks' result back into x, that of cs_pack_rows(). Its gradient is in x's
 * memory, too; the backward pass restores x, rounded */
void cs_unpack_rows(cs_ctx *cx, cs_mat packed, cs_mat x);
/** cs_chord_is_packed - does the backend have this block for packed rows? */
bool cs_chord_is_packed(const cs_ctx *cx, const cs_chord *k);

/* Blocks for a prediction: input, depth, output. */
typedef struct cs_chord_run {
    const cs_chord *block;
    int32_t         n_block, depth;   /* blocks of the encoder; how many of them to pass, >= 1 */
    const int32_t  *id;          /* tokens, or NULL */
    cs_mat          x;           /* their embedding (V, d); or rows (N, d), which are overwritten */
    bool            mean;        /* only the mean over each segment is required */
} cs_chord_run;

/**
 * cs_chord_infer - the rows after block `depth`, or their means, by the fastest path
 *
 * With tokens the first block is a table over the vocabulary, bit-equal to the block itself up to
 * 384 columns. For means, the second product of the last block runs once per mean instead of per
 * row: equal up to rounding.
 *
 * Returns  x, or with q->mean a new (n_seg, d) matrix
 */
cs_mat cs_chord_infer(cs_ctx *cx, cs_seg seg, const cs_chord_run *q);

/** cs_chord_can_infer - is this path available? Not for gradients, block hooks, tokens with too
 * large a vocabulary, or tokens without mean */
bool cs_chord_can_infer(const cs_ctx *cx, const cs_chord_run *q);

/** cs_chord_is_fused - is that one kernel that stores only x and y? */
bool cs_chord_is_fused(const cs_ctx *cx, const cs_chord *k);

#endif

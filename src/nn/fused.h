/* fused.h - steps that a backend may have a kernel of their own for. */
#ifndef CS_NN_FUSED_H
#define CS_NN_FUSED_H

#include "nn/ctx.h"

/**
 * cs_chord_block - y = x + rotated(fc2(gelu(fc1 x))), a ChordMixer block without norms or dropout
 *
 * k        weights (cs_value of the parameters)
 * Shapes   x, y (N, d); w1 (h, d), b1 (1, h), w2 (d, h), b2 (1, d)
 * Aliasing y and x do not overlap
 */
void cs_chord_block(cs_ctx *cx, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y);

/** cs_chord_is_fused - will that be one kernel, which keeps nothing but x and y? */
bool cs_chord_is_fused(const cs_ctx *cx, const cs_chord *k);

#endif

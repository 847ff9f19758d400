/* reversible.h - steps that add, rotated, what a part of the network makes of its input: residuals
 * of ChordMixer, also such that can be undone. */
#ifndef CS_NN_REVERSIBLE_H
#define CS_NN_REVERSIBLE_H

#include "nn/ops/tape.h"

/* What is added: h = f(net, x). f writes every element of its y, and reads nothing that later steps
 * change but x. by_rows: a row of h follows from that row of x alone; f then gets some rows at a
 * time, and segments that are not theirs. Rows that are computed at once have dropout masks of
 * their own. track: w, columns of a track. */
typedef struct cs_mix {
    cs_block_fn f;
    const void *net;             /* outlives the pass */
    bool        by_rows;
    int32_t     track;
} cs_mix;

/**
 * cs_reversible - add what one half makes of itself to the other half, in place
 *
 *   y[o+t, i*w+j] += h[o + (t + s_i) mod L, i*w+j],   s_0 = 0, s_i = 2^(i-1)
 *
 * Training keeps nothing of it. Going backward f runs again, with the same dropout masks, and what
 * it gave is taken from y, so that y holds, up to rounding, what it held before this step, for
 * the steps before that one to continue from. Every step leaves a rounding of the larger of the y
 * before and after it, and the steps before it carry that on: ten blocks with their initial weights
 * give back an input of size 1 to 7e-5 in float, and gradients to 6e-6 of their norm
 * (tests/nn/test_reversible.c).
 *
 * Shapes   x, y (N, n_track * w), rows may be apart (ld); o, L: start and length of a segment
 * Aliasing x and y share no element
 * Source   Gomez, Ren, Urtasun, Grosse, The reversible residual network, 2017, eq. 6 to 8
 */
void cs_reversible(cs_ctx *cx, const cs_mix *mix, cs_seg seg, cs_mat x, cs_mat y);

/**
 * cs_residual - the same with x added, into a new y: y = x + rotated h, when training
 *
 * With cx->keep only x is needed going backward, where f runs again; else all that f computes is
 * kept. Gradients are the same to the bit.
 *
 * mix      by rows
 */
void cs_residual(cs_ctx *cx, const cs_mix *mix, cs_seg seg, cs_mat x, cs_mat y);

#endif

/* reversible.h - residual steps of ChordMixer with rotation, also reversible ones. */
#ifndef CS_NN_REVERSIBLE_H
#define CS_NN_REVERSIBLE_H

#include "nn/ops/tape.h"

/* The residual h = f(net, x). f writes every element of its y, and reads only x of the data that
 * later steps change. by_rows: a row of h depends on that row of x alone; f then gets ranges of
 * rows, with segments that do not match them. Each range has its own dropout masks. track: w,
 * columns of a track. */
typedef struct cs_mix {
    cs_block_fn f;
    const void *net;             /* outlives the pass */
    bool        by_rows;
    int32_t     track;
} cs_mix;

/**
 * cs_reversible - add the rotated function of one half to the other half, in place
 *
 *   y[o+t, i*w+j] += h[o + (t + s_i) mod L, i*w+j],   s_0 = 0, s_i = 2^(i-1)
 *
 * Training stores nothing of it. The backward pass recomputes f with the same dropout masks and
 * subtracts it from y, which restores y before this step, up to rounding. Every step adds a
 * rounding error of the larger y, which propagates to earlier steps: ten blocks with initial
 * weights restore an input of size 1 to 7e-5 in float, and gradients to 6e-6 of their norm
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
 * With cx->keep the backward pass needs only x and recomputes f; else all intermediate values are
 * stored. Gradients are bit-equal.
 *
 * mix      by rows
 */
void cs_residual(cs_ctx *cx, const cs_mix *mix, cs_seg seg, cs_mat x, cs_mat y);

#endif

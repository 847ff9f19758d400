/* couple.h - a step that can be undone: what it took is computed from what it gave. */
#ifndef CS_NN_COUPLE_H
#define CS_NN_COUPLE_H

#include "nn/tape.h"

/**
 * cs_couple - add what one half makes of itself to the other half, in place
 *
 *   y[o+t, i*w+j] += h[o + (t + s_i) mod L, i*w+j],   h = f(net, x),   s_0 = 0, s_i = 2^(i-1)
 *
 * Training keeps nothing of it. Going backward f runs again, with the same dropout masks, and what
 * it gave is taken from y, so that y holds, up to rounding, what it held before this step, for
 * the steps before that one to go on from. Every step leaves a rounding of the larger of the y
 * before and after it, and the steps before it carry that on: ten blocks with their initial weights
 * give back an input of size 1 to 7e-5 in float, and gradients to 6e-6 of their norm
 * (tests/nn/test_reversible.c).
 *
 * f        writes every element of its y, and reads nothing that later steps change but x
 * net      must outlive the pass
 * track    w, columns of a track
 * Shapes   x, y (N, n_track * w), rows may be apart (ld); o, L: start and length of a segment
 * Aliasing x and y share no element
 * Source   Gomez, Ren, Urtasun, Grosse, The reversible residual network, 2017, eq. 6 to 8
 */
void cs_couple(cs_ctx *cx, cs_block_fn f, const void *net, cs_seg seg, int32_t track, cs_mat x,
               cs_mat y);

#endif

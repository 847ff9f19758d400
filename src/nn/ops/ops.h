/* ops.h - ops of networks: check shapes, compute, push the adjoint on the tape.
 *
 * Conventions. x is read, y is written (uninitialised before); N is the number of rows. In a dry
 * run shapes are checked and nothing is computed. Wrong shapes are CS_BUG. A matrix without rows is
 * "absent". Adjoints add to the gradients of every operand, parameters included.
 */
#ifndef CS_NN_OPS_H
#define CS_NN_OPS_H

#include "nn/ops/ctx.h"

/** cs_affine - y = x w' + b. Shapes x (N, c), w (h, c), b (1, h) or absent, y (N, h) */
void cs_affine(cs_ctx *cx, cs_mat x, cs_mat w, cs_mat b, cs_mat y);

/** cs_act_in_place - may y of cs_activate() be x? Not if its adjoint reads x */
bool cs_act_in_place(const cs_ctx *cx, cs_act f);
/** cs_activate - y = f(x), element by element. y may be x if cs_act_in_place() */
void cs_activate(cs_ctx *cx, cs_act f, cs_mat x, cs_mat y);

/** cs_add - y = a + b. Same shapes; y overlaps neither, unless the context is not recording */
void cs_add(cs_ctx *cx, cs_mat a, cs_mat b, cs_mat y);

/** cs_sub - y = a - b. Same shapes; y overlaps neither */
void cs_sub(cs_ctx *cx, cs_mat a, cs_mat b, cs_mat y);

/** cs_mul - y = a b, element by element. As cs_add */
void cs_mul(cs_ctx *cx, cs_mat a, cs_mat b, cs_mat y);

/**
 * cs_dropout - x * keep / (1 - p), keep of element (r, j) drawn from the pass's key, the number of
 * dropout layers before this one, and r * c + j
 *
 * Returns  a new matrix; x itself when not training or p is 0
 */
cs_mat cs_dropout(cs_ctx *cx, double p, cs_mat x);

/** cs_embed - y[r,:] = table[id[r],:]. Row `pad` of the table gets no gradient. id [N], host or
 * backend memory, must live until the backward pass */
void cs_embed(cs_ctx *cx, const int32_t *id, int32_t pad, cs_mat table, cs_mat y);

/** cs_embed_mean - y[s,:] = mean over segment s of table[id[r],:], by the tokens' counts where that
 * is shorter; id as in cs_embed. On the tape only where the backend has embed_mean_bwd.
 * Shapes table (V, c), y (n_seg, c) */
void cs_embed_mean(cs_ctx *cx, cs_seg seg, const int32_t *id, cs_mat table, cs_mat y);

/** cs_count_mean - cs_embed_mean of one segment of n tokens, given as count[v] occurrences of each
 * token v. Not on the tape; only where the backend has count_mean. count [V]: host memory, y (1, c)
 */
void cs_count_mean(cs_ctx *cx, const int64_t *count, int64_t n, cs_mat table, cs_mat y);

/** cs_seg_words - the words that tokens make, as cs_ops.seg_words has them. Not on the tape. id,
 * word [N]: backend memory, NULL in a dry run */
void cs_seg_words(cs_ctx *cx, cs_seg seg, const int32_t *id, cs_words w, int32_t *word);

/**
 * cs_roll_add - y = x + rotated h
 *
 *   y[o+t, i*w+j] = x[o+t, i*w+j] + h[o + (t + s_i) mod L, i*w+j],   s_0 = 0, s_i = 2^(i-1)
 *
 * Shapes   h, x, y (N, n_track * w); o, L: start and length of a segment; w: track
 * Aliasing y overlaps neither
 * Source   Khalitov et al., ChordMixer; reference models/chordmixer.py, class Rotate
 */
void cs_roll_add(cs_ctx *cx, cs_seg seg, int32_t track, cs_mat h, cs_mat x, cs_mat y);

/** cs_seg_mean - mean over the rows of each segment. Shapes x (N, c), y (n_seg, c) */
void cs_seg_mean(cs_ctx *cx, cs_seg seg, cs_mat x, cs_mat y);
/** cs_seg_window - mean over the first n rows of each segment, or over the n in its centre; over
 * all rows of a shorter one. Shapes x (N, c), y (n_seg, c) */
void cs_seg_window(cs_ctx *cx, cs_seg seg, bool centre, int64_t n, cs_mat x, cs_mat y);

/** cs_seg_max - the largest of every column in each segment, whose first row gets the gradient;
 * soft: the logarithm of the mean of exponentials. Shapes x (N, c), y (n_seg, c) */
void cs_seg_max(cs_ctx *cx, cs_seg seg, bool soft, cs_mat x, cs_mat y);

/* ---- normalisations: gamma, beta (1, c); x, y (N, c), not overlapping ------------------------ */

#define CS_NORM_EPS 1e-5         /* added to variances; that of PyTorch */
#define CS_NORM_MOMENTUM 0.1     /* the batch's weight in running statistics */

/** cs_layernorm - over the columns of every row */
void cs_layernorm(cs_ctx *cx, cs_mat x, cs_mat gamma, cs_mat beta, cs_mat y);
/** cs_groupnorm - over c/n_group neighbouring columns and all rows of a segment */
void cs_groupnorm(cs_ctx *cx, cs_seg seg, int32_t n_group, cs_mat x, cs_mat gamma, cs_mat beta,
                  cs_mat y);
/** cs_batchnorm - over the rows of the batch when training, which updates running (2, c: mean and
 * variance); with the running statistics otherwise */
void cs_batchnorm(cs_ctx *cx, cs_mat x, cs_mat gamma, cs_mat beta, cs_mat running, cs_mat y);

/* ---- predictions and losses ------------------------------------------------------------------ */

/** cs_softmax - over the columns, in place; not on the tape (predictions only) */
void cs_softmax(cs_ctx *cx, cs_mat x);
/** cs_xent - cross-entropy added to cx->loss; arguments as cs_ops.xent */
void cs_xent(cs_ctx *cx, cs_real scale, cs_mat logit, cs_mat target, cs_mat weight);
/** cs_xent_tree - the same summed up a tree of classes; arguments as cs_ops.xent_tree */
void cs_xent_tree(cs_ctx *cx, cs_real scale, const cs_clades *k, cs_mat logit, cs_mat target);
/** cs_xent_labels - the same of labels, each entry on its own; arguments as cs_ops.xent_labels */
void cs_xent_labels(cs_ctx *cx, cs_real scale, cs_mat logit, cs_mat target, cs_mat weight);
/** cs_mse - squared error added to cx->loss; arguments as cs_ops.mse */
void cs_mse(cs_ctx *cx, cs_real scale, cs_mat y, cs_mat target);

#endif

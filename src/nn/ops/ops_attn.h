/* ops_attn.h - ops of attention; see ops.h.
 *
 * Heads are adjacent groups of columns. Padding rows (cs_seg.n_valid) are computed like others and
 * ignored.
 */
#ifndef CS_NN_OPS_ATTN_H
#define CS_NN_OPS_ATTN_H

#include "nn/ops/ctx.h"

/** cs_matmul - y = x w. Shapes x (N, c), w (c, h), y (N, h) */
void cs_matmul(cs_ctx *cx, cs_mat x, cs_mat w, cs_mat y);

/** cs_gram - y = x' x. Shapes x (N, c), y (c, c) */
void cs_gram(cs_ctx *cx, cs_mat x, cs_mat y);

/**
 * cs_attend - softmax attention
 *
 *   y[t, head h] = sum_j p_tj v[j, head g],   p_t = softmax_j(scale <q[t, h], k[j, g]>)
 *
 * a        which rows attend to which; key.off may be NULL. In training the share `dropout` of the
 *          weights p is dropped and the rest divided by 1 - dropout; the mask depends on the pass's
 *          key (drop_key is set here) and positions within the record only
 * Shapes   q (N, n_head * dk), k (M, n_g * dk), v (M, n_g * dv), y (N, n_head * dv); n_g divides
 *          n_head, and head h attends to g = h * n_g / n_head
 * Memory   linear: N * n_head reals beside y, for any lengths
 * Source   Vaswani et al., Attention is all you need, eq. 1; Dao et al., FlashAttention, 2022
 */
void cs_attend(cs_ctx *cx, const cs_attn *a, cs_mat q, cs_mat k, cs_mat v, cs_mat y);

/**
 * cs_linear_attend - attention whose kernel is a product of positive features
 *
 *   y[t, h] = q[t, h] sum_j k[j, h]' v[j, h] / <q[t, h], sum_j k[j, h]>
 *
 * Shapes   q, k (., n_head * dk), v, y (., n_head * dv)
 * Source   Katharopoulos et al., Transformers are RNNs, 2020, eq. 5
 */
void cs_linear_attend(cs_ctx *cx, const cs_attn *a, cs_mat q, cs_mat k, cs_mat v, cs_mat y);

/** cs_seg_gemm - c = op(a) op(b) per segment; op transposes when its flag is set */
void cs_seg_gemm(cs_ctx *cx, cs_seg seg, bool ta, bool tb, cs_operand a, cs_operand b,
                 cs_operand c);

/** cs_seg_softmax - of every column over the rows of each segment. x, y (N, c) */
void cs_seg_softmax(cs_ctx *cx, cs_seg seg, cs_mat x, cs_mat y);

/** cs_row_softmax - of every row over its columns */
void cs_row_softmax(cs_ctx *cx, cs_mat x, cs_mat y);

/** cs_scale_add - y = scale x + b. Same shapes; b may be absent */
void cs_scale_add(cs_ctx *cx, double scale, cs_mat x, cs_mat b, cs_mat y);

/** cs_seg_mask - y = x, with `value` in every row of padding */
void cs_seg_mask(cs_ctx *cx, cs_seg seg, cs_real value, cs_mat x, cs_mat y);

/** cs_seg_position - y[o+t,:] = x[o+t,:] + scale * table[t,:]. A fixed table gets no gradient.
 * Shapes table (T, c), T at least the longest segment */
void cs_seg_position(cs_ctx *cx, cs_seg seg, bool fixed, cs_real scale, cs_mat table, cs_mat x,
                     cs_mat y);

/**
 * cs_penalty - add a regulariser to the loss
 *
 * scale    factor, along with the context's aux_scale; no penalty if that is 0
 * x        (m * c, c): square blocks, penalised together
 */
void cs_penalty(cs_ctx *cx, cs_penalty_kind kind, double scale, cs_mat x);

#endif

/* ops_conv.h - circular dilated convolutions inside segments, and their weights. */
#ifndef CS_NN_OPS_CONV_H
#define CS_NN_OPS_CONV_H

#include "nn/ops/ctx.h"

/**
 * cs_conv_weight - convert weights from torch's layout to that of cs_conv()
 *
 *   w[k*c + i, o] = v[o, i*K + k] * (g[o] / ||v[o,:]||, or 1 without g)
 *
 * Shapes   v (h, c * n_tap), g (h, 1) or absent; returns (n_tap * c, h)
 * Source   Salimans, Kingma, Weight normalization, 2016; torch.nn.utils.weight_norm with dim 0
 */
cs_mat cs_conv_weight(cs_ctx *cx, int32_t n_tap, cs_mat v, cs_mat g);

/**
 * cs_conv - circular convolution inside each segment
 *
 *   y[o+t,:] = bias + sum_k x[o + (t + (k - (K-1)/2) D) mod L, :] w_k
 *
 * taps     K (odd) and the dilation D; K D may exceed L
 * Shapes   x (N, c), w (K * c, h) of cs_conv_weight(), bias (1, h) or absent, y (N, h)
 * Aliasing y overlaps nothing
 * Source   Cheng, Khalitov, Yu, Zhang, Yang, CDIL-CNN, 2023, equation 1 with the dilation
 */
void cs_conv(cs_ctx *cx, cs_seg seg, cs_taps taps, cs_mat x, cs_mat w, cs_mat bias, cs_mat y);

/**
 * cs_conv_infer - y = relu(norm(conv(x) + bias)) + res in one step, for predictions
 *
 * epi      bias, norm over a row's channels, and res; each may be absent. eps is set here
 * Shapes   as cs_conv(); gamma, beta (1, h), res (N, h)
 * Aliasing y overlaps nothing
 * Not on the tape; only if cs_conv_can_infer()
 */
void cs_conv_infer(cs_ctx *cx, cs_seg seg, cs_taps taps, cs_mat x, cs_mat w,
                   const cs_epilogue *epi, cs_mat y);

/** cs_conv_can_infer - does the backend have such a step for matrices of these sizes (p is not
 * used), and is this pass a prediction? */
bool cs_conv_can_infer(const cs_ctx *cx, cs_taps taps, cs_mat x, cs_mat y, bool norm);

/** cs_conv_train - the same on the tape, for an epilogue with gamma; only if cs_conv_can_train() */
void cs_conv_train(cs_ctx *cx, cs_seg seg, cs_taps taps, cs_mat x, cs_mat w,
                   const cs_epilogue *epi, cs_mat y);

/** cs_conv_can_train - does the backend have such a step and its adjoint for these sizes, and is
 * this pass a training pass? Not in passes by the rescale rule */
bool cs_conv_can_train(const cs_ctx *cx, cs_taps taps, cs_mat x, cs_mat y);

/**
 * cs_conv_fold - move a batch normalisation with running statistics into the convolution before it
 *
 *   w[:,o] *= s_o,  bias[o] = beta_o - mean_o s_o,  s_o = gamma_o / sqrt(var_o + eps)
 *
 * w        (K * c, h), changed
 * Shapes   gamma, beta (1, h), running (2, h: mean and variance); returns the bias (1, h)
 * Not on the tape: for predictions only
 */
cs_mat cs_conv_fold(cs_ctx *cx, cs_mat gamma, cs_mat beta, cs_mat running, cs_mat w);

#endif

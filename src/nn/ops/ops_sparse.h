/* ops_sparse.h - products of sparse factors with the tokens, inside segments. */
#ifndef CS_NN_OPS_SPARSE_H
#define CS_NN_OPS_SPARSE_H

#include "nn/ops/ctx.h"

/** cs_links_chord - links to the token itself and to those at 1, 2, 4 .. 2^(n-2) ahead: n in all */
cs_links cs_links_chord(int32_t n);
/** cs_links_dilated - links to the token itself and to the four on either side, 2^level apart */
cs_links cs_links_dilated(int32_t level);

/**
 * cs_sparse - multiply by a sparse factor, and add
 *
 *   y[o+t,:] = r[o+t,:] + sum_k w[o+t,k] v[o + (t + off_k) mod L, :]
 *
 * links    must outlive the backward pass; one per column of w
 * Shapes   w (N, n), n <= links->n, v, y (N, c), r (N, c) or absent; r may be v
 * Aliasing y overlaps nothing
 * Source   Khalitov et al., PSF-Attn, 2022; Yu et al., Paramixer, 2022; torch_sparse.spmm
 */
void cs_sparse(cs_ctx *cx, cs_seg seg, const cs_links *links, cs_mat w, cs_mat v, cs_mat r,
               cs_mat y);

#endif

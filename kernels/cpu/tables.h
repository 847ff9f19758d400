/* tables.h - each file of kernels/cpu fills its part of the op table by one of these functions. */
#ifndef CS_KERNELS_CPU_TABLES_H
#define CS_KERNELS_CPU_TABLES_H

#include "kernels/backend.h"
#include "kernels/cpu/level.h"

/** cs_cpu_fill - fill in reference kernels, then those of cs_cpu_has(); `mask` hides CS_CPU_* bits
 * (tests) */
void cs_cpu_fill(cs_backend *be, unsigned mask);

/* reference kernels */
void cs_ref_dense(cs_ops *op);
void cs_ref_norm(cs_ops *op);
void cs_ref_seg(cs_ops *op);
void cs_ref_pool(cs_ops *op);
void cs_ref_attn(cs_ops *op);
void cs_ref_attn_seg(cs_ops *op);
void cs_ref_linear_attn(cs_ops *op);
void cs_ref_conv(cs_ops *op);
void cs_ref_sparse(cs_ops *op);
void cs_ref_loss(cs_ops *op);
void cs_ref_bag(cs_fused *fused);

/** cs_ref_act, cs_ref_act_bwd - reference activations, for kinds without a vectorised kernel */
void cs_ref_act(cs_backend *be, cs_act f, cs_mat x, cs_mat y);
void cs_ref_act_bwd(cs_backend *be, cs_act f, cs_mat x, cs_mat dy, cs_mat dx);

#ifndef CS_DOUBLE
/** cs_level_fill_... - the kernels of one instruction set: vec_level.c */
void cs_level_fill_avx2(cs_backend *be, bool fused);
void cs_level_fill_avx512(cs_backend *be, bool fused);
void cs_level_fill_neon(cs_backend *be, bool fused);
/** cs_level_fill_bf16 - over the kernels of avx512: products in bf16 */
void cs_level_fill_bf16(cs_backend *be, bool fused);

/** cs_level_fill_bfmmla - over the kernels of neon: the same */
void cs_level_fill_bfmmla(cs_backend *be, bool fused);

/** cs_level_fill_amx - over the kernels of bf16: products by tiles */
void cs_level_fill_amx(cs_backend *be, bool fused);

/* kernels of one instruction set */
void cs_vec_gemm(cs_ops *op);
void cs_vec_elt(cs_ops *op);
void cs_vec_attn(cs_ops *op);
void cs_vec_bag(cs_ops *op, cs_fused *fused);
void cs_vec_norm(cs_ops *op);
void cs_vec_seg(cs_ops *op);
void cs_vec_softmax(cs_ops *op);
void cs_vec_conv(cs_ops *op);
void cs_vec_conv_weight(cs_ops *op);
void cs_vec_sparse(cs_ops *op);
void cs_vec_conv_epilogue(cs_fused *fused);
void cs_vec_epilogue_bwd(cs_fused *fused);
void cs_vec_chord(cs_fused *fused);
void cs_vec_chord_block(cs_fused *fused);
void cs_vec_affine(cs_fused *fused);
#endif

#endif

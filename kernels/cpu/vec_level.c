/* vec_level.c - the kernels of one instruction set. */
#include "kernels/cpu/tables.h"

#if !CS_LEVEL_PAIRS
void cs_level_fill(cs_backend *be, bool fused)
{
    cs_ops *op = &be->op;
    cs_vec_gemm(op);
    cs_vec_elt(op);
    cs_vec_attn(op);
    cs_vec_bag(op, &be->fused);
    cs_vec_norm(op);
    cs_vec_seg(op);
    cs_vec_softmax(op);
    cs_vec_conv(op);
    cs_vec_conv_weight(op);
    cs_vec_sparse(op);
    if (fused) {
        cs_vec_conv_epilogue(&be->fused);
        cs_vec_epilogue_bwd(&be->fused);
        cs_vec_chord(&be->fused);
        cs_vec_chord_block(&be->fused);
        cs_vec_affine(&be->fused);
    }
}
#elif !CS_LEVEL_IS(amx)
/* Blocks for training are composed. */
void cs_level_fill(cs_backend *be, bool fused)
{
    cs_vec_gemm(&be->op);
    cs_vec_conv(&be->op);
    be->fused.chord_block = NULL;
    be->fused.chord_block_bwd = NULL;
    if (fused) {
        cs_vec_conv_epilogue(&be->fused);
        cs_vec_chord(&be->fused);
        cs_vec_affine(&be->fused);
    }
}
#else
void cs_level_fill(cs_backend *be, bool fused)
{
    cs_vec_gemm(&be->op);
    cs_vec_conv(&be->op);
    if (fused) {
        cs_vec_conv_epilogue(&be->fused);
        cs_vec_chord(&be->fused);
        cs_vec_chord_block(&be->fused);
        cs_vec_affine(&be->fused);
    }
}
#endif

/* vec_level.c - the kernels of one instruction set. */
#include "kernels/cpu/tables.h"

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
    cs_vec_sparse(op);
    if (fused) {
        cs_vec_chord(&be->fused);
        cs_vec_affine(&be->fused);
    }
}

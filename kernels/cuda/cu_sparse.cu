/* cu_sparse.cu - product with a sparse factor, one weight per link and token.
 *
 * Source: Khalitov et al., Sparse factorization of square matrices with application to neural
 * attention modeling, 2022; Yu et al., Paramixer, 2022. Both gradients gather.
 */
#include "kernels/cuda/device.cuh"

__device__ static int64_t linked(const cs_links &l, int32_t k, int sign, const cs_token_pos &at)
{
    return at.start + cs_wrap(at.t + sign * l.off[k], at.len);
}

static void cuda_seg_sparse(cs_backend *be, cs_seg seg, const cs_links *links, cs_mat w, cs_mat v,
                            cs_mat rest, cs_mat y)
{
    const cs_links l = *links;
    cs_each_token(be, seg, y.c, [=] __device__(cs_token_pos at, int64_t r, int32_t j) {
        double sum = 0;
        for (int32_t k = 0; k < w.c; k++)
            sum += (double)cs_el(w, r, k) * cs_el(v, linked(l, k, 1, at), j);
        cs_el(y, r, j) = (cs_real)((rest.r ? (double)cs_el(rest, r, j) : 0) + sum);
    });
}

static void cuda_seg_sparse_bwd(cs_backend *be, cs_seg seg, const cs_links *links, cs_mat w,
                                cs_mat v, cs_mat dy, cs_mat dw, cs_mat dv)
{
    const cs_links l = *links;
    cs_each_token(be, seg, w.c, [=] __device__(cs_token_pos at, int64_t r, int32_t k) {
        int64_t from = linked(l, k, 1, at);
        double sum = 0;
        for (int32_t j = 0; j < dy.c; j++)
            sum += (double)cs_el(dy, r, j) * cs_el(v, from, j);
        cs_el(dw, r, k) += (cs_real)sum;
    });
    cs_each_token(be, seg, dv.c, [=] __device__(cs_token_pos at, int64_t r, int32_t j) {
        double sum = 0;
        for (int32_t k = 0; k < w.c; k++) {
            int64_t from = linked(l, k, -1, at);
            sum += (double)cs_el(w, from, k) * cs_el(dy, from, j);
        }
        cs_el(dv, r, j) += (cs_real)sum;
    });
}

void cs_cuda_sparse(cs_ops *op)
{
    op->seg_sparse = cuda_seg_sparse;
    op->seg_sparse_bwd = cuda_seg_sparse_bwd;
}

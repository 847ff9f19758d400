/*
 * broken_kernel.c - the program with a planted fault: on the level avx2, one element of a matrix
 * product is off by a thousandth, as on a processor that computes wrong numbers.
 *
 * The linker puts __wrap_cs_vec_gemm_avx2 in the place of the function that fills the table.
 */
#include <math.h>

#include "kernels/cpu/impl.h"

void __real_cs_vec_gemm_avx2(cs_ops *op);
void __wrap_cs_vec_gemm_avx2(cs_ops *op);

static void (*sound)(cs_backend *be, bool ta, bool tb, cs_mat a, cs_mat b, cs_real beta, cs_mat c);

static void broken(cs_backend *be, bool ta, bool tb, cs_mat a, cs_mat b, cs_real beta, cs_mat c)
{
    sound(be, ta, tb, a, b, beta, c);
    cs_real *x = cs_row(c, c.r - 1) + c.c - 1;
    *x += (cs_real)1e-3 * (1 + fabsf((float)*x));
}

void __wrap_cs_vec_gemm_avx2(cs_ops *op)
{
    __real_cs_vec_gemm_avx2(op);
    sound = op->gemm;
    op->gemm = broken;
}

/* svd.h - singular values and vectors of a dense matrix, by LAPACK. */
#ifndef CS_NN_SVD_H
#define CS_NN_SVD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* a = u diag(s) vt: k = min(m, n), s descending, the largest element of every column of u
 * positive. Row after row. */
typedef struct cs_svd { int64_t m, n, k; double *u, *s, *vt; } cs_svd;

/** cs_have_lapack - was the program built with it? */
bool cs_have_lapack(void);

/**
 * cs_svd_new - a (m, n), row after row; it stays as it is
 *
 * Returns  CS_OK; CS_EMEM; CS_EUSAGE in a program without LAPACK, or for a matrix on which LAPACK
 *          does not converge (one that is not finite)
 */
int  cs_svd_new(int64_t m, int64_t n, const double *a, cs_svd *out) CS_MUST_CHECK;
void cs_svd_release(cs_svd *d);

#endif

/* matrix_fit.h - approximate a square matrix by sparse factors, by gradient descent. */
#ifndef CS_TOOLS_MATRIX_FIT_H
#define CS_TOOLS_MATRIX_FIT_H

#include "nn/ops/ops_sparse.h"

typedef struct cs_matrix_fit_opt {
    int64_t  n_factor;           /* 0: ceil(log2 n) */
    int64_t  n_step;
    double   lr;                 /* Adam's; warmed up, then a cosine to 0 */
    uint64_t seed;
} cs_matrix_fit_opt;

/* W_0 .. W_n_factor-1, applied in this order: the last one is the leftmost. Row i of W_m has the
 * value w[(m * n + i) * link.n + k] in column (i + link.off[k]) mod n. */
typedef struct cs_matrix_factors {
    int64_t  n;
    int32_t  n_factor;
    cs_links link;
    double  *w;                  /* [n_factor * n * link.n] */
    double  *product;            /* [n * n] of these weights, in double precision */
    double   error;              /* Frobenius norm of the matrix minus the product */
} cs_matrix_factors;

/** cs_matrix_factors_nonzeros - weights of all factors together */
static inline int64_t cs_matrix_factors_nonzeros(const cs_matrix_factors *f)
{
    return f->n_factor * f->n * f->link.n;
}

/** cs_frobenius - the norm of a - b; b NULL: of a. Elements are added row by row */
double cs_frobenius(int64_t n, const double *a, const double *b);

/** cs_matrix_fit_count - the number of factors of an (n, n) matrix */
int32_t cs_matrix_fit_count(int64_t n, const cs_matrix_fit_opt *opt);

/**
 * cs_matrix_fit - factors of the chord protocol whose product is near a
 *
 * a        (n, n), row after row; 2 <= n <= 32768
 * Returns  CS_OK; CS_EUSAGE if the fit diverged (lower the learning rate); CS_EMEM; CS_ECANCEL
 *          after a signal
 * Source   Khalitov et al., Sparse factorization of large square matrices, 2022, sec. 3
 */
int  cs_matrix_fit(cs_backend *be, int64_t n, const double *a, const cs_matrix_fit_opt *opt,
                   cs_matrix_factors *f) CS_MUST_CHECK;
void cs_matrix_factors_release(cs_matrix_factors *f);

#endif

/* factorization.h - factorize a matrix file: sparse factors, truncated SVD beside them, outputs. */
#ifndef CS_TOOLS_FACTORIZATION_H
#define CS_TOOLS_FACTORIZATION_H

#include "tools/matrix_fit.h"

typedef struct cs_factorization {
    const char *input;           /* NPY, a square matrix */
    const char *output;          /* prefix of the factors' files; NULL: none */
    const char *plot;            /* SVG or PNG; NULL: none */
    bool        dense;           /* write dense factors */
    int         n_thread;        /* 0: one per processor */
    cs_matrix_fit_opt fit;
} cs_factorization;

/** cs_factorize - fit the factors, write them and the plot, and print the errors: all outputs or
 * none. CS_OK; CS_EUSAGE for outputs that cannot be written and for other arrays; CS_EFORMAT;
 * CS_EMEM; CS_EIO */
int cs_factorize(const cs_factorization *a) CS_MUST_CHECK;

#endif

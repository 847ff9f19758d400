/* prior.h - class shares among the records of a run: --prior and --prior-file. */
#ifndef CS_INFER_PRIOR_H
#define CS_INFER_PRIOR_H

#include "nn/exec/model.h"

/**
 * cs_prior_new - the logarithms of the shares, over the largest one; to be added to the logits of a
 * prediction
 *
 * list     "CLASS=SHARE,...", or NULL
 * path     file of lines "CLASS<TAB>SHARE", if list is NULL; or NULL
 * out      receives [m->n_label] logarithms, -INFINITY for 0; free() it. NULL if both are NULL
 * Returns  CS_OK; CS_EUSAGE for a list, CS_EFORMAT with the line for a file: no class, an
 *          unknown one, one that occurs twice, no share from 0 to 1, a sum above 1, or below 1
 *          with all classes, a compressed file; CS_EIO; CS_EMEM
 *
 * Classes that are not named have equal shares of the rest.
 */
int cs_prior_new(const char *list, const char *path, const cs_model *m, double **out) CS_MUST_CHECK;

/** cs_prior_shares - the shares, with the sum 1, of n of these logarithms */
void cs_prior_shares(const double *prior, int32_t n, double *share);

#endif

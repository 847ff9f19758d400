/* prior.h - class shares among the records of a run: --prior and --prior-file. */
#ifndef CS_INFER_PRIOR_H
#define CS_INFER_PRIOR_H

#include "base/opt.h"
#include "nn/exec/model.h"

/* One or none: "CLASS=SHARE,..." or "auto", or a file of lines "CLASS<TAB>SHARE". */
typedef struct cs_prior_args {
    const char *list, *file;
    bool        estimates;       /* no option: the command estimates the shares for "auto" */
} cs_prior_args;

extern const cs_opt cs_prior_table[];      /* --prior, --prior-file */

/**
 * cs_prior_new - the logarithms of the shares, over the largest one; to be added to the logits of a
 * prediction
 *
 * m        of classes
 * out      receives [m->n_label] logarithms, -INFINITY for 0; free() it. NULL without shares, or
 *          for "auto" if a->estimates
 * Returns  CS_OK; CS_EUSAGE for another "auto", for both a list and a file, or a model with
 *          predictions per token; CS_EUSAGE for a list, CS_EFORMAT with the line for a file: no
 *          class, an unknown one, one that occurs twice, no share from 0 to 1, a sum above 1, or
 *          below 1 with all classes, a compressed file; CS_EIO; CS_EMEM
 *
 * Classes that are not named have equal shares of the rest.
 */
int cs_prior_new(const cs_prior_args *a, const cs_model *m, double **out) CS_MUST_CHECK;

/** cs_prior_is_auto - is it `--prior auto`, for cs_sample_prior()? */
bool cs_prior_is_auto(const cs_prior_args *a);

/** cs_prior_from_shares - n shares to such logarithms, in place */
void cs_prior_from_shares(double *share, int32_t n);
/** cs_prior_shares - the shares, with the sum 1, of n of these logarithms */
void cs_prior_shares(const double *prior, int32_t n, double *share);

#endif

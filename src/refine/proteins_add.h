/* proteins_add.h - add peptide words and proteins to a classifier that was just trained. */
#ifndef CS_REFINE_PROTEINS_ADD_H
#define CS_REFINE_PROTEINS_ADD_H

#include "base/opt.h"
#include "train/supervised.h"

typedef struct cs_proteins_add_args { int64_t size; } cs_proteins_add_args;

extern const cs_opt cs_proteins_add_table[];   /* --proteins */

/**
 * cs_proteins_extend - `add` of cs_train_extension: a look-up table of peptide words, and a
 * database of proteins
 *
 * Both are made from the training part. The groups of the validation part are halved, weights are
 * fitted to the crops of each half, and the model gets the mean of both. Scores are those of each
 * half with the weights of the other one. A group that is the only one of its class is in both
 * halves. If the balanced accuracy of these scores is more than 0.01 below that without proteins,
 * the model stays without them, with a warning, and so are the scores.
 *
 * arg      const cs_proteins_add_args
 * Returns  CS_OK; the errors of cs_model_make_lookup(), cs_model_make_proteins() and the fits;
 *          CS_EMEM
 */
int cs_proteins_extend(const void *arg, cs_model *m, cs_dataset *d, const cs_sampler *valid,
                       int64_t batch_tokens, cs_scores *scores) CS_MUST_CHECK;

/** cs_proteins_extensible - `check` of cs_train_extension: CS_OK; CS_EUSAGE for models that take no
 * proteins, and without two groups of validation records */
int cs_proteins_extensible(const cs_model *m, const cs_dataset *d) CS_MUST_CHECK;

#endif

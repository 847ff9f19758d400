/* proteins_add.h - add peptide words and proteins to a classifier that was just trained. */
#ifndef CS_REFINE_PROTEINS_ADD_H
#define CS_REFINE_PROTEINS_ADD_H

#include "base/opt.h"
#include "train/supervised.h"

extern const cs_opt cs_proteins_add_table[];   /* --proteins, of a cs_train_extension */

/**
 * cs_proteins_extension - a look-up table of peptide words and a database of proteins, of `size`
 * bytes together
 *
 * Both are made from the training part before the training. Afterwards the groups of the validation
 * part are halved, weights are fitted to the crops of each half, and the model gets the mean of
 * both. Scores are those of each half with the weights of the other one. A group that is the only
 * one of its class is in both halves. If the balanced accuracy of these scores is more than 0.01
 * below that without proteins, the model stays without them, with a warning, and so are the scores.
 *
 * Models that take no proteins and data without two groups of validation records fail its check.
 * Its functions return CS_OK; CS_EUSAGE; CS_EMEM; the errors of cs_model_make_lookup(),
 * cs_model_make_proteins(), and the fits.
 */
cs_train_extension cs_proteins_extension(int64_t size);

#endif

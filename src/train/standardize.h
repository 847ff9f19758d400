/* standardize.h - means and standard deviations of values to predict. */
#ifndef CS_TRAIN_STANDARDIZE_H
#define CS_TRAIN_STANDARDIZE_H

#include "nn/exec/model.h"
#include "train/dataset.h"

/**
 * cs_standardize_labels - set mean and deviation of each value to those of the training records
 *
 * The head then learns numbers of mean 0 and deviation 1, whatever the units, and every value has
 * the same weight in the loss. A constant value gets deviation 1; a value that no training record
 * has stays as it is, with deviation 0.
 *
 * d        of real values, with its parts
 * label    [d->n_target]
 */
void cs_standardize_labels(const cs_dataset *d, cs_label *label);

/**
 * cs_standardize_check - warn of values whose size the head does not expect: without
 * standardization, or with that of another model's data
 *
 * remedy   ends the sentence, such as "omit --no-standardize"
 */
void cs_standardize_check(const cs_dataset *d, const cs_model *m, const char *remedy);

#endif

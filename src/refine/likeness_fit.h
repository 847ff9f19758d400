/* likeness_fit.h - fit the detection of sequences unlike the training, from real and shuffled
 * ones. */
#ifndef CS_REFINE_LIKENESS_FIT_H
#define CS_REFINE_LIKENESS_FIT_H

#include "nn/exec/calibration.h"
#include "train/dataset.h"

/**
 * cs_likeness_fit - weights of the 6-mers' contrast, and limits by length and class
 *
 * The weights separate sequences of 1,000 bases and more from themselves, shuffled with their 1-,
 * 2- or 3-mers kept in turn (linear discriminant of diagonal variance). A limit is the quantile
 * 0.02 of the score, or 0.998 of repetition, of the sequences of a class in a length range; with
 * fewer than 50 sequences nothing is rejected.
 *
 * d        sequences with classes below n_class, each of a length typical for classification; those
 *          in CS_PART_SKIP are left out
 * c        with length ranges; its n_class is set
 * Returns  CS_OK; CS_EFORMAT without 100 sequences of 1,000 bases; CS_EMEM. A note per range states
 *          how many shuffled sequences are rejected
 */
int cs_likeness_fit(const cs_dataset *d, int32_t n_class, uint64_t seed, cs_calibration *c)
    CS_MUST_CHECK;

#endif

/* baseline.h - baseline: logistic regression on k-mer frequencies. */
#ifndef CS_TRAIN_BASELINE_H
#define CS_TRAIN_BASELINE_H

#include "train/sampler.h"

/* Metrics on the validation samples. */
typedef struct cs_baseline {
    int64_t n_train, n_valid;
    double  accuracy, balanced, loss;
} cs_baseline;

/**
 * cs_baseline_fit - fit on training samples, evaluate on validation samples
 *
 * Softmax regression on the square roots of the frequencies of 5-mers, a word and its reverse
 * complement counted as one; a fixed number of steps of Adam over at most 20,000 samples, seconds
 * on one core. A function of its arguments only.
 *
 * valid    not NULL; of the same dataset, whose records are bases with one class each
 * weight   [n_class] of errors by class, or NULL
 * n_thread threads of its loops; the result does not depend on it
 * Returns  CS_OK; CS_EOF with too many classes for seconds; CS_EMEM;
 *          CS_ECANCEL on a signal
 */
int cs_baseline_fit(const cs_sampler *train, const cs_sampler *valid, const float *weight,
                    uint64_t seed, int n_thread, cs_baseline *out) CS_MUST_CHECK;

/**
 * cs_baseline_log_strand - a note if all records are of one strand, as genes are
 *
 * A logistic regression on differences between the frequencies of 5-mers and of their reverse
 * complements is fitted to tell training samples from their reverse complements, in about a second
 * on one core. The note is for samplers that reverse half of the samples.
 *
 * Returns  CS_OK, also with too few validation samples for a note; CS_EMEM; CS_ECANCEL
 */
int cs_baseline_log_strand(const cs_sampler *train, const cs_sampler *valid, uint64_t seed,
                           int n_thread) CS_MUST_CHECK;

#endif

/* sample_prior.h - `--prior auto`: the shares of the classes in a sample of the input. */
#ifndef CS_RUN_SAMPLE_PRIOR_H
#define CS_RUN_SAMPLE_PRIOR_H

#include "run/records.h"

/**
 * cs_sample_prior - estimate the shares of the classes from records spread evenly over the input
 *
 * Classifies a sample with equal shares, estimates the shares (io/class_shares.h), and logs them.
 * The sample depends on the number of records only. A shard's sample is that of the whole input.
 *
 * r        opened for predictions of classes, without shares; receives them in its policy, and its
 *          inputs are open again at their start
 * a        options that r was opened with
 * Returns  CS_OK; CS_EUSAGE if an input can be read only once; the errors of cs_stream_run() and
 *          cs_record_source_open(); CS_EMEM
 */
int cs_sample_prior(cs_records *r, const cs_record_args *a) CS_MUST_CHECK;

#endif

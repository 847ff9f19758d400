/* model_evaluate.h - evaluate a model on labelled records: metrics, reports, calibration. */
#ifndef CS_TOOLS_MODEL_EVALUATE_H
#define CS_TOOLS_MODEL_EVALUATE_H

#include "infer/args.h"
#include "infer/device_args.h"
#include "infer/input_args.h"
#include "infer/model_args.h"
#include "infer/policy.h"
#include "train/labelled.h"

/* Defaults of options, which are refused where they have no effect. */
#define CS_EVALUATE_TOLERANCE 0.04
#define CS_EVALUATE_THRESHOLD 0.5

typedef struct cs_evaluate_args {
    const char *fragments, *bins, *output, *json, *html, *calibrate, *scores;
    int64_t     per_record, batch_tokens, seed;
    double      tolerance, threshold;
    cs_input_args   input;
    cs_label_args   label;
    cs_model_args   model;
    cs_policy_args  policy;
    cs_prior_args   prior;
    cs_compute_args compute;
    cs_device_args  device;
} cs_evaluate_args;

/**
 * cs_model_evaluate - predict all records, and pieces of them, and write the outputs
 *
 * Memory is that of one block of records and of the scores.
 *
 * a        the input's lists are read into it; see cs_args_release()
 * command  the command line, for the page
 * Returns  CS_OK; CS_EUSAGE; the errors of loading, reading, predicting and writing
 */
int cs_model_evaluate(cs_evaluate_args *a, const char *command) CS_MUST_CHECK;

#endif

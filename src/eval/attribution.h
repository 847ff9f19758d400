/* attribution.h - contributions of the bases of regions to a prediction, as tables and plots. */
#ifndef CS_EVAL_ATTRIBUTION_H
#define CS_EVAL_ATTRIBUTION_H

#include "infer/args.h"
#include "infer/device_args.h"
#include "infer/model_args.h"

typedef struct cs_explain_args {
    cs_strlist  region;
    const char *reference, *bed, *output, *tsv, *svg, *label;
    int64_t     steps, shuffles, seed, batch_tokens;
    int         method, value, baseline;
    cs_model_args   model;
    cs_compute_args compute;
    cs_device_args  device;
} cs_explain_args;
extern const cs_opt cs_explain_table[];

/** cs_explain - write the contributions of all regions. CS_OK; CS_EUSAGE for options that exclude
 * each other; the errors of reading, inference and writing */
int cs_explain(const cs_explain_args *a) CS_MUST_CHECK;

#endif

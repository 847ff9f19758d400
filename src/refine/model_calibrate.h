/* model_calibrate.h - calibrate a model: temperatures, error rates and conditions for calls. */
#ifndef CS_REFINE_MODEL_CALIBRATE_H
#define CS_REFINE_MODEL_CALIBRATE_H

#include "train/labelled.h"

typedef struct cs_calibrate_args {
    cs_strlist  scores;
    const char *bins;
    double      max_error;
} cs_calibrate_args;

extern const cs_opt cs_calibrate_table[];  /* --scores, --bins, --max-error */

/**
 * cs_model_calibrate - calibrate by predictions from 'chordseq eval --scores'
 *
 * The predictions may be those of other models, as in a cross-validation. With labelled sequences
 * in `input` the model also gets limits for sequences unlike them.
 *
 * m        receives the calibration, replacing an old one
 * Returns  CS_OK; CS_EUSAGE (options, or a model without a few classes); the errors of reading,
 *          cs_calibrate() and cs_likeness_fit()
 */
int cs_model_calibrate(cs_model *m, const char *path, const cs_calibrate_args *a,
                       cs_input_args *input, const cs_label_args *label) CS_MUST_CHECK;

#endif

/* model_calibrate.h - give a model temperatures, error rates and what it states of its calls. */
#ifndef CS_TRAIN_MODEL_CALIBRATE_H
#define CS_TRAIN_MODEL_CALIBRATE_H

#include "train/labelled.h"

typedef struct cs_calibrate_args {
    cs_strlist  scores;
    const char *bins;
    double      max_error;
} cs_calibrate_args;

extern const cs_opt cs_calibrate_table[];  /* --scores, --bins, --max-error */

/**
 * cs_model_calibrate - calibrate by answers that 'chordseq eval --scores' wrote
 *
 * The answers may be other models', such as those of a cross-validation. With labelled sequences in
 * `input` the model also states how to tell what is unlike them.
 *
 * m        gets the calibration, in place of one that it has
 * Returns  CS_OK; CS_EUSAGE (options, or a model that does not tell a few classes); the errors of
 *          reading, cs_calibrate() and cs_likeness_fit()
 */
int cs_model_calibrate(cs_model *m, const char *path, const cs_calibrate_args *a,
                       cs_input_args *input, const cs_label_args *label) CS_MUST_CHECK;

#endif

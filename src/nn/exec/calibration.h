/* calibration.h - a model's calibration: temperatures and error rates by length. */
#ifndef CS_NN_CALIBRATION_H
#define CS_NN_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tok/likeness.h"

/* Maximum classes with curves of their own; beyond, error rates are of all calls together. */
enum { CS_CALIBRATION_STEPS = 16, CS_CALIBRATION_BINS = 40, CS_CALIBRATION_CLASSES = 16 };

/* Calls with a probability of at least cs_calibration_step[i]: their number, and that of wrong
 * ones. */
typedef struct cs_call_curve {
    int64_t n_kept[CS_CALIBRATION_STEPS], n_wrong[CS_CALIBRATION_STEPS];
} cs_call_curve;

/* Fit to the records of one length range. */
typedef struct cs_calibration_bin {
    int64_t from;                /* shortest length, in bases; the longest is before the next's */
    double  temperature;         /* logits are divided by it */
    int64_t n;
    cs_call_curve all;
    cs_call_curve called[CS_CALIBRATION_CLASSES];      /* by the class called */
    /* A sequence with more repetition or a lower score (tok/likeness.h) is unlike the training */
    double  repetition, likeness[CS_CALIBRATION_CLASSES];
} cs_calibration_bin;

/* n 0: not calibrated. bin[0].from is 0, and `from` grows. */
typedef struct cs_calibration {
    int                n;
    cs_calibration_bin bin[CS_CALIBRATION_BINS];
    int32_t            n_class;      /* that have a curve of their own; 0: there are only `all` */
    /* The model's conditions for calls, applied by classify by default */
    double             max_error;    /* maximum rate of wrong calls; 0: none */
    int64_t            shortest;     /* minimum length in bases of a call */
    bool               has_likeness;
    int16_t            weight[CS_LIKENESS_WORDS];
} cs_calibration;

extern const double cs_calibration_step[CS_CALIBRATION_STEPS];   /* from 0 up */

/** cs_calibration_find - the bin of a length; -1 without calibration */
int cs_calibration_find(const cs_calibration *c, int64_t n_base);

/**
 * cs_calibration_threshold - minimum probability with at most this rate of wrong calls
 *
 * Estimated by (wrong + sqrt(wrong) + 1) / (kept + 1): a standard error above the count, because
 * new organisms differ.
 * Returns  a step; 2, above any probability, if no step has this rate
 */
double cs_calibration_threshold(const cs_call_curve *c, double max_error);

/**
 * cs_calibration_min_prob - the same for a class (called in that bin), by its own curve if it has
 * one
 *
 * At least one half, or 1 - max_error if that is less: where surer calls leave room for errors, a
 * call that is more likely wrong than right still is none.
 */
double cs_calibration_min_prob(const cs_calibration *c, int bin, int32_t class_no,
                               double max_error);

/** cs_calibration_unlike - is the record unlike the training sequences of this class? */
bool cs_calibration_unlike(const cs_calibration *c, const cs_record *r, int32_t class_no);

struct json_t;
/** cs_calibration_json - a new JSON array for the model file; NULL when memory ran out */
struct json_t *cs_calibration_json(const cs_calibration *c);
/** cs_calibration_read - from the model file; an absent one (NULL) is none. CS_OK or CS_EFORMAT
 * without a message */
int cs_calibration_read(cs_calibration *c, const struct json_t *j) CS_MUST_CHECK;
/** cs_calibration_conditions_json - the conditions for calls; NULL when out of memory */
struct json_t *cs_calibration_conditions_json(const cs_calibration *c);
/** cs_calibration_conditions_read - the same from the file, after cs_calibration_read(); NULL:
 * none */
int cs_calibration_conditions_read(cs_calibration *c, const struct json_t *j) CS_MUST_CHECK;

#endif

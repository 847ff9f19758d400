/* calibration.h - a model's calibration: temperatures and error rates by length. */
#ifndef CS_NN_CALIBRATION_H
#define CS_NN_CALIBRATION_H

#include <stdint.h>

#include "base/err.h"

enum { CS_CALIBRATION_STEPS = 16, CS_CALIBRATION_BINS = 40 };

/* Records of one range of lengths, on which it was fitted. Of those whose best class has at least
 * the probability cs_calibration_step[i], n_kept[i] in number, n_wrong[i] had another class. */
typedef struct cs_calibration_bin {
    int64_t from;                /* shortest length, in bases; the longest is before the next's */
    double  temperature;         /* logits are divided by it */
    int64_t n;
    int64_t n_kept[CS_CALIBRATION_STEPS], n_wrong[CS_CALIBRATION_STEPS];
} cs_calibration_bin;

/* n 0: the model has none. bin[0].from is 0, and `from` grows. */
typedef struct cs_calibration {
    int                n;
    cs_calibration_bin bin[CS_CALIBRATION_BINS];
} cs_calibration;

extern const double cs_calibration_step[CS_CALIBRATION_STEPS];   /* from 0 up */

/** cs_calibration_find - the bin of a length; -1 when there is no calibration */
int cs_calibration_find(const cs_calibration *c, int64_t n_base);

/**
 * cs_calibration_threshold - least probability at which a bin's calls err at most at this rate
 *
 * Judged by (wrong + 1) / (kept + 1), which leans to the safe side where few records were seen.
 * Returns  a step; 2, which nothing reaches, when the rate cannot be had
 */
double cs_calibration_threshold(const cs_calibration_bin *b, double max_error);

struct json_t;
/** cs_calibration_json - a new JSON array for the model file; NULL when memory ran out */
struct json_t *cs_calibration_json(const cs_calibration *c);
/** cs_calibration_read - from the model file; an absent one (NULL) is none. CS_OK or CS_EFORMAT
 * without a message */
int cs_calibration_read(cs_calibration *c, const struct json_t *j) CS_MUST_CHECK;

#endif

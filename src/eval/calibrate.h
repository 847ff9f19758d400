/* calibrate.h - calibration: temperatures and error rates from labelled predictions. */
#ifndef CS_EVAL_CALIBRATE_H
#define CS_EVAL_CALIBRATE_H

#include "eval/metrics.h"
#include "nn/exec/calibration.h"
#include "nn/heads/tree.h"

/**
 * cs_calibrate - fit a calibration
 *
 * In each range of lengths, the temperature that minimises the cross-entropy of the truth and of a
 * further record of a random class. A range with fewer than 100 records takes the fit of all
 * records. The model's conditions for calls are not applied.
 *
 * s        uncalibrated probabilities
 * tree     error rates of cs_tree_call(): a call is wrong if the true class is not in its clade.
 *          The probability of the truth is the sum over its clade, as in the head's loss.
 *          NULL: error rates of the best class, in all and per class called
 * edge     [n_edge] increasing lengths in bases between the ranges, fewer than CS_CALIBRATION_BINS
 * n_thread the result does not depend on it
 * Returns  CS_OK; CS_EFORMAT with fewer than 100 records; CS_EMEM
 * Source   Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural Networks, ICML 2017
 */
int cs_calibrate(const cs_scores *s, const cs_tree *tree, const int64_t *edge, int n_edge,
                 int n_thread, cs_calibration *c) CS_MUST_CHECK;

/** cs_calibrate_seconds - measured time per record and fit of cs_calibrate(): it fits all records,
 * and again those of each length range that has 100 and does not have all. s, tree: as there; few
 * records suffice. each: receives it, 0 without records. CS_OK; CS_EMEM */
int cs_calibrate_seconds(const cs_scores *s, const cs_tree *tree, int n_thread, double *each)
    CS_MUST_CHECK;

/** cs_calibrate_set_conditions - set conditions for calls: a maximum error rate, and as minimum
 * length the first with a call, but not below the lengths of the predictions that c was fitted
 * to */
void cs_calibrate_set_conditions(cs_calibration *c, const cs_scores *s, double max_error);
/** cs_calibrate_keep_conditions - copy the conditions of an earlier calibration to a new fit, if
 * there are any: its rate, and the bounds that reject sequences unlike the training. Where a range
 * of lengths joins several, the most lenient bounds count */
void cs_calibrate_keep_conditions(cs_calibration *c, const cs_scores *s,
                                  const cs_calibration *earlier);

typedef struct cs_class_calls {
    int64_t n, n_called;         /* records of the class, and those with a call of any class */
    int64_t n_calls, n_wrong;    /* calls of the class, and wrong ones */
    double  calls, wrong;        /* the same, weighted */
} cs_class_calls;

/* Calls of a model at a maximum error rate. */
typedef struct cs_calls {
    int64_t        n, n_called, n_wrong;
    double         called, wrong;    /* the last two, weighted */
    cs_class_calls of_class[CS_CALIBRATION_CLASSES];
} cs_calls;

/**
 * cs_scores_calls - count the calls of records with lo <= length < hi at an error rate
 *
 * Reasons too_short and unlike_training are taken from the predictions.
 *
 * s        calibrated probabilities
 * c        a calibration with curves per class, for the classes of s
 * weight   [s->n_out] of a record, by its class; NULL: 0
 */
void cs_scores_calls(const cs_scores *s, const cs_calibration *c, int64_t lo, int64_t hi,
                     double max_error, const double *weight, cs_calls *out);

/* Calls of one interval of probability. */
typedef struct cs_reliability { int64_t n; double confidence, accuracy; } cs_reliability;

enum { CS_RELIABILITY_BINS = 10, CS_RISK_POINTS = 10 };

/* Reliability of probabilities. */
typedef struct cs_certainty {
    double         ece;          /* expected calibration error, over the intervals */
    cs_reliability bin[CS_RELIABILITY_BINS];   /* bin i: best probability from i / 10 on */
    /* Calling only the (i + 1) / 10 of the records with the highest probabilities: their share of
     * wrong calls, and their lowest probability. */
    double         risk[CS_RISK_POINTS], threshold[CS_RISK_POINTS];
} cs_certainty;

/** cs_scores_certainty - reliability for the records with lo <= length < hi; NaN where there are
 * none. CS_OK or CS_EMEM */
int cs_scores_certainty(const cs_scores *s, int64_t lo, int64_t hi, cs_certainty *out)
    CS_MUST_CHECK;

#endif

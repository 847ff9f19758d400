/* ranking.h - ranking metrics: area under the ROC curve, average precision, rank correlation. */
#ifndef CS_EVAL_RANKING_H
#define CS_EVAL_RANKING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cs_ranked { float score; bool positive; } cs_ranked;

/** cs_ranked_sort - by ascending score, as the functions below require */
void cs_ranked_sort(cs_ranked *r, int64_t n);

/** cs_ranked_area - area under the ROC curve: the probability that a positive scores above a
 * negative, ties counting half; NaN without both. Source: Hanley, McNeil 1982 */
double cs_ranked_area(const cs_ranked *r, int64_t n);

/**
 * cs_class_areas - for each class the area of its scores, as cs_ranked_area() has it
 *
 * score    [n * n_class]
 * truth    [n] the class of a record, whose score for it is a positive one; -1: leave it out
 * area     [n_class] receives the areas
 * Returns  CS_OK or CS_EMEM, without a message
 */
int cs_class_areas(const float *score, const int32_t *truth, int64_t n, int32_t n_class,
                   double *area) CS_MUST_CHECK;

/** cs_ranked_precision - average precision: the sum over thresholds, from the highest score down,
 * of precision times the increase of recall, with ties as one threshold; NaN without positives.
 * Source: scikit-learn's average_precision_score, without interpolation */
double cs_ranked_precision(const cs_ranked *r, int64_t n);

/** cs_squared_deviations - the sum of squared deviations of n values from their mean; exactly 0 if
 * all are equal, or without values */
double cs_squared_deviations(const double *v, int64_t n);
/** cs_correlation - Pearson's; NaN if either is constant */
double cs_correlation(const double *x, const double *y, int64_t n);
/** cs_rank_values - replace n values by their ranks from 1 on, ties by the mean of theirs: the
 * correlation of ranks is Spearman's. CS_OK or CS_EMEM, without a message */
int cs_rank_values(double *v, int64_t n) CS_MUST_CHECK;

#endif

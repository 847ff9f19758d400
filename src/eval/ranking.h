/* ranking.h - ranking metrics: area under the ROC curve, average precision. */
#ifndef CS_EVAL_RANKING_H
#define CS_EVAL_RANKING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cs_ranked { float score; bool positive; } cs_ranked;

/** cs_ranked_sort - by ascending score, as the functions below require */
void cs_ranked_sort(cs_ranked *r, int64_t n);

/** cs_ranked_area - area under the ROC curve: the probability that a positive scores above a
 * negative, ties counting half; NaN without both. Source: Hanley, McNeil 1982 */
double cs_ranked_area(const cs_ranked *r, int64_t n);

/** cs_ranked_precision - average precision: the sum over thresholds, from the highest score down,
 * of precision times the increase of recall, with ties as one threshold; NaN without positives.
 * Source: scikit-learn's average_precision_score, without interpolation */
double cs_ranked_precision(const cs_ranked *r, int64_t n);

#endif

/* ranking.c - ranking metrics: area under the ROC curve, average precision. */
#include "eval/ranking.h"

#include <math.h>
#include <stdlib.h>

static int by_score(const void *pa, const void *pb)
{
    const cs_ranked *a = pa, *b = pb;

    return a->score < b->score ? -1 : a->score > b->score;
}

void cs_ranked_sort(cs_ranked *r, int64_t n)
{
    if (n > 1)
        qsort(r, (size_t)n, sizeof *r, by_score);
}

double cs_ranked_area(const cs_ranked *r, int64_t n)
{
    double negative = 0, positive = 0, wins = 0;

    for (int64_t i = 0, end; i < n; i = end) {
        double p = 0, q = 0;
        for (end = i; end < n && r[end].score <= r[i].score; end++) {
            p += r[end].positive;
            q += !r[end].positive;
        }
        wins += p * (negative + q / 2);
        positive += p;
        negative += q;
    }
    return positive * negative > 0 ? wins / (positive * negative) : NAN;
}

double cs_ranked_precision(const cs_ranked *r, int64_t n)
{
    double positive = 0, sum = 0;

    for (int64_t i = n, from; i > 0; i = from) {
        double p = 0;
        for (from = i; from > 0 && r[from - 1].score >= r[i - 1].score; from--)
            p += r[from - 1].positive;
        positive += p;
        sum += p * positive / (double)(n - from);
    }
    return positive > 0 ? sum / positive : NAN;
}

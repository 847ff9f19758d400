/* ranking.c - ranking metrics: area under the ROC curve, average precision, rank correlation. */
#include "eval/ranking.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

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

/* ---- correlation ----------------------------------------------------------------------------- */

/* Compared exactly: a variance of equal values may be rounded to more than 0. */
static bool is_constant(const double *v, int64_t n)
{
    int64_t i = 1;

    while (i < n && !(v[i] < v[0]) && !(v[i] > v[0]))
        i++;
    return i >= n;
}

static double mean_of(const double *v, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

double cs_squared_deviations(const double *v, int64_t n)
{
    double mean, sum = 0;

    if (is_constant(v, n))
        return 0;
    mean = mean_of(v, n);
    for (int64_t i = 0; i < n; i++)
        sum += (v[i] - mean) * (v[i] - mean);
    return sum;
}

double cs_correlation(const double *x, const double *y, int64_t n)
{
    const double xx = cs_squared_deviations(x, n), yy = cs_squared_deviations(y, n);
    double xy = 0;

    if (!(xx > 0 && yy > 0))
        return NAN;
    const double mx = mean_of(x, n), my = mean_of(y, n);
    for (int64_t i = 0; i < n; i++)
        xy += (x[i] - mx) * (y[i] - my);
    return fmax(-1, fmin(1, xy / sqrt(xx) / sqrt(yy)));
}

struct placed { double v; int64_t at; };

static int by_value(const void *pa, const void *pb)
{
    const struct placed *a = pa, *b = pb;

    return a->v < b->v ? -1 : a->v > b->v;
}

int cs_rank_values(double *v, int64_t n)
{
    struct placed *p = cs_alloc((size_t)n + 1, sizeof *p);

    if (p == NULL)
        return CS_EMEM;
    for (int64_t i = 0; i < n; i++)
        p[i] = (struct placed){ v[i], i };
    qsort(p, (size_t)n, sizeof *p, by_value);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !(p[end].v > p[i].v);)
            end++;
        for (int64_t k = i; k < end; k++)
            v[p[k].at] = (double)(i + 1 + end) / 2;
    }
    free(p);
    return CS_OK;
}

/* ranking.c - ranking metrics: area under the ROC curve, average precision, rank correlation. */
#include "eval/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"

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

/* ---- areas of classes: few of the records are positive for one ------------------------------- */

struct class_rank {
    int64_t  n;                  /* records */
    int64_t *first;              /* [n_class + 1] */
    float   *positive;           /* [n] scores of class c, sorted: from first[c] to first[c + 1] */
    int64_t *halves;             /* [n_class] twice the pairs in which the positive wins */
};

static void list_positives(const float *score, const int32_t *truth, int64_t n, int32_t n_class,
                           struct class_rank *k)
{
    int64_t *next = k->halves;   /* until the lists are complete */

    for (int64_t i = 0; i < n; i++)
        if (truth[i] >= 0) {
            k->first[truth[i] + 1]++;
            k->n++;
        }
    for (int32_t c = 0; c < n_class; c++) {
        k->first[c + 1] += k->first[c];
        next[c] = k->first[c];
    }
    for (int64_t i = 0; i < n; i++)
        if (truth[i] >= 0)
            k->positive[next[truth[i]]++] = score[i * n_class + truth[i]];
    for (int32_t c = 0; c < n_class; c++) {
        next[c] = 0;
        qsort(k->positive + k->first[c], (size_t)(k->first[c + 1] - k->first[c]),
              sizeof *k->positive, cs_by_float);
    }
}

/* The number of n sorted values that are below x, or not above it. */
static int64_t count_below(const float *v, int64_t n, float x, bool or_equal)
{
    int64_t from = 0;

    while (n > 0) {
        const int64_t half = n / 2;
        const bool below = or_equal ? v[from + half] <= x : v[from + half] < x;
        from = below ? from + half + 1 : from;
        n = below ? n - half - 1 : half;
    }
    return from;
}

/* A record is negative for all classes but one. */
static void add_record(struct class_rank *k, const float *score, int32_t truth, int32_t n_class)
{
    for (int32_t c = 0; c < n_class; c++) {
        const float *v = k->positive + k->first[c];
        const int64_t n = k->first[c + 1] - k->first[c];
        const int64_t less = count_below(v, n, score[c], false);
        const bool tie = less < n && v[less] <= score[c];
        const int64_t most = tie ? count_below(v, n, score[c], true) : less;
        k->halves[c] += c == truth ? 0 : 2 * n - less - most;
    }
}

int cs_class_areas(const float *score, const int32_t *truth, int64_t n, int32_t n_class,
                   double *area)
{
    const size_t n_list = (size_t)n_class + 1;
    struct class_rank k = { .first = cs_alloc(n_list, sizeof *k.first),
                            .positive = cs_alloc((size_t)n + 1, sizeof *k.positive),
                            .halves = cs_alloc(n_list, sizeof *k.halves) };
    const int rc = k.first && k.positive && k.halves ? CS_OK : CS_EMEM;

    if (rc == CS_OK) {
        memset(k.first, 0, n_list * sizeof *k.first);
        list_positives(score, truth, n, n_class, &k);
        for (int64_t i = 0; i < n; i++)
            if (truth[i] >= 0)
                add_record(&k, score + i * n_class, truth[i], n_class);
        for (int32_t c = 0; c < n_class; c++) {
            const double positive = (double)(k.first[c + 1] - k.first[c]);
            const double pairs = positive * ((double)k.n - positive);
            area[c] = pairs > 0 ? (double)k.halves[c] / 2 / pairs : NAN;
        }
    }
    CS_FREE(k.first, k.positive, k.halves);
    return rc;
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

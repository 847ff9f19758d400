/* fold_metrics.c - metrics of a cross-validation: a row per fold, means and standard errors. */
#include "eval/fold_metrics.h"

#include <math.h>
#include <stddef.h>

static double value(const cs_fold *fold, const double *field, int i)
{
    const ptrdiff_t off = (const char *)field - (const char *)fold;

    return *(const double *)(const void *)((const char *)(fold + i) + off);
}

cs_fold_mean cs_fold_average(const cs_fold *fold, int n, const double *field)
{
    double sum = 0, square = 0;

    for (int i = 0; i < n; i++)
        sum += value(fold, field, i);
    for (int i = 0; i < n; i++)
        square += pow(value(fold, field, i) - sum / n, 2);
    return (cs_fold_mean){ sum / n, sqrt(square / (n - 1) / n) };
}

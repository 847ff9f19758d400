/* order.h - comparisons of numbers for qsort() and bsearch(), in ascending order. */
#ifndef CS_BASE_ORDER_H
#define CS_BASE_ORDER_H

#include <stdint.h>

static inline int cs_by_double(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;

    return (a > b) - (a < b);
}

static inline int cs_by_float(const void *pa, const void *pb)
{
    const float a = *(const float *)pa, b = *(const float *)pb;

    return (a > b) - (a < b);
}

static inline int cs_by_int32(const void *pa, const void *pb)
{
    const int32_t a = *(const int32_t *)pa, b = *(const int32_t *)pb;

    return (a > b) - (a < b);
}

static inline int cs_by_uint64(const void *pa, const void *pb)
{
    const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

    return (a > b) - (a < b);
}

#endif

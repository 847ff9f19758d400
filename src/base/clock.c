/* clock.c - monotonic time, for measurements and deadlines. */
#include "base/clock.h"

#include <time.h>

double cs_now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

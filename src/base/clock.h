/* clock.h - monotonic time, for measurements and deadlines. */
#ifndef CS_BASE_CLOCK_H
#define CS_BASE_CLOCK_H

/** cs_now_s - seconds on a monotonic clock; only differences mean anything */
double cs_now_s(void);

#endif

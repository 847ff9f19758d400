/* peak_flops.h - peak floating-point operations per second of a backend. */
#ifndef CS_TRAIN_PEAK_FLOPS_H
#define CS_TRAIN_PEAK_FLOPS_H

#include "nn/exec/model.h"

/** cs_peak_flops - of all threads of the backend: the best of some matrix products that fit a cache
 * on one thread, in some 20 ms, times their number; NaN without memory or on a GPU */
double cs_peak_flops(cs_backend *be);

#endif

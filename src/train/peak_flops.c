/* peak_flops.c - how many floating-point operations a backend does per second at best. */
#include "train/peak_flops.h"

#include <math.h>

#include "base/clock.h"

enum { ROWS = 512, SIDE = 128, TIMES = 40 };

double cs_peak_flops(cs_backend *be)
{
    const int64_t n_row = ROWS * (int64_t)be->n_thread;
    const size_t n = (size_t)(2 * n_row * SIDE + SIDE * SIDE);
    double best = INFINITY;
    cs_real *v = be->is_host ? be->op.alloc(be, n * sizeof *v) : NULL;

    if (v == NULL)
        return NAN;
    for (size_t i = 0; i < n; i++)
        v[i] = 0;
    const cs_mat x = { v, n_row, SIDE, SIDE }, y = { v + n_row * SIDE, n_row, SIDE, SIDE },
                 w = { v + 2 * n_row * SIDE, SIDE, SIDE, SIDE };
    for (int i = 0; i < TIMES; i++) {
        const double began = cs_now_s();
        be->op.gemm(be, false, true, x, w, 0, y);
        best = fmin(best, cs_now_s() - began);
    }
    be->op.dealloc(be, v);
    return 2.0 * (double)n_row * SIDE * SIDE / best;
}

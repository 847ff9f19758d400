/* peak_flops.c - how many floating-point operations a backend does per second at best. */
#include "train/peak_flops.h"

#include <math.h>

#include "base/clock.h"

enum { ROWS = 512, SIDE = 128, TIMES = 40 };

static double of_one_thread(cs_backend *be)
{
    static const size_t n = 2 * ROWS * SIDE + SIDE * SIDE;
    double best = INFINITY;
    cs_real *v = be->op.alloc(be, n * sizeof *v);

    if (v == NULL)
        return NAN;
    for (size_t i = 0; i < n; i++)
        v[i] = 0;
    const cs_mat x = { v, ROWS, SIDE, SIDE }, y = { v + ROWS * SIDE, ROWS, SIDE, SIDE },
                 w = { v + 2 * ROWS * SIDE, SIDE, SIDE, SIDE };
    for (int i = 0; i < TIMES; i++) {
        const double began = cs_now_s();
        be->op.gemm(be, false, true, x, w, 0, y);
        best = fmin(best, cs_now_s() - began);
    }
    be->op.dealloc(be, v);
    return 2.0 * ROWS * SIDE * SIDE / best;
}

/* One thread is timed: on a busy machine several wait for each other even at their best. */
double cs_peak_flops(cs_backend *be)
{
    cs_backend *one = NULL;

    if (!be->is_host || cs_backend_open_like(be, 1, &one) != CS_OK)
        return NAN;
    const double flops = be->n_thread * of_one_thread(one);
    cs_backend_close(one);
    return flops;
}

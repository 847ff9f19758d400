/* gemm_avx2.c - panels of a matrix product: strips of the micro-kernel from the first row on. */
#include "kernels/cpu/strip_avx2.h"

#define TARGET __attribute__((target("avx2,fma")))

TARGET __attribute__((always_inline))
static inline void strips(const int nv, const cs_left left, const cs_panel *q)
{
    const int step = cs_strip_rows(nv);
    int64_t r = 0;
    for (; r + step <= q->n_row; r += step)
        cs_strip(step, nv, left, CS_STRIP_STORE, q, r, NULL);
    if (r < q->n_row)
        cs_strip_any((int)(q->n_row - r), nv, left, CS_STRIP_STORE, q, r, NULL);
}

#define PANELS(width, nv)                                                                     \
    TARGET static void rows_##width(const cs_panel *q)   { strips(nv, CS_LEFT_ROWS, q); }     \
    TARGET static void turned_##width(const cs_panel *q) { strips(nv, CS_LEFT_TURNED, q); }   \
    TARGET static void runs_##width(const cs_panel *q)   { strips(nv, CS_LEFT_RUNS, q); }
PANELS(8, 1)
PANELS(16, 2)
PANELS(24, 3)

void cs_avx2_panel(bool trans, int width, const cs_panel *q)
{
    static void (*const run[3][3])(const cs_panel *) = {
        { rows_8, rows_16, rows_24 }, { turned_8, turned_16, turned_24 },
        { runs_8, runs_16, runs_24 } };
    run[trans ? 1 : q->run ? 2 : 0][width / 8 - 1](q);
}

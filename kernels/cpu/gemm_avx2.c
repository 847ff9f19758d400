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

TARGET static void panel_24(const cs_panel *q)   { strips(3, CS_LEFT_ROWS, q); }
TARGET static void panel_16(const cs_panel *q)   { strips(2, CS_LEFT_ROWS, q); }
TARGET static void panel_8(const cs_panel *q)    { strips(1, CS_LEFT_ROWS, q); }
TARGET static void panel_24_t(const cs_panel *q) { strips(3, CS_LEFT_TURNED, q); }
TARGET static void panel_16_t(const cs_panel *q) { strips(2, CS_LEFT_TURNED, q); }
TARGET static void panel_8_t(const cs_panel *q)  { strips(1, CS_LEFT_TURNED, q); }

void cs_avx2_panel(bool trans, int width, const cs_panel *q)
{
    static void (*const run[2][3])(const cs_panel *) = {
        { panel_8, panel_16, panel_24 }, { panel_8_t, panel_16_t, panel_24_t } };
    run[trans][width / 8 - 1](q);
}

/* vec_panel.c - panels of a matrix product: packing, and the loop over strips. */
#include "kernels/cpu/strip.h"

CS_INLINE void strips(const int nv, const cs_left left, const cs_panel *q)
{
    const int step = cs_strip_rows(nv);
    int64_t r = 0;
    for (; r + step <= q->n_row; r += step)
        cs_strip(step, nv, left, CS_STRIP_STORE, q, r, NULL);
    if (r < q->n_row)
        cs_strip_any((int)(q->n_row - r), nv, left, CS_STRIP_STORE, q, r, NULL);
}

#define PANELS(nv)                                                                            \
    static void rows_##nv(const cs_panel *q)       { strips(nv, CS_LEFT_ROWS, q); }           \
    static void transposed_##nv(const cs_panel *q) { strips(nv, CS_LEFT_TRANSPOSED, q); }     \
    static void runs_##nv(const cs_panel *q)       { strips(nv, CS_LEFT_RUNS, q); }
PANELS(1)
PANELS(2)
PANELS(3)

void cs_panel_of(bool trans, int width, const cs_panel *q)
{
    static void (*const run[3][3])(const cs_panel *) = {
        { rows_1, rows_2, rows_3 }, { transposed_1, transposed_2, transposed_3 },
        { runs_1, runs_2, runs_3 } };
    run[trans ? 1 : q->run ? 2 : 0][width / CS_VEC - 1](q);
}

/* ---- packing of floats -------------------------------------------------------------------- */

#if !CS_LEVEL_PAIRS
void cs_pack_panel(const float *b, int64_t sk, int64_t sj, int64_t n_k, int width, int32_t valid,
                   float *out)
{
    int64_t k = 0;
    if (sk == 1 && valid >= width)
        for (; k + CS_VEC <= n_k; k += CS_VEC)
            for (int j = 0; j < width; j += CS_VEC)
                cs_vtranspose(b + k + j * sj, sj, out + k * width + j, width);
    if (sj == 1 && valid >= width)
        for (; k < n_k; k++)
            for (int j = 0; j < width; j += CS_VEC)
                cs_vstore(out + k * width + j, cs_vload(b + k * sk + j));
    for (; k < n_k; k++)
        for (int j = 0; j < width; j++)
            out[k * width + j] = j < valid ? b[k * sk + j * sj] : 0.0f;
}
#endif

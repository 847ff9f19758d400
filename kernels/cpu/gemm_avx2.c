/* gemm_avx2.c - panels of a matrix product: packed, and strips of the micro-kernel from the first
 * row on. */
#include <string.h>

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

/* ---- packing ------------------------------------------------------------------------------ */

/* out[i*width + j] = b[i + j*sj] for i and j below 8 */
TARGET static void turn_8x8(const float *b, int64_t sj, float *out, int64_t width)
{
    __m256 r[8], t[8];
    for (int j = 0; j < 8; j++)
        r[j] = _mm256_loadu_ps(b + j * sj);
    for (int j = 0; j < 8; j += 2) {                     /* pairs of columns */
        t[j] = _mm256_unpacklo_ps(r[j], r[j + 1]);
        t[j + 1] = _mm256_unpackhi_ps(r[j], r[j + 1]);
    }
    for (int j = 0; j < 8; j += 4) {                     /* fours */
        r[j] = _mm256_shuffle_ps(t[j], t[j + 2], 0x44);
        r[j + 1] = _mm256_shuffle_ps(t[j], t[j + 2], 0xee);
        r[j + 2] = _mm256_shuffle_ps(t[j + 1], t[j + 3], 0x44);
        r[j + 3] = _mm256_shuffle_ps(t[j + 1], t[j + 3], 0xee);
    }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(out + i * width, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * width, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

void cs_pack_panel(const float *b, int64_t sk, int64_t sj, int64_t n_k, int width, int32_t valid,
                   float *out)
{
    int64_t k = 0;
    if (sk == 1 && valid >= width)
        for (; k + 8 <= n_k; k += 8)
            for (int j = 0; j < width; j += 8)
                turn_8x8(b + k + j * sj, sj, out + k * width + j, width);
    if (sj == 1 && valid >= width)
        for (; k < n_k; k++)
            for (int j = 0; j < width; j += 8)
                memcpy(out + k * width + j, b + k * sk + j, 8 * sizeof *out);
    for (; k < n_k; k++)
        for (int j = 0; j < width; j++)
            out[k * width + j] = j < valid ? b[k * sk + j * sj] : 0.0f;
}

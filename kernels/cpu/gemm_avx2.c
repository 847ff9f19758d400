/* gemm_avx2.c - the 6 x 16 micro-kernel on AVX2 and FMA, and its narrower remainders.
 *
 * Twelve accumulators, two vectors of b and one broadcast of a fill 15 of the 16 registers, and
 * twelve independent chains hide the latency of two multiply-adds per cycle (4 cycles each). The
 * accumulators are named scalars: gcc 12 keeps an array of __m256 in memory, at a third of the
 * speed. Rows beyond `mr` vanish at compile time.
 */
#include "kernels/cpu/gemm.h"

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma")))
#define EACH_ROW(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5)

/* Rows r .. r+mr-1 of a panel of nv vectors; all three flags are constants where it is inlined. */
TARGET __attribute__((always_inline))
static inline void strip(const int mr, const int nv, const bool trans, const cs_panel *q, int64_t r)
{
    const int64_t row = trans ? 1 : q->lda, next = trans ? q->lda : 1;
    const float *a = q->a + r * row, *b = q->b, *init = q->init + r * q->ldi;
    float *c = q->c + r * q->ldc;

#define CLEAR(i) __m256 x##i = _mm256_setzero_ps(), y##i = x##i;
    EACH_ROW(CLEAR)
#define MULTIPLY(i) if (mr > i) {                                       \
        __m256 v = _mm256_broadcast_ss(a + i * row);                    \
        x##i = _mm256_fmadd_ps(v, b0, x##i);                            \
        y##i = nv > 1 ? _mm256_fmadd_ps(v, b1, y##i) : y##i;            \
    }
    for (int64_t k = 0; k < q->n_k; k++) {
        __m256 b0 = _mm256_loadu_ps(b), b1 = nv > 1 ? _mm256_loadu_ps(b + 8) : b0;
        EACH_ROW(MULTIPLY)
        a += next;
        b += q->ldb;
    }
#define STORE(i) if (mr > i) {                                                        \
        const float *from = init + i * q->ldi;                                        \
        float *to = c + i * q->ldc;                                                   \
        _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(from), x##i));             \
        if (nv > 1)                                                                   \
            _mm256_storeu_ps(to + 8, _mm256_add_ps(_mm256_loadu_ps(from + 8), y##i)); \
    }
    EACH_ROW(STORE)
}

TARGET __attribute__((always_inline))
static inline void strips(const int nv, const bool trans, const cs_panel *q)
{
    int64_t r = 0;
    for (; r + 6 <= q->n_row; r += 6)
        strip(6, nv, trans, q, r);
    switch (q->n_row - r) {
    case 5: strip(5, nv, trans, q, r); break;
    case 4: strip(4, nv, trans, q, r); break;
    case 3: strip(3, nv, trans, q, r); break;
    case 2: strip(2, nv, trans, q, r); break;
    case 1: strip(1, nv, trans, q, r); break;
    default: break;
    }
}

TARGET static void panel_16(const cs_panel *q)   { strips(2, false, q); }
TARGET static void panel_8(const cs_panel *q)    { strips(1, false, q); }
TARGET static void panel_16_t(const cs_panel *q) { strips(2, true, q); }
TARGET static void panel_8_t(const cs_panel *q)  { strips(1, true, q); }

void cs_avx2_panel(bool trans, int width, const cs_panel *q)
{
    if (trans)
        (width == CS_PANEL ? panel_16_t : panel_8_t)(q);
    else
        (width == CS_PANEL ? panel_16 : panel_8)(q);
}

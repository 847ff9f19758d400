/* cell.h - 32-bit cells, which products multiply: floats, or pairs of bf16.
 *
 * DESIGN. Operands of a product are arrays of cells in memory of type float. At most levels a cell
 * is a float. At levels bf16, amx and bfmmla it is two consecutive elements of the summed
 * dimension, rounded to nearest even, the first one in the low half; an odd last element is paired
 * with 0.
 * cs_vdot() (vdpbf16ps) adds both products to a float, the second one first. So strips and panels
 * are one source, and only packing differs. At level amx panels are multiplied by tiles
 * (vec_tiles.c), whose layout of the right operand is that of packed panels, too; the number of
 * cells is a multiple of a tile's.
 *
 * At level bfmmla a product takes squares: two rows by two columns, two cells of each
 * (cs_vsquare()). On Neoverse V1 (Graviton 3) bfdot, which would be a cs_vdot(), and bfmmla take
 * one slot of the same four vector units each, and bfmmla multiplies twice as much (LLVM's model of
 * that processor, after Arm's Software Optimization Guide). Two rows need one operand instead of
 * four broadcasts, too, which take such a slot each. Panels have both cells of a column side by
 * side (cs_cells_zip()), so the number of cells is even.
 * An element is one chain over cells: both products are rounded, then their sum, then the sum with
 * the element so far, all to odd; subnormal numbers are 0 (Arm ARM, BFMMLA and BFDOT with FPCR.EBF
 * 0, which processes start with). So its bits depend on its row and column only, and are the same
 * on all processors, but not those of vdpbf16ps.
 */
#ifndef CS_KERNELS_CPU_CELL_H
#define CS_KERNELS_CPU_CELL_H

#include <stdbool.h>
#include <string.h>

#include "kernels/cpu/vec.h"

#if CS_LEVEL_PAIRS
enum { CS_PER_CELL = 2,
       CS_CELL_STEP = CS_LEVEL_IS(amx) ? 16 : CS_LEVEL_IS(bfmmla) ? 2 : 1 };

#if CS_LEVEL_IS(bfmmla)
/* Both cells at a, then both at b: an operand of cs_vsquare(). */
CS_INLINE cs_vec cs_vrows(const float *a, const float *b)
{
    return vcombine_f32(vld1_f32(a), vld1_f32(b));
}

/* sum = { a0 b0, a0 b1, a1 b0, a1 b1 } + sum, of the rows a and columns b of two cells each */
CS_INLINE cs_vec cs_vsquare(cs_vec a, cs_vec b, cs_vec sum)
{
    return vbfmmlaq_f32(sum, vreinterpretq_bf16_f32(a), vreinterpretq_bf16_f32(b));
}

CS_INLINE cs_vec cs_vcells(cs_vec lo, cs_vec hi)
{
    return vreinterpretq_f32_bf16(vcvtq_high_bf16_f32(vcvtq_low_bf16_f32(lo), hi));
}

CS_INLINE cs_vec cs_vpair(cs_vec a, cs_vec b)
{
    const uint16x8_t v = vreinterpretq_u16_f32(cs_vcells(a, b));
    return vreinterpretq_f32_u16(vzip1q_u16(v, vextq_u16(v, v, 4)));
}
#else
CS_INLINE cs_vec cs_vdot(cs_vec a, cs_vec b, cs_vec sum)
{
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}

/* Cells of 32 elements, of which lo holds the first. */
CS_INLINE cs_vec cs_vcells(cs_vec lo, cs_vec hi)
{
    return (cs_vec)_mm512_cvtne2ps_pbh(hi, lo);
}

/* Cells of the elements of two rows: lane i is a[i], b[i]. */
CS_INLINE cs_vec cs_vpair(cs_vec a, cs_vec b)
{
    /* 0, 16, 1, 17, ... */
    const __m512i count = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i alternate = _mm512_or_si512(count, _mm512_slli_epi32(
        _mm512_add_epi32(count, _mm512_set1_epi32(CS_VEC)), 16));
    return (cs_vec)_mm512_permutexvar_epi16(alternate, (__m512i)_mm512_cvtne2ps_pbh(b, a));
}
#endif

static inline int64_t cs_cell_count(int64_t n);

/** cs_cells - out = the cells of n consecutive elements; out may be x */
static inline void cs_cells(const float *x, int64_t n, float *out)
{
    for (int64_t k = 0; k < n; k += 2 * CS_VEC) {
        const cs_vec lo = cs_get(x + k, n - k), hi = cs_get(x + k + CS_VEC, n - k - CS_VEC);
        cs_put(out + k / 2, cs_cell_count(n) - k / 2, cs_vcells(lo, hi));
    }
}

/** cs_cells_rest - out = the cells of n elements, and x = the remainder of their rounding */
static inline void cs_cells_rest(float *x, int64_t n, float *out)
{
    cs_cells(x, n, out);
    for (int64_t k = 0; k < n; k++) {
        uint32_t cell;
        float rounded;
        memcpy(&cell, &out[k / 2], sizeof cell);
        cell = k % 2 ? cell & 0xffff0000 : cell << 16;
        memcpy(&rounded, &cell, sizeof rounded);
        x[k] -= rounded;
    }
}
#else
enum { CS_PER_CELL = 1, CS_CELL_STEP = 1 };

CS_INLINE cs_vec cs_vdot(cs_vec a, cs_vec b, cs_vec sum) { return cs_vfma(a, b, sum); }

static inline void cs_cells(const float *x, int64_t n, float *out)
{
    memmove(out, x, (size_t)n * sizeof *out);
}

static inline void cs_cells_rest(float *x, int64_t n, float *out)
{
    cs_cells(x, n, out);
}
#endif

/** cs_cells_zip - at level bfmmla, order a packed panel's rows of cells by twos:
 * [n_cell / 2][width][2] */
static inline void cs_cells_zip(float *panel, int64_t n_cell, int width)
{
#if CS_LEVEL_IS(bfmmla)
    enum { MAX_VECS = 3 };       /* of the widest panel */
    for (int64_t c = 0; c < n_cell; c += 2, panel += 2 * width) {
        cs_vec v[2 * MAX_VECS];
        for (int i = 0; i < 2 * width; i += CS_VEC)
            v[i / CS_VEC] = cs_vload(panel + i);
        for (int i = 0, n = width / CS_VEC; i < n; i++) {
            cs_vstore(panel + 2 * i * CS_VEC, vzip1q_f32(v[i], v[n + i]));
            cs_vstore(panel + (2 * i + 1) * CS_VEC, vzip2q_f32(v[i], v[n + i]));
        }
    }
#else
    (void)panel, (void)n_cell, (void)width;
#endif
}

/** cs_cell_count - cells of n elements, padded with zeros to a multiple of CS_CELL_STEP */
static inline int64_t cs_cell_count(int64_t n)
{
    enum { STEP = CS_PER_CELL * CS_CELL_STEP };
    return (n + STEP - 1) / STEP * CS_CELL_STEP;
}

#endif

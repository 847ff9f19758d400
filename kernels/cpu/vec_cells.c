/* vec_cells.c - operands of a product packed as pairs of bf16. */
#include "kernels/cpu/gemm.h"

/* to[i*ld + j] = from[j][i]: rows of a square, of which n_row are written, n_col columns each */
static void transpose(const float *from, int64_t n_row, int64_t n_col, float *to, int64_t ld)
{
    float square[CS_VEC * CS_VEC];
    if (n_row >= CS_VEC && n_col >= CS_VEC) {
        cs_vtranspose(from, CS_VEC, to, ld);
        return;
    }
    cs_vtranspose(from, CS_VEC, square, CS_VEC);
    for (int64_t i = 0; i < CS_VEC && i < n_row; i++)
        cs_put(to + i * ld, n_col, cs_vload(square + i * CS_VEC));
}

void cs_cells_transposed(const float *const *row, int64_t n_k, int64_t j0, int64_t n, float *out,
                         int64_t ld)
{
    const int64_t n_cell = cs_cell_count(n_k);
    float pair[CS_VEC * CS_VEC];
    for (int64_t c = 0; c < n_cell; c += CS_VEC)
        for (int64_t j = 0; j < n; j += CS_VEC) {
            for (int64_t i = 0; i < CS_VEC; i++) {
                const int64_t k = 2 * (c + i), n_first = k < n_k ? n - j : 0;
                const int64_t n_second = k + 1 < n_k ? n - j : 0;
                const cs_vec a = cs_get(n_first ? row[k] + j0 + j : *row, n_first);
                const cs_vec b = cs_get(n_second ? row[k + 1] + j0 + j : *row, n_second);
                cs_vstore(pair + i * CS_VEC, cs_vpair(a, b));
            }
            transpose(pair, n - j, n_cell - c, out + j * ld + c, ld);
        }
}

/* Cells of the columns from b on, which are contiguous: transposed. */
static void pack_columns(const float *b, int64_t sj, int64_t n_k, int width, int32_t valid,
                         float *out)
{
    const int64_t n_cell = cs_cell_count(n_k);
    float cells[CS_VEC * CS_VEC] = { 0 };
    for (int64_t c = 0; c < n_cell; c += CS_VEC)
        for (int j = 0; j < width; j += CS_VEC) {
            for (int i = 0; i < CS_VEC; i++) {
                const int64_t n = j + i < valid ? n_k - 2 * c : 0;
                const float *from = n ? b + 2 * c + (j + i) * sj : b;
                const cs_vec lo = cs_get(from, n), hi = cs_get(from + CS_VEC, n - CS_VEC);
                cs_vstore(cells + i * CS_VEC, cs_vcells(lo, hi));
            }
            transpose(cells, n_cell - c, CS_VEC, out + c * width + j, width);
        }
}

/* Cells of the columns from b on: pairs of rows. */
void cs_pack_panel(const float *b, int64_t sk, int64_t sj, int64_t n_k, int width, int32_t valid,
                   float *out)
{
    if (sj != 1) {
        CS_BUG(sk != 1);
        pack_columns(b, sj, n_k, width, valid, out);
        cs_cells_zip(out, cs_cell_count(n_k), width);
        return;
    }
    for (int64_t c = 0; c < cs_cell_count(n_k); c++)
        for (int j = 0; j < width; j += CS_VEC) {
            const int64_t k = 2 * c, n_first = k < n_k ? valid - j : 0;
            const int64_t n_second = k + 1 < n_k ? valid - j : 0;
            const cs_vec lo = cs_get(n_first > 0 ? b + k * sk + j : b, n_first);
            const cs_vec hi = cs_get(n_second > 0 ? b + (k + 1) * sk + j : b, n_second);
            cs_vstore(out + c * width + j, cs_vpair(lo, hi));
        }
    cs_cells_zip(out, cs_cell_count(n_k), width);
}

/* ref_attn.c - softmax attention, with the arithmetic of a tile as plain loops. */
#include <math.h>

#include "kernels/cpu/attn.h"
#include "kernels/cpu/tables.h"

static void scores(cs_mat a, cs_mat b, cs_score_tile c)
{
    for (int64_t i = 0; i < a.r; i++)
        for (int64_t j = 0; j < b.r; j++) {
            const cs_real *x = cs_row(a, i), *y = cs_row(b, j);
            double sum = 0;
            for (int32_t k = 0; k < a.c; k++)
                sum += (double)x[k] * (double)y[k];
            c[i][j] = (cs_real)sum;
        }
}

/* y += sum_j w[j * step] x[j,:], over n rows of x */
static void mix_row(const cs_real *w, int step, int64_t n, cs_mat x, cs_real *y)
{
    for (int32_t c0 = 0; c0 < x.c; c0 += CS_CHUNK_COLS) {
        int32_t n_col = x.c - c0 < CS_CHUNK_COLS ? x.c - c0 : CS_CHUNK_COLS;
        double sum[CS_CHUNK_COLS] = { 0 };
        for (int64_t j = 0; j < n; j++)
            for (int32_t c = 0; c < n_col; c++)
                sum[c] += (double)w[j * step] * (double)cs_row(x, j)[c0 + c];
        for (int32_t c = 0; c < n_col; c++)
            y[c0 + c] += (cs_real)sum[c];
    }
}

static void mix(const cs_score_tile w, int64_t n_key, cs_mat x, cs_mat y)
{
    for (int64_t i = 0; i < y.r; i++)
        mix_row(w[i], 1, n_key, x, cs_row(y, i));
}

static void mix_transposed(const cs_score_tile w, int64_t n_row, cs_mat x, cs_mat y)
{
    for (int64_t j = 0; j < y.r; j++)
        mix_row(&w[0][j], CS_TILE_KEYS, n_row, x, cs_row(y, j));
}

static cs_real row_max(const cs_real *w, int n, cs_real scale, cs_real max)
{
    for (int j = 0; j < n; j++)
        max = scale * w[j] > max ? scale * w[j] : max;
    return max;
}

static double exp_sum(cs_real *w, int n, cs_real scale, cs_real shift)
{
    double sum = 0;
    for (int j = 0; j < n; j++) {
        w[j] = (cs_real)exp((double)scale * (double)w[j] - (double)shift);
        sum += (double)w[j];
    }
    return sum;
}

static void softmax_bwd(const cs_real *p, int n, cs_real scale, cs_real delta, cs_real *ds)
{
    for (int j = 0; j < n; j++)
        ds[j] = scale * p[j] * (ds[j] - delta);
}

static const cs_tile_ops plain = { scores, mix, mix_transposed, row_max, exp_sum, softmax_bwd };

static void ref_attend(cs_backend *be, const cs_attn *a, const cs_qkv *m)
{
    cs_attend_tiles(be, &plain, a, m);
}

static void ref_attend_bwd(cs_backend *be, const cs_attn *a, const cs_qkv *m, const cs_qkv *d)
{
    cs_attend_tiles_bwd(be, &plain, a, m, d);
}

void cs_ref_attn(cs_ops *op)
{
    op->attend = ref_attend;
    op->attend_bwd = ref_attend_bwd;
}

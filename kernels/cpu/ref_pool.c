/* ref_pool.c - max and log-mean-exp pooling of segments as plain loops. */
#include <math.h>

#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

/* NaN compares as larger than any number. */
static cs_real larger(cs_real a, cs_real b)
{
    return b > a || isnan(b) ? b : a;
}

/* y = the maximum of rows r0 .. r1-1 in columns j0 .. j0+n-1; 0 without rows. */
static void largest(cs_mat x, int64_t r0, int64_t r1, int32_t j0, int32_t n, cs_real *y)
{
    for (int32_t j = 0; j < n; j++)
        y[j] = r0 < r1 ? cs_row(x, r0)[j0 + j] : 0;
    for (int64_t r = r0 + 1; r < r1; r++)
        for (int32_t j = 0; j < n; j++)
            y[j] = larger(y[j], cs_row(x, r)[j0 + j]);
}

/* y = log-mean-exp of the same; before, y holds the maxima. */
static void smooth(cs_mat x, int64_t r0, int64_t r1, int32_t j0, int32_t n, cs_real *y)
{
    double sum[CS_CHUNK_COLS] = { 0 };

    for (int64_t r = r0; r < r1; r++)
        for (int32_t j = 0; j < n; j++)
            sum[j] += exp((double)cs_row(x, r)[j0 + j] - (double)y[j]);
    for (int32_t j = 0; j < n && r0 < r1; j++)
        y[j] += (cs_real)log(sum[j] / (double)(r1 - r0));
}

/* Tasks: blocks of columns of each segment. */
static int64_t n_block(cs_seg seg, int32_t c)
{
    return (int64_t)seg.n * ((c + CS_CHUNK_COLS - 1) / CS_CHUNK_COLS);
}

static void ref_seg_max(cs_backend *be, cs_seg seg, bool soft, cs_mat x, cs_mat y)
{
    const int64_t n = n_block(seg, x.c);

    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int64_t k = 0; k < n; k++) {
        const int32_t s = (int32_t)(k % seg.n), j0 = (int32_t)(k / seg.n) * CS_CHUNK_COLS;
        const int32_t n_col = x.c - j0 < CS_CHUNK_COLS ? x.c - j0 : CS_CHUNK_COLS;
        largest(x, seg.off[s], seg.off[s + 1], j0, n_col, cs_row(y, s) + j0);
        if (soft)
            smooth(x, seg.off[s], seg.off[s + 1], j0, n_col, cs_row(y, s) + j0);
    }
}

/* The gradient goes to the first row that holds the maximum. */
static void max_bwd(cs_mat x, int64_t r0, int64_t r1, int32_t j, cs_real y, cs_real dy, cs_mat dx)
{
    for (int64_t r = r0; r < r1; r++)
        if (!(cs_row(x, r)[j] < y)) {
            cs_row(dx, r)[j] += dy;
            return;
        }
}

static void smooth_bwd(cs_mat x, int64_t r0, int64_t r1, int32_t j, cs_real y, cs_real dy,
                       cs_mat dx)
{
    for (int64_t r = r0; r < r1; r++)
        cs_row(dx, r)[j] += dy * (cs_real)(exp((double)cs_row(x, r)[j] - (double)y) /
                                           (double)(r1 - r0));
}

static void ref_seg_max_bwd(cs_backend *be, cs_seg seg, bool soft, cs_mat x, cs_mat y, cs_mat dy,
                            cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c)) schedule(dynamic)
    for (int32_t s = 0; s < seg.n; s++)
        for (int32_t j = 0; j < x.c; j++)
            (soft ? smooth_bwd : max_bwd)(x, seg.off[s], seg.off[s + 1], j, cs_row(y, s)[j],
                                          cs_row(dy, s)[j], dx);
}

void cs_ref_pool(cs_ops *op)
{
    op->seg_max = ref_seg_max;
    op->seg_max_bwd = ref_seg_max_bwd;
}

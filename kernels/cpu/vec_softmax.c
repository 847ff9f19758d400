/* vec_softmax.c - softmax over columns, and over the rows of segments.
 *
 * Rows are summed in float, lane by lane; columns in double, because a segment may have millions of
 * rows. NaN propagates: max() returns its second operand, and exp(NaN - max) makes the sum NaN.
 */
#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

#include <math.h>

#include "kernels/cpu/vec.h"

enum { FOUR = 4, STEP = FOUR * CS_VEC };

/* ---- over columns ---------------------------------------------------------------------------*/

/* y may alias x. */
static void softmax_row(const float *x, int32_t n, float *y)
{
    const cs_vec low = cs_vset(-INFINITY), zero = cs_vset(0);
    cs_vec lane_max = low;
    cs_acc8 sum = cs_acc8_zero();

    for (int32_t j = 0; j < n; j += CS_VEC)
        lane_max = cs_vmax(lane_max, cs_first_or(cs_get(x + j, n - j), n - j, low));
    const cs_vec max = cs_vset(cs_vlargest(lane_max));
    for (int32_t j = 0; j < n; j += STEP) {
        cs_vec v[FOUR];
        for (int i = 0; i < FOUR; i++)
            v[i] = cs_get(x + j + i * CS_VEC, n - j - i * CS_VEC);
        cs_exp_four(v, max);
        for (int i = 0; i < FOUR; i++) {
            sum = cs_acc8_add(sum, cs_first_or(v[i], n - j - i * CS_VEC, zero), j + i * CS_VEC);
            cs_put(y + j + i * CS_VEC, n - j - i * CS_VEC, v[i]);
        }
    }
    const cs_vec scale = cs_vset(1 / cs_acc8_sum(sum));
    for (int32_t j = 0; j < n; j += CS_VEC)
        cs_put(y + j, n - j, cs_vmul(cs_get(y + j, n - j), scale));
}

static void vec_softmax(cs_backend *be, cs_mat x, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        softmax_row(cs_row(x, r), x.c, cs_row(y, r));
}

/* dx += y (dy - <y, dy>) */
static void softmax_row_bwd(const float *y, int32_t n, const float *dy, float *dx)
{
    cs_acc8 dot = cs_acc8_zero();

    for (int32_t j = 0; j < n; j += CS_VEC)
        dot = cs_acc8_fma(dot, cs_get(y + j, n - j), cs_get(dy + j, n - j), j);
    const cs_vec mean = cs_vset(cs_acc8_sum(dot));
    for (int32_t j = 0; j < n; j += CS_VEC) {
        const cs_vec d = cs_vsub(cs_get(dy + j, n - j), mean);
        cs_put(dx + j, n - j, cs_vfma(cs_get(y + j, n - j), d, cs_get(dx + j, n - j)));
    }
}

static void vec_softmax_bwd(cs_backend *be, cs_mat y, cs_mat dy, cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t r = 0; r < y.r; r++)
        softmax_row_bwd(cs_row(y, r), y.c, cs_row(dy, r), cs_row(dx, r));
}

/* ---- over the rows of a segment -------------------------------------------------------------*/

/* Rows r0 .. r1-1 of at most CS_VEC columns from j on. */
static void softmax_columns(cs_mat x, int64_t r0, int64_t r1, int32_t j, cs_mat y)
{
    const int64_t n = x.c - j;
    const cs_vec one = cs_vset(1);
    cs_vec max = cs_vset(-INFINITY);
    cs_dvec sum = cs_dvec_set(0);

    for (int64_t r = r0; r < r1; r++)
        max = cs_vmax(max, cs_get(cs_row(x, r) + j, n));
    for (int64_t r = r0; r < r1; r += FOUR) {
        const int k = (int)cs_min64(FOUR, r1 - r);
        cs_vec v[FOUR] = { max, max, max, max };
        for (int i = 0; i < k; i++)
            v[i] = cs_get(cs_row(x, r + i) + j, n);
        cs_exp_four(v, max);
        for (int i = 0; i < k; i++) {
            sum = cs_dvec_add(sum, cs_to_dvec(v[i]));
            cs_put(cs_row(y, r + i) + j, n, v[i]);
        }
    }
    const cs_vec scale = cs_vdiv(one, cs_to_vec(sum));
    for (int64_t r = r0; r < r1; r++)
        cs_put(cs_row(y, r) + j, n, cs_vmul(cs_get(cs_row(y, r) + j, n), scale));
}

static int64_t blocks_of(cs_mat x)
{
    return (x.c + CS_VEC - 1) / CS_VEC;
}

static void vec_seg_softmax(cs_backend *be, cs_seg seg, cs_mat x, cs_mat y)
{
    const int64_t m = blocks_of(x);

    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t k = 0; k < seg.n * m; k++)
        softmax_columns(x, seg.off[k / m], seg.off[k / m + 1], (int32_t)(k % m) * CS_VEC, y);
}

static void softmax_columns_bwd(cs_mat y, int64_t r0, int64_t r1, int32_t j, cs_mat dy,
                                cs_mat dx)
{
    const int64_t n = y.c - j;
    cs_dvec dot = cs_dvec_set(0);

    for (int64_t r = r0; r < r1; r++)
        dot = cs_dvec_add(dot, cs_to_dvec(cs_vmul(cs_get(cs_row(y, r) + j, n),
                                                  cs_get(cs_row(dy, r) + j, n))));
    const cs_vec mean = cs_to_vec(dot);
    for (int64_t r = r0; r < r1; r++) {
        const cs_vec d = cs_vsub(cs_get(cs_row(dy, r) + j, n), mean);
        float *out = cs_row(dx, r) + j;
        cs_put(out, n, cs_vfma(cs_get(cs_row(y, r) + j, n), d, cs_get(out, n)));
    }
}

static void vec_seg_softmax_bwd(cs_backend *be, cs_seg seg, cs_mat y, cs_mat dy, cs_mat dx)
{
    const int64_t m = blocks_of(y);

    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t k = 0; k < seg.n * m; k++)
        softmax_columns_bwd(y, seg.off[k / m], seg.off[k / m + 1], (int32_t)(k % m) * CS_VEC, dy,
                            dx);
}

void cs_vec_softmax(cs_ops *op)
{
    op->softmax = vec_softmax;
    op->softmax_bwd = vec_softmax_bwd;
    op->seg_softmax = vec_seg_softmax;
    op->seg_softmax_bwd = vec_seg_softmax_bwd;
}

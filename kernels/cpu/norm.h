/* norm.h - layer normalisation of rows, for vec_norm.c and vec_conv.c.
 *
 * The sums over a row are chains of dependent additions, so four rows are processed together. Each
 * has the operations that it would have alone: its bits depend on that row only.
 */
#ifndef CS_KERNELS_CPU_NORM_H
#define CS_KERNELS_CPU_NORM_H

#include <math.h>

#include "kernels/cpu/impl.h"
#include "kernels/cpu/vec.h"

enum { CS_NORM_ROWS = 4 };

/* y = (x - mean) rstd gamma + beta over the columns of each row, followed by relu and the addition
 * of res. y may be x. */
typedef struct cs_norm_job {
    cs_mat x, gamma, beta, res, y;
    cs_mat stat;                 /* receives mean and rstd of each row; may be absent */
    float  eps;
} cs_norm_job;

/** cs_deviation - v - mean in the first n lanes, 0 in the others */
CS_INLINE cs_vec cs_deviation(const float *v, int64_t n, cs_vec mean)
{
    return cs_first_or(cs_vsub(cs_get(v, n), mean), n, cs_vset(0));
}

/* Sums of n columns from j on. */
CS_INLINE void cs_norm_sum(const float *const x[4], int64_t j, int64_t n, cs_acc8 sum[4])
{
#define CS_ADD(i) sum[i] = cs_acc8_add(sum[i], cs_get(x[i] + j, n), j);
    CS_FOUR(CS_ADD)
#undef CS_ADD
}

/* The same of squares of deviations. */
CS_INLINE void cs_norm_square(const float *const x[4], const cs_vec mean[4], int64_t j, int64_t n,
                              cs_acc8 sum[4])
{
    cs_vec d[4];
#define CS_SQUARE(i) d[i] = cs_deviation(x[i] + j, n, mean[i]);  \
    sum[i] = cs_acc8_fma(sum[i], d[i], d[i], j);
    CS_FOUR(CS_SQUARE)
#undef CS_SQUARE
}

/* n columns of y from j on. All rows are read before one is written: they may be the same. */
CS_INLINE void cs_norm_write(const bool relu, const cs_norm_job *q, const int64_t r[4],
                             const cs_vec mean[4], const cs_vec rstd[4], int64_t j, int64_t n)
{
    const cs_vec gamma = cs_get(q->gamma.p + j, n), beta = cs_get(q->beta.p + j, n);
    const bool has_res = relu && q->res.r > 0;
    cs_vec v[4];
#define CS_NORM(i)                                                                            \
    v[i] = cs_vmul(cs_deviation(cs_row(q->x, r[i]) + j, n, mean[i]), rstd[i]);                 \
    v[i] = cs_vfma(v[i], gamma, beta);                                                        \
    v[i] = relu ? cs_vmax(cs_vset(0), v[i]) : v[i];                                           \
    if (has_res)                                                                              \
        v[i] = cs_vadd(v[i], cs_get(cs_row(q->res, r[i]) + j, n));
#define CS_PUT(i) cs_put(cs_row(q->y, r[i]) + j, n, v[i]);
    CS_FOUR(CS_NORM)
    CS_FOUR(CS_PUT)
#undef CS_NORM
#undef CS_PUT
}

/* Up to four rows from r0 on; of fewer, the last one is repeated. */
CS_INLINE void cs_norm_four(const bool relu, const cs_norm_job *q, int64_t r0, int64_t end)
{
    const int32_t n = q->x.c, whole = n - n % CS_VEC;
    int64_t r[4];
    const float *x[4];
    cs_acc8 sum[4], square[4];
    cs_vec mean[4], rstd[4];

#define CS_BEGIN(i) r[i] = cs_min64(r0 + i, end - 1);  \
    x[i] = cs_row(q->x, r[i]);                          \
    sum[i] = square[i] = cs_acc8_zero();
    CS_FOUR(CS_BEGIN)
#undef CS_BEGIN
    for (int32_t j = 0; j < whole; j += CS_VEC)
        cs_norm_sum(x, j, CS_VEC, sum);
    if (whole < n)
        cs_norm_sum(x, whole, n - whole, sum);
#define CS_MEAN(i) mean[i] = cs_vset(cs_acc8_sum(sum[i]) / (float)n);
    CS_FOUR(CS_MEAN)
#undef CS_MEAN
    for (int32_t j = 0; j < whole; j += CS_VEC)
        cs_norm_square(x, mean, j, CS_VEC, square);
    if (whole < n)
        cs_norm_square(x, mean, whole, n - whole, square);
#define CS_RSTD(i) do {                                                                       \
        const float s = 1 / sqrtf(cs_acc8_sum(square[i]) / (float)n + q->eps);                \
        rstd[i] = cs_vset(s);                                                                 \
        if (q->stat.r) {                                                                      \
            cs_row(q->stat, r[i])[0] = cs_acc8_sum(sum[i]) / (float)n;                        \
            cs_row(q->stat, r[i])[1] = s;                                                     \
        }                                                                                     \
    } while (0);
    CS_FOUR(CS_RSTD)
#undef CS_RSTD
    for (int32_t j = 0; j < whole; j += CS_VEC)
        cs_norm_write(relu, q, r, mean, rstd, j, CS_VEC);
    if (whole < n)
        cs_norm_write(relu, q, r, mean, rstd, whole, n - whole);
}

/** cs_norm_rows - rows r0 .. r1-1; relu is a constant, and res is not used without it */
CS_INLINE void cs_norm_rows(const bool relu, const cs_norm_job *q, int64_t r0, int64_t r1)
{
    for (int64_t r = r0; r < r1; r += CS_NORM_ROWS)
        cs_norm_four(relu, q, r, r1);
}

#endif

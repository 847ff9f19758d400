/* ref_dense.c - reference dense ops and embedding as plain loops. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

/* One row of c. Columns are processed in blocks; sums are in double and in order of k. */
static void gemm_row(bool ta, bool tb, cs_mat a, cs_mat b, cs_real beta, cs_mat c, int64_t i)
{
    const int64_t n_k = ta ? a.r : a.c, step = tb ? b.ld : 1;
    for (int32_t j0 = 0; j0 < c.c; j0 += CS_CHUNK_COLS) {
        int32_t n = c.c - j0 < CS_CHUNK_COLS ? c.c - j0 : CS_CHUNK_COLS;
        double sum[CS_CHUNK_COLS] = { 0 };
        for (int64_t k = 0; k < n_k; k++) {
            const double v = (double)(ta ? cs_row(a, k)[i] : cs_row(a, i)[k]);
            const cs_real *w = tb ? cs_row(b, j0) + k : cs_row(b, k) + j0;
            for (int32_t j = 0; j < n; j++)
                sum[j] += v * (double)w[j * step];
        }
        cs_real *y = cs_row(c, i) + j0;
        for (int32_t j = 0; j < n; j++)
            y[j] = (cs_real)(beta != 0 ? (double)y[j] + sum[j] : sum[j]);
    }
}

static void ref_gemm(cs_backend *be, bool ta, bool tb, cs_mat a, cs_mat b, cs_real beta, cs_mat c)
{
    #pragma omp parallel for num_threads(cs_threads(be, c.r * c.c * (ta ? a.r : a.c)))
    for (int64_t i = 0; i < c.r; i++)
        gemm_row(ta, tb, a, b, beta, c, i);
}

static void ref_add_bias(cs_backend *be, cs_mat bias, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t r = 0; r < y.r; r++)
        for (int32_t j = 0; j < y.c; j++)
            cs_row(y, r)[j] += bias.p[j];
}

/* Phi(x). erfc keeps relative accuracy in the negative tail, where 1 + erf cancels. */
static double normal_cdf(double x)
{
    return 0.5 * erfc(x * -0.70710678118654752440);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double act_value(cs_act f, double x)
{
    switch (f) {
    case CS_ACT_GELU:     return isinf(x) && x < 0 ? 0 : x * normal_cdf(x);
    case CS_ACT_RELU:     return x > 0 ? x : 0;
    case CS_ACT_SIGMOID:  return sigmoid(x);
    case CS_ACT_SOFTPLUS: return x > 20 ? x : log1p(exp(x));
    case CS_ACT_TANH:     return tanh(x);
    default:              return x;
    }
}

/* gelu'(x) = Phi(x) + x phi(x); relu'(0) = 0, as in torch. */
static double act_slope(cs_act f, double x)
{
    switch (f) {
    case CS_ACT_GELU:     return normal_cdf(x) + x * 0.39894228040143267794 * exp(-0.5 * x * x);
    case CS_ACT_RELU:     return x > 0 ? 1 : 0;
    case CS_ACT_SIGMOID:  return sigmoid(x) * sigmoid(-x);
    case CS_ACT_SOFTPLUS: return x > 20 ? 1 : sigmoid(x);
    case CS_ACT_TANH:     return 1 - tanh(x) * tanh(x);
    default:              return 1;
    }
}

void cs_ref_act(cs_backend *be, cs_act f, cs_mat x, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        for (int32_t j = 0; j < x.c; j++)
            cs_row(y, r)[j] = (cs_real)act_value(f, (double)cs_row(x, r)[j]);
}

void cs_ref_act_bwd(cs_backend *be, cs_act f, cs_mat x, cs_mat dy, cs_mat dx)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        for (int32_t j = 0; j < x.c; j++) {
            double slope = act_slope(f, (double)cs_row(x, r)[j]);
            cs_real before = dx.p == dy.p ? 0 : cs_row(dx, r)[j];
            cs_row(dx, r)[j] = before + (cs_real)((double)cs_row(dy, r)[j] * slope);
        }
}

/* (f(a) - f(b)) / (a - b). If a and b are close, the slope at their midpoint is more accurate than
 * the quotient, which cancels; relu's quotient is exact. */
static double act_quotient(cs_act f, double a, double b)
{
    if (fabs(a - b) <= (f == CS_ACT_RELU ? 0 : 1e-5))
        return act_slope(f, 0.5 * (a + b));
    return (act_value(f, a) - act_value(f, b)) / (a - b);
}

static void ref_act_rescale(cs_backend *be, cs_act f, cs_mat x, cs_mat dy, cs_mat dx)
{
    const int64_t h = x.r / 2;
    #pragma omp parallel for num_threads(cs_threads(be, h * x.c))
    for (int64_t r = 0; r < h; r++)
        for (int32_t j = 0; j < x.c; j++) {
            double q = act_quotient(f, (double)cs_row(x, r)[j], (double)cs_row(x, r + h)[j]);
            cs_row(dx, r)[j] += (cs_real)((double)cs_row(dy, r)[j] * q);
        }
}

static void ref_axpby(cs_backend *be, cs_real a, cs_mat x, cs_real b, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        for (int32_t j = 0; j < x.c; j++) {
            cs_real *v = cs_row(y, r) + j;
            /* b = 0 overwrites y: NaN times zero would stay NaN */
            *v = b != 0 ? a * cs_row(x, r)[j] + b * *v : a * cs_row(x, r)[j];
        }
}

static void ref_mul(cs_backend *be, cs_mat a, cs_mat b, cs_real beta, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t r = 0; r < y.r; r++)
        for (int32_t j = 0; j < y.c; j++) {
            cs_real *v = cs_row(y, r) + j;
            cs_real ab = cs_row(a, r)[j] * cs_row(b, r)[j];
            *v = beta != 0 ? ab + beta * *v : ab;
        }
}

static void ref_colsum(cs_backend *be, cs_mat x, cs_mat y)
{
    int64_t step = cs_chunk_rows(x.r);
    for (int32_t j0 = 0; j0 < x.c; j0 += CS_CHUNK_COLS) {
        int32_t n = x.c - j0 < CS_CHUNK_COLS ? x.c - j0 : CS_CHUNK_COLS;
        double part[CS_CHUNKS][CS_CHUNK_COLS] = { 0 };
        #pragma omp parallel for num_threads(cs_threads(be, x.r * n))
        for (int k = 0; k < CS_CHUNKS; k++)
            for (int64_t r = k * step; r < cs_min64((k + 1) * step, x.r); r++)
                for (int32_t j = 0; j < n; j++)
                    part[k][j] += (double)cs_row(x, r)[j0 + j];
        for (int32_t j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < CS_CHUNKS; k++)
                sum += part[k][j];
            y.p[j0 + j] += (cs_real)sum;
        }
    }
}

/* Chunks of elements, not of rows: a single row has several, too, and the sum does not depend on
 * the matrix's shape. */
static void ref_sumsq(cs_backend *be, cs_mat x, cs_mat y)
{
    int64_t n = x.r * x.c, step = cs_chunk_rows(n);
    double part[CS_CHUNKS] = { 0 };
    #pragma omp parallel for num_threads(cs_threads(be, n))
    for (int k = 0; k < CS_CHUNKS; k++) {
        double sum = 0;
        for (int64_t i = k * step; i < cs_min64((k + 1) * step, n); i++) {
            double v = (double)cs_row(x, i / x.c)[i % x.c];
            sum += v * v;
        }
        part[k] = sum;
    }
    y.p[0] += (cs_real)cs_chunk_sum(part);
}

static void ref_embed(cs_backend *be, const int32_t *id, cs_mat table, cs_mat y)
{
    size_t n_bytes = (size_t)y.c * sizeof *y.p;
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int64_t r = 0; r < y.r; r++)
        if (id[r] < 0)
            memset(cs_row(y, r), 0, n_bytes);
        else
            memcpy(cs_row(y, r), cs_row(table, id[r]), n_bytes);
}

/* Threads take columns, not rows: every sum runs in order of r, and no element is shared. */
static void ref_embed_bwd(cs_backend *be, const int32_t *id, int32_t pad, cs_mat dy, cs_mat dtable)
{
    enum { COLS = 16 };
    int32_t n_block = (dy.c + COLS - 1) / COLS;
    #pragma omp parallel for num_threads(cs_threads(be, dy.r * dy.c))
    for (int32_t b = 0; b < n_block; b++) {
        int32_t stop = (b + 1) * COLS < dy.c ? (b + 1) * COLS : dy.c;
        for (int64_t r = 0; r < dy.r; r++) {
            if (id[r] < 0 || id[r] == pad)
                continue;
            for (int32_t j = b * COLS; j < stop; j++)
                cs_row(dtable, id[r])[j] += cs_row(dy, r)[j];
        }
    }
}

static void ref_embed_mean(cs_backend *be, cs_seg seg, const int32_t *id, cs_mat table, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, seg.rows * y.c))
    for (int32_t s = 0; s < seg.n; s++)
        for (int32_t j = 0; j < y.c; j++) {
            double sum = 0;
            int64_t n = seg.off[s + 1] - seg.off[s];
            for (int64_t r = seg.off[s]; r < seg.off[s + 1]; r++)
                sum += id[r] < 0 ? 0 : (double)cs_row(table, id[r])[j];
            cs_row(y, s)[j] = (cs_real)(n > 0 ? sum / (double)n : 0);
        }
}

static void ref_embed_mean_bwd(cs_backend *be, cs_seg seg, const int32_t *id,
                               cs_mat dy, cs_mat dtable)
{
    #pragma omp parallel for num_threads(cs_threads(be, seg.rows * dy.c))
    for (int32_t j = 0; j < dy.c; j++)
        for (int32_t s = 0; s < seg.n; s++) {
            cs_real share = cs_row(dy, s)[j] / (cs_real)(seg.off[s + 1] - seg.off[s]);
            for (int64_t r = seg.off[s]; r < seg.off[s + 1]; r++)
                if (id[r] >= 0)
                    cs_row(dtable, id[r])[j] += share;
        }
}

static void ref_count_mean(cs_backend *be, const int64_t *count, int64_t n, cs_mat table, cs_mat y)
{
    #pragma omp parallel for num_threads(cs_threads(be, table.r * y.c))
    for (int32_t j = 0; j < y.c; j++) {
        double sum = 0;
        for (int64_t v = 0; v < table.r; v++)
            sum += (double)count[v] * (double)cs_row(table, v)[j];
        y.p[j] = (cs_real)(n > 0 ? sum / (double)n : 0);
    }
}

void cs_ref_dense(cs_ops *op)
{
    op->gemm = ref_gemm;
    op->add_bias = ref_add_bias;
    op->act = cs_ref_act;
    op->act_bwd = cs_ref_act_bwd;
    op->act_rescale = ref_act_rescale;
    op->axpby = ref_axpby;
    op->mul = ref_mul;
    op->colsum = ref_colsum;
    op->sumsq = ref_sumsq;
    op->embed = ref_embed;
    op->embed_bwd = ref_embed_bwd;
    op->embed_mean = ref_embed_mean;
}

void cs_ref_bag(cs_fused *fused)
{
    fused->embed_mean_bwd = ref_embed_mean_bwd;
    fused->count_mean = ref_count_mean;
}

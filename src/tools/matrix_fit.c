/* matrix_fit.c - fit sparse factors to a matrix, as a network on the identity.
 *
 * DESIGN
 * The factors are applied to the identity, so one pass of PSF-Attn's ops gives their product, and
 * the tape its gradient. The matrix is scaled to a root mean square of 1, and the scale is put into
 * the last factor at the end.
 */
#include "tools/matrix_fit.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "batch/batch.h"
#include "nn/ops/ops.h"
#include "train/optim.h"

/* Inputs of a step besides the parameters. */
struct fitting {
    cs_backend *be;
    cs_params   ps;
    cs_ctx      cx;
    cs_matrix_factors *f;
    cs_seg      seg;
    int64_t     off[2];
    cs_mat      eye, target;
    cs_real    *given;           /* the memory of both */
};

/* The norm of a, or of a - b, times unit. */
static double norm_in(int64_t n, const double *a, const double *b, double unit)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        const double d = (b ? a[i] - b[i] : a[i]) * unit;
        sum += d * d;
    }
    return sqrt(sum);
}

double cs_frobenius(int64_t n, const double *a, const double *b)
{
    static const double large = 0x1p+600, small = 0x1p-400;
    const double norm = norm_in(n, a, b, 1);

    /* Squares beyond the range of a double. */
    if (isinf(norm))
        return norm_in(n, a, b, 1 / large) * large;
    return norm < small ? norm_in(n, a, b, large) / large : norm;
}

/* The product of m random factors with k links each has the root mean square of one entry's
 * standard deviation to the m-th times sqrt(k^m / n): this one makes that 1. */
static double initial_gain(const cs_matrix_factors *f)
{
    return sqrt(pow((double)f->n, 1.0 / f->n_factor) / f->link.n);
}

static int declare(struct fitting *t, uint64_t seed)
{
    int rc = CS_OK;
    const cs_matrix_factors *f = t->f;

    cs_params_init(&t->ps);
    for (int32_t m = 0; m < f->n_factor; m++)
        cs_declare(&t->ps, cs_shape2(f->n, f->link.n), CS_INIT_NORMAL, initial_gain(f),
                   "factor.%d", (int)m);
    CS_TRY(cs_params_alloc(&t->ps, t->be, true));
    CS_TRY(cs_params_fill(&t->ps, seed));
    cs_ctx_init(&t->cx, t->be, &t->ps);
out:
    return rc;
}

static int stage(struct fitting *t, const double *a, double scale)
{
    const int64_t n = t->f->n;

    t->given = t->be->op.alloc(t->be, 2 * (size_t)(n * n) * sizeof *t->given);
    if (!t->given)
        return cs_fail(CS_EMEM, "out of memory for two matrices of %lld x %lld", (long long)n,
                       (long long)n);
    t->eye = (cs_mat){ t->given, n, (int32_t)n, (int32_t)n };
    t->target = (cs_mat){ t->given + n * n, n, (int32_t)n, (int32_t)n };
    memset(t->given, 0, (size_t)(n * n) * sizeof *t->given);
    for (int64_t i = 0; i < n; i++)
        t->eye.p[i * n + i] = 1;
    for (int64_t i = 0; i < n * n; i++)
        t->target.p[i] = (cs_real)(a[i] / scale);
    t->off[1] = n;
    t->seg = (cs_seg){ t->off, 1, n, cs_depth(n), NULL };
    return CS_OK;
}

/* The squared error per row, and its gradient. */
static void pass(struct fitting *t, bool dry)
{
    const int64_t n = t->f->n;

    cs_ctx_begin(&t->cx, true, dry, 0);
    /* A copy in the arena, since the op's adjoint needs its gradient. */
    cs_mat v = cs_empty(&t->cx, n, (int32_t)n);
    if (!dry)
        t->be->op.copy(t->be, t->eye, v);
    for (int32_t m = 0; m < t->f->n_factor; m++) {
        cs_mat y = cs_empty(&t->cx, n, (int32_t)n);
        cs_sparse(&t->cx, t->seg, &t->f->link, cs_value(&t->ps, m), v, (cs_mat){ 0 }, y);
        v = y;
    }
    cs_mse(&t->cx, (cs_real)(1.0 / (double)n), v, t->target);
}

static int step(struct fitting *t, const cs_matrix_fit_opt *opt, int64_t i)
{
    const cs_schedule plan = { CS_DECAY_COSINE, opt->n_step / 50, opt->n_step, 0.5, 1, 0 };
    const cs_adam h = { .lr = opt->lr * cs_schedule_factor(&plan, i), .beta1 = 0.9, .beta2 = 0.999,
                        .eps = 1e-8, .grad_scale = 1 };

    cs_optim_zero_grad(&t->ps);
    pass(t, false);
    cs_backward(&t->cx);
    cs_optim_step(&t->ps, h, false);
    if (!isfinite(*t->cx.loss.p))
        return cs_fail(CS_EUSAGE, "the factors' weights overflow in step %lld; lower --lr",
                       (long long)i);
    if (i % 100 == 0)
        cs_info("step %lld: relative error %.6f", (long long)i,
                sqrt((double)*t->cx.loss.p / (double)t->f->n));
    return cs_signal_caught() ? CS_ECANCEL : CS_OK;
}

/* The resulting weights, with the matrix's scale in the last factor. */
static void matrix_fit_collect(struct fitting *t, double scale)
{
    cs_matrix_factors *f = t->f;
    const int64_t n_each = f->n * f->link.n;

    for (int32_t m = 0; m < f->n_factor; m++) {
        const cs_real *w = cs_value(&t->ps, m).p;
        const double s = m == f->n_factor - 1 ? scale : 1;
        for (int64_t i = 0; i < n_each; i++)
            f->w[m * n_each + i] = (double)w[i] * s;
    }
}

/* y = W_m x in double precision. */
static void multiply(const cs_matrix_factors *f, int32_t m, const double *x, double *y)
{
    const int64_t n = f->n;

    for (int64_t i = 0; i < n; i++) {
        const double *w = f->w + (m * n + i) * f->link.n;
        memset(y + i * n, 0, (size_t)n * sizeof *y);
        for (int32_t k = 0; k < f->link.n; k++) {
            const double *from = x + (i + f->link.off[k]) % n * n;
            for (int64_t j = 0; j < n; j++)
                y[i * n + j] += w[k] * from[j];
        }
    }
}

static int multiply_out(cs_matrix_factors *f, const double *a)
{
    const int64_t n = f->n;
    double *x = cs_alloc((size_t)(n * n), sizeof *x), *y = cs_alloc((size_t)(n * n), sizeof *y);

    if (!x || !y) {
        free(x);
        free(y);
        return cs_fail(CS_EMEM, "out of memory for two matrices of %lld x %lld", (long long)n,
                       (long long)n);
    }
    for (int64_t i = 0; i < n * n; i++)
        x[i] = i % (n + 1) == 0;
    for (int32_t m = 0; m < f->n_factor; m++) {
        multiply(f, m, x, y);
        double *swap = x;
        x = y;
        y = swap;
    }
    free(y);
    f->product = x;
    f->error = cs_frobenius(n * n, a, x);
    return CS_OK;
}

int32_t cs_matrix_fit_count(int64_t n, const cs_matrix_fit_opt *opt)
{
    return opt->n_factor > 0 ? (int32_t)opt->n_factor : cs_depth(n);
}

int cs_matrix_fit(cs_backend *be, int64_t n, const double *a, const cs_matrix_fit_opt *opt,
                  cs_matrix_factors *f)
{
    int rc = CS_OK;
    struct fitting t = { .be = be, .f = f };
    const double norm = cs_frobenius(n * n, a, NULL);
    const double scale = norm > 0 ? norm / (double)n : 1;

    CS_BUG(n < 2 || n > 32768 || !be->is_host);
    *f = (cs_matrix_factors){ .n = n, .link = cs_links_chord(cs_depth(n) + 1),
                              .n_factor = cs_matrix_fit_count(n, opt) };
    if ((f->w = cs_alloc((size_t)cs_matrix_factors_nonzeros(f), sizeof *f->w)) == NULL)
        return cs_fail(CS_EMEM, "out of memory for %lld weights",
                       (long long)cs_matrix_factors_nonzeros(f));
    CS_TRY(declare(&t, opt->seed));
    CS_TRY(stage(&t, a, scale));
    pass(&t, true);
    CS_TRY(cs_ctx_reserve(&t.cx, t.cx.peak, t.cx.grad_peak));
    for (int64_t i = 0; i < opt->n_step; i++)
        CS_TRY(step(&t, opt, i));
    matrix_fit_collect(&t, scale);
    CS_TRY(multiply_out(f, a));
out:
    if (t.given)
        be->op.dealloc(be, t.given);
    cs_ctx_release(&t.cx);
    cs_params_release(&t.ps);
    return rc;
}

void cs_matrix_factors_release(cs_matrix_factors *f)
{
    free(f->w);
    free(f->product);
    *f = (cs_matrix_factors){ .w = NULL };
}

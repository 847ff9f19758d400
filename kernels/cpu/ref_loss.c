/* ref_loss.c - cross-entropy, squared error, penalties, dropout and Adam as plain loops. */
#include <math.h>

#include "base/rng.h"
#include "kernels/cpu/impl.h"
#include "kernels/cpu/tables.h"

/* Weighted negative log-likelihood of one row; its gradient into g. A masked row gives zeros. */
static double xent_row(double scale, const cs_real *z, double target, cs_mat weight, int32_t n,
                       cs_real *g)
{
    if (isnan(target)) {
        for (int32_t j = 0; j < n; j++)
            g[j] = 0;
        return 0;
    }
    int32_t t = (int32_t)target;
    double max = (double)z[0], sum = 0;
    for (int32_t j = 1; j < n; j++)
        max = (double)z[j] > max ? (double)z[j] : max;
    for (int32_t j = 0; j < n; j++)
        sum += exp((double)z[j] - max);
    double w = scale * (weight.p ? (double)weight.p[t] : 1.0);
    for (int32_t j = 0; j < n; j++)
        g[j] = (cs_real)(w * (exp((double)z[j] - max) / sum - (j == t)));
    return w * (log(sum) + max - (double)z[t]);
}

static void ref_xent(cs_backend *be, cs_real scale, cs_mat logit, cs_mat target, cs_mat weight,
                     cs_mat loss, cs_mat grad)
{
    int64_t step = cs_chunk_rows(logit.r);
    double part[CS_CHUNKS] = { 0 };
    #pragma omp parallel for num_threads(cs_threads(be, logit.r * logit.c))
    for (int k = 0; k < CS_CHUNKS; k++)
        for (int64_t r = k * step; r < cs_min64((k + 1) * step, logit.r); r++) {
            const cs_real *t = cs_row(target, r);
            double s = target.c > 1 ? (double)scale * (double)t[1] : (double)scale;
            part[k] += xent_row(s, cs_row(logit, r), (double)t[0], weight, logit.c,
                                cs_row(grad, r));
        }
    loss.p[0] += (cs_real)cs_chunk_sum(part);
}

/* Log-sum-exp over the classes of taxon g, or over all classes if `group` is NULL. */
static double log_sum(const cs_real *z, const cs_real *group, cs_real g, int32_t n)
{
    double max = -INFINITY, sum = 0;

    for (int32_t j = 0; j < n; j++)
        if (!group || (group[j] >= g && group[j] <= g))
            max = fmax(max, (double)z[j]);
    for (int32_t j = 0; j < n; j++)
        if (!group || (group[j] >= g && group[j] <= g))
            sum += exp((double)z[j] - max);
    return log(sum) + max;
}

/* Softmax over all classes minus softmax over the taxon's classes, per level. */
static double tree_row(double scale, const cs_clades *k, const cs_real *z, double target, int32_t n,
                       cs_real *grad)
{
    double loss = 0, sum = 0;

    for (int32_t j = 0; j < n; j++)
        grad[j] = 0;
    if (isnan(target))
        return 0;
    const int32_t t = (int32_t)target;
    const double log_total = log_sum(z, NULL, 0, n);
    const double w_class = k->weight.p ? (double)k->weight.p[t] : 1;
    for (int64_t l = 0; l < k->group.r; l++) {
        const cs_real *group = cs_row(k->group, l), g = group[t];
        if (isnan(g))
            continue;
        const double log_group = log_sum(z, group, g, n);
        const double w = scale * w_class * (double)cs_row(k->share, l)[t];
        for (int32_t j = 0; j < n; j++)
            if (group[j] >= g && group[j] <= g)
                grad[j] -= (cs_real)(w * exp((double)z[j] - log_group));
        sum += w;
        loss += w * (log_total - log_group);
    }
    for (int32_t j = 0; j < n; j++)
        grad[j] += (cs_real)(sum * exp((double)z[j] - log_total));
    return loss;
}

static void ref_xent_tree(cs_backend *be, cs_real scale, const cs_clades *clades, cs_mat logit,
                          cs_mat target, cs_mat loss, cs_mat grad)
{
    int64_t step = cs_chunk_rows(logit.r);
    double part[CS_CHUNKS] = { 0 };
    #pragma omp parallel for num_threads(cs_threads(be, logit.r * logit.c))
    for (int k = 0; k < CS_CHUNKS; k++)
        for (int64_t r = k * step; r < cs_min64((k + 1) * step, logit.r); r++)
            part[k] += tree_row((double)scale, clades, cs_row(logit, r),
                                (double)cs_row(target, r)[0], logit.c, cs_row(grad, r));
    loss.p[0] += (cs_real)cs_chunk_sum(part);
}

/* sigmoid(z) is the softmax of (0, z): an entry is a row of two classes. */
static double label_entry(double scale, double z, double target, const cs_real *weight, cs_real *g)
{
    *g = 0;
    if (isnan(target))
        return 0;
    const int t = target > 0;
    const double max = fmax(0, z), yes = exp(z - max), sum = exp(-max) + yes;
    const double w = scale * (weight ? (double)weight[t] : 1.0);
    *g = (cs_real)(w * (yes / sum - t));
    return w * (log(sum) + max - t * z);
}

static void ref_xent_labels(cs_backend *be, cs_real scale, cs_mat logit, cs_mat target,
                            cs_mat weight, cs_mat loss, cs_mat grad)
{
    const int64_t n = logit.r * logit.c, step = cs_chunk_rows(n);
    double part[CS_CHUNKS] = { 0 };
    #pragma omp parallel for num_threads(cs_threads(be, n))
    for (int k = 0; k < CS_CHUNKS; k++)
        for (int64_t i = k * step; i < cs_min64((k + 1) * step, n); i++) {
            const int64_t r = i / logit.c, j = i % logit.c;
            const cs_real *w = weight.p ? cs_row(weight, weight.r > 1 ? j : 0) : NULL;
            part[k] += label_entry((double)scale, (double)cs_row(logit, r)[j],
                                   (double)cs_row(target, r)[j], w, cs_row(grad, r) + j);
        }
    loss.p[0] += (cs_real)cs_chunk_sum(part);
}

static double mse_row(double scale, const cs_real *y, const cs_real *t, int32_t n, cs_real *g)
{
    double sum = 0;
    for (int32_t j = 0; j < n; j++) {
        double e = isnan(t[j]) ? 0 : (double)y[j] - (double)t[j];
        g[j] = (cs_real)(2 * scale * e);
        sum += e * e;
    }
    return scale * sum;
}

static void ref_mse(cs_backend *be, cs_real scale, cs_mat y, cs_mat t, cs_mat loss, cs_mat grad)
{
    int64_t step = cs_chunk_rows(y.r);
    double part[CS_CHUNKS] = { 0 };
    #pragma omp parallel for num_threads(cs_threads(be, y.r * y.c))
    for (int k = 0; k < CS_CHUNKS; k++)
        for (int64_t r = k * step; r < cs_min64((k + 1) * step, y.r); r++)
            part[k] += mse_row((double)scale, cs_row(y, r), cs_row(t, r), y.c, cs_row(grad, r));
    loss.p[0] += (cs_real)cs_chunk_sum(part);
}

static void ref_dropout(cs_backend *be, uint64_t key, double p, cs_mat x, cs_real beta, cs_mat y)
{
    cs_real gain = (cs_real)(1 / (1 - p));
    #pragma omp parallel for num_threads(cs_threads(be, x.r * x.c))
    for (int64_t r = 0; r < x.r; r++)
        for (int32_t j = 0; j < x.c; j++) {
            bool keep = cs_rng_unit(key, (uint64_t)(r * x.c + j)) >= p;
            cs_real v = keep ? cs_row(x, r)[j] * gain : 0;
            cs_real *out = cs_row(y, r) + j;
            *out = beta != 0 ? beta * *out + v : v;
        }
}

/* torch.optim.Adam and AdamW, _single_tensor_adam: bias corrections divide the step and the root;
 * eps is added to the corrected root. */
static void ref_adam(cs_backend *be, const cs_adam *h, cs_mat p, cs_mat g, cs_mat m, cs_mat v)
{
    double step = h->lr / (1 - pow(h->beta1, (double)h->step));
    double root = sqrt(1 - pow(h->beta2, (double)h->step));
    double shrink = h->decoupled ? 1 - h->lr * h->decay : 1;
    double l2 = h->decoupled ? 0 : h->decay;
    #pragma omp parallel for num_threads(cs_threads(be, p.r * p.c))
    for (int64_t i = 0; i < p.r * p.c; i++) {
        int64_t r = i / p.c, j = i % p.c;
        double w = (double)cs_row(p, r)[j];
        double d = (double)cs_row(g, r)[j] * h->grad_scale + l2 * w;
        double a = h->beta1 * (double)cs_row(m, r)[j] + (1 - h->beta1) * d;
        double b = h->beta2 * (double)cs_row(v, r)[j] + (1 - h->beta2) * d * d;
        cs_row(m, r)[j] = (cs_real)a;
        cs_row(v, r)[j] = (cs_real)b;
        cs_row(p, r)[j] = (cs_real)(shrink * w - step * a / (sqrt(b) / root + h->eps));
    }
}

/* Penalty of an element and its slope. */
static double penalty_of(cs_penalty_kind kind, double x, bool diagonal, double *slope)
{
    double d = kind == CS_PEN_ORTHO && diagonal ? x - 1 : x;
    bool counts = kind == CS_PEN_ORTHO || !diagonal;
    *slope = !counts ? 0 : kind == CS_PEN_OFFDIAG ? 1 : 2 * d;
    return !counts ? 0 : kind == CS_PEN_OFFDIAG ? d : d * d;
}

/* A matrix is a few (c, c) blocks, small compared with the rest of a network: one thread. */
static void ref_penalty(cs_backend *be, cs_penalty_kind kind, cs_real scale, cs_mat x, cs_mat loss,
                        cs_mat grad)
{
    double sum = 0, slope;
    (void)be;
    for (int64_t r = 0; r < x.r; r++)
        for (int32_t j = 0; j < x.c; j++) {
            sum += penalty_of(kind, (double)cs_row(x, r)[j], r % x.c == j, &slope);
            cs_row(grad, r)[j] = (cs_real)((double)scale * slope);
        }
    if (loss.p)
        loss.p[0] += (cs_real)((double)scale * sum);
}

void cs_ref_loss(cs_ops *op)
{
    op->xent = ref_xent;
    op->xent_tree = ref_xent_tree;
    op->xent_labels = ref_xent_labels;
    op->mse = ref_mse;
    op->penalty = ref_penalty;
    op->dropout = ref_dropout;
    op->adam = ref_adam;
}

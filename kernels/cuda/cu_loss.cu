/* cu_loss.cu - cross-entropy, squared error, penalties, dropout and Adam. */
#include "kernels/cuda/sums.cuh"

extern "C" {
#include "base/rng.h"
}

/* Weighted negative log-likelihood of a row; its gradient into grad. A masked row gives zeros. */
__device__ static double xent_row(double scale, cs_mat logit, int64_t r, float target,
                                  cs_mat weight, cs_mat grad)
{
    double max = -INFINITY, sum = 0;
    int32_t t = isnan(target) ? 0 : (int32_t)target;
    for (int32_t j = 0; j < logit.c; j++)
        max = fmax(max, (double)cs_el(logit, r, j));
    for (int32_t j = 0; j < logit.c; j++)
        sum += exp(cs_el(logit, r, j) - max);
    double w = isnan(target) ? 0 : scale * (weight.p ? (double)weight.p[t] : 1.0);
    for (int32_t j = 0; j < logit.c; j++)
        cs_el(grad, r, j) = w == 0 ? 0 : (cs_real)(w * (exp(cs_el(logit, r, j) - max) / sum
                                                        - (j == t)));
    return w == 0 ? 0 : w * (log(sum) + max - cs_el(logit, r, t));
}

static void cuda_xent(cs_backend *be, cs_real scale, cs_mat logit, cs_mat target, cs_mat weight,
                      cs_mat loss, cs_mat grad)
{
    cs_sum_all(be, logit.r, 1,
        [=] __device__(int64_t r, int32_t) {
            double s = target.c > 1 ? (double)scale * cs_el(target, r, 1) : scale;
            return xent_row(s, logit, r, cs_el(target, r, 0), weight, grad);
        },
        [=] __device__(double sum) { loss.p[0] += (cs_real)sum; });
}

/* Is class j in taxon g of a level? g NaN: the root. */
__device__ static bool in_taxon(cs_mat group, int64_t level, int32_t j, float g)
{
    return isnan(g) || cs_el(group, level, j) == g;
}

/* Log-sum-exp over the classes of taxon g. */
__device__ static double log_sum(cs_mat logit, int64_t r, cs_mat group, int64_t level, float g)
{
    double max = -INFINITY, sum = 0;
    for (int32_t j = 0; j < logit.c; j++)
        if (in_taxon(group, level, j, g))
            max = fmax(max, (double)cs_el(logit, r, j));
    for (int32_t j = 0; j < logit.c; j++)
        if (in_taxon(group, level, j, g))
            sum += exp(cs_el(logit, r, j) - max);
    return log(sum) + max;
}

/* Softmax over all classes minus softmax over the taxon's classes, per level. */
__device__ static double tree_row(double scale, const cs_clades &k, cs_mat logit, int64_t r,
                                  float target, cs_mat grad)
{
    double loss = 0, sum = 0;
    for (int32_t j = 0; j < logit.c; j++)
        cs_el(grad, r, j) = 0;
    if (isnan(target))
        return 0;
    int32_t t = (int32_t)target;
    double all = log_sum(logit, r, k.group, 0, NAN), w_class = k.weight.p ? k.weight.p[t] : 1;
    for (int64_t l = 0; l < k.group.r; l++) {
        float g = cs_el(k.group, l, t);
        if (isnan(g))
            continue;
        double own = log_sum(logit, r, k.group, l, g);
        double w = scale * w_class * cs_el(k.share, l, t);
        for (int32_t j = 0; j < logit.c; j++)
            if (in_taxon(k.group, l, j, g))
                cs_el(grad, r, j) -= (cs_real)(w * exp(cs_el(logit, r, j) - own));
        sum += w;
        loss += w * (all - own);
    }
    for (int32_t j = 0; j < logit.c; j++)
        cs_el(grad, r, j) += (cs_real)(sum * exp(cs_el(logit, r, j) - all));
    return loss;
}

static void cuda_xent_tree(cs_backend *be, cs_real scale, const cs_clades *clades, cs_mat logit,
                           cs_mat target, cs_mat loss, cs_mat grad)
{
    const cs_clades k = *clades;
    cs_sum_all(be, logit.r, 1,
        [=] __device__(int64_t r, int32_t) {
            return tree_row(scale, k, logit, r, cs_el(target, r, 0), grad);
        },
        [=] __device__(double sum) { loss.p[0] += (cs_real)sum; });
}

/* sigmoid(z) is the softmax of (0, z): an entry is a row of two classes. */
static void cuda_xent_labels(cs_backend *be, cs_real scale, cs_mat logit, cs_mat target,
                             cs_mat weight, cs_mat loss, cs_mat grad)
{
    cs_sum_all(be, logit.r, logit.c,
        [=] __device__(int64_t r, int32_t j) {
            const float target_rj = cs_el(target, r, j);
            cs_el(grad, r, j) = 0;
            if (isnan(target_rj))
                return 0.0;
            const int32_t t = target_rj > 0;
            const double z = cs_el(logit, r, j), max = fmax(0.0, z), yes = exp(z - max);
            const double sum = exp(-max) + yes;
            const double w = scale * (weight.p ? (double)cs_el(weight, weight.r > 1 ? j : 0, t)
                                               : 1.0);
            cs_el(grad, r, j) = (cs_real)(w * (yes / sum - t));
            return w * (log(sum) + max - t * z);
        },
        [=] __device__(double sum) { loss.p[0] += (cs_real)sum; });
}

static void cuda_mse(cs_backend *be, cs_real scale, cs_mat y, cs_mat t, cs_mat loss, cs_mat grad)
{
    cs_sum_all(be, y.r, y.c,
        [=] __device__(int64_t r, int32_t j) {
            float want = cs_el(t, r, j);
            double e = isnan(want) ? 0 : (double)cs_el(y, r, j) - want;
            cs_el(grad, r, j) = (cs_real)(2 * scale * e);
            return scale * e * e;
        },
        [=] __device__(double sum) { loss.p[0] += (cs_real)sum; });
}

/* Penalty of an element and its slope. */
__device__ static double penalty_of(cs_penalty_kind kind, double x, bool diagonal, double *slope)
{
    double d = kind == CS_PEN_ORTHO && diagonal ? x - 1 : x;
    bool counts = kind == CS_PEN_ORTHO || !diagonal;
    *slope = !counts ? 0 : kind == CS_PEN_OFFDIAG ? 1 : 2 * d;
    return !counts ? 0 : kind == CS_PEN_OFFDIAG ? d : d * d;
}

static void cuda_penalty(cs_backend *be, cs_penalty_kind kind, cs_real scale, cs_mat x, cs_mat loss,
                         cs_mat grad)
{
    cs_sum_all(be, x.r, x.c,
        [=] __device__(int64_t r, int32_t j) {
            double slope, v = penalty_of(kind, cs_el(x, r, j), r % x.c == j, &slope);
            cs_el(grad, r, j) = (cs_real)(scale * slope);
            return v;
        },
        [=] __device__(double sum) {
            if (loss.p)
                loss.p[0] += (cs_real)(scale * sum);
        });
}

static void cuda_dropout(cs_backend *be, uint64_t key, double p, cs_mat x, cs_real beta, cs_mat y)
{
    cs_real gain = (cs_real)(1 / (1 - p));
    cs_each(be, x.r, x.c, [=] __device__(int64_t r, int32_t j) {
        bool keep = cs_rng_unit(key, (uint64_t)(r * x.c + j)) >= p;
        cs_real v = keep ? cs_el(x, r, j) * gain : 0;
        cs_el(y, r, j) = beta != 0 ? beta * cs_el(y, r, j) + v : v;
    });
}

/* torch.optim.Adam and AdamW, _single_tensor_adam: bias corrections divide the step and the root;
 * eps is added to the corrected root. */
static void cuda_adam(cs_backend *be, const cs_adam *h, cs_mat p, cs_mat g, cs_mat m, cs_mat v)
{
    const double step = h->lr / (1 - pow(h->beta1, (double)h->step));
    const double root = sqrt(1 - pow(h->beta2, (double)h->step));
    const double shrink = h->decoupled ? 1 - h->lr * h->decay : 1;
    const double l2 = h->decoupled ? 0 : h->decay;
    const cs_adam a = *h;
    cs_each(be, p.r, p.c, [=] __device__(int64_t r, int32_t j) {
        double w = cs_el(p, r, j), d = cs_el(g, r, j) * a.grad_scale + l2 * w;
        double first = a.beta1 * cs_el(m, r, j) + (1 - a.beta1) * d;
        double second = a.beta2 * cs_el(v, r, j) + (1 - a.beta2) * d * d;
        cs_el(m, r, j) = (cs_real)first;
        cs_el(v, r, j) = (cs_real)second;
        cs_el(p, r, j) = (cs_real)(shrink * w - step * first / (sqrt(second) / root + a.eps));
    });
}

void cs_cuda_loss(cs_ops *op)
{
    op->xent = cuda_xent;
    op->xent_tree = cuda_xent_tree;
    op->xent_labels = cuda_xent_labels;
    op->mse = cuda_mse;
    op->penalty = cuda_penalty;
    op->dropout = cuda_dropout;
    op->adam = cuda_adam;
}

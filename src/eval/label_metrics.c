/* label_metrics.c - metrics of labels that do not exclude each other, each over the records that it
 * is known for. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "eval/metrics.h"
#include "eval/ranking.h"

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static void count(const cs_scores *s, int64_t lo, int64_t hi, cs_metrics *f)
{
    double loss = 0;

    for (int64_t i = 0; i < s->n; i++) {
        if (!cs_scores_within(s, i, lo, hi))
            continue;
        f->n++;
        for (int32_t k = 0; k < s->n_out; k++) {
            const float t = s->target[i * s->n_target + k];
            const double p = (double)s->answer[i * s->n_out + k];
            const bool yes = t > 0, called = p >= s->threshold;
            if (isnan(t))
                continue;
            f->cls[k].n_known++;
            f->cls[k].n += yes;
            f->cls[k].n_called += called;
            f->cls[k].n_right += yes && called;
            /* A probability that has become 0 in float would make every mean infinite. */
            loss -= log(fmax(yes ? p : 1 - p, 1e-30));
        }
    }
    for (int32_t k = 0; k < s->n_out; k++)
        f->n_known += f->cls[k].n_known;
    f->loss = ratio(loss, (double)f->n_known);
}

static void metrics_of_label(cs_class_metrics *g)
{
    const double tp = (double)g->n_right, fp = (double)g->n_called - tp, fn = (double)g->n - tp;
    const double tn = (double)g->n_known - tp - fp - fn;
    const double margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn);

    g->precision = ratio(tp, tp + fp);
    g->recall = ratio(tp, tp + fn);
    g->f1 = g->n > 0 ? 2 * tp / (2 * tp + fp + fn) : NAN;
    g->balanced = (g->recall + ratio(tn, tn + fp)) / 2;
    g->mcc = margins > 0 ? (tp * tn - fp * fn) / sqrt(margins) : 0;
    if (g->n == 0 || g->n == g->n_known)
        g->mcc = NAN;
}

static void overall(cs_metrics *f)
{
    double tp = 0, called = 0, positive = 0;

    for (int32_t k = 0; k < f->n_class; k++) {
        metrics_of_label(&f->cls[k]);
        tp += (double)f->cls[k].n_right;
        called += (double)f->cls[k].n_called;
        positive += (double)f->cls[k].n;
    }
    f->accuracy = ratio((double)f->n_known - called - positive + 2 * tp, (double)f->n_known);
    f->balanced = cs_metrics_mean(f, offsetof(cs_class_metrics, balanced));
    f->macro_f1 = cs_metrics_mean(f, offsetof(cs_class_metrics, f1));
    f->micro_f1 = positive > 0 ? 2 * tp / (called + positive) : NAN;
    f->mcc = cs_metrics_mean(f, offsetof(cs_class_metrics, mcc));
}

/* The area and the average precision of the known targets of the labels [from, to) together. */
static void rank(const cs_scores *s, int64_t lo, int64_t hi, const int32_t label[2], cs_ranked *r,
                 double figure[2])
{
    int64_t n = 0;

    for (int64_t i = 0; i < s->n; i++) {
        if (!cs_scores_within(s, i, lo, hi))
            continue;
        for (int32_t k = label[0]; k < label[1]; k++) {
            const float t = s->target[i * s->n_target + k];
            if (!isnan(t))
                r[n++] = (cs_ranked){ s->answer[i * s->n_out + k], t > 0 };
        }
    }
    cs_ranked_sort(r, n);
    figure[0] = cs_ranked_area(r, n);
    figure[1] = cs_ranked_precision(r, n);
}

static int rank_all(const cs_scores *s, int64_t lo, int64_t hi, cs_metrics *f)
{
    cs_ranked *r = cs_alloc((size_t)f->n_known + 1, sizeof *r);
    double v[2];

    if (r == NULL)
        return CS_EMEM;
    for (int32_t k = 0; k < f->n_class; k++) {
        rank(s, lo, hi, (const int32_t[]){ k, k + 1 }, r, v);
        f->cls[k].auc = v[0];
        f->cls[k].ap = v[1];
    }
    rank(s, lo, hi, (const int32_t[]){ 0, f->n_class }, r, v);
    f->micro_auc = v[0];
    f->micro_ap = v[1];
    f->macro_auc = cs_metrics_mean(f, offsetof(cs_class_metrics, auc));
    f->macro_ap = cs_metrics_mean(f, offsetof(cs_class_metrics, ap));
    free(r);
    return CS_OK;
}

int cs_label_metrics(const cs_scores *s, int64_t lo, int64_t hi, bool auc, cs_metrics *f)
{
    f->n_class = s->n_out;
    f->cls = cs_alloc((size_t)s->n_out, sizeof *f->cls);
    for (int32_t k = 0; f->cls != NULL && k < s->n_out; k++)
        f->cls[k] = (cs_class_metrics){ .auc = NAN, .ap = NAN };
    if (f->cls != NULL) {
        count(s, lo, hi, f);
        overall(f);
        if (!auc || rank_all(s, lo, hi, f) == CS_OK)
            return CS_OK;
    }
    cs_metrics_release(f);
    return cs_fail(CS_EMEM, "out of memory for the metrics of %lld records", (long long)s->n);
}

/* metrics.c - metrics of predictions against labels. */
#include "eval/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "eval/ranking.h"
#include "io/prediction.h"

void cs_scores_init(cs_scores *s, bool is_class, int32_t n_out, int32_t n_target)
{
    *s = (cs_scores){ .is_class = is_class, .n_out = n_out, .n_target = n_target };
}

void cs_scores_for(cs_scores *s, const cs_model *m)
{
    cs_scores_init(s, m->head->is_class, m->n_label, cs_model_n_target(m));
    s->is_labels = m->head->is_labels;
    s->threshold = 0.5;
    if (!cs_model_is_standardized(m))
        return;
    s->deviation = cs_xcalloc((size_t)s->n_target, sizeof *s->deviation);
    for (int32_t t = 0; t < s->n_target; t++)
        s->deviation[t] = m->label[t].deviation > 0 ? m->label[t].deviation : 1;
}

void cs_scores_release(cs_scores *s)
{
    CS_FREE(s->output, s->target, s->length, s->reason, s->deviation);
    *s = (cs_scores){ 0 };
}

void cs_scores_clear(cs_scores *s)
{
    s->n = 0;
}

int cs_scores_add(cs_scores *s, const float *output, const float *target, int64_t length)
{
    const size_t n = (size_t)s->n, out = (size_t)s->n_out, want = (size_t)s->n_target;

    if (cs_grow((void **)&s->output, &s->cap_output, (n + 1) * out, sizeof *output) != CS_OK ||
        cs_grow((void **)&s->target, &s->cap_target, (n + 1) * want, sizeof *target) != CS_OK ||
        cs_grow((void **)&s->length, &s->cap_length, n + 1, sizeof length) != CS_OK ||
        cs_grow((void **)&s->reason, &s->cap_reason, n + 1, sizeof *s->reason) != CS_OK)
        return CS_EMEM;
    memcpy(s->output + n * out, output, out * sizeof *output);
    memcpy(s->target + n * want, target, want * sizeof *target);
    s->length[n] = length;
    s->reason[n] = 0;
    s->n++;
    return CS_OK;
}

bool cs_scores_known(const cs_scores *s, int64_t i)
{
    const float *t = s->target + i * s->n_target;

    if (s->is_class)
        return t[0] < (float)s->n_out;         /* false for NaN */
    for (int32_t k = 0; k < s->n_target; k++)
        if (!isnan(t[k]))
            return true;
    return false;
}

bool cs_scores_within(const cs_scores *s, int64_t i, int64_t lo, int64_t hi)
{
    return s->length[i] >= lo && s->length[i] < hi && cs_scores_known(s, i);
}

int32_t cs_scores_truth(const cs_scores *s, int64_t i)
{
    return (int32_t)s->target[i * s->n_target];
}

int32_t cs_scores_best(const cs_scores *s, int64_t i)
{
    return cs_argmax(s->output + i * s->n_out, s->n_out);
}

/* ---- classes --------------------------------------------------------------------------------- */

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static void count_calls(const cs_scores *s, int64_t lo, int64_t hi, cs_metrics *f)
{
    const int32_t k = s->n_out;
    double loss = 0;

    for (int64_t i = 0; i < s->n; i++) {
        if (!cs_scores_within(s, i, lo, hi))
            continue;
        const float *p = s->output + i * k;
        const int32_t truth = cs_scores_truth(s, i), call = cs_scores_best(s, i);
        f->n++;
        f->cls[truth].n++;
        f->cls[call].n_called++;
        f->cls[call].n_right += call == truth;
        /* A probability that has become 0 in float would make every mean infinite. */
        loss -= log(fmax((double)p[truth], 1e-30));
    }
    f->loss = ratio(loss, (double)f->n);
}

static int by_class(const void *x, const void *y)
{
    const cs_called *a = x, *b = y;

    return a->truth != b->truth ? (a->truth > b->truth) - (a->truth < b->truth)
                                : (a->call > b->call) - (a->call < b->call);
}

/* Joins equal pairs of f->called, which receives at most one per record. */
static int pair_calls(const cs_scores *s, int64_t lo, int64_t hi, cs_metrics *f)
{
    int64_t n = 0;
    cs_called *v = f->called = cs_alloc((size_t)f->n + 1, sizeof *v);

    if (v == NULL)
        return CS_EMEM;
    for (int64_t i = 0; i < s->n; i++)
        if (cs_scores_within(s, i, lo, hi))
            v[n++] = (cs_called){ cs_scores_truth(s, i), cs_scores_best(s, i), 1 };
    qsort(v, (size_t)n, sizeof *v, by_class);
    for (int64_t i = 0; i < n; i++)
        if (f->n_called > 0 && by_class(&v[f->n_called - 1], &v[i]) == 0)
            v[f->n_called - 1].n++;
        else
            v[f->n_called++] = v[i];
    return CS_OK;
}

/* The first pair that is not before this one. */
static const cs_called *first_pair(const cs_metrics *f, int32_t truth, int32_t call)
{
    const cs_called key = { truth, call, 0 };
    int64_t from = 0, to = f->n_called;

    while (from < to) {
        const int64_t mid = from + (to - from) / 2;
        if (by_class(&f->called[mid], &key) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from < f->n_called && f->called[from].truth == truth ? &f->called[from] : NULL;
}

int64_t cs_metrics_called(const cs_metrics *f, int32_t truth, int32_t call)
{
    const cs_called *p = first_pair(f, truth, call);

    return p != NULL && p->call == call ? p->n : 0;
}

int32_t cs_metrics_next_call(const cs_metrics *f, int32_t truth, int32_t call)
{
    const cs_called *p = first_pair(f, truth, call);

    return p != NULL ? p->call : f->n_class;
}

/* (c s - sum t p) / sqrt((s^2 - sum p^2)(s^2 - sum t^2)); c right, s all, t and p the margins. */
static double correlation(const cs_metrics *f)
{
    const double all = (double)f->n;
    double right = 0, tp = 0, tt = 0, pp = 0;

    for (int32_t c = 0; c < f->n_class; c++) {
        const double t = (double)f->cls[c].n, p = (double)f->cls[c].n_called;
        right += (double)f->cls[c].n_right;
        tp += t * p;
        tt += t * t;
        pp += p * p;
    }
    const double under = (all * all - pp) * (all * all - tt);
    return under > 0 ? (right * all - tp) / sqrt(under) : f->n > 0 ? 0 : NAN;
}

/* Of the double at this offset in cs_class_metrics, over the classes where defined; NaN if none. */
static double mean_of_classes(const cs_metrics *f, size_t off)
{
    double sum = 0, count = 0;

    for (int32_t i = 0; i < f->n_class; i++) {
        const double v = *(const double *)(const void *)((const char *)&f->cls[i] + off);
        if (isnan(v))
            continue;
        sum += v;
        count++;
    }
    return ratio(sum, count);
}

static void class_metrics(cs_metrics *f)
{
    const int32_t k = f->n_class;
    int64_t right = 0;

    for (int32_t c = 0; c < k; c++) {
        cs_class_metrics *g = &f->cls[c];
        g->precision = ratio((double)g->n_right, (double)g->n_called);
        g->recall = ratio((double)g->n_right, (double)g->n);
        g->f1 = g->n > 0 ? ratio(2 * (double)g->n_right, (double)(g->n + g->n_called)) : NAN;
        right += g->n_right;
    }
    f->accuracy = ratio((double)right, (double)f->n);
    f->balanced = mean_of_classes(f, offsetof(cs_class_metrics, recall));
    f->macro_f1 = mean_of_classes(f, offsetof(cs_class_metrics, f1));
    f->mcc = correlation(f);
}

/* ---- ROC-AUC --------------------------------------------------------------------------------- */

static int areas(const cs_scores *s, int64_t lo, int64_t hi, cs_metrics *f)
{
    int rc = CS_EMEM;
    int32_t *truth = cs_alloc((size_t)s->n + 1, sizeof *truth);
    double *area = cs_alloc((size_t)f->n_class, sizeof *area);

    if (truth != NULL && area != NULL) {
        for (int64_t i = 0; i < s->n; i++)
            truth[i] = cs_scores_within(s, i, lo, hi) ? cs_scores_truth(s, i) : -1;
        rc = cs_class_areas(s->output, truth, s->n, f->n_class, area);
    }
    for (int32_t c = 0; rc == CS_OK && c < f->n_class; c++)
        f->cls[c].auc = area[c];
    CS_FREE(truth, area);
    f->macro_auc = mean_of_classes(f, offsetof(cs_class_metrics, auc));
    return rc;
}

static const cs_metrics undefined = {
    .loss = NAN, .accuracy = NAN, .balanced = NAN, .macro_f1 = NAN, .macro_auc = NAN, .mcc = NAN,
    .mse = NAN, .mae = NAN, .within = NAN, .macro_ap = NAN, .micro_f1 = NAN, .micro_auc = NAN,
    .micro_ap = NAN, .r2 = NAN, .pearson = NAN, .spearman = NAN
};

/* ---- values: each over the records that it is known for -------------------------------------- */

static void count_errors(const cs_scores *s, int64_t lo, int64_t hi, double tolerance,
                         cs_metrics *f)
{
    for (int64_t i = 0; i < s->n; i++) {
        if (!cs_scores_within(s, i, lo, hi))
            continue;
        f->n++;
        for (int32_t t = 0; t < s->n_target; t++) {
            cs_class_metrics *g = &f->cls[t];
            const float truth = s->target[i * s->n_target + t];
            const double e = (double)s->output[i * s->n_out + t] - (double)truth;
            if (isnan(truth))
                continue;
            g->n++;
            g->within += fabs(e) < tolerance;
            g->mse += e * e;
            g->mae += fabs(e);
        }
    }
}

/* Sums of errors become means. */
static void mean_errors(const cs_scores *s, cs_metrics *f)
{
    double n = 0, square = 0, relative = 0, absolute = 0, close = 0;

    for (int32_t t = 0; t < f->n_class; t++) {
        cs_class_metrics *g = &f->cls[t];
        n += (double)g->n;
        square += g->mse;
        relative += s->deviation ? g->mse / (s->deviation[t] * s->deviation[t]) : g->mse;
        absolute += g->mae;
        close += g->within;
        g->mse = ratio(g->mse, (double)g->n);
        g->mae = ratio(g->mae, (double)g->n);
        g->within = ratio(g->within, (double)g->n);
    }
    f->loss = ratio(relative, n);
    f->mse = ratio(square, n);
    f->mae = ratio(absolute, n);
    f->within = ratio(close, n);
}

/* The share of the variance of the truth y that predictions of this mean squared error explain. */
static double explained(const double *y, int64_t n, double mse)
{
    const double square = cs_squared_deviations(y, n);

    return square > 0 ? 1 - mse * (double)n / square : NAN;
}

/* x, y: memory for the predictions and the truths of one value; ranked: correlations, too. */
static int correlate(const cs_scores *s, int64_t lo, int64_t hi, bool ranked, cs_metrics *f,
                     double *x, double *y)
{
    int rc = CS_OK;

    for (int32_t t = 0; t < f->n_class; t++) {
        cs_class_metrics *g = &f->cls[t];
        int64_t n = 0;
        for (int64_t i = 0; i < s->n; i++) {
            if (!cs_scores_within(s, i, lo, hi) || isnan(s->target[i * s->n_target + t]))
                continue;
            x[n] = (double)s->output[i * s->n_out + t];
            y[n++] = (double)s->target[i * s->n_target + t];
        }
        g->r2 = explained(y, n, g->mse);
        if (!ranked)
            continue;
        g->pearson = cs_correlation(x, y, n);
        CS_TRY(cs_rank_values(x, n));
        CS_TRY(cs_rank_values(y, n));
        g->spearman = cs_correlation(x, y, n);
    }
    f->r2 = mean_of_classes(f, offsetof(cs_class_metrics, r2));
    f->pearson = mean_of_classes(f, offsetof(cs_class_metrics, pearson));
    f->spearman = mean_of_classes(f, offsetof(cs_class_metrics, spearman));
out:
    return rc;
}

/* Into an f with all metrics undefined. */
static int value_metrics(const cs_scores *s, int64_t lo, int64_t hi, double tolerance,
                         bool correlations, cs_metrics *f)
{
    int rc = CS_EMEM;
    double *x = NULL;

    f->n_class = s->n_target;
    f->cls = cs_alloc((size_t)s->n_target, sizeof *f->cls);
    if (f->cls == NULL)
        goto out;
    for (int32_t t = 0; t < s->n_target; t++)
        f->cls[t] = (cs_class_metrics){ .r2 = NAN, .pearson = NAN, .spearman = NAN };
    count_errors(s, lo, hi, tolerance, f);
    mean_errors(s, f);
    if ((x = cs_alloc(2 * (size_t)f->n + 1, sizeof *x)) == NULL)
        goto out;
    rc = correlate(s, lo, hi, correlations, f, x, x + f->n);
out:
    free(x);
    if (rc == CS_OK)
        return CS_OK;
    cs_metrics_release(f);
    return cs_fail(CS_EMEM, "out of memory for the metrics of %lld records", (long long)s->n);
}

/* ---- labels that do not exclude each other: each over the records that it is known for ------- */

static void count_labels(const cs_scores *s, int64_t lo, int64_t hi, cs_metrics *f)
{
    double loss = 0;

    for (int64_t i = 0; i < s->n; i++) {
        if (!cs_scores_within(s, i, lo, hi))
            continue;
        f->n++;
        for (int32_t k = 0; k < s->n_out; k++) {
            const float t = s->target[i * s->n_target + k];
            const double p = (double)s->output[i * s->n_out + k];
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

static void mean_over_labels(cs_metrics *f)
{
    double tp = 0, called = 0, positive = 0;

    for (int32_t k = 0; k < f->n_class; k++) {
        metrics_of_label(&f->cls[k]);
        tp += (double)f->cls[k].n_right;
        called += (double)f->cls[k].n_called;
        positive += (double)f->cls[k].n;
    }
    f->accuracy = ratio((double)f->n_known - called - positive + 2 * tp, (double)f->n_known);
    f->balanced = mean_of_classes(f, offsetof(cs_class_metrics, balanced));
    f->macro_f1 = mean_of_classes(f, offsetof(cs_class_metrics, f1));
    f->micro_f1 = positive > 0 ? 2 * tp / (called + positive) : NAN;
    f->mcc = mean_of_classes(f, offsetof(cs_class_metrics, mcc));
}

/* The area and the average precision of the known targets of the labels [from, to) together. */
static void rank_label(const cs_scores *s, int64_t lo, int64_t hi, const int32_t label[2],
                       cs_ranked *r, double figure[2])
{
    int64_t n = 0;

    for (int64_t i = 0; i < s->n; i++) {
        if (!cs_scores_within(s, i, lo, hi))
            continue;
        for (int32_t k = label[0]; k < label[1]; k++) {
            const float t = s->target[i * s->n_target + k];
            if (!isnan(t))
                r[n++] = (cs_ranked){ s->output[i * s->n_out + k], t > 0 };
        }
    }
    cs_ranked_sort(r, n);
    figure[0] = cs_ranked_area(r, n);
    figure[1] = cs_ranked_precision(r, n);
}

static int rank_labels(const cs_scores *s, int64_t lo, int64_t hi, cs_metrics *f)
{
    cs_ranked *r = cs_alloc((size_t)f->n_known + 1, sizeof *r);
    double v[2];

    if (r == NULL)
        return CS_EMEM;
    for (int32_t k = 0; k < f->n_class; k++) {
        rank_label(s, lo, hi, (const int32_t[]){ k, k + 1 }, r, v);
        f->cls[k].auc = v[0];
        f->cls[k].ap = v[1];
    }
    rank_label(s, lo, hi, (const int32_t[]){ 0, f->n_class }, r, v);
    f->micro_auc = v[0];
    f->micro_ap = v[1];
    f->macro_auc = mean_of_classes(f, offsetof(cs_class_metrics, auc));
    f->macro_ap = mean_of_classes(f, offsetof(cs_class_metrics, ap));
    free(r);
    return CS_OK;
}

/* Into an f with all metrics undefined. */
static int label_metrics(const cs_scores *s, int64_t lo, int64_t hi, bool auc, cs_metrics *f)
{
    f->n_class = s->n_out;
    f->cls = cs_alloc((size_t)s->n_out, sizeof *f->cls);
    for (int32_t k = 0; f->cls != NULL && k < s->n_out; k++)
        f->cls[k] = (cs_class_metrics){ .auc = NAN, .ap = NAN };
    if (f->cls != NULL) {
        count_labels(s, lo, hi, f);
        mean_over_labels(f);
        if (!auc || rank_labels(s, lo, hi, f) == CS_OK)
            return CS_OK;
    }
    cs_metrics_release(f);
    return cs_fail(CS_EMEM, "out of memory for the metrics of %lld records", (long long)s->n);
}

/* ---- all kinds ------------------------------------------------------------------------------- */

int cs_scores_metrics(const cs_scores *s, int64_t lo, int64_t hi, double tolerance, bool full,
                      cs_metrics *f)
{
    const size_t k = (size_t)s->n_out;

    *f = undefined;
    if (s->is_labels)
        return label_metrics(s, lo, hi, full, f);
    if (!s->is_class)
        return value_metrics(s, lo, hi, tolerance, full, f);
    f->n_class = s->n_out;
    f->cls = cs_alloc(k, sizeof *f->cls);
    if (f->cls == NULL)
        goto no_memory;
    for (size_t c = 0; c < k; c++)
        f->cls[c] = (cs_class_metrics){ .auc = NAN };
    count_calls(s, lo, hi, f);
    class_metrics(f);
    if (full && (pair_calls(s, lo, hi, f) != CS_OK || areas(s, lo, hi, f) != CS_OK))
        goto no_memory;
    return CS_OK;
no_memory:
    cs_metrics_release(f);
    return cs_fail(CS_EMEM, "out of memory for the metrics of %lld records", (long long)s->n);
}

void cs_metrics_release(cs_metrics *f)
{
    free(f->cls);
    free(f->called);
    f->cls = NULL;
    f->called = NULL;
    f->n_called = 0;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

int cs_token_counts_init(cs_token_counts *c, int32_t n_class)
{
    const size_t k = (size_t)n_class;
    const bool matrix = n_class <= CS_CONFUSION_CLASSES;

    *c = (cs_token_counts){ .n_class = n_class, .cls = cs_alloc(k, sizeof *c->cls),
                      .confusion = matrix ? cs_alloc(k * k, sizeof *c->confusion) : NULL };
    if (c->cls == NULL || (matrix && c->confusion == NULL)) {
        cs_token_counts_release(c);
        return cs_fail(CS_EMEM, "out of memory for counts of %d classes", (int)n_class);
    }
    cs_token_counts_clear(c);
    return CS_OK;
}

void cs_token_counts_release(cs_token_counts *c)
{
    free(c->cls);
    free(c->confusion);
    *c = (cs_token_counts){ 0 };
}

void cs_token_counts_clear(cs_token_counts *c)
{
    const size_t k = (size_t)c->n_class;

    c->n = 0;
    c->loss = 0;
    for (size_t i = 0; i < k; i++)
        c->cls[i] = (cs_class_metrics){ .auc = NAN };
    if (c->confusion != NULL)
        memset(c->confusion, 0, k * k * sizeof *c->confusion);
}

void cs_token_counts_add(cs_token_counts *c, const float *output, const int32_t *label, int64_t n)
{
    const int32_t k = c->n_class;

    for (int64_t t = 0; t < n; t++) {
        if (label[t] < 0)
            continue;
        const float *p = output + t * k;
        const int32_t call = cs_argmax(p, k);
        c->n++;
        c->loss -= log(fmax((double)p[label[t]], 1e-30));
        c->cls[label[t]].n++;
        c->cls[call].n_called++;
        c->cls[call].n_right += call == label[t];
        if (c->confusion != NULL)
            c->confusion[(int64_t)label[t] * k + call]++;
    }
}

int cs_token_counts_metrics(const cs_token_counts *c, cs_metrics *f)
{
    const size_t k = (size_t)c->n_class;

    *f = undefined;
    f->cls = cs_alloc(k, sizeof *f->cls);
    f->called = c->confusion != NULL ? cs_alloc(k * k, sizeof *f->called) : NULL;
    if (f->cls == NULL || (c->confusion != NULL && f->called == NULL)) {
        cs_metrics_release(f);
        return cs_fail(CS_EMEM, "out of memory for the metrics of %d classes", (int)c->n_class);
    }
    memcpy(f->cls, c->cls, k * sizeof *f->cls);
    for (size_t i = 0; c->confusion != NULL && i < k * k; i++)
        if (c->confusion[i] > 0)
            f->called[f->n_called++] = (cs_called){ (int32_t)(i / k), (int32_t)(i % k),
                                                    c->confusion[i] };
    f->n = c->n;
    f->n_class = c->n_class;
    f->loss = ratio(c->loss, (double)c->n);
    class_metrics(f);
    return CS_OK;
}

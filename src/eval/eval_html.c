/*
 * eval_html.c - an evaluation as an HTML page.
 *
 * DESIGN. The page is about whole records; pieces have a row each. It shows the most frequent
 * classes only, CS_HTML_LINES in curves and MAX_ROWS in tables, so it stays readable with
 * thousands of classes: the table and the JSON have them all.
 */
#include "eval/eval_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/class_counts.h"
#include "io/html.h"

enum { N_PROB = CS_PROB_BINS, N_LENGTH = CS_HTML_LENGTHS };
enum { MAX_ROWS = 100, MAX_MATRIX = 24, CURVE_POINTS = 200, RELOAD = 10 };

struct page {
    const cs_eval_report *r;
    const cs_scores      *s;     /* of whole records */
    cs_metrics            f;
    cs_certainty          sure;
    cs_mixture            mixture;             /* with the shares of classes */
    cs_eval_calls         calls;
    cs_outfile           *out;
    int32_t              *order; /* [n_class] the most frequent truth first */
    int32_t               n_shown;             /* of these, classes that occur or are called */
    uint64_t             *base;  /* [n_class] of true records */
};

/* ---- tables ---------------------------------------------------------------------------------- */

static int put_number(struct page *p, double v)
{
    if (!isfinite(v))
        return cs_outfile_printf(p->out, "<td class=\"n\">&#8211;</td>");
    return cs_outfile_printf(p->out, "<td class=\"n\">%.4f</td>", v);
}

static int put_row(struct page *p, const char *name, int64_t n, const double *v, int n_value)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(p->out, "<tr>"));
    CS_TRY(cs_html_cell(p->out, name));
    CS_TRY(cs_outfile_printf(p->out, "<td class=\"n\">%lld</td>", (long long)n));
    for (int i = 0; i < n_value; i++)
        CS_TRY(put_number(p, v[i]));
    rc = cs_outfile_printf(p->out, "</tr>\n");
out:
    return rc;
}

static int put_head(struct page *p, const char *first, const char *const *column)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(p->out, "<table><tr><th>%s</th><th class=\"n\">records</th>", first));
    for (; *column; column++)
        CS_TRY(cs_outfile_printf(p->out, "<th class=\"n\">%s</th>", *column));
    rc = cs_outfile_printf(p->out, "</tr>\n");
out:
    return rc;
}

static int summary(struct page *p, double seconds, const char *command)
{
    int rc = CS_OK;
    uint64_t n_base = 0;

    for (int64_t i = 0; i < p->s->n; i++)
        n_base += (uint64_t)p->s->length[i];
    if (p->r->live)
        CS_TRY(cs_outfile_printf(p->out, "<p>The training is running. This page reloads itself "
                   "every %d s.</p>\n", RELOAD));
    CS_TRY(cs_outfile_printf(p->out, "<p>%lld %s with %llu bases, of which %lld %s a class "
               "of the model.", (long long)p->s->n, CS_PLURAL(p->s->n, "record", "records"),
               (unsigned long long)n_base, (long long)p->f.n, CS_PLURAL(p->f.n, "has", "have")));
    if (seconds > 0)
        CS_TRY(cs_outfile_printf(p->out, " Reading and prediction took %.1f s%s: %.3g records/s, "
                   "%.3g Mbases/s.", seconds, p->r->n_piece > 0 ? " with fragments" : "",
                   (double)p->s->n / seconds, 1e-6 * (double)n_base / seconds));
    CS_TRY(cs_outfile_printf(p->out, "%s</p>\n",
                             p->r->raw ? " Probabilities are not calibrated." : ""));
    rc = cs_html_origin(p->out, command, p->r->model->sum);
out:
    return rc;
}

static int set_row(struct page *p, const char *name, const cs_scores *s, int64_t lo, int64_t hi)
{
    int rc = CS_OK;
    cs_metrics f = { 0 };
    cs_certainty sure;

    CS_TRY(cs_scores_metrics(s, lo, hi, p->r->tolerance, false, &f));
    if (f.n > 0) {
        CS_TRY(cs_scores_certainty(s, lo, hi, &sure));
        CS_TRY(put_row(p, name, f.n, (double[]){ f.accuracy, f.balanced, f.macro_f1, f.mcc, f.loss,
                                                 sure.ece }, 6));
    }
out:
    cs_metrics_release(&f);
    return rc;
}

/* All records, by length, pieces. */
static int sets(struct page *p)
{
    int rc = CS_OK;
    static const char *const column[] = { "accuracy", "balanced", "macro F1", "MCC", "loss", "ECE",
                                          NULL };
    const cs_eval_report *r = p->r;
    char name[64];

    CS_TRY(cs_html_section(p->out, "Overall and by length"));
    CS_TRY(cs_outfile_printf(p->out, "<p>Balanced: mean recall of the classes. MCC: Matthews "
               "correlation, 0 with one class. Loss: mean cross-entropy. ECE: expected calibration "
               "error. A record counts as its best class; see chordseq-eval(1).</p>\n"));
    CS_TRY(put_head(p, "set", column));
    CS_TRY(set_row(p, "all", p->s, 0, INT64_MAX));
    for (int b = 0; b <= r->n_bin && r->n_bin > 0; b++) {
        const int64_t lo = b > 0 ? r->bin[b - 1] : 0, hi = b < r->n_bin ? r->bin[b] : INT64_MAX;
        cs_eval_bin_name(r, b, name, sizeof name);
        CS_TRY(set_row(p, name, p->s, lo, hi));
    }
    for (int i = 0; i < r->n_piece; i++) {
        (void)snprintf(name, sizeof name, "fragments of %lld", (long long)r->piece[i]);
        CS_TRY(set_row(p, name, &r->scores[1 + i], 0, INT64_MAX));
    }
    rc = cs_outfile_printf(p->out, "</table>\n");
out:
    return rc;
}

static int ranks(struct page *p)
{
    int rc = CS_OK;
    static const char *const column[] = { "accuracy", NULL };
    const cs_eval_ranks *r = p->r->ranks;
    int64_t *n = cs_xcalloc(2 * (size_t)r->n + 1, sizeof *n);

    if (r->n == 0)
        goto out;
    cs_eval_ranks_count(r, p->s, 0, INT64_MAX, n, n + r->n);
    CS_TRY(cs_html_section(p->out, "By rank"));
    CS_TRY(put_head(p, "rank", column));
    for (int k = 0; k < r->n; k++)
        CS_TRY(put_row(p, r->rank[k], n[k],
                       (double[]){ (double)n[r->n + k] / (double)n[k] }, 1));
    rc = cs_outfile_printf(p->out, "</table>\n");
out:
    free(n);
    return rc;
}

static int class_row(struct page *p, int32_t c)
{
    int rc = CS_OK;
    const cs_class_metrics *f = &p->f.cls[c];

    CS_TRY(cs_outfile_printf(p->out, "<tr>"));
    CS_TRY(cs_html_cell(p->out, p->r->model->label[c].name));
    CS_TRY(cs_outfile_printf(p->out, "<td class=\"n\">%lld</td><td class=\"n\">%llu</td>"
               "<td class=\"n\">%lld</td>", (long long)f->n, (unsigned long long)p->base[c],
               (long long)f->n_called));
    CS_TRY(put_number(p, f->precision));
    CS_TRY(put_number(p, f->recall));
    CS_TRY(put_number(p, f->f1));
    CS_TRY(put_number(p, f->auc));
    if (p->r->share) {
        CS_TRY(put_number(p, p->r->share[c]));
        CS_TRY(put_number(p, p->mixture.precision[c]));
    }
    rc = cs_outfile_printf(p->out, "</tr>\n");
out:
    return rc;
}

static int classes(struct page *p)
{
    int rc = CS_OK;
    const bool shares = p->r->share != NULL;
    const char *const column[] = { "bases", "called", "precision", "recall", "F1", "ROC-AUC",
                                   shares ? "share" : NULL, "expected precision", NULL };

    CS_TRY(cs_html_section(p->out, "Classes"));
    if (shares)
        CS_TRY(cs_outfile_printf(p->out, "<p>Predictions are those for a sample where classes have "
                   "the shares of the table. Expected figures are those of such a sample, with an "
                   "accuracy of %.4f; all others are those of the records as labelled.</p>\n",
                   p->mixture.accuracy));
    CS_TRY(put_head(p, "class", column));
    for (int32_t i = 0; i < p->n_shown && i < MAX_ROWS; i++)
        CS_TRY(class_row(p, p->order[i]));
    CS_TRY(cs_outfile_printf(p->out, "</table>\n"));
    if (p->n_shown > MAX_ROWS)
        rc = cs_outfile_printf(p->out, "<p>The %d most frequent of %d classes that occur or are "
                               "called; --output has all.</p>\n", MAX_ROWS, (int)p->n_shown);
out:
    return rc;
}

/* Of the records with a call, by rate and by class. */
static int calls(struct page *p)
{
    int rc = CS_OK;
    const int n = p->r->share ? 4 : 2;
    const char *const column[] = { "share called", "share wrong", n > 2 ? "expected: called" : NULL,
                                   "expected: wrong", NULL },
                      *const of_class[] = { column[0], column[1], n > 2 ? column[3] : NULL, NULL };
    const cs_calls *own = cs_eval_calls_model(&p->calls);
    char name[32];

    if (!own)
        return CS_OK;
    CS_TRY(cs_html_section(p->out, "Confident calls"));
    CS_TRY(cs_outfile_printf(p->out, "<p>Records with a call of <code>classify --max-error</code>, "
               "and the share of wrong calls; the last rate is the default.</p>\n"));
    CS_TRY(put_head(p, "maximum error", column));
    for (int i = 0; i < p->calls.n; i++) {
        const cs_calls *c = &p->calls.at[i];
        (void)snprintf(name, sizeof name, "%g", p->calls.rate[i]);
        CS_TRY(put_row(p, name, c->n_called,
                       (double[]){ cs_eval_share((double)c->n_called, (double)c->n),
                                   cs_eval_share((double)c->n_wrong, (double)c->n_called),
                                   c->called, cs_eval_share(c->wrong, c->called) }, n));
    }
    CS_TRY(cs_outfile_printf(p->out, "</table>\n<p>By default: records of a class with a call "
               "of any class; share of wrong calls among the calls of the class.</p>\n"));
    CS_TRY(put_head(p, "class", of_class));
    for (int32_t i = 0; i < p->n_shown; i++) {
        const cs_class_calls *k = &own->of_class[p->order[i]];
        const double v[] = { cs_eval_share((double)k->n_called, (double)k->n),
                             cs_eval_share((double)k->n_wrong, (double)k->n_calls),
                             k->n > 0 ? cs_eval_share(k->wrong, k->calls) : NAN };
        CS_TRY(put_row(p, p->r->model->label[p->order[i]].name, k->n_called, v, n / 2 + 1));
    }
    rc = cs_outfile_printf(p->out, "</table>\n");
out:
    return rc;
}

static int matrix_cell(struct page *p, int32_t truth, int32_t call)
{
    const int64_t n = cs_metrics_called(&p->f, truth, call), all = p->f.cls[truth].n;
    const double share = all > 0 ? (double)n / (double)all : 0;

    /* Its darkness is the square root of the share, so rare errors are visible. */
    return cs_outfile_printf(p->out, "<td class=\"n\" style=\"background:rgba(%s,%.3f)\">%lld</td>",
                             truth == call ? "64,140,90" : "194,90,43", 0.7 * sqrt(share),
                             (long long)n);
}

static int confusion(struct page *p)
{
    int rc = CS_OK;
    const int32_t n = p->n_shown < MAX_MATRIX ? p->n_shown : MAX_MATRIX;

    CS_TRY(cs_html_section(p->out, "Confusion matrix"));
    CS_TRY(cs_outfile_printf(p->out, "<p>Rows: true class; columns: called class, by the same "
               "numbers%s.</p>\n<div class=\"wide\"><table class=\"matrix\"><tr><th></th>"
               "<th>class</th>",
               n < p->n_shown ? "; the most frequent classes only" : ""));
    for (int32_t k = 0; k < n; k++)
        CS_TRY(cs_outfile_printf(p->out, "<th class=\"n\">%d</th>", (int)k + 1));
    CS_TRY(cs_outfile_printf(p->out, "</tr>\n"));
    for (int32_t i = 0; i < n; i++) {
        CS_TRY(cs_outfile_printf(p->out, "<tr><th class=\"n\">%d</th>", (int)i + 1));
        CS_TRY(cs_html_cell(p->out, p->r->model->label[p->order[i]].name));
        for (int32_t k = 0; k < n; k++)
            CS_TRY(matrix_cell(p, p->order[i], p->order[k]));
        CS_TRY(cs_outfile_printf(p->out, "</tr>\n"));
    }
    rc = cs_outfile_printf(p->out, "</table></div>\n");
out:
    return rc;
}

/* ---- histograms ------------------------------------------------------------------------------ */

struct histogram { uint64_t right[N_LENGTH], wrong[N_LENGTH]; };

/* Records of one class (-1: of all), right and wrong, by length or by the best probability. */
static struct histogram eval_html_count(const struct page *p, int32_t class_no, bool by_length)
{
    const cs_scores *s = p->s;
    struct histogram h = { { 0 }, { 0 } };

    for (int64_t i = 0; i < s->n; i++) {
        if (!cs_scores_known(s, i) || (class_no >= 0 && cs_scores_truth(s, i) != class_no))
            continue;
        const int32_t best = cs_scores_best(s, i);
        const int at = by_length ? cs_html_length(s->length[i])
                                 : cs_prob_bin((double)s->output[i * s->n_out + best]);
        (best == cs_scores_truth(s, i) ? h.right : h.wrong)[at]++;
    }
    return h;
}

static int probabilities(struct page *p)
{
    int rc = CS_OK;
    char title[512];

    CS_TRY(cs_html_section(p->out, "Probabilities"));
    for (int32_t i = -1; i < p->n_shown && i < CS_HTML_LINES; i++) {
        const struct histogram h = eval_html_count(p, i < 0 ? -1 : p->order[i], false);
        (void)snprintf(title, sizeof title, "%s; second colour: wrong",
                       i < 0 ? "All records" : p->r->model->label[p->order[i]].name);
        CS_TRY(cs_html_probabilities(p->out, &(cs_html_bars){
            .title = title, .axis = "probability of the best class", .n = { h.right, h.wrong },
            .name = { "right", "wrong" }, .n_bin = N_PROB }));
    }
out:
    return rc;
}

static int lengths(struct page *p)
{
    int rc = CS_OK;
    const struct histogram h = eval_html_count(p, -1, true);

    CS_TRY(cs_html_section(p->out, "Lengths"));
    rc = cs_html_lengths(p->out, &(cs_html_bars){
        .title = "All records; second colour: wrong", .n = { h.right, h.wrong },
        .name = { "right", "wrong" } });
out:
    return rc;
}

/* ---- curves ---------------------------------------------------------------------------------- */

struct scored { float p; bool right; };

static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;

    return x->p < y->p ? 1 : x->p > y->p ? -1 : 0;
}

/* Points of one class against the rest, by descending score; ties are one step. */
struct curve { double fpr[CURVE_POINTS + 2], tpr[CURVE_POINTS + 2], ppv[CURVE_POINTS + 2]; int n; };

static void trace(const struct scored *v, int64_t n, int64_t n_right, struct curve *c)
{
    int64_t right = 0, at = 0;

    *c = (struct curve){ .n = 1 };
    c->ppv[0] = 1;
    while (at < n) {
        const int64_t aim = at + (n + CURVE_POINTS - 1) / CURVE_POINTS;
        for (; at < n && (at < aim || !(v[at].p < v[at - 1].p)); at++)
            right += v[at].right;
        c->tpr[c->n] = (double)right / (double)n_right;
        c->fpr[c->n] = n > n_right ? (double)(at - right) / (double)(n - n_right) : 0;
        c->ppv[c->n] = (double)right / (double)at;
        c->n++;
    }
    if (n > 0)
        c->ppv[0] = c->ppv[1];
}

static int64_t gather(const struct page *p, int32_t class_no, struct scored *v)
{
    int64_t n = 0;

    for (int64_t i = 0; i < p->s->n; i++)
        if (cs_scores_known(p->s, i))
            v[n++] = (struct scored){ p->s->output[i * p->s->n_out + class_no],
                                      cs_scores_truth(p->s, i) == class_no };
    qsort(v, (size_t)n, sizeof *v, by_score);
    return n;
}

static int curves(struct page *p)
{
    int rc = CS_OK;
    int n = 0;
    struct curve *c = cs_xcalloc(CS_HTML_LINES, sizeof *c);
    struct scored *v = cs_alloc((size_t)p->s->n + 1, sizeof *v);
    cs_html_line roc[CS_HTML_LINES], pr[CS_HTML_LINES];

    if (!v) {
        rc = cs_fail(CS_EMEM, "out of memory for curves of %lld records", (long long)p->s->n);
        goto out;
    }
    for (int32_t i = 0; i < p->n_shown && n < CS_HTML_LINES; i++) {
        const int32_t k = p->order[i];
        if (p->f.cls[k].n == 0)
            continue;
        trace(v, gather(p, k, v), p->f.cls[k].n, &c[n]);
        roc[n] = (cs_html_line){ p->r->model->label[k].name, c[n].fpr, c[n].tpr, c[n].n };
        pr[n] = (cs_html_line){ p->r->model->label[k].name, c[n].tpr, c[n].ppv, c[n].n };
        n++;
    }
    CS_TRY(cs_html_section(p->out, "ROC and precision-recall curves"));
    CS_TRY(cs_outfile_printf(p->out, "<div class=\"pair\">\n"));
    CS_TRY(cs_html_lines(p->out, &(cs_html_plot){ "ROC", "false positive rate",
                         "true positive rate", roc, n, 1, 0 }));
    CS_TRY(cs_html_lines(p->out, &(cs_html_plot){ "Precision and recall", "recall", "precision", pr,
                         n, 0, 0 }));
    rc = cs_outfile_printf(p->out, "</div>\n");
out:
    free(v);
    free(c);
    return rc;
}

static int certainty(struct page *p)
{
    int rc = CS_OK, n = 0;
    double x[CS_RELIABILITY_BINS], y[CS_RELIABILITY_BINS], share[CS_RISK_POINTS];

    for (int k = 0; k < CS_RELIABILITY_BINS; k++) {
        if (p->sure.bin[k].n == 0)
            continue;
        x[n] = p->sure.bin[k].confidence;
        y[n++] = p->sure.bin[k].accuracy;
    }
    for (int k = 0; k < CS_RISK_POINTS; k++)
        share[k] = (double)(k + 1) / CS_RISK_POINTS;
    const cs_html_line reliable = { NULL, x, y, n },
                       risk = { NULL, share, p->sure.risk, p->f.n > 0 ? CS_RISK_POINTS : 0 };
    CS_TRY(cs_html_section(p->out, "Calibration"));
    CS_TRY(cs_outfile_printf(p->out, "<div class=\"pair\">\n"));
    CS_TRY(cs_html_lines(p->out, &(cs_html_plot){ "Reliability; below the diagonal: overconfident",
                         "probability of the best class", "accuracy", &reliable, 1, 1, 1 }));
    CS_TRY(cs_html_lines(p->out, &(cs_html_plot){ "Error rate of the most confident calls",
                         "share of the records called", "error", &risk, 1, 0, 1 }));
    rc = cs_outfile_printf(p->out, "</div>\n");
out:
    return rc;
}

/* ---- history of a training ------------------------------------------------------------------- */

/* The balanced accuracies in the table of epochs; how many. */
static int read_history(const char *row, double *balanced)
{
    int n = 0;

    for (; row != NULL && *row != '\0'; row = strchr(row, '\n'), row += row != NULL)
        n += sscanf(row, "%*s %*s %*s %*s %*s %*s %*s %lf", &balanced[n]) == 1;
    return n;
}

static int history(struct page *p)
{
    static const char *const name[] = { "model", "bag", "regression on 5-mers" };
    int rc = CS_OK, n_line = 0;
    const size_t cap = p->r->history != NULL ? strlen(p->r->history) / 2 + 1 : 0;
    const double base[] = { 0, p->r->bag, p->r->regression };
    double flat[3][2], ends[] = { 0, 1 };
    cs_html_line line[3];

    if (cap == 0)
        return CS_OK;
    double *x = cs_xcalloc(2 * cap, sizeof *x), *y = x + cap;
    const int n = read_history(p->r->history, y);
    if (n == 0)                  /* trained without validation */
        goto out;
    for (int i = 0; i < n; i++)
        x[i] = (i + 1.0) / n;
    line[n_line++] = (cs_html_line){ name[0], x, y, n };
    for (int i = 1; i < 3; i++) {
        flat[i][0] = flat[i][1] = base[i];
        if (isfinite(base[i]))
            line[n_line++] = (cs_html_line){ name[i], ends, flat[i], 2 };
    }
    CS_TRY(cs_html_section(p->out, "Training"));
    rc = cs_html_lines(p->out, &(cs_html_plot){ "Balanced accuracy on validation records",
                       "share of the epochs", "balanced accuracy", line, n_line, 0, 1 });
out:
    free(x);
    return rc;
}

/* The last two rows are mean and standard error. */
static int folds(struct page *p)
{
    static const char *const column[] = { "accuracy", "balanced", "loss", "bag of words, balanced",
                                          "bag of reading frames, balanced",
                                          "regression on 5-mers, balanced", NULL };
    int rc = CS_OK;
    const cs_fold *f = p->r->fold;
    const int n = p->r->n_fold;
    int64_t n_valid = 0;
    char name[32];

    if (n == 0)
        return CS_OK;
    CS_TRY(cs_html_section(p->out, "Cross-validation"));
    CS_TRY(put_head(p, "fold", column));
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%d", i + 1);
        CS_TRY(put_row(p, name, f[i].n_valid,
                       (double[]){ f[i].of[0].accuracy, f[i].of[0].balanced, f[i].of[0].loss,
                                   f[i].of[CS_FIT_WORDS].balanced,
                                   f[i].of[CS_FIT_FRAMES].balanced, f[i].regression }, 6));
        n_valid += f[i].n_valid;
    }
    const cs_fold_mean m[] = {
        cs_fold_average(f, n, &f->of[0].accuracy), cs_fold_average(f, n, &f->of[0].balanced),
        cs_fold_average(f, n, &f->of[0].loss),
        cs_fold_average(f, n, &f->of[CS_FIT_WORDS].balanced),
        cs_fold_average(f, n, &f->of[CS_FIT_FRAMES].balanced),
        cs_fold_average(f, n, &f->regression),
    };
    CS_TRY(put_row(p, "mean", n_valid, (double[]){ m[0].mean, m[1].mean, m[2].mean, m[3].mean,
                                                   m[4].mean, m[5].mean }, 6));
    CS_TRY(put_row(p, "standard error", n_valid, (double[]){ m[0].error, m[1].error, m[2].error,
                                                             m[3].error, m[4].error,
                                                             m[5].error }, 6));
    rc = cs_outfile_printf(p->out, "</table>\n");
out:
    return rc;
}

/* ---- the page -------------------------------------------------------------------------------- */

struct frequent { int64_t n, n_called; int32_t no; };

static int by_records(const void *a, const void *b)
{
    const struct frequent *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return x->n_called != y->n_called ? (x->n_called < y->n_called ? 1 : -1) : x->no - y->no;
}

static int eval_html_prepare(struct page *p)
{
    int rc = CS_OK;
    struct frequent *v = NULL;

    CS_TRY(cs_scores_metrics(p->s, 0, INT64_MAX, p->r->tolerance, true, &p->f));
    CS_TRY(cs_scores_certainty(p->s, 0, INT64_MAX, &p->sure));
    if (p->r->share)
        CS_TRY(cs_mixture_init(&p->mixture, &p->f, p->r->share));
    if (!p->r->raw)
        cs_eval_calls_count(&p->calls, p->s, &p->r->model->calibration, 0, INT64_MAX,
                            p->mixture.weight);
    const size_t n = (size_t)p->f.n_class;
    v = cs_alloc(n, sizeof *v);
    p->order = cs_alloc(n, sizeof *p->order);
    p->base = cs_alloc(n, sizeof *p->base);
    if (!v || !p->order || !p->base) {
        rc = cs_fail(CS_EMEM, "out of memory for a page about %zu classes", n);
        goto out;
    }
    for (size_t c = 0; c < n; c++) {
        v[c] = (struct frequent){ p->f.cls[c].n, p->f.cls[c].n_called, (int32_t)c };
        p->base[c] = 0;
    }
    qsort(v, n, sizeof *v, by_records);
    for (size_t c = 0; c < n; c++) {
        p->order[c] = v[c].no;
        p->n_shown += n <= MAX_MATRIX || v[c].n + v[c].n_called > 0;
    }
    for (int64_t i = 0; i < p->s->n; i++)
        if (cs_scores_known(p->s, i))
            p->base[cs_scores_truth(p->s, i)] += (uint64_t)p->s->length[i];
out:
    free(v);
    return rc;
}

int cs_eval_html(const cs_eval_report *r, cs_outfile *out, double seconds, const char *command)
{
    int rc = CS_OK;
    struct page p = { .r = r, .s = &r->scores[0], .out = out };

    CS_TRY(eval_html_prepare(&p));
    CS_TRY(cs_html_begin_live(p.out, r->history != NULL ? "chordseq train" : "chordseq eval",
                              r->live ? RELOAD : 0));
    CS_TRY(summary(&p, seconds, command));
    CS_TRY(history(&p));
    CS_TRY(folds(&p));
    CS_TRY(sets(&p));
    CS_TRY(ranks(&p));
    CS_TRY(classes(&p));
    CS_TRY(calls(&p));
    CS_TRY(confusion(&p));
    CS_TRY(curves(&p));
    CS_TRY(certainty(&p));
    CS_TRY(lengths(&p));
    CS_TRY(probabilities(&p));
    rc = cs_html_end(p.out);
out:
    cs_metrics_release(&p.f);
    cs_mixture_release(&p.mixture);
    free(p.order);
    free(p.base);
    return rc;
}

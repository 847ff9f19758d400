/* eval_report.c - write the metrics of an evaluation as a table or JSON. */
#include "eval/eval_report.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"

enum { NAME_BYTES = 64, MANY_CLASSES = 64, N_RATE = 6 };

/* Reported rates of wrong calls; the model's rate is the last. */
static const double rates[N_RATE - 1] = { 0.01, 0.02, 0.05, 0.2, 0.3 };

/* Output of metrics: table and JSON in one pass. */
struct sink {
    const cs_eval_report *r;
    cs_outfile *tsv;
    json_t     *sets;
};

/* The present metric. */
struct part {
    const char *set;
    const struct layout *layout;
    char        length[NAME_BYTES];
    const cs_metrics   *f;
    const cs_certainty *sure;    /* of classes; or NULL */
    const cs_calls *calls;       /* [N_RATE], the last at the model's rate; or NULL */
    const int64_t *n_rank, *n_right;   /* [ranks->n] */
};

struct figure { const char *name; size_t off; };

/* Units of the counts. */
static const char *unit_of(const cs_eval_report *r)
{
    return r->counts != NULL ? "tokens" : "records";
}

static const struct figure class_overall[] = {
    { "loss", offsetof(cs_metrics, loss) },
    { "accuracy", offsetof(cs_metrics, accuracy) },
    { "balanced_accuracy", offsetof(cs_metrics, balanced) },
    { "macro_f1", offsetof(cs_metrics, macro_f1) },
    { "macro_auc", offsetof(cs_metrics, macro_auc) },
    { "mcc", offsetof(cs_metrics, mcc) },
};
static const struct figure value_overall[] = {
    { "mse", offsetof(cs_metrics, loss) },
    { "mae", offsetof(cs_metrics, mae) },
    { "r2", offsetof(cs_metrics, r2) },
    { "pearson", offsetof(cs_metrics, pearson) },
    { "spearman", offsetof(cs_metrics, spearman) },
    { "within_tolerance", offsetof(cs_metrics, within) },
};
static const struct figure per_value[] = {
    { "mse", offsetof(cs_class_metrics, mse) },
    { "mae", offsetof(cs_class_metrics, mae) },
    { "r2", offsetof(cs_class_metrics, r2) },
    { "pearson", offsetof(cs_class_metrics, pearson) },
    { "spearman", offsetof(cs_class_metrics, spearman) },
    { "within_tolerance", offsetof(cs_class_metrics, within) },
};
static const struct figure label_overall[] = {
    { "loss", offsetof(cs_metrics, loss) },
    { "accuracy", offsetof(cs_metrics, accuracy) },
    { "balanced_accuracy", offsetof(cs_metrics, balanced) },
    { "macro_f1", offsetof(cs_metrics, macro_f1) },
    { "micro_f1", offsetof(cs_metrics, micro_f1) },
    { "macro_auc", offsetof(cs_metrics, macro_auc) },
    { "micro_auc", offsetof(cs_metrics, micro_auc) },
    { "macro_average_precision", offsetof(cs_metrics, macro_ap) },
    { "micro_average_precision", offsetof(cs_metrics, micro_ap) },
    { "mcc", offsetof(cs_metrics, mcc) },
};
static const struct figure per_class[] = {
    { "precision", offsetof(cs_class_metrics, precision) },
    { "recall", offsetof(cs_class_metrics, recall) },
    { "f1", offsetof(cs_class_metrics, f1) },
    { "auc", offsetof(cs_class_metrics, auc) },
    { "average_precision", offsetof(cs_class_metrics, ap) },   /* from here on of labels only */
    { "balanced_accuracy", offsetof(cs_class_metrics, balanced) },
    { "mcc", offsetof(cs_class_metrics, mcc) },
};

#define LENGTH(table) ((int)(sizeof (table) / sizeof *(table)))
enum { N_PER_CLASS = 4 };

/* The metrics. */
struct layout {
    const struct figure *overall, *of_each;
    int         n_overall, n_each;
    const char *each;            /* JSON key of the list of classes, labels or values */
};
static const struct layout of_values = { value_overall, per_value, LENGTH(value_overall),
                                         LENGTH(per_value), "values" };
static const struct layout of_classes = { class_overall, per_class, LENGTH(class_overall),
                                          N_PER_CLASS, "classes" };
static const struct layout of_labels = { label_overall, per_class, LENGTH(label_overall),
                                         LENGTH(per_class), "labels" };

static double real_at(const void *p, size_t off)
{
    return *(const double *)(const void *)((const char *)p + off);
}

/* ---- table ----------------------------------------------------------------------------------- */

static int put_real(struct sink *s, const struct part *p, const char *cls, const char *metric,
                    double v)
{
    if (!isfinite(v))
        return cs_outfile_printf(s->tsv, "%s\t%s\t%s\t%s\tNA\n", p->set, p->length, cls, metric);
    return cs_outfile_printf(s->tsv, "%s\t%s\t%s\t%s\t%.6g\n", p->set, p->length, cls, metric, v);
}

static int put_count(struct sink *s, const struct part *p, const char *cls, const char *metric,
                     const char *suffix, int64_t n)
{
    return cs_outfile_printf(s->tsv, "%s\t%s\t%s\t%s%s\t%lld\n", p->set, p->length, cls, metric,
                             suffix, (long long)n);
}

static double share_of(int64_t n, int64_t of)
{
    return of > 0 ? (double)n / (double)of : NAN;
}

static double rate_of(const struct sink *s, int i)
{
    return i < N_RATE - 1 ? rates[i] : s->r->model->calibration.max_error;
}

/* Is it the model's rate, which is reported last? */
static bool is_model_rate(const struct sink *s, int i)
{
    return i < N_RATE - 1 && fabs(rates[i] - rate_of(s, N_RATE - 1)) < 1e-6 * rates[i];
}

/* "coverage:0.1": share of records with a call at a rate of wrong calls of a tenth; "error:0.1":
 * actual share of wrong calls. */
static int call_rows(struct sink *s, const struct part *p)
{
    int rc = CS_OK;
    char name[NAME_BYTES];

    for (int i = 0; p->calls && i < N_RATE; i++) {
        const cs_calls *c = &p->calls[i];
        if (is_model_rate(s, i))
            continue;
        (void)snprintf(name, sizeof name, "coverage:%g", rate_of(s, i));
        CS_TRY(put_real(s, p, ".", name, share_of(c->n_called, c->n)));
        (void)snprintf(name, sizeof name, "error:%g", rate_of(s, i));
        CS_TRY(put_real(s, p, ".", name, share_of(c->n_wrong, c->n_called)));
    }
out:
    return rc;
}

/* The first call from `from` on to show of a class, or n_class. With many classes only pairs that
 * occur, since tables grow with their square. */
static int32_t shown_call(const cs_metrics *f, int32_t truth, int32_t from)
{
    return f->called && f->n_class <= MANY_CLASSES ? from : cs_metrics_next_call(f, truth, from);
}

static int class_rows(struct sink *s, const struct part *p, int32_t c)
{
    int rc = CS_OK;
    const cs_label *label = s->r->model->label;
    const cs_metrics *f = p->f;

    if (p->layout == &of_labels)
        CS_TRY(put_count(s, p, label[c].name, "known", "", f->cls[c].n_known));
    CS_TRY(put_count(s, p, label[c].name, p->layout == &of_labels ? "positive" : unit_of(s->r), "",
                     f->cls[c].n));
    for (int i = 0; i < p->layout->n_each; i++)
        CS_TRY(put_real(s, p, label[c].name, p->layout->of_each[i].name,
                        real_at(&f->cls[c], p->layout->of_each[i].off)));
    if (p->calls) {
        const cs_class_calls *k = &p->calls[N_RATE - 1].of_class[c];
        CS_TRY(put_real(s, p, label[c].name, "coverage", share_of(k->n_called, k->n)));
        CS_TRY(put_real(s, p, label[c].name, "error", share_of(k->n_wrong, k->n_calls)));
    }
    for (int32_t k = shown_call(f, c, 0); k < f->n_class; k = shown_call(f, c, k + 1))
        CS_TRY(put_count(s, p, label[c].name, "called:", label[k].name,
                         cs_metrics_called(f, c, k)));
out:
    return rc;
}

/* "reliability_accuracy:0.9": of calls with a probability from 0.9 to 1; "risk:0.5": share of wrong
 * calls among the half with the highest probabilities. */
static int certainty_rows(struct sink *s, const struct part *p)
{
    int rc = CS_OK;
    const cs_certainty *c = p->sure;
    char name[NAME_BYTES], at[16];

    if (c == NULL)
        return CS_OK;
    CS_TRY(put_real(s, p, ".", "ece", c->ece));
    for (int k = 0; k < CS_RELIABILITY_BINS; k++) {
        (void)snprintf(at, sizeof at, "%.1f", (double)k / CS_RELIABILITY_BINS);
        if (c->bin[k].n == 0)
            continue;
        CS_TRY(put_count(s, p, ".", "reliability_records:", at, c->bin[k].n));
        (void)snprintf(name, sizeof name, "reliability_confidence:%s", at);
        CS_TRY(put_real(s, p, ".", name, c->bin[k].confidence));
        (void)snprintf(name, sizeof name, "reliability_accuracy:%s", at);
        CS_TRY(put_real(s, p, ".", name, c->bin[k].accuracy));
    }
    for (int k = 0; k < CS_RISK_POINTS; k++) {
        const double coverage = (double)(k + 1) / CS_RISK_POINTS;
        (void)snprintf(name, sizeof name, "risk:%.1f", coverage);
        CS_TRY(put_real(s, p, ".", name, c->risk[k]));
        (void)snprintf(name, sizeof name, "risk_threshold:%.1f", coverage);
        CS_TRY(put_real(s, p, ".", name, c->threshold[k]));
    }
out:
    return rc;
}

/* "accuracy:genus": of records with a genus known to the model. */
static int rank_rows(struct sink *s, const struct part *p)
{
    int rc = CS_OK;
    const cs_eval_ranks *r = s->r->ranks;
    char name[NAME_BYTES];

    for (int k = 0; k < r->n; k++) {
        CS_TRY(put_count(s, p, ".", "records:", r->rank[k], p->n_rank[k]));
        (void)snprintf(name, sizeof name, "accuracy:%s", r->rank[k]);
        CS_TRY(put_real(s, p, ".", name, (double)p->n_right[k] / (double)p->n_rank[k]));
    }
out:
    return rc;
}

static int rows(struct sink *s, const struct part *p)
{
    int rc = CS_OK;
    const struct figure *overall = p->layout->overall;

    CS_TRY(put_count(s, p, ".", unit_of(s->r), "", p->f->n));
    if (p->layout == &of_labels)
        CS_TRY(put_count(s, p, ".", "known", "", p->f->n_known));
    for (int i = 0; i < p->layout->n_overall; i++)
        CS_TRY(put_real(s, p, ".", overall[i].name, real_at(p->f, overall[i].off)));
    CS_TRY(certainty_rows(s, p));
    CS_TRY(call_rows(s, p));
    CS_TRY(rank_rows(s, p));
    for (int32_t c = 0; c < p->f->n_class; c++)
        CS_TRY(class_rows(s, p, c));
out:
    return rc;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *real_json(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *class_json(const struct sink *s, const struct part *p, int32_t c)
{
    const cs_label *label = s->r->model->label;
    const cs_metrics *f = p->f;
    const bool is_label = p->layout == &of_labels;
    json_t *o = is_label ? json_pack("{s:I, s:I}", "known", (json_int_t)f->cls[c].n_known,
                                     "positive", (json_int_t)f->cls[c].n)
                         : json_pack("{s:I}", unit_of(s->r), (json_int_t)f->cls[c].n);
    json_t *called = p->layout == &of_classes ? json_object() : NULL;

    for (int i = 0; i < p->layout->n_each; i++) {
        const struct figure *g = &p->layout->of_each[i];
        json_object_set_new(o, g->name, real_json(real_at(&f->cls[c], g->off)));
    }
    if (p->calls) {
        const cs_class_calls *k = &p->calls[N_RATE - 1].of_class[c];
        json_object_set_new(o, "coverage", real_json(share_of(k->n_called, k->n)));
        json_object_set_new(o, "error", real_json(share_of(k->n_wrong, k->n_calls)));
    }
    for (int32_t k = shown_call(f, c, 0); k < f->n_class; k = shown_call(f, c, k + 1))
        json_object_set_new(called, label[k].name, json_integer(cs_metrics_called(f, c, k)));
    if (called != NULL)
        json_object_set_new(o, "called", called);
    return o;
}

static void certainty_json(json_t *o, const cs_certainty *c)
{
    json_t *bins = json_array(), *risk = json_array();

    for (int k = 0; k < CS_RELIABILITY_BINS; k++)
        if (c->bin[k].n > 0)
            json_array_append_new(bins, json_pack("{s:f, s:I, s:f, s:f}", "from",
                                                  (double)k / CS_RELIABILITY_BINS, "records",
                                                  (json_int_t)c->bin[k].n, "confidence",
                                                  c->bin[k].confidence, "accuracy",
                                                  c->bin[k].accuracy));
    for (int k = 0; k < CS_RISK_POINTS; k++)
        json_array_append_new(risk, json_pack("{s:f, s:o, s:o}", "coverage",
                                              (double)(k + 1) / CS_RISK_POINTS, "error",
                                              real_json(c->risk[k]), "threshold",
                                              real_json(c->threshold[k])));
    json_object_set_new(o, "ece", real_json(c->ece));
    json_object_set_new(o, "reliability", bins);
    json_object_set_new(o, "risk", risk);
}

static json_t *calls_json(const struct sink *s, const struct part *p)
{
    json_t *list = json_array();

    for (int i = 0; i < N_RATE; i++) {
        const cs_calls *c = &p->calls[i];
        if (is_model_rate(s, i))
            continue;
        json_array_append_new(list, json_pack("{s:f, s:o, s:o}", "max_error", rate_of(s, i),
                                              "coverage", real_json(share_of(c->n_called, c->n)),
                                              "error",
                                              real_json(share_of(c->n_wrong, c->n_called))));
    }
    return list;
}

static json_t *ranks_json(const struct sink *s, const struct part *p)
{
    const cs_eval_ranks *r = s->r->ranks;
    json_t *list = json_array();

    for (int k = 0; k < r->n; k++)
        json_array_append_new(list, json_pack("{s:s, s:I, s:o}", "rank", r->rank[k], "records",
                                              (json_int_t)p->n_rank[k], "accuracy",
                                              real_json((double)p->n_right[k]
                                                        / (double)p->n_rank[k])));
    return list;
}

static void add_json(struct sink *s, const struct part *p)
{
    const struct figure *overall = p->layout->overall;
    const cs_metrics *f = p->f;
    json_t *o = json_pack("{s:s, s:s, s:I}", "set", p->set, "length", p->length,
                          unit_of(s->r), (json_int_t)f->n);

    if (p->layout == &of_labels)
        json_object_set_new(o, "known", json_integer(f->n_known));
    for (int i = 0; i < p->layout->n_overall; i++)
        json_object_set_new(o, overall[i].name, real_json(real_at(f, overall[i].off)));
    if (p->sure != NULL)
        certainty_json(o, p->sure);
    if (p->calls)
        json_object_set_new(o, "calls", calls_json(s, p));
    if (s->r->ranks->n > 0)
        json_object_set_new(o, "ranks", ranks_json(s, p));
    if (f->n_class > 0) {
        json_t *classes = json_object();
        for (int32_t c = 0; c < f->n_class; c++)
            json_object_set_new(classes, s->r->model->label[c].name, class_json(s, p, c));
        json_object_set_new(o, p->layout->each, classes);
    }
    json_array_append_new(s->sets, o);
}

static int write_json(const struct sink *s, cs_outfile *f)
{
    json_t *top = json_pack("{s:s, s:s, s:O}", "chordseq", PACKAGE_VERSION, "model",
                            s->r->model->sum, "sets", s->sets);
    char *text = json_dumps(top, JSON_INDENT(1) | JSON_REAL_PRECISION(6));

    json_decref(top);
    const int rc = text ? cs_outfile_printf(f, "%s\n", text)
                        : cs_fail(CS_EMEM, "out of memory for the metrics as JSON");
    free(text);
    return rc;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* "NA" if undefined, as in the table. */
typedef struct { char text[32]; } number;

static number number_of(const char *format, double v)
{
    number n = { "NA" };

    if (isfinite(v))
        (void)snprintf(n.text, sizeof n.text, format, v);
    return n;
}

#define NUMBER(v) number_of("%.4f", v).text

static void note_calls(const struct part *p)
{
    const cs_calls *c = &p->calls[N_RATE - 1];

    cs_note("%s %s: %s %% called, of these %s %% wrong", p->set, p->length,
            number_of("%.1f", 100 * share_of(c->n_called, c->n)).text,
            number_of("%.1f", 100 * share_of(c->n_wrong, c->n_called)).text);
}

/* Records of a taxon without a class of its own. */
static void note_ranks(const struct part *p, int n_rank)
{
    int64_t max = 0;

    for (int k = 0; k < n_rank; k++)
        max = p->n_rank[k] > max ? p->n_rank[k] : max;
    if (max > p->f->n)
        cs_note("%s %s: %lld more %s a class that the model does not have, and %s only at the "
                "ranks of known taxa", p->set, p->length, (long long)(max - p->f->n),
                CS_PLURAL(max - p->f->n, "record has", "records have"),
                CS_PLURAL(max - p->f->n, "counts", "count"));
}

static void note(const struct part *p)
{
    const cs_metrics *f = p->f;

    if (p->layout == &of_labels)
        cs_note("%s %s: %lld %s, %lld known labels, macro AUC %s, macro average precision %s, "
                "macro F1 %s", p->set, p->length, (long long)f->n,
                CS_PLURAL(f->n, "record", "records"), (long long)f->n_known,
                NUMBER(f->macro_auc), NUMBER(f->macro_ap), NUMBER(f->macro_f1));
    else if (p->layout == &of_values)
        cs_note("%s %s: %lld %s, mse %s, mae %s, r2 %s, Pearson's correlation %s, within "
                "tolerance %s", p->set, p->length, (long long)f->n,
                CS_PLURAL(f->n, "record", "records"),
                number_of("%.4g", f->loss).text, number_of("%.4g", f->mae).text, NUMBER(f->r2),
                NUMBER(f->pearson), NUMBER(f->within));
    else
        cs_note("%s %s: %lld %s, accuracy %s, balanced accuracy %s, mcc %s%s%s", p->set,
                p->length, (long long)f->n,
                p->sure ? CS_PLURAL(f->n, "record", "records") : CS_PLURAL(f->n, "token", "tokens"),
                NUMBER(f->accuracy),
                NUMBER(f->balanced), NUMBER(f->mcc), p->sure ? ", ece " : "",
                p->sure ? NUMBER(p->sure->ece) : "");
    if (p->calls)
        note_calls(p);
}

/* Releases f. */
static int put_metrics(struct sink *s, struct part *p, cs_metrics *f, bool noted)
{
    p->f = f;
    const int rc = rows(s, p);
    add_json(s, p);
    if (noted) {
        note(p);
        note_ranks(p, s->r->ranks->n);
    }
    cs_metrics_release(f);
    return rc;
}

/* NULL: the model has no conditions for calls, or predictions are uncalibrated. */
static const cs_calls *calls_of(const struct sink *s, const cs_scores *scores, int64_t lo,
                                int64_t hi, cs_calls *calls)
{
    const cs_calibration *c = &s->r->model->calibration;

    if (!(c->max_error > 0) || c->n_class != scores->n_out || s->r->raw)
        return NULL;
    for (int i = 0; i < N_RATE; i++)
        cs_scores_calls(scores, c, lo, hi, rate_of(s, i), &calls[i]);
    return calls;
}

/* The records of set i with lo <= length < hi. */
static int write_part(struct sink *s, struct part *p, int i, int64_t lo, int64_t hi, bool noted)
{
    int rc = CS_OK;
    const cs_scores *scores = &s->r->scores[i];
    const size_t n_rank = (size_t)s->r->ranks->n;
    int64_t *count = cs_xcalloc(2 * n_rank + 1, sizeof *count);
    cs_metrics f;
    cs_certainty sure;
    cs_calls calls[N_RATE];

    p->sure = NULL;
    p->calls = NULL;
    p->layout = s->r->counts != NULL || scores->is_class ? &of_classes
              : scores->is_labels ? &of_labels : &of_values;
    p->n_rank = count;
    p->n_right = count + n_rank;
    if (s->r->counts != NULL) {
        CS_TRY(cs_counts_metrics(&s->r->counts[i], &f));
        rc = put_metrics(s, p, &f, noted);
        goto out;
    }
    cs_eval_ranks_count(s->r->ranks, scores, lo, hi, count, count + n_rank);
    if (scores->is_class) {
        CS_TRY(cs_scores_certainty(scores, lo, hi, &sure));
        p->sure = &sure;
        p->calls = calls_of(s, scores, lo, hi, calls);
    }
    CS_TRY(cs_scores_metrics(scores, lo, hi, s->r->tolerance, true, &f));
    rc = put_metrics(s, p, &f, noted);
out:
    free(count);
    return rc;
}

void cs_eval_bin_name(const cs_eval_report *r, int bin, char *buf, size_t n_buf)
{
    const long long lo = bin > 0 ? (long long)r->bin[bin - 1] : 0;

    if (bin < r->n_bin)
        (void)snprintf(buf, n_buf, "%lld-%lld", lo, (long long)r->bin[bin] - 1);
    else
        (void)snprintf(buf, n_buf, "%lld-", lo);
}

static int tell_bins(struct sink *s)
{
    int rc = CS_OK;
    const cs_eval_report *r = s->r;
    struct part p = { .set = "record" };

    for (int b = 0; b <= r->n_bin && r->n_bin > 0 && r->counts == NULL; b++) {
        const int64_t lo = b > 0 ? r->bin[b - 1] : 0, hi = b < r->n_bin ? r->bin[b] : INT64_MAX;
        cs_eval_bin_name(r, b, p.length, sizeof p.length);
        CS_TRY(write_part(s, &p, 0, lo, hi, false));
    }
out:
    return rc;
}

static int tell_all(struct sink *s)
{
    int rc = CS_OK;
    const cs_eval_report *r = s->r;
    struct part whole = { .set = r->counts != NULL ? "token" : "record", .length = "all" },
                piece = { .set = "fragment" };

    CS_TRY(cs_outfile_printf(s->tsv, "set\tlength\tclass\tmetric\tvalue\n"));
    CS_TRY(write_part(s, &whole, 0, 0, INT64_MAX, true));
    CS_TRY(tell_bins(s));
    for (int i = 0; i < r->n_piece; i++) {
        (void)snprintf(piece.length, sizeof piece.length, "%lld", (long long)r->piece[i]);
        CS_TRY(write_part(s, &piece, 1 + i, 0, INT64_MAX, true));
    }
out:
    return rc;
}

int cs_eval_write(const cs_eval_report *r, cs_outfile *tsv, cs_outfile *json)
{
    int rc = CS_OK;
    struct sink s = { r, tsv, json_array() };

    CS_TRY(tell_all(&s));
    if (json != NULL)
        rc = write_json(&s, json);
out:
    json_decref(s.sets);
    return rc;
}

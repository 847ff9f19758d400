/* eval_report.c - write the metrics of an evaluation as a table or JSON. */
#include "eval/eval_report.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/outfile.h"
#include "base/log.h"

enum { NAME_BYTES = 64, MANY_CLASSES = 64 };

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
    cs_eval_calls calls;
    cs_mixture   *mixture;       /* with the shares of classes; or NULL */
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
    { "mse", offsetof(cs_metrics, mse) },
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

/* ---- calls and shares of classes ------------------------------------------------------------- */

enum { MAX_NAMED = 5 };
struct named { const char *name; double v; };

/* Of all calls at rate i; how many. */
static int figures_at(const struct part *p, int i, struct named v[MAX_NAMED])
{
    const cs_calls *c = &p->calls.at[i];
    int n = 0;

    v[n++] = (struct named){ "coverage", cs_eval_share((double)c->n_called, (double)c->n) };
    v[n++] = (struct named){ "error", cs_eval_share((double)c->n_wrong, (double)c->n_called) };
    if (!p->mixture)
        return n;
    v[n++] = (struct named){ "expected_coverage", c->n > 0 ? c->called : NAN };
    v[n++] = (struct named){ "expected_error", cs_eval_share(c->wrong, c->called) };
    return n;
}

/* Of the calls of a class at the model's rate, and of a sample; how many. */
static int figures_of(const struct sink *s, const struct part *p, int32_t c,
                      struct named v[MAX_NAMED])
{
    const cs_calls *calls = cs_eval_calls_model(&p->calls);
    const cs_class_calls *k = calls ? &calls->of_class[c] : NULL;
    int n = 0;

    if (k) {
        v[n++] = (struct named){ "coverage", cs_eval_share((double)k->n_called, (double)k->n) };
        v[n++] = (struct named){ "error", cs_eval_share((double)k->n_wrong, (double)k->n_calls) };
    }
    if (!p->mixture)
        return n;
    v[n++] = (struct named){ "share", s->r->share[c] };
    v[n++] = (struct named){ "expected_precision", p->mixture->precision[c] };
    if (k)
        v[n++] = (struct named){ "expected_error",
                                 k->n > 0 ? cs_eval_share(k->wrong, k->calls) : NAN };
    return n;
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

/* "coverage:0.1": share of records with a call at a rate of wrong calls of a tenth; "error:0.1":
 * actual share of wrong calls. */
static int call_rows(struct sink *s, const struct part *p)
{
    int rc = CS_OK;
    char name[NAME_BYTES];

    for (int i = 0; i < p->calls.n; i++) {
        struct named v[MAX_NAMED];
        const int n = figures_at(p, i, v);
        for (int k = 0; k < n; k++) {
            (void)snprintf(name, sizeof name, "%s:%g", v[k].name, p->calls.rate[i]);
            CS_TRY(put_real(s, p, ".", name, v[k].v));
        }
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
    struct named v[MAX_NAMED];

    if (p->layout == &of_labels)
        CS_TRY(put_count(s, p, label[c].name, "known", "", f->cls[c].n_known));
    CS_TRY(put_count(s, p, label[c].name, p->layout == &of_labels ? "positive" : unit_of(s->r), "",
                     f->cls[c].n));
    for (int i = 0; i < p->layout->n_each; i++)
        CS_TRY(put_real(s, p, label[c].name, p->layout->of_each[i].name,
                        real_at(&f->cls[c], p->layout->of_each[i].off)));
    for (int i = 0, n = figures_of(s, p, c, v); i < n; i++)
        CS_TRY(put_real(s, p, label[c].name, v[i].name, v[i].v));
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
    if (p->mixture)
        CS_TRY(put_real(s, p, ".", "expected_accuracy", p->mixture->accuracy));
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
    struct named v[MAX_NAMED];

    for (int i = 0; i < p->layout->n_each; i++) {
        const struct figure *g = &p->layout->of_each[i];
        json_object_set_new(o, g->name, real_json(real_at(&f->cls[c], g->off)));
    }
    for (int i = 0, n = figures_of(s, p, c, v); i < n; i++)
        json_object_set_new(o, v[i].name, real_json(v[i].v));
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

static json_t *calls_json(const struct part *p)
{
    json_t *list = json_array();

    for (int i = 0; i < p->calls.n; i++) {
        struct named v[MAX_NAMED];
        json_t *o = json_pack("{s:f}", "max_error", p->calls.rate[i]);
        for (int k = 0, n = figures_at(p, i, v); k < n; k++)
            json_object_set_new(o, v[k].name, real_json(v[k].v));
        json_array_append_new(list, o);
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
    if (p->mixture)
        json_object_set_new(o, "expected_accuracy", real_json(p->mixture->accuracy));
    if (p->calls.n > 0)
        json_object_set_new(o, "calls", calls_json(p));
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
    const cs_calls *c = cs_eval_calls_model(&p->calls);
    const cs_mixture *x = p->mixture;

    if (c)
        cs_note("%s %s: %s %% called at a maximum error rate of %g, of these %s %% wrong", p->set,
                p->length,
                number_of("%.1f", 100 * cs_eval_share((double)c->n_called, (double)c->n)).text,
                p->calls.rate[p->calls.n - 1],
                number_of("%.1f", 100 * cs_eval_share((double)c->n_wrong,
                                                      (double)c->n_called)).text);
    if (!x)
        return;
    if (c)
        cs_note("%s %s, expected with the given shares: accuracy %s, %s %% called, of these %s %% "
                "wrong", p->set, p->length, NUMBER(x->accuracy),
                number_of("%.1f", c->n > 0 ? 100 * c->called : NAN).text,
                number_of("%.1f", 100 * cs_eval_share(c->wrong, c->called)).text);
    else
        cs_note("%s %s, expected with the given shares: accuracy %s", p->set, p->length,
                NUMBER(x->accuracy));
    if (p->f->n > 0 && x->absent >= 0.001)
        cs_note("%s %s: classes without records, with shares of %.3g in all, are left out of "
                "expected figures", p->set, p->length, x->absent);
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
                number_of("%.4g", f->mse).text, number_of("%.4g", f->mae).text, NUMBER(f->r2),
                NUMBER(f->pearson), NUMBER(f->within));
    else
        cs_note("%s %s: %lld %s, accuracy %s, balanced accuracy %s, mcc %s%s%s", p->set,
                p->length, (long long)f->n,
                p->sure ? CS_PLURAL(f->n, "record", "records") : CS_PLURAL(f->n, "token", "tokens"),
                NUMBER(f->accuracy),
                NUMBER(f->balanced), NUMBER(f->mcc), p->sure ? ", ece " : "",
                p->sure ? NUMBER(p->sure->ece) : "");
    note_calls(p);
}

static int put_metrics(struct sink *s, struct part *p, const cs_metrics *f, bool noted)
{
    p->f = f;
    const int rc = rows(s, p);
    add_json(s, p);
    if (noted) {
        note(p);
        note_ranks(p, s->r->ranks->n);
    }
    return rc;
}

/* The records of set i with lo <= length < hi. */
static int write_part(struct sink *s, struct part *p, int i, int64_t lo, int64_t hi, bool noted)
{
    int rc = CS_OK;
    const cs_scores *scores = &s->r->scores[i];
    const size_t n_rank = (size_t)s->r->ranks->n;
    int64_t *count = cs_xcalloc(2 * n_rank + 1, sizeof *count);
    cs_metrics f = { 0 };
    cs_certainty sure;
    cs_mixture mixture = { 0 };

    p->sure = NULL;
    p->mixture = NULL;
    p->calls.n = 0;
    p->layout = s->r->counts != NULL || scores->is_class ? &of_classes
              : scores->is_labels ? &of_labels : &of_values;
    p->n_rank = count;
    p->n_right = count + n_rank;
    if (s->r->counts != NULL) {
        CS_TRY(cs_token_counts_metrics(&s->r->counts[i], &f));
        rc = put_metrics(s, p, &f, noted);
        goto out;
    }
    cs_eval_ranks_count(s->r->ranks, scores, lo, hi, count, count + n_rank);
    if (scores->is_class) {
        CS_TRY(cs_scores_certainty(scores, lo, hi, &sure));
        p->sure = &sure;
    }
    CS_TRY(cs_scores_metrics(scores, lo, hi, s->r->tolerance, true, &f));
    if (s->r->share != NULL) {
        CS_TRY(cs_mixture_init(&mixture, &f, s->r->share));
        p->mixture = &mixture;
    }
    if (scores->is_class && !s->r->raw)
        cs_eval_calls_count(&p->calls, scores, &s->r->model->calibration, lo, hi, mixture.weight);
    rc = put_metrics(s, p, &f, noted);
out:
    cs_metrics_release(&f);
    cs_mixture_release(&mixture);
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

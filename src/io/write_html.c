/*
 * write_html.c - write an HTML report: classes, reasons, probabilities, lengths.
 *
 * DESIGN: counts only, like every report, so memory does not grow with the input. Probabilities
 * have 20 bins, lengths bins of powers of two. Histograms by class are drawn for the most frequent
 * classes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/class_counts.h"
#include "io/html.h"
#include "io/json_text.h"

enum { N_PROB = CS_PROB_BINS, N_LENGTH = CS_HTML_LENGTHS, N_SHOWN = 12 };

struct page {
    cs_class_counts *counts;
    uint64_t  length[2][N_LENGTH];             /* with and without a call */
    uint64_t (*prob)[N_PROB];                  /* [n_label] of calls */
    struct timespec start;
    double    before;                          /* seconds of runs that this one continues */
};

static void html_release(cs_output *o)
{
    struct page *p = o->state;

    if (!p)
        return;
    cs_class_counts_free(p->counts);
    free(p->prob);
    free(p);
    o->state = NULL;
}

static int html_begin(cs_output *o)
{
    struct page *p = o->state = cs_xcalloc(1, sizeof *p);
    const size_t n = (size_t)o->info.n_label;

    (void)clock_gettime(CLOCK_MONOTONIC, &p->start);
    p->prob = cs_alloc(n + 1, sizeof *p->prob);
    if (!p->prob)
        return cs_fail(CS_EMEM, "out of memory for a page about %zu classes", n);
    memset(p->prob, 0, (n + 1) * sizeof *p->prob);
    return cs_class_counts_new(&o->info, &p->counts);
}

static int html_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    struct page *p = o->state;
    const int best = cs_prediction_best(a), no_call = a->reason != CS_REASON_NONE;

    cs_class_counts_add(p->counts, &o->info, r, a);
    p->length[no_call][cs_html_length(cs_record_bases(r))]++;
    if (best < 0)
        return CS_OK;
    const int32_t node = o->info.taxonomy ? cs_prediction_taxon(&o->info, a) : -1;
    const int no = node >= 0 ? o->info.taxonomy->node[node].class_no : no_call ? -1 : best;
    if (no >= 0)
        p->prob[no][cs_prob_bin(cs_prediction_prob(a))]++;
    return CS_OK;
}

static double seconds_since(struct timespec start)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec);
}

static int summary(cs_output *o)
{
    int rc = CS_OK;
    const struct page *p = o->state;
    const cs_class_counts *t = p->counts;
    const double s = p->before + seconds_since(p->start);
    char doubt[256];

    CS_TRY(cs_outfile_printf(o->file, "<p>%llu %s with %llu %s; %llu called, %llu not. "
               "From the first record to the last %.1f s, %.3g Mbases/s.</p>\n",
               (unsigned long long)t->all.n_record,
               CS_PLURAL(t->all.n_record, "record", "records"), (unsigned long long)t->all.n_base,
               CS_PLURAL(t->all.n_base, "base", "bases"),
               (unsigned long long)t->reason[CS_REASON_NONE].n_record,
               (unsigned long long)t->unclassified.n_record, s,
               s > 0 ? 1e-6 * (double)t->all.n_base / s : 0));
    if (cs_class_counts_few_calls(t, doubt, sizeof doubt))
        CS_TRY(cs_outfile_printf(o->file, "<p>%s.</p>\n", doubt));
    rc = cs_html_origin(o->file, o->info.command_line ? o->info.command_line : "",
                        o->info.model_sum);
out:
    return rc;
}

static int bar(cs_outfile *f, uint64_t n, uint64_t max)
{
    return cs_outfile_printf(f, "<td class=\"bar\"><svg viewBox=\"0 0 100 8\" width=\"100%%\" "
                             "height=\"10\" preserveAspectRatio=\"none\"><rect class=\"a\" "
                             "width=\"%.2f\" height=\"8\"/></svg></td></tr>\n",
                             max ? 100 * (double)n / (double)max : 0.0);
}

static int taxon_row(cs_output *o, int32_t node, cs_count c, uint64_t max)
{
    int rc = CS_OK;
    const cs_class_counts *t = ((struct page *)o->state)->counts;
    const cs_taxon *v = &o->info.taxonomy->node[node];
    char label[CS_LABEL_TEXT];

    CS_TRY(cs_outfile_printf(o->file, "<tr>"));
    CS_TRY(cs_html_cell(o->file, cs_taxon_label(&o->info, node, label)));
    CS_TRY(cs_html_cell(o->file, v->name));
    CS_TRY(cs_outfile_printf(o->file, "<td class=\"n\">%lld</td>", (long long)v->taxid));
    CS_TRY(cs_html_count(o->file, c.n_record, t->all.n_record));
    CS_TRY(cs_html_count(o->file, c.n_base, t->all.n_base));
    rc = bar(o->file, c.n_record, max);
out:
    return rc;
}

/* The most records of a row: of a class, or if calls may be higher taxa, of one of these. */
static uint64_t longest_bar(const cs_output *o, const int *order)
{
    const cs_class_counts *t = ((const struct page *)o->state)->counts;
    const cs_taxonomy *tree = o->info.taxonomy;
    uint64_t max = t->of_class[order[0]].n_record;

    for (int32_t i = 1; i < tree->n && o->info.taxa; i++)
        if (tree->node[i].class_no < 0 && t->direct[i].n_record > max)
            max = t->direct[i].n_record;
    return max;
}

/* All classes; if calls may be higher taxa, the taxa called. */
static int class_table(cs_output *o, const int *order, int n)
{
    int rc = CS_OK;
    const cs_class_counts *t = ((struct page *)o->state)->counts;
    const cs_taxonomy *tree = o->info.taxonomy;
    const uint64_t max = longest_bar(o, order);

    CS_TRY(cs_html_section(o->file, "Classes"));
    CS_TRY(cs_outfile_printf(o->file, "<table><tr><th>class</th><th>taxon</th><th class=\"n\">"
               "taxid</th><th class=\"n\" colspan=\"2\">records</th><th class=\"n\" colspan=\"2\">"
               "bases</th><th></th></tr>\n"));
    for (int i = 0; i < n; i++)
        if (!o->info.taxa || t->of_class[order[i]].n_record)
            CS_TRY(taxon_row(o, tree->of_class[order[i]], t->of_class[order[i]], max));
    for (int32_t i = 1; i < tree->n && o->info.taxa; i++)
        if (tree->node[i].class_no < 0 && t->direct[i].n_record)
            CS_TRY(taxon_row(o, i, t->direct[i], max));
    rc = cs_outfile_printf(o->file, "</table>\n");
out:
    return rc;
}

static int reason_table(cs_output *o)
{
    int rc = CS_OK;
    const cs_class_counts *t = ((struct page *)o->state)->counts;

    if (t->reason[CS_REASON_NONE].n_record == t->all.n_record)
        return CS_OK;
    CS_TRY(cs_html_section(o->file, "Unclassified records"));
    CS_TRY(cs_outfile_printf(o->file, "<table><tr><th>reason</th><th>meaning</th><th class=\"n\" "
               "colspan=\"2\">records</th><th class=\"n\" colspan=\"2\">bases</th><th></th></tr>"
               "\n"));
    for (int k = CS_REASON_NONE + 1; k < CS_N_REASON; k++) {
        if (t->reason[k].n_record == 0)
            continue;
        CS_TRY(cs_outfile_printf(o->file, "<tr>"));
        CS_TRY(cs_html_cell(o->file, cs_reason_name((cs_reason)k)));
        CS_TRY(cs_html_cell(o->file, cs_reason_help((cs_reason)k)));
        CS_TRY(cs_html_count(o->file, t->reason[k].n_record, t->all.n_record));
        CS_TRY(cs_html_count(o->file, t->reason[k].n_base, t->all.n_base));
        CS_TRY(bar(o->file, t->reason[k].n_record, t->all.n_record));
    }
    rc = cs_outfile_printf(o->file, "</table>\n");
out:
    return rc;
}

static int lengths(cs_output *o)
{
    const struct page *p = o->state;

    return cs_html_lengths(o->file, &(cs_html_bars){
        .title = "All records; second colour: no call",
        .n = { p->length[0], p->length[1] }, .name = { "called", "no call" } });
}

static int probabilities(cs_output *o, const int *order, int n)
{
    int rc = CS_OK;
    const struct page *p = o->state;

    CS_TRY(cs_html_probabilities(o->file, &(cs_html_bars){
        .title = "All records; second colour: no call",
        .axis = "probability of the best class", .n = { p->counts->prob[0], p->counts->prob[1] },
        .name = { "called", "no call" }, .n_bin = N_PROB }));
    for (int i = 0; i < n && i < N_SHOWN && p->counts->of_class[order[i]].n_record; i++)
        CS_TRY(cs_html_probabilities(o->file, &(cs_html_bars){
            .title = o->info.label[order[i]], .axis = "probability of its calls",
            .n = { p->prob[order[i]], NULL }, .name = { "called", NULL }, .n_bin = N_PROB }));
out:
    return rc;
}

struct rank { uint64_t n; int no; };

static int by_count(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    return x->n != y->n ? (x->n < y->n ? 1 : -1) : x->no - y->no;
}

/* Classes, the most frequent first. */
static int *sorted(cs_output *o)
{
    const cs_class_counts *t = ((struct page *)o->state)->counts;
    const int n = o->info.n_label;
    struct rank *r = cs_alloc((size_t)n, sizeof *r);
    int *order = cs_alloc((size_t)n, sizeof *order);

    for (int i = 0; r && i < n; i++)
        r[i] = (struct rank){ t->of_class[i].n_record, i };
    if (r)
        qsort(r, (size_t)n, sizeof *r, by_count);
    for (int i = 0; r && order && i < n; i++)
        order[i] = r[i].no;
    if (!r) {
        free(order);
        order = NULL;
    }
    free(r);
    return order;
}

static int html_end(cs_output *o)
{
    int rc = CS_OK;
    const int n = o->info.n_label;
    int *order = sorted(o);

    if (!order)
        return cs_fail(CS_EMEM, "out of memory for a page about %d classes", n);
    CS_TRY(cs_html_begin(o->file, "chordseq classify"));
    CS_TRY(summary(o));
    CS_TRY(class_table(o, order, n));
    CS_TRY(reason_table(o));
    CS_TRY(cs_html_section(o->file, "Lengths"));
    CS_TRY(lengths(o));
    CS_TRY(cs_html_section(o->file, "Probabilities"));
    CS_TRY(probabilities(o, order, n));
    CS_TRY(cs_html_end(o->file));
out:
    free(order);
    return rc;
}

static json_t *html_save(const cs_output *o)
{
    const struct page *p = o->state;

    return json_pack("{s:o, s:o, s:o, s:f}", "class_counts", cs_class_counts_json(p->counts),
                     "length", cs_json_counts(p->length[0], 2 * N_LENGTH), "prob",
                     cs_json_counts(p->prob[0], (size_t)o->info.n_label * N_PROB), "seconds",
                     p->before + seconds_since(p->start));
}

static int html_restore(cs_output *o, const json_t *j)
{
    const int rc = html_begin(o);

    if (rc != CS_OK)
        return rc;
    struct page *p = o->state;
    p->before = json_number_value(json_object_get(j, "seconds"));
    const bool good = cs_class_counts_read(p->counts, json_object_get(j, "class_counts"))
        && cs_json_read_counts(json_object_get(j, "length"), p->length[0], 2 * N_LENGTH)
        && cs_json_read_counts(json_object_get(j, "prob"), p->prob[0],
                               (size_t)o->info.n_label * N_PROB);
    return good ? CS_OK : CS_EFORMAT;
}

static const cs_opt html_opt[] = {
    { .type = CS_OPT_OUT, .name = "html", .arg = "FILE",
      .help = "HTML report: classes, reasons, probabilities, lengths",
      .man = "It is self-contained and supports print and dark mode." },
    { .type = CS_OPT_END }
};

const cs_writer cs_write_html = {
    .name = "html",
    .opt = html_opt,
    .cfg_size = sizeof(const char *),
    .kind = CS_OUT_HTML,
    .begin = html_begin,
    .record = html_record,
    .end = html_end,
    .for_classes = true,
    .release = html_release,
    .resumes = true,
    .save = html_save,
    .restore = html_restore,
};

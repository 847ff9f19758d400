/* write_summary.c - write the run's summary as JSON: versions, model, options, counts. */
#include <jansson.h>

#include "io/class_counts.h"
#include "io/json_text.h"

static int summary_count(cs_outfile *f, cs_count c)
{
    return cs_outfile_printf(f, "\"records\": %llu, \"bases\": %llu",
                             (unsigned long long)c.n_record, (unsigned long long)c.n_base);
}

static int reasons(cs_output *o)
{
    int rc = CS_OK;
    const cs_class_counts *t = o->state;

    CS_TRY(cs_outfile_printf(o->file, "  \"reasons\": {"));
    for (int r = CS_REASON_NONE + 1; r < CS_N_REASON; r++) {
        CS_TRY(cs_outfile_printf(o->file, "%s\n    \"%s\": { ", r > CS_REASON_NONE + 1 ? "," : "",
                                 cs_reason_name((cs_reason)r)));
        CS_TRY(summary_count(o->file, t->reason[r]));
        CS_TRY(cs_outfile_printf(o->file, " }"));
    }
    rc = cs_outfile_printf(o->file, "\n  },\n");
out:
    return rc;
}

/* A histogram for reports on many runs, such as MultiQC. */
static int probabilities(cs_output *o)
{
    int rc = CS_OK;
    const cs_class_counts *t = o->state;

    if (!o->info.is_class)
        return CS_OK;
    CS_TRY(cs_outfile_printf(o->file, "  \"probabilities\": {"));
    for (int k = 0; k < 2; k++) {
        CS_TRY(cs_outfile_printf(o->file, "%s\n    \"%s\": [", k ? "," : "",
                                 k ? "not_called" : "called"));
        for (int i = 0; i < CS_PROB_BINS; i++)
            CS_TRY(cs_outfile_printf(o->file, "%s%llu", i ? ", " : "",
                                     (unsigned long long)t->prob[k][i]));
        CS_TRY(cs_outfile_printf(o->file, "]"));
    }
    rc = cs_outfile_printf(o->file, "\n  },\n");
out:
    return rc;
}

static int taxon_row(cs_output *o, int32_t node, cs_count c, bool first)
{
    int rc = CS_OK;
    const cs_taxon *v = &o->info.taxonomy->node[node];
    char label[CS_LABEL_TEXT];

    CS_TRY(cs_outfile_printf(o->file, "%s\n    { \"name\": ", first ? "" : ","));
    CS_TRY(cs_json_string(o->file, cs_taxon_label(&o->info, node, label)));
    CS_TRY(cs_outfile_printf(o->file, ", \"taxid\": %lld, \"rank\": ", (long long)v->taxid));
    CS_TRY(cs_json_string(o->file, v->rank));
    CS_TRY(cs_outfile_printf(o->file, ", "));
    CS_TRY(summary_count(o->file, c));
    rc = cs_outfile_printf(o->file, " }");
out:
    return rc;
}

static int classes(cs_output *o)
{
    int rc = CS_OK;
    const cs_class_counts *t = o->state;

    CS_TRY(cs_outfile_printf(o->file, "  \"classes\": ["));
    for (int i = 0; o->info.is_class && i < o->info.n_label; i++)
        CS_TRY(taxon_row(o, o->info.taxonomy->of_class[i], t->of_class[i], i == 0));
    rc = cs_outfile_printf(o->file, "\n  ]%s", o->info.taxa ? ",\n" : "\n}\n");
out:
    return rc;
}

/* Taxa above the classes that were called. */
static int ancestors(cs_output *o)
{
    int rc = CS_OK;
    const cs_class_counts *t = o->state;
    const cs_taxonomy *tree = o->info.taxonomy;
    bool first = true;

    CS_TRY(cs_outfile_printf(o->file, "  \"ancestors\": ["));
    for (int32_t i = 1; i < tree->n; i++) {
        if (tree->node[i].class_no >= 0 || t->direct[i].n_record == 0)
            continue;
        CS_TRY(taxon_row(o, i, t->direct[i], first));
        first = false;
    }
    rc = cs_outfile_printf(o->file, "\n  ]\n}\n");
out:
    return rc;
}

/* The command's own members first, one per line. */
static int about(cs_output *o)
{
    int rc = CS_OK;
    const char *name;
    json_t *v, *all = json_loads(o->info.about ? o->info.about : "{}", 0, NULL);

    json_object_foreach(all, name, v) {
        char *text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        rc = text ? cs_outfile_printf(o->file, "  \"%s\": %s,\n", name, text)
                  : cs_fail(CS_EMEM, "out of memory for the summary");
        free(text);
        if (rc != CS_OK)
            break;
    }
    json_decref(all);
    return rc;
}

static int summary_end(cs_output *o)
{
    int rc = CS_OK;
    const cs_class_counts *t = o->state;
    const cs_count called = t->reason[CS_REASON_NONE];
    char doubt[256];

    CS_TRY(cs_outfile_printf(o->file, "{\n"));
    CS_TRY(about(o));
    CS_TRY(cs_outfile_printf(o->file, "  \"input\": { "));
    CS_TRY(summary_count(o->file, t->all));
    CS_TRY(cs_outfile_printf(o->file, " },\n  \"called\": { "));
    CS_TRY(summary_count(o->file, called));
    CS_TRY(cs_outfile_printf(o->file, " },\n  \"unclassified\": { "));
    CS_TRY(summary_count(o->file, t->unclassified));
    CS_TRY(cs_outfile_printf(o->file, " },\n"));
    if (cs_class_counts_few_calls(t, doubt, sizeof doubt))
        CS_TRY(cs_outfile_printf(o->file, "  \"warning\": \"%s\",\n", doubt));
    CS_TRY(reasons(o));
    CS_TRY(probabilities(o));
    CS_TRY(classes(o));
    if (o->info.taxa)
        CS_TRY(ancestors(o));
out:
    return rc;
}

static const cs_opt summary_opt[] = {
    { .type = CS_OPT_OUT, .name = "summary", .arg = "FILE",
      .help = "run summary as JSON: versions, model, options, counts (for MultiQC: "
              "*chordseq_summary.json)",
      .man = "With shares of classes (--prior), \"prior\" has those that were used. Identical "
             "runs write identical bytes." },
    { .type = CS_OPT_END }
};

const cs_writer cs_write_summary = {
    .name = "summary",
    .opt = summary_opt,
    .cfg_size = sizeof(const char *),
    .kind = CS_OUT_JSON,
    .names_sample = true,
    .end = summary_end,
    CS_CLASS_COUNTS_WRITER,
};

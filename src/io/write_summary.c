/* write_summary.c - what a run was, as one JSON object: versions, model, options, counts. */
#include <jansson.h>
#include <string.h>

#include "io/json_text.h"
#include "io/tally.h"

static int count(cs_outfile *f, cs_count c)
{
    return cs_outfile_printf(f, "\"records\": %llu, \"bases\": %llu",
                             (unsigned long long)c.n_record, (unsigned long long)c.n_base);
}

static int reasons(cs_output *o)
{
    int rc = CS_OK;
    const cs_tally *t = o->state;

    CS_TRY(cs_outfile_printf(o->file, "  \"reasons\": {"));
    for (int r = CS_REASON_NONE + 1; r < CS_N_REASON; r++) {
        CS_TRY(cs_outfile_printf(o->file, "%s\n    \"%s\": { ", r > CS_REASON_NONE + 1 ? "," : "",
                                 cs_reason_name((cs_reason)r)));
        CS_TRY(count(o->file, t->reason[r]));
        CS_TRY(cs_outfile_printf(o->file, " }"));
    }
    rc = cs_outfile_printf(o->file, "\n  },\n");
out:
    return rc;
}

static int class_row(cs_output *o, int i)
{
    int rc = CS_OK;
    const cs_tally *t = o->state;
    const cs_taxonomy *tree = o->info.taxonomy;
    const cs_taxon *v = &tree->node[tree->of_class[i]];

    CS_TRY(cs_outfile_printf(o->file, "%s\n    { \"name\": ", i ? "," : ""));
    CS_TRY(cs_json_string(o->file, o->info.label[i]));
    CS_TRY(cs_outfile_printf(o->file, ", \"taxid\": %lld, \"rank\": ", (long long)v->taxid));
    CS_TRY(cs_json_string(o->file, v->rank));
    CS_TRY(cs_outfile_printf(o->file, ", "));
    CS_TRY(count(o->file, t->of_class[i]));
    rc = cs_outfile_printf(o->file, " }");
out:
    return rc;
}

static int classes(cs_output *o)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(o->file, "  \"classes\": ["));
    for (int i = 0; o->info.is_class && i < o->info.n_label; i++)
        CS_TRY(class_row(o, i));
    rc = cs_outfile_printf(o->file, "\n  ]\n}\n");
out:
    return rc;
}

/* The members of what the command tells about itself come first, one a line. */
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
    const cs_tally *t = o->state;
    const cs_count called = t->reason[CS_REASON_NONE];

    CS_TRY(cs_outfile_printf(o->file, "{\n"));
    CS_TRY(about(o));
    CS_TRY(cs_outfile_printf(o->file, "  \"input\": { "));
    CS_TRY(count(o->file, t->all));
    CS_TRY(cs_outfile_printf(o->file, " },\n  \"called\": { "));
    CS_TRY(count(o->file, called));
    CS_TRY(cs_outfile_printf(o->file, " },\n  \"unclassified\": { "));
    CS_TRY(count(o->file, t->unclassified));
    CS_TRY(cs_outfile_printf(o->file, " },\n"));
    CS_TRY(reasons(o));
    CS_TRY(classes(o));
out:
    return rc;
}

const cs_writer cs_write_summary = {
    .name = "summary",
    .summary = "versions, model, options and counts as JSON",
    .begin = cs_tally_begin,
    .record = cs_tally_record,
    .end = summary_end,
    .release = cs_tally_release,
    .resumes = true,
    .save = cs_tally_save,
    .restore = cs_tally_restore,
};

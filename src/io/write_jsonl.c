/* write_jsonl.c - write JSON lines: one object per record. */
#include <math.h>

#include "io/json_text.h"
#include "io/writer.h"

static int head(cs_outfile *f, const cs_record *r)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "{\"name\":"));
    CS_TRY(cs_json_string(f, r->name));
    CS_TRY(cs_outfile_printf(f, ",\"comment\":"));
    CS_TRY(cs_json_string(f, r->comment));
    CS_TRY(cs_outfile_printf(f, ",\"length\":"));
    if (r->n_seg == 1)
        return cs_outfile_printf(f, "%lld", (long long)r->seg[0].n_base);
    rc = cs_outfile_printf(f, "[%lld,%lld]", (long long)r->seg[0].n_base,
                           (long long)r->seg[1].n_base);
out:
    return rc;
}

static int reason(cs_outfile *f, cs_reason why)
{
    if (why == CS_REASON_NONE)
        return cs_outfile_printf(f, ",\"reason\":null");
    return cs_outfile_printf(f, ",\"reason\":\"%s\"", cs_reason_name(why));
}

static int called(cs_output *o, const cs_prediction *a)
{
    int rc = CS_OK;
    cs_outfile *f = o->file;
    const cs_taxonomy *t = o->info.taxonomy;
    const int32_t node = t ? cs_prediction_taxon(&o->info, a) : -1;
    char label[CS_LABEL_TEXT];

    CS_TRY(cs_outfile_printf(f, ",\"label\":"));
    CS_TRY(cs_json_string(f, cs_prediction_label(&o->info, a, label)));
    if (node >= 0) {
        CS_TRY(cs_outfile_printf(f, ",\"taxid\":%lld,\"rank\":", (long long)t->node[node].taxid));
        CS_TRY(cs_json_string(f, t->node[node].rank));
    } else if (t) {
        CS_TRY(cs_outfile_printf(f, ",\"taxid\":0,\"rank\":null"));
    }
out:
    return rc;
}

/* JSON has no infinity and no NaN, which --check-finite off lets pass. */
static int number(cs_outfile *f, const char *format, double v)
{
    return isfinite(v) ? cs_outfile_printf(f, format, v) : cs_outfile_text(f, "null");
}

/* {"NAME":VALUE,...} or null. */
static int values(cs_output *o, const char *key, const char *format, const cs_prediction *a,
                  int known)
{
    int rc = CS_OK;
    cs_outfile *f = o->file;

    CS_TRY(cs_outfile_printf(f, ",\"%s\":%s", key, known ? "" : "null"));
    for (int i = 0; known && i < o->info.n_label; i++) {
        CS_TRY(cs_outfile_printf(f, i ? "," : "{"));
        CS_TRY(cs_json_string(f, o->info.label[i]));
        CS_TRY(cs_outfile_printf(f, ":"));
        CS_TRY(number(f, format, (double)a->v[i]));
    }
    if (known)
        rc = cs_outfile_printf(f, "}");
out:
    return rc;
}

static int class_fields(cs_output *o, const cs_prediction *a)
{
    int rc = CS_OK;
    const int best = cs_prediction_best(a);

    CS_TRY(called(o, a));
    CS_TRY(cs_outfile_text(o->file, ",\"probability\":"));
    CS_TRY(number(o->file, "%.6f", best >= 0 ? cs_prediction_prob(a) : NAN));
    CS_TRY(reason(o->file, a->reason));
    rc = values(o, "probabilities", "%.6f", a, best >= 0);
out:
    return rc;
}

static int jsonl_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;

    CS_TRY(head(o->file, r));
    if (o->info.is_class) {
        CS_TRY(class_fields(o, a));
    } else {
        CS_TRY(reason(o->file, a->reason));
        CS_TRY(values(o, o->info.is_labels ? "probabilities" : "values",
                      o->info.is_labels ? "%.6f" : "%.6g", a, a->reason == CS_REASON_NONE));
    }
    rc = cs_outfile_printf(o->file, "}\n");
out:
    return rc;
}

static const cs_opt jsonl_opt[] = {
    { .type = CS_OPT_OUT, .name = "jsonl", .arg = "FILE",
      .help = "JSON lines, one object per record" },
    { .type = CS_OPT_END }
};

const cs_writer cs_write_jsonl = {
    .name = "jsonl",
    .opt = jsonl_opt,
    .cfg_size = sizeof(const char *),
    .kind = CS_OUT_JSON,
    .record = jsonl_record,
    .per_record = true,
    .joins = true,
    .resumes = true,
};

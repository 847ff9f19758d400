/* write_tsv.c - one line per record, with a header line: the default output.
 *
 * Classes:     name length label probability reason [taxid rank] [prob_CLASS ...]
 * Labels:      name length prob_LABEL ... reason
 * Regression:  name length TARGET ... reason
 *
 * Taxid and rank are written if calls may be higher taxa.
 *
 * A field that does not apply is "."; a record without a name is "*", as in SAM. Numbers have a
 * fixed number of digits, so equal predictions are equal bytes.
 */
#include "io/writer.h"

struct tsv_cfg { const char *path; int all; };

static int class_header(cs_output *o)
{
    int rc = CS_OK;
    const struct tsv_cfg *cfg = o->cfg;

    CS_TRY(cs_outfile_printf(o->file, "name\tlength\tlabel\tprobability\treason%s",
                             o->info.taxa ? "\ttaxid\trank" : ""));
    for (int i = 0; cfg->all && i < o->info.n_label; i++)
        CS_TRY(cs_outfile_printf(o->file, "\tprob_%s", o->info.label[i]));
    rc = cs_outfile_printf(o->file, "\n");
out:
    return rc;
}

static int value_header(cs_output *o)
{
    int rc = CS_OK;
    CS_TRY(cs_outfile_printf(o->file, "name\tlength"));
    for (int i = 0; i < o->info.n_label; i++)
        CS_TRY(cs_outfile_printf(o->file, "\t%s%s", o->info.is_labels ? "prob_" : "",
                                 o->info.label[i]));
    rc = cs_outfile_printf(o->file, "\treason\n");
out:
    return rc;
}

static int tsv_begin(cs_output *o)
{
    return o->info.is_class ? class_header(o) : value_header(o);
}

/* Probability of a class, or "." without a prediction. */
static int tsv_share(cs_output *o, bool known, double p)
{
    int rc = CS_OK;
    CS_TRY(cs_outfile_text(o->file, known ? "\t" : "\t."));
    if (known)
        rc = cs_outfile_millionths(o->file, (float)p);
out:
    return rc;
}

static int taxon_columns(cs_output *o, const cs_prediction *a)
{
    const int32_t node = cs_prediction_taxon(&o->info, a);

    if (node < 0)
        return cs_outfile_printf(o->file, "\t0\t.");
    const cs_taxon *v = &o->info.taxonomy->node[node];
    return cs_outfile_printf(o->file, "\t%lld\t%s", (long long)v->taxid, v->rank);
}

static int class_columns(cs_output *o, const cs_prediction *a)
{
    int rc = CS_OK;
    const struct tsv_cfg *cfg = o->cfg;
    const int best = cs_prediction_best(a);
    char label[CS_LABEL_TEXT];
    CS_BUG(best >= 0 && a->n != o->info.n_label);
    CS_TRY(cs_outfile_text(o->file, "\t"));
    CS_TRY(cs_outfile_text(o->file, cs_prediction_label(&o->info, a, label)));
    CS_TRY(tsv_share(o, best >= 0, best >= 0 ? cs_prediction_prob(a) : 0));
    CS_TRY(cs_outfile_text(o->file, "\t"));
    CS_TRY(cs_outfile_text(o->file, cs_reason_name(a->reason)));
    if (o->info.taxa)
        CS_TRY(taxon_columns(o, a));
    for (int i = 0; cfg->all && i < o->info.n_label; i++)
        CS_TRY(tsv_share(o, best >= 0, best >= 0 ? (double)a->v[i] : 0));
    rc = cs_outfile_text(o->file, "\n");
out:
    return rc;
}

static int value_columns(cs_output *o, const cs_prediction *a)
{
    int rc = CS_OK;
    const int known = a->reason == CS_REASON_NONE;
    CS_BUG(known && a->n != o->info.n_label);
    for (int i = 0; i < o->info.n_label; i++) {
        if (o->info.is_labels)
            CS_TRY(tsv_share(o, known, known ? (double)a->v[i] : 0));
        else if (known)
            CS_TRY(cs_outfile_printf(o->file, "\t%.6g", (double)a->v[i]));
        else
            CS_TRY(cs_outfile_printf(o->file, "\t."));
    }
    rc = cs_outfile_printf(o->file, "\t%s\n", cs_reason_name(a->reason));
out:
    return rc;
}

static int tsv_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    char length[CS_LENGTH_TEXT];
    CS_TRY(cs_outfile_text(o->file, cs_record_name(r)));
    CS_TRY(cs_outfile_text(o->file, "\t"));
    CS_TRY(cs_outfile_text(o->file, cs_record_length(r, length)));
    rc = o->info.is_class ? class_columns(o, a) : value_columns(o, a);
out:
    return rc;
}

#define CFG(field) .off = offsetof(struct tsv_cfg, field)

static const cs_opt tsv_opt[] = {
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", CFG(path), .arg = "FILE",
      .help = "output table (default: standard output, unless another per-record output is "
              "given)",
      .man = "One output may be '-', standard output. Outputs are renamed into place together or "
             "not at all; a failed run leaves existing files unchanged. Without --output, the "
             "table goes to standard output, unless --jsonl, --kraken, --cami-binning, --bam or "
             "--split-dir is given or another output is '-'." },
    { .type = CS_OPT_FLAG, .name = "all", CFG(all),
      .help = "add a probability column per class" },
    { .type = CS_OPT_END }
};

static int tsv_check(const void *cfg, const cs_output_info *info)
{
    const struct tsv_cfg *c = cfg;

    return c->all && !info->wanted
         ? cs_fail(CS_EUSAGE, "--all adds columns to the table, which needs --output beside the "
                   "other outputs") : CS_OK;
}

const cs_writer cs_write_tsv = {
    .name = "tsv",
    .kind = CS_OUT_TABLE,
    .opt = tsv_opt,
    .cfg_size = sizeof(struct tsv_cfg),
    .check = tsv_check,
    .begin = tsv_begin,
    .record = tsv_record,
    .is_default = true,
    .per_record = true,
    .joins = true,
    .resumes = true,
};

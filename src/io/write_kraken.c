/* write_kraken.c - write Kraken 2's per-read format.
 *
 * Source: Kraken 2 manual, "Standard Kraken Output Format", and classify.cc, AddHitlistString().
 * The fifth column lists k-mers by taxid there, those of the mates of a pair on both sides of
 * "|:|"; here they are windows of a sequence, all with the taxon of its own call, 0 without a call.
 */
#include "io/writer.h"

struct kraken_cfg { const char *path; int use_names; };

static long long mate_taxid(const cs_output_info *info, const cs_prediction *a, int s)
{
    const cs_taxonomy *t = info->taxonomy;

    if (a->mate[s] < 0)
        return 0;
    return (long long)t->node[info->taxa ? a->mate[s] : t->of_class[a->mate[s]]].taxid;
}

static int kraken_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    const struct kraken_cfg *cfg = o->cfg;
    cs_outfile *f = o->file;
    const cs_taxonomy *t = o->info.taxonomy;
    const int32_t node = cs_prediction_taxon(&o->info, a);
    const cs_taxon *v = node >= 0 ? &t->node[node] : NULL;
    char length[CS_LENGTH_TEXT];
    const long long taxid = v ? (long long)v->taxid : 0;

    CS_TRY(cs_outfile_printf(f, "%c\t%s\t", v ? 'C' : 'U', cs_record_name(r)));
    if (cfg->use_names)
        CS_TRY(cs_outfile_printf(f, "%s (taxid %lld)\t", v ? v->name : "unclassified", taxid));
    else
        CS_TRY(cs_outfile_printf(f, "%lld\t", taxid));
    CS_TRY(cs_outfile_printf(f, "%s", cs_record_length(r, length)));
    for (int s = 0; s < r->n_seg; s++)
        CS_TRY(cs_outfile_printf(f, "%s%lld:%d", s ? " |:| " : "\t",
                                 r->n_seg > 1 ? mate_taxid(&o->info, a, s) : taxid,
                                 a->n_window[s] > 1 ? (int)a->n_window[s] : 1));
    rc = cs_outfile_printf(f, "\n");
out:
    return rc;
}

#define CFG(field) .off = offsetof(struct kraken_cfg, field)

static const cs_opt kraken_opt[] = {
    { .type = CS_OPT_OUT, .name = "kraken", CFG(path), .arg = "FILE",
      .help = "Kraken 2's output format, a line per record" },
    { .type = CS_OPT_FLAG, .name = "use-names", CFG(use_names),
      .help = "with --kraken, add names to taxids" },
    { .type = CS_OPT_END }
};

static int kraken_check(const void *cfg, const cs_output_info *info)
{
    const struct kraken_cfg *c = cfg;

    (void)info;
    return c->use_names && !c->path ? cs_fail(CS_EUSAGE, "--use-names needs --kraken") : CS_OK;
}

const cs_writer cs_write_kraken = {
    .name = "kraken",
    .opt = kraken_opt,
    .cfg_size = sizeof(struct kraken_cfg),
    .kind = CS_OUT_REPORT,
    .check = kraken_check,
    .record = kraken_record,
    .per_record = true,
    .joins = true,
    .for_classes = true,
    .resumes = true,
};

/* write_binning.c - write CAMI binning format.
 *
 * Source: CAMI file formats (bioboxes), binning 0.9.1. Taxids are NCBI's, so a class without one
 * has its nearest ancestor's; BINID is the call. Sequences without a call are not listed, as the
 * format requires.
 */
#include "io/writer.h"

static int binning_begin(cs_output *o)
{
    return cs_outfile_printf(o->file, "@Version:0.9.1\n@SampleID:%s\n\n"
                             "@@SEQUENCEID\tTAXID\tBINID\n", o->info.sample);
}

static int binning_record(cs_output *o, const cs_record *r, const cs_prediction *a)
{
    const cs_taxonomy *t = o->info.taxonomy;
    const int32_t node = cs_prediction_taxon(&o->info, a);
    char label[CS_LABEL_TEXT];

    if (node < 0)
        return CS_OK;
    const int32_t at = cs_taxonomy_ncbi(t, node);
    return cs_outfile_printf(o->file, "%s\t%lld\t%s\n", cs_record_name(r),
                             (long long)t->node[at].taxid, cs_prediction_label(&o->info, a, label));
}

static const cs_opt binning_opt[] = {
    { .type = CS_OPT_OUT, .name = "cami-binning", .arg = "FILE",
      .help = "CAMI binning format",
      .man = "A class without an NCBI taxid has that of its nearest ancestor." },
    { .type = CS_OPT_END }
};

static int binning_check(const void *cfg, const cs_output_info *info)
{
    const char *const *path = cfg;

    return *path ? cs_output_check_sample(info) : CS_OK;
}

const cs_writer cs_write_binning = {
    .name = "binning",
    .opt = binning_opt,
    .cfg_size = sizeof(const char *),
    .kind = CS_OUT_REPORT,
    .check = binning_check,
    .begin = binning_begin,
    .record = binning_record,
    .per_record = true,
    .names_sample = true,
    .joins = true,
    .for_classes = true,
    .resumes = true,
};

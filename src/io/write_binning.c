/* write_binning.c - CAMI's format for binning: which taxon and class each sequence was put in.
 *
 * Source: CAMI file formats (bioboxes), binning 0.9.1. Taxids are NCBI's, so a class that NCBI has
 * none for shows its nearest ancestor's; BINID is always the class. Sequences without a call are
 * not listed, as the format wants it.
 */
#include "io/writer.h"

static int binning_begin(cs_output *o)
{
    return cs_outfile_printf(o->file, "@Version:0.9.1\n@SampleID:%s\n\n"
                             "@@SEQUENCEID\tTAXID\tBINID\n", o->info.sample);
}

static int binning_record(cs_output *o, const cs_record *r, const cs_answer *a)
{
    const cs_taxonomy *t = o->info.taxonomy;
    const int no = a->reason == CS_REASON_NONE ? cs_answer_best(a) : -1;

    if (no < 0)
        return CS_OK;
    const int32_t at = cs_taxonomy_ncbi(t, t->of_class[no]);
    return cs_outfile_printf(o->file, "%s\t%lld\t%s\n", *r->name ? r->name : "*",
                             (long long)t->node[at].taxid, o->info.label[no]);
}

static int binning_end(cs_output *o)
{
    (void)o;
    return CS_OK;
}

const cs_writer cs_write_binning = {
    .name = "binning",
    .summary = "CAMI's format for binning",
    .begin = binning_begin,
    .record = binning_record,
    .end = binning_end,
    .for_classes = true,
    .resumes = true,
};

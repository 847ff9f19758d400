/* write_kraken.c - write Kraken 2's per-read format.
 *
 * Source: Kraken 2 manual, "Standard Kraken Output Format", and classify.cc, AddHitlistString().
 * The fifth column lists k-mers by taxid there, those of the mates of a pair on both sides of
 * "|:|"; here it is windows of a sequence, all of the taxon that it alone is called, 0 where it has
 * no call.
 */
#include "io/writer.h"

static int kraken_begin(cs_output *o)
{
    (void)o;
    return CS_OK;
}

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
    cs_outfile *f = o->file;
    const cs_taxonomy *t = o->info.taxonomy;
    const int32_t node = cs_prediction_taxon(&o->info, a);
    const cs_taxon *v = node >= 0 ? &t->node[node] : NULL;
    char length[CS_LENGTH_TEXT];
    const long long taxid = v ? (long long)v->taxid : 0;

    CS_TRY(cs_outfile_printf(f, "%c\t%s\t", v ? 'C' : 'U', cs_record_name(r)));
    if (o->info.use_names)
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

static int kraken_end(cs_output *o)
{
    (void)o;
    return CS_OK;
}

const cs_writer cs_write_kraken = {
    .name = "kraken",
    .summary = "Kraken 2's format per read",
    .begin = kraken_begin,
    .record = kraken_record,
    .end = kraken_end,
    .for_classes = true,
    .resumes = true,
};

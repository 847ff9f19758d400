/* write_kraken.c - Kraken 2's per-read format: C or U, name, taxid, length, what each part hit.
 *
 * Source: Kraken 2 manual, "Standard Kraken Output Format". The fifth column lists k-mers by taxid
 * there; a whole sequence is one hit here, and the mates of a pair stand on both sides of "|:|", so
 * that readers that split it find what they expect.
 */
#include "io/writer.h"

static int kraken_begin(cs_output *o)
{
    (void)o;
    return CS_OK;
}

static int kraken_record(cs_output *o, const cs_record *r, const cs_answer *a)
{
    int rc = CS_OK;
    cs_outfile *f = o->file;
    const cs_taxonomy *t = o->info.taxonomy;
    const int no = a->reason == CS_REASON_NONE ? cs_answer_best(a) : -1;
    const cs_taxon *v = no >= 0 ? &t->node[t->of_class[no]] : NULL;
    char length[CS_LENGTH_TEXT];
    const long long taxid = v ? (long long)v->taxid : 0;

    CS_TRY(cs_outfile_printf(f, "%c\t%s\t", v ? 'C' : 'U', *r->name ? r->name : "*"));
    if (o->info.use_names)
        CS_TRY(cs_outfile_printf(f, "%s (taxid %lld)\t", v ? v->name : "unclassified", taxid));
    else
        CS_TRY(cs_outfile_printf(f, "%lld\t", taxid));
    CS_TRY(cs_outfile_printf(f, "%s", cs_record_length(r, length)));
    for (int s = 0; s < r->n_seg; s++)
        CS_TRY(cs_outfile_printf(f, "%s%lld:1", s ? " |:| " : "\t", taxid));
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

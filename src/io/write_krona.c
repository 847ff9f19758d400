/* write_krona.c - write input of Krona's ktImportText: a count and a lineage per line. */
#include "io/class_counts.h"

static int path(cs_outfile *f, const cs_taxonomy *t, int32_t i)
{
    int rc = CS_OK;

    if (t->node[i].parent > 0)
        CS_TRY(path(f, t, t->node[i].parent));
    rc = cs_outfile_printf(f, "\t%s", t->node[i].name);
out:
    return rc;
}

static int krona_end(cs_output *o)
{
    int rc = CS_OK;
    const cs_class_counts *t = o->state;
    const cs_taxonomy *tree = o->info.taxonomy;

    if (t->unclassified.n_record)
        CS_TRY(cs_outfile_printf(o->file, "%llu\tUnclassified\n",
                                 (unsigned long long)t->unclassified.n_record));
    for (int32_t i = 1; i < tree->n; i++) {
        if (t->direct[i].n_record == 0)
            continue;
        CS_TRY(cs_outfile_printf(o->file, "%llu", (unsigned long long)t->direct[i].n_record));
        CS_TRY(path(o->file, tree, i));
        CS_TRY(cs_outfile_printf(o->file, "\n"));
    }
out:
    return rc;
}

static const cs_opt krona_opt[] = {
    { .type = CS_OPT_OUT, .name = "krona", .arg = "FILE",
      .help = "counts and lineages for Krona's ktImportText" },
    { .type = CS_OPT_END }
};

const cs_writer cs_write_krona = {
    .name = "krona",
    .opt = krona_opt,
    .cfg_size = sizeof(const char *),
    .kind = CS_OUT_REPORT,
    .end = krona_end,
    .for_classes = true,
    CS_CLASS_COUNTS_WRITER,
};

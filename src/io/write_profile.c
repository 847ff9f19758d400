/* write_profile.c - write CAMI taxonomic profiles.
 *
 * Source: CAMI file formats (bioboxes), profiling 0.9.1. A profile has eight ranks; other taxa
 * count for their ancestors. NCBI's superkingdoms before 2025 are domains and the acellular root
 * today. Percentages are of all bases, so contigs count by their length, and unclassified bases are
 * missing in the sum.
 */
#include <string.h>

#include "io/class_counts.h"

static const char *const ranks[] = {
    "superkingdom", "phylum", "class", "order", "family", "genus", "species", "strain",
};
enum { N_RANK = sizeof ranks / sizeof *ranks };

static int rank_of(const char *rank)
{
    if (strcmp(rank, "domain") == 0 || strcmp(rank, "acellular root") == 0)
        return 0;
    for (int k = 0; k < N_RANK; k++)
        if (strcmp(rank, ranks[k]) == 0)
            return k;
    return -1;
}

static int row(cs_output *o, int32_t i, int rank)
{
    int rc = CS_OK;
    const cs_class_counts *t = o->state;
    const cs_taxonomy *tree = o->info.taxonomy;
    int32_t at[N_RANK];

    for (int k = 0; k < N_RANK; k++)
        at[k] = -1;
    for (int32_t up = i; up > 0; up = tree->node[up].parent) {
        const int k = rank_of(tree->node[up].rank);
        if (k >= 0 && k <= rank && at[k] < 0 && tree->node[up].taxid < CS_TAXID_PRIVATE)
            at[k] = up;
    }
    CS_TRY(cs_outfile_printf(o->file, "%lld\t%s\t", (long long)tree->node[i].taxid, ranks[rank]));
    for (int k = 0; k <= rank; k++) {
        CS_TRY(cs_outfile_printf(o->file, "%s", k ? "|" : ""));
        if (at[k] >= 0)
            CS_TRY(cs_outfile_printf(o->file, "%lld", (long long)tree->node[at[k]].taxid));
    }
    for (int k = 0; k <= rank; k++)
        CS_TRY(cs_outfile_printf(o->file, "%s%s", k ? "|" : "\t",
                                 at[k] >= 0 ? tree->node[at[k]].name : ""));
    rc = cs_outfile_printf(o->file, "\t%.5f\n",
                           100 * (double)t->clade[i].n_base / (double)t->all.n_base);
out:
    return rc;
}

static int profile_end(cs_output *o)
{
    int rc = CS_OK;
    const cs_class_counts *t = o->state;
    const cs_taxonomy *tree = o->info.taxonomy;

    cs_class_counts_sum(o->state, tree);
    CS_TRY(cs_outfile_printf(o->file, "@Version:0.9.1\n@SampleID:%s\n@Ranks:", o->info.sample));
    for (int k = 0; k < N_RANK; k++)
        CS_TRY(cs_outfile_printf(o->file, "%s%s", k ? "|" : "", ranks[k]));
    CS_TRY(cs_outfile_printf(o->file, "\n\n@@TAXID\tRANK\tTAXPATH\tTAXPATHSN\tPERCENTAGE\n"));
    for (int k = 0; k < N_RANK; k++)
        for (int32_t i = 1; i < tree->n; i++)
            if (t->clade[i].n_base > 0 && rank_of(tree->node[i].rank) == k
                && tree->node[i].taxid < CS_TAXID_PRIVATE)
                CS_TRY(row(o, i, k));
out:
    return rc;
}

struct profile_cfg { const char *path, *sample; };

#define CFG(field) .off = offsetof(struct profile_cfg, field)

static const cs_opt profile_opt[] = {
    { .type = CS_OPT_OUT, .name = "cami-profile", CFG(path), .arg = "FILE",
      .help = "CAMI profiling format, abundance by bases" },
    { .type = CS_OPT_STR, .name = "sample", CFG(sample), .arg = "NAME", .def = CS_USUAL_SAMPLE,
      .help = "sample name in CAMI formats and the summary" },
    { .type = CS_OPT_END }
};

static int profile_check(const void *cfg, const cs_output_info *info)
{
    const struct profile_cfg *c = cfg;

    return c->path ? cs_output_check_sample(info) : CS_OK;
}

const cs_writer cs_write_profile = {
    .name = "profile",
    .opt = profile_opt,
    .cfg_size = sizeof(struct profile_cfg),
    .kind = CS_OUT_REPORT,
    .check = profile_check,
    .end = profile_end,
    .names_sample = true,
    .for_classes = true,
    CS_CLASS_COUNTS_WRITER,
};

/* model_proteins.c - add a protein database to a model. */
#include "refine/model_proteins.h"

#include "base/log.h"
#include "nn/exec/proteins_io.h"
#include "refine/proteins_build.h"
#include "refine/proteins_fit.h"
#include "refine/top_taxa.h"

#define OFF(field) offsetof(cs_protein_args, field)

const cs_opt cs_protein_table[] = {
    { .type = CS_OPT_GROUP, .name = "Proteins" },
    { .type = CS_OPT_INT, .name = "protein-length", .off = OFF(min_length), .arg = "NUM",
      .def = "50", .help = "minimum amino acids of an open reading frame", .min = 20,
      .max = CS_PROTEIN_MAX_LENGTH },
    { .type = CS_OPT_INT, .name = "protein-piece", .off = OFF(max_length), .arg = "NUM",
      .def = "250", .help = "maximum amino acids of a stored piece of a reading frame", .min = 20,
      .max = CS_PROTEIN_MAX_LENGTH },
    { .type = CS_OPT_REAL, .name = "max-known", .off = OFF(max_known), .arg = "SHARE",
      .def = "0.6", .help = "skip proteins with more than this share of known words",
      .man = "Known words are those of stored proteins of the same class. They have eight letters, "
             "from an alphabet of ten.", .min = 0, .max = 1 },
    { .type = CS_OPT_END }
};

static int check_model(const cs_model *m)
{
    if (cs_model_takes_proteins(m))
        return CS_OK;
    return cs_fail(CS_EUSAGE, "a protein database is for classifiers of nucleotide sequences with "
                   "at most %d classes", (int)CS_PROTEIN_MAX_CLASSES);
}

static float *database_weight(const cs_model *m)
{
    return m->proteins ? m->proteins->weight : NULL;
}

/* Weights belong to the settings of the search that they were fitted with. */
static int take_search(cs_model *m, const cs_model *from, const char *path, bool first)
{
    cs_proteins *to = m->proteins;
    const cs_proteins *p = from->proteins;
    const bool new_seed = to->seed != p->seed;

    if (!cs_proteins_same_tree(to, p))
        return cs_fail(CS_EMODEL, "the weights of '%s' are for other taxa; give the same %s", path,
                       CS_OPTION("top-taxa"));
    if (!first && (new_seed || to->min_equal != p->min_equal || to->min_score != p->min_score ||
                   to->shadow != p->shadow))
        return cs_fail(CS_EMODEL, "the weights of '%s' are for other settings of the protein "
                       "search than those of the first file", path);
    to->seed = p->seed;
    to->min_equal = p->min_equal;
    to->min_score = p->min_score;
    to->shadow = p->shadow;
    return new_seed && to->entry ? cs_proteins_index(to, m->be->n_thread) : CS_OK;
}

static int set_weights(cs_model *m, const cs_lookup_args *a, const cs_dataset *d)
{
    static const cs_weights_of database = { "protein database", database_weight, take_search };
    const cs_crop_draw draw = { a->crops, (uint64_t)a->seed, a->mutation, NULL };
    int rc = CS_OK;
    double before, after;

    if (a->weights.n > 0)
        return cs_lookup_mean_weights(m, &a->weights, &database,
                                      m->proteins->tree.n * CS_PROTEIN_WEIGHTS);
    CS_TRY(cs_proteins_fit(m, d, &draw, &before, &after));
    cs_note("validation crops: loss %.4f without the proteins, %.4f with them", before, after);
out:
    return rc;
}

static int build_database(cs_model *m, const cs_protein_args *p, const cs_lookup_args *a,
                          const cs_dataset *d)
{
    const cs_protein_rule rule = { p->min_length, p->max_length, p->max_known, a->size };

    cs_proteins_free(m->proteins);
    m->proteins = NULL;
    return cs_proteins_build(d, m->n_label, &rule, m->be->n_thread, &m->proteins);
}

int cs_model_make_proteins(cs_model *m, const cs_protein_args *p, const cs_lookup_args *a,
                           const cs_dataset *d)
{
    int rc = CS_OK;
    int32_t parent[CS_PROTEIN_MAX_NODES], n_node;

    CS_TRY(cs_protein_taxa(m, a->top_taxa, parent, &n_node));
    CS_TRY(build_database(m, p, a, d));
    if (n_node > 0)
        rc = cs_proteins_set_tree(m->proteins, n_node, parent);
out:
    return rc;
}

int cs_model_proteins(cs_model *m, const cs_protein_args *p, const cs_lookup_args *a,
                      cs_input_args *input, const cs_label_args *label)
{
    int rc = CS_OK;
    cs_dataset d = { 0 };
    int32_t parent[CS_PROTEIN_MAX_NODES], n_node;
    bool keeps;

    CS_TRY(check_model(m));
    CS_TRY(cs_protein_taxa(m, a->top_taxa, parent, &n_node));
    CS_TRY(cs_lookup_check_input("proteins", input, label, a, m->proteins != NULL, &keeps));
    if (!keeps)
        CS_TRY(cs_labelled_read_all(label, input, m, &d));
    if (!keeps && !a->refit)
        CS_TRY(build_database(m, p, a, &d));
    if (!keeps && n_node > 0 && (!a->refit || a->top_taxa))
        CS_TRY(cs_proteins_set_tree(m->proteins, n_node, parent));
    CS_TRY(set_weights(m, a, &d));
    const int64_t n_acid = m->proteins->n_letter - m->proteins->n - 1;
    cs_note("protein database: %lld proteins, %lld amino acids, %lld bytes",
            (long long)m->proteins->n, (long long)n_acid,
            (long long)cs_proteins_bytes(m->proteins->n, n_acid));
    cs_model_drop_calibration(m, "database");
out:
    if (d.mem != NULL)
        cs_dataset_release(&d);
    return rc;
}

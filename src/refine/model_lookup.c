/* model_lookup.c - add a look-up table of peptide words to a model. */
#include "refine/model_lookup.h"

#include <string.h>

#include "base/log.h"
#include "refine/lookup_build.h"
#include "refine/lookup_fit.h"
#include "refine/top_taxa.h"

#define OFF(field) offsetof(cs_lookup_args, field)

const cs_opt cs_lookup_table[] = {
    { .type = CS_OPT_GROUP, .name = "Look-up" },
    { .type = CS_OPT_STR, .name = "peptide-alphabet", .off = OFF(groups), .arg = "GROUPS",
      .def = "LVIM,C,A,G,ST,P,FYW,EDNQ,KR,H",
      .help = "groups of amino acids that are one letter of a peptide word",
      .man = "The default has the ten letters of Murphy, Wallqvist and Levy (2000)." },
    { .type = CS_OPT_INT, .name = "peptide-k", .off = OFF(k), .arg = "NUM", .def = "12",
      .help = "letters of a peptide word", .min = CS_PEPTIDE_MIN_K, .max = CS_PEPTIDE_MAX_K },
    { .type = CS_OPT_INT, .name = "sample", .off = OFF(sample), .arg = "NUM", .def = "8",
      .help = "use one of this many peptide words",
      .man = "Selected by their first four letters. A smaller NUM gives a more informative, larger "
             "and slower table.", .min = 1, .max = 4096 },
    { .type = CS_OPT_INT, .name = "min-groups", .off = OFF(min_groups), .arg = "NUM", .def = "2",
      .help = "minimum groups of one class with a peptide word",
      .man = "Groups are those of --split or --split-by. Words of a single group do not "
             "generalise to other members of the class.", .min = 1, .max = 255 },
    { .type = CS_OPT_REAL, .name = "purity", .off = OFF(purity), .arg = "SHARE", .def = "0.5",
      .help = "minimum share of a peptide word's groups that are in its class", .min = 0,
      .max = 1 },
    { .type = CS_OPT_SIZE, .name = "size", .off = OFF(size), .arg = "BYTES", .def = "6M",
      .help = "maximum size of the table or database, in equal shares of the classes",
      .man = "A table keeps the peptide words of the most groups. A database takes ten times its "
             "size in memory, and its search time grows with its size.", .min = 1024,
      .max = 256 << 20 },
    { .type = CS_OPT_INS, .name = "weights", .off = OFF(weights), .arg = "FILE",
      .help = "copy the weights of this model's table or database; of several models, their mean",
      .man = "Replaces fitting. For a model trained on all records, give the models of a "
             "cross-validation. Without sequences, the model keeps its own table or database. The "
             "settings of the protein search are copied with its weights." },
    { .type = CS_OPT_FLAG, .name = "refit", .off = OFF(refit),
      .help = "keep the model's table or database, and fit its weights again",
      .man = "For example with --mutate. The weights of the table are fitted without the proteins, "
             "those of the proteins with the table; refit the table first." },
    { .type = CS_OPT_STR, .name = "top-taxa", .off = OFF(top_taxa), .arg = "TAXA",
      .help = "for the head tree: comma-separated taxa to tell apart first",
      .man = "Names or taxids. The words of a table are those of these taxa. A database compares "
             "proteins first between these taxa, each with weights of its own if they are at most "
             "16, and then between the taxa below each of them, level by level, with weights that "
             "all these share. Crops are drawn equally from the top taxa. One may be below "
             "another: 'eukaryota,mitochondrion' compares mitochondria with the other eukaryotes. "
             "Default: the uppermost taxa that separate the classes; with --refit, those of the "
             "model." },
    { .type = CS_OPT_INT, .name = "crops", .off = OFF(crops), .arg = "NUM", .def = "14000",
      .help = "number of crops of validation records to fit weights to", .min = 1, .max = 1e7 },
    { .type = CS_OPT_INT, .name = "seed", .off = OFF(seed), .arg = "NUM", .def = "1",
      .help = "seed of the crops" },
    { .type = CS_OPT_END }
};

/* ---- input ----------------------------------------------------------------------------------- */

static int check_model(const cs_model *m)
{
    if (cs_model_takes_lookup(m))
        return CS_OK;
    return cs_fail(CS_EUSAGE, "a look-up table is for classifiers of nucleotide sequences with "
                   "at most %d classes", (int)CS_LOOKUP_MAX_CLASSES);
}

int cs_lookup_check_input(const char *action, const cs_input_args *input,
                          const cs_label_args *label, const cs_lookup_args *a, bool has,
                          bool *keeps)
{
    if (a->refit && a->weights.n > 0)
        return cs_fail(CS_EUSAGE, "--refit fits weights, and --weights copies them; give one");
    *keeps = has && a->weights.n > 0 && !cs_labelled_given(label, input);
    if (*keeps)
        return a->top_taxa ? cs_fail(CS_EUSAGE, "without sequences, the model keeps its taxa; give "
                                     "sequences, or omit %s", CS_OPTION("top-taxa")) : CS_OK;
    if (a->refit && !has)
        return cs_fail(CS_EUSAGE, "the model has nothing to refit; run '%s' without --refit first",
                       action);
    if (!cs_labelled_given(label, input))
        return cs_fail(CS_EUSAGE, "'%s' needs labelled sequences; give them with -i", action);
    if (label->split == NULL && a->weights.n == 0)
        return cs_fail(CS_EUSAGE, "give the model's validation records with --split to fit the "
                       "weights, or give weights with --weights");
    return CS_OK;
}

/* ---- weights --------------------------------------------------------------------------------- */

static int add_weights(cs_model *m, const char *path, const cs_weights_of *of, int32_t n,
                       double share, bool first)
{
    int rc = CS_OK;
    cs_model *from = NULL;

    CS_TRY(cs_model_load(path, m->be, CS_USE_INFERENCE, &from));
    if (!of->weight(from) || !cs_model_same_labels(m, from)) {
        rc = cs_fail(CS_EMODEL, "'%s' has no %s for the same classes", path, of->name);
        goto out;
    }
    if (of->take_settings)
        CS_TRY(of->take_settings(m, from, path, first));
    for (int32_t k = 0; k < n; k++)
        of->weight(m)[k] += (float)(share * (double)of->weight(from)[k]);
out:
    cs_model_free(from);
    return rc;
}

int cs_lookup_mean_weights(cs_model *m, const cs_strlist *path, const cs_weights_of *of, int32_t n)
{
    int rc = CS_OK;

    memset(of->weight(m), 0, (size_t)n * sizeof(float));
    for (int i = 0; i < path->n; i++)
        CS_TRY(add_weights(m, path->v[i], of, n, 1.0 / path->n, i == 0));
out:
    return rc;
}

static float *table_weight(const cs_model *m)
{
    return m->lookup ? m->lookup->weight : NULL;
}

static int check_taxa(cs_model *m, const cs_model *from, const char *path, bool first)
{
    (void)first;
    if (cs_lookup_same_classes(m->lookup, from->lookup))
        return CS_OK;
    return cs_fail(CS_EMODEL, "the weights of '%s' are for other taxa; give the same %s", path,
                   CS_OPTION("top-taxa"));
}

static int set_weights(cs_model *m, const cs_lookup_args *a, const cs_dataset *d)
{
    static const cs_weights_of table = { "look-up table", table_weight, check_taxa };
    const cs_crop_draw draw = { a->crops, (uint64_t)a->seed, a->mutation, NULL };
    int rc = CS_OK;
    double before, after;

    if (a->weights.n > 0)
        return cs_lookup_mean_weights(m, &a->weights, &table,
                                      m->lookup->n_class * m->lookup->n_code);
    CS_TRY(cs_lookup_fit(m, d, &draw, &before, &after));
    cs_note("validation crops: loss %.4f without the table, %.4f with it", before, after);
out:
    return rc;
}

void cs_model_drop_calibration(cs_model *m, const char *what)
{
    if (m->calibration.n > 0)
        cs_note("dropped the calibration, which was made without this %s; recalibrate with "
                "'chordseq eval --calibrate'", what);
    m->calibration = (cs_calibration){ 0 };
}

/* What a table is built by; the options are checked before sequences are read. */
struct words {
    cs_peptides    peptides;
    cs_lookup_rule rule;
    int32_t        class_of[CS_LOOKUP_MAX_CLASSES], n_top;
};

static int choose_words(const cs_model *m, const cs_lookup_args *a, struct words *w)
{
    int rc = CS_OK;

    w->rule = (cs_lookup_rule){ a->min_groups, a->purity, a->size };
    CS_TRY(cs_peptides_init(&w->peptides, a->groups, a->k, a->sample));
    rc = cs_top_taxa_classes(m, a->top_taxa, w->class_of, &w->n_top);
out:
    return rc;
}

static int build(cs_model *m, const struct words *w, const cs_dataset *d)
{
    cs_lookup_free(m->lookup);
    m->lookup = NULL;
    return cs_lookup_build(&w->peptides, d, m->n_label, w->n_top > 0 ? w->class_of : NULL,
                           &w->rule, m->be->n_thread, &m->lookup);
}

int cs_model_make_lookup(cs_model *m, const cs_lookup_args *a, const cs_dataset *d)
{
    int rc = CS_OK;
    struct words w;

    CS_TRY(choose_words(m, a, &w));
    rc = build(m, &w, d);
out:
    return rc;
}

int cs_model_lookup(cs_model *m, const cs_lookup_args *a, cs_input_args *input,
                    const cs_label_args *label)
{
    int rc = CS_OK;
    cs_dataset d = { 0 };
    struct words w;
    bool keeps;

    CS_TRY(check_model(m));
    CS_TRY(cs_lookup_check_input("lookup", input, label, a, m->lookup != NULL, &keeps));
    if (a->refit && a->top_taxa) {
        rc = cs_fail(CS_EUSAGE, "the words of a table are those of its top taxa, so %s keeps them; "
                     "omit %s", CS_OPTION("refit"), CS_OPTION("top-taxa"));
        goto out;
    }
    if (!keeps) {
        CS_TRY(choose_words(m, a, &w));
        CS_TRY(cs_labelled_read_all(label, input, m, &d));
    }
    if (!keeps && !a->refit)
        CS_TRY(build(m, &w, &d));
    CS_TRY(set_weights(m, a, &d));
    cs_note("look-up table: %lld words, %lld bytes", (long long)m->lookup->n,
            (long long)cs_lookup_bytes(m->lookup->n_class, m->lookup->n));
    cs_model_drop_calibration(m, "table");
out:
    if (d.mem != NULL)
        cs_dataset_release(&d);
    return rc;
}

/* model.c - show, verify, mark, label, compact, calibrate, factorize, export and import models. */
#include <string.h>

#include "base/outfile.h"
#include "base/mem.h"
#include "base/path_conflicts.h"
#include "base/suggest.h"
#include "infer/args.h"
#include "infer/input_args.h"
#include "infer/taxa.h"
#include "nn/exec/model_import.h"
#include "pipelines/command.h"
#include "refine/model_calibrate.h"
#include "refine/model_factorize.h"
#include "refine/model_lookup.h"
#include "refine/model_proteins.h"
#include "run/model_export.h"
#include "run/model_show.h"
#include "run/outputs.h"
#include "train/checkpoint.h"

enum { PATH_BYTES = 4096 };

struct model_args { const char *licence, *alphabet; int precision, demonstration; };

static struct model_args own;
static cs_taxa_args taxa;
static cs_low_rank_args low_rank;
static cs_lookup_args lookup;
static cs_protein_args proteins;
static cs_calibrate_args calibration;
static cs_compute_args compute;
static cs_input_args input;
static cs_label_args labels;

static const cs_opt model_table[] = {
    { .type = CS_OPT_GROUP, .name = "Export" },
    { .type = CS_OPT_STR, .name = "license", .off = offsetof(struct model_args, licence),
      .arg = "ID", .def = "other", .help = "licence in the model card",
      .man = "An SPDX identifier in lower case, as on model hubs." },
    { .type = CS_OPT_GROUP, .name = "Label" },
    { .type = CS_OPT_FLAG, .name = "demonstration",
      .off = offsetof(struct model_args, demonstration),
      .help = "mark the model as a demonstration, not for real data",
      .man = "The INFO descriptions of chordseq-variant(1) and the first line of 'show' state "
             "this." },
    { .type = CS_OPT_GROUP, .name = "Checked" },
    { .type = CS_OPT_ENUM, .name = "precision", .off = offsetof(struct model_args, precision),
      .arg = "KIND", .def = "bf16",
      .help = "lowest precision that the model was validated in",
      .man = "GPUs then use it by default; fp32 removes the setting.",
      .choice = cs_precision_names },
    { .type = CS_OPT_GROUP, .name = "Import" },
    { .type = CS_OPT_STR, .name = "alphabet", .off = offsetof(struct model_args, alphabet),
      .arg = "LETTERS", .def = "acgnt",
      .help = "bases of the checkpoint's input channels, in order",
      .man = "n is an unknown base." },
    { .type = CS_OPT_END }
};

static cs_strlist words;          /* action and files */

static const cs_optset model_tables[] = {
    { model_table, &own, NULL }, { cs_taxa_table, &taxa, NULL },
    { cs_low_rank_table, &low_rank, NULL }, { cs_input_table, &input, NULL },
    { cs_label_table, &labels, NULL }, { cs_lookup_table, &lookup, NULL },
    { cs_mutation_table, &lookup.mutation, NULL },
    { cs_protein_table, &proteins, NULL },
    { cs_calibrate_table, &calibration, NULL }, { cs_compute_table, &compute, NULL },
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

/* Actions that fit evidence. */
static const char databases[] = "lookup, proteins";

/* ---- the command ----------------------------------------------------------------------------- */

/* Loading has checked the format, the checksum, every tensor's shape and that values are finite. */
static int verify(const cs_model *m, const char *path)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open("-", &f));
    CS_TRY(cs_outfile_printf(f, "%s: OK, %d tensors, sha256 %s\n", path, (int)m->n_stored, m->sum));
out:
    return cs_outfile_end(f, rc);
}

static int save(cs_model *m, const char *to)
{
    int rc = CS_OK;
    cs_outfile *f = NULL;

    CS_TRY(cs_outfile_open_as(to, NULL, CS_OUT_BINARY, &f));
    CS_TRY(cs_model_write(m, f));
    rc = cs_outputs_commit((cs_outfile **const[]){ &f }, 1);
out:
    cs_outfile_discard(f);
    return rc;
}

static int label(cs_model *m, const char *to)
{
    int rc = CS_OK;

    if (!taxa.taxonomy && !taxa.lineage && !own.demonstration)
        return cs_fail(CS_EUSAGE, "'label' needs a taxonomy or --demonstration; give one with "
                       "--taxonomy");
    m->demonstration |= own.demonstration > 0;
    CS_TRY(cs_taxa_set(m, &taxa));
    rc = save(m, to);
out:
    return rc;
}

static int checked(cs_model *m, const char *to)
{
    m->checked = (cs_precision)own.precision;
    return save(m, to);
}

static int compact(cs_model *m, const char *to)
{
    m->compact = true;
    return save(m, to);
}

static int look_up(cs_model *m, const char *to)
{
    const int rc = cs_model_lookup(m, &lookup, &input, &labels);

    return rc == CS_OK ? save(m, to) : rc;
}

static int add_proteins(cs_model *m, const char *to)
{
    const int rc = cs_model_proteins(m, &proteins, &lookup, &input, &labels);

    return rc == CS_OK ? save(m, to) : rc;
}

static int calibrate(cs_model *m, const cs_strlist *word)
{
    const int rc = cs_model_calibrate(m, word->v[1], &calibration, &input, &labels);

    return rc == CS_OK ? save(m, word->v[2]) : rc;
}

static int act(const cs_strlist *word, cs_model *m)
{
    if (strcmp(word->v[0], "label") == 0)
        return label(m, word->v[2]);
    if (strcmp(word->v[0], "checked") == 0)
        return checked(m, word->v[2]);
    if (strcmp(word->v[0], "show") == 0)
        return cs_model_show(m, word->v[1]);
    if (strcmp(word->v[0], "verify") == 0)
        return verify(m, word->v[1]);
    if (strcmp(word->v[0], "import") == 0)
        return save(m, word->v[2]);
    if (strcmp(word->v[0], "compact") == 0)
        return compact(m, word->v[2]);
    if (strcmp(word->v[0], "lookup") == 0)
        return look_up(m, word->v[2]);
    if (strcmp(word->v[0], "proteins") == 0)
        return add_proteins(m, word->v[2]);
    if (strcmp(word->v[0], "calibrate") == 0)
        return calibrate(m, word);
    if (strcmp(word->v[0], "factorize") == 0)
        return cs_model_factorize(m, &low_rank, &input, &labels);
    return cs_model_export(m, word->v[2], own.licence);
}

static int check_words(const cs_strlist *word)
{
    static const struct { const char *name, *takes; int min, max; } action[] = {
        { "show", "one model file", 1, 2 }, { "verify", "one model file", 1, 2 },
        { "factorize", "one model file", 2, 2 },
        { "export", "a model file and a folder", 3, 3 },
        { "import", "a checkpoint and a model file to write", 3, 3 },
        { "label", "a model file and one to write", 3, 3 },
        { "checked", "a model file and one to write", 3, 3 },
        { "compact", "a model file and one to write", 3, 3 },
        { "lookup", "a model file and one to write", 3, 3 },
        { "proteins", "a model file and one to write", 3, 3 },
        { "calibrate", "a model file and one to write", 3, 3 },
    };

    cs_suggest near = cs_suggest_begin(word->n > 0 ? word->v[0] : "");

    for (size_t i = 0; word->n > 0 && i < sizeof action / sizeof action[0]; i++) {
        cs_suggest_try(&near, action[i].name);
        if (strcmp(word->v[0], action[i].name) != 0)
            continue;
        if (word->n >= action[i].min && word->n <= action[i].max)
            return CS_OK;
        return cs_fail(CS_EUSAGE, "'%s' takes %s", action[i].name, action[i].takes);
    }
    if (word->n > 0)
        return cs_fail(CS_EUSAGE, "there is no action '%s'; %s'chordseq model' lists them",
                       word->v[0], cs_suggest_hint(&near));
    return cs_fail(CS_EUSAGE, "give an action and a model: show [FILE], verify [FILE], factorize "
                   "FILE, export FILE DIR, label FILE TO, checked FILE TO, compact FILE TO, "
                   "lookup FILE TO, proteins FILE TO, calibrate FILE TO, or import CHECKPOINT "
                   "FILE");
}

/* Does a comma-separated list have a word? */
static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (; list != NULL; list = strchr(list, ','), list = list != NULL ? list + 2 : NULL)
        if (strncmp(list, word, n) == 0 && (list[n] == ',' || list[n] == '\0'))
            return true;
    return false;
}

/* The actions of the n rows from o on. */
static int check_rows(const cs_opt *o, size_t n, const void *base, const char *actions)
{
    for (; n > 0 && o->type != CS_OPT_END; n--, o++)
        if (o->type != CS_OPT_GROUP && cs_opt_given((const char *)base + o->off) &&
            !has_word(actions, words.v[0]))
            return cs_fail(CS_EUSAGE, "--%s is for %s, not for '%s'", o->name, actions,
                           words.v[0]);
    return CS_OK;
}

static int check_options(void)
{
    static const char sequences[] = "factorize, lookup, proteins, calibrate";
    const struct { const cs_opt *opt; const void *base; const char *actions; } table[] = {
        { cs_taxa_table, &taxa, "label" }, { cs_low_rank_table, &low_rank, "factorize" },
        { cs_input_table, &input, sequences }, { cs_label_table, &labels, sequences },
        { cs_lookup_table, &lookup, databases },
        { cs_mutation_table, &lookup.mutation, databases },
        { cs_compute_table, &compute, databases },
        { cs_protein_table, &proteins, "proteins" },
        { cs_calibrate_table, &calibration, "calibrate" },
    };
    static const struct { const char *name, *action; } single[] = {
        { "license", "export" }, { "demonstration", "label" }, { "precision", "checked" },
        { "alphabet", "import" },
    };
    int rc = CS_OK;

    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        CS_TRY(check_rows(cs_opt_find(model_table, single[i].name), 1, &own, single[i].action));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        CS_TRY(check_rows(table[i].opt, SIZE_MAX, table[i].base, table[i].actions));
out:
    return rc;
}

/* Read-only actions may use the default model; models that come with the program have names. */
static int name_model(cs_strlist *word, char *path, size_t n_path)
{
    int rc = CS_OK;

    CS_TRY(cs_model_find_default(word->n > 1 ? word->v[1] : NULL, path, n_path));
    if (word->n == 1) {
        word->v = cs_xrealloc(word->v, 2 * sizeof *word->v);
        word->n++;
    }
    word->v[1] = path;
out:
    return rc;
}

/* Register inputs and, for a model, the output; in a folder, each file is protected separately. */
static int add_paths(const cs_strlist *word)
{
    int rc = cs_paths_add_input(word->v[1]);

    return rc == CS_OK && word->n > 2 ? cs_paths_add_output(word->v[2]) : rc;
}

/* The model to write, before hours of fitting; the files of an export's folder follow later. */
static int probe_output(const cs_strlist *word)
{
    const bool writes = word->n > 2 && strcmp(word->v[0], "export") != 0;

    return cs_outputs_probe(writes ? word->v[2] : NULL, CS_OUT_BINARY);
}

/* 'factorize' reports the time of one thread. */
static int n_threads(void)
{
    return has_word(databases, words.v[0]) ? cs_args_threads(&compute).work : 1;
}

static int model_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;
    char path[PATH_BYTES];
    cs_backend *be = NULL;
    cs_model *m = NULL;

    (void)cmdline;
    CS_TRY(check_words(&words));
    CS_TRY(check_options());
    CS_TRY(name_model(&words, path, sizeof path));
    CS_TRY(add_paths(&words));
    CS_TRY(probe_output(&words));
    if (strcmp(words.v[0], "show") == 0 && cs_checkpoint_begins(path)) {
        rc = cs_checkpoint_show(path);
        goto out;
    }
    CS_TRY(cs_backend_open("cpu", n_threads(), &be));
    if (strcmp(words.v[0], "import") == 0)
        CS_TRY(cs_model_import(words.v[1], own.alphabet, be, &m));
    else
        CS_TRY(cs_model_load(words.v[1], be, CS_USE_INFERENCE, &m));
    CS_TRY(act(&words, m));
out:
    cs_model_free(m);
    cs_backend_close(be);
    cs_args_release(&input);
    return rc;
}

const cs_command cs_cmd_model = {
    .name = "model",
    .summary = "show, verify, label, mark, calibrate, factorize, export and import models",
    .usage = "[OPTIONS] show|verify [FILE]\n"
             "       chordseq model [OPTIONS] factorize FILE\n"
             "       chordseq model [OPTIONS] export FILE DIR\n"
             "       chordseq model [OPTIONS] import CHECKPOINT FILE\n"
             "       chordseq model [OPTIONS] label|checked|compact FILE TO\n"
             "       chordseq model [OPTIONS] lookup|proteins|calibrate FILE TO",
    .words = "show verify factorize export import label checked compact lookup proteins calibrate",
    .tables = model_tables,
    .operands = &words,
    .run = model_run,
};

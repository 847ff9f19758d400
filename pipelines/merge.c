/*
 * merge.c - merge the outputs of all shards: `chordseq merge`.
 *
 * DESIGN: outputs per record are concatenated (join.h); reports are written again by the writers of
 * classify, from the sum of the counts in the manifests.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/path_conflicts.h"
#include "infer/args.h"
#include "io/class_counts.h"
#include "io/content.h"
#include "pipelines/command.h"
#include "registry.h"
#include "run/join.h"
#include "run/manifest.h"
#include "run/outputs.h"
#include "run/shard_counts.h"
#include "run/vector_output.h"

/* Outputs common to all commands; classify's other outputs follow. */
enum { OUTPUT, NAMES, TSV, N_OWN, MAX_KIND = N_OWN + CS_MAX_WRITER };

static struct merge_args {
    const char *path[MAX_KIND];  /* NULL: not wanted */
    cs_strlist  file;
} own;

#define OWN(kind) .off = offsetof(struct merge_args, path) + (kind) * sizeof(const char *)

static const cs_opt merge_table[] = {
    { .type = CS_OPT_GROUP, .name = "Outputs" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", OWN(OUTPUT), .arg = "FILE",
      .help = "merged --output; '-' is standard output" },
    { .type = CS_OPT_OUT, .name = "names", OWN(NAMES), .arg = "FILE",
      .help = "embed: table of names (default: the output's name with .names.tsv)" },
    { .type = CS_OPT_OUT, .name = "tsv", OWN(TSV), .arg = "FILE",
      .help = "variant: merged --tsv" },
    { .type = CS_OPT_END }
};

/* Outputs by long option: those of merge_table, then those of classify that can be joined or
 * (writer) computed from counts. classify_table has their options. */
static struct kind { const char *option; const cs_writer *writer; } kind[MAX_KIND] = {
    [OUTPUT] = { "output", NULL }, [NAMES] = { "names", NULL }, [TSV] = { "tsv", NULL },
};
static int n_kind = N_OWN;
static cs_opt classify_table[CS_MAX_WRITER + 2] = {
    { .type = CS_OPT_GROUP, .name = "Outputs of classify" },
};

/* All writers of classify whose outputs can be joined or computed from counts. */
static void list_kinds(void)
{
    const cs_writer *w;

    n_kind = N_OWN;
    for (int i = 0; (w = cs_writer_at(i)) != NULL; i++) {
        const bool counts = w->restore == cs_class_counts_restore;
        if (!w->opt || w->is_default || !(counts || w->joins))
            continue;
        kind[n_kind] = (struct kind){ w->opt[0].name, counts ? w : NULL };
        cs_opt *o = &classify_table[1 + n_kind - N_OWN];
        *o = w->opt[0];
        o->off = offsetof(struct merge_args, path) + (size_t)n_kind * sizeof *own.path;
        o->man = NULL;
        n_kind++;
    }
    classify_table[1 + n_kind - N_OWN] = (cs_opt){ .type = CS_OPT_END };
}

struct job {
    cs_manifests  all;
    const char   *path[MAX_KIND];    /* NULL: not wanted */
    cs_outfile   *joined[MAX_KIND];
    cs_output    *counted[MAX_KIND];
    char         *names;         /* the default */
    cs_counts_sum sum;
    char         *about, *line;
};

static void merge_options(cs_optset *set)
{
    const cs_optset all[] = {
        { merge_table, &own, NULL }, { classify_table, &own, NULL },
        { cs_log_table, &cs_command_logs, NULL }, { NULL, NULL, NULL },
    };

    list_kinds();
    memcpy(set, all, sizeof all);
}

static const json_t *run_of(const struct job *j)
{
    return json_object_get(j->all.m[0].all, "run");
}

static bool option_is(const struct job *j, const char *name, const char *value)
{
    const char *v = json_string_value(json_object_get(json_object_get(run_of(j), "options"), name));

    return v && strcmp(v, value) == 0;
}

/* Matrices are not text outputs. */
static bool is_npy(const struct job *j, int k)
{
    return k == OUTPUT && option_is(j, "format", "npy");
}

/* Content of the file that the output may replace: `variant` writes variants. */
static const char *held(const struct job *j, int k)
{
    const char *command = json_string_value(json_object_get(run_of(j), "command"));

    return command && strcmp(command, "variant") == 0 && k == OUTPUT ? CS_VARIANTS : NULL;
}

/* The output of merge's option of that name; -1: none. */
static int kind_of(const char *option)
{
    for (int k = 0; k < n_kind; k++)
        if (strcmp(kind[k].option, option) == 0)
            return k;
    return -1;
}

/* The options of an undivided run, in its order. */
static json_t *whole_options(const struct job *j, const cs_command *command)
{
    cs_optset set[CS_MAX_OPTSET] = { { NULL, NULL, NULL } };
    json_t *all = json_object();
    const json_t *of_shard = json_object_get(run_of(j), "options");

    cs_command_tables(command, set);
    for (const cs_optset *s = set; s->opt; s++)
        for (const cs_opt *o = s->opt; o->type != CS_OPT_END; o++) {
            const int k = o->type == CS_OPT_GROUP ? -1 : kind_of(o->name);
            json_t *v = json_object_get(of_shard, o->name);
            if (k >= 0 && j->path[k])
                json_object_set_new(all, o->name, cs_about_string(j->path[k]));
            if (k < 0 && v && o->type != CS_OPT_GROUP && strcmp(o->name, "shard") != 0
                && strcmp(o->name, "manifest") != 0)
                json_object_set(all, o->name, v);
        }
    return all;
}

static int open_counts(struct job *j, const char *option, int argc, char **argv)
{
    int rc = CS_OK;
    json_t *about = NULL;
    const json_t *all = j->all.m[0].all;
    const cs_command *command = cs_command_find(json_string_value(json_object_get(run_of(j),
                                                                                  "command")));

    if (!command || !json_object_get(all, "class_counts"))
        return cs_fail(CS_EUSAGE, "--%s needs shards of classify, which '%s' is not", option,
                       j->all.m[0].path);
    j->line = cs_about_line(&(cs_about){ .argc = argc, .argv = argv });
    about = json_deep_copy(run_of(j));
    json_object_set_new(about, "command_line", cs_about_string(j->line));
    json_object_set_new(about, "options", whole_options(j, command));
    j->about = json_dumps(about, JSON_COMPACT);
    const json_t *sample = json_object_get(json_object_get(run_of(j), "options"), "sample");
    CS_TRY(cs_counts_sum_read(&j->all, &j->sum));
    j->sum.info.sample = json_string_value(sample);
    j->sum.info.about = j->about;
out:
    json_decref(about);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_places(struct job *j)
{
    int rc = CS_OK, n = 0;

    for (int k = 0; k < n_kind; k++) {
        j->path[k] = own.path[k];
        n += j->path[k] != NULL;
    }
    for (int i = 0; i < own.file.n; i++)
        CS_TRY(cs_paths_add_input(own.file.v[i]));
    if (own.file.n == 0)
        return cs_fail(CS_EUSAGE, "no shards; give the manifests of all");
    if (n == 0)
        return cs_fail(CS_EUSAGE, "no output; give one with -o FILE or another option");
    CS_TRY(cs_manifests_read(own.file.v, own.file.n, &j->all));
    const char *output = own.path[OUTPUT];
    if (output && !own.path[NAMES] && is_npy(j, OUTPUT)) {
        j->names = cs_vector_names(output);
        j->path[NAMES] = j->names;
        CS_TRY(cs_paths_add_output(j->names));
    }
    rc = cs_outputs_apart(j->path, n_kind);
out:
    return rc;
}

static cs_out_kind joined_kind(const struct job *j, int k)
{
    const bool table = k == OUTPUT || strcmp(kind[k].option, "tsv") == 0
                    || strcmp(kind[k].option, "names") == 0;

    return is_npy(j, k) ? CS_OUT_BINARY : table ? CS_OUT_TABLE : CS_OUT_TEXT;
}

static int merge_open_outputs(struct job *j, int argc, char **argv)
{
    int rc = CS_OK;

    for (int k = 0; k < n_kind; k++) {
        const cs_writer *w = kind[k].writer;
        if (!j->path[k])
            continue;
        if (w && !j->about)
            CS_TRY(open_counts(j, kind[k].option, argc, argv));
        if (w && w->for_classes && !j->sum.info.is_class)
            return cs_fail(CS_EUSAGE, "--%s is for classes, but the model predicts values",
                           kind[k].option);
        CS_TRY(w ? cs_output_open(w, j->path[k], &j->sum.info, &j->counted[k])
                 : cs_outfile_open_as(j->path[k], held(j, k), joined_kind(j, k), &j->joined[k]));
        if (!w && is_npy(j, k) && !cs_outfile_can_patch(j->joined[k]))
            return cs_fail(CS_EUSAGE, "'%s' is not a regular file, which NPY needs", j->path[k]);
    }
out:
    return rc;
}

/* Complete all, then rename all. */
static int close_outputs(struct job *j)
{
    int rc = CS_OK, n = 0;

    for (int k = 0; k < n_kind; k++)
        n += j->path[k] != NULL;
    for (int k = 0; k < n_kind && rc == CS_OK; k++)
        rc = j->counted[k] ? cs_output_finish(j->counted[k])
           : j->joined[k] ? cs_outfile_finish(j->joined[k]) : CS_OK;
    for (int k = 0; k < n_kind && rc == CS_OK; k++) {
        rc = j->counted[k] ? cs_output_close(j->counted[k]) : cs_outfile_close(j->joined[k]);
        j->counted[k] = NULL;
        j->joined[k] = NULL;
    }
    return cs_outputs_explain(rc, n);
}

static int merge(struct job *j, int argc, char **argv)
{
    int rc = CS_OK;
    int64_t n = 0;

    CS_TRY(check_places(j));
    CS_TRY(merge_open_outputs(j, argc, argv));
    for (int k = 0; k < n_kind; k++)
        if (j->joined[k])
            CS_TRY(cs_join(&j->all, kind[k].option, is_npy(j, k) ? CS_JOIN_NPY
                           : k == NAMES ? CS_JOIN_ROWS : CS_JOIN_BYTES, j->path[k], j->joined[k]));
    CS_TRY(close_outputs(j));
    for (int i = 0; i < j->all.n; i++)
        n += j->all.m[i].records;
    cs_note("merged %d shards with %lld records", j->all.n, (long long)n);
out:
    return rc;
}

static int merge_run(const cs_call *call)
{
    struct job *j = cs_xcalloc(1, sizeof *j);
    const int rc = merge(j, call->argc, call->argv);

    for (int k = 0; k < n_kind; k++) {
        cs_output_discard(j->counted[k]);
        cs_outfile_discard(j->joined[k]);
    }
    cs_manifests_release(&j->all);
    cs_counts_sum_release(&j->sum);
    CS_FREE(j->names, j->about, j->line, j);
    return rc;
}

const cs_command cs_cmd_merge = {
    .name = "merge",
    .summary = "merge the outputs of shards",
    .usage = "[OPTIONS] MANIFEST...",
    .options = merge_options,
    .operands = &own.file,
    .run = merge_run,
};

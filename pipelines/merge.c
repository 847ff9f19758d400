/* merge.c - merge the outputs of all shards: `chordseq merge`. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path_conflicts.h"
#include "io/class_counts.h"
#include "io/json_text.h"
#include "pipelines/command.h"
#include "registry.h"
#include "run/about.h"
#include "run/merge_shards.h"
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

static void merge_options(cs_optset *set)
{
    const cs_optset all[] = {
        { merge_table, &own, NULL }, { classify_table, &own, NULL },
        { cs_log_table, &cs_command_logs, NULL }, { NULL, NULL, NULL },
    };

    list_kinds();
    memcpy(set, all, sizeof all);
}

/* The output of merge's option of that name; -1: none. */
static int kind_of(const char *option)
{
    for (int k = 0; k < n_kind; k++)
        if (strcmp(kind[k].option, option) == 0)
            return k;
    return -1;
}

static void tables_of(const char *command, cs_optset *set)
{
    const cs_command *c = cs_command_find(command);

    if (c)
        cs_command_tables(c, set);
}

/* The options of an undivided run with the merged outputs only, in its order. */
static json_t *whole_options(const cs_manifests *shards)
{
    cs_optset set[CS_MAX_OPTSET] = { { NULL, NULL, NULL } };
    const json_t *run = cs_merge_run(shards), *of_shard = json_object_get(run, "options");
    const json_t *lists = json_object_get(shards->m[0].all, "lists");
    const cs_command *command = cs_command_find(json_string_value(json_object_get(run, "command")));
    json_t *all = command ? json_object() : NULL;

    if (!command)
        return NULL;
    cs_command_tables(command, set);
    for (const cs_optset *s = set; s->opt; s++)
        for (const cs_opt *o = s->opt; o->type != CS_OPT_END; o++) {
            const int k = o->type == CS_OPT_GROUP ? -1 : kind_of(o->name);
            json_t *v = json_object_get(o->type == CS_OPT_LIST ? lists : of_shard, o->name);
            if (json_is_array(v) && json_array_size(v) == 0)
                continue;
            if (k >= 0 && own.path[k])
                json_object_set_new(all, o->name, cs_json_of_bytes(own.path[k]));
            if (k < 0 && v && o->type != CS_OPT_GROUP && o->type != CS_OPT_OUT
                && strcmp(o->name, "shard") != 0)
                json_object_set(all, o->name, v);
        }
    return all;
}

/* names: the default path of names, for the caller to free. */
static int merge_prepare(cs_manifests *shards, char **names)
{
    int rc = CS_OK, n = 0;

    for (int k = 0; k < n_kind; k++)
        n += own.path[k] != NULL;
    for (int i = 0; i < own.file.n; i++)
        CS_TRY(cs_paths_add_input(own.file.v[i]));
    if (own.file.n == 0)
        return cs_fail(CS_EUSAGE, "no shards; give the manifests of all");
    if (n == 0)
        return cs_fail(CS_EUSAGE, "no output; give one with -o FILE or another option");
    CS_TRY(cs_manifests_read(own.file.v, own.file.n, tables_of, shards));
    if (own.path[OUTPUT] && !own.path[NAMES] && cs_merge_is_npy(shards, "output")) {
        own.path[NAMES] = *names = cs_vector_names(own.path[OUTPUT]);
        CS_TRY(cs_paths_add_output(*names));
    }
    rc = cs_outputs_distinct(own.path, n_kind);
out:
    return rc;
}

static int merge_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;
    int64_t n = 0;
    char *names = NULL;
    char *line = cs_about_line(&(cs_about){ .argc = cmdline->argc, .argv = cmdline->argv });
    cs_manifests shards = { NULL, 0 };
    cs_merge_output out[MAX_KIND] = { { .option = NULL } };
    json_t *options = NULL;

    CS_TRY(merge_prepare(&shards, &names));
    for (int k = 0; k < n_kind; k++)
        out[k] = (cs_merge_output){ kind[k].option, kind[k].writer, own.path[k], NULL, NULL };
    options = whole_options(&shards);
    CS_TRY(cs_merge_shards(&shards, out, n_kind, options, line));
    for (int i = 0; i < shards.n; i++)
        n += shards.m[i].records;
    cs_note("merged %d %s with %lld %s", shards.n, CS_PLURAL(shards.n, "shard", "shards"),
            (long long)n, CS_PLURAL(n, "record", "records"));
out:
    json_decref(options);
    cs_manifests_release(&shards);
    free(names);
    free(line);
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

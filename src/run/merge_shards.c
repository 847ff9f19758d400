/*
 * merge_shards.c - write the outputs of a run from those of all shards.
 *
 * DESIGN: outputs per record are concatenated (join.h); reports are written again by the writers of
 * classify, from the sum of the counts in the manifests.
 */
#include "run/merge_shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "io/content.h"
#include "io/json_text.h"
#include "registry.h"
#include "run/join.h"
#include "run/outputs.h"
#include "run/shard_counts.h"

struct job {
    const cs_manifests *all;
    cs_merge_output    *out;     /* [n] */
    int                 n;
    cs_shard_counts_sum sum;     /* with `about`: for reports */
    char               *about;
};

const json_t *cs_merge_run(const cs_manifests *all)
{
    return json_object_get(all->m[0].all, "run");
}

static bool option_is(const cs_manifests *all, const char *name, const char *value)
{
    const json_t *options = json_object_get(cs_merge_run(all), "options");
    const char *v = json_string_value(json_object_get(options, name));

    return v && strcmp(v, value) == 0;
}

/* Matrices are not text outputs. */
bool cs_merge_is_npy(const cs_manifests *all, const char *option)
{
    return strcmp(option, "output") == 0 && option_is(all, "format", "npy");
}

/* Content of the file that the output may replace: `variant` writes variants. */
static const char *held(const cs_manifests *all, const char *option)
{
    const char *command = json_string_value(json_object_get(cs_merge_run(all), "command"));

    return command && strcmp(command, "variant") == 0 && strcmp(option, "output") == 0
               ? CS_VARIANTS : NULL;
}

/* The kind of a writer's output. */
static cs_out_kind written_kind(const char *option)
{
    const cs_writer *w;

    for (int i = 0; (w = cs_writer_at(i)) != NULL; i++)
        if (w->opt && strcmp(w->opt[0].name, option) == 0)
            return w->kind;
    return CS_OUT_TEXT;
}

static cs_out_kind joined_kind(const cs_manifests *all, const char *option)
{
    const bool output = strcmp(option, "output") == 0;
    const bool bed = option_is(all, "format", "bed") || option_is(all, "format", "bedgraph");
    const bool table = output || strcmp(option, "tsv") == 0 || strcmp(option, "names") == 0;

    if (cs_merge_is_npy(all, option))
        return CS_OUT_BINARY;
    if (output && bed)
        return CS_OUT_BED;
    if (output && held(all, option))
        return CS_OUT_TEXT;
    return table ? CS_OUT_TABLE : written_kind(option);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int read_counts(struct job *j, const char *option, json_t *options, const char *line)
{
    int rc = CS_OK;
    const cs_manifest *first = &j->all->m[0];
    const json_t *run = cs_merge_run(j->all), *given = json_object_get(run, "options");

    if (!options || !json_object_get(first->all, "class_counts"))
        return cs_fail(CS_EUSAGE, "--%s needs shards of classify, which '%s' is not", option,
                       first->path);
    json_t *about = json_deep_copy(run);
    json_object_set_new(about, "command_line", cs_json_of_bytes(line));
    json_object_set(about, "options", options);
    j->about = json_dumps(about, JSON_COMPACT);
    json_decref(about);
    CS_TRY(cs_shard_counts_sum_read(j->all, &j->sum));
    j->sum.info.sample = json_string_value(json_object_get(given, "sample"));
    j->sum.info.about = j->about;
out:
    return rc;
}

static int open_report(struct job *j, cs_merge_output *o, json_t *options, const char *line)
{
    int rc = CS_OK;

    if (!j->about)
        CS_TRY(read_counts(j, o->option, options, line));
    if (o->writer->for_classes && !j->sum.info.is_class)
        return cs_fail(CS_EUSAGE, "--%s is for classes, but the model predicts values", o->option);
    rc = cs_output_open(o->writer, o->path, &j->sum.info, &o->counted);
out:
    return rc;
}

/* Shards are joined, not converted: the suffix must not name another format than theirs, unless
 * they are named so, too. */
static int check_format(const cs_manifests *all, const cs_merge_output *o)
{
    static const struct { const char *suffix, *format; } known[] = {
        { ".npy", "npy" }, { ".npz", "npz" }, { ".tsv", "tsv" }, { ".csv", "tsv" },
        { ".bed", "bed" }, { ".bedgraph", "bedgraph" }, { ".bdg", "bedgraph" },
        { ".bg", "bedgraph" },
    };
    const json_t *options = json_object_get(cs_merge_run(all), "options");
    const char *format = json_string_value(json_object_get(options, "format"));
    const char *shard = json_string_value(json_object_get(options, "output"));

    if (!format || !shard || strcmp(o->option, "output") != 0)
        return CS_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (cs_out_ends(o->path, known[i].suffix) && !cs_out_ends(shard, known[i].suffix)
            && strcmp(known[i].format, format) != 0)
            return cs_fail(CS_EUSAGE, "'%s' names another format than that of the shards, %s; "
                           "rename it, or rerun the shards with --format", o->path, format);
    return CS_OK;
}

static int open_joined(const struct job *j, cs_merge_output *o)
{
    int rc = CS_OK;

    CS_TRY(check_format(j->all, o));
    CS_TRY(cs_outfile_open_as(o->path, held(j->all, o->option), joined_kind(j->all, o->option),
                              &o->joined));
    if (cs_merge_is_npy(j->all, o->option) && !cs_outfile_can_patch(o->joined))
        rc = cs_fail(CS_EUSAGE, "'%s' is not a regular file, which NPY needs", o->path);
out:
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int join_files(const struct job *j, const cs_merge_output *o)
{
    const cs_join_kind kind = cs_merge_is_npy(j->all, o->option) ? CS_JOIN_NPY
                          : strcmp(o->option, "names") == 0 ? CS_JOIN_ROWS : CS_JOIN_BYTES;

    return cs_join(j->all, o->option, kind, o->path, o->joined);
}

/* Complete all, then rename all. */
static int close_outputs(struct job *j)
{
    int rc = CS_OK, n_open = 0;

    for (int i = 0; i < j->n; i++)
        n_open += j->out[i].path != NULL;
    for (int i = 0; i < j->n && rc == CS_OK; i++) {
        const cs_merge_output *o = &j->out[i];
        rc = o->counted ? cs_output_finish(o->counted)
           : o->joined ? cs_outfile_finish(o->joined) : CS_OK;
    }
    if (rc == CS_OK && cs_signal_caught() != 0)
        rc = CS_ECANCEL;
    for (int i = 0; i < j->n && rc == CS_OK; i++) {
        cs_merge_output *o = &j->out[i];
        rc = o->counted ? cs_output_close(o->counted) : cs_outfile_close(o->joined);
        o->counted = NULL;
        o->joined = NULL;
    }
    return cs_outputs_explain(rc, n_open, NULL);
}

int cs_merge_shards(const cs_manifests *all, cs_merge_output *out, int n, json_t *options,
                    const char *line)
{
    int rc = CS_OK;
    struct job j = { .all = all, .out = out, .n = n };

    for (int i = 0; i < n; i++)
        if (out[i].path)
            CS_TRY(out[i].writer ? open_report(&j, &out[i], options, line)
                                 : open_joined(&j, &out[i]));
    for (int i = 0; i < n; i++)
        if (out[i].joined)
            CS_TRY(join_files(&j, &out[i]));
    CS_TRY(close_outputs(&j));
out:
    for (int i = 0; i < n; i++) {
        cs_output_discard(out[i].counted);
        cs_outfile_discard(out[i].joined);
    }
    cs_shard_counts_sum_release(&j.sum);
    free(j.about);
    return rc;
}

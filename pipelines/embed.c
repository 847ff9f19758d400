/* embed.c - a vector per record: `chordseq embed`. */
#include <string.h>

#include "io/writer.h"
#include "pipelines/command.h"
#include "registry.h"
#include "run/outputs.h"
#include "run/records.h"

enum { FORMAT_AUTO, FORMAT_NPY, FORMAT_NPZ, FORMAT_TSV };
static const char *const formats[] = { "auto", "npy", "npz", "tsv", NULL };
static const char *const vectors[] = { "pooled", "hidden", NULL };

struct embed_args { const char *output, *names; int format, vector; };

/* Two outputs: vectors, and with NPY the names of its rows. */
enum { N_OUT = 2 };
struct job {
    cs_records   run;
    cs_output   *out[N_OUT];
    char        *names;
    char       (*column)[16];    /* [width] */
    const char **label;
    int32_t      width;
};

static struct embed_args own;
static cs_record_args from;

static const cs_opt embed_table[] = {
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output",
      .off = offsetof(struct embed_args, output), .arg = "FILE",
      .help = "output file; '-' is standard output (tsv)" },
    { .type = CS_OPT_ENUM, .name = "format", .off = offsetof(struct embed_args, format),
      .arg = "FORMAT", .def = "auto",
      .help = "output format: npy, npz, tsv or auto (by the name)",
      .man = "auto follows the suffix, .npy, .npz, .tsv, .csv, .tsv.gz or .csv.gz, and is npy "
             "without one. NPY and NPZ (one matrix, 'vectors') need a regular file, because their "
             "headers hold the number of rows.",
      .choice = formats },
    { .type = CS_OPT_OUT, .name = "names", .off = offsetof(struct embed_args, names),
      .arg = "FILE",
      .help = "with npy or npz, table of row, name, length and reason (default: the output's name "
              "with .names.tsv)",
      .man = "Required if vectors go to standard output." },
    { .type = CS_OPT_ENUM, .name = "vector", .off = offsetof(struct embed_args, vector),
      .arg = "KIND", .def = "pooled", .help = "vector to write: pooled or hidden",
      .man = "pooled is the encoder's output after the head's pooling, hidden the hidden layer "
             "of the head, if any. Strands, windows and mates are averaged.",
      .choice = vectors },
    { .type = CS_OPT_END }
};

static const cs_optset embed_tables[] = {
    { cs_input_table, &from.input, NULL }, { cs_pair_table, &from.pairs, NULL },
    CS_RECORD_MODEL_TABLES(from), { embed_table, &own, NULL },
    CS_RECORD_RUN_TABLES(from), { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

/* The output's format by its name. */
static int choose_format(void)
{
    static const struct { const char *suffix; int format; } known[] = {
        { ".npy", FORMAT_NPY }, { ".npz", FORMAT_NPZ }, { ".tsv", FORMAT_TSV },
        { ".csv", FORMAT_TSV }, { ".tsv.gz", FORMAT_TSV }, { ".csv.gz", FORMAT_TSV },
        { ".tsv.bgz", FORMAT_TSV }, { ".csv.bgz", FORMAT_TSV },
    };
    const char *slash = strrchr(own.output, '/'), *name = slash ? slash + 1 : own.output;
    const size_t n = strlen(name);

    if (own.format != FORMAT_AUTO)
        return CS_OK;
    own.format = FORMAT_NPY;
    if (!strchr(name, '.') || cs_outputs_same(own.output, "-")
        || strncmp(own.output, "/dev/", 5) == 0)
        return CS_OK;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t k = strlen(known[i].suffix);
        own.format = known[i].format;
        if (n > k && strcmp(name + n - k, known[i].suffix) == 0)
            return CS_OK;
    }
    return cs_fail(CS_EUSAGE, "unknown format of '%s'; name the output *.npy, *.npz, *.tsv, *.csv, "
                   "*.tsv.gz or *.csv.gz, or give --format", name);
}

static int embed_check_options(struct job *j)
{
    static const char end[] = ".names.tsv";

    if (!own.output)
        return cs_fail(CS_EUSAGE, "no output; give it with -o FILE, or pipe with --format tsv -o "
                       "-");
    const int rc = choose_format();
    if (rc != CS_OK)
        return rc;
    if (own.format == FORMAT_TSV && own.names)
        return cs_fail(CS_EUSAGE, "--names needs --format npy or npz; a table includes names");
    if (own.format != FORMAT_TSV && !own.names && cs_outputs_same(own.output, "-"))
        return cs_fail(CS_EUSAGE, "NPY on standard output needs --names FILE for the row names; "
                       "--format tsv includes them");
    const size_t n = strlen(own.output) + sizeof end;
    j->names = cs_xmalloc(n);
    (void)snprintf(j->names, n, "%s%s", own.output, end);
    if (own.format != FORMAT_TSV && cs_outputs_same(own.names ? own.names : j->names, own.output))
        return cs_fail(CS_EUSAGE, "--names and --output both write to '%s'", own.output);
    return CS_OK;
}

static int embed_open_outputs(struct job *j)
{
    int rc = CS_OK;

    j->column = cs_xcalloc((size_t)j->width, sizeof *j->column);
    j->label = cs_xcalloc((size_t)j->width, sizeof *j->label);
    for (int32_t i = 0; i < j->width; i++) {
        (void)snprintf(j->column[i], sizeof *j->column, "v%d", (int)i + 1);
        j->label[i] = j->column[i];
    }
    const cs_output_info info = { .label = j->label, .n_label = j->width };
    CS_TRY(cs_output_open(cs_writer_find(formats[own.format]), own.output, &info, &j->out[0]));
    if (own.format == FORMAT_TSV)
        return CS_OK;
    if (!cs_outfile_can_patch(j->out[0]->file)) {
        rc = cs_fail(CS_EUSAGE, "'%s' is not a regular file, which NPY needs; use --format tsv",
                     own.output);
        goto out;
    }
    rc = cs_output_open(cs_writer_find("names"), own.names ? own.names : j->names, &info,
                        &j->out[1]);
out:
    return rc;
}

static int n_out(const struct job *j)
{
    return j->out[1] ? 2 : 1;
}

static int sink(void *job, const cs_record *r, const cs_prediction *a)
{
    int rc = CS_OK;
    struct job *j = job;

    for (int i = 0; rc == CS_OK && i < N_OUT && j->out[i]; i++)
        rc = cs_output_record(j->out[i], r, a);
    rc = cs_outputs_explain(rc, n_out(j));
    return rc == CS_OK ? cs_shard_written(j->run.shard) : rc;
}

/* Complete both, then rename both. */
static int close_outputs(struct job *j)
{
    int rc = CS_OK;

    for (int i = 0; rc == CS_OK && i < N_OUT && j->out[i]; i++)
        rc = cs_output_finish(j->out[i]);
    CS_TRY(cs_outputs_explain(rc, n_out(j)));
    for (int i = 0; rc == CS_OK && i < N_OUT && j->out[i]; i++) {
        rc = cs_output_close(j->out[i]);
        j->out[i] = NULL;
    }
out:
    return rc;
}

static int begin_shard(struct job *j, cs_stream *s)
{
    static const char *const option[N_OUT] = { "output", "names" };
    int rc = CS_OK;

    CS_TRY(cs_shard_read(j->run.shard, s));
    for (int i = 0; cs_shard_wants(j->run.shard) && i < n_out(j); i++) {
        CS_TRY(cs_output_begin(j->out[i]));
        CS_TRY(cs_shard_add_file(j->run.shard, option[i], j->out[i]->path, j->out[i]->file));
    }
out:
    return rc;
}

static int embed(struct job *j, const cs_about *about)
{
    int rc = CS_OK;
    char counts[128];
    cs_stream_stat stat;
    cs_stream s = cs_records_stream(&j->run, &from, sink, j);

    CS_TRY(begin_shard(j, &s));
    CS_TRY(cs_stream_run(&s, &stat));
    (void)snprintf(counts, sizeof counts, "%llu with a vector of %d",
                   (unsigned long long)j->out[0]->n_reason[CS_REASON_NONE], (int)j->width);
    CS_TRY(cs_shard_end(j->run.shard));
    CS_TRY(close_outputs(j));
    CS_TRY(cs_shard_close(j->run.shard, about, json_pack("{s:i}", "columns", (int)j->width)));
    if (stat.n_record == 0)
        cs_shard_warn_empty(j->run.shard);
    cs_stream_summary("embedded", counts, &stat);
out:
    return rc;
}

static int embed_prepare(struct job *j)
{
    int rc = CS_OK;

    CS_TRY(cs_records_load(&j->run, &from));
    from.policy.output = own.vector == 1 ? CS_HEAD_HIDDEN : CS_HEAD_POOLED;
    CS_TRY(cs_records_open(&j->run, &from, NULL));
    j->width = (int32_t)cs_model_output_len(j->run.model, from.policy.output, 1);
    CS_TRY(embed_open_outputs(j));
out:
    return rc;
}

static int embed_run(const cs_call *call)
{
    int rc = CS_OK;
    struct job j = { .names = NULL };

    CS_TRY(embed_check_options(&j));
    CS_TRY(embed_prepare(&j));
    const cs_about about = cs_call_about(call, &from.input.file, j.run.model, j.run.model_path);
    CS_TRY(embed(&j, &about));
out:
    for (int i = 0; i < N_OUT; i++)
        cs_output_discard(j.out[i]);
    CS_FREE(j.names, j.column, j.label);
    cs_records_close(&j.run, &from);
    return rc;
}

const cs_command cs_cmd_embed = {
    .name = "embed",
    .summary = "compute a vector for each sequence",
    .usage = "[OPTIONS] -o FILE [FILE...]",
    .tables = embed_tables,
    .operands = &from.input.file,
    .run = embed_run,
};

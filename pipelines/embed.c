/* embed.c - a vector per record: `chordseq embed`. */
#include "pipelines/command.h"
#include "run/records.h"
#include "run/vector_output.h"

static const char *const vectors[] = { "pooled", "hidden", NULL };

struct embed_args { const char *output, *names; int format, vector; };

struct job {
    cs_records       run;
    cs_vector_output out;
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
      .man = "auto uses the suffix: .npy, .npz, .tsv, .csv, .tsv.gz or .csv.gz; without one, npy. "
             "NPY and NPZ (one array, 'vectors') need a regular file, because their headers "
             "contain the number of rows.",
      .choice = cs_vector_formats },
    { .type = CS_OPT_OUT, .name = "names", .off = offsetof(struct embed_args, names),
      .arg = "FILE",
      .help = "with npy or npz, table of row, name, length and reason (default: the output's name "
              "with .names.tsv)",
      .man = "Required if vectors go to standard output." },
    { .type = CS_OPT_ENUM, .name = "vector", .off = offsetof(struct embed_args, vector),
      .arg = "KIND", .def = "pooled", .help = "vector to write: pooled or hidden",
      .man = "pooled: the pooled output of the encoder; its mean if the model predicts per token, "
             "as those of 'chordseq pretrain' do. hidden: the hidden layer of the head, if it has "
             "one. Vectors of strands, windows and mates are averaged.",
      .choice = vectors },
    { .type = CS_OPT_END }
};

static const cs_optset embed_tables[] = {
    { cs_input_table, &from.input, NULL }, { cs_pair_table, &from.pairs, NULL },
    CS_RECORD_MODEL_TABLES(from), { embed_table, &own, NULL },
    CS_RECORD_RUN_TABLES(from), { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static int sink(void *job, const cs_record *r, const cs_prediction *a)
{
    struct job *j = job;
    const int rc = cs_vector_output_record(&j->out, r, a);

    return rc == CS_OK ? cs_shard_written(j->run.shard) : rc;
}

static int embed(struct job *j, const cs_about *about)
{
    int rc = CS_OK;
    char counts[128];
    cs_stream_stat stat;
    cs_stream s = cs_records_stream(&j->run, &from, sink, j);

    CS_TRY(cs_shard_read(j->run.shard, &s));
    CS_TRY(cs_vector_output_add(&j->out, j->run.shard));
    CS_TRY(cs_stream_run(&s, &stat));
    (void)snprintf(counts, sizeof counts, "%llu with a vector of %d",
                   (unsigned long long)j->out.out[0]->n_reason[CS_REASON_NONE],
                   (int)j->out.width);
    CS_TRY(cs_shard_end(j->run.shard));
    CS_TRY(cs_vector_output_close(&j->out));
    CS_TRY(cs_shard_close(j->run.shard, about, json_pack("{s:i}", "columns", (int)j->out.width)));
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
    cs_record_source_note_mates(&from.input, &from.pairs);
    from.policy.output = own.vector == 1 ? CS_HEAD_HIDDEN : CS_HEAD_POOLED;
    CS_TRY(cs_records_open(&j->run, &from, NULL));
    const int64_t width = cs_model_output_len(j->run.model, from.policy.output, 1);
    rc = cs_vector_output_open(&j->out, (int32_t)width);
out:
    return rc;
}

static int embed_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;
    struct job j = { .out = { .path = own.output, .names = own.names, .format = own.format } };

    CS_TRY(cs_vector_output_check(&j.out));
    own.format = j.out.format;   /* for the manifest: merge needs the format, not "auto" */
    CS_TRY(embed_prepare(&j));
    const cs_about about = cs_command_about(cmdline, &from.input.file, j.run.model,
                                            j.run.model_path);
    CS_TRY(embed(&j, &about));
out:
    cs_vector_output_release(&j.out);
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

/* predict.c - predict a class per token: `chordseq predict`. */
#include "base/log.h"
#include "pipelines/command.h"
#include "run/records.h"
#include "run/token_output.h"

static const char *const formats[] = { "bed", "tsv", "bedgraph", NULL };   /* cs_token_format */

struct predict_args { const char *output, *class_name; int format; };

struct job {
    cs_records      run;
    cs_token_output out;
    int64_t         n_reason[CS_N_REASON];
};

static struct predict_args own;
static cs_record_args from;

static const cs_opt predict_table[] = {
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output",
      .off = offsetof(struct predict_args, output), .arg = "FILE", .def = "-",
      .help = "output file; '-' is standard output" },
    { .type = CS_OPT_ENUM, .name = "format", .off = offsetof(struct predict_args, format),
      .arg = "FORMAT", .def = "bed", .help = "output format: bed, tsv or bedgraph",
      .man = "bed has a line for every run of bases with one class, tsv one for every base with "
             "all probabilities, bedgraph the probability of one class along the sequence.",
      .choice = formats },
    { .type = CS_OPT_STR, .name = "class", .off = offsetof(struct predict_args, class_name),
      .arg = "NAME", .help = "with bedgraph, class whose probability is written" },
    { .type = CS_OPT_END }
};

static const cs_optset predict_tables[] = {
    { cs_input_table, &from.input, NULL }, CS_RECORD_MODEL_TABLES(from),
    { predict_table, &own, NULL }, CS_RECORD_RUN_TABLES(from),
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static int sink(void *job, const cs_record *r, const cs_prediction *a)
{
    struct job *j = job;
    const int rc = a->reason ? CS_OK : cs_token_output_record(&j->out, r, a);

    j->n_reason[a->reason]++;
    return rc == CS_OK ? cs_shard_written(j->run.shard) : rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int find_shown(struct job *j)
{
    if (own.class_name == NULL)
        return own.format == CS_TOKENS_BEDGRAPH
                   ? cs_fail(CS_EUSAGE, "--format bedgraph is for one class; give it with --class")
                   : CS_OK;
    if (own.format != CS_TOKENS_BEDGRAPH)
        return cs_fail(CS_EUSAGE, "--class needs --format bedgraph");
    return cs_model_label_of(j->run.model, own.class_name, &j->out.shown);
}

static int predict_prepare(struct job *j)
{
    int rc = CS_OK;

    CS_TRY(cs_records_load(&j->run, &from));
    if (!j->run.model->head->per_token) {
        rc = cs_fail(CS_EMODEL, "the model predicts per sequence, not per token; see 'chordseq "
                     "classify'");
        goto out;
    }
    CS_TRY(find_shown(j));
    CS_TRY(cs_records_open(&j->run, &from, NULL));
    j->out.model = j->run.model;
    j->out.format = (cs_token_format)own.format;
    rc = cs_token_output_open(&j->out, own.output);
out:
    return rc;
}

static void log_reasons(const struct job *j)
{
    for (int r = CS_REASON_NONE + 1; r < CS_N_REASON; r++)
        if (j->n_reason[r] > 0)
            cs_warn("%lld records have no prediction and no line: %s", (long long)j->n_reason[r],
                    cs_reason_name((cs_reason)r));
}

static int predict(struct job *j, const cs_about *about)
{
    int rc = CS_OK;
    char counts[64];
    cs_stream_stat stat;
    cs_stream s = cs_records_stream(&j->run, &from, sink, j);

    CS_TRY(cs_shard_read(j->run.shard, &s));
    CS_TRY(cs_shard_add_file(j->run.shard, "output", own.output, j->out.file));
    CS_TRY(cs_stream_run(&s, &stat));
    CS_TRY(cs_shard_end(j->run.shard));
    CS_TRY(cs_token_output_close(&j->out));
    CS_TRY(cs_shard_close(j->run.shard, about, NULL));
    if (stat.n_record == 0)
        cs_shard_warn_empty(j->run.shard);
    log_reasons(j);
    (void)snprintf(counts, sizeof counts, "%lld predictions",
                   (long long)j->n_reason[CS_REASON_NONE]);
    cs_stream_summary("segmented", counts, &stat);
out:
    return rc;
}

static int predict_run(const cs_call *call)
{
    int rc = CS_OK;
    struct job j = { .n_reason = { 0 } };

    CS_TRY(predict_prepare(&j));
    const cs_about about = cs_call_about(call, &from.input.file, j.run.model, j.run.model_path);
    CS_TRY(predict(&j, &about));
out:
    cs_token_output_release(&j.out);
    cs_records_close(&j.run, &from);
    return rc;
}

const cs_command cs_cmd_predict = {
    .name = "predict",
    .summary = "classify every base",
    .usage = "[OPTIONS] [FILE...]",
    .tables = predict_tables,
    .operands = &from.input.file,
    .run = predict_run,
};

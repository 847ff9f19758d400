/* predict.c - predict a class per base: `chordseq predict`. */
#include <stdlib.h>

#include "base/log.h"
#include "infer/window_hmm.h"
#include "pipelines/command.h"
#include "run/records.h"
#include "run/token_output.h"

/* cs_token_format, and CS_TOKENS_AUTO, which is replaced before anything else sees it. */
static const char *const formats[] = { "bed", "tsv", "bedgraph", "auto", NULL };

/* Chosen on prophages, organelle insertions and sequences without any, of families outside of
 * training: tests/bench/results/README.md. */
enum { WINDOW = 3000 };    /* bases */
#define PENALTY 3.0

struct predict_args {
    const char *output, *class_name;
    int format;
    double penalty;
    cs_prior_args prior;
};

struct job {
    cs_records      run;
    cs_token_output out;
    cs_window_hmm   hmm;         /* of a model that predicts per sequence */
    double         *prior;       /* its shares of classes, or NULL */
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
      .arg = "FORMAT", .def = "auto",
      .help = "output format: bed, tsv, bedgraph or auto (by the name)",
      .man = "auto uses the suffix: tsv for .tsv and .csv, bedgraph for .bedgraph, .bdg and .bg, "
             "also before .gz, otherwise bed. bed: a line for every run of bases of one class. "
             "tsv: a line for every base, with all probabilities. bedgraph: the probability of "
             "one class along the sequence.",
      .choice = formats },
    { .type = CS_OPT_STR, .name = "class", .off = offsetof(struct predict_args, class_name),
      .arg = "NAME", .help = "with bedgraph, class whose probability is written" },
    { .type = CS_OPT_GROUP, .name = "Regions" },
    { .type = CS_OPT_REAL, .name = "switch-penalty", .off = offsetof(struct predict_args, penalty),
      .arg = "NUM", .def = "auto", .choice = cs_opt_auto,
      .help = "cost of a change of class, in nats; auto: 3",
      .man = "For models with one prediction per sequence. A region inside a record has two "
             "changes. A larger cost gives fewer and longer regions.", .min = 0, .max = 700 },
    { .type = CS_OPT_END }
};

static const cs_optset predict_tables[] = {
    { cs_input_table, &from.input, NULL }, CS_RECORD_MODEL_TABLES(from),
    { predict_table, &own, NULL }, { cs_prior_table, &own.prior, NULL }, CS_RECORD_RUN_TABLES(from),
    { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

static int sink(void *job, const cs_record *r, const cs_prediction *a)
{
    struct job *j = job;
    const int rc = a->reason ? CS_OK : cs_token_output_record(&j->out, r, a);

    j->n_reason[a->reason]++;
    return rc == CS_OK ? cs_shard_written(j->run.shard) : rc;
}

static int sink_of_windows(void *job, const cs_record *window, const cs_prediction *a)
{
    struct job *j = job;
    cs_prediction whole;
    int rc = CS_OK;

    CS_TRY(cs_window_hmm_add(&j->hmm, window, a, &whole));
    if (whole.n == 0)
        return CS_OK;
    if (!whole.reason)
        CS_TRY(cs_token_output_parts(&j->out, cs_record_name(window), &whole, j->hmm.cell));
    j->n_reason[whole.reason]++;
    rc = cs_shard_written(j->run.shard);
out:
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int find_shown(struct job *j)
{
    own.format = (int)cs_token_format_of((cs_token_format)own.format, own.output);
    if (own.class_name == NULL)
        return own.format == CS_TOKENS_BEDGRAPH
                   ? cs_fail(CS_EUSAGE, "format bedgraph is for one class; give it with --class")
                   : CS_OK;
    if (own.format != CS_TOKENS_BEDGRAPH)
        return cs_fail(CS_EUSAGE, "--class needs --format bedgraph");
    return cs_model_label_of(j->run.model, own.class_name, &j->out.shown);
}

/* A model that predicts per sequence reads windows. */
static int set_regions(struct job *j)
{
    int rc = CS_OK;
    const cs_head *h = j->run.model->head;
    cs_policy_args *p = &from.policy;

    if (cs_model_predicts_masked(j->run.model))
        return cs_fail(CS_EMODEL, "the model predicts masked tokens, not classes; 'chordseq "
                       "variant --score llr' scores alleles with it, 'chordseq train --init' "
                       "trains it for classes");
    if (h->per_token)
        return own.penalty < 0 ? cs_prior_new(&own.prior, j->run.model, &j->prior)
               : cs_fail(CS_EUSAGE, "--switch-penalty is for models that predict per sequence; "
                         "this one predicts per token");
    if (!h->is_class && cs_model_parts(j->run.model) > 1)
        return CS_OK;                    /* of variants: cs_records_open() names the command */
    if (!h->is_class)
        return cs_fail(CS_EMODEL, "the model predicts %s, not classes; see 'chordseq classify'",
                       h->is_labels ? "labels that do not exclude each other" : "values");
    if (p->on_long != CS_LONG_WHOLE && p->on_long != CS_LONG_WINDOW)
        return cs_fail(CS_EUSAGE, "with a model that predicts per sequence, --long-sequence "
                       "can only be window");
    p->on_long = CS_LONG_WINDOW;
    p->default_window = WINDOW;
    j->hmm.policy = &j->run.policy;
    j->hmm.penalty = own.penalty < 0 ? PENALTY : own.penalty;
    j->out.parts = true;
    CS_TRY(cs_prior_new(&own.prior, j->run.model, &j->prior));
    j->hmm.prior = j->prior;
out:
    return rc;
}

static int predict_prepare(struct job *j)
{
    int rc = CS_OK;

    CS_TRY(cs_records_load(&j->run, &from));
    CS_TRY(set_regions(j));
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
            cs_warn("%lld %s no prediction and no line: %s", (long long)j->n_reason[r],
                    CS_PLURAL(j->n_reason[r], "record has", "records have"),
                    cs_reason_name((cs_reason)r));
}

static void cut_records(struct job *j, cs_stream *s)
{
    if (!j->hmm.policy)
        return;
    cs_stream_own_next(s, &j->hmm.next, &j->hmm.source);
    j->hmm.in = s->in;
    s->next = cs_window_hmm_next;
    s->source = &j->hmm;
    s->unit = "window";
    s->sink = sink_of_windows;
}

/* Count records, not windows. */
static void count_records(const struct job *j, cs_stream_stat *stat)
{
    if (!j->hmm.policy)
        return;
    stat->n_record = j->hmm.n_record;
    stat->n_base = j->hmm.n_base;
    cs_info("records of up to %lld bases were read in windows", (long long)j->hmm.longest);
}

static int predict(struct job *j, const cs_about *about)
{
    int rc = CS_OK;
    char counts[64];
    cs_stream_stat stat;
    cs_stream s = cs_records_stream(&j->run, &from, sink, j);

    CS_TRY(cs_shard_read(j->run.shard, &s));
    cut_records(j, &s);
    CS_TRY(cs_shard_add_file(j->run.shard, "output", own.output, j->out.file));
    CS_TRY(cs_stream_run(&s, &stat));
    count_records(j, &stat);
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

static int predict_run(const cs_command_line *cmdline)
{
    int rc = CS_OK;
    struct job j = { .n_reason = { 0 } };

    CS_TRY(predict_prepare(&j));
    const cs_about about = cs_command_about(cmdline, &from.input.file, j.run.model,
                                            j.run.model_path);
    CS_TRY(predict(&j, &about));
out:
    cs_token_output_release(&j.out);
    cs_window_hmm_release(&j.hmm);
    free(j.prior);
    cs_records_close(&j.run, &from);
    return rc;
}

const cs_command cs_cmd_predict = {
    .name = "predict",
    .summary = "find classes along sequences",
    .usage = "[OPTIONS] [FILE...]",
    .tables = predict_tables,
    .operands = &from.input.file,
    .run = predict_run,
};

/* predict.c - predict a class per token: `chordseq predict`. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "pipelines/command.h"
#include "run/records.h"

enum { FORMAT_BED, FORMAT_TSV, FORMAT_BEDGRAPH };
static const char *const formats[] = { "bed", "tsv", "bedgraph", NULL };

struct predict_args { const char *output, *class_name; int format; };

struct job {
    cs_records  run;
    cs_outfile *out;
    int32_t     shown;           /* class of bedgraph */
    int64_t     n_reason[CS_N_REASON];
    /* reused memory: the present record's tokens and their positions */
    int32_t    *id;
    void       *work;
    int64_t    *cell;
    size_t      n_id, n_work, n_cell;
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

/* ---- one record ------------------------------------------------------------------------------ */

/* Tokenise again: a token's bases may depend on it, and tokenising is cheap against the network. */
static int find_cells(struct job *j, const cs_record *r, int64_t n)
{
    const cs_tokenizer *t = j->run.model->tok;
    const void *state = j->run.model->tok_state;
    const cs_segment *s = &r->seg[0];

    if (cs_grow((void **)&j->id, &j->n_id, (size_t)t->bound(state, s->n_base),
                sizeof *j->id) != CS_OK ||
        cs_grow(&j->work, &j->n_work, cs_tokenizer_work(t, state, s->n_base), 1) != CS_OK ||
        cs_grow((void **)&j->cell, &j->n_cell, (size_t)n + 1, sizeof *j->cell) != CS_OK)
        return CS_EMEM;
    CS_BUG(t->encode(state, s, j->work, j->id) != n);
    t->cells(state, s, j->id, n, j->cell);
    return CS_OK;
}

static int32_t best(const float *p, int32_t n)
{
    int32_t b = 0;

    for (int32_t c = 1; c < n; c++)
        if (p[c] > p[b])
            b = c;
    return b;
}

/* Runs of one class: BED's six columns, with 1000 times the mean probability over the run's bases
 * as the score, and that probability itself. */
static int put_runs(struct job *j, const char *name, const float *p, int64_t n)
{
    const int32_t k = j->run.model->n_label;
    int rc = CS_OK;

    for (int64_t i = 0, end; i < n; i = end) {
        const int32_t c = best(p + i * k, k);
        double sum = 0;
        for (end = i; end < n && best(p + end * k, k) == c; end++)
            sum += (double)p[end * k + c] * (double)(j->cell[end + 1] - j->cell[end]);
        const double mean = sum / (double)(j->cell[end] - j->cell[i]);
        CS_TRY(cs_outfile_printf(j->out, "%s\t%lld\t%lld\t%s\t%d\t.\t%.6f\n", name,
                                 (long long)j->cell[i], (long long)j->cell[end],
                                 j->run.model->label[c].name, (int)(1000 * mean + 0.5), mean));
    }
out:
    return rc;
}

static int put_base(struct job *j, const char *name, int64_t at, const float *p)
{
    const int32_t k = j->run.model->n_label;
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(j->out, "%s\t%lld\t%s", name, (long long)at,
                             j->run.model->label[best(p, k)].name));
    for (int32_t c = 0; c < k; c++)
        CS_TRY(cs_outfile_printf(j->out, "\t%.6f", (double)p[c]));
    rc = cs_outfile_printf(j->out, "\n");
out:
    return rc;
}

static int put_bases(struct job *j, const char *name, const float *p, int64_t n)
{
    int rc = CS_OK;

    for (int64_t i = 0; i < n; i++)
        for (int64_t at = j->cell[i]; at < j->cell[i + 1]; at++)
            CS_TRY(put_base(j, name, at, p + i * j->run.model->n_label));
out:
    return rc;
}

static int put_graph(struct job *j, const char *name, const float *p, int64_t n)
{
    const int32_t k = j->run.model->n_label;
    int rc = CS_OK;

    for (int64_t i = 0; i < n; i++)
        CS_TRY(cs_outfile_printf(j->out, "%s\t%lld\t%lld\t%.6f\n", name, (long long)j->cell[i],
                                 (long long)j->cell[i + 1], (double)p[i * k + j->shown]));
out:
    return rc;
}

static int put_header(struct job *j)
{
    int rc = CS_OK;

    if (own.format != FORMAT_TSV)
        return CS_OK;
    CS_TRY(cs_outfile_printf(j->out, "record\tposition\tclass"));
    for (int32_t c = 0; c < j->run.model->n_label; c++)
        CS_TRY(cs_outfile_printf(j->out, "\t%s", j->run.model->label[c].name));
    rc = cs_outfile_printf(j->out, "\n");
out:
    return rc;
}

static int put_record(struct job *j, const cs_record *r, const cs_prediction *a)
{
    const int64_t n = a->n / j->run.model->n_label;
    const int rc = find_cells(j, r, n);

    if (rc != CS_OK)
        return rc;
    if (own.format == FORMAT_TSV)
        return put_bases(j, cs_record_name(r), a->v, n);
    return own.format == FORMAT_BED ? put_runs(j, cs_record_name(r), a->v, n)
                                    : put_graph(j, cs_record_name(r), a->v, n);
}

static int sink(void *job, const cs_record *r, const cs_prediction *a)
{
    struct job *j = job;
    const int rc = a->reason ? CS_OK : put_record(j, r, a);

    j->n_reason[a->reason]++;
    return rc == CS_OK ? cs_shard_written(j->run.shard) : rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int find_shown(struct job *j)
{
    if (own.class_name == NULL)
        return own.format == FORMAT_BEDGRAPH
                   ? cs_fail(CS_EUSAGE, "--format bedgraph is for one class; give it with --class")
                   : CS_OK;
    if (own.format != FORMAT_BEDGRAPH)
        return cs_fail(CS_EUSAGE, "--class needs --format bedgraph");
    return cs_model_label_of(j->run.model, own.class_name, &j->shown);
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
    rc = cs_outfile_open_as(own.output, NULL, own.format == FORMAT_TSV ? CS_OUT_TABLE : CS_OUT_TEXT,
                            &j->out);
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

    CS_TRY(put_header(j));
    CS_TRY(cs_shard_read(j->run.shard, &s));
    CS_TRY(cs_shard_add_file(j->run.shard, "output", own.output, j->out));
    CS_TRY(cs_stream_run(&s, &stat));
    CS_TRY(cs_shard_end(j->run.shard));
    rc = cs_outfile_close(j->out);
    j->out = NULL;
    CS_TRY(rc);
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

static void predict_release(struct job *j)
{
    cs_outfile_discard(j->out);
    cs_records_close(&j->run, &from);
    CS_FREE(j->id, j->work, j->cell);
}

static int predict_run(const cs_call *call)
{
    int rc = CS_OK;
    struct job j = { .out = NULL };

    CS_TRY(predict_prepare(&j));
    const cs_about about = cs_call_about(call, &from.input.file, j.run.model, j.run.model_path);
    CS_TRY(predict(&j, &about));
out:
    predict_release(&j);
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

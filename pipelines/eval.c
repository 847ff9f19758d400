/* eval.c - evaluate a model on labelled records: `chordseq eval`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "eval/calibrate.h"
#include "eval/eval_html.h"
#include "eval/scores_io.h"
#include "pipelines/command.h"
#include "run/outputs.h"
#include "train/evaluate.h"
#include "train/labelled.h"
#include "train/provenance.h"

/* Bases read before evaluation: memory besides one record and the scores. */
enum { MAX_LIST = 32, PATH_BYTES = 4096, N_OUT = 5 };

struct eval_args {
    const char *fragments, *bins, *output, *json, *html, *calibrate, *scores;
    int64_t     per_record, batch_tokens, seed;
    double      tolerance, threshold;
};

static struct eval_args own;
static cs_input_args input;
static cs_label_args label;
static cs_model_args model;
static cs_policy_args policy;
static cs_compute_args compute;
static cs_device_args device;

#define EVAL(field) .off = offsetof(struct eval_args, field)

static const cs_opt eval_table[] = {
    { .type = CS_OPT_GROUP, .name = "Evaluation" },
    { .type = CS_OPT_STR, .name = "bins", EVAL(bins), .arg = "LIST",
      .def = "500,1000,3000,10000,50000",
      .help = "boundaries of length bins in bases, comma-separated" },
    { .type = CS_OPT_STR, .name = "fragments", EVAL(fragments), .arg = "LIST",
      .help = "also evaluate pieces of these lengths, cut from the records",
      .man = "Positions are random (--seed) and do not overlap. Records shorter than a length "
             "have no piece of it." },
    { .type = CS_OPT_INT, .name = "fragments-per-record", EVAL(per_record), .arg = "NUM",
      .def = "1", .help = "maximum pieces of each length per record", .min = 1, .max = 1e6 },
    { .type = CS_OPT_REAL, .name = "tolerance", EVAL(tolerance), .arg = "NUM", .def = "0.04",
      .help = "largest error of a correct value", .min = 0, .max = 1e9 },
    { .type = CS_OPT_REAL, .name = "threshold", EVAL(threshold), .arg = "NUM", .def = "0.5",
      .help = "with head multilabel, probability threshold of a label", .min = 0,
      .max = 1 },
    { .type = CS_OPT_INT, .name = "seed", EVAL(seed), .arg = "NUM", .def = "1",
      .help = "seed for the positions of pieces", .min = 0, .max = 9e15 },
    { .type = CS_OPT_SIZE, .letter = 'B', .name = "batch-tokens", EVAL(batch_tokens),
      .arg = "NUM", .def = "auto", .choice = cs_opt_auto,
      .help = "tokens per batch, or auto",
      .min = 1, .max = 1e9,
      .man = "A longer sequence forms a batch of its own. auto is what fits into memory, at most "
             "65536 on the CPU; see chordseq-classify(1)." },
    { .type = CS_OPT_GROUP, .name = "Output" },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output", EVAL(output), .arg = "FILE",
      .def = "-", .help = "table of all metrics; '-' is standard output" },
    { .type = CS_OPT_OUT, .name = "json", EVAL(json), .arg = "FILE",
      .help = "metrics as one JSON object" },
    { .type = CS_OPT_OUT, .name = "html", EVAL(html), .arg = "FILE",
      .help = "HTML report: classes, confusion matrix, curves, lengths, confidence",
      .man = "It is self-contained and supports print and dark mode." },
    { .type = CS_OPT_OUT, .name = "calibrate", EVAL(calibrate), .arg = "FILE",
      .help = "calibrate the model and write it to this file",
      .man = "Fitted for each length range of --bins to all evaluated records and pieces, "
             "replacing an earlier calibration. The --strand of the evaluation becomes the "
             "model's. Training records make a calibration overconfident: exclude them by "
             "--split." },
    { .type = CS_OPT_OUT, .name = "scores", EVAL(scores), .arg = "FILE",
      .help = "table of all predictions with the truth, uncalibrated",
      .man = "For 'chordseq model calibrate', which takes the tables of several models." },
    { .type = CS_OPT_END }
};

static const cs_optset eval_tables[] = {
    { cs_input_table, &input, NULL }, { cs_label_table, &label, NULL },
    { cs_model_table, &model, NULL }, { cs_policy_table, &policy, NULL },
    { eval_table, &own, NULL }, { cs_compute_table, &compute, NULL },
    { cs_device_table, &device, NULL }, { cs_log_table, &cs_command_logs, NULL }, { 0 }
};

/* One set of predictions per length of pieces, and the first for whole records. */
struct job {
    cs_backend  *be;
    cs_model    *model;
    cs_labelled  labelled;
    cs_dataset   data;
    cs_policy    policy;
    cs_evaluation     evaluate;
    int64_t      bin[MAX_LIST], piece[MAX_LIST];
    int          n_bin, n_piece;
    cs_scores    scores[MAX_LIST + 1];
    cs_counts    counts[MAX_LIST + 1];   /* of a model with predictions per token */
    int64_t      n_without;
    double       seconds;        /* spent on evaluation */
    char         path[PATH_BYTES];
    cs_outfile  *tsv, *json, *html, *calibrated, *rows;
};

static int open_model(struct job *j, const cs_split *split)
{
    int rc = CS_OK;
    const cs_call_args usual = { .min_prob = -1, .max_error = -1 };

    CS_TRY(cs_args_model(model.model, j->path, sizeof j->path));
    CS_TRY(cs_device_open_all(&device, split->work, &j->be));
    CS_TRY(cs_model_load(j->path, j->be, false, &j->model));
    cs_device_validated(&device, j->model);
    /* A fit needs uncalibrated predictions; otherwise calls are those of classify. */
    const bool fits = own.calibrate != NULL || own.scores != NULL,
               raw = fits || !j->model->head->is_class || cs_policy_taxa(&usual, j->model);
    CS_TRY(cs_policy_init(&j->policy, &policy, raw ? NULL : &usual, j->model));
    j->policy.uncalibrated = fits;
    j->evaluate = (cs_evaluation){ .model = j->model, .policy = &j->policy,
                           .batch_tokens = own.batch_tokens, .n_thread = split->work };
out:
    return rc;
}

/* ---- one block of records -------------------------------------------------------------------- */

/* Samples of the block: whole records (len 0), or pieces of one length. */
static int list_samples(struct job *j, int64_t len, cs_sample **out, int64_t *n)
{
    const cs_dataset *d = &j->data;
    const int64_t each = len > 0 ? own.per_record : 1;
    size_t cap = 0;

    *out = NULL;
    *n = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t n_base = d->ex[i].n_base;
        const int64_t slots = len > 0 ? n_base / len : 1, k = slots < each ? slots : each;
        if (k == 0 || !cs_evaluate_wants(&j->labelled, &d->ex[i]))
            continue;
        if (cs_grow((void **)out, &cap, (size_t)(*n + k), sizeof **out) != CS_OK)
            return CS_EMEM;
        if (len > 0)
            cs_dataset_cut(d, i, len, k, (uint64_t)own.seed, *out + *n);
        else
            (*out)[*n] = (cs_sample){ .example = i, .n_base = n_base };
        *n += k;
    }
    return CS_OK;
}

static int evaluate_block(void *job)
{
    int rc = CS_OK;
    struct job *j = job;
    cs_sample *sample = NULL;
    int64_t n;

    for (int s = 0; s <= j->n_piece; s++) {
        CS_TRY(list_samples(j, s > 0 ? j->piece[s - 1] : 0, &sample, &n));
        j->evaluate.counts = j->model->head->per_token ? &j->counts[s] : NULL;
        CS_TRY(cs_evaluate_samples(&j->evaluate, &j->data, sample, n, &j->scores[s],
                                   &j->n_without));
        free(sample);
        sample = NULL;
    }
out:
    free(sample);
    return rc;
}

static int evaluate_all(struct job *j)
{
    struct timespec from, to;

    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    const int rc = cs_evaluate_blocks(&j->labelled, j->model, &j->data, evaluate_block, j,
                                   &j->n_without);
    (void)clock_gettime(CLOCK_MONOTONIC, &to);
    j->seconds = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);

    if (rc == CS_OK && j->scores[0].n + j->counts[0].n == 0)
        return cs_fail(CS_EFORMAT, "the input has no record to evaluate");
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int merge_scores(const struct job *j, cs_scores *all)
{
    int rc = CS_OK;

    for (int s = 0; s <= j->n_piece; s++) {
        const cs_scores *from = &j->scores[s];
        for (int64_t i = 0; i < from->n; i++)
            CS_TRY(cs_scores_add(all, from->output + i * from->n_out,
                                 from->target + i * from->n_target, from->length[i]));
    }
out:
    return rc;
}

static int calibrate(struct job *j)
{
    int rc = CS_OK;
    cs_scores all;
    cs_model *m = j->model;

    if (own.calibrate == NULL)
        return CS_OK;
    cs_scores_init(&all, true, j->scores[0].n_out, j->scores[0].n_target);
    CS_TRY(merge_scores(j, &all));
    CS_TRY(cs_evaluate_fit(m, own.calibrate, &all, j->bin, j->n_bin));
    m->strands = j->policy.strands;
    CS_TRY(cs_model_write(m, false, j->calibrated));
    for (int b = 0; b < m->calibration.n; b++)
        cs_note("from %lld bases: temperature %.3f, fitted to %lld records",
                (long long)m->calibration.bin[b].from, m->calibration.bin[b].temperature,
                (long long)m->calibration.bin[b].n);
out:
    cs_scores_release(&all);
    return rc;
}

static int eval_report(struct job *j, const char *command)
{
    int rc = CS_OK;
    cs_eval_ranks ranks;
    const cs_eval_report r = {
        .model = j->model, .scores = j->scores, .piece = j->piece, .n_piece = j->n_piece,
        .counts = j->model->head->per_token ? j->counts : NULL,
        .bin = j->bin, .n_bin = j->n_bin, .tolerance = own.tolerance,
        .ranks = &ranks, .raw = j->policy.uncalibrated,
    };

    CS_TRY(cs_eval_ranks_init(&ranks, j->model, j->path, &j->labelled.classes));
    CS_TRY(cs_eval_write(&r, j->tsv, j->json));
    if (j->html)
        rc = cs_eval_html(&r, j->html, j->seconds, command);
out:
    cs_eval_ranks_release(&ranks);
    return rc;
}

static int write_scores(struct job *j)
{
    int rc = CS_OK;

    if (!j->rows)
        return CS_OK;
    CS_TRY(cs_scores_head(j->model->label, j->model->n_label, j->rows));
    for (int s = 0; s <= j->n_piece; s++)
        CS_TRY(cs_scores_rows(&j->scores[s], j->model->label, j->rows));
out:
    return rc;
}

static int report_and_calibrate(struct job *j, const char *command)
{
    int rc = CS_OK;

    CS_TRY(eval_report(j, command));
    CS_TRY(calibrate(j));
    CS_TRY(write_scores(j));
    rc = cs_outputs_appear((cs_outfile **const[]){ &j->tsv, &j->json, &j->html, &j->calibrated,
                                                   &j->rows }, N_OUT);
out:
    return cs_outputs_explain(rc, 1 + (own.json != NULL) + (own.html != NULL)
                                  + (own.calibrate != NULL) + (own.scores != NULL));
}

/* Before the evaluation, which may take hours. */
static int eval_open_outputs(struct job *j)
{
    int rc = CS_OK;
    const char *const path[] = { own.output, own.json, own.html, own.calibrate,
                                 own.scores };

    CS_TRY(cs_outputs_apart(path, N_OUT));
    if (own.calibrate != NULL)
        CS_TRY(cs_outfile_open(own.calibrate, &j->calibrated));
    if (own.scores != NULL)
        CS_TRY(cs_outfile_open(own.scores, &j->rows));
    CS_TRY(cs_outfile_open_as(own.output, NULL, CS_OUT_TABLE, &j->tsv));
    if (own.json != NULL)
        CS_TRY(cs_outfile_open(own.json, &j->json));
    if (own.html != NULL)
        rc = cs_outfile_open(own.html, &j->html);
out:
    return rc;
}

static int eval_prepare(struct job *j)
{
    int rc = CS_OK;
    const cs_split split = cs_args_split(&compute);
    cs_input_opt how;

    CS_TRY(cs_evaluate_lengths("bins", own.bins, MAX_LIST, j->bin, &j->n_bin));
    CS_TRY(cs_evaluate_lengths("fragments", own.fragments, MAX_LIST, j->piece, &j->n_piece));
    CS_TRY(open_model(j, &split));
    const cs_model *m = j->model;
    CS_TRY(cs_args_reading(&input, split.inflate, &how));
    how.alphabet = cs_tokenizer_alphabet(m->tok, m->tok_state);
    CS_TRY(cs_labelled_open(&label, &input, &how, m, m->head, &j->labelled));
    if (m->tok != NULL)
        j->labelled.min_base = m->tok->min_base(m->tok_state);
    for (int s = 0; s <= j->n_piece; s++) {
        cs_scores_for(&j->scores[s], m);
        j->scores[s].threshold = own.threshold;
        if (m->head->per_token)
            CS_TRY(cs_counts_init(&j->counts[s], m->n_label));
    }
    if (m->tok != NULL && j->n_piece > 0 && j->piece[0] < j->labelled.min_base)
        rc = cs_fail(CS_EUSAGE, "pieces of %lld bases have no tokens; the model needs %lld bases",
                     (long long)j->piece[0], (long long)j->labelled.min_base);
    else if ((own.calibrate != NULL || own.html != NULL || own.scores != NULL)
             && (!m->head->is_class || m->head->per_token))
        rc = cs_fail(CS_EUSAGE, "--%s is for classes of sequences, but the model predicts %s",
                     own.calibrate != NULL ? "calibrate" : own.html != NULL ? "html" : "scores",
                     m->head->per_token ? "those of tokens"
                     : m->head->is_labels ? "labels that do not exclude each other" : "values");
    else if (m->tok == NULL && j->n_piece > 0)
        rc = cs_fail(CS_EUSAGE, "--fragments is for sequences, but the model takes real values");
    if (rc == CS_OK)
        rc = eval_open_outputs(j);
out:
    return rc;
}

static void eval_release(struct job *j)
{
    for (int s = 0; s <= j->n_piece; s++) {
        cs_scores_release(&j->scores[s]);
        cs_counts_release(&j->counts[s]);
    }
    if (j->data.mem != NULL)
        cs_dataset_release(&j->data);
    cs_outfile_discard(j->tsv);
    cs_outfile_discard(j->json);
    cs_outfile_discard(j->html);
    cs_outfile_discard(j->calibrated);
    cs_outfile_discard(j->rows);
    cs_labelled_close(&j->labelled);
    cs_model_free(j->model);
    cs_backend_close(j->be);
}

static int eval_run(const cs_call *call)
{
    int rc = CS_OK;
    struct job j = { 0 };
    char *command = cs_about_line(&(cs_about){ .argc = call->argc, .argv = call->argv });

    CS_TRY(eval_prepare(&j));
    CS_TRY(evaluate_all(&j));
    cs_provenance_log(j.model->training);
    rc = report_and_calibrate(&j, command);
out:
    eval_release(&j);
    free(command);
    cs_args_release(&input);
    return rc;
}

const cs_command cs_cmd_eval = {
    .name = "eval",
    .summary = "evaluate a model on labelled sequences",
    .usage = "[OPTIONS] [FILE...]",
    .tables = eval_tables,
    .operands = &input.file,
    .run = eval_run,
};

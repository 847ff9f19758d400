/* model_evaluate.c - evaluate a model on labelled records: metrics, reports, calibration. */
#include "tools/model_evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "eval/calibrate.h"
#include "eval/eval_html.h"
#include "eval/scores_io.h"
#include "run/outputs.h"
#include "train/evaluate.h"
#include "train/provenance.h"

enum { MAX_LIST = 32, PATH_BYTES = 4096, N_OUT = 5 };

/* One set of predictions per length of pieces, and the first for whole records. */
struct job {
    cs_evaluate_args *a;
    cs_backend  *be;
    cs_model    *model;
    cs_labelled  labelled;
    cs_dataset   data;
    cs_policy    policy;
    double      *share;          /* [n_label] of classes, with --prior */
    cs_evaluation evaluate;
    int64_t      bin[MAX_LIST], piece[MAX_LIST];
    int          n_bin, n_piece;
    cs_scores    scores[MAX_LIST + 1];
    cs_token_counts counts[MAX_LIST + 1];   /* of a model with predictions per token */
    int64_t      n_without[CS_N_REASON];
    double       seconds;        /* spent on evaluation */
    char         path[PATH_BYTES];
    cs_outfile  *tsv, *json, *html, *calibrated, *rows;
};

/* Calls are those of classify. A fit needs uncalibrated predictions, taxa and labels have no calls
 * here. */
static int set_policy(struct job *j)
{
    int rc = CS_OK;
    const cs_prior_args *shares = &j->a->prior;
    const cs_call_args usual = { .min_prob = -1, .max_error = -1, .prior = *shares },
                       best = { .max_error = -1, .prior = *shares };
    const bool fits = j->a->calibrate != NULL, given = shares->list || shares->file,
               raw = fits || !j->model->head->is_class || cs_policy_taxa(&usual, j->model);

    if (given && (fits || j->a->scores))
        return cs_fail(CS_EUSAGE, "--%s and --%s exclude each other: a calibration is for equal "
                       "shares of classes", fits ? "calibrate" : "scores",
                       shares->list ? "prior" : "prior-file");
    CS_TRY(cs_policy_init(&j->policy, &j->a->policy, !raw ? &usual : given ? &best : NULL,
                          j->model));
    j->policy.uncalibrated = fits;
    /* Reports apply thresholds at several rates, and need the other reasons for no call of all. */
    memset(j->policy.class_min_prob, 0, sizeof j->policy.class_min_prob);
    if (j->policy.prior) {
        j->share = cs_xcalloc((size_t)j->model->n_label, sizeof *j->share);
        cs_prior_shares(j->policy.prior, j->model->n_label, j->share);
    }
out:
    return rc;
}

static int open_model(struct job *j, const cs_thread_counts *threads)
{
    int rc = CS_OK;

    CS_TRY(cs_args_model(j->a->model.model, j->path, sizeof j->path));
    CS_TRY(cs_device_open_all(&j->a->device, threads->work, &j->be));
    CS_TRY(cs_model_load(j->path, j->be, CS_USE_INFERENCE, &j->model));
    cs_device_auto_precision(&j->a->device, j->model);
    CS_TRY(set_policy(j));
    j->evaluate = (cs_evaluation){ .model = j->model, .policy = &j->policy,
                           .batch_tokens = j->a->batch_tokens, .n_thread = threads->work };
out:
    return rc;
}

/* ---- one block of records -------------------------------------------------------------------- */

/* Samples of the block: whole records (len 0), or pieces of one length. */
static int list_samples(struct job *j, int64_t len, cs_sample **out, int64_t *n)
{
    const cs_dataset *d = &j->data;
    const int64_t each = len > 0 ? j->a->per_record : 1;
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
            cs_dataset_cut(d, i, len, k, (uint64_t)j->a->seed, *out + *n);
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
                                   j->n_without));
        free(sample);
        sample = NULL;
    }
out:
    free(sample);
    return rc;
}

static int evaluate_all(struct job *j)
{
    const double from = cs_now_s();
    const int rc = cs_evaluate_blocks(&j->labelled, j->model, &j->data, evaluate_block, j,
                                      j->n_without);

    j->seconds = cs_now_s() - from;
    if (rc == CS_OK && j->scores[0].n + j->counts[0].n == 0)
        return cs_fail(CS_EFORMAT, "the input has no record to evaluate");
    return rc;
}

/* ---- outputs ----------------------------------------------------------------------------- */

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

    if (j->a->calibrate == NULL)
        return CS_OK;
    cs_calibration *earlier = cs_xmalloc(sizeof *earlier);
    *earlier = m->calibration;
    cs_scores_init(&all, true, j->scores[0].n_out, j->scores[0].n_target);
    CS_TRY(merge_scores(j, &all));
    CS_TRY(cs_evaluate_calibrate(m, j->a->calibrate, &all, j->bin, j->n_bin));
    cs_calibrate_keep_conditions(&m->calibration, &all, earlier);
    m->strands = j->policy.strands;
    CS_TRY(cs_model_write(m, j->calibrated));
    for (int b = 0; b < m->calibration.n; b++)
        cs_note("from %lld bases: temperature %.3f, fitted to %lld records",
                (long long)m->calibration.bin[b].from, m->calibration.bin[b].temperature,
                (long long)m->calibration.bin[b].n);
    if (m->calibration.max_error > 0)
        cs_note("maximum error rate of calls %g, as before; shortest sequence with a call: %lld "
                "bases", m->calibration.max_error, (long long)m->calibration.shortest);
out:
    cs_scores_release(&all);
    free(earlier);
    return rc;
}

static int write_report(struct job *j, const char *command)
{
    int rc = CS_OK;
    cs_eval_ranks ranks;
    const cs_eval_report r = {
        .model = j->model, .scores = j->scores, .piece = j->piece, .n_piece = j->n_piece,
        .counts = j->model->head->per_token ? j->counts : NULL,
        .bin = j->bin, .n_bin = j->n_bin, .tolerance = j->a->tolerance,
        .ranks = &ranks, .raw = j->policy.uncalibrated, .share = j->share,
    };

    CS_TRY(cs_eval_ranks_init(&ranks, j->model, j->path, &j->labelled.classes));
    CS_TRY(cs_eval_write(&r, j->tsv, j->json));
    if (j->html)
        rc = cs_eval_html(&r, j->html, j->seconds, command);
out:
    cs_eval_ranks_release(&ranks);
    return rc;
}

/* The logits were divided by a temperature: multiply their differences by it. */
static void uncalibrate(const cs_model *m, cs_scores *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        float *p = s->output + i * s->n_out;
        const int bin = cs_calibration_find(&m->calibration, s->length[i]);
        for (int32_t k = 0; bin >= 0 && k < s->n_out; k++)
            p[k] = logf(p[k]);
        if (bin >= 0)
            m->head->decide(m->head_net, p, s->n_out, 1 / m->calibration.bin[bin].temperature);
    }
}

/* After the reports, which the predictions of classify are for. */
static int write_scores(struct job *j)
{
    int rc = CS_OK;

    if (!j->rows)
        return CS_OK;
    CS_TRY(cs_scores_head(j->model->label, j->model->n_label, j->rows));
    for (int s = 0; s <= j->n_piece; s++) {
        if (!j->policy.uncalibrated)
            uncalibrate(j->model, &j->scores[s]);
        CS_TRY(cs_scores_rows(&j->scores[s], j->model->label, j->rows));
    }
out:
    return rc;
}

static int report_and_calibrate(struct job *j, const char *command)
{
    int rc = CS_OK;

    CS_TRY(write_report(j, command));
    CS_TRY(calibrate(j));
    CS_TRY(write_scores(j));
    rc = cs_outputs_commit((cs_outfile **const[]){ &j->tsv, &j->json, &j->html, &j->calibrated,
                                                   &j->rows }, N_OUT);
out:
    return cs_outputs_explain(rc, 1 + (j->a->json != NULL) + (j->a->html != NULL)
                                  + (j->a->calibrate != NULL) + (j->a->scores != NULL), NULL);
}

/* Before the evaluation, which may take hours. */
static int open_outputs(struct job *j)
{
    int rc = CS_OK;
    const char *const path[] = { j->a->output, j->a->json, j->a->html, j->a->calibrate,
                                 j->a->scores };

    CS_TRY(cs_outputs_distinct(path, N_OUT));
    if (j->a->calibrate != NULL)
        CS_TRY(cs_outfile_open_as(j->a->calibrate, NULL, CS_OUT_BINARY, &j->calibrated));
    if (j->a->scores != NULL)
        CS_TRY(cs_outfile_open_as(j->a->scores, NULL, CS_OUT_TABLE, &j->rows));
    CS_TRY(cs_outfile_open_as(j->a->output, NULL, CS_OUT_TABLE, &j->tsv));
    if (j->a->json != NULL)
        CS_TRY(cs_outfile_open_as(j->a->json, NULL, CS_OUT_JSON, &j->json));
    if (j->a->html != NULL)
        rc = cs_outfile_open_as(j->a->html, NULL, CS_OUT_HTML, &j->html);
out:
    return rc;
}

/* Options that the model cannot serve. */
static int check_suits_model(const struct job *j)
{
    const cs_evaluate_args *a = j->a;
    const cs_model *m = j->model;

    if (m->tok != NULL && j->n_piece > 0 && j->piece[0] < j->labelled.min_base)
        return cs_fail(CS_EUSAGE, "--fragments %lld is too short for the model, which needs %lld "
                       "bases", (long long)j->piece[0], (long long)j->labelled.min_base);
    if ((a->calibrate != NULL || a->html != NULL || a->scores != NULL)
        && (!m->head->is_class || m->head->per_token))
        return cs_fail(CS_EUSAGE, "--%s is for classes of sequences, but the model predicts %s",
                       a->calibrate != NULL ? "calibrate" : a->html != NULL ? "html" : "scores",
                       m->head->per_token ? "those of tokens"
                       : m->head->is_labels ? "labels that do not exclude each other" : "values");
    if (j->n_piece == 0 && cs_opt_given(&a->per_record))
        return cs_fail(CS_EUSAGE, "--fragments-per-record needs --fragments");
    if (j->n_piece == 0 && cs_opt_given(&a->seed))
        cs_warn("--seed has no effect without --fragments");
    if (cs_opt_given(&a->tolerance) && (m->head->is_class || m->head->is_labels))
        return cs_fail(CS_EUSAGE, "--tolerance is for values, but the model predicts %s",
                       m->head->is_class ? "classes" : "labels");
    if (cs_opt_given(&a->threshold) && !m->head->is_labels)
        return cs_fail(CS_EUSAGE, "--threshold is for labels that do not exclude each other, but "
                       "the model predicts %s", m->head->is_class ? "classes" : "values");
    if (m->tok == NULL && j->n_piece > 0)
        return cs_fail(CS_EUSAGE, "--fragments is for sequences, but the model takes real values");
    return CS_OK;
}

static int prepare(struct job *j)
{
    int rc = CS_OK;
    const cs_thread_counts threads = cs_args_threads(&j->a->compute);

    CS_TRY(cs_evaluate_lengths("bins", j->a->bins, MAX_LIST, j->bin, &j->n_bin));
    CS_TRY(cs_evaluate_lengths("fragments", j->a->fragments, MAX_LIST, j->piece, &j->n_piece));
    CS_TRY(open_model(j, &threads));
    const cs_model *m = j->model;
    CS_TRY(cs_labelled_open_for(m, true, &j->a->label, &j->a->input, threads.inflate,
                                &j->labelled));
    for (int s = 0; s <= j->n_piece; s++) {
        cs_scores_for(&j->scores[s], m);
        j->scores[s].threshold = j->a->threshold;
        if (m->head->per_token)
            CS_TRY(cs_token_counts_init(&j->counts[s], m->n_label));
    }
    CS_TRY(check_suits_model(j));
    rc = open_outputs(j);
out:
    return rc;
}

static void release(struct job *j)
{
    for (int s = 0; s <= j->n_piece; s++) {
        cs_scores_release(&j->scores[s]);
        cs_token_counts_release(&j->counts[s]);
    }
    if (j->data.mem != NULL)
        cs_dataset_release(&j->data);
    cs_outfile_discard(j->tsv);
    cs_outfile_discard(j->json);
    cs_outfile_discard(j->html);
    cs_outfile_discard(j->calibrated);
    cs_outfile_discard(j->rows);
    cs_labelled_close(&j->labelled);
    cs_policy_release(&j->policy);
    free(j->share);
    cs_model_free(j->model);
    cs_backend_close(j->be);
}

int cs_model_evaluate(cs_evaluate_args *a, const char *command)
{
    int rc = CS_OK;
    struct job j = { .a = a };

    CS_TRY(prepare(&j));
    CS_TRY(evaluate_all(&j));
    cs_provenance_log(j.model->training);
    rc = report_and_calibrate(&j, command);
out:
    release(&j);
    return rc;
}

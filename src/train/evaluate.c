/* evaluate.c - predict samples of a dataset by the stages of classify. */
#include "train/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/outfile.h"
#include "base/log.h"
#include "eval/calibrate.h"
#include "eval/eval_html.h"
#include "infer/stream.h"
#include "infer/taxa.h"
#include "run/outputs.h"
#include "train/feed.h"
#include "train/metrics_table.h"

enum { WINDOW = 128, MIN_SAMPLES = 100, BLOCK_BASES = 64 << 20, FEW_VALUES = 1 << 18 };

/* Reader and writer of the stream. Predictions are in the order of the samples. One thread uses
 * `n_in`, another `n_out`. */
struct run {
    const cs_dataset *d;
    const cs_sample  *sample;
    int64_t           n, n_in, n_out;
    int64_t          *n_without; /* [CS_N_REASON] */
    cs_scores        *scores;
    cs_token_counts  *counts;    /* of tokens; then: */
    cs_batch_rules    rules;
    cs_feed_work      work;
};

static int next_sample(void *arg, cs_chunk *c)
{
    struct run *k = arg;

    if (k->n_in == k->n)
        return CS_EOF;
    const cs_sample *s = &k->sample[k->n_in++];
    const cs_example *e = &k->d->ex[s->example];
    cs_record *r = cs_chunk_append(c);
    if (r == NULL)
        return cs_fail(CS_EMEM, "out of memory for record '%s'", e->name);
    r->name = e->name;
    r->seg[0].n_base = s->n_base;
    if (e->x != NULL) {
        r->x = e->x + s->start * k->d->n_channel;
        r->n_channel = k->d->n_channel;
    } else {
        r->seg[0].base = e->base + s->start;
    }
    c->n_base += s->n_base;
    return CS_OK;
}

static int take_output(void *arg, const cs_record *r, const cs_prediction *a)
{
    struct run *k = arg;
    const cs_sample *s = &k->sample[k->n_out++];

    /* Without predicted views there are no values. */
    if (a->reason && a->n_window[0] == 0) {
        k->n_without[a->reason]++;
        return CS_OK;
    }
    if (k->counts != NULL) {
        int64_t n_tok;
        const int rc = cs_feed_label(&k->work, k->d, &k->rules, s, &n_tok);
        if (rc == CS_OK)
            cs_token_counts_add(k->counts, a->v, k->work.label, n_tok);
        return rc;
    }
    const int rc = cs_scores_add(k->scores, a->v, k->d->ex[s->example].target, r->seg[0].n_base);
    if (rc == CS_OK)
        k->scores->reason[k->scores->n - 1] = (uint8_t)a->reason;
    return rc;
}

int cs_evaluate_samples(const cs_evaluation *j, const cs_dataset *d, const cs_sample *sample,
                        int64_t n, cs_scores *scores, int64_t *n_without)
{
    struct run k = { .d = d, .sample = sample, .n = n, .scores = scores, .counts = j->counts,
                     .n_without = n_without,
                     .rules = { .tok = j->model->tok, .tok_state = j->model->tok_state } };
    cs_stream_stat stat;
    const cs_stream s = {
        .next = next_sample, .source = &k, .model = j->model, .policy = j->policy,
        .batch_tokens = j->batch_tokens, .window = WINDOW, .n_thread = j->n_thread,
        .sink = take_output, .arg = &k,
    };

    if (n == 0)
        return CS_OK;
    const int rc = cs_stream_run(&s, &stat);
    cs_feed_work_release(&k.work);
    return rc;
}

/* ---- blocks of records ----------------------------------------------------------------------- */

int cs_evaluate_per_record(const cs_model *m)
{
    if (!m->head->per_token)
        return CS_OK;
    return cs_fail(CS_EMODEL, cs_model_predicts_masked(m)
                   ? "the model predicts masked tokens, not classes; 'chordseq embed' gives its "
                     "vectors, 'chordseq train --init' trains it for labels"
                   : "the model predicts per token, not per sequence; see 'chordseq predict'");
}

bool cs_evaluate_wants(const cs_labelled *l, const cs_example *e)
{
    return l->split != NULL ? e->part == CS_PART_VALID : e->part != CS_PART_SKIP;
}

int cs_evaluate_blocks(cs_labelled *l, const cs_model *m, cs_dataset *d, int (*block)(void *arg),
                       void *arg, const int64_t *n_without)
{
    int rc = CS_OK;
    bool more = true;

    while (more) {
        rc = cs_labelled_read(l, d, BLOCK_BASES);
        more = rc == CS_OK;
        if (rc == CS_EOF)
            rc = CS_OK;
        CS_TRY(rc);
        if (d->n == 0)
            continue;
        CS_TRY(cs_labelled_check_model(d, m));
        CS_TRY(block(arg));
        cs_dataset_clear(d);
    }
    cs_labelled_report(l);
    for (int r = 0; r < CS_N_REASON; r++)
        if (n_without[r] > 0)
            cs_warn("%lld %s no prediction and %s left out: %s (%s)", (long long)n_without[r],
                    CS_PLURAL(n_without[r], "record or fragment has", "records or fragments have"),
                    CS_PLURAL(n_without[r], "was", "were"), cs_reason_name((cs_reason)r),
                    cs_reason_help((cs_reason)r));
out:
    return rc;
}

static int evaluate_usual(cs_model *m, const cs_dataset *d, const cs_sample *sample, int64_t n,
                          int64_t batch_tokens, bool uncalibrated, cs_scores *scores)
{
    int rc = CS_OK;
    const cs_policy_args usual = { .max_unknown = 1 };
    cs_policy policy;
    const cs_evaluation j = { .model = m, .policy = &policy, .batch_tokens = batch_tokens,
                         .n_thread = m->be->n_thread };
    int64_t n_without[CS_N_REASON] = { 0 };

    CS_TRY(cs_policy_init(&policy, &usual, NULL, m));
    policy.uncalibrated = uncalibrated;
    rc = cs_evaluate_samples(&j, d, sample, n, scores, n_without);
out:
    return rc;
}

int cs_evaluate_raw(cs_model *m, const cs_dataset *d, const cs_sample *sample, int64_t n,
                    int64_t batch_tokens, cs_scores *scores)
{
    return evaluate_usual(m, d, sample, n, batch_tokens, true, scores);
}

static int evaluate_valid(cs_model *m, const cs_sampler *valid, int64_t batch_tokens,
                          bool uncalibrated, cs_scores *scores)
{
    const int64_t n = cs_sampler_count(valid);
    cs_sample *sample = cs_alloc((size_t)n, sizeof *sample);

    if (sample == NULL)
        return cs_fail(CS_EMEM, "out of memory for %lld validation samples", (long long)n);
    for (int64_t i = 0; i < n; i++)
        sample[i] = cs_sampler_get(valid, CS_VALID_EPOCH, i);
    const int rc = evaluate_usual(m, cs_sampler_dataset(valid), sample, n, batch_tokens,
                                  uncalibrated, scores);
    free(sample);
    return rc;
}

int cs_evaluate_lengths(const char *option, const char *text, int max_n, int64_t *v, int *n)
{
    char *list = cs_xstrdup(text != NULL ? text : ""), *save = NULL;
    int rc = CS_OK;

    *n = 0;
    for (char *w = strtok_r(list, ",", &save); w != NULL; w = strtok_r(NULL, ",", &save)) {
        if (*n == max_n || cs_parse_size(w, &v[*n]) != CS_OK || v[*n] < 1 ||
            (*n > 0 && v[*n] <= v[*n - 1])) {
            rc = cs_fail(CS_EUSAGE, "--%s takes at most %d increasing comma-separated lengths, "
                         "not '%s'", option, max_n, text);
            break;
        }
        ++*n;
    }
    free(list);
    return rc;
}

/* *t: NULL unless calls are taxa; path names the model in messages. */
static int open_tree(const cs_model *m, const char *path, cs_taxonomy **t, cs_tree *tree)
{
    int rc = CS_OK;

    if (m->head->set_taxonomy && m->taxonomy) {
        CS_TRY(cs_taxa_of(m, path, t));
        CS_TRY(cs_taxa_tree(*t, tree));
    }
out:
    return rc;
}

int cs_evaluate_calibrate(cs_model *m, const char *path, const cs_scores *s, const int64_t *edge,
                          int n_edge)
{
    int rc = CS_OK;
    cs_taxonomy *t = NULL;
    cs_tree tree = { 0 };

    CS_TRY(open_tree(m, path, &t, &tree));
    rc = cs_calibrate(s, t ? &tree : NULL, edge, n_edge, m->be->n_thread, &m->calibration);
out:
    cs_taxa_tree_release(&tree);
    cs_taxonomy_free(t);
    return rc;
}

/* Lower bounds of length bins, for calibrations and the report. */
static const int64_t edge[] = { 500, 1000, 3000, 10000, 50000 };
enum { N_EDGE = sizeof edge / sizeof *edge };

static void note_too_few(int64_t n)
{
    cs_note("not calibrated: %lld validation %s, at least %d are needed", (long long)n,
            CS_PLURAL(n, "sample", "samples"), MIN_SAMPLES);
}

static int calibrate(const cs_evaluate_job *j, cs_model *m)
{
    int rc = CS_OK;
    cs_scores scores = { 0 };
    const cs_scores *s = j->scores != NULL ? j->scores : &scores;
    const int64_t n_valid = j->valid != NULL ? cs_sampler_count(j->valid) : s->n;

    if (n_valid < MIN_SAMPLES) {
        note_too_few(n_valid);
        return CS_OK;
    }
    cs_scores_for(&scores, m);
    if (j->valid != NULL)
        CS_TRY(evaluate_valid(m, j->valid, j->batch_tokens, true, &scores));
    if (s->n < MIN_SAMPLES) {
        note_too_few(s->n);
        goto out;
    }
    CS_TRY(cs_evaluate_calibrate(m, j->path, s, edge, N_EDGE));
    CS_TRY(cs_model_save(m, j->path));
    cs_note("calibrated on %lld validation samples", (long long)s->n);
out:
    cs_scores_release(&scores);
    return rc;
}

/* Predictions of a few records, one class of which is likely. */
static int invent_scores(int32_t n_out, cs_scores *s)
{
    const int64_t n = FEW_VALUES / n_out + 1;
    float *p = cs_alloc((size_t)n_out, sizeof *p);
    int rc = p != NULL ? CS_OK : cs_fail(CS_EMEM, "out of memory for %d classes", (int)n_out);

    cs_scores_init(s, true, n_out, 1);
    for (int32_t k = 0; rc == CS_OK && k < n_out; k++)
        p[k] = k == 0 ? 0.9f : 0.1f / (float)n_out;
    for (int64_t i = 0; rc == CS_OK && i < n; i++)
        rc = cs_scores_add(s, p, &(float){ 0 }, 1);
    free(p);
    return rc;
}

/* Records in all fits of a calibration on `times` such validations: all, and those of each range of
 * lengths. */
static double count_fitted(const cs_sampler *valid, int times)
{
    const int64_t n = cs_sampler_count(valid);
    int64_t of[N_EDGE + 1] = { 0 }, sum = n * times;

    for (int64_t i = 0; i < n; i++) {
        int b = 0;
        while (b < N_EDGE && cs_sampler_get(valid, CS_VALID_EPOCH, i).n_base >= edge[b])
            b++;
        of[b]++;
    }
    for (int b = 0; b <= N_EDGE; b++)
        sum += of[b] < n && of[b] * times >= MIN_SAMPLES ? of[b] * times : 0;
    return (double)sum;
}

int cs_evaluate_after(const cs_evaluate_job *j, const cs_model *m, cs_train_after *out)
{
    int rc = CS_OK;
    const int times = j->n_fold > 0 ? j->n_fold : 1;
    const bool calibrates = cs_sampler_count(j->valid) * times >= MIN_SAMPLES;
    cs_scores s = { 0 };
    cs_taxonomy *t = NULL;
    cs_tree tree = { 0 };

    *out = (cs_train_after){ 0 };
    if (cs_file_is_device(j->path))
        return CS_OK;
    out->n_valid = (m->strands == CS_STRANDS_FORWARD ? 1 : 2) * (calibrates + (j->html != NULL));
    if (!calibrates)
        return CS_OK;
    CS_TRY(open_tree(m, j->path, &t, &tree));
    CS_TRY(invent_scores(m->n_label, &s));
    CS_TRY(cs_calibrate_seconds(&s, t ? &tree : NULL, m->be->n_thread, &out->seconds));
    out->seconds *= count_fitted(j->valid, times);
out:
    cs_scores_release(&s);
    cs_taxa_tree_release(&tree);
    cs_taxonomy_free(t);
    return rc;
}

static int write_page(const cs_evaluate_job *j, cs_model *m, const cs_scores *scores, bool raw,
                      bool live, double seconds)
{
    int rc = CS_OK;
    cs_outfile *out = NULL;
    cs_eval_ranks ranks = { 0 };
    const cs_eval_report r = {
        .model = m, .scores = scores, .raw = raw, .live = live, .bin = edge,
        .n_bin = N_EDGE, .ranks = &ranks, .fold = j->fold, .n_fold = j->n_fold,
        .history = j->history, .regression = j->regression, .bag = j->bag,
    };

    CS_TRY(cs_eval_ranks_init(&ranks, m, j->path, j->classes));
    CS_TRY(cs_outfile_open_as(j->html, NULL, CS_OUT_HTML, &out));
    CS_TRY(cs_eval_html(&r, out, seconds, j->command));
out:
    rc = cs_run_file_end(out, j->html, rc);
    cs_eval_ranks_release(&ranks);
    return rc;
}

int cs_evaluate_page(const cs_evaluate_job *j, cs_model *m, const cs_scores *scores)
{
    return write_page(j, m, scores, true, true, 0);
}

/* Writes the page for probabilities of the final model, or of a cross-validation. */
static int last_page(const cs_evaluate_job *j, cs_model *m)
{
    int rc = CS_OK;
    cs_scores scores = { 0 };
    const double began = cs_now_s();

    if (j->html == NULL)
        return CS_OK;
    if (j->scores != NULL)
        return write_page(j, m, j->scores, true, false, 0);
    cs_scores_for(&scores, m);
    CS_TRY(evaluate_valid(m, j->valid, j->batch_tokens, false, &scores));
    rc = write_page(j, m, &scores, false, false, cs_now_s() - began);
out:
    cs_scores_release(&scores);
    return rc;
}

int cs_evaluate_add(const cs_evaluate_job *j, cs_scores *scores)
{
    int rc = CS_OK;
    cs_model *m = NULL;

    CS_TRY(cs_model_load(j->path, j->be, CS_USE_INFERENCE, &m));
    if (scores->n_out == 0)
        cs_scores_for(scores, m);
    rc = evaluate_valid(m, j->valid, j->batch_tokens, true, scores);
out:
    cs_model_free(m);
    return rc;
}

int cs_evaluate_check_page(const char *html, const cs_run_args *own, const char *checkpoint,
                           const cs_head *head, const cs_sampler *valid)
{
    int rc = CS_OK;

    if (html == NULL)
        return CS_OK;
    if (cs_file_is_device(own->output))
        return cs_fail(CS_EUSAGE, "--html reads the model again, but '%s' is not a regular file; "
                       "give a file with -o", own->output);
    if (!head->is_class || head->per_token || valid == NULL)
        return cs_fail(CS_EUSAGE, "--html shows the validation of sequence classes; %s",
                       valid == NULL ? "there are no validation records"
                                     : "the head predicts something else");
    CS_TRY(cs_outputs_distinct((const char *const[]){ own->output, own->metrics, own->steps,
                                                      checkpoint, html }, 5));
    rc = cs_outputs_probe(html, CS_OUT_HTML);
out:
    return rc;
}

int cs_evaluate_trained(const cs_evaluate_job *j)
{
    int rc = CS_OK;
    cs_model *m = NULL;

    if (cs_file_is_device(j->path))
        return CS_OK;
    CS_TRY(cs_model_load(j->path, j->be, CS_USE_INFERENCE, &m));
    CS_TRY(calibrate(j, m));
    rc = last_page(j, m);
out:
    cs_model_free(m);
    return rc;
}

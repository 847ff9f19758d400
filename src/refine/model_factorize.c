/* model_factorize.c - low-rank layers for a trained model: size, time and accuracy before and
 * after. */
#include "refine/model_factorize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/outfile.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"
#include "nn/exec/low_rank.h"
#include "nn/exec/session.h"
#include "run/outputs.h"
#include "train/evaluate.h"

/* The random batch for timing: records, tokens of each, and passes, of which the median counts. */
enum { N_RECORD = 16, N_TOKEN = 1024, N_PASS = 5, BATCH_TOKENS = 64 << 10 };

const cs_opt cs_low_rank_table[] = {
    { .type = CS_OPT_GROUP, .name = "Factorize" },
    { .type = CS_OPT_STR, .name = "rank", .off = offsetof(cs_low_rank_args, rank), .arg = "NUM",
      .help = "rank of every linear layer; below 1: share of the layer's smaller side",
      .man = "A layer of M outputs and N inputs stays unchanged if NUM (M + N) is at least M N." },
    { .type = CS_OPT_REAL, .name = "energy", .off = offsetof(cs_low_rank_args, energy),
      .arg = "SHARE", .def = "0",
      .help = "smallest rank that keeps this share of a layer's squared weights, instead of "
              "--rank",
      .min = 0, .max = 1 },
    { .type = CS_OPT_OUT, .letter = 'o', .name = "output",
      .off = offsetof(cs_low_rank_args, output), .arg = "FILE",
      .help = "output model" },
    { .type = CS_OPT_END }
};

static int read_rule(const cs_low_rank_args *a, cs_low_rank_rule *rule)
{
    double v;

    *rule = (cs_low_rank_rule){ .energy = a->energy };
    if ((a->rank != NULL) == (a->energy > 0))
        return cs_fail(CS_EUSAGE, "'factorize' takes either --rank or --energy");
    if (a->rank == NULL)
        return CS_OK;
    if (cs_parse_real(a->rank, &v) == CS_OK && v > 0 && v < 1)
        rule->share = v;
    else if (cs_parse_int(a->rank, &rule->rank) != CS_OK || rule->rank < 1)
        return cs_fail(CS_EUSAGE, "--rank takes an integer or a fraction below 1, not '%s'",
                       a->rank);
    return CS_OK;
}

/* ---- time and predictions on a random batch -------------------------------------------------- */

static int append_random(const cs_model *m, int64_t n, uint64_t key, cs_batch *b)
{
    int32_t id[N_TOKEN];
    int rc;
    float *x = m->tok ? NULL : cs_alloc((size_t)(n * m->n_channel), sizeof *x);

    if (!m->tok && !x)
        return cs_fail(CS_EMEM, "out of memory for a random record");
    for (int64_t i = 0; i < n && m->tok; i++)
        id[i] = 1 + (int32_t)cs_rng_below(key, (uint64_t)i,
                                          (uint64_t)m->tok->n_vocab(m->tok_state) - 1);
    for (int64_t i = 0; i < n * m->n_channel && x; i++)
        x[i] = (float)cs_rng_normal(key, (uint64_t)i);
    rc = cs_batch_append(b, m->tok ? id : NULL, x, n, NULL, (cs_slot){ 0 });
    free(x);
    return rc;
}

static int random_batch(const cs_model *m, cs_batch **out)
{
    int rc = CS_OK;
    const int64_t max_len = cs_model_max_len(m);
    const int64_t n = max_len > 0 && max_len < N_TOKEN ? max_len : N_TOKEN;
    cs_batch *b = cs_batch_new(m->n_channel, 0);

    for (uint64_t r = 0; r < N_RECORD; r++)
        CS_TRY(append_random(m, n, cs_rng_key(1, r), b));
    *out = b;
    b = NULL;
out:
    cs_batch_free(b);
    return rc;
}

/* Median time of several passes, after a warm-up. */
static int time_predictions(cs_model *m, const cs_batch *b, float *output, double *middle)
{
    int rc = CS_OK;
    double took[N_PASS];
    cs_session *s = cs_session_new(m, m->be);

    CS_TRY(cs_session_predict(s, b, output));
    for (int i = 0; i < N_PASS; i++) {
        const double start = cs_now_s();
        CS_TRY(cs_session_predict(s, b, output));
        took[i] = cs_now_s() - start;
    }
    qsort(took, N_PASS, sizeof took[0], cs_by_double);
    *middle = took[N_PASS / 2];
out:
    cs_session_free(s);
    return rc;
}

/* ---- accuracy -------------------------------------------------------------------------------- */

/* The model before and after, and the evaluation data. */
struct sides {
    cs_model    *model[2];
    cs_policy    policy[2];
    cs_scores    scores[2];
    cs_labelled  labelled;
    cs_dataset   data;
    int64_t      n_without[CS_N_REASON];  /* records without a prediction of the original model */
};

static int evaluate_block(void *sides)
{
    int rc = CS_OK;
    struct sides *s = sides;
    int64_t n = 0, again[CS_N_REASON] = { 0 };   /* that of the other, which is not reported */
    cs_sample *sample = cs_alloc((size_t)s->data.n + 1, sizeof *sample);

    if (!sample)
        return cs_fail(CS_EMEM, "out of memory for %lld records", (long long)s->data.n);
    for (int64_t i = 0; i < s->data.n; i++)
        if (cs_evaluate_wants(&s->labelled, &s->data.ex[i]))
            sample[n++] = (cs_sample){ .example = i, .n_base = s->data.ex[i].n_base };
    for (int k = 0; k < 2; k++) {
        const cs_evaluation j = { .model = s->model[k], .policy = &s->policy[k],
                             .batch_tokens = BATCH_TOKENS, .n_thread = 1 };
        CS_TRY(cs_evaluate_samples(&j, &s->data, sample, n, &s->scores[k],
                                   k == 0 ? s->n_without : again));
    }
out:
    free(sample);
    return rc;
}

static int open_input(struct sides *s, cs_input_args *input, const cs_label_args *label)
{
    int rc = CS_OK;
    const cs_model *m = s->model[0];
    const cs_optset defaults[] = { { cs_policy_table, &(cs_policy_args){ 0 }, NULL },
                                   { NULL, NULL, NULL } };

    CS_TRY(cs_evaluate_per_record(m));
    cs_opt_defaults(defaults);
    for (int k = 0; k < 2; k++)
        CS_TRY(cs_policy_init(&s->policy[k], defaults[0].base, NULL, s->model[k]));
    rc = cs_labelled_open_for(m, true, label, input, 0, &s->labelled);
out:
    return rc;
}

/* Accuracy for classes, share of correct known labels for labels; else the mean squared error, in
 * the units of the values. */
static int metrics(const struct sides *s, double v[2])
{
    int rc = CS_OK;

    for (int k = 0; k < 2; k++) {
        cs_metrics f;
        CS_TRY(cs_scores_metrics(&s->scores[k], 0, INT64_MAX, 0, false, &f));
        v[k] = s->scores[k].is_class || s->scores[k].is_labels ? f.accuracy : f.mse;
        cs_metrics_release(&f);
    }
out:
    return rc;
}

static int evaluate(cs_model *before, cs_model *after, cs_input_args *input,
                    const cs_label_args *label, double v[2])
{
    int rc = CS_OK;
    struct sides s = { .model = { before, after } };

    for (int k = 0; k < 2; k++)
        cs_scores_for(&s.scores[k], before);
    CS_TRY(open_input(&s, input, label));
    CS_TRY(cs_evaluate_blocks(&s.labelled, before, &s.data, evaluate_block, &s, s.n_without));
    if (s.scores[0].n == 0) {
        rc = cs_fail(CS_EFORMAT, "the input has no record to evaluate");
        goto out;
    }
    CS_TRY(metrics(&s, v));
    if (isnan(v[0]))
        rc = cs_fail(CS_EFORMAT, "no input record has a class of the model");
out:
    for (int k = 0; k < 2; k++)
        cs_scores_release(&s.scores[k]);
    if (s.data.mem != NULL)
        cs_dataset_release(&s.data);
    cs_labelled_close(&s.labelled);
    return rc;
}

/* ---- the table ------------------------------------------------------------------------------- */

static int write_layers(cs_outfile *f, const cs_low_rank_list *list)
{
    int rc = CS_OK;

    CS_TRY(cs_outfile_printf(f, "what\tbefore\tafter\tratio\n"));
    for (int32_t i = 0; i < list->n; i++) {
        const cs_low_rank_layer *l = &list->v[i];
        CS_TRY(cs_outfile_printf(f, "%s\t%dx%d\t", l->name, (int)l->n_out, (int)l->n_in));
        if (l->rank > 0)
            CS_TRY(cs_outfile_printf(f, "rank %lld\t%.6f\n", (long long)l->rank, l->energy));
        else
            CS_TRY(cs_outfile_printf(f, "whole\t1.000000\n"));
    }
out:
    return rc;
}

static int64_t model_factorize_count(const cs_model *m)
{
    int64_t n = 0;

    for (int32_t i = 0; i < m->ps.n; i++)
        n += m->ps.p[i].absent ? 0 : m->ps.p[i].n;
    return n;
}

static int write_sizes(cs_outfile *f, const cs_model *m, const cs_model *low_rank)
{
    int rc = CS_OK;
    const int64_t a = model_factorize_count(m), b = model_factorize_count(low_rank);
    const int64_t old = cs_model_weight_bytes(m), new = cs_model_weight_bytes(low_rank);

    CS_TRY(cs_outfile_printf(f, "parameters\t%lld\t%lld\t%.6f\n", (long long)a, (long long)b,
                             (double)b / (double)a));
    rc = cs_outfile_printf(f, "bytes\t%lld\t%lld\t%.6f\n", (long long)old, (long long)new,
                           (double)new / (double)old);
out:
    return rc;
}

static int write_outputs(cs_outfile *f, cs_model *m, cs_model *low_rank)
{
    int rc = CS_OK;
    cs_batch *b = NULL;
    double took[2], difference = 0, norm = 0;
    float *old = NULL, *new = NULL;

    CS_TRY(random_batch(m, &b));
    /* Records are shorter than N_TOKEN if the model takes fewer tokens. */
    const int64_t n = b->n_rec * cs_model_output_len(m, CS_HEAD_PREDICTION, b->off[1]);
    old = cs_alloc((size_t)n, sizeof *old);
    new = cs_alloc((size_t)n, sizeof *new);
    if (!old || !new) {
        rc = cs_fail(CS_EMEM, "out of memory for %lld predictions", (long long)n);
        goto out;
    }
    CS_TRY(time_predictions(m, b, old, &took[0]));
    CS_TRY(time_predictions(low_rank, b, new, &took[1]));
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)new[i] - (double)old[i];
        difference += d * d;
        norm += (double)old[i] * (double)old[i];
    }
    CS_TRY(cs_outfile_printf(f, "seconds\t%.6f\t%.6f\t%.6f\n", took[0], took[1],
                             took[1] / took[0]));
    rc = cs_outfile_printf(f, "relative_error\t0\t%.6f\t.\n",
                           norm > 0 ? sqrt(difference / norm) : 0);
out:
    cs_batch_free(b);
    free(old);
    free(new);
    return rc;
}

static int model_factorize_report(cs_outfile *f, cs_model *m, cs_model *low_rank,
                                  const cs_low_rank_list *list)
{
    int rc = CS_OK;

    CS_TRY(write_layers(f, list));
    CS_TRY(write_sizes(f, m, low_rank));
    rc = write_outputs(f, m, low_rank);
out:
    return rc;
}

int cs_model_factorize(cs_model *m, const cs_low_rank_args *a, cs_input_args *input,
                       const cs_label_args *label)
{
    int rc = CS_OK;
    cs_low_rank_rule rule;
    cs_low_rank_list list = { .v = NULL };
    cs_model *low_rank = NULL;
    cs_outfile *f = NULL, *to = NULL;
    double v[2];
    bool evaluates;

    CS_TRY(read_rule(a, &rule));
    CS_TRY(cs_labelled_optional(label, input, &evaluates));
    CS_TRY(cs_outputs_distinct((const char *const[]){ "-", a->output }, 2));
    if (a->output)
        CS_TRY(cs_outfile_open_as(a->output, NULL, CS_OUT_BINARY, &to));
    CS_TRY(cs_model_low_rank(m, &rule, &low_rank, &list));
    CS_TRY(cs_outfile_open("-", &f));
    CS_TRY(model_factorize_report(f, m, low_rank, &list));
    if (evaluates) {
        CS_TRY(evaluate(m, low_rank, input, label, v));
        CS_TRY(cs_outfile_printf(f, "%s\t%.6f\t%.6f\t",
                                 m->head->is_class || m->head->is_labels ? "accuracy"
                                                                         : "mean_squared_error",
                                 v[0], v[1]));
        CS_TRY(v[0] > 0 ? cs_outfile_printf(f, "%.6f\n", v[1] / v[0])
                        : cs_outfile_printf(f, ".\n"));
    }
    if (a->output)
        CS_TRY(cs_model_write(low_rank, to));
    CS_TRY(cs_outputs_commit((cs_outfile **const[]){ &f, &to }, 2));
    if (a->output && m->calibration.n > 0)
        cs_note("'%s' is not calibrated: the full model's calibration does not apply; "
                "recalibrate with 'chordseq eval --calibrate'", a->output);
out:
    cs_outfile_discard(f);
    cs_outfile_discard(to);
    cs_model_free(low_rank);
    cs_low_rank_release(&list);
    return cs_outputs_explain(rc, 1 + (a->output != NULL), NULL);
}

/* supervised.c - supervised training: data, model, training, evaluation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "train/bag.h"
#include "train/baseline.h"
#include "train/evaluate.h"
#include "train/parallel.h"
#include "train/supervised_internal.h"

/* Proposed budget in passes over the data; seconds of a trial. */
enum { PASSES = 30, TRIAL = 1 };

static cs_preset choose_preset(cs_supervised_args *a, int argc, char **argv)
{
    const cs_optset training = { cs_train_table, &a->training, NULL };

    return cs_preset_choose((cs_preset)a->aim.preset, &training, argc, argv);
}

/* Is there a preset for the data? Real values have one only on request, labels and numbers to
 * predict only a bag of words. */
static bool has_preset(const cs_supervised *j, bool requested)
{
    const cs_supervised_args *a = j->a;
    const cs_head *head = a->components.head;

    return a->aim.preset != CS_PRESET_NONE && a->init.init == NULL && !head->per_token &&
           head->n_part <= 1 && j->nucleotides && (j->data.n_channel == 0 || requested) &&
           (head->is_class || a->aim.preset == CS_PRESET_FAST);
}

/* The facts of the data; some tokenizers have more tokens than bases. */
static int measure_data(cs_supervised *j)
{
    const cs_components *c = &j->a->components;
    int rc = CS_OK;
    void *tok = NULL;

    CS_TRY(cs_preset_measure(&j->data, &j->facts));
    CS_TRY(cs_components_tokenizer(c, &tok));
    const int64_t n = c->tok->bound(tok, j->facts.longest);
    j->facts.most_tokens = n > j->facts.longest ? n : j->facts.longest;
    c->tok->close(tok);
out:
    return rc;
}

/* Settings chosen from the data unless given by the user. */
static int apply_preset(cs_supervised *j, const cs_optset *set, int argc, char **argv)
{
    cs_supervised_args *a = j->a;
    const cs_components *c = &a->components;
    const bool requested = a->aim.preset != CS_PRESET_AUTO;
    int rc = CS_OK, n = 0;
    cs_optset own_set[CS_MAX_OPTSET] = { { 0 } }, other[2] = { { 0 } };

    a->aim.preset = (int)choose_preset(a, argc, argv);
    if (!requested && a->aim.preset == CS_PRESET_BALANCED && !a->components.head->is_class)
        a->aim.preset = CS_PRESET_FAST;
    j->preset = has_preset(j, requested);
    if (!j->preset && requested && a->aim.preset != CS_PRESET_NONE)
        cs_warn("--preset %s has no effect: it is for classes of sequences%s, without --init",
                cs_preset_names[a->aim.preset],
                a->aim.preset == CS_PRESET_FAST ? ", labels and numbers" : "");
    if (!j->preset)
        goto out;
    if (!requested && a->aim.preset == CS_PRESET_FAST)
        cs_note("training a bag of words (--preset fast); --preset none trains a network");
    for (; set->opt != NULL; set++)
        if ((set->opt != c->enc->opt || strcmp(c->enc->name, "chordmixer") == 0) &&
            (set->opt != c->tok->opt || strcmp(c->tok->name, "kmer") == 0))
            own_set[n++] = *set;
        else if (set->opt == c->enc->opt)
            other[0] = *set;
    CS_TRY(measure_data(j));
    CS_TRY(cs_preset_apply((cs_preset)a->aim.preset, &j->facts, own_set, argc, argv));
    CS_TRY(cs_preset_size_encoder(&j->facts, c->enc->name, other));
    j->origin.preset = cs_preset_names[a->aim.preset];
out:
    if (a->sample.no_rc)
        a->sample.rc = 0;
    return rc;
}

/* Checked after a preset, if any, has set options that are not given. */
static int check_crops(const cs_supervised *j)
{
    const cs_sample_args *s = &j->a->sample;

    if (s->crop_max == 0 || s->crop_min <= s->crop_max)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "--crop-min %lld%s is longer than --crop-max %lld%s",
                   (long long)s->crop_min, cs_opt_given(&s->crop_min) ? "" : ", the default,",
                   (long long)s->crop_max,
                   cs_opt_given(&s->crop_min) ? "" : "; give a smaller one");
}

/* Options without effect. Without drawn samples every record is one, once per epoch. */
static void warn_idle(const cs_supervised_args *a)
{
    const cs_sample_args *s = &a->sample;
    const cs_head *head = a->components.head;
    const bool whole = s->n_sample == 0 && s->n_valid == 0;
    const struct { const void *field; bool idle; const char *text; } row[] = {
        { &a->init.encoder_lr, a->init.init == NULL, "encoder-lr has no effect without --init" },
        { &a->init.freeze_epochs, a->init.freeze == CS_FREEZE_ENCODER,
          "freeze-epochs has no effect with --freeze encoder" },
        { &s->crop_min, s->crop_max == 0, "crop-min has no effect without --crop-max" },
        { &s->crop_power, s->crop_max == 0, "crop-power has no effect without --crop-max" },
        { &s->balance, whole, "class-balance has no effect without --samples-per-epoch" },
        { &s->group_balance, whole, "group-balance has no effect without --samples-per-epoch" },
        { &s->length_power, whole, "length-power has no effect without --samples-per-epoch" },
        { &s->valid_frac, a->label.split != NULL, "valid-frac has no effect with --split" },
        { &s->valid_frac, s->n_fold > 0, "valid-frac has no effect with --folds" },
        { &a->training.patience, s->n_fold > 0, "patience has no effect with --folds" },
        { &a->aim.tolerance, head->is_class || head->is_labels,
          "tolerance has no effect: it is for values" },
        { &a->aim.no_standardize, head->is_class || head->is_labels,
          "no-standardize has no effect: it is for values" },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].idle && cs_opt_given(row[i].field))
            cs_warn("--%s", row[i].text);
    cs_train_warn_idle(&a->training);
}

/* Names of classes that outputs or other programs read as something else. */
static void warn_names(const cs_supervised *j)
{
    for (int32_t i = 0; i < j->n_label; i++)
        if (strcmp(j->label[i].name, "unclassified") == 0)
            cs_warn("outputs cannot tell the class 'unclassified' from sequences without a call; "
                    "rename it with --label-map");
        else if (strcmp(j->label[i].name, "NA") == 0)
            cs_warn("'NA' is a class, not a missing label; --label-map can map it to '-', which "
                    "leaves its records out");
}

static void name_labels(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    const bool named = a->components.head->is_class || a->components.head->is_labels;
    const int32_t n = named ? j->labelled.classes.n : j->data.n_target;
    char number[32];

    j->n_label = n;
    j->label = cs_xcalloc((size_t)n, sizeof *j->label);
    for (int32_t i = 0; i < n; i++) {
        const char *name = named ? j->labelled.classes.name[i] : cs_labelled_value(&j->labelled, i);
        (void)snprintf(number, sizeof number, n > 1 ? CS_UNNAMED_VALUE "%d" : CS_UNNAMED_VALUE,
                       (int)i + 1);
        j->label[i].name = cs_xstrdup(name != NULL ? name : number);
    }
}

/* Is the written model finished with validation data: calibration, HTML report? */
static bool finishes(const cs_supervised *j)
{
    const cs_head *head = j->a->components.head;

    return (j->valid != NULL || j->folds.n > 0) && head->is_class && !head->per_token;
}

static cs_evaluate_job finish_job(const cs_supervised *j)
{
    const cs_supervised_args *a = j->a;

    return (cs_evaluate_job){
        .scores = j->folds.n > 0 ? &j->scores[j->folds.best] : NULL,
        .fold = j->folds.fold, .n_fold = j->folds.n,
        .path = a->run.output, .be = j->be, .valid = j->valid,
        .batch_tokens = a->training.batch_tokens, .html = a->result.html,
        .command = j->origin.command, .classes = &j->labelled.classes,
    };
}

/* What a budget of time, given or not, reserves for finishing the model. */
static int measure_after(cs_supervised *j)
{
    int rc = CS_OK;
    const cs_evaluate_job it = finish_job(j);

    if (!finishes(j) || j->a->aim.print_config || (j->budget.seconds <= 0 && !j->preset))
        return CS_OK;
    CS_TRY(cs_evaluate_after(&it, j->model, &j->after));
    j->after.n_valid += j->extending.n_valid;
    j->after.seconds += j->extending.seconds;
    if (j->group != NULL)
        j->after.n_valid *= cs_group_size(j->group);
    CS_TRY(cs_parallel_clock(j->group, &j->after.n_valid));
    rc = cs_parallel_clock(j->group, &j->after.seconds);
out:
    return rc;
}

/* Bases per second, from a second of discarded training. */
static int train_measure(cs_supervised *j, double *speed)
{
    int rc = CS_OK;
    cs_train_state st;
    cs_loop_opt o = cs_supervised_options(j);
    cs_feed feed = cs_supervised_feed(j);

    o.budget = (cs_train_budget){ .seconds = TRIAL };
    o.after = (cs_train_after){ 0 };
    o.n_epoch = INT64_MAX;
    o.model_path = o.checkpoint_path = o.metrics_path = o.watch = NULL;
    o.steps_path = o.events_path = NULL;
    o.validated = NULL;
    o.recipe = "";               /* not written before the budget is known */
    o.resume = false;
    feed.valid = NULL;
    cs_train_state_init(&st);
    CS_TRY(cs_train_run(j->model, &feed, &o, &st));
    *speed = (double)st.n_base / fmax(st.seconds, 1e-9);
    CS_TRY(cs_parallel_clock(j->group, speed));
    cs_model_free(j->model);
    j->model = NULL;
    rc = cs_supervised_model(j);
out:
    cs_train_state_release(&st);
    return rc;
}

/* Training keeps a tenth of what is left of the budget. */
static int limit_after(cs_supervised *j)
{
    int rc = CS_OK;
    const double all = j->budget.seconds;
    double left = all - (cs_now_s() - j->began);

    CS_TRY(cs_parallel_clock(j->group, &left));
    if (all <= 0 || left <= 0)
        return CS_OK;
    const char *what = j->made != NULL ? "peptide words, proteins and calibration take"
                                       : "calibration takes";
    cs_info("%s about %.1f s of the budget", what, j->after.seconds);
    if (j->after.seconds > left / 2)
        cs_warn("%s about %.0f s of a budget of %.0f s; increase it", what, j->after.seconds, all);
    j->after.seconds = fmin(j->after.seconds, 0.9 * left);
out:
    return rc;
}

/* Without --budget or another limit, choose one by data and machine. */
static int propose(cs_supervised *j)
{
    cs_supervised_args *a = j->a;
    static char text[32];
    int rc = CS_OK;
    double speed = 0;

    if (!j->preset || cs_train_budget_set(&j->budget) || a->aim.print_config ||
        cs_train_limit(&a->training) != NULL)
        return CS_OK;
    if (a->run.resume)
        return cs_fail(CS_EUSAGE, "--resume needs the --budget of the interrupted run");
    CS_TRY(train_measure(j, &speed));
    const double after = j->after.seconds + j->made_seconds;
    j->budget.seconds = cs_preset_propose_budget(&j->facts, PASSES, speed, after);
    (void)snprintf(text, sizeof text, "%.0fm", j->budget.seconds / 60);
    a->training.budget = text;
    cs_note("using --budget %s: %d passes over %.3g Mbases at %.3g Mbases/s%s would take %.0f s; "
            "set --budget to change it; --resume needs it", text, PASSES,
            (double)j->facts.n_base / 1e6, speed / 1e6,
            j->made != NULL ? ", proteins and calibration,"
            : after >= 1 ? ", and calibration," : "",
            PASSES * (double)j->facts.n_base / fmax(speed, 1) + after);
out:
    return rc;
}

/* Would it take more than a quarter of a time budget? */
static bool is_slow(const cs_supervised *j)
{
    int64_t n = 0, n_base = 0;

    cs_dataset_count(&j->data, CS_PART_TRAIN, -1, &n, &n_base);
    return j->budget.seconds > 0 && (double)n_base >
           j->a->extension.speed * j->be->n_thread * j->budget.seconds / 4;
}

/* An extension that only the preset asks for is left out where it cannot be. */
static int check_extension(const cs_supervised *j)
{
    cs_train_extension *e = &j->a->extension;
    const bool given = cs_opt_given(&e->size);
    int rc;

    if (e->size == 0)
        return CS_OK;
    if (!given && (j->folds.n > 0 || is_slow(j))) {
        e->size = 0;
        cs_info("%s does not apply %s", e->option,
                j->folds.n > 0 ? "with --folds" : "in such a budget");
        return CS_OK;
    }
    rc = cs_file_is_device(j->a->run.output)
       ? cs_fail(CS_EUSAGE, "%s reads the model again, but '%s' is not a regular file; give a file "
                 "with -o", e->option, j->a->run.output)
       : e->check(j->model, &j->data);
    if (rc == CS_EUSAGE && !given) {
        cs_info("%s does not apply: %s", e->option, cs_error_message());
        cs_error_clear();
        e->size = 0;
        rc = CS_OK;
    }
    return rc;
}

/* What is added later, as far as it does not depend on the weights of the model. Data that has none
 * is no error. */
static int make_extension(cs_supervised *j)
{
    const cs_train_extension *e = &j->a->extension;
    const double began = cs_now_s();

    if (e->size == 0 || j->a->aim.print_config || !finishes(j) ||
        (j->group != NULL && cs_group_rank(j->group) > 0))
        return CS_OK;
    const int rc = e->make(e->size, j->model, &j->data, j->valid, &j->made, &j->extending);
    j->made_seconds = cs_now_s() - began;
    if (rc == CS_ECANCEL && !j->a->run.resume)
        cs_note("interrupted before training started; nothing to --resume");
    if (rc != CS_EUSAGE)
        return rc;
    if (cs_opt_given(&e->size))
        cs_warn("the groups of a class share too little for %s, or its size is too small; the "
                "model gets none", e->option);
    cs_info("%s: %s", e->option, cs_error_message());
    cs_error_clear();
    return CS_OK;
}

/* Adds to the written model; scores: see cs_train_extension. */
static int extend_model(cs_supervised *j, cs_scores *scores)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;
    cs_backend *cpu = NULL;
    cs_model *m = NULL;

    CS_TRY(cs_backend_open("cpu", cs_args_threads(&a->compute).work, &cpu));
    CS_TRY(cs_model_load(a->run.output, cpu, CS_USE_INFERENCE, &m));
    CS_TRY(a->extension.add(j->made, m, &j->data, j->valid, a->training.batch_tokens, scores));
    rc = cs_model_save(m, a->run.output);
out:
    if (rc == CS_ECANCEL)
        cs_note("interrupted: the model is trained, without %s; --resume continues",
                a->extension.option);
    cs_model_free(m);
    cs_backend_close(cpu);
    return rc;
}

/* Finish the written model with validation data. */
static int finish_model(cs_supervised *j, const cs_train_state *st)
{
    int rc = CS_OK;
    cs_evaluate_job it = finish_job(j);
    cs_scores extended = { 0 };

    it.history = st->log;
    it.regression = st->regression;
    it.bag = st->bag;
    if (!finishes(j) || (j->group != NULL && cs_group_rank(j->group) > 0))
        return CS_OK;
    if (j->made != NULL) {
        CS_TRY(extend_model(j, &extended));
        it.scores = &extended;
        it.valid = NULL;
    }
    rc = cs_evaluate_trained(&it);
out:
    cs_scores_release(&extended);
    return rc;
}

/* Check before the bag is written: its network would be rejected afterwards. */
static int check_step(const cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    int64_t n_base = 0;

    if (!j->preset || j->budget.n_base == 0)
        return CS_OK;
    for (int64_t i = 0; i < a->training.step_records; i++)
        n_base += cs_sampler_get(j->train, 0, i % cs_sampler_count(j->train)).n_base;
    return j->budget.n_base >= n_base ? CS_OK
         : cs_fail(CS_EUSAGE, "a budget of %lld bases is below one step of about %lld; increase "
                   "it, or lower --step-records", (long long)j->budget.n_base, (long long)n_base);
}

static int train(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;
    cs_train_state st;

    cs_train_state_init(&st);
    CS_TRY(check_step(j));
    CS_TRY(cs_supervised_write_split(j));
    if (a->sample.rc && j->valid != NULL && !a->run.resume && !a->components.head->per_token &&
        !cs_supervised_on_variants(j))
        CS_TRY(cs_baseline_log_strand(j->train, j->valid, (uint64_t)a->training.seed,
                                      j->be->n_thread));
    if (j->folds.n > 0)
        CS_TRY(cs_supervised_cross_validate(j));
    cs_feed feed = cs_supervised_feed(j);
    if (j->preset && (j->valid != NULL || j->final) && !a->run.resume)
        CS_TRY(cs_supervised_bag(j, &feed, NULL, &st));
    if (j->folds.best != CS_FIT_NETWORK) {
        cs_folds_headline(&j->folds, &st);
        cs_bag_log(&st, true);
        rc = finish_model(j, &st);
        goto out;
    }
    const cs_loop_opt o = cs_supervised_options(j);
    rc = cs_train_run(j->model, &feed, &o, &st);
    if (rc == CS_OK || rc == CS_ECANCEL)
        cs_train_summary(&st, j->checkpoint, !a->components.head->is_class &&
                         !a->components.head->is_labels, rc);
    if (rc == CS_OK && st.done && j->final)
        cs_folds_headline(&j->folds, &st);
    if (rc == CS_OK && st.done)
        cs_bag_log(&st, false);
    if (rc == CS_OK && st.done)
        rc = finish_model(j, &st);
out:
    cs_train_state_release(&st);
    return rc;
}

static int train_prepare(cs_supervised *j, const cs_optset *set, int argc, char **argv)
{
    cs_supervised_args *a = j->a;
    int rc = CS_OK;

    const cs_preset preset = choose_preset(a, argc, argv);
    CS_TRY(cs_train_join(&a->training, &a->run, &a->device, cs_labelled_once(&a->label, &a->input),
                         preset != CS_PRESET_NONE, &a->compute, &j->group));
    const cs_thread_counts threads = cs_args_threads(&a->compute);
    if (preset == CS_PRESET_NONE)
        CS_TRY(check_crops(j));
    if (!a->aim.print_config)
        CS_TRY(cs_train_check_outputs(&a->run, j->group, &j->checkpoint));
    CS_TRY(cs_supervised_check_split_out(j));
    CS_TRY(cs_train_index_reference(j->group, a->input.reference));
    CS_TRY(cs_supervised_read(j, threads.inflate));
    CS_TRY(apply_preset(j, set, argc, argv));
    CS_TRY(check_crops(j));
    warn_idle(j->a);
    CS_TRY(cs_train_check(&a->training, j->group));
    CS_TRY(cs_supervised_folds(j));
    name_labels(j);
    warn_names(j);
    CS_TRY(cs_train_device(&a->device, j->group, threads.work, &j->be));
    CS_TRY(cs_supervised_set_up(j));
    CS_TRY(cs_evaluate_check_page(a->result.html, &a->run, j->checkpoint, a->components.head,
                                  j->valid));
    CS_TRY(check_extension(j));
    CS_TRY(make_extension(j));
    CS_TRY(measure_after(j));
    CS_TRY(propose(j));
    CS_TRY(limit_after(j));
    CS_TRY(cs_train_budget_check(&j->budget, cs_now_s() - j->began));
    if (a->result.strand > CS_TRAIN_STRAND_FORWARD)
        CS_TRY(cs_policy_check_strands(j->model, j->model->strands));
    /* The hash of the data replaces its options. Taxa count for the head that trains on them. */
    const cs_opt *const skip[] = {
        cs_input_table, cs_label_table, cs_result_table,
        a->components.head->set_taxonomy ? NULL : cs_taxa_table, NULL
    };
    CS_TRY(cs_provenance_recipe(set, skip, j->model, cs_dataset_hash(&j->data), &j->recipe));
    j->origin.seed = a->training.seed;
    cs_provenance_start_from(&j->origin, a->init.init, a->components.from);
    CS_TRY(cs_provenance_init(&j->origin, set, argc, argv, &a->input.file));
out:
    return rc;
}

static void train_release(cs_supervised *j)
{
    if (j->a->extension.release != NULL)
        j->a->extension.release(j->made);
    cs_supervised_tear_down(j);
    cs_folds_release(&j->folds);
    for (int i = 0; i < CS_N_FIT; i++)
        cs_scores_release(&j->scores[i]);
    free(j->fold_path);
    cs_model_free(j->from);
    cs_backend_close(j->be);
    cs_labelled_close(&j->labelled);
    if (j->data.mem != NULL)
        cs_dataset_release(&j->data);
    cs_provenance_release(&j->origin);
    for (int32_t i = 0; i < j->n_label; i++)
        free(j->label[i].name);
    CS_FREE(j->label, j->recipe, j->checkpoint);
}

int cs_supervised_train(cs_supervised_args *a, const cs_optset *set, int argc, char **argv)
{
    int rc = CS_OK;
    cs_supervised j = { .a = a, .began = cs_now_s() };

    CS_TRY(cs_train_take_budget(&a->training, &j.budget));
    CS_TRY(train_prepare(&j, set, argc, argv));
    if (!a->aim.print_config)
        CS_TRY(train(&j));
    else if (j.group == NULL || cs_group_rank(j.group) == 0)
        (void)fputs(j.recipe, stdout);
out:
    cs_group_finalize(j.group, rc);
    train_release(&j);
    return rc;
}

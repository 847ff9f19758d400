/* train.c - supervised training: `chordseq train`. */
/* long: the wiring of one command, whose steps share its options */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "infer/taxa.h"
#include "nn/exec/composition_init.h"
#include "nn/ops/layer.h"
#include "pipelines/command.h"
#include "run/components.h"
#include "train/bag.h"
#include "train/baseline.h"
#include "train/class_weights.h"
#include "train/evaluate.h"
#include "train/folds.h"
#include "train/labelled.h"
#include "train/provenance.h"
#include "train/train_args.h"
#include "train/train_options.h"
#include "train/variant_labels.h"

static cs_sample_args sample;
static cs_mutation mutation;
static cs_aim_args aim;
static cs_init_args start;
static cs_stated_args stated;
static cs_train_args training;
static cs_run_args own;
static cs_memory_args memory;
static cs_components components;
static cs_input_args input;
static cs_label_args label;
static cs_taxa_args taxa;
static cs_variant_args variants;
static cs_compute_args compute;
static cs_device_args device;
static cs_log_args logs;

/* Proposed budget in passes over the data; seconds of a trial. */
enum { PASSES = 30, TRIAL = 1 };

static void common_options(cs_optset *set)
{
    const cs_optset all[] = {
        { cs_input_table, &input, NULL }, { cs_label_table, &label, NULL },
        { cs_sample_table, &sample, NULL },  { cs_mutation_table, &mutation, NULL },
        { cs_train_table, &training, NULL },
        { cs_aim_table, &aim, NULL },        { cs_init_table, &start, NULL },
        { cs_run_table, &own, NULL },     { cs_memory_table, &memory, NULL },
        { cs_stated_table, &stated, NULL },
        { cs_taxa_table, &taxa, NULL }, { cs_variant_table, &variants, NULL },
        { cs_compute_table, &compute, NULL },
        { cs_device_table, &device, NULL }, { cs_log_table, &logs, NULL },
        { NULL, NULL, NULL },
    };

    memcpy(set, all, sizeof all);
}

static void options(cs_optset *set)
{
    common_options(set);
    cs_components_list(&components, set, CS_MAX_OPTSET);
}

/* ---- the job --------------------------------------------------------------------------------- */

struct job {
    double         began;        /* start of the command in seconds */
    cs_budget      budget;
    cs_preset_facts facts;
    bool           preset, nucleotides;
    int            n_thread;
    cs_label      *label;
    int32_t        n_label;
    cs_labelled    labelled;
    cs_dataset     data;
    cs_group      *group;        /* with --ranks */
    cs_backend    *be;
    cs_model      *model, *from; /* from: --init, until its weights have been taken over */
    cs_model      *base;         /* of --init, on the CPU: its components */
    cs_backend    *base_be;
    cs_sampler    *train, *valid;
    float         *weight;
    char          *recipe, *checkpoint;
    cs_provenance  origin;
    /* With --folds: the model file of a fold, and predictions of validations by it */
    cs_folds       folds;
    char          *fold_path;
    bool           final;        /* the training on all has begun */
    cs_scores      scores, bag_scores;
    double         page_due;     /* seconds: when --html may be written again */
};

static int check_budget(struct job *j, int argc, char **argv)
{
    static const char *const other[] = { "epochs", "max-steps" };

    if (aim.budget == NULL)
        return CS_OK;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (cs_components_argument(argc, argv, other[i]) != NULL)
            return cs_fail(CS_EUSAGE, "--budget and --%s both limit the run; give one",
                           other[i]);
    return cs_budget_parse(aim.budget, &j->budget);
}

static int train_check_options(void)
{
    if (start.init == NULL && (start.freeze != CS_FREEZE_NONE || start.freeze_epochs > 0))
        return cs_fail(CS_EUSAGE, "freezing needs a trained encoder; give --init MODEL");
    if (sample.crop_max > 0 && sample.crop_min > sample.crop_max)
        return cs_fail(CS_EUSAGE, "--crop-min %lld is longer than --crop-max %lld",
                       (long long)sample.crop_min, (long long)sample.crop_max);
    const char *with = label.split != NULL ? "--split" : own.resume ? "--resume"
                     : own.stop_after > 0 ? "--stop-after" : own.max_time > 0 ? "--max-time" : NULL;
    if (sample.n_fold == 1)
        return cs_fail(CS_EUSAGE, "--folds takes at least 2");
    if (sample.n_fold > 0 && with != NULL)
        return cs_fail(CS_EUSAGE, "--folds and %s exclude each other", with);
    if (sample.n_fold > 0 && (!components.head->is_class || components.head->per_token))
        return cs_fail(CS_EUSAGE, "--folds is for sequence classes");
    if (sample.n_fold > 0 && own.output != NULL && strcmp(own.output, "-") == 0)
        return cs_fail(CS_EUSAGE, "--folds needs a file for the model, not standard output");
    return CS_OK;
}

static bool on_variants(void)
{
    return components.head->n_part > 1;
}

/* Copy the labels to the labelled input's classes, which the rest of the command uses. */
static int read_variants(struct job *j, int n_inflate)
{
    const cs_variant_labels from = {
        .reference = input.reference, .key = label.key, .split = label.split,
        .file = &input.file, .n_base = variants.window, .fill = variants.ends == CS_ENDS_FILL,
        .threads = n_inflate,
    };

    if (input.file.n == 0)
        return cs_fail(CS_EUSAGE, "no input; give VCF files or tables of labelled variants");
    if (sample.crop_max > 0)
        return cs_fail(CS_EUSAGE, "--crop-max is for sequences; windows have --window-length");
    if (label.labels != NULL || label.class_file.n > 0)
        return cs_fail(CS_EUSAGE, "--labels and --class are for sequences; variant files contain "
                       "labels");
    int rc = cs_variants_read(&from, &j->data, &j->labelled.classes);
    if (rc == CS_OK && j->data.n == 0)
        rc = cs_fail(CS_EFORMAT, "the input has no variant to train on");
    return rc;
}

static int read_data(struct job *j, int n_inflate)
{
    int rc = CS_OK;
    void *tok = NULL;
    cs_input_opt how;

    CS_TRY(cs_components_tokenizer(&components, &tok));
    CS_TRY(cs_args_reading(&input, n_inflate, &how));
    how.alphabet = cs_tokenizer_alphabet(components.tok, tok);
    if (how.alphabet == CS_DIPLOTYPES && (sample.rc || stated.strand > CS_STRAND_FORWARD)) {
        rc = cs_fail(CS_EUSAGE, "%s is for nucleotides; diplotypes have no reverse complement",
                     sample.rc ? "--rc" : "--strand both or max");
        goto out;
    }
    if (!cs_mutation_is_none(&mutation) &&
        (how.alphabet == CS_DIPLOTYPES || on_variants() || components.head->per_token)) {
        rc = cs_fail(CS_EUSAGE, "--mutate, --mutate-indels and --mutate-silent are for "
                     "nucleotides and one prediction per sequence");
        goto out;
    }
    if (on_variants()) {
        rc = read_variants(j, n_inflate);
        goto out;
    }
    j->nucleotides = how.alphabet != CS_DIPLOTYPES;
    label.lineages = taxa.lineage != NULL;
    label.ranks = taxa.lineage;
    label.n_rank = taxa.lineage != NULL ? cs_lineage_ranks(taxa.lineage) : 0;
    CS_TRY(cs_labelled_open(&label, &input, &how, NULL, components.head, &j->labelled));
    j->labelled.min_base = components.tok->min_base(tok);
    rc = cs_labelled_read(&j->labelled, &j->data, INT64_MAX);
    if (rc != CS_EOF)
        goto out;
    rc = CS_OK;
    cs_labelled_report(&j->labelled);
    if (components.head->set_taxonomy == NULL)
        cs_labelled_advise_tree(&j->labelled);
    if (j->data.n == 0)
        rc = cs_fail(CS_EFORMAT, "the input has no record to train on");
    else if (components.head->is_class && j->labelled.classes.n == 1)
        rc = cs_fail(CS_EFORMAT, "all %lld records have one class, '%s'; training needs at least "
                     "two", (long long)j->data.n, j->labelled.classes.name[0]);
    else if (j->data.n_channel > 0 && (sample.crop_max > 0 || sample.rc))
        rc = cs_fail(CS_EUSAGE, "--crop-max and --rc are for sequences; the input has values");
    else if (sample.crop_max > 0 && sample.crop_min < j->labelled.min_base)
        rc = cs_fail(CS_EUSAGE, "--crop-min %lld has no tokens; it must be at least %lld",
                     (long long)sample.crop_min, (long long)j->labelled.min_base);
out:
    components.tok->close(tok);
    return rc;
}

/* Settings chosen from the data unless given by the user. */
static int apply_preset(struct job *j, const cs_optset *set, int argc, char **argv)
{
    int rc = CS_OK, n = 0;
    cs_optset own_set[CS_MAX_OPTSET] = { { 0 } };

    aim.preset = (int)cs_preset_choose((cs_preset)aim.preset, cs_train_table, argc, argv);
    j->preset = aim.preset != CS_PRESET_NONE && start.init == NULL && components.head->is_class &&
                !components.head->per_token && j->data.n_channel == 0 && j->nucleotides;
    if (!j->preset)
        goto out;
    for (; set->opt != NULL; set++)
        if ((set->opt != components.enc->opt || strcmp(components.enc->name, "chordmixer") == 0) &&
            (set->opt != components.tok->opt || strcmp(components.tok->name, "kmer") == 0))
            own_set[n++] = *set;
    CS_TRY(cs_preset_look(&j->data, &j->facts));
    CS_TRY(cs_preset_apply((cs_preset)aim.preset, &j->facts, own_set, argc, argv));
    j->origin.preset = cs_preset_names[aim.preset];
out:
    if (sample.no_rc)
        sample.rc = 0;
    return rc;
}

static int make_samplers(struct job *j)
{
    int rc = CS_OK;
    int64_t n, n_base;
    cs_draw draw = {
        .crop_min = sample.crop_min, .crop_max = sample.crop_max,
        .crop_power = sample.crop_power, .n_sample = sample.n_sample,
        .balance = sample.balance, .group_balance = sample.group_balance,
        .length_power = sample.length_power, .reverse = sample.rc,
        .mutation = mutation,
        .seed = (uint64_t)training.seed,
    };

    if (label.split == NULL) {
        if (j->folds.n == 0)
            CS_TRY(cs_dataset_split(&j->data, sample.valid_frac, (uint64_t)training.seed));
        CS_TRY(cs_dataset_groups(&j->data, -1, &j->origin.n_group));
    }
    j->origin.split_by = label.split != NULL ? "table" : label.split_by != NULL ? label.split_by
                       : "name";
    CS_TRY(cs_sampler_new(&j->data, CS_PART_TRAIN, &draw, &j->train));
    if (j->folds.n_done == 0)
        CS_TRY(cs_labelled_check_split(&j->labelled, &j->data,
                                       label.split != NULL || sample.valid_frac > 0));
    cs_dataset_count(&j->data, CS_PART_VALID, -1, &n, &n_base);
    if (j->final)
        return CS_OK;
    if (n == 0) {
        cs_warn("no validation records: writing the latest model, not the best");
        return CS_OK;
    }
    draw.n_sample = sample.n_valid;
    draw.reverse = false;
    draw.mutation = (cs_mutation){ 0 };
    rc = cs_sampler_new(&j->data, CS_PART_VALID, &draw, &j->valid);
out:
    return rc;
}

static void name_labels(struct job *j)
{
    const bool named = components.head->is_class || components.head->is_labels;
    const int32_t n = named ? j->labelled.classes.n : j->data.n_target;
    char name[32];

    j->n_label = n;
    j->label = cs_xcalloc((size_t)n, sizeof *j->label);
    for (int32_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, n > 1 ? "value%d" : "value", (int)i + 1);
        j->label[i].name = cs_xstrdup(named ? j->labelled.classes.name[i] : name);
    }
}

static cs_model_spec spec_of(const struct job *j)
{
    return (cs_model_spec){
        .tok = j->data.n_channel > 0 ? NULL : components.tok, .tok_cfg = components.tok_cfg,
        .tok_text = components.tok_text, .has_mask = j->from != NULL && j->from->mask >= 0,
        .enc = components.enc, .enc_cfg = components.enc_cfg,
        .head = components.head, .head_cfg = components.head_cfg, .n_channel = j->data.n_channel,
        .label = j->label, .n_label = j->n_label, .seed = (uint64_t)training.seed, .training = true,
        .ranks = j->from != NULL ? cs_params_ranks(&j->from->ps) : (cs_ranks){ 0 },
    };
}

static cs_strands strands_of(const struct job *j)
{
    return stated.strand != CS_STRAND_AUTO ? (cs_strands)(stated.strand - 1)
         : sample.rc && cs_policy_can_turn(j->model) ? CS_STRANDS_BOTH : CS_STRANDS_FORWARD;
}

static int make_model(struct job *j)
{
    int rc = CS_OK;

    CS_TRY(cs_model_check_labels(j->label, j->n_label));
    if (start.init != NULL)
        CS_TRY(cs_model_load(start.init, j->be, false, &j->from));
    const cs_model_spec spec = spec_of(j);
    CS_TRY(cs_model_new(&spec, j->be, &j->model));
    if (on_variants())
        j->model->window = variants.window;
    j->model->strands = strands_of(j);
    CS_TRY(cs_taxa_set(j->model, &taxa));
    CS_TRY(cs_taxa_set_head(j->model));
out:
    return rc;
}

static int take_over(struct job *j)
{
    int rc = CS_OK;
    char why[512];

    if (j->from == NULL)
        return CS_OK;
    if ((rc = cs_model_adopt(j->model, j->from)) != CS_OK) {
        (void)snprintf(why, sizeof why, "%s", cs_error_message());
        cs_error_clear();
        rc = cs_fail(rc, "cannot start from '%s': %s", start.init, why);
    } else if (!cs_model_same_labels(j->model, j->from)) {
        cs_note("the head is initialised anew: the labels of '%s' or their order differ",
                start.init);
    }
    cs_model_free(j->from);
    j->from = NULL;
    cs_params_rate(&j->model->ps, "embedding.", start.encoder_lr);
    cs_params_rate(&j->model->ps, "encoder.", start.encoder_lr);
    for (int i = 0; cs_model_keeps_hidden(j->model) && i < 2; i++)
        cs_params_rate(&j->model->ps, i ? "head.norm." : "head.fc.", start.encoder_lr);
    return rc;
}

/* The option that shortens samples, for messages. */
static const char *shorter(const struct job *j)
{
    return on_variants() ? "shorten windows with --window-length"
         : j->data.n_channel > 0 ? "shorten sequences" : "shorten sequences with --crop-max";
}

/* With --init the encoder keeps its settings. */
static int check_lengths(const struct job *j)
{
    const cs_pack pack = { .tok = j->model->tok, .tok_state = j->model->tok_state };
    const int rc = cs_feed_check_lengths(&j->data, &pack, sample.crop_max,
                                         cs_model_max_len(j->model));

    return rc != CS_EUSAGE ? rc
         : cs_fail_also(rc, "; %s%s", start.init ? "" : "give a larger --encoder.max-len, or ",
                        shorter(j));
}

static char *train_describe(void *arg, const cs_train_state *st)
{
    const struct job *j = arg;

    return cs_provenance_text(&j->origin, &j->data, &j->labelled.classes, st);
}

/* Writes the page during training, in at most a twentieth of the time. */
static int show_page(void *arg, cs_model *m, const cs_train_state *st, const cs_scores *s)
{
    struct job *j = arg;
    const double began = cs_now_s();
    const cs_evaluate_job it = {
        .path = own.output, .html = stated.html, .command = j->origin.command,
        .classes = &j->labelled.classes, .course = st->log, .regression = st->regression,
        .bag = st->bag,
    };

    if (began < j->page_due)
        return CS_OK;
    const int rc = cs_evaluate_page(&it, m, s);
    j->page_due = cs_now_s() + 20 * (cs_now_s() - began);
    return rc;
}

static cs_train_opt loop_options(struct job *j)
{
    cs_train_opt o = cs_train_options(&training, &own, &memory);

    o.budget = j->budget;
    if (cs_budget_set(&j->budget)) {
        o.n_epoch = INT64_MAX;
        o.spent = cs_now_s() - j->began;
    }
    if (j->preset && (j->group == NULL || cs_group_rank(j->group) == 0))
        o.watch = aim.preset == CS_PRESET_FAST ? "bag of words" : "network";
    o.weight = j->weight;
    o.tolerance = aim.tolerance;
    o.monitor = (cs_monitor)aim.monitor;
    o.stop_at = aim.stop_at;
    o.shorter = shorter(j);
    o.checkpoint_path = j->checkpoint;
    o.recipe = j->recipe;
    o.group = j->group;
    o.freeze_epochs = start.freeze == CS_FREEZE_ENCODER ? INT64_MAX : start.freeze_epochs;
    o.describe = train_describe;
    o.arg = j;
    if (stated.html != NULL) {
        o.validated = show_page;
        o.validated_arg = j;
    }
    if (j->folds.n > 0) {        /* the result of the training on all: the last weights */
        o.keep_last = true;
        o.patience = 0;
    }
    if (j->folds.n > 0 && !j->final) {
        o.model_path = j->fold_path;
        o.checkpoint_path = o.metrics_path = o.steps_path = o.events_path = NULL;
    }
    return o;
}

static cs_feed feed_of(const struct job *j)
{
    return (cs_feed){
        .train = j->train, .valid = j->valid, .weight = j->weight,
        .pack = { .tok = j->model->tok, .tok_state = j->model->tok_state,
                  .batch_tokens = training.batch_tokens, .step_records = training.step_records,
                  .accumulate = training.accumulate },
    };
}

/* Baselines; the bag is the model until the network is better. */
static int compete(struct job *j, const cs_feed *feed, cs_train_state *st)
{
    const cs_train_opt o = loop_options(j);
    const cs_bag_spec spec = {
        .model = spec_of(j), .facts = &j->facts, .taxa = &taxa, .training = &training, .feed = feed,
        .opt = &o, .strands = j->model->strands,
        .network = start.bag == NULL ? j->model : NULL, .rate = start.composition_lr,
    };
    const int rc = j->valid != NULL ? cs_bag_regression(&spec, st) : CS_OK;

    return rc != CS_OK || aim.preset == CS_PRESET_FAST ? rc : cs_bag_train(&spec, j->be, st);
}

/* Bases per second, from a second of discarded training. */
static int train_measure(struct job *j, double *speed)
{
    int rc = CS_OK;
    cs_train_state st;
    cs_train_opt o = loop_options(j);
    cs_feed feed = feed_of(j);

    o.budget = (cs_budget){ .seconds = TRIAL };
    o.n_epoch = INT64_MAX;
    o.model_path = o.checkpoint_path = o.metrics_path = o.watch = NULL;
    o.steps_path = o.events_path = NULL;
    o.validated = NULL;
    o.resume = false;
    feed.valid = NULL;
    cs_train_state_init(&st);
    CS_TRY(cs_train_run(j->model, &feed, &o, &st));
    *speed = (double)st.n_base / fmax(st.seconds, 1e-9);
    cs_model_free(j->model);
    j->model = NULL;
    rc = make_model(j);
out:
    cs_train_state_release(&st);
    return rc;
}

/* Without --budget or another limit, choose one by data and machine. */
static int propose(struct job *j, int argc, char **argv)
{
    static char text[32];
    int rc = CS_OK;
    double speed = 0;

    if (!j->preset || cs_budget_set(&j->budget) || aim.print_config ||
        cs_preset_given(argc, argv, "epochs", 0) || cs_preset_given(argc, argv, "max-steps", 0))
        return CS_OK;
    if (own.resume)
        return cs_fail(CS_EUSAGE, "--resume needs the --budget of the interrupted run");
    CS_TRY(train_measure(j, &speed));
    j->budget.seconds = cs_preset_propose(&j->facts, PASSES, speed);
    (void)snprintf(text, sizeof text, "%.0fm", j->budget.seconds / 60);
    aim.budget = text;
    cs_note("using --budget %s: %d passes over %.3g Mbase at %.3g Mbase/s would take %.0f s; set "
            "--budget to change it, and with --resume", text, PASSES, (double)j->facts.n_base / 1e6,
            speed / 1e6, PASSES * (double)j->facts.n_base / fmax(speed, 1));
out:
    return rc;
}

/* Finish the written model with validation data: calibration, HTML report. */
static int look_back(struct job *j, const cs_train_state *st)
{
    const bool folds = j->folds.n > 0;
    const cs_evaluate_job it = {
        .scores = !folds ? NULL : j->folds.bag ? &j->bag_scores : &j->scores,
        .fold = j->folds.fold, .n_fold = j->folds.n,
        .path = own.output, .be = j->be, .valid = j->valid, .batch_tokens = training.batch_tokens,
        .html = stated.html, .command = j->origin.command, .classes = &j->labelled.classes,
        .course = st->log, .regression = st->regression, .bag = st->bag,
    };

    if ((j->valid == NULL && !folds) || !components.head->is_class || components.head->per_token ||
        (j->group != NULL && cs_group_rank(j->group) > 0))
        return CS_OK;
    return cs_evaluate_model(&it);
}

/* The model and samples of the split as it is. */
static int set_up(struct job *j)
{
    int rc = CS_OK;

    CS_TRY(make_samplers(j));
    CS_TRY(cs_class_weights(aim.weights, components.head, &j->data, j->labelled.classes.n,
                            &j->weight));
    CS_TRY(make_model(j));
    CS_TRY(check_lengths(j));
    CS_TRY(take_over(j));
    rc = cs_bag_start(j->model, start.bag, start.composition_lr);
out:
    return rc;
}

static void tear_down(struct job *j)
{
    cs_sampler_free(j->train);
    cs_sampler_free(j->valid);
    cs_model_free(j->model);
    free(j->weight);
    j->train = j->valid = NULL;
    j->model = NULL;
    j->weight = NULL;
}

/* ---- cross-validation ------------------------------------------------------------------------ */

static int assign_folds(struct job *j)
{
    int rc = CS_OK;
    const size_t n = own.output != NULL ? strlen(own.output) + sizeof ".fold" : 1;

    if (sample.n_fold == 0)
        return CS_OK;
    if (j->group != NULL)
        return cs_fail(CS_EUSAGE, "--folds trains in one process; omit --ranks");
    CS_TRY(cs_folds_assign(&j->data, &j->labelled.classes, (int)sample.n_fold,
                           (uint64_t)training.seed, label.split_by ? label.split_by : "name",
                           &j->folds));
    cs_folds_select(&j->folds, 0, &j->data);
    j->fold_path = cs_xcalloc(n, 1);
    if (own.output != NULL)
        (void)snprintf(j->fold_path, n, "%s.fold", own.output);
out:
    return rc;
}

/* Adds a fold model's predictions of its validation set. */
static int add_scores(struct job *j, cs_scores *to)
{
    const cs_evaluate_job it = { .path = j->fold_path, .be = j->be, .valid = j->valid,
                           .batch_tokens = training.batch_tokens };

    return cs_evaluate_add(&it, to);
}

static int train_fold(struct job *j)
{
    int rc = CS_OK;
    int64_t n, n_base;
    cs_train_state st;
    cs_fold_scores bag = { NAN, NAN, NAN };
    const cs_feed feed = feed_of(j);
    cs_feed run = feed;

    cs_train_state_init(&st);
    if (j->preset)
        CS_TRY(compete(j, &feed, &st));
    if (isfinite(st.bag)) {
        bag = (cs_fold_scores){ st.best_accuracy, st.best_balanced, st.best_loss };
        CS_TRY(add_scores(j, &j->bag_scores));
    }
    const cs_train_opt o = loop_options(j);
    CS_TRY(cs_train_run(j->model, &run, &o, &st));
    CS_TRY(add_scores(j, &j->scores));
    cs_dataset_count(&j->data, CS_PART_VALID, -1, &n, &n_base);
    cs_folds_add(&j->folds, &bag, n, &st);
out:
    cs_train_state_release(&st);
    return rc;
}

/* Afterwards everything is as without validation. */
static int cross_validate(struct job *j)
{
    int rc = CS_OK;

    if (aim.budget != NULL)
        cs_note("training %d models, each with --budget %s: %d folds, then all records",
                j->folds.n + 1, aim.budget, j->folds.n);
    for (int i = 0; i < j->folds.n; i++) {
        cs_folds_select(&j->folds, i, &j->data);
        if (i > 0) {
            j->began = cs_now_s();
            CS_TRY(set_up(j));
        }
        CS_TRY(train_fold(j));
        tear_down(j);
    }
    cs_folds_finish(&j->folds);
    cs_folds_select(&j->folds, -1, &j->data);
    j->origin.folds = &j->folds;
    j->final = true;
    j->began = cs_now_s();
    rc = set_up(j);
out:
    (void)unlink(j->fold_path);
    return rc;
}

/* Check before the bag is written: its network would be rejected afterwards. */
static int check_step(const struct job *j)
{
    int64_t n_base = 0;

    if (!j->preset || j->budget.n_base == 0)
        return CS_OK;
    for (int64_t i = 0; i < training.step_records; i++)
        n_base += cs_sampler_get(j->train, 0, i % cs_sampler_count(j->train)).n_base;
    return j->budget.n_base >= n_base ? CS_OK
         : cs_fail(CS_EUSAGE, "a budget of %lld bases is below one step of about %lld; increase "
                   "it, or lower --step-records", (long long)j->budget.n_base, (long long)n_base);
}

static int train(struct job *j)
{
    int rc = CS_OK;
    cs_train_state st;

    cs_train_state_init(&st);
    CS_TRY(check_step(j));
    if (sample.rc && j->valid != NULL && !own.resume && components.head->is_class &&
        !components.head->per_token)
        CS_TRY(cs_baseline_log_strand(j->train, j->valid, (uint64_t)training.seed));
    if (j->folds.n > 0)
        CS_TRY(cross_validate(j));
    cs_feed feed = feed_of(j);
    if (j->preset && (j->valid != NULL || j->final) && !own.resume)
        CS_TRY(compete(j, &feed, &st));
    if (j->folds.bag) {
        cs_note("the bag of words is the model");
        rc = look_back(j, &st);
        goto out;
    }
    const cs_train_opt o = loop_options(j);
    rc = cs_train_run(j->model, &feed, &o, &st);
    if (rc == CS_OK || rc == CS_ECANCEL)
        cs_train_summary(&st, j->checkpoint, rc);
    if (rc == CS_OK && st.done && j->final)
        cs_folds_headline(&j->folds, &st);
    if (rc == CS_OK && st.done)
        cs_bag_log(&st);
    if (rc == CS_OK && st.done)
        rc = look_back(j, &st);
out:
    cs_train_state_release(&st);
    return rc;
}

static int train_prepare(struct job *j, const cs_optset *set, int argc, char **argv)
{
    int rc = CS_OK;

    CS_TRY(cs_train_join(&training, &own, &device, cs_labelled_once(&label, &input), &compute,
                         &j->group));
    const cs_split split = cs_args_split(&compute);
    if (!aim.print_config)
        CS_TRY(cs_train_outputs(&own, j->group, &j->checkpoint));
    CS_TRY(cs_train_index(j->group, input.reference));
    CS_TRY(read_data(j, split.inflate));
    CS_TRY(apply_preset(j, set, argc, argv));
    CS_TRY(assign_folds(j));
    name_labels(j);
    CS_TRY(cs_train_device(&device, j->group, split.work, &j->be));
    CS_TRY(set_up(j));
    CS_TRY(cs_evaluate_check_page(stated.html, &own, components.head, j->valid));
    CS_TRY(propose(j, argc, argv));
    CS_TRY(cs_budget_check(&j->budget, cs_now_s() - j->began));
    if (stated.strand > CS_STRAND_FORWARD)
        CS_TRY(cs_policy_check_turn(j->model));
    /* Tables after those of input, labels, run, compute, device and log; the one of taxa only if
     * stored. */
    j->recipe = cs_provenance_recipe(set, (const cs_opt *const[]){ cs_input_table, cs_label_table,
                                     cs_run_table, cs_memory_table, cs_stated_table,
                                     cs_compute_table, cs_device_table, cs_log_table,
                                     components.head->set_taxonomy ? NULL : cs_taxa_table, NULL },
                                     cs_dataset_hash(&j->data));
    j->origin.seed = training.seed;
    CS_TRY(cs_provenance_init(&j->origin, argc, argv, &input.file));
out:
    return rc;
}

static void train_release(struct job *j)
{
    tear_down(j);
    cs_folds_release(&j->folds);
    cs_scores_release(&j->scores);
    cs_scores_release(&j->bag_scores);
    free(j->fold_path);
    cs_model_free(j->from);
    cs_model_free(j->base);
    cs_backend_close(j->base_be);
    cs_backend_close(j->be);
    cs_labelled_close(&j->labelled);
    if (j->data.mem != NULL)
        cs_dataset_release(&j->data);
    cs_provenance_release(&j->origin);
    for (int32_t i = 0; i < j->n_label; i++)
        free(j->label[i].name);
    free(j->label);
    free(j->recipe);
    free(j->checkpoint);
}

/* The option tables depend on --init, so that model is read before parsing. */
static int look_at_init(struct job *j, int argc, char **argv)
{
    int rc = CS_OK;
    const char *path = cs_components_argument(argc, argv, "init");

    if (path == NULL)
        return CS_OK;
    CS_TRY(cs_backend_open("cpu", 1, &j->base_be));
    CS_TRY(cs_model_load(path, j->base_be, false, &j->base));
out:
    return rc;
}

static int train_run(int argc, char **argv)
{
    int rc = CS_OK;
    cs_optset set[CS_MAX_OPTSET] = { { 0 } };
    struct job j = { .began = cs_now_s() };

    common_options(set);
    CS_TRY(look_at_init(&j, argc, argv));
    CS_TRY(cs_components_find(&components, argc, argv, j.base, set, CS_MAX_OPTSET));
    CS_TRY(cs_args_parse(set, argc, argv, &input.file, &logs));
    if (j.base != NULL)
        CS_TRY(cs_components_adopt(&components, argc, argv, j.base));
    CS_TRY(train_check_options());
    CS_TRY(check_budget(&j, argc, argv));
    CS_TRY(train_prepare(&j, set, argc, argv));
    if (aim.print_config)
        (void)fputs(j.recipe, stdout);
    else
        CS_TRY(train(&j));
out:
    cs_group_finalize(j.group, rc);
    train_release(&j);
    cs_args_release(&input);
    cs_opt_release(set);
    cs_components_release(&components);
    return rc;
}

const cs_command cs_cmd_train = {
    .name = "train",
    .summary = "train a model on labelled sequences",
    .usage = "[OPTIONS] -o MODEL [FILE...]",
    .options = options,
    .filter = cs_components_filter,
    .run = train_run,
};

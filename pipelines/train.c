/* train.c - supervised training: `chordseq train`. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "infer/taxa.h"
#include "nn/ops/layer.h"
#include "pipelines/command.h"
#include "run/components.h"
#include "train/class_weights.h"
#include "train/evaluate.h"
#include "train/labelled.h"
#include "train/provenance.h"
#include "train/train_args.h"
#include "train/variant_labels.h"

struct sample_args {
    int64_t crop_min, crop_max, n_sample, n_valid;
    double  crop_power, balance, group_balance, length_power, valid_frac;
    int     rc;
};
struct aim_args { const char *budget, *weights; double stop_at, tolerance; int monitor; };
struct init_args { const char *init; int64_t freeze_epochs; double encoder_lr; int freeze; };

static struct sample_args sample;
static struct aim_args aim;
static struct init_args start;
static int strand;
static cs_train_args learn;
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

enum { FREEZE_NONE, FREEZE_ENCODER };
static const char *const freeze_names[] = { "none", "encoder", NULL };
enum { STRAND_AUTO, STRAND_FORWARD, STRAND_BOTH };
static const char *const strand_names[] = { "auto", "forward", "both", NULL };
static const char *const monitor_names[] = { "auto", "balanced-accuracy", "loss", NULL };

#define SAMPLE(field) .off = offsetof(struct sample_args, field)
#define AIM(field) .off = offsetof(struct aim_args, field)
#define INIT(field) .off = offsetof(struct init_args, field)

static const cs_opt sample_table[] = {
    { .type = CS_OPT_GROUP, .name = "Samples" },
    { .type = CS_OPT_SIZE, .name = "crop-min", SAMPLE(crop_min), .arg = "NUM", .def = "500",
      .help = "shortest crop, in bases", .min = 1, .max = 1e12 },
    { .type = CS_OPT_SIZE, .name = "crop-max", SAMPLE(crop_max), .arg = "NUM", .def = "0",
      .help = "longest crop; 0: whole sequences",
      .man = "Places are drawn uniformly. A record shorter than the length drawn is used whole.",
      .min = 0, .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "crop-power", SAMPLE(crop_power), .arg = "NUM", .def = "1",
      .help = "density of crop lengths is L^-NUM",
      .man = "1 draws lengths evenly on a logarithmic scale; more draws short ones more often.",
      .min = 0, .max = 10 },
    { .type = CS_OPT_SIZE, .name = "samples-per-epoch", SAMPLE(n_sample), .arg = "NUM",
      .def = "0", .help = "samples per epoch; 0: every record once", .min = 0,
      .max = 1e12 },
    { .type = CS_OPT_REAL, .name = "class-balance", SAMPLE(balance), .arg = "NUM", .def = "1",
      .help = "class sampling: 0 by their mass, 1 equally often",
      .man = "With --samples-per-epoch. A class is drawn with a probability in proportion to its "
             "mass to the power 1 - NUM; its mass is the sum over its records of length to the "
             "power --length-power.", .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "group-balance", SAMPLE(group_balance), .arg = "NUM", .def = "0",
      .help = "group sampling within a class: 0 by their mass, 1 equally often",
      .man = "Groups are those of --split-by, organisms say: a class is then not what its best "
             "sequenced member is.", .min = 0, .max = 1 },
    { .type = CS_OPT_REAL, .name = "length-power", SAMPLE(length_power), .arg = "NUM", .def = "1",
      .help = "record sampling: proportional to length to this power", .min = 0, .max = 4 },
    { .type = CS_OPT_FLAG, .name = "rc", SAMPLE(rc),
      .help = "reverse-complement half of the samples" },
    { .type = CS_OPT_REAL, .name = "valid-frac", SAMPLE(valid_frac), .arg = "NUM", .def = "0.1",
      .help = "share of every class for validation",
      .man = "Counted in bases, whole groups at a time (see --split-by); not used with --split.",
      .min = 0, .max = 0.9 },
    { .type = CS_OPT_SIZE, .name = "valid-samples", SAMPLE(n_valid), .arg = "NUM", .def = "0",
      .help = "validation samples; 0: every record once",
      .man = "Drawn like training samples, but the same in every epoch and never turned round.",
      .min = 0, .max = 1e12 },
    { .type = CS_OPT_END }
};

static const cs_opt aim_table[] = {
    { .type = CS_OPT_GROUP, .name = "Aim" },
    { .type = CS_OPT_STR, .name = "budget", AIM(budget), .arg = "TIME|BASES",
      .help = "learn for so long (90s, 10m, 2h, 1d) or from so many bases (500M)",
      .man = "Takes the place of --epochs and --max-steps: the learning rate goes down to the end "
             "of the budget, epochs end after a twelfth of it at the latest, and the last weights "
             "are validated and calibrated within it. Reading the input counts. Runs that are "
             "paused and resumed have one budget together; only one of bases gives the same bits "
             "again." },
    { .type = CS_OPT_STR, .name = "class-weights", AIM(weights), .arg = "LIST", .def = "none",
      .help = "class weights: comma-separated, none or balanced",
      .man = "balanced: records / (classes x records of the class), of the training part; bases "
             "instead of records for head token. Head multilabel has one per label, of its 1s (its "
             "0s weigh 1); balanced: 0s / 1s. Head variant has two, of labels 0 and 1." },
    { .type = CS_OPT_REAL, .name = "stop-at", AIM(stop_at), .arg = "NUM", .def = "0",
      .help = "stop once the validation metric reaches this; 0: never",
      .man = "A balanced accuracy that is reached, or a loss that is not exceeded: see --monitor.",
      .min = 0, .max = 1e9 },
    { .type = CS_OPT_ENUM, .name = "monitor", AIM(monitor), .arg = "NAME", .def = "auto",
      .help = "validation metric that selects the best model: balanced-accuracy or loss",
      .man = "auto: balanced accuracy of classes, else loss.",
      .choice = monitor_names },
    { .type = CS_OPT_REAL, .name = "tolerance", AIM(tolerance), .arg = "NUM", .def = "0.04",
      .help = "tolerance: largest error of a correct value", .min = 0, .max = 1e9 },
    { .type = CS_OPT_END }
};

static const cs_opt init_table[] = {
    { .type = CS_OPT_GROUP, .name = "Fine-tuning" },
    { .type = CS_OPT_IN, .name = "init", INIT(init), .arg = "MODEL",
      .help = "start from this model's weights",
      .man = "Tokenizer and encoder are the model's, with all their settings: options that say "
             "otherwise are refused. The head is taken over, too, if it is the same and the "
             "classes are the same ones in the same order; else it starts anew." },
    { .type = CS_OPT_ENUM, .name = "freeze", INIT(freeze), .arg = "PART", .def = "none",
      .help = "layers to freeze: none or encoder", .choice = freeze_names,
      .man = "encoder: embedding and encoder stay as they are and only answer, which takes a "
             "third of the time (probing)." },
    { .type = CS_OPT_INT, .name = "freeze-epochs", INIT(freeze_epochs), .arg = "NUM", .def = "0",
      .help = "freeze for these first epochs only: probing, then fine-tuning", .min = 0,
      .max = 1e6 },
    { .type = CS_OPT_REAL, .name = "encoder-lr", INIT(encoder_lr), .arg = "FACTOR", .def = "1",
      .help = "factor on --lr for embedding and encoder", .min = 1e-9, .max = 1e3 },
    { .type = CS_OPT_END }
};

/* Of the group before it, "Output". */
static const cs_opt strand_table[] = {
    { .type = CS_OPT_ENUM, .name = "strand", .off = 0, .arg = "NAME", .def = "auto",
      .help = "default --strand stored in the model: forward, both or auto",
      .man = "auto is both if it was trained with --rc, but forward with the head token where its "
             "tokens do not lie at the same places on either strand. When training is done, the "
             "probabilities of a model of whole sequences are calibrated by this on the validation "
             "samples, if there are 100 or more.", .choice = strand_names },
    { .type = CS_OPT_END }
};

static void common_options(cs_optset *set)
{
    const cs_optset all[] = {
        { cs_input_table, &input, NULL }, { cs_label_table, &label, NULL },
        { sample_table, &sample, NULL },  { cs_train_table, &learn, NULL },
        { aim_table, &aim, NULL },        { init_table, &start, NULL },
        { cs_run_table, &own, NULL },     { cs_memory_table, &memory, NULL },
        { strand_table, &strand, NULL },
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
    double         began;        /* seconds: when the command did */
    cs_budget      budget;
    cs_labelled    labelled;
    cs_dataset     data;
    cs_group      *group;        /* with --ranks */
    cs_backend    *be;
    cs_model      *model, *from; /* from: --init, until its weights have been taken over */
    cs_model      *base;         /* --init, too, on the processor: what it is made of */
    cs_backend    *base_be;
    cs_sampler    *train, *valid;
    float         *weight;
    char          *recipe, *checkpoint;
    cs_provenance  origin;
};

static int check_budget(struct job *j, int argc, char **argv)
{
    static const char *const other[] = { "epochs", "max-steps" };

    if (aim.budget == NULL)
        return CS_OK;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (cs_components_argument(argc, argv, other[i]) != NULL)
            return cs_fail(CS_EUSAGE, "--budget and --%s both say where the run ends; give one",
                           other[i]);
    return cs_budget_parse(aim.budget, &j->budget);
}

/* Reading may have taken all of it. */
static int check_time(const struct job *j)
{
    const double spent = cs_now_s() - j->began;

    if (j->budget.seconds <= 0 || spent < j->budget.seconds)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "a budget of %g s is over before the first step; give more",
                   j->budget.seconds);
}

static int check_options(void)
{
    if (start.init == NULL && (start.freeze != FREEZE_NONE || start.freeze_epochs > 0))
        return cs_fail(CS_EUSAGE, "an encoder that was never trained is not worth freezing; give "
                       "--init MODEL");
    if (sample.crop_max > 0 && sample.crop_min > sample.crop_max)
        return cs_fail(CS_EUSAGE, "--crop-min %lld is longer than --crop-max %lld",
                       (long long)sample.crop_min, (long long)sample.crop_max);
    return CS_OK;
}

static bool on_variants(void)
{
    return components.head->n_part > 1;
}

/* The labels become the labelled input's classes, by which the rest of the command knows them. */
static int read_variants(struct job *j, int n_inflate)
{
    const cs_variant_labels from = {
        .reference = input.reference, .key = label.key, .split = label.split,
        .file = &input.file, .n_base = variants.window, .threads = n_inflate,
    };

    if (input.file.n == 0)
        return cs_fail(CS_EUSAGE, "no input; name VCF files or tables of labelled variants");
    if (sample.crop_max > 0)
        return cs_fail(CS_EUSAGE, "--crop-max is for sequences; windows have --window-length");
    if (label.labels != NULL || label.class_file.n > 0)
        return cs_fail(CS_EUSAGE, "--labels and --class are for sequences; variants bring their "
                       "labels with them");
    int rc = cs_variants_read(&from, &j->data, &j->labelled.classes);
    if (rc == CS_OK && j->data.n == 0)
        rc = cs_fail(CS_EFORMAT, "there is no variant to learn from in the input");
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
    if (how.alphabet == CS_DIPLOTYPES && (sample.rc || strand == STRAND_BOTH)) {
        rc = cs_fail(CS_EUSAGE, "%s is for nucleotides; diplotypes cannot be turned round",
                     sample.rc ? "--rc" : "--strand both");
        goto out;
    }
    if (on_variants()) {
        rc = read_variants(j, n_inflate);
        goto out;
    }
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
    if (j->data.n == 0)
        rc = cs_fail(CS_EFORMAT, "there is no record to learn from in the input");
    else if (components.head->is_class && j->labelled.classes.n == 1)
        rc = cs_fail(CS_EFORMAT, "all %lld records are of one class, '%s'; there have to be two to "
                     "tell apart", (long long)j->data.n, j->labelled.classes.name[0]);
    else if (j->data.n_channel > 0 && (sample.crop_max > 0 || sample.rc))
        rc = cs_fail(CS_EUSAGE, "--crop-max and --rc are for sequences; the input has values");
    else if (sample.crop_max > 0 && sample.crop_min < j->labelled.min_base)
        rc = cs_fail(CS_EUSAGE, "--crop-min %lld gives no token; it must be at least %lld",
                     (long long)sample.crop_min, (long long)j->labelled.min_base);
out:
    components.tok->close(tok);
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
        .seed = (uint64_t)learn.seed,
    };

    if (label.split == NULL) {
        CS_TRY(cs_dataset_split(&j->data, sample.valid_frac, (uint64_t)learn.seed));
        CS_TRY(cs_dataset_groups(&j->data, -1, &j->origin.n_group));
    }
    j->origin.split_by = label.split != NULL ? "table" : label.split_by != NULL ? label.split_by
                       : "name";
    CS_TRY(cs_sampler_new(&j->data, CS_PART_TRAIN, &draw, &j->train));
    CS_TRY(cs_labelled_check_split(&j->labelled, &j->data,
                                   label.split != NULL || sample.valid_frac > 0));
    cs_dataset_count(&j->data, CS_PART_VALID, -1, &n, &n_base);
    if (n == 0) {
        cs_warn("no record is kept for validation: the latest model is written, not the best");
        return CS_OK;
    }
    draw.n_sample = sample.n_valid;
    draw.reverse = false;
    rc = cs_sampler_new(&j->data, CS_PART_VALID, &draw, &j->valid);
out:
    return rc;
}

static int make_model(struct job *j, int n_thread)
{
    int rc = CS_OK;
    const bool named = components.head->is_class || components.head->is_labels;
    const int32_t n = named ? j->labelled.classes.n : j->data.n_target;
    cs_label *l = cs_xcalloc((size_t)n, sizeof *l);
    char name[32];

    for (int32_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, n > 1 ? "value%d" : "value", (int)i + 1);
        l[i].name = cs_xstrdup(named ? j->labelled.classes.name[i] : name);
    }
    CS_TRY(cs_model_check_labels(l, n));
    CS_TRY(cs_train_device(&device, j->group, n_thread, &j->be));
    if (start.init != NULL)
        CS_TRY(cs_model_load(start.init, j->be, false, &j->from));
    const cs_model_spec spec = {
        .tok = j->data.n_channel > 0 ? NULL : components.tok, .tok_cfg = components.tok_cfg,
        .tok_text = components.tok_text, .has_mask = j->from != NULL && j->from->mask >= 0,
        .enc = components.enc, .enc_cfg = components.enc_cfg,
        .head = components.head, .head_cfg = components.head_cfg, .n_channel = j->data.n_channel,
        .label = l, .n_label = n, .seed = (uint64_t)learn.seed, .training = true,
        .ranks = j->from != NULL ? cs_params_ranks(&j->from->ps) : (cs_ranks){ 0 },
    };
    CS_TRY(cs_model_new(&spec, j->be, &j->model));
    if (on_variants())
        j->model->window = variants.window;
    CS_TRY(cs_taxa_set(j->model, &taxa));
    CS_TRY(cs_taxa_set_head(j->model));
out:
    for (int32_t i = 0; i < n; i++)
        free(l[i].name);
    free(l);
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
        cs_note("the head starts anew: that of '%s' is for other labels, or for these in another "
                "order", start.init);
    }
    cs_model_free(j->from);
    j->from = NULL;
    cs_params_rate(&j->model->ps, "embedding.", start.encoder_lr);
    cs_params_rate(&j->model->ps, "encoder.", start.encoder_lr);
    return rc;
}

/* What makes samples shorter, for messages. */
static const char *shorter(const struct job *j)
{
    return on_variants() ? "shorten windows with --window-length"
         : j->data.n_channel > 0 ? "shorten sequences" : "shorten sequences with --crop-max";
}

/* Of a model to start from, the encoder stays as it is. */
static int check_lengths(const struct job *j)
{
    const cs_pack pack = { .tok = j->model->tok, .tok_state = j->model->tok_state };
    const int rc = cs_feed_check_lengths(&j->data, &pack, sample.crop_max,
                                         cs_model_max_len(j->model));

    return rc != CS_EUSAGE ? rc
         : cs_fail_also(rc, "; %s%s", start.init ? "" : "give a larger --encoder.max-len, or ",
                        shorter(j));
}

static char *describe(void *arg, const cs_train_state *st)
{
    const struct job *j = arg;

    return cs_provenance_text(&j->origin, &j->data, &j->labelled.classes, st);
}

static cs_train_opt loop_options(struct job *j)
{
    cs_train_opt o = cs_train_options(&learn, &own, &memory);

    o.budget = j->budget;
    if (cs_budget_set(&j->budget)) {
        o.n_epoch = INT64_MAX;
        o.spent = cs_now_s() - j->began;
    }
    o.weight = j->weight;
    o.tolerance = aim.tolerance;
    o.monitor = (cs_monitor)aim.monitor;
    o.stop_at = aim.stop_at;
    o.shorter = shorter(j);
    o.checkpoint_path = j->checkpoint;
    o.recipe = j->recipe;
    o.group = j->group;
    o.freeze_epochs = start.freeze == FREEZE_ENCODER ? INT64_MAX : start.freeze_epochs;
    o.describe = describe;
    o.arg = j;
    return o;
}

static int train(struct job *j)
{
    int rc;
    cs_train_state st;
    const cs_train_opt o = loop_options(j);
    cs_feed feed = {
        .train = j->train, .valid = j->valid, .weight = j->weight,
        .pack = { .tok = j->model->tok, .tok_state = j->model->tok_state,
                  .batch_tokens = learn.batch_tokens, .step_records = learn.step_records,
                  .accumulate = learn.accumulate },
    };

    cs_train_state_init(&st);
    j->model->both_strands = strand == STRAND_BOTH ||
                             (strand == STRAND_AUTO && sample.rc && cs_policy_can_turn(j->model));
    rc = cs_train_run(j->model, &feed, &o, &st);
    if (rc == CS_OK || rc == CS_ECANCEL)
        cs_train_summary(&st, j->checkpoint, rc);
    if (rc == CS_OK && st.done && j->valid != NULL && j->model->head->is_class &&
        !j->model->head->per_token && (j->group == NULL || cs_group_rank(j->group) == 0))
        rc = cs_evaluate_calibrate(own.output, j->be, j->valid, learn.batch_tokens);
    cs_train_state_release(&st);
    return rc;
}

/* The records, and which of them are learnt from. */
static uint64_t hash_data(const cs_dataset *d)
{
    uint64_t h = d->hash;

    for (int64_t i = 0; i < d->n; i++)
        h = cs_rng_u64(cs_rng_u64(h, d->ex[i].group), (uint64_t)d->ex[i].part);
    return h;
}

static int prepare(struct job *j, const cs_optset *set, int argc, char **argv)
{
    int rc = CS_OK;

    CS_TRY(cs_train_join(&learn, &own, &device, cs_labelled_once(&label, &input), &compute,
                         &j->group));
    const cs_split split = cs_args_split(&compute);
    CS_TRY(cs_train_outputs(&own, j->group, &j->checkpoint));
    CS_TRY(cs_train_index(j->group, input.reference));
    CS_TRY(read_data(j, split.inflate));
    CS_TRY(make_samplers(j));
    CS_TRY(cs_class_weights(aim.weights, components.head, &j->data, j->labelled.classes.n,
                            &j->weight));
    CS_TRY(make_model(j, split.work));
    CS_TRY(check_lengths(j));
    CS_TRY(take_over(j));
    CS_TRY(check_time(j));
    if (strand == STRAND_BOTH)
        CS_TRY(cs_policy_check_turn(j->model));
    /* The tables that follow those of input, labels, run, compute, device and log, and that of taxa
     * where they are only kept. */
    j->recipe = cs_provenance_recipe(set, (const cs_opt *const[]){ cs_input_table, cs_label_table,
                                     cs_run_table, cs_memory_table, strand_table, cs_compute_table,
                                     cs_device_table, cs_log_table,
                                     components.head->set_taxonomy ? NULL : cs_taxa_table, NULL },
                                     hash_data(&j->data));
    j->origin.seed = learn.seed;
    CS_TRY(cs_provenance_init(&j->origin, argc, argv, &input.file));
out:
    return rc;
}

static void release(struct job *j)
{
    cs_sampler_free(j->train);
    cs_sampler_free(j->valid);
    cs_model_free(j->model);
    cs_model_free(j->from);
    cs_model_free(j->base);
    cs_backend_close(j->base_be);
    cs_backend_close(j->be);
    cs_labelled_close(&j->labelled);
    if (j->data.mem != NULL)
        cs_dataset_release(&j->data);
    cs_provenance_release(&j->origin);
    free(j->weight);
    free(j->recipe);
    free(j->checkpoint);
}

/* Which options there are depends on the model to start from, so it is looked at before they are
 * parsed. */
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

static int run(int argc, char **argv)
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
    CS_TRY(check_options());
    CS_TRY(check_budget(&j, argc, argv));
    CS_TRY(prepare(&j, set, argc, argv));
    CS_TRY(train(&j));
out:
    cs_group_finalize(j.group, rc);
    release(&j);
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
    .run = run,
};

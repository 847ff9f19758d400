/* supervised_state.c - samplers, model and settings of a supervised training. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "infer/taxa.h"
#include "nn/exec/composition_init.h"
#include "train/bag.h"
#include "train/class_weights.h"
#include "train/evaluate.h"
#include "train/standardize.h"
#include "train/supervised_internal.h"

static const char further[] =
    "give the same, or train its model further in another run with --init";

static cs_model_spec spec_of(const cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    const cs_components *c = &a->components;

    return (cs_model_spec){
        .tok = j->data.n_channel > 0 ? NULL : c->tok, .tok_cfg = c->tok_cfg,
        .tok_text = c->tok_text, .has_mask = j->from != NULL && j->from->mask >= 0,
        .enc = c->enc, .enc_cfg = c->enc_cfg,
        .head = c->head, .head_cfg = c->head_cfg, .n_channel = j->data.n_channel,
        .label = j->label, .n_label = j->n_label, .seed = (uint64_t)a->training.seed,
        .training = true,
        .ranks = j->from != NULL ? cs_params_ranks(&j->from->ps) : (cs_ranks){ 0 },
    };
}

static cs_strands strands_of(const cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    return a->result.strand != CS_TRAIN_STRAND_AUTO ? (cs_strands)(a->result.strand - 1)
         : a->sample.rc && cs_policy_reads_strands(j->model) ? CS_STRANDS_BOTH : CS_STRANDS_FORWARD;
}

static int new_model(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;

    CS_TRY(cs_model_check_labels(j->label, j->n_label));
    if (a->init.init != NULL)
        CS_TRY(cs_model_load(a->init.init, j->be, CS_USE_INFERENCE, &j->from));
    const cs_model_spec spec = spec_of(j);
    CS_TRY(cs_model_new(&spec, j->be, &j->model));
    CS_TRY(cs_model_check_cells(j->model));
    if (cs_supervised_on_variants(j))
        j->model->window = a->variants.window;
    j->model->strands = strands_of(j);
    CS_TRY(cs_taxa_set(j->model, &a->taxa));
    CS_TRY(cs_taxa_set_head(j->model));
out:
    return rc;
}

/* With --init: take the initial model's parameters, and set the rates of its tensors. */
static int adopt_initial(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;
    char why[512];

    if (j->from == NULL)
        return CS_OK;
    if (a->components.new_head != NULL && cs_model_same_labels(j->model, j->from))
        return cs_fail(CS_EUSAGE, "%s", a->components.new_head);
    if ((rc = cs_model_adopt(j->model, j->from, a->init.new_head)) != CS_OK) {
        (void)snprintf(why, sizeof why, "%s", cs_error_message());
        cs_error_clear();
        rc = cs_fail(rc, "cannot start from '%s': %s", a->init.init, why);
    } else if (!a->init.new_head && j->model->head != j->from->head) {
        cs_note("the head is initialised anew: that of '%s' is %s, not %s", a->init.init,
                j->from->head->name, j->model->head->name);
    } else if (!a->init.new_head && !cs_model_same_labels(j->model, j->from)) {
        cs_note("the head is initialised anew: the labels of '%s' or their order differ",
                a->init.init);
    }
    if (rc == CS_OK && cs_model_has_evidence(j->from))
        cs_note("the %s of '%s' are not copied; 'chordseq model' can add new ones",
                j->from->lookup && j->from->proteins ? "peptide words and proteins"
                : j->from->lookup ? "peptide words" : "proteins", a->init.init);
    cs_model_free(j->from);
    j->from = NULL;
    cs_params_rate(&j->model->ps, "embedding.", a->init.encoder_lr);
    cs_params_rate(&j->model->ps, "encoder.", a->init.encoder_lr);
    for (int i = 0; !a->init.new_head && cs_model_keeps_hidden(j->model) && i < 2; i++)
        cs_params_rate(&j->model->ps, i ? "head.norm." : "head.fc.", a->init.encoder_lr);
    return rc;
}

/* The option that shortens samples, for messages. */
static const char *shorter(const cs_supervised *j)
{
    return cs_supervised_on_variants(j) ? "shorten windows with --window-length"
         : j->data.n_channel > 0 ? "shorten sequences" : "shorten sequences with --crop-max";
}

/* With --init the encoder keeps its settings. */
static int check_lengths(const cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    const cs_batch_rules rules = { .tok = j->model->tok, .tok_state = j->model->tok_state };
    const int rc = cs_feed_check_lengths(&j->data, &rules, a->sample.crop_max,
                                         cs_model_max_len(j->model));

    return rc != CS_EUSAGE ? rc
         : cs_fail_also(rc, "; %s%s", a->init.init ? "" : "give a larger --encoder.max-len, or ",
                        shorter(j));
}

static char *train_describe(void *arg, const cs_train_state *st)
{
    const cs_supervised *j = arg;

    return cs_provenance_text(&j->origin, &j->data, &j->labelled.classes, st);
}

/* Writes the page during training, in at most a twentieth of the time. */
static int show_page(void *arg, cs_model *m, const cs_train_state *st, const cs_scores *s)
{
    cs_supervised *j = arg;
    const cs_supervised_args *a = j->a;
    const double began = cs_now_s();
    const cs_evaluate_job it = {
        .path = a->run.output, .html = a->result.html, .command = j->origin.command,
        .classes = &j->labelled.classes, .history = st->log, .regression = st->regression,
        .bag = st->bag,
    };

    if (began < j->page_due)
        return CS_OK;
    const int rc = cs_evaluate_page(&it, m, s);
    j->page_due = cs_now_s() + 20 * (cs_now_s() - began);
    return rc;
}

cs_loop_opt cs_supervised_options(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    cs_loop_opt o = cs_train_loop_opt(&a->training, &a->run, &a->memory);

    cs_train_set_budget(&j->budget, j->began, &o);
    o.after = j->after;
    if (j->folds.n > 0 && !j->final)         /* all folds' predictions are calibrated at the end */
        o.after.seconds = 0;
    if (j->group == NULL || cs_group_rank(j->group) == 0)
        o.watch = !j->preset ? "model" : a->aim.preset == CS_PRESET_FAST ? "bag of words"
                : "network";
    o.weight = j->weight;
    o.tolerance = a->aim.tolerance;
    o.monitor = (cs_monitor)a->aim.monitor;
    o.stop_at = a->aim.stop_at;
    o.shorter = shorter(j);
    o.checkpoint_path = j->checkpoint;
    o.recipe = j->recipe;
    o.further = further;
    o.has_bag = j->preset;
    o.group = j->group;
    o.freeze_epochs = a->init.freeze == CS_FREEZE_ENCODER ? INT64_MAX : a->init.freeze_epochs;
    o.describe = train_describe;
    o.arg = j;
    if (a->result.html != NULL) {
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

cs_feed cs_supervised_feed(const cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    return (cs_feed){
        .train = j->train, .valid = j->valid, .weight = j->weight,
        .rules = { .tok = j->model->tok, .tok_state = j->model->tok_state,
                   .batch_tokens = a->training.batch_tokens,
                   .step_records = a->training.step_records,
                   .accumulate = a->training.accumulate },
    };
}

int cs_supervised_bag(cs_supervised *j, const cs_feed *feed,
                      int (*trained)(void *j, cs_fit bag, const cs_train_state *st),
                      cs_train_state *st)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;
    double skipped;
    const cs_loop_opt o = cs_supervised_options(j);
    const cs_bag_spec spec = {
        .model = spec_of(j), .facts = &j->facts, .taxa = &a->taxa, .training = &a->training,
        .feed = feed, .opt = &o, .strands = j->model->strands,
        .network = a->init.bag == NULL ? j->model : NULL, .rate = a->init.composition_lr,
        .skip = { [CS_FIT_WORDS] = j->final && j->folds.best == CS_FIT_FRAMES,
                  [CS_FIT_FRAMES] = j->final && j->folds.best != CS_FIT_FRAMES },
        .words_steps = j->final && j->folds.best == CS_FIT_NETWORK
                     ? cs_folds_words_steps(&j->folds) : 0,
        .advise_proteins = a->extension.size == 0 && j->folds.n == 0 &&
                           cs_model_takes_proteins(j->model),
        .trained = trained, .arg = j,
    };

    if (j->facts.values || !a->components.head->is_class)
        return CS_OK;
    if (j->valid != NULL)
        CS_TRY(cs_bag_regression(&spec, j->be->n_thread, st));
    if (a->aim.preset != CS_PRESET_FAST) {
        CS_TRY(cs_bag_train(&spec, j->be, st, &skipped));
        j->began -= skipped;
    }
out:
    return rc;
}

int cs_supervised_model(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;

    CS_TRY(new_model(j));
    CS_TRY(check_lengths(j));
    CS_TRY(adopt_initial(j));
    rc = cs_composition_init(j->model, a->init.bag, a->init.composition_lr);
out:
    return rc;
}

/* The model and samples of the split as it is. */
int cs_supervised_set_up(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;

    const cs_head *head = a->components.head;
    const bool values = !head->is_class && !head->is_labels;

    CS_TRY(cs_supervised_samplers(j));
    if (values && !a->aim.no_standardize)
        cs_standardize_labels(&j->data, j->label);
    CS_TRY(cs_class_weights(a->aim.weights, head, &j->data, &j->labelled.classes,
                            &j->weight));
    CS_TRY(cs_supervised_model(j));
    if (values)
        cs_standardize_check(&j->data, j->model, a->aim.no_standardize ? "omit --no-standardize"
                             : "the head is that of --init; --new-head replaces it");
out:
    return rc;
}

void cs_supervised_tear_down(cs_supervised *j)
{
    cs_sampler_free(j->train);
    cs_sampler_free(j->valid);
    cs_model_free(j->model);
    free(j->weight);
    j->train = j->valid = NULL;
    j->model = NULL;
    j->weight = NULL;
}

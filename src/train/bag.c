/* bag.c - bags of words and of reading frames, trained on the network's samples. */
#include "train/bag.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "infer/taxa.h"
#include "nn/exec/composition_init.h"
#include "registry.h"
#include "train/baseline.h"
#include "train/parallel.h"

/* Bags in order of training, each with its maximum share of the rest of a time budget, and the
 * multiple of a budget in bases that takes about as long. Where a bag stops improving, annealing
 * ends it before. Without reading frames (see has_frames()) words have the share of both. */
static const struct bag_kind {
    const char *name, *tokenizer;
    cs_fit      fit;
    double      share;
    int         times;
} words = { "bag of words", "kmer", CS_FIT_WORDS, 1.0 / 3, 10 },
  frames = { "bag of reading frames", "orf", CS_FIT_FRAMES, 1.0 / 2, 5 };
static const double ALL_SHARES = 2.0 / 3;

/* Bases of a median record that can have a reading frame worth the time. */
enum { FRAMES_FROM = 150 };

/* Smaller changes vanish in four decimals. */
static const double TIE = 5e-5;

/* The preset's settings of tokenizer, encoder and head. */
struct parts { void *tok, *enc, *head; cs_train_args training; };

static int choose(const cs_bag_spec *s, const struct bag_kind *kind, cs_model_spec *m,
                  struct parts *p)
{
    m->tok = cs_tokenizer_find(kind->tokenizer);
    m->enc = cs_encoder_find("chordmixer");
    p->tok = cs_opt_new(m->tok->opt, m->tok->cfg_size);
    p->enc = cs_opt_new(m->enc->opt, m->enc->cfg_size);
    p->head = cs_opt_new(m->head->opt, m->head->cfg_size);
    p->training = *s->training;
    const cs_optset set[] = {
        { m->tok->opt, p->tok, "tokenizer" }, { m->enc->opt, p->enc, "encoder" },
        { m->head->opt, p->head, "head" }, { cs_train_table, &p->training, NULL },
        { NULL, NULL, NULL },
    };
    m->tok_cfg = p->tok;
    m->enc_cfg = p->enc;
    m->head_cfg = p->head;
    m->tok_text = NULL;
    m->has_mask = false;
    m->ranks = (cs_ranks){ 0 };
    return cs_preset_apply(CS_PRESET_FAST, s->facts, set, 0, NULL);
}

/* A bag that is the model is its own baseline. */
static char *bag_describe(void *arg, const cs_train_state *st)
{
    const cs_loop_opt *o = arg;
    cs_train_state own = *st;

    own.bag = st->best_balanced;
    return o->describe(o->arg, &own);
}

/* The network's start: has it taken the bag of words, or refused it? */
struct start { const cs_bag_spec *s; bool adopted, refused; };

static bool takes_bag(const cs_bag_spec *s)
{
    const cs_model *m = s->network;

    return m != NULL && m->head->word != NULL && m->head->word(m->head_net) != 0;
}

/* rc: result of taking the bag. */
static int check_start(struct start *start, int rc)
{
    start->adopted |= rc == CS_OK;
    if (rc != CS_EMODEL)
        return rc;
    if (!start->refused)
        cs_note("the network starts without the bag: %s", cs_error_message());
    start->refused = true;
    cs_error_clear();
    return CS_OK;
}

static int adopt(void *arg, cs_model *bag)
{
    struct start *start = arg;

    return check_start(start, cs_composition_adopt(start->s->network, bag));
}

static int bag_run(const cs_bag_spec *s, const struct bag_kind *kind, cs_backend *be,
                   cs_loop_opt *opt, cs_train_state *st)
{
    int rc = CS_OK;
    cs_model_spec spec = s->model;
    struct parts p = { 0 };
    cs_model *m = NULL;
    cs_feed feed = *s->feed;

    CS_TRY(choose(s, kind, &spec, &p));
    CS_TRY(cs_model_new(&spec, be, &m));
    CS_TRY(cs_taxa_set(m, s->taxa));
    CS_TRY(cs_taxa_set_head(m));
    m->strands = s->strands;
    feed.rules = (cs_batch_rules){ .tok = m->tok, .tok_state = m->tok_state,
                                   .batch_tokens = p.training.batch_tokens,
                                   .step_records = p.training.step_records,
                                   .accumulate = p.training.accumulate };
    const cs_run_args files = { .output = opt->model_path, .metrics = NULL };
    cs_loop_opt o = *opt;
    const cs_loop_opt own = cs_train_loop_opt(&p.training, &files, &(cs_memory_args){ 0 });
    o.adam = own.adam;
    o.schedule = own.schedule;
    o.warmup = own.warmup;
    o.ema = own.ema;
    o.clip = own.clip;
    o.patience = opt->keep_last ? 0 : own.patience;
    o.checkpoint_path = NULL;
    o.metrics_path = o.steps_path = o.events_path = NULL;
    o.resume = false;
    o.describe = opt->describe != NULL ? bag_describe : NULL;
    o.arg = opt;
    o.freeze_epochs = 0;
    o.shorter = "shorten sequences with --crop-max";
    rc = cs_train_run(m, &feed, &o, st);
out:
    cs_model_free(m);
    CS_FREE(p.tok, p.enc, p.head);
    return rc;
}

/* After the bag of words. Without validation the network takes it from the file. */
static int hand_over(struct start *start, const cs_train_state *st)
{
    const cs_bag_spec *s = start->s;

    if (!takes_bag(s))
        return CS_OK;
    if (!start->adopted && !start->refused)
        return check_start(start, cs_composition_init(s->network, s->opt->model_path, s->rate));
    if (start->adopted)
        cs_info("the network starts from the bag of words at step %lld, with validation loss %.4g",
                (long long)st->lowest_step, st->lowest_loss);
    return cs_composition_init(s->network, NULL, s->rate);
}

static bool has_frames(const cs_bag_spec *s)
{
    return s->facts->median >= FRAMES_FROM;
}

/* Seconds of a time budget for one bag, at most. The network's run keeps those for after it. */
static double bag_share(const cs_bag_spec *s, const struct bag_kind *kind, double spent)
{
    const double share = kind == &words && !has_frames(s) ? ALL_SHARES : kind->share;

    return fmax(s->opt->budget.seconds - s->opt->after.seconds - spent, 0) * share;
}

/* Trains one bag; it is written when it is better than st's best, or always with keep_last.
 * spent: seconds of the budget before it. */
static int bag_stage(const cs_bag_spec *s, const struct bag_kind *kind, cs_backend *be,
                     double spent, struct start *start, cs_train_state *st)
{
    cs_train_state own;
    cs_loop_opt o = *s->opt;
    const double bag = st->bag;

    /* Only a signal ends it early: pauses apply to the network. */
    o.stop_after = 0;
    o.max_seconds = 0;
    o.watch = o.watch != NULL ? kind->name : NULL;
    o.lowest = kind == &words && takes_bag(s) ? adopt : NULL;
    o.lowest_arg = start;
    if (kind == &words && s->words_steps > 0 &&
        (o.max_steps == 0 || s->words_steps < o.max_steps)) {
        o.max_steps = s->words_steps;
        cs_info("%s: %lld steps, the mean of the folds at their lowest validation loss", words.name,
                (long long)o.max_steps);
    }
    o.spent = spent;
    o.after = (cs_train_after){ 0 };
    if (o.budget.n_base < INT64_MAX / kind->times)
        o.budget.n_base *= kind->times;
    if (o.budget.seconds > 0)
        o.budget.seconds = spent + bag_share(s, kind, spent);
    cs_train_state_init(&own);
    own.regression = st->regression;
    own.bag = st->bag;
    own.best = st->best;
    own.best_balanced = st->best_balanced;
    own.best_loss = st->best_loss;
    own.best_accuracy = st->best_accuracy;
    const int rc = bag_run(s, kind, be, &o, &own);
    if (rc == CS_ECANCEL)
        cs_note("interrupted before network training started; nothing to --resume");
    st->best_balanced = own.best_balanced;
    st->bag = o.keep_last ? fmax(bag, own.best_balanced) : own.best_balanced;
    st->best = own.best;
    st->best_loss = own.best_loss;
    st->best_accuracy = own.best_accuracy;
    st->lowest_loss = own.lowest_loss;
    st->lowest_step = own.lowest_step;
    if (rc == CS_OK && kind == &frames && own.best_epoch == 0)
        cs_note("the bag of reading frames did not improve on the bag of words");
    if (rc == CS_OK && kind == &frames && own.best_epoch > 0 && s->advise_proteins)
        cs_note("reading frames improve on words; --proteins 12M may improve more");
    cs_train_state_release(&own);
    return rc;
}

int cs_bag_train(const cs_bag_spec *s, cs_backend *be, cs_train_state *st, double *skipped)
{
    int rc = CS_OK;
    const double began = cs_now_s();
    const struct bag_kind *const kind[] = { &words, &frames };
    struct start start = { .s = s };

    *skipped = 0;
    for (int i = 0; i < (has_frames(s) ? 2 : 1); i++) {
        double spent = s->opt->spent + cs_now_s() - began + *skipped;
        CS_TRY(cs_parallel_clock(s->opt->group, &spent));
        if (s->skip[kind[i]->fit]) {
            *skipped += bag_share(s, kind[i], spent);
            continue;
        }
        CS_TRY(bag_stage(s, kind[i], be, spent, &start, st));
        if (s->trained != NULL)
            CS_TRY(s->trained(s->arg, kind[i]->fit, st));
        if (kind[i] == &words)
            CS_TRY(hand_over(&start, st));
    }
    st->lowest_loss = st->own_best = NAN;
out:
    return rc;
}

int cs_bag_regression(const cs_bag_spec *s, int n_thread, cs_train_state *st)
{
    cs_baseline base;
    const int rc = cs_baseline_fit(s->feed->train, s->feed->valid, s->feed->weight, s->model.seed,
                                   n_thread, &base);

    if (rc != CS_OK)
        return rc == CS_EOF ? CS_OK : rc;
    st->regression = base.balanced;
    cs_note("logistic regression on 5-mers: balanced accuracy %.4f of %lld validation samples",
            base.balanced, (long long)base.n_valid);
    return CS_OK;
}

void cs_bag_log(const cs_train_state *st, bool chosen)
{
    if (!chosen && isfinite(st->bag) && st->best_epoch == 0)
        cs_note("%s; wrote the bag as the model", st->step == 0
                ? "the budget ended before the network's first step"
                : st->epoch == 0 ? "the budget ended before the network's first validation"
                : "the network did not improve on the bag");
    if (isfinite(st->regression) && st->best_balanced < st->regression - TIE)
        cs_warn("the model is worse than logistic regression on 5-mers: balanced accuracy %.4f, "
                "not %.4f; increase --budget, or add data", st->best_balanced, st->regression);
}

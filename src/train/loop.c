/* loop.c - training loop: steps, validation, best model, checkpoints, end conditions.
 *
 * DESIGN. Two stages on threads: `feed` plans epochs and makes batches, `train` processes them in
 * that order. `train` is a function of the items and the state, so a resumed run repeats the rest
 * of an uninterrupted one bit for bit; only times differ.
 */
#include "train/loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/pipe.h"
#include "base/rng.h"
#include "base/signals.h"
#include "eval/metrics.h"
#include "nn/exec/session.h"
#include "train/best.h"
#include "train/metrics_table.h"
#include "train/optim.h"
#include "train/parallel.h"
#include "train/peak_flops.h"
#include "train/restart.h"
#include "train/running_stats.h"
#include "train/step_log.h"
#include "train/train_sums.h"

/* Queued batches, and their bytes: a few, so the network never waits for tokenising. */
enum { QUEUE_ITEMS = 8, QUEUE_BYTES = 64 << 20, STREAM_DROPOUT = 121 };
/* A budget in the progress line is a million units. */
enum { BUDGET_UNITS = 1000000 };
/* A training pass costs three forward passes: products with weights have two gradients. */
enum { TRAINING_COST = 3 };

struct trainer {
    cs_model           *m;
    cs_session         *s;
    const cs_loop_opt *o;
    cs_train_state     *st;
    cs_pipe            *pipe;
    cs_progress        *progress;
    char                unit[64];    /* of the progress */
    cs_feed            *feed;
    cs_pace             pace;
    double              done;        /* spent share of the budget */
    cs_scores           scores;      /* of the present validation, or for predictions per token */
    cs_token_counts     counts;
    cs_real            *work;        /* one real of backend memory */
    float              *output;
    size_t              n_output;
    cs_step_report      step;        /* of the present step; at its end of all ranks */
    int64_t             n_step, n_sample, n_base;    /* of this run */
    double              start, mark; /* seconds: of the run, of the last account */
    double              valid_seconds; /* of the present validation */
    bool                stopped, swapped;    /* an end before the feed's; averages in place */
    cs_parallel        *parallel;    /* NULL: this is the only rank */
    double              peak;        /* floating-point operations per second at best */
    cs_step_log        *log;         /* NULL: none, or this is another rank */
    cs_epoch_log        epoch_log;
    cs_running_stats   *running;     /* NULL: no batch normalisation */
    int                 rank;
    int32_t             logged;      /* number of checkpointed blocks logged last */
};

/* Adds the time since the last account to the run, and to the epoch's training if it was that. */
static void account(struct trainer *l, bool training)
{
    const double now = cs_now_s();

    l->st->seconds += now - l->mark;
    if (training)
        l->st->epoch_seconds += now - l->mark;
    else
        l->valid_seconds += now - l->mark;
    l->mark = now;
}

static void use_average(struct trainer *l, bool on)
{
    if (l->o->ema <= 0 || on == l->swapped)
        return;
    cs_optim_average_swap(&l->m->ps);
    l->swapped = on;
}

/* With the weights of the steps in place, not their averages. */
static int save_checkpoint(struct trainer *l)
{
    if (cs_step_log_flush(l->log) != CS_OK)    /* --resume does not repeat these steps */
        return CS_EIO;
    if (l->rank > 0 || l->o->checkpoint_path == NULL)
        return CS_OK;
    return cs_checkpoint_save(l->o->checkpoint_path, &l->m->ps, l->o->ema > 0, l->st, l->o->recipe);
}

/* At a step boundary of all ranks. */
static int save_together(struct trainer *l)
{
    int rc = CS_OK;

    use_average(l, false);
    if (l->parallel != NULL)
        CS_TRY(cs_parallel_verify(l->parallel, l->st));
    rc = save_checkpoint(l);
out:
    return rc;
}

/* ---- a training batch ------------------------------------------------------------------------ */

static int grow_buffers(struct trainer *l, const cs_batch *b)
{
    return cs_grow((void **)&l->output, &l->n_output, (size_t)cs_session_output_len(l->s, b),
                   sizeof *l->output);
}

static double learning_rate(const struct trainer *l, int64_t step)
{
    return l->o->adam.lr * cs_pace_factor(&l->pace, step, l->done);
}

/* After a step. The budget may end the epoch here, before the feed does. */
static int update_pace(struct trainer *l)
{
    cs_train_state *st = l->st;

    l->done = cs_pace_done(&l->pace, st, l->step.seconds);
    if (l->pace.budget.n_base > 0 && st->step == 1 && l->done >= 1)
        return cs_fail(CS_EUSAGE, "a budget of %lld bases is below one step of %lld; increase "
                       "it, or lower --batch-tokens", (long long)l->pace.budget.n_base,
                       (long long)st->n_base);
    if (cs_pace_validates(&l->pace, st, l->done))
        atomic_store(&l->feed->cut, st->epoch + 1);
    return CS_OK;
}

/* Has the budget ended this step's epoch? */
static bool is_cut(const struct trainer *l, const cs_feed_item *it)
{
    return cs_feed_is_cut(l->feed, it->part, it->epoch);
}

static bool wants_pause(const struct trainer *l)
{
    return cs_signal_caught() != 0 ||
           (l->o->max_seconds > 0 && cs_now_s() - l->start >= l->o->max_seconds);
}

static int finish_step(struct trainer *l)
{
    int rc = CS_OK;
    const cs_loop_opt *o = l->o;
    cs_params *ps = &l->m->ps;
    cs_train_state *st = l->st;
    cs_adam h = o->adam;
    double norm = NAN;

    account(l, true);
    l->step.seconds = st->seconds;
    l->step.epoch_seconds = st->epoch_seconds;
    l->step.pause = wants_pause(l);
    if (l->parallel != NULL)
        CS_TRY(cs_parallel_step(l->parallel, &l->step));
    st->epoch_seconds = l->step.epoch_seconds;
    CS_TRY(cs_running_stats_settle(l->running));
    h.grad_scale = 1;
    h.lr = learning_rate(l, st->step);
    if (o->clip > 0) {
        CS_TRY(cs_optim_grad_norm(ps, l->work, &norm));
        /* torch.nn.utils.clip_grad_norm_: the epsilon avoids a division by zero. */
        h.grad_scale = fmin(1, o->clip / (norm + 1e-6));
    }
    cs_optim_step(ps, h, o->keep_zero_grad);
    cs_train_sums_add(&st->sum, &l->step.sum);
    st->n_base += l->step.sum.n_base;
    st->step++;
    st->epoch_step++;
    l->n_step++;
    CS_TRY(cs_step_log_step(l->log, st, &l->step.sum, h.lr, norm));
    if (o->ema > 0) {
        const double t = (double)st->step;
        cs_optim_average(ps, fmin(o->ema, (1 + t) / (10 + t)));
    }
    rc = update_pace(l);
out:
    return rc;
}

/* Logged for every smaller number of stored inputs. */
static void log_checkpoints(struct trainer *l, const cs_batch *b)
{
    const int32_t keep = l->s->cx.keep;

    if (keep == l->logged || (l->logged != CS_KEEP_ALL && (keep == CS_KEEP_ALL || keep >
                                                           l->logged)))
        return;
    l->logged = keep;
    cs_info("a batch of %lld tokens: memory holds checkpoints of %s%d blocks; the rest is "
            "recomputed in the backward pass", (long long)b->n_tok,
            keep == CS_CHECKPOINT_INPUTS ? "up to " : "", keep);
}

/* Remedy for a batch out of memory; checkpoints are at their minimum already. */
static int loop_no_memory(const struct trainer *l, const cs_batch *b)
{
    return cs_fail_also(CS_EMEM, "; %s, or use a machine with more memory",
                        b->n_rec > 1 ? "lower --batch-tokens" : l->o->shorter);
}

static int train_batch(struct trainer *l, const cs_feed_item *it)
{
    int rc = CS_OK;
    const cs_batch *b = it->batch;
    double loss = 0;

    if (it->first) {
        use_average(l, false);
        cs_optim_zero_grad(&l->m->ps);
        l->step.sum = (cs_train_sums){ 0 };
    }
    const uint64_t key = cs_rng_key(cs_rng_key(l->o->seed, STREAM_DROPOUT), (uint64_t)l->st->step);
    const cs_step_opt step_opt = { .weight = l->o->weight, .scale = it->scale, .keep = l->o->keep,
                                   .key = cs_rng_key(key, it->no) };
    l->s->freeze_encoder = l->st->epoch < l->o->freeze_epochs;
    /* A step without samples has one empty batch. */
    if (b->n_rec == 0)
        return it->step_end ? finish_step(l) : CS_OK;
    CS_TRY(grow_buffers(l, b));
    const double flop = l->s->cx.flop;
    rc = cs_session_forward_backward(l->s, b, &step_opt, &loss, l->output);
    l->st->epoch_flop += (l->s->freeze_encoder ? 1 : TRAINING_COST) * (l->s->cx.flop - flop);
    CS_TRY(rc == CS_EMEM ? loop_no_memory(l, b) : rc);
    log_checkpoints(l, b);
    CS_TRY(cs_running_stats_take(l->running, it->no));
    if (it->scale > 0)           /* else the step has no weight */
        l->step.sum.loss += loss / it->scale;
    cs_train_sums_add_batch(&(cs_train_sums_rule){ l->m, l->o->weight, l->o->tolerance }, b,
                            l->output, &l->step.sum);
    l->step.sum.n_token += b->n_tok;
    l->step.sum.n_base += it->n_base;
    l->n_sample += b->n_rec;
    l->n_base += it->n_base;
    if (it->step_end)
        rc = finish_step(l);
out:
    return rc;
}

/* ---- validation and the end of an epoch ------------------------------------------------------ */

/* The batch's predictions into l->output: computed by its owner, and sent to rank 0, which sums
 * metrics over all batches in the order of one rank. */
static int predict_batch(struct trainer *l, const cs_batch *b, int owner)
{
    int rc = CS_OK;
    const size_t n_bytes = (size_t)cs_session_output_len(l->s, b) * sizeof *l->output;

    CS_TRY(grow_buffers(l, b));
    if (owner != l->rank)
        return cs_group_recv(l->o->group, owner, l->output, n_bytes);
    use_average(l, true);
    rc = cs_session_predict(l->s, b, l->output);
    CS_TRY(rc == CS_EMEM ? loop_no_memory(l, b) : rc);
    if (l->rank > 0)
        rc = cs_group_send(l->o->group, 0, l->output, n_bytes);
out:
    return rc;
}

static int evaluate(struct trainer *l, const cs_feed_item *it)
{
    int rc = CS_OK;
    const cs_batch *b = it->batch;

    CS_TRY(b->n_rec > 0 ? predict_batch(l, b, it->owner) : CS_OK);
    if (b->n_rec == 0 || l->rank > 0)
        return CS_OK;
    if (b->label != NULL)
        cs_token_counts_add(&l->counts, l->output, b->label, b->n_tok);
    for (int32_t i = 0; b->label == NULL && i < b->n_rec; i++)
        CS_TRY(cs_scores_add(&l->scores, l->output + (int64_t)i * l->m->n_label,
                             b->target + (int64_t)i * b->n_target, b->slot[i].i));
out:
    return rc;
}

/* Saves the model if it is the best so far, or without validation. */
static int keep_best(struct trainer *l, const cs_metrics *f)
{
    cs_train_state *st = l->st;

    if (!cs_best_update(l->o, l->m->head, f, l->done, st))
        return CS_OK;
    free(l->m->training);
    l->m->training = l->o->describe != NULL ? l->o->describe(l->o->arg, st) : NULL;
    use_average(l, true);
    return l->o->model_path != NULL ? cs_model_save(l->m, l->o->model_path) : CS_OK;
}

static void begin_epoch(cs_train_state *st, double done)
{
    st->done_before = done;
    st->sum = (cs_train_sums){ 0 };
    st->epoch_seconds = st->epoch_flop = 0;
    st->epoch_step = 0;
}

static int take_metrics(struct trainer *l, cs_metrics *f)
{
    if (!l->m->head->per_token)
        return cs_scores_metrics(&l->scores, 0, INT64_MAX, l->o->tolerance, l->m->head->is_labels,
                                 f);
    const int rc = cs_token_counts_metrics(&l->counts, f);
    cs_token_counts_clear(&l->counts);
    return rc;
}

/* Without progress a run with a budget anneals from its best weights. Others end, as does one that
 * never reached the model that it starts from. */
static bool patience_ended(struct trainer *l)
{
    const cs_train_state *st = l->st;
    if (l->o->patience <= 0 || st->n_bad < l->o->patience || st->anneal_rate > 0)
        return false;
    cs_epoch_log_flush(&l->epoch_log);
    if (st->best_epoch > 0 && cs_pace_anneal(&l->pace, l->st, l->done))
        return false;
    if (l->o->watch != NULL)
        cs_note("%s: %sno improvement for %lld epochs; stopping", l->o->watch,
                st->best_epoch > 0 ? "" : "worse than its initial model, and ",
                (long long)st->n_bad);
    return true;
}

/* Report the epoch, on rank 0, which alone has its metrics. */
static int evaluate_epoch(struct trainer *l)
{
    int rc = CS_OK;
    const cs_loop_opt *o = l->o;
    cs_train_state *st = l->st;
    cs_metrics f = { 0 };

    st->valid_seconds = fmax(st->valid_seconds, l->valid_seconds);
    l->valid_seconds = 0;
    st->peak_share = st->epoch_flop / fmax(st->epoch_seconds, 1e-9) / l->peak;
    CS_TRY(take_metrics(l, &f));
    CS_TRY(cs_metrics_table_add(o, l->m, learning_rate(l, st->step - 1), &f, st, &l->epoch_log));
    CS_TRY(keep_best(l, &f));
    CS_TRY(cs_step_log_epoch(l->log, l->m, st, &f));
    if (o->validated != NULL && f.n > 0 && !l->m->head->per_token)
        CS_TRY(o->validated(o->validated_arg, l->m, st, &l->scores));
    cs_scores_clear(&l->scores);
    st->epoch++;
    l->done = cs_pace_done(&l->pace, st, st->seconds);     /* its time is known now */
    begin_epoch(st, l->done);
    st->done = st->epoch >= o->n_epoch || l->done >= 1 ||
               (o->max_steps > 0 && st->step >= o->max_steps) ||
               patience_ended(l) || cs_best_reaches_stop_at(o, l->m->head, st);
out:
    cs_metrics_release(&f);
    return rc;
}

static int finish_epoch(struct trainer *l)
{
    int rc = CS_OK;
    const bool anneals = l->st->anneal_rate > 0;

    if (l->rank == 0)
        CS_TRY(evaluate_epoch(l));
    if (l->parallel != NULL)
        CS_TRY(cs_parallel_state(l->parallel, l->st));
    if (l->o->lowest != NULL && l->st->lowest_step == l->st->step) {
        use_average(l, true);
        CS_TRY(l->o->lowest(l->o->lowest_arg, l->m));
    }
    l->done = cs_pace_done(&l->pace, l->st, l->st->seconds);   /* as rank 0 has it */
    if (!anneals && l->st->anneal_rate > 0) {
        use_average(l, false);
        CS_TRY(cs_best_restore(l->o, l->st, l->m));
        CS_TRY(cs_running_stats_restart(l->running));
    }
    CS_TRY(save_together(l));
    l->stopped = l->st->done;
out:
    return rc;
}

/* ---- the stage ------------------------------------------------------------------------------- */

/* Ranks decide together, at the end of a step. */
static bool must_pause(const struct trainer *l)
{
    return (l->parallel != NULL ? l->step.pause != 0 : wants_pause(l)) ||
           (l->o->stop_after > 0 && l->n_step >= l->o->stop_after);
}

/* Of the whole command for a budget in time, else of this run. */
static int64_t progress_done(const struct trainer *l)
{
    const cs_loop_opt *o = l->o;

    return !cs_train_budget_set(&o->budget) ? l->st->step
         : llround(BUDGET_UNITS * (o->all_seconds > 0 ? l->st->seconds / o->all_seconds : l->done));
}

static void start_progress(struct trainer *l)
{
    (void)snprintf(l->unit, sizeof l->unit, l->o->watch != NULL ? "samples (%s)" : "samples",
                   l->o->watch);
    l->progress = cs_progress_new(l->unit, cs_train_budget_set(&l->o->budget)
                                           ? BUDGET_UNITS : l->pace.schedule.total);
    cs_progress_skipped(l->progress, progress_done(l));
}

static int loop_take(struct trainer *l, const cs_feed_item *it)
{
    int rc = CS_OK;
    const bool training = it->part == CS_PART_TRAIN;
    const int64_t every = l->o->checkpoint_steps;

    if (!is_cut(l, it))
        CS_TRY(training ? train_batch(l, it) : evaluate(l, it));
    account(l, training);
    if (l->progress != NULL)     /* rank 0's */
        cs_progress_update(l->progress, (uint64_t)l->n_sample, (uint64_t)l->n_base,
                           progress_done(l));
    if (!it->step_end)
        return CS_OK;
    /* The file has the bag, which stays the model. */
    if (training && !l->o->keep_last && cs_pace_too_late(&l->pace, l->st, l->step.seconds)) {
        l->stopped = l->st->done = true;
        return save_together(l);
    }
    if (it->epoch_end)
        CS_TRY(finish_epoch(l));
    if (!l->stopped && must_pause(l)) {
        l->stopped = true;
        return save_together(l);
    }
    if (training && !is_cut(l, it) && every > 0 && l->st->step % every == 0)
        rc = save_together(l);
out:
    return rc;
}

/* Another rank has ended the run. Save the last whole step. */
static int keep_step(struct trainer *l, int rc)
{
    if (l->rank == 0 && l->st->step > 0 && l->o->checkpoint_path != NULL &&
        save_checkpoint(l) == CS_OK)
        cs_note("step %lld is saved in '%s'; --resume continues from there", (long long)l->st->step,
                l->o->checkpoint_path);
    return rc;
}

static int train_run(void *self, cs_queue *in, cs_queue *out)
{
    int rc = CS_OK;
    struct trainer *l = self;
    void *item = NULL;

    (void)out;
    l->start = l->mark = l->epoch_log.last = cs_now_s();
    if (cs_pace_validates(&l->pace, l->st, l->done))   /* it paused before the validation */
        atomic_store(&l->feed->cut, l->st->epoch + 1);
    while (!l->stopped && (rc = cs_queue_pop(in, &item)) == CS_OK) {
        rc = loop_take(l, item);
        cs_feed_drop(item);
        if (rc != CS_OK)
            break;
    }
    use_average(l, false);
    /* A signal may end a step: the state is that of the last whole one; the rest is repeated. */
    if (rc == CS_ECANCEL && cs_signal_caught() != 0) {
        cs_running_stats_undo(l->running);
        const int saved = save_checkpoint(l);
        return saved != CS_OK ? saved : CS_ECANCEL;
    }
    if (rc < 0 && l->parallel != NULL && cs_group_lost(l->o->group))
        return keep_step(l, rc);
    /* The feed may be ahead: drop its remaining items. */
    if (l->stopped && rc == CS_OK)
        cs_pipe_cancel(l->pipe);
    if (rc >= 0 && l->parallel != NULL)
        return cs_group_barrier(l->o->group);
    return rc == CS_EOF ? CS_OK : rc;
}

static int set_schedule(struct trainer *l, const cs_feed *feed)
{
    int rc = CS_OK;
    const cs_loop_opt *o = l->o;
    cs_schedule *s = &l->pace.schedule;
    int64_t total = 0, n = 0;

    l->pace = (cs_pace){ .budget = o->budget, .schedule = o->schedule, .warmup = o->warmup,
                         .after = o->after };
    if (o->budget.seconds > 0)
        l->pace.valid_bases = cs_feed_valid_bases(feed);
    if (cs_train_budget_set(&o->budget))
        return CS_OK;
    for (int64_t e = 0; e < o->n_epoch && (o->max_steps == 0 || total < o->max_steps); e++) {
        CS_TRY(cs_feed_step_count(feed, e, &n));
        total += n;
    }
    s->total = o->max_steps > 0 && o->max_steps < total ? o->max_steps : total;
    s->warmup = llround(o->warmup < 1 ? o->warmup * (double)s->total : o->warmup);
    if (s->warmup > 0 && s->warmup >= s->total)
        cs_warn("the warm-up of %lld steps is not shorter than the run of %lld steps: the "
                "learning rate never reaches --lr", (long long)s->warmup, (long long)s->total);
out:
    return rc;
}

static int start(struct trainer *l, cs_feed *feed)
{
    int rc = CS_OK;
    const cs_loop_opt *o = l->o;
    cs_train_state *st = l->st;

    CS_TRY(set_schedule(l, feed));
    if (o->ema > 0)
        cs_optim_average_start(&l->m->ps);
    if (o->resume)
        CS_TRY(cs_restart(o, l->m, st));
    st->seconds += o->spent;
    if (o->group != NULL) {
        feed->rank = l->rank = cs_group_rank(o->group);
        feed->n_rank = cs_group_size(o->group);
        CS_TRY(cs_parallel_new(o->group, &l->m->ps, &l->parallel));
        CS_TRY(cs_parallel_agree(l->parallel, o, st));
        CS_TRY(cs_parallel_clock(o->group, &st->seconds));
    }
    if (!o->resume)
        st->began = st->seconds;
    l->done = cs_pace_done(&l->pace, st, st->seconds);
    CS_TRY(cs_running_stats_new(&l->m->ps, o->group, &l->running));
    l->peak = o->group == NULL && o->watch != NULL ? cs_peak_flops(l->m->be) : NAN;
    if (l->rank == 0 && o->resume)
        cs_note(st->done ? "the run ended at step %lld; there is nothing left to train"
                         : "resuming after step %lld", (long long)st->step);
    if (l->rank == 0)
        CS_TRY(cs_step_log_open(o, st->step, &l->log));
    feed->epoch = st->epoch;
    feed->step = st->epoch_step;
    feed->n_epoch = o->n_epoch;
    feed->n_left = o->max_steps > 0 ? o->max_steps - st->step : INT64_MAX;
    l->logged = o->keep;
    l->work = l->m->be->op.alloc(l->m->be, sizeof *l->work);
    CS_TRY(l->work != NULL ? CS_OK : cs_fail(CS_EMEM, "out of memory for training"));
    if (l->m->head->per_token)
        CS_TRY(cs_token_counts_init(&l->counts, l->m->n_label));
    cs_scores_for(&l->scores, l->m);
    l->s->cx.stop = l->m->be->is_host ? cs_signal_caught : NULL;
out:
    return rc;
}

int cs_train_run(cs_model *m, cs_feed *feed, const cs_loop_opt *o, cs_train_state *st)
{
    int rc = CS_OK;
    struct trainer l = { .m = m, .s = cs_session_new(m, m->be), .o = o, .st = st, .feed = feed,
                         .pipe = cs_pipe_new() };

    CS_TRY(start(&l, feed));
    if (st->done)
        goto out;
    if (l.rank == 0)
        start_progress(&l);
    cs_queue *q = cs_pipe_queue(l.pipe, "batches", QUEUE_ITEMS, QUEUE_BYTES, cs_feed_bytes,
                                cs_feed_drop);
    const cs_stage stage[] = {
        { "feed", feed->run != NULL ? feed->run : cs_feed_run, feed, NULL, q, NULL },
        { "train", train_run, &l, q, NULL, NULL },
    };
    rc = cs_pipe_run(l.pipe, stage, 2);
    cs_pipe_report(l.pipe);
    if (rc == CS_ECANCEL && l.stopped && (st->done || cs_signal_caught() == 0))
        rc = CS_OK;              /* cancelled by the training stage */
out:
    cs_progress_free(l.progress);
    cs_epoch_log_flush(&l.epoch_log);
    cs_parallel_free(l.parallel);
    cs_running_stats_free(l.running);
    cs_step_log_close(l.log);
    if (l.work != NULL)
        m->be->op.dealloc(m->be, l.work);
    cs_scores_release(&l.scores);
    cs_token_counts_release(&l.counts);
    free(l.output);
    cs_session_free(l.s);
    cs_pipe_free(l.pipe);
    return rc;
}

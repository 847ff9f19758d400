/* restart.c - continue a training run from its checkpoint. */
#include "train/restart.h"

#include "train/best.h"

/* A bag before the network has taken part in all epochs, too. */
static bool may_differ(const cs_loop_opt *o)
{
    return o->schedule.kind == CS_DECAY_CONSTANT && (o->warmup <= 0 || o->warmup >= 1) &&
           !cs_train_budget_set(&o->budget) && !o->has_bag;
}

static int set_end(const cs_loop_opt *o, const cs_head *head, cs_train_state *st)
{
    if (st->epoch > o->n_epoch || (st->epoch == o->n_epoch && st->epoch_step > 0))
        return cs_fail(CS_EUSAGE, "checkpoint '%s' is of epoch %lld, after those of --epochs %lld; "
                       "raise it, or omit --resume", o->checkpoint_path,
                       (long long)st->epoch + (st->epoch_step > 0), (long long)o->n_epoch);
    const bool other = (o->max_steps > 0 && st->step >= o->max_steps) ||
                       (o->patience > 0 && st->n_bad >= o->patience) ||
                       cs_best_reaches_stop_at(o, head, st);
    st->done = st->epoch == o->n_epoch || (st->done && other);
    return CS_OK;
}

int cs_restart(const cs_loop_opt *o, cs_model *m, cs_train_state *st)
{
    int rc = CS_OK;
    const cs_resume_rule rule = { o->recipe, may_differ(o), o->further };

    CS_TRY(cs_checkpoint_load(o->checkpoint_path, &m->ps, o->ema > 0, st, &rule));
    CS_TRY(cs_best_check(o, st));
    if (rule.any_epochs)
        rc = set_end(o, m->head, st);
out:
    return rc;
}

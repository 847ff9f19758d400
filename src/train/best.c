/* best.c - the best model of a run so far, in the run's model file. */
#include "train/best.h"

#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"

bool cs_best_by_balanced(const cs_loop_opt *o, const cs_head *head)
{
    return o->monitor == CS_MONITOR_BALANCED || (o->monitor == CS_MONITOR_AUTO && head->is_class);
}

/* value: of the monitored metric, the larger the better, as st->best. */
static bool is_best(const cs_train_state *st, double value, double loss)
{
    if (isnan(st->best))
        return isfinite(value);
    return value > st->best ||
           (value == st->best && st->best_epoch > 0 && loss < st->best_loss);
}

bool cs_best_update(const cs_loop_opt *o, const cs_head *head, const cs_metrics *f, double done,
                    cs_train_state *st)
{
    const double v = cs_best_by_balanced(o, head) ? f->balanced : -f->loss;
    const bool lower = f->n > 0 && isfinite(f->loss) && !(f->loss >= st->lowest_loss);
    const bool higher = f->n > 0 && isfinite(v) && !(v <= st->own_best);

    if (lower) {
        st->lowest_loss = f->loss;
        st->lowest_step = st->step;
    }
    if (higher)
        st->own_best = v;
    if (f->n > 0 && !o->keep_last && !is_best(st, v, f->loss)) {
        /* A network below the bag that it starts from may still come to it. */
        st->n_bad = st->best_epoch == 0 && (lower || higher) ? 0 : st->n_bad + 1;
        return false;
    }
    /* On easy data the loss falls as long as training runs. */
    const bool tie = v <= st->best;
    st->n_bad = tie ? st->n_bad + 1 : 0;
    st->best_done = tie ? st->best_done : done;
    st->best = v;
    st->best_loss = f->loss;
    st->best_accuracy = head->is_class || head->is_labels ? f->accuracy : f->within;
    st->best_balanced = f->balanced;
    st->best_r2 = f->r2;
    st->best_epoch = st->epoch + 1;
    return true;
}

/* A loss is stored as -loss, so larger is better; without validation the best is NaN. */
bool cs_best_reaches_stop_at(const cs_loop_opt *o, const cs_head *head, const cs_train_state *st)
{
    const double aim = cs_best_by_balanced(o, head) ? o->stop_at : -o->stop_at;

    return o->stop_at > 0 && st->best >= aim;
}

/* A checkpoint has the last weights; the best ones are in the model file. */
int cs_best_check(const cs_loop_opt *o, const cs_train_state *st)
{
    const char *path = o->model_path;

    if (st->best_epoch == 0 || access(path, F_OK) == 0)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "the best model so far, of epoch %lld, is not at '%s'; give the "
                   "same --output as the interrupted run, or omit --resume",
                   (long long)st->best_epoch, path);
}

int cs_best_restore(const cs_loop_opt *o, const cs_train_state *st, cs_model *m)
{
    int rc = CS_OK;
    cs_model *best = NULL;

    if (o->watch != NULL)
        cs_note("%s: no improvement since epoch %lld; annealing", o->watch,
                (long long)(st->epoch - st->n_bad));
    if (o->model_path == NULL || o->keep_last || cs_file_is_device(o->model_path))
        return CS_OK;
    CS_TRY(cs_model_load(o->model_path, m->be, CS_USE_INFERENCE, &best));
    CS_TRY(cs_model_adopt(m, best, false));
    if (o->ema > 0)
        cs_optim_average_start(&m->ps);
out:
    cs_model_free(best);
    return rc;
}

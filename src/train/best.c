/* best.c - the best model of a run so far, in the run's model file. */
#include "train/best.h"

#include <unistd.h>

#include "base/log.h"

/* A checkpoint has the last weights; the best ones are in the model file. */
int cs_best_check(const cs_train_opt *o, const cs_train_state *st)
{
    const char *path = o->model_path;

    if (st->best_epoch == 0 || access(path, F_OK) == 0)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "the best model so far, of epoch %lld, is not at '%s'; give the "
                   "same --output as the interrupted run, or omit --resume",
                   (long long)st->best_epoch, path);
}

int cs_best_restore(const cs_train_opt *o, const cs_train_state *st, cs_model *m)
{
    int rc = CS_OK;
    cs_model *best = NULL;

    if (o->watch != NULL)
        cs_note("%s: no improvement since epoch %lld; annealing", o->watch,
                (long long)st->best_epoch);
    if (o->model_path == NULL || o->keep_last)
        return CS_OK;
    CS_TRY(cs_model_load(o->model_path, m->be, false, &best));
    CS_TRY(cs_model_adopt(m, best, false));
    if (o->ema > 0)
        cs_optim_average_start(&m->ps);
out:
    cs_model_free(best);
    return rc;
}

/* cross_validate.c - train a model per fold, then one on all records. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "train/supervised_internal.h"

int cs_supervised_folds(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;
    struct stat st;
    const size_t n = a->run.output != NULL ? strlen(a->run.output) + sizeof ".fold" : 1;

    if (a->sample.n_fold == 0)
        return CS_OK;
    if (j->group != NULL)
        return cs_fail(CS_EUSAGE, "--folds trains in one process; omit --ranks");
    if (a->run.output != NULL && cs_file_is_device(a->run.output))
        return cs_fail(CS_EUSAGE, "--folds writes models beside '%s', which is not a regular file; "
                       "give a file with -o", a->run.output);
    CS_TRY(cs_folds_assign(&j->data, &j->labelled.classes, (int)a->sample.n_fold,
                           (uint64_t)a->training.seed,
                           a->label.split_by ? a->label.split_by : "name", &j->folds));
    cs_folds_select(&j->folds, 0, &j->data);
    j->fold_path = cs_xcalloc(n, 1);
    if (a->run.output != NULL) {
        (void)snprintf(j->fold_path, n, "%s.fold", a->run.output);
        if (lstat(j->fold_path, &st) == 0)
            rc = cs_fail(CS_EUSAGE, "'%s' exists, but --folds writes its models there and removes "
                         "them; rename or remove it", j->fold_path);
    }
out:
    return rc;
}

/* Keeps the metrics of the fit that was just written, and its predictions of the fold. */
static int keep_fit(void *arg, cs_fit fit, const cs_train_state *st)
{
    cs_supervised *j = arg;
    const cs_supervised_args *a = j->a;
    const cs_evaluate_job it = { .path = j->fold_path, .be = j->be, .valid = j->valid,
                           .batch_tokens = a->training.batch_tokens };

    if (fit == CS_FIT_WORDS)
        j->fold.words_steps = (double)st->lowest_step;
    j->fold.of[fit] = (cs_fold_scores){ st->best_accuracy, st->best_balanced, st->best_loss,
                                        st->best_r2 };
    /* Predictions are for the calibration. */
    return a->components.head->is_class ? cs_evaluate_add(&it, &j->scores[fit]) : CS_OK;
}

static int train_fold(cs_supervised *j)
{
    int rc = CS_OK;
    int64_t n_base;
    cs_train_state st;
    const cs_feed feed = cs_supervised_feed(j);
    cs_feed run = feed;

    cs_train_state_init(&st);
    for (int k = 0; k < CS_N_FIT; k++)
        j->fold.of[k] = (cs_fold_scores){ NAN, NAN, NAN, NAN };
    j->fold.words_steps = NAN;
    if (j->preset)
        CS_TRY(cs_supervised_bag(j, &feed, keep_fit, &st));
    const cs_loop_opt o = cs_supervised_options(j);
    CS_TRY(cs_train_run(j->model, &run, &o, &st));
    CS_TRY(keep_fit(j, CS_FIT_NETWORK, &st));
    j->fold.regression = st.regression;
    cs_dataset_count(&j->data, CS_PART_VALID, -1, &j->fold.n_valid, &n_base);
    cs_folds_add(&j->folds, &j->fold);
out:
    cs_train_state_release(&st);
    return rc;
}

/* Afterwards everything is as without validation. */
int cs_supervised_cross_validate(cs_supervised *j)
{
    const cs_supervised_args *a = j->a;
    int rc = CS_OK;

    if (a->training.budget != NULL)
        cs_note("training %d models, each with --budget %s: %d folds, then all records",
                j->folds.n + 1, a->training.budget, j->folds.n);
    for (int i = 0; i < j->folds.n; i++) {
        cs_folds_select(&j->folds, i, &j->data);
        if (i > 0) {
            j->began = cs_now_s();
            CS_TRY(cs_supervised_set_up(j));
        }
        CS_TRY(train_fold(j));
        cs_supervised_tear_down(j);
    }
    cs_folds_finish(&j->folds);
    cs_folds_select(&j->folds, -1, &j->data);
    j->origin.folds = &j->folds;
    j->final = true;
    j->began = cs_now_s();
    rc = cs_supervised_set_up(j);
out:
    (void)unlink(j->fold_path);
    return rc;
}

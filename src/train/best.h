/* best.h - the best model of a run so far, in the run's model file. */
#ifndef CS_TRAIN_BEST_H
#define CS_TRAIN_BEST_H

#include "nn/exec/model.h"
#include "train/loop_opt.h"

/**
 * cs_best_update - take a validation into st: is its model the best so far?
 *
 * Of equal balanced accuracies the lower loss is better, but not an improvement for o->patience,
 * and not better than the model that the run starts from.
 *
 * f        f->n 0: there was no validation
 * done     the present position in the schedule
 * Returns  the model is to be written: it is the best, or the latest without validation or with
 *          o->keep_last
 */
bool cs_best_update(const cs_loop_opt *o, const cs_head *head, const cs_metrics *f, double done,
                    cs_train_state *st);

/** cs_best_by_balanced - is the best model that of the highest balanced accuracy, or else that of
 * the lowest loss? */
bool cs_best_by_balanced(const cs_loop_opt *o, const cs_head *head);

/** cs_best_reaches_stop_at - has the best model reached o->stop_at? */
bool cs_best_reaches_stop_at(const cs_loop_opt *o, const cs_head *head, const cs_train_state *st);

/** cs_best_check - CS_EUSAGE if a resumed run's best model is not at o->model_path */
int cs_best_check(const cs_loop_opt *o, const cs_train_state *st) CS_MUST_CHECK;

/**
 * cs_best_restore - copy the best model's parameters into `m`, averaged ones if these are in use
 *
 * Annealing starts from there; logs it with o->watch. Moments stay as they are, and so do
 * parameters where no file has the best ones: without model_path, with keep_last.
 *
 * Returns  CS_OK; the errors of cs_model_load() and cs_model_adopt()
 */
int cs_best_restore(const cs_loop_opt *o, const cs_train_state *st, cs_model *m) CS_MUST_CHECK;

#endif

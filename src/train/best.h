/* best.h - the best model of a run so far, in the run's model file. */
#ifndef CS_TRAIN_BEST_H
#define CS_TRAIN_BEST_H

#include "nn/exec/model.h"
#include "train/train_opt.h"

/** cs_best_check - CS_EUSAGE if a resumed run's best model is not at o->model_path */
int cs_best_check(const cs_train_opt *o, const cs_train_state *st) CS_MUST_CHECK;

/**
 * cs_best_restore - copy the best model's parameters into `m`, averaged ones if these are in use
 *
 * Annealing starts from there; logs it with o->watch. Moments stay as they are, and so do
 * parameters where no file has the best ones: without model_path, with keep_last.
 *
 * Returns  CS_OK; the errors of cs_model_load() and cs_model_adopt()
 */
int cs_best_restore(const cs_train_opt *o, const cs_train_state *st, cs_model *m) CS_MUST_CHECK;

#endif

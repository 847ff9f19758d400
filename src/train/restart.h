/* restart.h - continue a training run from its checkpoint. */
#ifndef CS_TRAIN_RESTART_H
#define CS_TRAIN_RESTART_H

#include "nn/exec/model.h"
#include "train/loop_opt.h"

/**
 * cs_restart - load the checkpoint of a run that is to be resumed
 *
 * A constant learning rate, after a warm-up in steps, does not depend on the number of epochs,
 * which may then be another one: the run is that of the new number, bit for bit.
 *
 * m        its parameters are allocated for training
 * st       initialised; receives the state, `done` for the options' number of epochs
 * Returns  CS_OK; CS_EUSAGE if the best model is not at o->model_path, or the checkpoint has more
 *          epochs than the options; the errors of cs_checkpoint_load()
 */
int cs_restart(const cs_loop_opt *o, cs_model *m, cs_train_state *st) CS_MUST_CHECK;

#endif

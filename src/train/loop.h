/* loop.h - training loop: steps, validation, best model, checkpoints, end conditions. */
#ifndef CS_TRAIN_LOOP_H
#define CS_TRAIN_LOOP_H

#include "nn/exec/model.h"
#include "train/feed.h"
#include "train/loop_opt.h"

/**
 * cs_train_run - train a model from the feed until an end is reached
 *
 * The ends: budget, epochs, max_steps, patience or stop_at (st->done); stop_after, max_seconds or a
 * signal, all of which finish the step and write a checkpoint. model_path holds the best model so
 * far after every epoch; without validation, the latest.
 *
 * With a group every rank calls it with the same options and data. Steps are those of one rank, as
 * are the models, within rounding; the same number of ranks gives identical bits. Rank 0 evaluates,
 * and writes the files; all must see the checkpoint to resume from. If a rank fails, all do, and
 * rank 0 saves the last whole step in the checkpoint.
 *
 * feed     epoch, step, n_left, rank and n_rank are set here
 * st       initialised; receives the state of the run
 * Returns  CS_OK; CS_ECANCEL after a signal; CS_EMODEL if the loss is no longer finite; the errors
 *          of cs_group_recv(), cs_session_forward_backward(), cs_model_save(), cs_checkpoint_save()
 *          and cs_checkpoint_load()
 */
int cs_train_run(cs_model *m, cs_feed *feed, const cs_loop_opt *o, cs_train_state *st)
    CS_MUST_CHECK;

#endif

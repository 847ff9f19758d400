/* step_log.h - logs of a training run by step: a table, TensorBoard events. */
#ifndef CS_TRAIN_STEP_LOG_H
#define CS_TRAIN_STEP_LOG_H

#include "eval/metrics.h"
#include "train/loop_opt.h"

typedef struct cs_step_log cs_step_log;

/**
 * cs_step_log_open - open the logs at o->steps_path and o->events_path
 *
 * The table of a run that continues (o->resume) loses the rows after `step`, which are
 * repeated.
 *
 * out      receives NULL without either path; the other calls accept NULL
 * Returns  CS_OK; CS_EIO
 */
int  cs_step_log_open(const cs_loop_opt *o, int64_t step, cs_step_log **out) CS_MUST_CHECK;

/** cs_step_log_step - the step that st counts last: its sums, rate and gradient norm (NaN: not
 * computed). CS_OK; CS_EIO */
int  cs_step_log_step(cs_step_log *l, const cs_train_state *st, const cs_train_sums *sum, double lr,
                      double norm) CS_MUST_CHECK;
/** cs_step_log_epoch - the validation of model m after that step. CS_OK; CS_EIO */
int  cs_step_log_epoch(cs_step_log *l, const cs_model *m, const cs_train_state *st,
                       const cs_metrics *f) CS_MUST_CHECK;
/** cs_step_log_flush - write the steps so far to the files. CS_OK; CS_EIO */
int  cs_step_log_flush(cs_step_log *l) CS_MUST_CHECK;
void cs_step_log_close(cs_step_log *l);

#endif

/* predict.h - predict one batch; shared by the infer stage and the library. */
#ifndef CS_INFER_PREDICT_H
#define CS_INFER_PREDICT_H

#include "infer/stage.h"

/**
 * cs_batch_predict - raw values of a batch to the views that its slots name
 *
 * s        pipe, policy and space for predictions; counts `pending` of the views' chunks down
 * by       one of the stage's sessions
 * Returns  CS_OK, also where the only view of a batch needs more memory than there is: that is then
 *          its reason; else the errors of cs_session_forward(), with the record where there is one
 */
int cs_batch_predict(cs_infer_stage *s, cs_session *by, const cs_batch *b) CS_MUST_CHECK;

/**
 * cs_batch_start, cs_batch_finish - the same in two halves, as cs_session_start() and _finish() are
 *
 * start    CS_OK, too, where there is no memory for the batch: s->started[slot] says. Then finish,
 *          with the other slot empty, does what cs_batch_predict() does
 */
int cs_batch_start(cs_infer_stage *s, int slot, const cs_batch *b) CS_MUST_CHECK;
int cs_batch_finish(cs_infer_stage *s, int slot, const cs_batch *b) CS_MUST_CHECK;

/** cs_prediction_accept - CS_OK, or CS_EMODEL where --long-sequence error ends a run at this
 * record. For records in input order */
int cs_prediction_accept(const cs_policy *p, const cs_record *r, cs_reason reason) CS_MUST_CHECK;

#endif

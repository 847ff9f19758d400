/* infer_stage.h - predict one batch: for the infer stage and the library. */
#ifndef CS_INFER_INFER_STAGE_H
#define CS_INFER_INFER_STAGE_H

#include "infer/stage.h"

/**
 * cs_batch_predict - compute a batch and write raw values to its views' slots
 *
 * s        pipe, policy and space for predictions; decrements `pending` of the views' chunks
 * by       one of the stage's sessions
 * Returns  CS_OK, also if the only view of a batch exceeds the memory, which becomes its reason;
 *          else the errors of cs_session_forward(), with the record if known
 */
int cs_batch_predict(cs_infer_stage *s, cs_session *by, const cs_batch *b) CS_MUST_CHECK;

#endif

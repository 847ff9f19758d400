/* session.h - session: predictions and training passes of a model, one per worker.
 *
 * A session owns the context, tape, arenas, staging buffers and captured graphs of its passes. Any
 * number of sessions may run at once on one model, each in its own thread and on its own backend. A
 * training pass writes to the model's gradients: then no other session may run on it.
 */
#ifndef CS_NN_SESSION_H
#define CS_NN_SESSION_H

#include "nn/exec/session_state.h"

/**
 * cs_session_new - a session without memory for activations yet
 *
 * m        must outlive the session
 * be       m's backend, or another one of the same device; must outlive the session
 */
cs_session *cs_session_new(cs_model *m, cs_backend *be);
void cs_session_free(cs_session *s);   /* accepts NULL */

/**
 * cs_session_reserve - allocate the memory of a batch of this shape, found by a dry run
 *
 * Returns  CS_OK, or CS_EMEM with bytes and tokens; the command adds the remedy
 */
int cs_session_reserve(cs_session *s, int64_t n_tok, int32_t n_seg, int32_t depth, bool training)
    CS_MUST_CHECK;

/** cs_session_output_len - floats of a batch's outputs, record after record */
int64_t cs_session_output_len(const cs_session *s, const cs_batch *b);

/**
 * cs_session_predict - predictions for every record of a batch
 *
 * out      [output_len] probabilities or values; host memory
 * Returns  CS_OK; CS_EMEM; CS_EDEVICE with the batch's shape; CS_EMODEL if a sequence is longer
 *          than the model's maximum, or for an output that is not finite, with its place in
 *          s->nonfinite (else -1); CS_ECANCEL without a message if s->cx.stop ended the pass
 * Thread   one at a time per session
 */
int cs_session_predict(cs_session *s, const cs_batch *b, float *out) CS_MUST_CHECK;

/** cs_session_forward - the same before the head's activation, for averaging */
int cs_session_forward(cs_session *s, const cs_batch *b, float *out) CS_MUST_CHECK;

/**
 * cs_session_start, cs_session_finish - the same in two halves, on a backend with staging buffers
 * (backend.h): copies of one batch overlap with the computation of another
 *
 * start    b into an empty slot; b is not needed after the call. The errors of cs_session_predict()
 *          but for CS_EDEVICE; the slot is then empty
 * finish   waits, and empties the slot. out as in cs_session_predict(), or with `raw` as in
 *          cs_session_forward()
 */
int cs_session_start(cs_session *s, int slot, const cs_batch *b, bool raw) CS_MUST_CHECK;
int cs_session_finish(cs_session *s, int slot, float *out) CS_MUST_CHECK;

/**
 * cs_session_forward_backward - forward, loss and backward for one batch; gradients are added to
 * those of the model, created for training
 *
 * b        with targets or labels
 * loss     receives the batch's scaled loss
 * out      [output_len] predictions, or NULL (training metrics)
 * Returns  the errors of cs_session_predict(); CS_EMODEL also for a loss that is not finite. The
 *          gradients, and running statistics, may have changed then
 */
int cs_session_forward_backward(cs_session *s, const cs_batch *b, const cs_step_opt *o,
                                double *loss, float *out) CS_MUST_CHECK;

#endif

/* pass.h - one forward pass of a session's model, real or as a dry run. */
#ifndef CS_NN_PASS_H
#define CS_NN_PASS_H

#include "nn/exec/upload.h"

/** cs_pass_begin, cs_pass_compute - the halves of a pass: copies from the host, and ops, which when
 * training read no host memory but the model's own
 *
 * in       from cs_pass_input_parts(); memory for it has been reserved
 * compute  computes the head's raw output, with the loss on the tape when training, and sets
 *          s->trace
 */
cs_uploaded cs_pass_begin(cs_session *s, const cs_pass_input *in, bool dry);
cs_mat      cs_pass_compute(cs_session *s, const cs_uploaded *up);

/** cs_pass - both */
cs_mat cs_pass(cs_session *s, const cs_pass_input *in, bool dry);

#endif

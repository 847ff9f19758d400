/* staging.h - buffers between host and device: a batch's input before its pass, its output after
 * it. */
#ifndef CS_NN_STAGING_H
#define CS_NN_STAGING_H

#include "nn/exec/upload.h"

/** cs_staging_has - do batches go through staging buffers on this backend? */
static inline bool cs_staging_has(const cs_backend *be) { return be->staging.send != NULL; }

/** cs_staging_bytes - device bytes of all slots, for batches of this shape with this many reals of
 * output; 0 without staging */
int64_t cs_staging_bytes(const cs_session *s, int64_t n_tok, int32_t n_seg, int64_t n_output);

/** cs_staging_reserve - buffers of a slot for a batch and n_output reals; CS_OK or CS_EMEM */
int cs_staging_reserve(cs_session *s, int slot, const cs_batch *b, int64_t n_output) CS_MUST_CHECK;

/** cs_staging_send - start copying the batch's input, from cs_pass_input_parts(), to the device;
 * returns the device's view of it */
cs_pass_input cs_staging_send(cs_session *s, int slot, const cs_pass_input *in);

/** cs_staging_end - the slot's batch is queued completely; y is its output */
void cs_staging_end(cs_session *s, int slot, cs_mat y);

/**
 * cs_staging_fetch - wait for the slot's output
 *
 * out      [n_output]
 * first    receives the first value that is not finite; -1: all are
 * Returns  CS_OK; CS_EDEVICE
 */
int cs_staging_fetch(cs_session *s, int slot, float *out, int64_t *first) CS_MUST_CHECK;

void cs_staging_release(cs_session *s);

#endif

/* rows_check.h - a device's kernels for many rows beside the ops that they replace. */
#ifndef CS_TOOLS_ROWS_CHECK_H
#define CS_TOOLS_ROWS_CHECK_H

#include "nn/exec/session.h"

/**
 * cs_rows_check - a ChordMixer network on be->full_rows tokens, by fused kernels and by plain ops,
 * in the backend's precision
 *
 * output, gradient   receive the largest difference of predictions, relative to the largest one,
 *                    and that of gradients (cs_projection_error())
 * Returns  CS_OK; CS_EMEM, CS_EDEVICE
 */
int cs_rows_check(cs_backend *be, double *output, double *gradient) CS_MUST_CHECK;

#endif

/* selftest_rows.h - a device's kernels for many rows beside the ops that they replace. */
#ifndef CS_TOOLS_SELFTEST_ROWS_H
#define CS_TOOLS_SELFTEST_ROWS_H

#include "nn/exec/session.h"

/**
 * cs_selftest_rows - a ChordMixer network on be->full_rows tokens, by fused kernels and by plain
 * ops, in the backend's precision
 *
 * output, gradient   receive the largest difference of predictions, relative to the largest one,
 *                    and that of gradients (cs_projection_error())
 * Returns  CS_OK; CS_EMEM, CS_EDEVICE
 */
int cs_selftest_rows(cs_backend *be, double *output, double *gradient) CS_MUST_CHECK;

#endif

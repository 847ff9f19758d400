/* matrix_plot.h - plot matrices side by side as a grey image. */
#ifndef CS_EVAL_MATRIX_PLOT_H
#define CS_EVAL_MATRIX_PLOT_H

#include <stdint.h>

#include "base/outfile.h"

typedef struct cs_plot_panel { const double *v; const char *title; } cs_plot_panel; /* v (n, n) */

/**
 * cs_matrix_plot - black is the minimum and white the maximum of the first panel; other values are
 * clamped
 *
 * f        stays open. *.svg has titles below the panels; *.png has none
 * Returns  CS_OK; CS_EIO; CS_EMEM
 */
int cs_matrix_plot(cs_outfile *f, int64_t n, const cs_plot_panel *panel, int n_panel)
    CS_MUST_CHECK;
/** cs_matrix_plot_check - CS_OK, or CS_EUSAGE for another suffix than these */
int cs_matrix_plot_check(const char *path) CS_MUST_CHECK;

#endif

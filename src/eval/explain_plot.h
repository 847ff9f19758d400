/* explain_plot.h - plot contributions of bases as sequence logos in SVG. */
#ifndef CS_EVAL_EXPLAIN_PLOT_H
#define CS_EVAL_EXPLAIN_PLOT_H

#include "base/outfile.h"
#include "io/regions.h"

enum { CS_LOGO_MAX = 5000 };     /* bases of a plot */

/** cs_logo_write - one region: base [n] of either case, plotted in upper case, value [n]; letters
 * are above the axis where the value is positive. CS_OK; CS_EIO */
int cs_logo_write(cs_outfile *f, const char *title, const cs_region *at, const char *base,
                  const double *value) CS_MUST_CHECK;

#endif

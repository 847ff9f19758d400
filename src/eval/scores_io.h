/* scores_io.h - predictions with the truth as a table, to combine several models. */
#ifndef CS_EVAL_SCORES_IO_H
#define CS_EVAL_SCORES_IO_H

#include "base/outfile.h"
#include "eval/metrics.h"

/** cs_scores_head - the names of the columns: length, truth, and a class each. CS_OK or CS_EIO */
int cs_scores_head(const cs_label *label, int32_t n_label, cs_outfile *f) CS_MUST_CHECK;
/** cs_scores_rows - a row per class prediction with a known truth. CS_OK or CS_EIO */
int cs_scores_rows(const cs_scores *s, const cs_label *label, cs_outfile *f) CS_MUST_CHECK;

/**
 * cs_scores_read - add the rows of a table
 *
 * path     plain or gzip. Its classes are those of `label`, in any order
 * s        of n_label classes
 * Returns  CS_OK; CS_EIO; CS_EFORMAT with file and line; CS_EMEM
 */
int cs_scores_read(const char *path, const cs_label *label, int32_t n_label, cs_scores *s)
    CS_MUST_CHECK;

#endif

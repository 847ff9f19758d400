/* eval_html.h - an evaluation as an HTML page. */
#ifndef CS_EVAL_EVAL_HTML_H
#define CS_EVAL_EVAL_HTML_H

#include "eval/eval_report.h"

/**
 * cs_eval_html - a self-contained page: metrics, classes, ranks, lengths, reliability
 *
 * r        of a model of classes
 * seconds  seconds of evaluation, from the first record to the last
 * command  the command line, for the page
 * Returns  CS_OK, CS_EMEM, CS_EIO
 */
int cs_eval_html(const cs_eval_report *r, cs_outfile *out, double seconds, const char *command)
    CS_MUST_CHECK;

#endif

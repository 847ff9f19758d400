/* variant_report.h - scored variants as an HTML page and as JSON: counts, distribution, the top
 * ones with the contributions of the bases around them. */
#ifndef CS_EVAL_VARIANT_REPORT_H
#define CS_EVAL_VARIANT_REPORT_H

#include <jansson.h>

#include "infer/variant_values.h"

typedef struct cs_variant_report cs_variant_report;

/**
 * cs_variant_report_new - for alleles that are fed one by one
 *
 * values   of the run, which counts; must outlive the report
 * n_base   of a window
 */
cs_variant_report *cs_variant_report_new(const cs_variant_values *values, int64_t n_base);
/** cs_variant_report_free - accepts NULL */
void cs_variant_report_free(cs_variant_report *r);

/** cs_variant_report_add - one that cs_variant_values_set() has taken; its windows are kept if its
 * score is among the largest. CS_OK; CS_EMEM */
int cs_variant_report_add(cs_variant_report *r, const cs_variant_alt *v, const cs_record *rec)
    CS_MUST_CHECK;

/**
 * cs_variant_report_html - the page; runs the model on mutants of the top variants' windows
 *
 * A base's contribution is the logit of the score minus the mean logit with the three other bases
 * in its place in both windows: its contribution to the effect, not to either sequence.
 *
 * like     the stream that gave the scores; its model, policy and threads are used
 * n_record of the VCF
 * command  the command line, for the page
 * Returns  CS_OK; CS_EIO; CS_EMEM; the errors of cs_stream_run()
 */
int cs_variant_report_html(const cs_variant_report *r, cs_outfile *f, const cs_stream *like,
                           uint64_t n_record, const char *command) CS_MUST_CHECK;

/** cs_variant_report_json - counts and distribution, added to an object about the run */
void cs_variant_report_json(const cs_variant_values *v, uint64_t n_record, json_t *to);

#endif

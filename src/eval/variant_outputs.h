/* variant_outputs.h - outputs of scored variants: VCF or BCF, table, page, summary. */
#ifndef CS_EVAL_VARIANT_OUTPUTS_H
#define CS_EVAL_VARIANT_OUTPUTS_H

#include "eval/variant_report.h"
#include "infer/variants.h"
#include "run/about.h"
#include "run/outputs.h"
#include "run/shard.h"

/* Options; a path that is NULL is not wanted, except output. */
typedef struct cs_variant_output_args {
    const char *output, *tsv, *html, *summary;
    const char *format;          /* "auto", "v", "z9", ... */
    int         index;           /* cs_vcf_index */
    int         no_version;      /* no header lines about the run */
} cs_variant_output_args;

extern const char *const cs_variant_formats[];     /* "auto", "v", "z", "u", "b", NULL */

typedef struct cs_variant_outputs {
    const cs_variant_output_args *a;
    cs_variant_values *values;   /* of the run */
    cs_shard          *shard;    /* or NULL */
    cs_vcfout         *vcf;
    cs_outfile        *tsv, *html, *summary;
    cs_variant_report *report;   /* of --html, or NULL */
    uint64_t           n_record; /* of the VCF */
} cs_variant_outputs;

/** cs_variant_format - 'v', 'z', 'u' or 'b', as htslib names them; auto follows the suffix */
char cs_variant_format(const cs_variant_output_args *a);

/** cs_variant_outputs_check - check that paths differ. CS_OK, CS_EUSAGE */
int cs_variant_outputs_check(const cs_variant_output_args *a) CS_MUST_CHECK;

/**
 * cs_variant_outputs_open - open all; a, values and shard are set
 *
 * src      its VCF's header is copied
 * about    the run, for header lines; with its model
 * Returns  CS_OK; the errors of opening. Release it in any case
 */
int cs_variant_outputs_open(cs_variant_outputs *o, const cs_variant_source *src, int n_thread,
                            const cs_about *about) CS_MUST_CHECK;

/** cs_variant_outputs_begin - add them to the manifest of the shard, if any */
int cs_variant_outputs_begin(cs_variant_outputs *o) CS_MUST_CHECK;

/** cs_variant_outputs_record - an allele; after the last of its VCF record, its lines (a sink for
 * cs_stream, with the cs_variant_outputs as argument) */
int cs_variant_outputs_record(void *outputs, const cs_record *rec, const cs_prediction *a)
    CS_MUST_CHECK;

/** cs_variant_outputs_close - write page and summary, complete all, then rename all
 *
 * s        the stream that gave the scores
 * Returns  CS_OK; CS_ECANCEL: a signal before the first rename; CS_EIO; CS_EMEM
 */
int cs_variant_outputs_close(cs_variant_outputs *o, const cs_stream *s, const cs_about *about)
    CS_MUST_CHECK;

/** cs_variant_outputs_release - remove files that are not closed */
void cs_variant_outputs_release(cs_variant_outputs *o);

#endif

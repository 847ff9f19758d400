/* variant_values.h - INFO fields of scored VCF records: values, or the reason for none. */
#ifndef CS_INFER_VARIANT_VALUES_H
#define CS_INFER_VARIANT_VALUES_H

#include "infer/stream.h"
#include "infer/variants.h"
#include "io/vcf.h"
#include "nn/exec/model.h"

enum { CS_SKIP_BYTES = 40, CS_SCORE_BINS = 20, CS_N_LEVEL = 2 };
extern const double cs_score_level[CS_N_LEVEL];      /* 0.5 and 0.8, for counts of alleles above */

/* Fields: those of the score, then the reason for its absence, then whether alleles are swapped. */
typedef struct cs_variant_values {
    int            score;        /* not CS_SCORE_AUTO; set before init */
    int32_t        width;        /* of a vector, with EMBEDDING; as well */
    cs_vcf_field  *field;
    cs_vcf_values *value;        /* [n_field] of the VCF record in hand; [cap] space for its ALTs */
    double       **number;       /* [n_field] */
    const char   **reason;
    char         (*reason_text)[CS_SKIP_BYTES];
    int            n_score, n_field, cap;
    uint64_t       n_alt, n_scored, n_swapped, n_unscored[CS_N_UNSCORED], n_reason[CS_N_REASON];
    /* of probabilities: by score the alleles in each twentieth, and above each level; last those
     * above it by any score */
    uint64_t     (*bin)[CS_SCORE_BINS], (*above)[CS_N_LEVEL];    /* [n_score], [n_score + 1] */
} cs_variant_values;

/** cs_variant_reason - a window's reason as outputs for variants name it, MOSTLY_UNKNOWN, in text,
 * which is returned */
const char *cs_variant_reason(cs_reason reason, char text[CS_SKIP_BYTES]);
/** cs_variant_values_init - the fields of a model's score; keys begin with the prefix. CS_OK;
 * CS_EMODEL: two labels have the same key. Release it in any case */
int  cs_variant_values_init(cs_variant_values *v, const cs_model *m, const char *prefix)
    CS_MUST_CHECK;
void cs_variant_values_release(cs_variant_values *v);

/** cs_variant_values_choose - hide all fields but those of a comma-separated list; NULL: hide none.
 * CS_OK; CS_EUSAGE for one that there is not */
int  cs_variant_values_choose(cs_variant_values *v, const char *list) CS_MUST_CHECK;

/** cs_variant_values_best - the largest score of an ALT set last, and of which field; NAN: none */
double cs_variant_values_best(const cs_variant_values *v, int alt, int *field);

/** cs_variant_values_set - set the prediction for one ALT, or for a record without ALT */
void cs_variant_values_set(cs_variant_values *v, const cs_variant_alt *alt, const cs_prediction *a);
/** cs_variant_values_head, cs_variant_values_row - the table's header line, and the line of an ALT
 * of a complete record */
int  cs_variant_values_head(const cs_variant_values *v, cs_outfile *tsv) CS_MUST_CHECK;
int  cs_variant_values_row(const cs_variant_values *v, const cs_vcf_record *r, int i,
                           cs_outfile *tsv) CS_MUST_CHECK;
/** cs_variant_values_report - notes and warnings at the end of a run of n_record records */
void cs_variant_values_report(const cs_variant_values *v, uint64_t n_record, const char *prefix,
                              const char *reference, const cs_stream_stat *stat);
/** cs_variant_values_check - CS_OK; CS_EFORMAT: there are alternative alleles, but no score, and
 * none of them lacks an exon */
int  cs_variant_values_check(const cs_variant_values *v, const char *prefix) CS_MUST_CHECK;

#endif

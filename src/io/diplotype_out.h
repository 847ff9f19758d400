/* diplotype_out.h - write diplotype text from reads or genotypes. */
#ifndef CS_IO_DIPLOTYPE_OUT_H
#define CS_IO_DIPLOTYPE_OUT_H

#include <stdbool.h>

#include "base/outfile.h"
#include "io/haplotypes.h"
#include "io/pileup.h"
#include "io/reference.h"
#include "io/regions.h"

/* Name of a record: its sample, its region, or both. */
typedef enum cs_diplotype_name { CS_NAME_SAMPLE, CS_NAME_REGION, CS_NAME_BOTH } cs_diplotype_name;

/* The output and its counts. */
typedef struct cs_diplotype_out {
    cs_outfile       *f;
    cs_diplotype_name name;
    int               column;    /* codes on the present line */
    uint64_t          n_record, n_site;
    uint64_t          n_same, n_other;   /* sites like the reference on both haplotypes; other
                                          * known ones */
    uint64_t          n_het;     /* of the latter, with two haplotypes that differ */
    uint64_t          n_unknown; /* N on either haplotype */
} cs_diplotype_out;

/** cs_diplotype_out_record - begin a record of a sample and a region, named by t->name */
int cs_diplotype_out_record(cs_diplotype_out *t, const char *sample, const cs_region *at)
    CS_MUST_CHECK;
/** cs_diplotype_out_site - one more site of it; ref is the reference's symbol */
int cs_diplotype_out_site(cs_diplotype_out *t, int hap1, int hap2, int ref) CS_MUST_CHECK;

/** cs_diplotype_out_close - end the last line and rename the file into place; f is invalid
 * afterwards */
int cs_diplotype_out_close(cs_diplotype_out *t) CS_MUST_CHECK;

/* Arguments of both kinds of input. */
typedef struct cs_diplotype_source {
    const char       *path;
    const char       *shown;     /* the path, for messages */
    cs_reference     *ref;
    cs_regions       *regions;   /* NULL: everything */
    cs_diplotype_out *text;
    struct htsFile   *fp;        /* taken over */
    int               threads;
} cs_diplotype_source;

/** cs_diplotype_from_reads - sites of alignments (diplotype_reads.c). reason receives
 * the number of sites called, and of others by reason */
int cs_diplotype_from_reads(const cs_diplotype_source *s, const cs_pileup_opt *opt,
                            const cs_site_rule *rule, uint64_t reason[CS_N_SITE_CALL])
    CS_MUST_CHECK;

typedef struct cs_diplotype_calls_opt {
    const char *const *sample;   /* [n_sample] names wanted, in this order; n_sample 0: all */
    int         n_sample;
    bool        absent_unknown;  /* sites without a record are N, not the reference */
    bool        all_filters;     /* include records that failed a filter */
    int64_t     max_memory;      /* maximum bytes for the haplotypes of a region */
} cs_diplotype_calls_opt;

/* Counts of records and alleles used, and of others by reason. */
typedef struct cs_diplotype_calls_stat {
    uint64_t n_record, n_filtered, n_no_gt, n_ploidy, n_applied[CS_N_APPLIED];
} cs_diplotype_calls_stat;

/** cs_diplotype_from_calls - haplotypes of VCF or BCF genotypes (diplotype_calls.c) */
int cs_diplotype_from_calls(const cs_diplotype_source *s, const cs_diplotype_calls_opt *opt,
                            cs_diplotype_calls_stat *stat) CS_MUST_CHECK;

#endif

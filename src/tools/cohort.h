/* cohort.h - simulate a cohort: genotypes at the sites of a VCF file, and a trait with causal
 * sites. */
#ifndef CS_TOOLS_COHORT_H
#define CS_TOOLS_COHORT_H

#include "base/mem.h"
#include "base/opt.h"

typedef struct cs_cohort_args {
    const char *input, *region, *labels, *liabilities, *effects;
    int         freq;
    int64_t     n_causal, ld_scale;
    double      min_freq, heritability, prevalence, case_share;
} cs_cohort_args;

extern const cs_opt cs_cohort_table[];

/**
 * cs_cohort_simulate - draw n persons and write their genotypes, and the requested tables
 *
 * output   VCF, plain
 * Returns  CS_OK; CS_EUSAGE for impossible settings; the errors of reading and writing
 */
int cs_cohort_simulate(const cs_cohort_args *a, int64_t n, uint64_t seed, const char *output)
    CS_MUST_CHECK;

/* ---- sites ----------------------------------------------------------------------------------- */

enum { CS_FREQ_FILE, CS_FREQ_DRAW };

/* A site to write; strings are in the arena. */
typedef struct cs_cohort_site {
    const char *contig, *id, *ref, *alt;     /* alt: with commas */
    int64_t     pos;                         /* 0-based */
    int         n_alt;
    double     *freq;                        /* [n_alt] of the alleles in the population */
    double      effect;                      /* of an ALT on the liability; 0: none */
} cs_cohort_site;

typedef struct cs_cohort_sites {
    cs_arena       *mem;
    cs_cohort_site *v;           /* [n] by place */
    size_t          n, cap;
    /* Omitted: failed a filter, symbolic alleles, overlapping an earlier site, rare. */
    int64_t         n_filtered, n_symbolic, n_overlap, n_rare;
} cs_cohort_sites;

/**
 * cs_cohort_sites_read - the usable sites of a VCF or BCF file
 *
 * Frequencies are INFO's AF, else AC over AN, else those of the genotypes; or drawn.
 * Returns  CS_OK (release it, also after errors); CS_EFORMAT naming the record; CS_EUSAGE for the
 *          region; CS_EIO, CS_EMEM
 */
int  cs_cohort_sites_read(const cs_cohort_args *a, uint64_t seed, cs_cohort_sites *s)
    CS_MUST_CHECK;
void cs_cohort_sites_release(cs_cohort_sites *s);

#endif

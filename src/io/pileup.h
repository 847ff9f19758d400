/* pileup.h - symbols of aligned reads per site, and the two alleles called from them. */
#ifndef CS_IO_PILEUP_H
#define CS_IO_PILEUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "io/diplotype.h"

/* Filters of reads and bases. */
typedef struct cs_pileup_opt {
    int64_t skip_flags;          /* reads with any of these SAM flags are left out */
    int64_t min_mapq, min_baseq; /* of two mates over a site the worse base is ignored */
    int64_t max_depth;           /* maximum reads over one site; further ones are dropped */
    int     threads;             /* extra ones for decompression */
    bool    in_regions;          /* cs_pileup_seek() follows */
} cs_pileup_opt;

/* A site with reads. */
typedef struct cs_site {
    int32_t contig;              /* number in the header */
    int64_t pos;                 /* 0-based */
    int64_t count[CS_N_HAP];     /* reads by symbol, after the quality filter */
    int64_t n_read;              /* reads over it, before the quality filter */
} cs_site;

typedef struct cs_pileup cs_pileup;

struct htsFile;

/**
 * cs_pileup_open - SAM, BAM or CRAM, sorted by position
 *
 * fp         from cs_htsin_open_reads_or_calls(); taken over, also on failure
 * reference  FASTA that CRAM was compressed against
 * Returns  CS_OK; CS_EIO; CS_EFORMAT (no header); CS_EMEM
 */
int  cs_pileup_open(const char *path, struct htsFile *fp, const char *reference,
                    const cs_pileup_opt *opt, cs_pileup **out) CS_MUST_CHECK;
/** cs_pileup_close - accepts NULL */
void cs_pileup_close(cs_pileup *p);

/** cs_pileup_name, cs_pileup_length - name and bases of a contig, by its number in the header. The
 * name is valid as long as p */
const char *cs_pileup_name(const cs_pileup *p, int32_t contig);
int64_t     cs_pileup_length(const cs_pileup *p, int32_t contig);
/** cs_pileup_sample - the sample of the read groups, "sample" without one: CS_OK, or CS_EFORMAT
 * for an invalid header or several samples. Valid as long as p */
int  cs_pileup_sample(cs_pileup *p, const char **name) CS_MUST_CHECK;

/** cs_pileup_seek - only sites of [from, to) of a contig from here on; needs an index. CS_OK;
 * CS_EFORMAT for a contig that the header lacks; CS_EIO without an index */
int  cs_pileup_seek(cs_pileup *p, const char *contig, int64_t from, int64_t to) CS_MUST_CHECK;

/** cs_pileup_next - the next site with reads, in order. CS_OK; CS_EOF; CS_EFORMAT for damaged or
 * unsorted input; CS_EMEM */
int  cs_pileup_next(cs_pileup *p, cs_site *s) CS_MUST_CHECK;

/* Minimum reads for a call, and for two alleles. */
typedef struct cs_site_rule {
    int64_t min_depth;           /* counted alleles */
    int64_t min_count;           /* of the second allele */
    double  min_frac;            /* of the second allele among all */
} cs_site_rule;

typedef enum cs_site_call {
    CS_SITE_CALLED, CS_SITE_NO_READ, CS_SITE_LOW_DEPTH, CS_N_SITE_CALL
} cs_site_call;

/**
 * cs_site_decide - the two haplotype symbols of a site
 *
 * The most frequent allele is one; the second most frequent is the other if it has min_count reads
 * and min_frac of all, else both are the first. Ties prefer the reference's allele, then the order
 * of the symbols. Both are N with too few reads.
 *
 * ref      the reference's symbol, CS_HAP_A .. CS_HAP_N
 */
cs_site_call cs_site_decide(const cs_site *s, const cs_site_rule *rule, int ref, int *hap1,
                            int *hap2);

#endif

/* genotypes.h - alleles and genotypes of VCF and BCF records, and haplotypes of a reference. */
#ifndef CS_IO_GENOTYPES_H
#define CS_IO_GENOTYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "io/diplotype.h"

/* One record. Everything in it is valid until the next is read. */
typedef struct cs_variant {
    const char        *contig;
    int64_t            pos;      /* 0-based */
    int64_t            n_ref;    /* reference bases covered: of REF, or up to END */
    const char *const *allele;   /* [n_allele] REF first */
    int                n_allele;
    bool               passed;   /* FILTER is PASS or missing */
    const int32_t     *gt;       /* [n_sample * ploidy] in htslib's encoding; NULL: no GT */
    int                ploidy;   /* the largest of any sample */
} cs_variant;

enum { CS_GT_MISSING = -1, CS_GT_END = -2, CS_GT_BROKEN = -3 };

/** cs_variant_gt - the allele of haplotype h of a sample; CS_GT_MISSING for '.', CS_GT_END beyond
 * the sample's ploidy, CS_GT_BROKEN for an invalid allele number */
int cs_variant_gt(const cs_variant *v, int sample, int h);

typedef struct cs_genotypes cs_genotypes;

struct htsFile;

/** cs_genotypes_open - fp from cs_htsin_open_reads_or_calls(), taken over, also on failure. CS_OK;
 * CS_EIO; CS_EFORMAT for a damaged header */
int  cs_genotypes_open(const char *path, struct htsFile *fp, int threads, cs_genotypes **out)
    CS_MUST_CHECK;
/** cs_genotypes_close - accepts NULL */
void cs_genotypes_close(cs_genotypes *g);

/** cs_genotypes_samples, cs_genotypes_sample - number of samples, and the name of sample i, in the
 * order of the header, which owns the text */
int         cs_genotypes_samples(const cs_genotypes *g);
const char *cs_genotypes_sample(const cs_genotypes *g, int i);

/** cs_genotypes_seek - only records that overlap [from, to) of a contig from here on; needs an
 * index. A contig without records gives none. CS_OK; CS_EIO */
int  cs_genotypes_seek(cs_genotypes *g, const char *contig, int64_t from, int64_t to)
    CS_MUST_CHECK;
/** cs_genotypes_next - CS_OK; CS_EOF; CS_EFORMAT with the record's number */
int  cs_genotypes_next(cs_genotypes *g, cs_variant *v) CS_MUST_CHECK;

/* ---- haplotypes ------------------------------------------------------------------------------ */

/* Two haplotypes of a range of a contig, a byte per site: the first one's symbol in the low four
 * bits, the second one's in the high four. */
typedef struct cs_haplotypes {
    uint8_t    *site;            /* [to - from] */
    const char *ref;             /* [to - from] */
    int64_t     from, to;
} cs_haplotypes;

/** cs_haplotypes_fill - the reference on both, or N */
void cs_haplotypes_fill(cs_haplotypes *h, bool known);
/** cs_haplotypes_fits - does a record's REF match the reference, at sites where both are known? */
bool cs_haplotypes_fits(const cs_haplotypes *h, const cs_variant *v);
/** cs_haplotypes_code - the code of a site, i counted from 0 */
char cs_haplotypes_code(const cs_haplotypes *h, int64_t i);

typedef enum cs_applied {
    CS_APPLIED, CS_APPLIED_SYMBOLIC, CS_APPLIED_OVERLAP, CS_APPLIED_NO_ANCHOR, CS_N_APPLIED
} cs_applied;

/**
 * cs_haplotypes_apply - apply an allele of a record to one haplotype (0 or 1)
 *
 * allele   0 .. n_allele - 1, or CS_GT_MISSING, which sets the record's reference bases to N
 * Returns  CS_APPLIED; else nothing was changed, except as stated:
 *          CS_APPLIED_SYMBOLIC   a symbolic allele: N at the record's bases, up to END
 *          CS_APPLIED_OVERLAP    conflicts with an earlier record
 *          CS_APPLIED_NO_ANCHOR  an insertion before the first base of the contig
 *
 * REF and the allele are trimmed at their ends first, so CA to CAA is an insertion after C. Then
 * they are aligned from the left: bases replace bases, excess bases of REF are deleted, and excess
 * bases of the allele are an insertion after the last base before them. A '*' is a deletion by an
 * earlier record. Allele 0 is the reference, for all sites up to END.
 */
cs_applied cs_haplotypes_apply(cs_haplotypes *h, int hap, const cs_variant *v, int allele);

#endif

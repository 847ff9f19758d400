/* genotypes.h - records of a VCF or BCF file as alleles and genotypes, and what they make of a
 * reference. */
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
    int64_t            n_ref;    /* reference bases that it speaks of: of REF, or up to END */
    const char *const *allele;   /* [n_allele] REF first */
    int                n_allele;
    bool               passed;   /* FILTER is PASS or missing */
    const int32_t     *gt;       /* [n_sample * ploidy] as htslib has them; NULL: no GT */
    int                ploidy;   /* the largest of any sample */
} cs_variant;

enum { CS_GT_MISSING = -1, CS_GT_END = -2, CS_GT_BROKEN = -3 };

/** cs_variant_gt - the allele that haplotype h of a sample has; CS_GT_MISSING for '.', CS_GT_END
 * behind the sample's ploidy, CS_GT_BROKEN for a number that the record has no allele for */
int cs_variant_gt(const cs_variant *v, int sample, int h);

typedef struct cs_genotypes cs_genotypes;

struct htsFile;

/** cs_genotypes_open - fp from cs_hts_open() (pileup.h), taken over, also on failure. CS_OK;
 * CS_EIO; CS_EFORMAT for a damaged header */
int  cs_genotypes_open(const char *path, struct htsFile *fp, int threads, cs_genotypes **out)
    CS_MUST_CHECK;
/** cs_genotypes_close - accepts NULL */
void cs_genotypes_close(cs_genotypes *g);

int         cs_genotypes_samples(const cs_genotypes *g);
const char *cs_genotypes_sample(const cs_genotypes *g, int i);

/** cs_genotypes_seek - only records that overlap [from, to) of a contig from here on; needs an
 * index. A contig without records gives none. CS_OK; CS_EIO */
int  cs_genotypes_seek(cs_genotypes *g, const char *contig, int64_t from, int64_t to)
    CS_MUST_CHECK;
/** cs_genotypes_next - CS_OK; CS_EOF; CS_EFORMAT with the record's number */
int  cs_genotypes_next(cs_genotypes *g, cs_variant *v) CS_MUST_CHECK;

/* ---- haplotypes ------------------------------------------------------------------------------ */

/* Two haplotypes of a stretch of a contig, a byte per site: the first one's symbol in the low four
 * bits, the second one's in the high four. */
typedef struct cs_haplotypes {
    uint8_t    *site;            /* [to - from] */
    const char *ref;             /* [to - from] */
    int64_t     from, to;
} cs_haplotypes;

/** cs_haplotypes_fill - the reference on both, or N */
void cs_haplotypes_fill(cs_haplotypes *h, bool known);
/** cs_haplotypes_fits - is a record's REF what the reference has, as far as both are known here? */
bool cs_haplotypes_fits(const cs_haplotypes *h, const cs_variant *v);
/** cs_haplotypes_code - the code of a site, i counted from 0 */
char cs_haplotypes_code(const cs_haplotypes *h, int64_t i);

typedef enum cs_applied {
    CS_APPLIED, CS_APPLIED_SYMBOLIC, CS_APPLIED_OVERLAP, CS_APPLIED_NO_ANCHOR, CS_N_APPLIED
} cs_applied;

/**
 * cs_haplotypes_apply - put an allele of a record on one haplotype (0 or 1)
 *
 * allele   0 .. n_allele - 1, or CS_GT_MISSING, which makes N of the record's reference bases
 * Returns  CS_APPLIED; else nothing was changed but what is said:
 *          CS_APPLIED_SYMBOLIC   an allele that spells no sequence: N where the record stands
 *          CS_APPLIED_OVERLAP    a record before it has put something else there
 *          CS_APPLIED_NO_ANCHOR  an insertion before the first base of the contig
 *
 * REF and the allele are trimmed at their ends first, so that CA to CAA is an insertion behind C.
 * Then they are laid side by side: bases replace bases, what REF has more is deleted, and what the
 * allele has more is an insertion behind the last base before it. A '*' is a deletion that a record
 * before it has described. Allele 0 is the reference, for all sites up to END.
 */
cs_applied cs_haplotypes_apply(cs_haplotypes *h, int hap, const cs_variant *v, int allele);

#endif

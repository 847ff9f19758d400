/* haplotypes.h - the two haplotypes of a range of a contig, with the alleles of VCF records. */
#ifndef CS_IO_HAPLOTYPES_H
#define CS_IO_HAPLOTYPES_H

#include "io/genotypes.h"

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

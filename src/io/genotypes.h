/* genotypes.h - alleles and genotypes of VCF and BCF records. */
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
    int64_t            n_ref;    /* reference bases covered: of REF, up to END, or by SVLEN */
    const char *const *allele;   /* [n_allele] REF first */
    int                n_allele;
    bool               passed;   /* FILTER is PASS or missing */
    const int32_t     *gt;       /* [n_sample * ploidy] in htslib's encoding; NULL: no GT */
    int                ploidy;   /* the largest of any sample */
    const int32_t     *n_block;  /* [n_sample] LEN, in htslib's encoding; NULL: none */
} cs_variant;

enum { CS_GT_MISSING = -1, CS_GT_END = -2, CS_GT_BROKEN = -3 };

/** cs_variant_gt - the allele of haplotype h of a sample; CS_GT_MISSING for '.', CS_GT_END beyond
 * the sample's ploidy, CS_GT_BROKEN for an invalid allele number */
int cs_variant_gt(const cs_variant *v, int sample, int h);

/** cs_variant_covers - reference bases that the record covers in a sample: since VCF 4.5 a block
 * `<*>` states them by LEN, per sample; otherwise n_ref */
int64_t cs_variant_covers(const cs_variant *v, int sample);

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

#endif

/* genotypes.c - alleles and genotypes of VCF and BCF records. */
#include "io/genotypes.h"

#include <htslib/vcf.h>

#include "base/mem.h"
#include "io/vcf_internal.h"

struct cs_genotypes {
    cs_vcf    *in;
    bcf_hdr_t *header;           /* the input's */
    int32_t   *gt;
    int        n_gt;
};

int cs_genotypes_open(const char *path, struct htsFile *fp, int threads, cs_genotypes **out)
{
    int rc = CS_OK;
    cs_vcf *in;

    *out = NULL;
    CS_TRY(cs_vcf_take(path, fp, threads, true, &in));
    *out = cs_xcalloc(1, sizeof **out);
    (*out)->in = in;
    (*out)->header = cs_vcf_header(in);
out:
    return rc;
}

void cs_genotypes_close(cs_genotypes *g)
{
    if (!g)
        return;
    cs_vcf_close(g->in);
    free(g->gt);
    free(g);
}

int cs_genotypes_samples(const cs_genotypes *g)
{
    return bcf_hdr_nsamples(g->header);
}

const char *cs_genotypes_sample(const cs_genotypes *g, int i)
{
    return g->header->samples[i];
}

int cs_genotypes_seek(cs_genotypes *g, const char *contig, int64_t from, int64_t to)
{
    return cs_vcf_seek(g->in, contig, from, to);
}

int cs_genotypes_next(cs_genotypes *g, cs_variant *v)
{
    int rc = CS_OK;
    bcf1_t *rec = cs_vcf_native(g->in);

    /* Position 0 is the telomere (VCF 4.3, 1.6.1): sound, and no base of the reference. */
    do
        CS_TRY(cs_vcf_read(g->in, BCF_UN_ALL));
    while (rec->pos == -1);
    if (rec->pos < 0)
        return cs_vcf_error(g->in, "is before its contig; the file is damaged");
    const int n_sample = bcf_hdr_nsamples(g->header);
    const bcf_fmt_t *gt = n_sample > 0 ? bcf_get_fmt(g->header, rec, "GT") : NULL;
    const bool given = gt && gt->n > 0 && gt->type != BCF_BT_NULL;
    /* Of other types, and if FORMAT has GT and no sample does, htslib ends the process. */
    if (given && gt->type != BCF_BT_INT8 && gt->type != BCF_BT_INT16 && gt->type != BCF_BT_INT32)
        return cs_vcf_error(g->in, "has genotypes (GT) that are not numbers of alleles; the file "
                            "is damaged");
    const int n = given ? bcf_get_genotypes(g->header, rec, &g->gt, &g->n_gt) : 0;
    if (n == -4)
        return cs_fail(CS_EMEM, "out of memory for the genotypes of %d samples", n_sample);
    *v = (cs_variant){
        .contig = bcf_seqname(g->header, rec), .pos = rec->pos, .n_ref = rec->rlen,
        .allele = (const char *const *)rec->d.allele, .n_allele = rec->n_allele,
        .passed = rec->d.n_flt == 0
               || (rec->d.n_flt == 1 && bcf_has_filter(g->header, rec, (char *)"PASS") == 1),
        .gt = n > 0 ? g->gt : NULL, .ploidy = n > 0 ? n / n_sample : 0,
    };
out:
    return rc;
}

int cs_variant_gt(const cs_variant *v, int sample, int h)
{
    const int32_t gt = h < v->ploidy ? v->gt[sample * v->ploidy + h] : bcf_int32_vector_end;

    if (gt == bcf_int32_vector_end)
        return CS_GT_END;
    if (gt == bcf_int32_missing || bcf_gt_is_missing(gt))
        return CS_GT_MISSING;
    const int allele = bcf_gt_allele(gt);
    return allele >= 0 && allele < v->n_allele ? allele : CS_GT_BROKEN;
}

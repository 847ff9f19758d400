/* genotypes.c - alleles and genotypes of VCF and BCF records. */
#include "io/genotypes.h"

#include <stdlib.h>
#include <string.h>

#include <htslib/vcf.h>

#include "base/mem.h"
#include "io/vcf_internal.h"

struct cs_genotypes {
    cs_vcf    *in;
    bcf_hdr_t *header;           /* the input's */
    int32_t   *gt, *svlen, *len;
    int        n_gt, n_svlen, n_len;
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
    CS_FREE(g->gt, g->svlen, g->len, g);
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

/* Of other types, as of a FORMAT key that no sample has, htslib ends the process. */
static bool is_integer(int type)
{
    return type == BCF_BT_INT8 || type == BCF_BT_INT16 || type == BCF_BT_INT32;
}

/* Bases that the alleles cover: since VCF 4.4 those of these symbols by SVLEN, behind the base at
 * POS, with or without END; before, SVLEN of deletions is negative. Versions of htslib up to 1.21
 * see END only. */
static int64_t covered_bases(cs_genotypes *g, bcf1_t *rec)
{
    static const char *const symbol[] = { "<DEL", "<DUP", "<INV", "<CNV" };
    const bcf_info_t *info = bcf_get_info(g->header, rec, "SVLEN");
    const int n = info && is_integer(info->type)
                ? bcf_get_info_int32(g->header, rec, "SVLEN", &g->svlen, &g->n_svlen) : 0;
    int64_t most = rec->rlen;

    for (int i = 0; i < n && i + 1 < (int)rec->n_allele; i++) {
        const int64_t covered = 1 + llabs((long long)g->svlen[i]);
        bool covers = false;
        for (size_t k = 0; k < sizeof symbol / sizeof *symbol; k++)
            covers |= strncmp(rec->d.allele[i + 1], symbol[k], strlen(symbol[k])) == 0;
        if (g->svlen[i] == bcf_int32_vector_end)
            break;
        if (covers && g->svlen[i] != bcf_int32_missing && covered > most)
            most = covered;
    }
    return most;
}

/* LEN of the samples, if the record has `<*>`; NULL: none. */
static const int32_t *blocks_of(cs_genotypes *g, bcf1_t *rec)
{
    bool has = false;

    for (int i = 1; i < (int)rec->n_allele; i++)
        has |= strcmp(rec->d.allele[i], "<*>") == 0;
    const bcf_fmt_t *len = has ? bcf_get_fmt(g->header, rec, "LEN") : NULL;
    if (!len || len->n != 1 || !is_integer(len->type))
        return NULL;
    const int n = bcf_get_format_int32(g->header, rec, "LEN", &g->len, &g->n_len);
    return n == bcf_hdr_nsamples(g->header) ? g->len : NULL;
}

int64_t cs_variant_covers(const cs_variant *v, int sample)
{
    const int64_t n_ref = (int64_t)strlen(v->allele[0]);

    if (!v->n_block || v->n_block[sample] < 1)       /* missing ones are negative */
        return v->n_ref;
    return v->n_block[sample] > n_ref ? v->n_block[sample] : n_ref;
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
    if (given && !is_integer(gt->type))
        return cs_vcf_error(g->in, "has genotypes (GT) that are not numbers of alleles; the file "
                            "is damaged");
    const int n = given ? bcf_get_genotypes(g->header, rec, &g->gt, &g->n_gt) : 0;
    if (n == -4)
        return cs_fail(CS_EMEM, "out of memory for the genotypes of %d samples", n_sample);
    *v = (cs_variant){
        .contig = bcf_seqname(g->header, rec), .pos = rec->pos, .n_ref = covered_bases(g, rec),
        .allele = (const char *const *)rec->d.allele, .n_allele = rec->n_allele,
        .passed = rec->d.n_flt == 0
               || (rec->d.n_flt == 1 && bcf_has_filter(g->header, rec, (char *)"PASS") == 1),
        .gt = n > 0 ? g->gt : NULL, .ploidy = n > 0 ? n / n_sample : 0,
        .n_block = n_sample > 0 ? blocks_of(g, rec) : NULL,
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

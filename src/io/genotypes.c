/* genotypes.c - records of a VCF or BCF file as alleles and genotypes, through htslib. */
#include "io/genotypes.h"

#include <string.h>

#include <htslib/kstring.h>
#include <htslib/tbx.h>
#include <htslib/vcf.h>

#include "base/mem.h"
#include "io/inflow.h"

struct cs_genotypes {
    char      *path;
    htsFile   *fp;
    bcf_hdr_t *header;
    bcf1_t    *rec;
    hts_idx_t *index;            /* of BCF */
    tbx_t     *tabix;            /* of VCF */
    hts_itr_t *itr;              /* of the region, or NULL: the whole file */
    bool       none;             /* the region's contig has no records */
    kstring_t  line;
    int32_t   *gt;
    int        n_gt;
    uint64_t   n_record;
};

static int open_all(cs_genotypes *g, int threads)
{
    if (threads > 0 && hts_set_threads(g->fp, threads) < 0)
        return cs_fail(CS_EIO, "'%s': cannot start decompression threads", g->path);
    g->header = bcf_hdr_read(g->fp);
    if (!g->header)
        return cs_fail(CS_EFORMAT, "'%s': the header of this VCF or BCF file is damaged", g->path);
    g->rec = bcf_init();
    return g->rec ? CS_OK : cs_fail(CS_EMEM, "out of memory");
}

int cs_genotypes_open(const char *path, struct htsFile *fp, int threads, cs_genotypes **out)
{
    cs_genotypes *g = cs_xcalloc(1, sizeof *g);

    *out = NULL;
    g->path = cs_xstrdup(path);
    g->fp = fp;
    const int rc = cs_inflow_cut(open_all(g, threads));
    if (rc == CS_OK)
        *out = g;
    else
        cs_genotypes_close(g);
    return rc;
}

void cs_genotypes_close(cs_genotypes *g)
{
    if (!g)
        return;
    hts_itr_destroy(g->itr);
    if (g->index)
        hts_idx_destroy(g->index);
    if (g->tabix)
        tbx_destroy(g->tabix);
    if (g->rec)
        bcf_destroy(g->rec);
    if (g->header)
        bcf_hdr_destroy(g->header);
    if (g->fp)
        hts_close(g->fp);        /* nothing was written: every error has been met by reading */
    ks_free(&g->line);
    free(g->gt);
    free(g->path);
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
    const bool is_bcf = g->fp->format.format == bcf;

    if (is_bcf && !g->index)
        g->index = bcf_index_load(g->path);
    else if (!is_bcf && !g->tabix)
        g->tabix = tbx_index_load(g->path);
    if (is_bcf ? !g->index : !g->tabix)
        return cs_fail(CS_EIO, "'%s' has no index, which regions need; make one (bcftools index "
                       "on a BGZF or BCF file), or leave regions away", g->path);
    const int tid = is_bcf ? bcf_hdr_name2id(g->header, contig) : tbx_name2id(g->tabix, contig);
    hts_itr_destroy(g->itr);
    g->itr = NULL;
    g->none = tid < 0;
    if (!g->none)
        g->itr = is_bcf ? bcf_itr_queryi(g->index, tid, from, to)
                        : tbx_itr_queryi(g->tabix, tid, from, to);
    if (!g->none && !g->itr)
        return cs_fail(CS_EIO, "'%s': the index has no place for '%s'", g->path, contig);
    return CS_OK;
}

/* As bcf_read(): 0, -1 at the end, less on errors. */
static int read_record(cs_genotypes *g)
{
    if (g->none)
        return -1;
    if (!g->itr)
        return bcf_read(g->fp, g->header, g->rec);
    if (!g->tabix)
        return bcf_itr_next(g->fp, g->itr, g->rec);
    const int r = tbx_itr_next(g->fp, g->tabix, g->itr, &g->line);
    return r < 0 ? r : vcf_parse(&g->line, g->header, g->rec) < 0 ? -2 : 0;
}

int cs_genotypes_next(cs_genotypes *g, cs_variant *v)
{
    /* A key or contig that the header does not declare is no damage: htslib makes it up. */
    const int undeclared = BCF_ERR_CTG_UNDEF | BCF_ERR_TAG_UNDEF;
    int r;

    /* Position 0 is the telomere (VCF 4.3, 1.6.1): sound, and no base of the reference. */
    do {
        r = read_record(g);
        g->n_record++;
    } while (r >= 0 && g->rec->pos == -1);
    if (r == -1)
        return cs_inflow_cut(CS_EOF);
    if (r < -1 || (g->rec->errcode & ~undeclared) != 0 || bcf_unpack(g->rec, BCF_UN_ALL) < 0
        || g->rec->pos < 0)
        return cs_inflow_cut(cs_fail(CS_EFORMAT, "'%s': record %llu cannot be read; the file is "
                                     "cut or damaged", g->path,
                                     (unsigned long long)g->n_record));
    const int n_sample = bcf_hdr_nsamples(g->header);
    const int n = n_sample > 0 ? bcf_get_genotypes(g->header, g->rec, &g->gt, &g->n_gt) : 0;
    if (n == -4)
        return cs_fail(CS_EMEM, "out of memory for the genotypes of %d samples", n_sample);
    *v = (cs_variant){
        .contig = bcf_seqname(g->header, g->rec), .pos = g->rec->pos, .n_ref = g->rec->rlen,
        .allele = (const char *const *)g->rec->d.allele, .n_allele = g->rec->n_allele,
        .passed = g->rec->d.n_flt == 0
               || (g->rec->d.n_flt == 1 && bcf_has_filter(g->header, g->rec, (char *)"PASS") == 1),
        .gt = n > 0 ? g->gt : NULL, .ploidy = n > 0 ? n / n_sample : 0,
    };
    return CS_OK;
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

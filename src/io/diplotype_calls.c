/* diplotype_calls.c - diplotypes of VCF or BCF genotypes on a reference.
 *
 * DESIGN: records may overlap and refer to sites before the previous record's, so a region's
 * haplotypes are held, a byte per site and sample, until its last record.
 */
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/signals.h"
#include "base/suggest.h"
#include "io/diplotype_out.h"
#include "io/haplotypes.h"

struct calls {
    const cs_diplotype_source    *s;
    const cs_diplotype_calls_opt *opt;
    cs_diplotype_calls_stat      *stat;
    cs_genotypes                 *in;
    int                          *column;    /* [n] of the samples wanted */
    int                           n;
    cs_haplotypes                *hap;       /* [n] */
    char                         *ref;
    cs_region                     at;
    int64_t                       n_contig;  /* bases of its contig */
    char                        **done;      /* [n_done] contigs that have been written */
    size_t                        n_done, cap_done;
    cs_names                      by_name;   /* of these */
};

/* ---- samples ------------------------------------------------------------------------------- */

static int find_sample(const struct calls *c, const char *name)
{
    int i = 0;

    while (i < cs_genotypes_samples(c->in) && strcmp(cs_genotypes_sample(c->in, i), name) != 0)
        i++;
    return i < cs_genotypes_samples(c->in) ? i : -1;
}

static int no_sample(const struct calls *c, const char *name)
{
    cs_suggest near = cs_suggest_begin(name);

    for (int i = 0; i < cs_genotypes_samples(c->in); i++)
        cs_suggest_try(&near, cs_genotypes_sample(c->in, i));
    return cs_fail(CS_EUSAGE, "'%s' has no sample '%s'; %sits header lists them (bcftools query "
                   "-l)", c->s->shown, name, cs_suggest_hint(&near));
}

static int choose_samples(struct calls *c)
{
    const int all = cs_genotypes_samples(c->in);

    if (all == 0)
        return cs_fail(CS_EFORMAT, "'%s' has no samples, so no genotypes; give a file with columns "
                       "FORMAT and samples", c->s->shown);
    c->n = c->opt->n_sample > 0 ? c->opt->n_sample : all;
    c->column = cs_alloc((size_t)c->n, sizeof *c->column);
    c->hap = cs_alloc((size_t)c->n, sizeof *c->hap);
    if (!c->column || !c->hap)
        return cs_fail(CS_EMEM, "out of memory for %d samples", c->n);
    memset(c->hap, 0, (size_t)c->n * sizeof *c->hap);
    for (int i = 0; i < c->n; i++) {
        c->column[i] = c->opt->n_sample > 0 ? find_sample(c, c->opt->sample[i]) : i;
        if (c->column[i] < 0)
            return no_sample(c, c->opt->sample[i]);
    }
    return CS_OK;
}

/* ---- a region ------------------------------------------------------------------------------ */

static void drop_region(struct calls *c)
{
    for (int i = 0; c->hap && i < c->n; i++) {
        free(c->hap[i].site);
        c->hap[i].site = NULL;
    }
    free(c->ref);
    c->ref = NULL;
}

static int begin_region(struct calls *c, cs_region at)
{
    int rc = CS_OK;
    const int64_t n = at.to - at.from;

    drop_region(c);
    c->at = at;
    c->n_contig = cs_reference_length(c->s->ref, at.contig);
    if (c->opt->max_memory / (c->n + 1) < n)
        return cs_fail(CS_EMEM, "%d samples of %lld sites take more than --max-memory; choose "
                       "samples (-s) or shorter regions (-r)", c->n, (long long)n);
    CS_TRY(cs_reference_fetch(c->s->ref, at.contig, at.from, at.to, &c->ref));
    for (int i = 0; i < c->n; i++) {
        c->hap[i] = (cs_haplotypes){ cs_alloc((size_t)n + 1, 1), c->ref, at.from, at.to };
        if (!c->hap[i].site)
            return cs_fail(CS_EMEM, "out of memory for %d samples of %lld sites", c->n,
                           (long long)n);
        cs_haplotypes_fill(&c->hap[i], !c->opt->absent_unknown);
    }
out:
    return rc;
}

static int write_sample(struct calls *c, int k)
{
    int rc = CS_OK;
    const cs_haplotypes *h = &c->hap[k];

    CS_TRY(cs_diplotype_out_record(c->s->text, cs_genotypes_sample(c->in, c->column[k]), &c->at));
    for (int64_t i = 0; i < h->to - h->from; i++)
        CS_TRY(cs_diplotype_out_site(c->s->text, h->site[i] & 15, h->site[i] >> 4,
                                     cs_hap_of_base(c->ref[i])));
    rc = cs_signal_caught() != 0 ? CS_ECANCEL : CS_OK;
out:
    return rc;
}

static int finish_region(struct calls *c)
{
    int rc = CS_OK;

    for (int k = 0; rc == CS_OK && c->ref && k < c->n; k++)
        rc = write_sample(c, k);
    drop_region(c);
    return rc;
}

/* ---- records ------------------------------------------------------------------------------- */

static int broken(const struct calls *c, const cs_variant *v, const char *what)
{
    return cs_fail(CS_EFORMAT, "'%s': the record at %s:%lld %s", c->s->shown, v->contig,
                   (long long)v->pos + 1, what);
}

static int apply_sample(struct calls *c, const cs_variant *v, int k)
{
    int allele[2] = { cs_variant_gt(v, c->column[k], 0), cs_variant_gt(v, c->column[k], 1) };
    cs_variant own = *v;

    own.n_ref = cs_variant_covers(v, c->column[k]);
    if (allele[0] == CS_GT_BROKEN || allele[1] == CS_GT_BROKEN)
        return broken(c, v, "has a genotype with an allele that it does not have");
    if (allele[0] == CS_GT_END)
        allele[0] = CS_GT_MISSING;
    if (allele[1] == CS_GT_END)
        allele[1] = allele[0];           /* haploid: as on both */
    if (cs_variant_gt(v, c->column[k], 2) != CS_GT_END) {
        allele[0] = allele[1] = CS_GT_MISSING;
        c->stat->n_ploidy++;
    }
    for (int h = 0; h < 2; h++) {
        const cs_applied done = cs_haplotypes_apply(&c->hap[k], h, &own, allele[h]);
        c->stat->n_applied[done] += allele[h] > 0;
    }
    return CS_OK;
}

static int apply(struct calls *c, const cs_variant *v)
{
    int rc = CS_OK;

    c->stat->n_record++;
    if (v->pos == c->n_contig)           /* the telomere (VCF 4.3, 1.6.1) */
        return CS_OK;
    if (v->n_allele < 1 || v->pos + (int64_t)strlen(v->allele[0]) > c->n_contig
        || !cs_haplotypes_fits(&c->hap[0], v))
        return broken(c, v, "has a REF that the reference does not have; is it the same assembly?");
    if (!v->passed && !c->opt->all_filters) {
        c->stat->n_filtered++;
        return CS_OK;
    }
    if (!v->gt) {
        c->stat->n_no_gt++;
        return CS_OK;
    }
    for (int k = 0; rc == CS_OK && k < c->n; k++)
        rc = apply_sample(c, v, k);
    return rc;
}

static int run_regions(struct calls *c)
{
    int rc;
    cs_region at;
    cs_variant v;

    while ((rc = cs_regions_next(c->s->regions, c->s->ref, &at)) == CS_OK) {
        CS_TRY(begin_region(c, at));
        CS_TRY(cs_genotypes_seek(c->in, at.contig, at.from, at.to));
        while ((rc = cs_genotypes_next(c->in, &v)) == CS_OK)
            CS_TRY(apply(c, &v));
        if (rc == CS_EOF)
            rc = finish_region(c);
        CS_TRY(rc);
    }
    rc = cs_regions_end(c->s->regions, rc);
out:
    return rc;
}

/* A contig of the file begins: the one before it is complete. */
static int next_contig(struct calls *c, const cs_variant *v)
{
    int rc = CS_OK;
    const int64_t n = cs_reference_length(c->s->ref, v->contig);

    CS_TRY(finish_region(c));
    if (n < 0)
        return cs_fail(CS_EFORMAT, "the reference '%s' has no contig '%s', which '%s' has records "
                       "on; is it the same assembly?", cs_reference_path(c->s->ref), v->contig,
                       c->s->shown);
    if (cs_names_find(&c->by_name, v->contig) >= 0)
        return broken(c, v, "comes after those of other contigs; sort the file (bcftools sort)");
    CS_TRY(cs_grow((void **)&c->done, &c->cap_done, c->n_done + 1, sizeof *c->done));
    char *name = c->done[c->n_done++] = cs_xstrdup(v->contig);
    CS_TRY(cs_names_add(&c->by_name, name, 0));
    rc = begin_region(c, (cs_region){ name, 0, n });
out:
    return rc;
}

static int run_all(struct calls *c)
{
    int rc;
    cs_variant v;

    while ((rc = cs_genotypes_next(c->in, &v)) == CS_OK) {
        if (c->n_done == 0 || strcmp(c->done[c->n_done - 1], v.contig) != 0)
            CS_TRY(next_contig(c, &v));
        CS_TRY(apply(c, &v));
    }
    if (rc == CS_EOF)
        rc = finish_region(c);
out:
    return rc;
}

int cs_diplotype_from_calls(const cs_diplotype_source *s, const cs_diplotype_calls_opt *opt,
                            cs_diplotype_calls_stat *stat)
{
    int rc = CS_OK;
    struct calls c = { .s = s, .opt = opt, .stat = stat };

    CS_TRY(cs_genotypes_open(s->path, s->fp, s->threads, &c.in));
    CS_TRY(choose_samples(&c));
    rc = s->regions ? run_regions(&c) : run_all(&c);
out:
    drop_region(&c);
    for (size_t i = 0; i < c.n_done; i++)
        free(c.done[i]);
    cs_names_release(&c.by_name);
    CS_FREE(c.done, c.column, c.hap);
    cs_genotypes_close(c.in);
    return rc;
}

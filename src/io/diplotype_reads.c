/* diplotype_reads.c - diplotypes from aligned reads.
 *
 * DESIGN: sites are ordered and written at once; gaps between them are N. Memory is that of the
 * reads over one site, for any length of contig.
 */
#include <string.h>

#include "base/signals.h"
#include "io/diplotype_out.h"

struct walk {
    const cs_diplotype_source *s;
    const cs_site_rule        *rule;
    cs_pileup                 *plp;
    const char                *sample;
    uint64_t                  *reason;
    cs_region                  at;       /* the record in hand, if open */
    int64_t                    next;     /* the first site that is not written */
    bool                       open;
};

static int write_site(struct walk *w, const cs_site *s)
{
    int rc = CS_OK, hap1, hap2;
    char base = 'N';

    CS_TRY(cs_reference_base(w->s->ref, w->at.contig, w->next, &base));
    const int ref = cs_hap_of_base(base);
    w->reason[cs_site_decide(s, w->rule, ref, &hap1, &hap2)]++;
    rc = cs_diplotype_out_site(w->s->text, hap1, hap2, ref);
    w->next++;
out:
    return rc;
}

/* Sites without reads. */
static int write_gap(struct walk *w, int64_t to)
{
    const cs_site none = { .n_read = 0 };
    int rc = CS_OK;

    while (rc == CS_OK && w->next < to) {
        rc = write_site(w, &none);
        if (rc == CS_OK && w->next % 65536 == 0 && cs_signal_caught() != 0)
            rc = CS_ECANCEL;
    }
    return rc;
}

static int diplotype_reads_begin(struct walk *w, cs_region at)
{
    w->at = at;
    w->next = at.from;
    w->open = true;
    return cs_diplotype_out_record(w->s->text, w->sample, &w->at);
}

static int finish(struct walk *w)
{
    const int rc = w->open ? write_gap(w, w->at.to) : CS_OK;

    w->open = false;
    return rc;
}

static int check_length(const struct walk *w, const char *contig, int64_t n)
{
    const int64_t has = cs_reference_length(w->s->ref, contig);

    if (has < 0)
        return cs_fail(CS_EFORMAT, "the reference '%s' has no contig '%s', which '%s' has reads "
                       "on; is it the same assembly?", cs_reference_path(w->s->ref), contig,
                       w->s->shown);
    if (has != n)
        return cs_fail(CS_EFORMAT, "'%s' has %lld bases in the reference '%s' and %lld in '%s'; is "
                       "it the same assembly?", contig, (long long)has,
                       cs_reference_path(w->s->ref), (long long)n, w->s->shown);
    return CS_OK;
}

/* All sites of the pileup's region; starts a record per contig if none is open. */
static int walk_sites(struct walk *w, bool whole)
{
    int rc, contig = -1;
    cs_site s;

    while ((rc = cs_pileup_next(w->plp, &s)) == CS_OK) {
        if (s.contig != contig) {
            const char *name = cs_pileup_name(w->plp, s.contig);
            const int64_t n = cs_pileup_length(w->plp, s.contig);
            contig = s.contig;
            CS_TRY(check_length(w, name, n));
            if (whole)
                CS_TRY(finish(w));
            if (whole)
                CS_TRY(diplotype_reads_begin(w, (cs_region){ name, 0, n }));
        }
        CS_TRY(write_gap(w, s.pos));
        CS_TRY(write_site(w, &s));
        if (cs_signal_caught() != 0)
            return CS_ECANCEL;
    }
    if (rc == CS_EOF)
        rc = finish(w);
out:
    return rc;
}

int cs_diplotype_from_reads(const cs_diplotype_source *s, const cs_pileup_opt *opt,
                            const cs_site_rule *rule, uint64_t reason[CS_N_SITE_CALL])
{
    int rc = CS_OK;
    struct walk w = { .s = s, .rule = rule, .reason = reason };
    cs_region at;

    CS_TRY(cs_pileup_open(s->path, s->fp, cs_reference_path(s->ref), opt, &w.plp));
    CS_TRY(cs_pileup_sample(w.plp, &w.sample));
    if (!s->regions)
        CS_TRY(walk_sites(&w, true));
    while (s->regions && (rc = cs_regions_next(s->regions, s->ref, &at)) == CS_OK) {
        CS_TRY(cs_pileup_seek(w.plp, at.contig, at.from, at.to));
        CS_TRY(diplotype_reads_begin(&w, at));
        CS_TRY(walk_sites(&w, false));
    }
    if (s->regions)
        rc = cs_regions_end(s->regions, rc);
out:
    cs_pileup_close(w.plp);
    return rc;
}

/* haplotypes.c - the two haplotypes of a range of a contig, with the alleles of VCF records. */
#include "io/haplotypes.h"

#include <string.h>

#include "io/alphabet.h"

void cs_haplotypes_fill(cs_haplotypes *h, bool known)
{
    for (int64_t i = 0; i < h->to - h->from; i++) {
        const int hap = known ? cs_hap_of_base(h->ref[i]) : CS_HAP_N;
        h->site[i] = (uint8_t)(hap | hap << 4);
    }
}

bool cs_haplotypes_fits(const cs_haplotypes *h, const cs_variant *v)
{
    for (int64_t i = 0; v->allele[0][i] && v->pos + i < h->to; i++) {
        const int want = cs_hap_of_base(v->allele[0][i]);
        const int has = v->pos + i < h->from ? CS_HAP_N
                      : cs_hap_of_base(h->ref[v->pos + i - h->from]);
        if (want != CS_HAP_N && has != CS_HAP_N && want != has)
            return false;
    }
    return true;
}

static int get(const cs_haplotypes *h, int hap, int64_t pos)
{
    return h->site[pos - h->from] >> 4 * hap & 15;
}

static void set(cs_haplotypes *h, int hap, int64_t pos, int symbol)
{
    uint8_t *s = &h->site[pos - h->from];
    *s = (uint8_t)((*s & 15 << 4 * (1 - hap)) | symbol << 4 * hap);
}

static bool inside(const cs_haplotypes *h, int64_t pos)
{
    return pos >= h->from && pos < h->to;
}

/* Equal to the reference, or unknown. */
static bool is_free(const cs_haplotypes *h, int hap, int64_t pos)
{
    const int now = get(h, hap, pos);
    return now == CS_HAP_N || now == cs_hap_of_base(h->ref[pos - h->from]);
}

static void set_all(cs_haplotypes *h, int hap, const cs_variant *v, bool known)
{
    const int64_t from = v->pos > h->from ? v->pos : h->from;
    const int64_t end = v->pos + (v->n_ref > 0 ? v->n_ref : 1), to = end < h->to ? end : h->to;

    for (int64_t p = from; p < to; p++) {
        if (is_free(h, hap, p))
            set(h, hap, p, known ? cs_hap_of_base(h->ref[p - h->from]) : CS_HAP_N);
    }
}

/* REF and an allele without their equal ends: n_ref and n_alt bases of them, from skip on. */
struct change { int64_t skip, n_ref, n_alt; };

static struct change change_between(const char *ref, const char *alt)
{
    struct change c = { 0, (int64_t)strlen(ref), (int64_t)strlen(alt) };

#define SAME(i, j) (cs_base_upper[(unsigned char)ref[i]] == cs_base_upper[(unsigned char)alt[j]])
    while (c.n_ref > 0 && c.n_alt > 0 && SAME(c.n_ref - 1, c.n_alt - 1)) {
        c.n_ref--;
        c.n_alt--;
    }
    while (c.n_ref > 0 && c.n_alt > 0 && SAME(c.skip, c.skip)) {
        c.skip++;
        c.n_ref--;
        c.n_alt--;
    }
#undef SAME
    return c;
}

/* Has an earlier record changed a site that this one changes? */
static bool overlaps(const cs_haplotypes *h, int hap, int64_t from, int64_t to)
{
    for (int64_t p = from > h->from ? from : h->from; p < to && p < h->to; p++) {
        if (!is_free(h, hap, p))
            return true;
    }
    return false;
}

static cs_applied change_sites(cs_haplotypes *h, int hap, const cs_variant *v, const char *alt)
{
    const struct change c = change_between(v->allele[0], alt);
    const int64_t at = v->pos + c.skip;
    const int64_t n_both = c.n_ref < c.n_alt ? c.n_ref : c.n_alt, anchor = at + n_both - 1;

    if (c.n_alt > c.n_ref && anchor < 0)
        return CS_APPLIED_NO_ANCHOR;
    if (overlaps(h, hap, at, at + c.n_ref))
        return CS_APPLIED_OVERLAP;
    set_all(h, hap, v, true);        /* the common part of REF and the allele is known */
    for (int64_t i = 0; i < c.n_ref; i++) {
        if (inside(h, at + i))
            set(h, hap, at + i, i < n_both ? cs_hap_of_base(alt[c.skip + i]) : CS_HAP_DEL);
    }
    if (c.n_alt <= c.n_ref || !inside(h, anchor))
        return CS_APPLIED;
    const int base = get(h, hap, anchor);
    if (base >= CS_HAP_INS)
        return CS_APPLIED_OVERLAP;
    /* The base before a pure insertion is the reference, even if unknown so far. */
    const int known = base == CS_HAP_N && n_both == 0 ? cs_hap_of_base(h->ref[anchor - h->from])
                                                      : base;
    set(h, hap, anchor, known + CS_HAP_INS);
    return CS_APPLIED;
}

cs_applied cs_haplotypes_apply(cs_haplotypes *h, int hap, const cs_variant *v, int allele)
{
    CS_BUG(allele >= v->n_allele || allele < CS_GT_MISSING);
    if (allele <= 0) {
        set_all(h, hap, v, allele == 0);
        return CS_APPLIED;
    }
    const char *alt = v->allele[allele];
    if (strcmp(alt, "*") == 0) {
        if (inside(h, v->pos) && is_free(h, hap, v->pos))
            set(h, hap, v->pos, CS_HAP_DEL);
        return CS_APPLIED;
    }
    if (*alt == '\0' || !cs_allele_is_sequence(alt) || !cs_allele_is_sequence(v->allele[0])) {
        set_all(h, hap, v, false);
        return CS_APPLIED_SYMBOLIC;
    }
    return change_sites(h, hap, v, alt);
}

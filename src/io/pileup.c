/* pileup.c - symbols of aligned reads per site, by htslib's pileup.
 *
 * DESIGN: htslib holds only the reads over the present site. A read contributes its allele at the
 * site: a base, a base with an insertion after it, or a deletion; skipped bases (introns) are not
 * an allele. For overlapping mates htslib sets the worse base quality to 0, so it does not count
 * unless --min-baseq is 0.
 */
#include "io/pileup.h"

#include <string.h>

#include <htslib/cram.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/sam.h>

#include "base/mem.h"
#include "io/bam_guard.h"
#include "io/cram_guard.h"
#include "io/hts_in.h"
#include "io/index_name.h"
#include "io/input_mark.h"
#include "io/input_pump.h"
#include "io/reference.h"
#include "io/sam_header.h"

struct cs_pileup {
    char          *path;        /* for messages and the index */
    bool           is_stdin;
    cs_pileup_opt  opt;
    htsFile       *fp;
    sam_hdr_t     *header;
    hts_idx_t     *index;        /* or NULL */
    hts_itr_t     *itr;          /* of the region, or NULL: the whole file */
    cs_input_mark  mark;
    cs_cram_guard *guard;        /* of CRAM, or NULL */
    bam_mplp_t     plp;
    int64_t        from, to;     /* of the region */
    int32_t        last_tid;     /* of the read before, for the order */
    hts_pos_t      last_pos;
    uint64_t       n_read;
    int            error;        /* error of read_one(); CS_OK otherwise */
    char          *sample;
};

/* ---- reads --------------------------------------------------------------------------------- */

static int unsorted(cs_pileup *p, const bam1_t *b)
{
    const int32_t tid = b->core.tid;
    const bool back = tid >= 0 && (p->last_tid > tid
                                   || (p->last_tid == tid && p->last_pos > b->core.pos));

    p->last_tid = tid;
    p->last_pos = b->core.pos;
    if (back)
        return cs_fail(CS_EFORMAT, "'%s': record %llu is out of order; sort the file (samtools "
                       "sort)", p->path, (unsigned long long)p->n_read);
    return CS_OK;
}

/* A damaged read may cover any number of sites beyond its contig, which htslib would all visit. By
 * less than its bases, it is left to cs_pileup_next(). */
static int check_reach(const cs_pileup *p, const bam1_t *b)
{
    const int64_t beyond = bam_endpos(b) - cs_pileup_length(p, b->core.tid);

    return beyond <= b->core.l_qseq ? CS_OK
         : cs_fail(CS_EFORMAT, "'%s': record %llu reaches %lld bases beyond the end of its contig; "
                   "the alignment is damaged", p->path, (unsigned long long)p->n_read,
                   (long long)beyond);
}

static int64_t pileup_tell(const cs_pileup *p)
{
    return (int64_t)htell(cram_fd_get_fp(p->fp->fp.cram));
}

/* A read for htslib's pileup: 0 or more, -1 at the end, less on errors. */
static int read_one(void *data, bam1_t *b)
{
    cs_pileup *p = data;

    for (;;) {
        p->error = p->guard ? cs_cram_guard_reach(p->guard, pileup_tell(p)) : CS_OK;
        if (p->error != CS_OK)
            return -2;
        const int r = p->itr ? sam_itr_next(p->fp, p->itr, b) : sam_read1(p->fp, p->header, b);
        if (r == -1)
            return -1;
        p->n_read++;
        if (r < -1)
            p->error = cs_fail(CS_EFORMAT, "'%s': record %llu cannot be decoded; the file is "
                               "truncated or damaged, or (CRAM) the reference differs", p->path,
                               (unsigned long long)p->n_read);
        else
            p->error = unsorted(p, b);
        if (p->error != CS_OK)
            return -2;
        if (b->core.tid < 0 || (b->core.flag & p->opt.skip_flags) != 0
            || b->core.qual < p->opt.min_mapq || b->core.n_cigar == 0 || b->core.l_qseq == 0)
            continue;
        p->error = check_reach(p, b);
        return p->error == CS_OK ? r : -2;
    }
}

static int pileup_begin(cs_pileup *p)
{
    void *data[] = { p };

    if (p->plp)
        bam_mplp_destroy(p->plp);
    p->plp = bam_mplp_init(1, read_one, data);
    if (!p->plp || bam_mplp_init_overlaps(p->plp) < 0)
        return cs_fail(CS_EMEM, "out of memory for the pileup of '%s'", p->path);
    bam_mplp_set_maxcnt(p->plp, (int)p->opt.max_depth);
    p->last_tid = -1;
    p->last_pos = -1;
    return CS_OK;
}

/* Before htslib allocates the declared sizes. */
static int check_sizes(cs_pileup *p, const char *path)
{
    if (p->fp->format.format == bam)
        return cs_bam_guard(path);
    if (p->fp->format.format != cram)
        return CS_OK;
    p->guard = cs_cram_guard_new(path, p->opt.threads);
    return cs_cram_guard_reach(p->guard, 0);
}

static int open_all(cs_pileup *p, const char *path, const char *reference)
{
    int rc = CS_OK;

    CS_TRY(check_sizes(p, path));
    if (p->fp->format.format == cram && reference && hts_set_fai_filename(p->fp, reference) != 0)
        return cs_fail(CS_EIO, "cannot use the reference '%s' for '%s'; it must be a FASTA file, "
                       "indexed or in a writable folder", reference, p->path);
    CS_TRY(cs_sam_header_read(p->fp, p->path, &p->header));
    if (sam_hdr_nref(p->header) == 0)
        return cs_fail(CS_EFORMAT, "'%s' has no aligned reads: its header has no contig",
                       p->path);
    /* After the header, for the reason in read_bam.c. */
    if (p->opt.threads > 0 && p->fp->format.format != sam
        && hts_set_threads(p->fp, p->opt.threads) < 0)
        return cs_fail(CS_EIO, "'%s': cannot start decompression threads", p->path);
    rc = pileup_begin(p);
out:
    return rc;
}

int cs_pileup_open(const char *path, struct htsFile *fp, const char *reference,
                   const cs_pileup_opt *opt, cs_pileup **out)
{
    cs_pileup *p = cs_xcalloc(1, sizeof *p);

    *out = NULL;
    p->path = cs_xstrdup(cs_input_shown(path));
    p->is_stdin = strcmp(path, "-") == 0;
    cs_input_mark_set(&p->mark, path);
    p->opt = *opt;
    if (opt->in_regions && fp->format.format == cram)
        p->opt.threads = 0;      /* as in read_bam.c */
    p->fp = fp;
    p->to = INT64_MAX;
    const int rc = cs_pump_interrupted(open_all(p, path, reference));
    if (rc == CS_OK)
        *out = p;
    else
        cs_pileup_close(p);
    return rc;
}

void cs_pileup_close(cs_pileup *p)
{
    if (!p)
        return;
    if (p->plp)
        bam_mplp_destroy(p->plp);
    hts_itr_destroy(p->itr);
    if (p->index)
        hts_idx_destroy(p->index);
    sam_hdr_destroy(p->header);
    if (p->fp)
        hts_close(p->fp);        /* only read: all errors are reported already */
    cs_cram_guard_free(p->guard);
    CS_FREE(p->sample, p->path, p);
}

const char *cs_pileup_name(const cs_pileup *p, int32_t contig)
{
    return sam_hdr_tid2name(p->header, contig);
}

int64_t cs_pileup_length(const cs_pileup *p, int32_t contig)
{
    return sam_hdr_tid2len(p->header, contig);
}

int cs_pileup_sample(cs_pileup *p, const char **name)
{
    int rc = CS_OK;
    kstring_t sm = KS_INITIALIZE;

    CS_TRY(cs_sam_header_check(p->header, p->path));
    const int n = sam_hdr_count_lines(p->header, "RG");
    for (int i = 0; i < n; i++) {
        if (sam_hdr_find_tag_pos(p->header, "RG", i, "SM", &sm) != 0)
            continue;
        if (p->sample && strcmp(p->sample, sm.s) != 0) {
            rc = cs_fail(CS_EFORMAT, "'%s' holds reads of several samples ('%s', '%s'); split it "
                         "(samtools split)", p->path, p->sample, sm.s);
            goto out;
        }
        if (!p->sample)
            p->sample = cs_xstrdup(sm.s);
    }
    if (!p->sample || !*p->sample) {
        free(p->sample);
        p->sample = cs_xstrdup("sample");
    }
    *name = p->sample;
out:
    ks_free(&sm);
    return rc;
}

int cs_pileup_seek(cs_pileup *p, const char *contig, int64_t from, int64_t to)
{
    char other[CS_CONTIG_BYTES];
    int tid = sam_hdr_name2tid(p->header, contig);

    if (tid == -1)
        tid = sam_hdr_name2tid(p->header, cs_contig_other(contig, other));
    if (tid < 0)
        return cs_fail(CS_EFORMAT, "'%s' has no contig '%s'; is it aligned to this reference?",
                       p->path, contig);
    if (p->is_stdin)
        return cs_fail(CS_EUSAGE, "'%s' has no index, which regions need; give the file itself, or "
                       "omit regions", p->path);
    /* An index beside plain SAM belongs to another file. */
    if (!p->index && (p->fp->is_bgzf || p->fp->format.format == cram)) {
        if (p->fp->format.format == bam && cs_index_guard(p->path) != CS_OK)
            return CS_EFORMAT;
        p->index = sam_index_load2(p->fp, p->path, cs_index_given(p->path));
        if (p->index)
            cs_index_warn_old(p->path);
    }
    if (!p->index)
        return cs_index_missing(p->path, "create one (samtools index), or omit regions");
    hts_itr_destroy(p->itr);
    p->itr = sam_itr_queryi(p->index, tid, from, to);
    if (!p->itr)
        return cs_fail(CS_EFORMAT, "'%s': the index has no entry for '%s'; recreate it (samtools "
                       "index)", p->path, contig);
    /* Of a contig without reads, htslib remains where it was, possibly within a container. */
    const int rc = p->guard && !p->itr->finished ? cs_cram_guard_jump(p->guard, pileup_tell(p))
                                                 : CS_OK;
    if (rc != CS_OK)
        return rc;
    p->from = from;
    p->to = to;
    return pileup_begin(p);
}

/* ---- sites --------------------------------------------------------------------------------- */

static void count_read(const cs_pileup *p, const bam_pileup1_t *r, cs_site *s)
{
    static const int hap[16] = { 4, 0, 1, 4, 2, 4, 4, 4, 3, 4, 4, 4, 4, 4, 4, 4 };

    if (r->is_refskip)
        return;
    s->n_read++;
    if (r->qpos < r->b->core.l_qseq && bam_get_qual(r->b)[r->qpos] < p->opt.min_baseq)
        return;
    if (r->is_del) {
        s->count[CS_HAP_DEL]++;
        return;
    }
    const int base = hap[bam_seqi(bam_get_seq(r->b), r->qpos)];
    if (base != CS_HAP_N)
        s->count[base + (r->indel > 0 ? CS_HAP_INS : 0)]++;
}

int cs_pileup_next(cs_pileup *p, cs_site *s)
{
    int tid, n = 0;
    hts_pos_t pos;
    const bam_pileup1_t *read = NULL;

    for (;;) {
        const int r = bam_mplp64_auto(p->plp, &tid, &pos, &n, &read);
        if (p->error != CS_OK)
            return cs_input_mark_check(&p->mark, p->path, cs_pump_interrupted(p->error));
        if (r < 0)
            return cs_fail(CS_EFORMAT, "'%s': the pileup failed after record %llu", p->path,
                           (unsigned long long)p->n_read);
        if (r == 0)
            return cs_input_mark_check(&p->mark, p->path, cs_pump_interrupted(CS_EOF));
        /* Damaged alignments may reach beyond their contig. */
        if (pos >= p->from && pos < p->to && pos < cs_pileup_length(p, tid))
            break;
    }
    *s = (cs_site){ .contig = tid, .pos = pos };
    for (int i = 0; i < n; i++)
        count_read(p, &read[i], s);
    return CS_OK;
}

/* The most frequent allele except `other`; ties as in cs_site_decide(). */
static int most_frequent(const cs_site *s, int ref, int other)
{
    int best = -1;

    for (int i = 0; i < CS_N_HAP; i++) {
        if (i == other || s->count[i] == 0)
            continue;
        if (best < 0 || s->count[i] > s->count[best]
            || (s->count[i] == s->count[best] && i == ref))
            best = i;
    }
    return best;
}

cs_site_call cs_site_decide(const cs_site *s, const cs_site_rule *rule, int ref, int *hap1,
                            int *hap2)
{
    int64_t depth = 0;

    for (int i = 0; i < CS_N_HAP; i++)
        depth += s->count[i];
    *hap1 = *hap2 = CS_HAP_N;
    if (s->n_read == 0)
        return CS_SITE_NO_READ;
    if (depth == 0 || depth < rule->min_depth)
        return CS_SITE_LOW_DEPTH;
    const int first = most_frequent(s, ref, -1), second = most_frequent(s, ref, first);
    *hap1 = *hap2 = first;
    if (second >= 0 && s->count[second] >= rule->min_count
        && (double)s->count[second] >= rule->min_frac * (double)depth)
        *hap2 = second;
    return CS_SITE_CALLED;
}

/* reference.c - the contigs of a FASTA file, fetched by place, through htslib's index.
 *
 * DESIGN: single bases are asked for in order, so the block that the last one lay in is kept.
 */
#include "io/reference.h"

#include <string.h>

#include <htslib/faidx.h>

#include "base/mem.h"
#include "io/alphabet.h"

enum { BLOCK = 1 << 16 };

struct cs_reference {
    char    *path;
    faidx_t *fai;
    char    *contig;             /* of the block, or NULL */
    char    *block;
    int64_t  from, to;
};

int cs_reference_open(const char *path, cs_reference **out)
{
    cs_reference *r = cs_xcalloc(1, sizeof *r);

    *out = NULL;
    r->path = cs_xstrdup(path);
    r->fai = fai_load(path);
    if (!r->fai) {
        cs_reference_free(r);
        return cs_fail(CS_EIO, "cannot use the reference '%s'; it must be a FASTA file, plain or "
                       "compressed by bgzip, with an index (samtools faidx) or in a folder that "
                       "can be written to", path);
    }
    *out = r;
    return CS_OK;
}

void cs_reference_free(cs_reference *r)
{
    if (!r)
        return;
    if (r->fai)
        fai_destroy(r->fai);
    free(r->contig);
    free(r->block);
    free(r->path);
    free(r);
}

const char *cs_reference_path(const cs_reference *r)
{
    return r->path;
}

int64_t cs_reference_length(const cs_reference *r, const char *contig)
{
    return faidx_has_seq(r->fai, contig) ? faidx_seq_len(r->fai, contig) : -1;
}

int cs_reference_count(const cs_reference *r)
{
    return faidx_nseq(r->fai);
}

const char *cs_reference_name(const cs_reference *r, int i)
{
    return faidx_iseq(r->fai, i);
}

int cs_reference_fetch(cs_reference *r, const char *contig, int64_t from, int64_t to, char **out)
{
    hts_pos_t n = 0;

    *out = NULL;
    if (from >= to) {
        *out = cs_xcalloc(1, 1);
        return CS_OK;
    }
    char *s = faidx_fetch_seq64(r->fai, contig, from, to - 1, &n);
    if (!s || n != to - from) {
        free(s);
        return cs_fail(CS_EIO, "'%s': cannot read '%s' from %lld to %lld; does its index fit?",
                       r->path, contig, (long long)from + 1, (long long)to);
    }
    for (hts_pos_t i = 0; i < n; i++) {
        const char c = cs_base_upper[(unsigned char)s[i]];
        if (!c) {
            const int odd = (unsigned char)s[i];
            free(s);
            return cs_fail(CS_EFORMAT, "'%s': byte 0x%02x of '%s' at %lld is no nucleotide",
                           r->path, odd, contig, (long long)(from + i) + 1);
        }
        s[i] = c;
    }
    *out = s;
    return CS_OK;
}

int cs_reference_base(cs_reference *r, const char *contig, int64_t pos, char *base)
{
    int rc = CS_OK;

    if (!r->contig || pos < r->from || pos >= r->to || strcmp(r->contig, contig) != 0) {
        const int64_t n = cs_reference_length(r, contig), to = pos + BLOCK < n ? pos + BLOCK : n;
        free(r->block);
        free(r->contig);
        r->block = r->contig = NULL;
        CS_TRY(cs_reference_fetch(r, contig, pos, to, &r->block));
        r->contig = cs_xstrdup(contig);
        r->from = pos;
        r->to = to;
    }
    *base = r->block[pos - r->from];
out:
    return rc;
}

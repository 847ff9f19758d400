/* reference.c - random access to contigs of an indexed FASTA file, by htslib.
 *
 * DESIGN: single bases are requested in order, so the block of the last one is cached.
 * htslib returns lengths as int: longer ones are read from the index.
 */
#include "io/reference.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <htslib/bgzf.h>
#include <htslib/faidx.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/alphabet.h"
#include "io/fasta_index.h"
#include "io/gzi.h"
#include "io/lines.h"

enum { BLOCK_BASES = 1 << 16, HEADER_BYTES = 1024,
       BGZF_BLOCKS = 2 };         /* result of bgzf_compression() */

/* A contig of more than INT_MAX bases. */
struct long_contig { char *name; int64_t n; };

/* A line of the index, with the names of faidx(5): bases of the contig, byte where they begin, and
 * bases and bytes of its lines. */
struct fai_entry { char *name; long long length, offset, line_bases, line_width; };

/* Bytes between two contigs that are more than a usual header. */
struct gap { long long from; char *next; };

struct cs_reference {
    char    *path;
    faidx_t *fai;
    bool     strict, cased;      /* cased: keep the case of bases */
    struct fai_entry first, last;    /* the index's first, and the one of the highest offset */
    long long end;               /* the byte after the last base of all contigs */
    struct gap *gap;             /* [n_gap] */
    size_t   n_gap, cap_gap;
    bool     sorted;             /* are the contigs in the file's order? */
    int      n_name;             /* different names so far */
    char    *duplicate;          /* the first name of two contigs, or NULL */
    struct long_contig *long_contig;     /* [n_long] */
    size_t   n_long, cap_long;
    char    *block;              /* bases [block_from, block_to) of block_contig, or NULL */
    char    *block_contig;
    int64_t  block_from, block_to;
};

/* The byte after its last base. */
static long long end_of(const struct fai_entry *p)
{
    const long long last = p->length - 1;

    return p->length > 0 ? p->offset + last / p->line_bases * p->line_width + last % p->line_bases
                               + 1
                         : p->offset;
}

static void copy_entry(struct fai_entry *to, const struct fai_entry *p)
{
    free(to->name);
    *to = *p;
    to->name = cs_xstrdup(p->name);
}

/* htslib keeps the first of several lines of one name. */
static void note_name(cs_reference *r, const char *name)
{
    if (r->n_name < faidx_nseq(r->fai) && strcmp(faidx_iseq(r->fai, r->n_name), name) == 0)
        r->n_name++;
    else if (!r->duplicate)
        r->duplicate = cs_xstrdup(name);
}

static int note_gap(cs_reference *r, const struct fai_entry *at)
{
    r->sorted &= at->offset >= r->end;
    if (!r->first.name || at->offset - r->end <= HEADER_BYTES)
        return CS_OK;
    if (cs_try_grow((void **)&r->gap, &r->cap_gap, r->n_gap + 1, sizeof *r->gap) != CS_OK)
        return CS_EMEM;
    r->gap[r->n_gap++] = (struct gap){ r->end, cs_xstrdup(at->name) };
    return CS_OK;
}

/* Check a line of the index: htslib divides by the bases per line without checking for 0, and keeps
 * the two lengths of a line in 32 bits without a sign. */
static int read_length(cs_reference *r, const cs_lines *in)
{
    char *tab = strchr(in->text, '\t'), *p = tab ? tab + 1 : in->text;
    struct fai_entry at = { .name = in->text };

    at.length = tab ? strtoll(p, &p, 10) : 0;
    at.offset = strtoll(p, &p, 10);
    at.line_bases = strtoll(p, &p, 10);
    at.line_width = strtoll(p, &p, 10);
    /* The last byte of the contig is computed from these, and must not overflow. */
    if (at.length < 0 || at.offset < 0 || at.offset > INT64_MAX / 4
        || (at.length > 0
            && (at.line_bases < 1 || at.line_width < at.line_bases || at.line_width > UINT32_MAX
                || (at.length - 1) / at.line_bases > INT64_MAX / 4 / at.line_width)))
        return cs_lines_error(in, "invalid contig or line length; recreate the index (samtools "
                              "faidx)");
    if (tab)
        *tab = '\0';
    note_name(r, in->text);
    if (note_gap(r, &at) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for the contigs of '%s'", r->path);
    if (!r->first.name)
        copy_entry(&r->first, &at);
    if (at.length > 0 && at.offset >= r->last.offset)
        copy_entry(&r->last, &at);
    r->end = end_of(&at) > r->end ? end_of(&at) : r->end;
    if (at.length <= INT_MAX)
        return CS_OK;
    if (cs_try_grow((void **)&r->long_contig, &r->cap_long, r->n_long + 1, sizeof *r->long_contig)
        != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for the contigs of '%s'", r->path);
    r->long_contig[r->n_long++] = (struct long_contig){ cs_xstrdup(in->text), at.length };
    return CS_OK;
}

static int read_index(cs_reference *r)
{
    int rc = CS_OK;
    char *path = fai_path(r->path);
    cs_lines in = { .path = path };

    if (!path)
        return cs_fail(CS_EIO, "the reference '%s' has no index", r->path);
    CS_TRY(cs_lines_open_file(&in));
    while ((rc = cs_lines_next(&in)) == CS_OK)
        CS_TRY(read_length(r, &in));
    rc = rc == CS_EOF ? CS_OK : rc;
out:
    if (cs_lines_close(&in) != CS_OK && rc == CS_OK)
        rc = cs_fail(CS_EIO, "cannot close '%s'", path);
    free(path);
    return rc;
}

/* ---- is the index of this file? ------------------------------------------------------------- */

/* Bytes from `from` on, as many as there are; -1: the file cannot be read there. */
static ssize_t read_at(BGZF *f, long long from, char *text, size_t n)
{
    return bgzf_useek(f, (off_t)from, SEEK_SET) < 0 ? -1 : bgzf_read(f, text, n);
}

/* Does the contig's header end where its bases begin? One longer than HEADER_BYTES is taken as
 * right. */
static bool begins_there(BGZF *f, const struct fai_entry *p)
{
    char text[HEADER_BYTES];
    const long long n = p->offset < HEADER_BYTES ? p->offset : HEADER_BYTES;
    const size_t n_name = strlen(p->name);

    if (n < 2 || read_at(f, p->offset - n, text, (size_t)n) != n || text[n - 1] != '\n')
        return false;
    for (long long i = n - 2; i >= 0; i--) {
        if (text[i] == '\n')
            return false;
        if (text[i] == '>' && (i > 0 ? text[i - 1] == '\n' : n == p->offset))
            return (size_t)(n - i - 1) > n_name && memcmp(text + i + 1, p->name, n_name) == 0
                && strchr(" \t\r\n", text[i + 1 + (long long)n_name]) != NULL;
    }
    return true;
}

/* Is its last base followed by the end of a line, or of the file? Letters that are no bases are
 * reported when they are read. */
static bool ends_there(BGZF *f, const struct fai_entry *p)
{
    char text[2];
    const ssize_t n = p->length > 0 ? read_at(f, end_of(p) - 1, text, 2) : 0;

    return p->length == 0 || (n >= 1 && isgraph((unsigned char)text[0])
                              && (n == 1 || text[1] == '\n' || text[1] == '\r'));
}

/* The name of the contig that begins after this end of one, with only line ends between; NULL:
 * none does. Longer names are cut. */
static const char *name_after(BGZF *f, long long end, char text[HEADER_BYTES])
{
    const ssize_t n = read_at(f, end, text, HEADER_BYTES - 1);

    text[n > 0 ? n : 0] = '\0';
    char *name = text + strspn(text, "\r\n");
    if (*name++ != '>')
        return NULL;
    name[strcspn(name, " \t\r\n")] = '\0';
    return name;
}

/* Warn of contigs that the index lacks: those at the end of the file, and those whose name an
 * earlier one has, of which htslib indexes the first. One between others is found if it is longer
 * than a usual header. */
static void warn_unindexed(cs_reference *r, BGZF *f)
{
    char text[HEADER_BYTES];

    for (size_t i = 0; !r->duplicate && r->sorted && i < r->n_gap; i++) {
        const char *name = name_after(f, r->gap[i].from, text);
        if (name && strcmp(name, r->gap[i].next) != 0 && faidx_has_seq(r->fai, name))
            r->duplicate = cs_xstrdup(name);
    }
    const char *name = r->first.name ? name_after(f, r->end, text) : NULL;
    if (name && !r->duplicate && faidx_has_seq(r->fai, name))
        r->duplicate = cs_xstrdup(name);
    else if (name && !r->duplicate)      /* on purpose, where lines of the index were removed */
        cs_warn("the index '%s.fai' lacks the contigs at the end of the file, which count as "
                "missing; samtools faidx recreates it", r->path);
    if (r->duplicate)
        cs_warn("'%s' has two contigs named '%s', of which only the first is read; rename one "
                "and recreate the index (samtools faidx)", r->path, r->duplicate);
}

/* Bytes of text, up to which one may seek: after a seek that fails in a plain file bgzf_close()
 * would lose memory, and htslib aborts at one beyond the end of a block. -1: the index of blocks is
 * not of this file. */
static long long size_of(const cs_reference *r, BGZF *f)
{
    if (bgzf_compression(f) == BGZF_BLOCKS)
        return cs_gzi_text_bytes(r->path);
    const int64_t n = bgzf_compression(f) == no_compression ? cs_file_size(r->path) : -1;
    return n < 0 ? LLONG_MAX : n;
}

/* By the first and the last contig: a change of any length moves the last one. */
static int check_index(cs_reference *r)
{
    int rc = CS_OK;
    BGZF *f = strstr(r->path, "://") ? NULL : bgzf_open(r->path, "r");
    const struct fai_entry *const ends[] = { &r->first, &r->last };

    if (!f || (bgzf_compression(f) == BGZF_BLOCKS && bgzf_index_load(f, r->path, ".gzi") < 0))
        goto out;
    const long long size = size_of(r, f);
    if (size < 0)
        rc = cs_fail(CS_EFORMAT, "'%s' does not end where its index '%s.gzi' says: the file is "
                     "truncated, or has changed since; fetch it again, or recreate the index "
                     "(samtools faidx)", r->path, r->path);
    for (int i = 0; rc == CS_OK && i < 2; i++)
        if (ends[i]->name && (end_of(ends[i]) > size || !begins_there(f, ends[i])
                              || !ends_there(f, ends[i])))
            rc = cs_fail(CS_EFORMAT, "the index '%s.fai' is stale: '%s' is at another position; "
                         "recreate it (samtools faidx)", r->path, ends[i]->name);
    if (rc == CS_OK && r->end <= size)
        warn_unindexed(r, f);
out:
    if (f)
        (void)bgzf_close(f);
    return rc;
}

/* Its format, by content. */
static htsFormat format_of(const char *path)
{
    htsFormat m;
    hFILE *fp = hopen(path, "r");

    memset(&m, 0, sizeof m);
    if (!fp || hts_detect_format2(fp, NULL, &m) != 0)
        memset(&m, 0, sizeof m);
    if (fp)
        hclose_abruptly(fp);
    return m;
}

/* htslib frees an index twice that it cannot read to the end (refs_load_fai(), in all versions up
 * to 1.23), and waits for the writer of a pipe. It makes a missing one, or reports it. */
static int index_usable(const char *path)
{
    char index[PATH_MAX], piece[BUFSIZ];
    struct stat st;

    if (snprintf(index, sizeof index, "%s.fai", path) >= (int)sizeof index || stat(index, &st) != 0)
        return CS_OK;
    if (!S_ISREG(st.st_mode))
        return cs_fail(CS_EUSAGE, "cannot use '%s' as the index of '%s': it is not a regular file",
                       index, path);
    FILE *f = fopen(index, "re");
    while (f && fread(piece, 1, sizeof piece, f) > 0)
        continue;
    const int why = f && ferror(f) ? errno : 0;
    if (f)
        (void)fclose(f);
    return why ? cs_fail(CS_EIO, "cannot read '%s' as the index of '%s': %s", index, path,
                         strerror(why)) : CS_OK;
}

/* Before htslib opens it. */
static int prepare(const char *path)
{
    if (strstr(path, "://") || access(path, F_OK) != 0)
        return CS_OK;
    /* htslib would wait for the writer of a pipe, deaf to signals. */
    if (cs_file_size(path) < 0)
        return cs_fail(CS_EUSAGE, "cannot use the reference '%s': it is not a regular file, of "
                       "which parts can be read; write it to a file", path);
    if (cs_descriptor_of(path) >= 0)
        return cs_fail(CS_EUSAGE, "cannot use the reference '%s': its index would be beside the "
                       "device; give the file by its own name", path);
    /* htslib indexes FASTQ, in lines of another form. */
    if (format_of(path).format == fastq_format)
        return cs_fail(CS_EFORMAT, "cannot use the reference '%s': it is FASTQ; convert it to "
                       "FASTA: samtools fasta FILE > NEW", path);
    const int rc = index_usable(path);
    return rc == CS_OK ? cs_fasta_index(path) : rc;
}

/* htslib has no index of it and could not make one. */
static int no_index(const char *path)
{
    char index[PATH_MAX];
    const int n = snprintf(index, sizeof index, "%s.fai", path);

    /* htslib reads no part of such a file. */
    if (format_of(path).compression == gzip)
        return cs_fail(CS_EFORMAT, "cannot use the reference '%s': it is compressed by gzip, not "
                       "bgzip; recompress it: gzip -dc FILE | bgzip > NEW", path);
    if (n < (int)sizeof index && access(index, F_OK) == 0)
        return cs_fail(CS_EIO, "cannot use the reference '%s' with its index '%s'; "
                       "recreate the index (samtools faidx)", path, index);
    return cs_fail(CS_EIO, "cannot use the reference '%s'; it must be a FASTA file with lines of "
                   "one length per contig, plain or compressed by bgzip, with an index (samtools "
                   "faidx) or in a writable folder; -v shows htslib's reason", path);
}

int cs_reference_open(const char *path, cs_reference **out)
{
    cs_reference *r = cs_xcalloc(1, sizeof *r);

    *out = NULL;
    if (strcmp(path, "-") == 0) {
        free(r);
        return cs_fail(CS_EUSAGE, "the reference cannot be standard input; give a FASTA file");
    }
    r->path = cs_xstrdup(path);
    r->sorted = true;
    /* htslib gives no reason. URLs are left to it. */
    if (strstr(path, "://") == NULL && access(path, R_OK) != 0) {
        const int absent = cs_fail(CS_EIO, "cannot open the reference '%s': %s", path,
                                   strerror(errno));
        cs_reference_free(r);
        return absent;
    }
    int rc = prepare(path);
    if (rc == CS_OK)
        r->fai = fai_load(path);
    if (rc == CS_OK)
        rc = r->fai ? read_index(r) : no_index(path);
    if (rc == CS_OK)
        rc = check_index(r);
    if (rc == CS_OK)
        *out = r;
    else
        cs_reference_free(r);
    return rc;
}

int cs_reference_usable(const char *path)
{
    int rc = CS_OK;
    cs_reference *r;

    if (strstr(path, "://") || access(path, F_OK) != 0)
        return CS_OK;
    CS_TRY(cs_reference_open(path, &r));
    cs_reference_free(r);
out:
    return rc;
}

void cs_reference_free(cs_reference *r)
{
    if (!r)
        return;
    if (r->fai)
        fai_destroy(r->fai);
    for (size_t i = 0; i < r->n_long; i++)
        free(r->long_contig[i].name);
    for (size_t i = 0; i < r->n_gap; i++)
        free(r->gap[i].next);
    CS_FREE(r->long_contig, r->gap, r->duplicate, r->first.name, r->last.name, r->block_contig,
            r->block, r->path, r);
}

const char *cs_reference_path(const cs_reference *r)
{
    return r->path;
}

/* ---- names of contigs ------------------------------------------------------------------------ */

const char *cs_contig_bare(const char *name)
{
    return strncmp(name, "chr", 3) == 0 ? name + 3 : name;
}

const char *cs_contig_other(const char *name, char buf[CS_CONTIG_BYTES])
{
    const char *bare = cs_contig_bare(name);
    const int n = snprintf(buf, CS_CONTIG_BYTES, "%s%s", bare == name ? "chr" : "", bare);

    if (n < 0 || n >= CS_CONTIG_BYTES)
        *buf = '\0';
    return buf;
}

bool cs_contig_same(const char *a, const char *b)
{
    return strcmp(cs_contig_bare(a), cs_contig_bare(b)) == 0;
}

void cs_reference_strict(cs_reference *r)
{
    r->strict = true;
}

void cs_reference_keep_case(cs_reference *r)
{
    r->cased = true;
}

/* The reference's own name of a contig, `name` or its other form; NULL if missing. */
static const char *own_name(const cs_reference *r, const char *name, char buf[CS_CONTIG_BYTES])
{
    if (faidx_has_seq(r->fai, name))
        return name;
    return faidx_has_seq(r->fai, cs_contig_other(name, buf)) ? buf : NULL;
}

int cs_reference_check(const cs_reference *r, const char *contig)
{
    char buf[CS_CONTIG_BYTES];
    const char *own = own_name(r, contig, buf);

    if (!r->strict || !own || own == contig)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "the reference '%s' has no contig '%s', but '%s', which "
                   "--strict-contigs does not match", r->path, contig, own);
}

/* The name to ask htslib for: one that the reference has, else the same. */
static const char *match(const cs_reference *r, const char *name, char buf[CS_CONTIG_BYTES])
{
    const char *own = r->strict ? name : own_name(r, name, buf);

    if (own && own != name)
        cs_warn_once("contig names differ from those of the reference '%s' by 'chr'; they are "
                     "matched", r->path);
    return own ? own : name;
}

int64_t cs_reference_length(const cs_reference *r, const char *contig)
{
    char buf[CS_CONTIG_BYTES];
    const char *own = match(r, contig, buf);

    for (size_t i = 0; i < r->n_long; i++)
        if (strcmp(r->long_contig[i].name, own) == 0)
            return r->long_contig[i].n;
    return faidx_has_seq(r->fai, own) ? faidx_seq_len(r->fai, own) : -1;
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
    char buf[CS_CONTIG_BYTES];

    *out = NULL;
    if (from >= to) {
        *out = cs_xcalloc(1, 1);
        return CS_OK;
    }
    char *s = faidx_fetch_seq64(r->fai, match(r, contig, buf), from, to - 1, &n);
    if (!s || n != to - from) {
        free(s);
        return cs_fail(CS_EIO, "'%s': cannot read '%s' from %lld to %lld; does its index match?",
                       r->path, contig, (long long)from + 1, (long long)to);
    }
    for (hts_pos_t i = 0; i < n; i++) {
        const char c = r->cased ? cs_base_cased(s[i]) : cs_base_upper[(unsigned char)s[i]];
        if (!c) {
            const int odd = (unsigned char)s[i];
            free(s);
            return cs_fail(CS_EFORMAT, "'%s': byte 0x%02x of '%s' at %lld is not a nucleotide%s",
                           r->path, odd, contig, (long long)(from + i) + 1,
                           isalpha(odd) ? "; is this protein?" : "");
        }
        s[i] = c;
    }
    *out = s;
    return CS_OK;
}

int cs_reference_base(cs_reference *r, const char *contig, int64_t pos, char *base)
{
    int rc = CS_OK;

    if (!r->block_contig || pos < r->block_from || pos >= r->block_to
        || strcmp(r->block_contig, contig) != 0) {
        const int64_t n = cs_reference_length(r, contig);
        const int64_t to = pos + BLOCK_BASES < n ? pos + BLOCK_BASES : n;
        free(r->block);
        free(r->block_contig);
        r->block = r->block_contig = NULL;
        CS_TRY(cs_reference_fetch(r, contig, pos, to, &r->block));
        r->block_contig = cs_xstrdup(contig);
        r->block_from = pos;
        r->block_to = to;
    }
    *base = r->block[pos - r->block_from];
out:
    return rc;
}

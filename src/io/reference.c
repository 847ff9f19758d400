/* reference.c - random access to contigs of an indexed FASTA file, by htslib.
 *
 * DESIGN: single bases are requested in order, so the block of the last one is cached.
 * htslib returns lengths as int: longer ones are read from the index.
 */
#include "io/reference.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "io/lines.h"

enum { BLOCK = 1 << 16, HEADER = 1024 };

/* A contig of more than INT_MAX bases. */
struct giant { char *name; int64_t n; };

/* A line of the index: bases of a contig, its first byte, and of a line bases and bytes. */
struct place { char *name; long long n, from, n_base, n_byte; };

/* Bytes between two contigs that are more than a usual header. */
struct gap { long long from; char *next; };

struct cs_reference {
    char    *path;
    faidx_t *fai;
    bool     strict, cased;      /* cased: keep the case of bases */
    struct place first, last;    /* of the index, and by `from` */
    long long end;               /* the byte after the last base of the index */
    struct gap *gap;             /* [n_gap] */
    size_t   n_gap, cap_gap;
    bool     sorted;             /* are the contigs in the file's order? */
    int      n_name;             /* different names so far */
    char    *twice;              /* the first name of two lines, or NULL */
    struct giant *giant;         /* [n_giant] */
    size_t   n_giant, cap_giant;
    char    *contig;             /* of the block, or NULL */
    char    *block;
    int64_t  from, to;
};

/* The byte after its last base. */
static long long end_of(const struct place *p)
{
    return p->n > 0 ? p->from + (p->n - 1) / p->n_base * p->n_byte + (p->n - 1) % p->n_base + 1
                    : p->from;
}

static void keep_place(struct place *to, const struct place *p)
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
    else if (!r->twice)
        r->twice = cs_xstrdup(name);
}

static int note_gap(cs_reference *r, const struct place *at)
{
    r->sorted &= at->from >= r->end;
    if (!r->first.name || at->from - r->end <= HEADER)
        return CS_OK;
    if (cs_try_grow((void **)&r->gap, &r->cap_gap, r->n_gap + 1, sizeof *r->gap) != CS_OK)
        return CS_EMEM;
    r->gap[r->n_gap++] = (struct gap){ r->end, cs_xstrdup(at->name) };
    return CS_OK;
}

/* Check a line of the index: htslib divides by the bases per line without checking for 0. */
static int read_length(cs_reference *r, const cs_lines *in)
{
    char *tab = strchr(in->text, '\t'), *p = tab ? tab + 1 : in->text;
    struct place at = { .name = in->text };

    at.n = tab ? strtoll(p, &p, 10) : 0;
    at.from = strtoll(p, &p, 10);
    at.n_base = strtoll(p, &p, 10);
    at.n_byte = strtoll(p, &p, 10);
    /* The last byte of the contig is computed from these, and must not overflow. */
    if (at.n < 0 || at.from < 0 || at.from > INT64_MAX / 4
        || (at.n > 0 && (at.n_base < 1 || at.n_byte < at.n_base || at.n_byte > INT_MAX
                         || (at.n - 1) / at.n_base > INT64_MAX / 4 / at.n_byte)))
        return cs_lines_error(in, "invalid contig or line length; recreate the index (samtools "
                              "faidx)");
    if (tab)
        *tab = '\0';
    note_name(r, in->text);
    if (note_gap(r, &at) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for the contigs of '%s'", r->path);
    if (!r->first.name)
        keep_place(&r->first, &at);
    if (at.n > 0 && at.from >= r->last.from)
        keep_place(&r->last, &at);
    r->end = end_of(&at) > r->end ? end_of(&at) : r->end;
    if (at.n <= INT_MAX)
        return CS_OK;
    if (cs_try_grow((void **)&r->giant, &r->cap_giant, r->n_giant + 1, sizeof *r->giant) != CS_OK)
        return cs_fail(CS_EMEM, "out of memory for the contigs of '%s'", r->path);
    r->giant[r->n_giant++] = (struct giant){ cs_xstrdup(in->text), at.n };
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

/* Does the contig's header end where its bases begin? One longer than HEADER is taken as right. */
static bool begins_there(BGZF *f, const struct place *p)
{
    char text[HEADER];
    const long long n = p->from < HEADER ? p->from : HEADER;
    const size_t n_name = strlen(p->name);

    if (n < 2 || read_at(f, p->from - n, text, (size_t)n) != n || text[n - 1] != '\n')
        return false;
    for (long long i = n - 2; i >= 0; i--) {
        if (text[i] == '\n')
            return false;
        if (text[i] == '>' && (i > 0 ? text[i - 1] == '\n' : n == p->from))
            return (size_t)(n - i - 1) > n_name && memcmp(text + i + 1, p->name, n_name) == 0
                && strchr(" \t\r\n", text[i + 1 + (long long)n_name]) != NULL;
    }
    return true;
}

/* Is its last base followed by the end of a line, or of the file? */
static bool ends_there(BGZF *f, const struct place *p)
{
    char text[2];
    const ssize_t n = p->n > 0 ? read_at(f, end_of(p) - 1, text, 2) : 0;

    return p->n == 0 || (n >= 1 && cs_base_upper[(unsigned char)text[0]]
                         && (n == 1 || text[1] == '\n' || text[1] == '\r'));
}

/* The name of the contig that begins after this end of one, with only line ends between; NULL:
 * none does. Longer names are cut. */
static const char *name_after(BGZF *f, long long end, char text[HEADER])
{
    const ssize_t n = read_at(f, end, text, HEADER - 1);

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
    char text[HEADER];

    for (size_t i = 0; !r->twice && r->sorted && i < r->n_gap; i++) {
        const char *name = name_after(f, r->gap[i].from, text);
        if (name && strcmp(name, r->gap[i].next) != 0 && faidx_has_seq(r->fai, name))
            r->twice = cs_xstrdup(name);
    }
    const char *name = r->first.name ? name_after(f, r->end, text) : NULL;
    if (name && !r->twice && faidx_has_seq(r->fai, name))
        r->twice = cs_xstrdup(name);
    else if (name && !r->twice)          /* on purpose, where lines of the index were removed */
        cs_warn("the index '%s.fai' lacks the contigs at the end of the file, which count as "
                "missing; samtools faidx recreates it", r->path);
    if (r->twice)
        cs_warn("'%s' has two contigs named '%s', of which only the first is read; rename one "
                "and recreate the index (samtools faidx)", r->path, r->twice);
}

/* By the first and the last contig: a change of any length moves the last one. */
static int check_index(cs_reference *r)
{
    int rc = CS_OK;
    BGZF *f = strstr(r->path, "://") ? NULL : bgzf_open(r->path, "r");
    const struct place *const place[] = { &r->first, &r->last };

    if (!f || (bgzf_compression(f) == 2 && bgzf_index_load(f, r->path, ".gzi") < 0))
        goto out;
    for (int i = 0; rc == CS_OK && i < 2; i++)
        if (place[i]->name && !(begins_there(f, place[i]) && ends_there(f, place[i])))
            rc = cs_fail(CS_EFORMAT, "the index '%s.fai' is stale: '%s' is at another position; "
                         "recreate it (samtools faidx)", r->path, place[i]->name);
    if (rc == CS_OK)
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

int cs_reference_usable(const char *path)
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
    return CS_OK;
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
    int rc = cs_reference_usable(path);
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

void cs_reference_free(cs_reference *r)
{
    if (!r)
        return;
    if (r->fai)
        fai_destroy(r->fai);
    for (size_t i = 0; i < r->n_giant; i++)
        free(r->giant[i].name);
    for (size_t i = 0; i < r->n_gap; i++)
        free(r->gap[i].next);
    CS_FREE(r->giant, r->gap, r->twice, r->first.name, r->last.name, r->contig,
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

    for (size_t i = 0; i < r->n_giant; i++)
        if (strcmp(r->giant[i].name, own) == 0)
            return r->giant[i].n;
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
            return cs_fail(CS_EFORMAT, "'%s': byte 0x%02x of '%s' at %lld is not a nucleotide",
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

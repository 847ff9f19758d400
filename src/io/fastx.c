/* fastx.c - FASTA and FASTQ, plain, gzip or BGZF, read strictly and in one pass.
 *
 * DESIGN: a record is collected in reused buffers, then copied once into the chunk's arena: linear
 * time for any length, without allocations per record. Bases are checked and translated by one
 * table loop per line. What is accepted:
 *
 *   lines      end with LF or CR LF; with CR alone only if the first line does. Blank lines are
 *              skipped; the last line needs no end. A UTF-8 byte order mark is skipped.
 *   header     the name ends at the first blank or control character; blanks before it are skipped;
 *              it may be missing (""). NUL is refused.
 *   sequence   any number of lines, none included; either case; U is T; '-' '.' '*' are N; blanks
 *              are skipped; X is N and counted; anything else is refused.
 *   FASTQ      the name after '+', if any, must be the record's. Quality lines are read until there
 *              are as many characters as bases, so '@', '>' and '+' may begin them.
 *
 * One input cannot mix FASTA and FASTQ: otherwise '>' after a quality line of the wrong length
 * would start a new record.
 */
#include "io/fastx.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "io/hts_in.h"

enum { KEEP_BYTES = 1 << 24 };   /* larger buffers are freed after a long record */

/* The beginning of a name, for messages. */
#define NAME(t) (int)((t).n < 60 ? (t).n : 60), (t).n ? (t).s : ""

int cs_fastx_failed(cs_fastx *f, int code)
{
    const char *advice, *what = cs_source_problem(f->src, &advice);
    const char *sep = *advice ? "; " : "";
    if (f->n_record == 0)
        return cs_fail(code, "'%s': %s before the end of the first record (line %lld)%s%s",
                       f->path, what, (long long)f->line, sep, advice);
    return cs_fail(code, "'%s': %s after record '%.*s' (line %lld)%s%s", f->path, what,
                   NAME(f->last), (long long)f->line, sep, advice);
}

int cs_fastx_more(cs_fastx *f)
{
    size_t n;
    if (f->p < f->end)
        return CS_OK;
    const int rc = cs_source_fill(f->src, &f->p, &n);
    f->end = f->p + n;
    return rc == CS_OK || rc == CS_EOF ? rc : cs_fastx_failed(f, rc);
}

static int fastx_reserve(cs_fastx *f, cs_fastx_text *t, size_t n)
{
    const size_t need = t->n + n;
    if (need <= t->cap)
        return CS_OK;
    const size_t cap = need > 2 * t->cap ? need + 256 : 2 * t->cap;
    char *s = cs_realloc(t->s, cap, 1);
    if (!s)
        return cs_fail(CS_EMEM, "'%s' line %lld: out of memory for record '%.*s' (%zu bytes so "
                       "far)", f->path, (long long)f->line, NAME(f->name), t->n);
    t->s = s;
    t->cap = cap;
    return CS_OK;
}

/* A carriage return belongs to the line until a line feed follows. */
static int drop_return(cs_fastx *f, cs_fastx_text *t, size_t start)
{
    if (f->nl == '\n' && t->n > start && t->s[t->n - 1] == '\r')
        t->n--;
    if (t->n > start && memchr(t->s + start, f->nl == '\n' ? '\r' : '\n', t->n - start))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: mixed line endings (CR and LF)", f->path,
                       (long long)f->line);
    if (t->n > start && memchr(t->s + start, 0, t->n - start))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: a NUL byte; not a text file",
                       f->path, (long long)f->line);
    return CS_OK;
}

int cs_fastx_line(cs_fastx *f, cs_fastx_text *t)
{
    const size_t start = t->n;
    int rc = cs_fastx_more(f);
    while (rc == CS_OK) {
        const char *eol = memchr(f->p, f->nl, (size_t)(f->end - f->p));
        const size_t n = (size_t)((eol ? eol : f->end) - f->p);
        CS_TRY(fastx_reserve(f, t, n + 1));        /* + 1: an empty line has an address, too */
        memcpy(t->s + t->n, f->p, n);
        t->n += n;
        f->p += n;
        if (eol) {
            f->p++;
            break;
        }
        rc = cs_fastx_more(f);
        if (rc == CS_EOF && t->n > start)
            break;
    }
    if (rc < 0 || (rc == CS_EOF && t->n == start))
        return rc;
    CS_TRY(drop_return(f, t, start));
    f->line++;
out:
    return rc;
}

static int refuse_base(cs_fastx *f, unsigned char c)
{
    const char *hint = isalpha(c) ? "; is this protein?" : "";
    if (f->kind == '@' && c == '@')
        hint = "; is the line with '+' missing?";
    if (isprint(c))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: '%c' in the sequence of record '%.*s' is not a "
                       "nucleotide code%s", f->path, (long long)f->line, c, NAME(f->name), hint);
    return cs_fail(CS_EFORMAT, "'%s' line %lld: byte 0x%02x in the sequence of record '%.*s' is "
                   "not a nucleotide code", f->path, (long long)f->line, c, NAME(f->name));
}

/* Translates n bytes to dst; returns the number before the first that is not a base. */
static size_t translate(bool cased, char *restrict dst, const char *restrict src, size_t n)
{
    unsigned bad = 0;
    if (!cased && cs_base_fold(src, (int64_t)n, dst))
        return n;
    for (size_t i = 0; i < n; i++) {
        const char b = cased ? cs_base_cased(src[i]) : cs_base_upper[(unsigned char)src[i]];
        dst[i] = b;
        bad |= b == 0;
    }
    return bad ? (size_t)((char *)memchr(dst, 0, n) - dst) : n;
}

/* Appends the bases of a piece of a line. A CR is kept in *held until the next byte shows whether
 * it belongs to the line's end. */
static int take_bases(cs_fastx *f, const char *p, size_t n, bool *held)
{
    cs_fastx_text *t = &f->base;
    int rc = CS_OK;
    CS_TRY(fastx_reserve(f, t, n));
    while (n) {
        if (*held)
            return refuse_base(f, '\r');
        const size_t good = translate(f->cased, t->s + t->n, p, n);
        t->n += good;
        if (good == n)
            break;
        const unsigned char c = (unsigned char)p[good];
        if (c == 'X' || c == 'x') {
            t->s[t->n++] = 'N';
            f->has_x = true;
        } else if (c == '\r' && f->nl == '\n') {
            *held = true;
        } else if (!isspace(c) || c == '\r' || c == '\n') {
            return refuse_base(f, c);
        }
        p += good + 1;
        n -= good + 1;
    }
out:
    return rc;
}

/* Appends a line of sequence; f->p is at its start and there is at least one byte. */
static int take_base_line(cs_fastx *f)
{
    bool held = false;
    int rc = CS_OK;
    for (;;) {
        const char *eol = memchr(f->p, f->nl, (size_t)(f->end - f->p));
        const size_t n = (size_t)((eol ? eol : f->end) - f->p);
        /* Strip the usual CR LF here; the loop would need a second scan. */
        const size_t cr = eol && n && f->nl == '\n' && eol[-1] == '\r';
        CS_TRY(take_bases(f, f->p, n - cr, &held));
        if (held && cr)
            return refuse_base(f, '\r');
        f->p += n;
        if (eol)
            break;
        rc = cs_fastx_more(f);
        if (rc != CS_OK)
            break;
    }
    if (rc == CS_EOF)
        rc = CS_OK;
    else if (rc == CS_OK)
        f->p++;
    f->line++;
out:
    return rc;
}

int cs_fastx_skip_blank(cs_fastx *f)
{
    int rc = cs_fastx_more(f);
    while (rc == CS_OK && (*f->p == '\n' || *f->p == '\r')) {
        f->line += *f->p == f->nl;
        f->p++;
        rc = cs_fastx_more(f);
    }
    return rc;
}

int cs_fastx_split(cs_fastx *f)
{
    const char *s = f->head.n > 0 ? f->head.s : "", *end = s + f->head.n;
    int rc = CS_OK;
    while (s < end && (unsigned char)*s <= ' ')
        s++;
    const char *name = s;
    while (s < end && (unsigned char)*s > ' ')
        s++;
    f->name.n = f->comment.n = 0;
    CS_TRY(fastx_reserve(f, &f->name, (size_t)(s - name)));
    if (s > name)
        memcpy(f->name.s, name, (size_t)(s - name));
    f->name.n = (size_t)(s - name);
    while (s < end && (unsigned char)*s <= ' ')
        s++;
    CS_TRY(fastx_reserve(f, &f->comment, (size_t)(end - s)));
    if (end > s)
        memcpy(f->comment.s, s, (size_t)(end - s));
    f->comment.n = (size_t)(end - s);
out:
    return rc;
}

/* A format passed by mistake, its first bytes, and what to know or to do. */
struct foreign { const char *prefix, *format, *remedy; };

static const char record_start[] = "a FASTA or FASTQ record begins with '>' or '@'",
    basecall[] = "it has signals; call their bases first, for example with dorado",
    segments[] = "extract its sequences first: awk '/^S/ { print \">\" $2; print $3 }' FILE | "
                 "chordseq ... -";

static const struct foreign *looks_like(const char *s, size_t n)
{
    static const struct foreign known[] = {
        { "LOCUS ", "GenBank", record_start }, { "ID   ", "EMBL or UniProt", record_start },
        { "##gff", "GFF", record_start }, { "##fileformat=VCF", "VCF", record_start },
        { "CLUSTAL", "Clustal", record_start }, { "#NEXUS", "NEXUS", record_start },
        { "# STOCKHOLM", "Stockholm", record_start }, { "<?xml", "XML", record_start },
        { "<!DOCTYPE", "HTML", record_start }, { "<html", "HTML", record_start },
        { "{", "JSON", record_start },
        { "\x89PNG", "PNG", record_start }, { "%PDF", "PDF", record_start },
        { "\x43\x27\x41\x1a", "2bit", record_start }, { "\x1a\x41\x27\x43", "2bit", record_start },
        { "\xff\xfe", "UTF-16", record_start }, { "\xfe\xff", "UTF-16", record_start },
        { "version https://git-lfs", "a git-lfs pointer", record_start },
        { "\x1f\x8b", "gzip within gzip", record_start },
        { "H\tVN:Z:", "GFA", segments }, { "S\t", "GFA", segments },
        { "\x89HDF", "FAST5 or other HDF5", basecall }, { "\x8bPOD", "POD5", basecall },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t k = strlen(known[i].prefix);
        if (n >= k && memcmp(s, known[i].prefix, k) == 0)
            return &known[i];
    }
    return NULL;
}

/* Is the line the name of a file, as in a list of inputs? */
static bool names_file(const char *s, size_t n)
{
    char path[1024];

    for (size_t i = 0; i < n && i < sizeof path; i++) {
        path[i] = s[i];
        if (s[i] == '\n' || s[i] == '\r') {
            path[i] = '\0';
            return i > 0 && strlen(path) == i && access(path, F_OK) == 0;
        }
    }
    return false;
}

static int refuse_start(cs_fastx *f)
{
    const char *expected = f->kind == '>' ? "'>'" : f->kind == '@' ? "'@'" : "'>' or '@'";
    const size_t n = (size_t)(f->end - f->p);
    const struct foreign *other = f->n_record ? NULL : looks_like(f->p, n);
    char begin[21] = "";
    if (f->n_record == 0 && cs_refuse_packed(f->path, f->p, n) != CS_OK)
        return CS_EFORMAT;
    if (other)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: looks like %s; %s", f->path,
                       (long long)f->line, other->format, other->remedy);
    for (size_t i = 0; i < sizeof begin - 1 && i < n && f->p[i] != '\n' && f->p[i] != '\r'; i++)
        begin[i] = isprint((unsigned char)f->p[i]) ? f->p[i] : '?';
    if (f->kind && (*f->p == '>' || *f->p == '@'))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: FASTA and FASTQ records are mixed (or the "
                       "previous record is damaged): expected %s, got '%s'", f->path,
                       (long long)f->line, expected, begin);
    const int rc = cs_fail(CS_EFORMAT, "'%s' line %lld: expected %s at the start of a record, got "
                           "'%s'", f->path, (long long)f->line, expected, begin);
    return f->n_record > 0 || !names_file(f->p, n) ? rc
         : cs_fail_also(rc, "; the line names a file: give a list of files with %s",
                        CS_OPTION("input-list"));
}

int cs_fastx_begin(cs_fastx *f)
{
    int rc;
    CS_TRY(cs_fastx_more(f));
    if (f->end - f->p >= 3 && memcmp(f->p, "\xEF\xBB\xBF", 3) == 0)
        f->p += 3;
    for (const char *s = f->p; s < f->end && *s != '\n'; s++) {
        if (*s == '\r' && s + 1 < f->end && s[1] != '\n' && s[1] != '\r') {
            f->nl = '\r';
            break;
        }
    }
out:
    return rc;
}

static const char *format_name(int kind)
{
    return kind == '>' ? "FASTA" : "FASTQ";
}

static int read_header(cs_fastx *f)
{
    int rc = CS_OK;
    if (f->n_record == 0 && f->kind == 0)
        CS_TRY(cs_fastx_begin(f));
    CS_TRY(cs_fastx_skip_blank(f));
    f->drop = cs_source_zone(f->src) == CS_ZONE_BEFORE;
    f->past_part = cs_source_zone(f->src) == CS_ZONE_BEHIND;
    if (f->past_part)
        return CS_EOF;
    if (f->kind ? *f->p != f->kind : *f->p != '>' && *f->p != '@')
        return refuse_start(f);
    if (f->wanted && *f->p != f->wanted)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: a %s record, but --input-fmt requires %s",
                       f->path, (long long)f->line, format_name(*f->p), format_name(f->wanted));
    f->kind = *f->p++;
    f->head.n = f->base.n = f->qual.n = 0;
    f->has_x = false;
    rc = cs_fastx_line(f, &f->head);
    if (rc == CS_EOF)            /* no name after '>' or '@' */
        rc = CS_OK;
    CS_TRY(rc);
    rc = cs_fastx_split(f);
out:
    return rc;
}

static int read_fasta(cs_fastx *f)
{
    int rc;
    while ((rc = cs_fastx_more(f)) == CS_OK && *f->p != '>') {
        if ((rc = take_base_line(f)) != CS_OK)
            return rc;
    }
    return rc == CS_EOF ? CS_OK : rc;
}

static int cut_short(cs_fastx *f, const char *where)
{
    return cs_fail(CS_EFORMAT, "'%s' line %lld: the file ends %s of record '%.*s'; it is "
                   "probably truncated", f->path, (long long)f->line, where, NAME(f->name));
}

/* The '+' line: alone, or with the record's name again. */
static int read_plus(cs_fastx *f)
{
    int rc;
    f->head.n = 0;
    CS_TRY(cs_fastx_line(f, &f->head));
    size_t n = 1;
    while (n < f->head.n && (unsigned char)f->head.s[n] > ' ')
        n++;
    if (n > 1 && (n - 1 != f->name.n || memcmp(f->head.s + 1, f->name.s, n - 1) != 0))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: '+' repeats the name '%.*s', but the record is "
                       "'%.*s'", f->path, (long long)f->line - 1, (int)(n - 1 < 60 ? n - 1 : 60),
                       f->head.s + 1, NAME(f->name));
out:
    return rc;
}

/* Offset of the first invalid quality byte; qual.n if none. */
static size_t find_odd_quality(const cs_fastx *f, size_t start)
{
    const uint8_t *s = (const uint8_t *)f->qual.s;
    uint8_t worst = 0;
    #pragma omp simd reduction(max : worst)
    for (size_t i = start; i < f->qual.n; i++) {
        const uint8_t q = (uint8_t)(s[i] - '!');
        worst = q > worst ? q : worst;
    }
    size_t i = worst > '~' - '!' ? start : f->qual.n;
    while (i < f->qual.n && s[i] >= '!' && s[i] <= '~')
        i++;
    return i;
}

/* A line that cannot be quality while more is needed. A line that starts with '@' is probably the
 * next record; then the error is the short quality before it. */
static int refuse_quality(cs_fastx *f, size_t start, bool first)
{
    const size_t odd = find_odd_quality(f, start);
    const bool header = !first && f->qual.s[start] == '@';
    const long long line = (long long)f->line - 1;
    if (odd < f->qual.n && !header)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: byte 0x%02x in the quality of record '%.*s' is "
                       "not in '!' .. '~'", f->path, line, (unsigned char)f->qual.s[odd],
                       NAME(f->name));
    return cs_fail(CS_EFORMAT, "'%s' line %lld: record '%.*s' has %zu bases but %zu quality "
                   "characters", f->path, header ? line - 1 : line, NAME(f->name), f->base.n,
                   header ? start : f->qual.n);
}

static int read_quality(cs_fastx *f)
{
    int rc = CS_OK;
    for (bool first = true; f->qual.n < f->base.n; first = false) {
        const size_t start = f->qual.n;
        rc = cs_fastx_line(f, &f->qual);
        if (rc == CS_EOF)
            return cut_short(f, "in the quality");
        CS_TRY(rc);
        if (f->qual.n > f->base.n || find_odd_quality(f, start) < f->qual.n)
            return refuse_quality(f, start, first);
    }
out:
    return rc;
}

int cs_fastx_rest(cs_fastx *f)
{
    int rc;
    while ((rc = cs_fastx_more(f)) == CS_OK && *f->p != '+')
        CS_TRY(take_base_line(f));
    if (rc == CS_EOF)
        return cut_short(f, "before the '+' line");
    CS_TRY(rc);
    CS_TRY(read_plus(f));
    rc = read_quality(f);
out:
    return rc;
}

static const char *copy(cs_chunk *c, const cs_fastx_text *t)
{
    return t->n ? cs_arena_dup(c->mem, t->s, t->n) : "";
}

int cs_fastx_append(cs_fastx *f, cs_chunk *c)
{
    const char *name = copy(c, &f->name), *comment = copy(c, &f->comment);
    const char *base = copy(c, &f->base);
    uint8_t *qual = NULL;
    if (f->kind == '@' && (qual = cs_arena_alloc(c->mem, f->base.n, 1)) == NULL)
        base = NULL;
    cs_record *r = name && comment && base ? cs_chunk_append(c) : NULL;
    if (!r)
        return cs_fail(CS_EMEM, "'%s' line %lld: out of memory for record '%.*s' of %zu bases",
                       f->path, (long long)f->line, NAME(f->name), f->base.n);
    const uint8_t *text = (const uint8_t *)f->qual.s;
    const size_t n_qual = qual ? f->base.n : 0;
    #pragma omp simd
    for (size_t i = 0; i < n_qual; i++)
        qual[i] = (uint8_t)(text[i] - '!');
    r->name = name;
    r->comment = comment;
    r->seg[0] = (cs_segment){ base, qual, (int64_t)f->base.n };
    if (f->has_x && f->count && !c->skipped)
        cs_warning_count(&f->count->outside_iupac, name);
    return CS_OK;
}

static void shrink(cs_fastx_text *t)
{
    if (t->cap <= KEEP_BYTES)
        return;
    free(t->s);
    *t = (cs_fastx_text){ NULL, 0, 0 };
}

int cs_fastx_record(cs_fastx *f)
{
    int rc = read_header(f);
    if (rc == CS_EOF && !f->past_part && f->count && cs_source_lacks_end(f->src))
        cs_warning_count(&f->count->no_end_marker, f->path);
    CS_TRY(rc);
    rc = f->kind == '>' ? read_fasta(f) : cs_fastx_rest(f);
out:
    return rc;
}

void cs_fastx_finish(cs_fastx *f)
{
    shrink(&f->base);
    shrink(&f->qual);
    f->n_record++;
    const cs_fastx_text t = f->last;
    f->last = f->name;
    f->name = t;
}

/* read_diplotype.c - diplotype text: a code of chordseq-diplotype(5) per site, laid out like FASTA.
 *
 * DESIGN: the first line is "#chordseq-diplotype<TAB>1". Then a record is a header line, '>', its
 * name and, behind a blank, a comment, and lines of codes up to the next header. Every other byte
 * is refused, NUL and blanks too, as are codes before the first header. Lines end with LF or CR
 * LF; an empty line is passed over. Plain, gzip and BGZF alike. Upper and lower case mean
 * different things.
 */
#include "io/reader.h"

#include <string.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "io/source.h"

static const char magic[] = "#chordseq-diplotype";

struct diplotypes {
    const char *path;
    cs_source  *src;
    const char *p, *end;         /* text in hand */
    int64_t     line_no;
    char       *line;            /* the present line, NUL-terminated */
    size_t      n_line, cap_line;
    char       *head;            /* header of the present record, without '>' */
    size_t      cap_head;
    char       *code;
    size_t      n_code, cap_code;
    bool        held;            /* `line` is a header that is yet to be read */
    bool        is_code[256];
};

static int diplotypes_sniff(const htsFormat *m, const char *head, size_t n_head)
{
    (void)m;
    return n_head >= sizeof magic - 1 && memcmp(head, magic, sizeof magic - 1) == 0 ? CS_SNIFF_YES
                                                                                    : CS_SNIFF_NO;
}

static int more(struct diplotypes *d)
{
    const char *advice;
    size_t n = 0;

    if (d->p < d->end)
        return CS_OK;
    const int rc = cs_source_fill(d->src, &d->p, &n);
    d->end = d->p + n;
    if (rc == CS_OK || rc == CS_EOF)
        return rc;
    const char *what = cs_source_problem(d->src, &advice);
    return cs_fail(rc, "'%s': %s after line %lld%s%s", d->path, what, (long long)d->line_no,
                   *advice ? "; " : "", advice);
}

/* The next line into d->line, without its end. CS_EOF: there is none. */
static int next_line(struct diplotypes *d)
{
    int rc = CS_OK;
    bool whole = false;

    d->n_line = 0;
    while (!whole && (rc = more(d)) == CS_OK) {
        const char *eol = memchr(d->p, '\n', (size_t)(d->end - d->p));
        const size_t n = (size_t)((eol ? eol : d->end) - d->p);
        if (cs_grow((void **)&d->line, &d->cap_line, d->n_line + n + 1, 1) != CS_OK)
            return CS_EMEM;
        memcpy(d->line + d->n_line, d->p, n);
        d->n_line += n;
        d->p += n + (eol != NULL);
        whole = eol != NULL;
    }
    if (!whole && rc != CS_OK && (rc != CS_EOF || d->n_line == 0))
        return rc;
    d->line_no++;
    if (d->n_line > 0 && d->line[d->n_line - 1] == '\r')
        d->n_line--;
    d->line[d->n_line] = '\0';
    return CS_OK;
}

static int refuse_byte(const struct diplotypes *d, unsigned char c)
{
    const char shown[] = { (char)(c > ' ' && c < 127 ? c : '?'), '\0' };
    return cs_fail(CS_EFORMAT, "'%s' line %lld: byte 0x%02x ('%s') is no code of a diplotype",
                   d->path, (long long)d->line_no, c, shown);
}

static int read_magic(struct diplotypes *d)
{
    const int rc = next_line(d);

    if (rc != CS_OK && rc != CS_EOF)
        return rc;
    if (rc == CS_OK && strcmp(d->line, "#chordseq-diplotype\t1") == 0)
        return CS_OK;
    return cs_fail(CS_EFORMAT, "'%s' line 1: the header must be #chordseq-diplotype, a tab and 1",
                   d->path);
}

static void diplotypes_free(struct diplotypes *d)
{
    free(d->line);
    free(d->head);
    free(d->code);
    free(d);
}

static int diplotypes_close(void *state)
{
    struct diplotypes *d = state;
    const int rc = cs_source_close(d->src);

    diplotypes_free(d);
    return rc;
}

static int diplotypes_open(const char *path, struct hFILE *fp, const struct htsFormat *m,
                           const cs_input_opt *opt, void **state)
{
    struct diplotypes *d = cs_xcalloc(1, sizeof *d);
    int rc = cs_source_open(fp, m->compression != no_compression, opt->threads, &d->src);

    if (rc != CS_OK) {
        diplotypes_free(d);
        return rc;
    }
    d->path = path;
    for (int i = 0; i < CS_N_DIPLOTYPE; i++)
        d->is_code[(unsigned char)cs_diplotype_codes[i]] = true;
    rc = opt->alphabet == CS_DIPLOTYPES ? read_magic(d)
       : cs_fail(CS_EFORMAT, "'%s' holds diplotypes, and nucleotides are wanted here", path);
    if (rc == CS_OK) {
        *state = d;
        return CS_OK;
    }
    const int closing = diplotypes_close(d);
    return closing != CS_OK && rc == CS_OK ? closing : rc;
}

/* A header that is at hand, or the next line, which must be one. */
static int read_head(struct diplotypes *d)
{
    int rc = CS_OK;

    while (!d->held) {
        CS_TRY(next_line(d));
        d->held = d->n_line > 0;
    }
    d->held = false;
    if (d->line[0] != '>')
        return cs_fail(CS_EFORMAT, "'%s' line %lld: a record must begin with '>'", d->path,
                       (long long)d->line_no);
    if (memchr(d->line, '\0', d->n_line))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: a NUL byte in a header", d->path,
                       (long long)d->line_no);
    CS_TRY(cs_grow((void **)&d->head, &d->cap_head, d->n_line, 1));
    memcpy(d->head, d->line + 1, d->n_line);
out:
    return rc;
}

static int take_codes(struct diplotypes *d)
{
    for (size_t i = 0; i < d->n_line; i++) {
        if (!d->is_code[(unsigned char)d->line[i]])
            return refuse_byte(d, (unsigned char)d->line[i]);
    }
    if (cs_grow((void **)&d->code, &d->cap_code, d->n_code + d->n_line + 1, 1) != CS_OK)
        return CS_EMEM;
    memcpy(d->code + d->n_code, d->line, d->n_line);
    d->n_code += d->n_line;
    return CS_OK;
}

static int diplotypes_next(void *state, cs_chunk *c)
{
    struct diplotypes *d = state;
    int rc = read_head(d);

    d->n_code = 0;
    CS_TRY(rc);
    while ((rc = next_line(d)) == CS_OK && d->line[0] != '>')
        CS_TRY(take_codes(d));
    d->held = rc == CS_OK;
    if (rc != CS_OK && rc != CS_EOF)
        goto out;
    const size_t n_name = strcspn(d->head, " \t");
    const char *rest = d->head + n_name + strspn(d->head + n_name, " \t");
    const char *name = cs_arena_dup(c->mem, d->head, n_name);
    const char *comment = cs_arena_dup(c->mem, rest, strlen(rest));
    const char *code = d->n_code ? cs_arena_dup(c->mem, d->code, d->n_code) : "";
    cs_record *r = name && comment && code ? cs_chunk_append(c) : NULL;
    if (!r)
        return cs_fail(CS_EMEM, "'%s' line %lld: out of memory for a record of %zu sites", d->path,
                       (long long)d->line_no, d->n_code);
    r->name = name;
    r->comment = comment;
    r->seg[0] = (cs_segment){ code, NULL, (int64_t)d->n_code };
    rc = CS_OK;
out:
    return rc;
}

static int64_t diplotypes_tell(void *state)
{
    const struct diplotypes *d = state;
    return cs_source_tell(d->src);
}

const cs_reader cs_read_diplotype = {
    .name = "diplotype",
    .summary = "diplotypes as chordseq-diplotype(1) writes them",
    .sniff = diplotypes_sniff,
    .open = diplotypes_open,
    .next = diplotypes_next,
    .tell = diplotypes_tell,
    .close = diplotypes_close,
};

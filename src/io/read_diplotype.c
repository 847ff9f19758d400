/* read_diplotype.c - reader of diplotype text: see chordseq-diplotype(5).
 *
 * DESIGN: the first line is "#chordseq-diplotype<TAB>1". A record is a header line, '>', its name
 * and, after a blank, a comment, and lines of codes up to the next header. All other bytes are
 * errors, including NUL and blanks, as are codes before the first header. Lines end with LF or CR
 * LF; empty lines are skipped. Plain, gzip or BGZF. Codes are case-sensitive.
 */
#include "io/reader.h"

#include <string.h>

#include <htslib/hfile.h>
#include <htslib/hts.h>

#include "io/lines.h"

static const char magic[] = CS_DIPLOTYPE_MAGIC;

struct diplotypes {
    cs_lines    in;
    char       *head;            /* header of the present record, without '>' */
    size_t      cap_head;
    char       *code;
    size_t      n_code, cap_code;
    bool        held;            /* the present line is an unread header */
    bool        is_code[256];
};

static int diplotypes_sniff(const htsFormat *m, const char *head, size_t n_head)
{
    (void)m;
    return n_head >= sizeof magic - 1 && memcmp(head, magic, sizeof magic - 1) == 0 ? CS_SNIFF_YES
                                                                                    : CS_SNIFF_NO;
}

static int refuse_byte(const struct diplotypes *d, unsigned char c)
{
    const char shown[] = { (char)(c > ' ' && c < 127 ? c : '?'), '\0' };
    return cs_fail(CS_EFORMAT, "'%s' line %lld: byte 0x%02x ('%s') is not a diplotype code",
                   d->in.path, (long long)d->in.no, c, shown);
}

static int read_magic(struct diplotypes *d)
{
    const int rc = cs_lines_next(&d->in);

    if (rc != CS_OK && rc != CS_EOF)
        return rc;
    if (rc == CS_OK && strcmp(d->in.text, CS_DIPLOTYPE_HEAD) == 0)
        return CS_OK;
    return cs_fail(CS_EFORMAT, "'%s' line 1: the header must be " CS_DIPLOTYPE_MAGIC
                   ", a tab and 1", d->in.path);
}

static int diplotypes_close(void *state)
{
    struct diplotypes *d = state;
    const int rc = cs_lines_close(&d->in);

    CS_FREE(d->head, d->code, d);
    return rc;
}

static int diplotypes_open(const char *path, struct hFILE *fp, const struct htsFormat *m,
                           const cs_input_opt *opt, void **state)
{
    struct diplotypes *d = cs_xcalloc(1, sizeof *d);

    d->in.path = path;
    for (int i = 0; i < CS_N_DIPLOTYPE; i++)
        d->is_code[(unsigned char)cs_diplotype_codes[i]] = true;
    int rc = cs_lines_open(&d->in, fp, m->compression != no_compression, opt->threads);
    if (rc == CS_OK)
        rc = opt->alphabet == CS_DIPLOTYPES ? read_magic(d)
           : cs_fail(CS_EFORMAT, "'%s' holds diplotypes; expected nucleotides", path);
    if (rc != CS_OK) {
        const int closed = diplotypes_close(d);
        (void)closed;                /* report the first failure */
        return rc;
    }
    *state = d;
    return CS_OK;
}

/* The pending header, or the next line, which must be one. */
static int read_head(struct diplotypes *d)
{
    int rc = CS_OK;

    while (!d->held) {
        CS_TRY(cs_lines_next(&d->in));
        d->held = d->in.n > 0;
    }
    d->held = false;
    if (d->in.text[0] != '>')
        return cs_lines_error(&d->in, "a record must begin with '>'");
    for (size_t i = 0; i < d->in.n; i++)
        if ((unsigned char)d->in.text[i] < ' ' && d->in.text[i] != '\t')
            return cs_lines_error(&d->in, "a control character in the header of a record");
    CS_TRY(cs_grow((void **)&d->head, &d->cap_head, d->in.n, 1));
    memcpy(d->head, d->in.text + 1, d->in.n);
out:
    return rc;
}

static int take_codes(struct diplotypes *d)
{
    for (size_t i = 0; i < d->in.n; i++) {
        if (!d->is_code[(unsigned char)d->in.text[i]])
            return refuse_byte(d, (unsigned char)d->in.text[i]);
    }
    if (cs_grow((void **)&d->code, &d->cap_code, d->n_code + d->in.n + 1, 1) != CS_OK)
        return CS_EMEM;
    memcpy(d->code + d->n_code, d->in.text, d->in.n);
    d->n_code += d->in.n;
    return CS_OK;
}

static int diplotypes_next(void *state, cs_chunk *c)
{
    struct diplotypes *d = state;
    int rc = read_head(d);

    d->n_code = 0;
    CS_TRY(rc);
    while ((rc = cs_lines_next(&d->in)) == CS_OK && d->in.text[0] != '>')
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
        return cs_fail(CS_EMEM, "'%s' line %lld: out of memory for a record of %zu sites",
                       d->in.path, (long long)d->in.no, d->n_code);
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
    return cs_source_tell(d->in.src);
}

const cs_reader cs_read_diplotype = {
    .name = "diplotype",
    .sniff = diplotypes_sniff,
    .open = diplotypes_open,
    .next = diplotypes_next,
    .tell = diplotypes_tell,
    .close = diplotypes_close,
};

/* taxa_table.c - taxa from a table: name, taxid, rank, parent, scientific name. */
#include "io/taxa_rows.h"

#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/opt.h"

/* MAX_TAXID leaves private taxids, which follow those of the table, within 31 bits. */
enum { MAX_TABLE_BYTES = 256 << 20, N_COLUMN = 5, MAX_TAXID = 2100000000 };

/* An empty field or "-" means none. */
static const char *said(const char *field)
{
    return field && *field && strcmp(field, "-") != 0 ? field : NULL;
}

static int wrong(const cs_taxa_rows *r, int64_t line, const char *why, const char *what)
{
    return cs_fail(CS_EFORMAT, "'%s' line %lld: %s '%.60s'", r->what, (long long)line, why, what);
}

/* Several taxa may have one name, but not one taxid; a repeated line counts once. */
static int add_new(cs_taxa_rows *r, const cs_taxa_row *row)
{
    const cs_taxa_row *old = row->taxid ? cs_taxa_rows_taxid(r, row->taxid) : NULL;

    if (!old)
        return cs_taxa_rows_add(r, row);
    return cs_taxa_rows_equal(old, row) ? CS_OK
         : cs_fail(CS_EFORMAT, "'%s' line %lld: taxid %lld is also on line %lld", r->what,
                   (long long)row->line, (long long)row->taxid, (long long)old->line);
}

static int parse_line(cs_taxa_rows *r, const char *text, size_t n, int64_t line)
{
    int k = 0;
    char *field[N_COLUMN] = { NULL };

    if (n && text[n - 1] == '\r')
        n--;
    if (n == 0 || text[0] == '#')
        return CS_OK;
    char *s = cs_arena_dup(r->text, text, n);
    if (!s)
        return cs_fail(CS_EMEM, "out of memory for '%s'", r->what);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] < ' ' && s[i] != '\t')
            return wrong(r, line, "a NUL byte or control character in", s);
    for (char *p = s; p; k++) {
        if (k == N_COLUMN)
            return wrong(r, line, "more than 5 columns in the row of", field[0]);
        field[k] = p;
        if ((p = strchr(p, '\t')) != NULL)
            *p++ = '\0';
    }
    if (line == 1 && k >= 2 && (strcasecmp(field[1], "taxid") == 0 ||
                                strcasecmp(field[1], "tax_id") == 0))
        return CS_OK;                        /* a line that names the columns */
    if (k < 2 || !said(field[0]))
        return wrong(r, line, "expected name, taxid, rank, parent and scientific name with tabs "
                     "between them, got", s);
    cs_taxa_row row = { .name = field[0], .title = said(field[4]), .rank = said(field[2]),
                        .parent = said(field[3]), .line = line };
    if (said(field[1]) && (cs_parse_int(field[1], &row.taxid) != CS_OK || row.taxid < 1 ||
                           row.taxid > MAX_TAXID))
        return wrong(r, line, "a taxid must be a number from 1 to 2100000000 or '-', not",
                     field[1]);
    return add_new(r, &row);
}

int cs_taxa_read_table(const char *path, cs_taxa_rows *r)
{
    int rc = CS_OK;
    char *text = NULL;
    size_t n;
    int64_t line = 1;

    r->what = path;
    CS_TRY(cs_file_read(path, MAX_TABLE_BYTES, &text, &n));
    for (size_t at = cs_bom_bytes(text, n); at < n; line++) {
        const char *eol = memchr(text + at, '\n', n - at);
        const size_t len = eol ? (size_t)(eol - text) - at : n - at;
        CS_TRY(parse_line(r, text + at, len, line));
        at += len + 1;
    }
out:
    free(text);
    return rc;
}

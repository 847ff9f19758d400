/* labels.c - labels of records: from a TSV or CSV table, the header line or the file.
 *
 * DESIGN: the table's text is kept, with separators and line ends replaced by NULs; a row is the
 * offset of its name. Fields of CSV lose their quotes in place (RFC 4180).
 */
#include "io/labels.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/opt.h"
#include "io/source.h"

void cs_classes_release(cs_classes *c)
{
    for (int i = 0; i < c->n; i++)
        free(c->name[i]);
    free(c->name);
    cs_names_release(&c->by_name);
    *c = (cs_classes){ NULL, 0, { NULL, 0, 0 } };
}

int cs_classes_find(const cs_classes *c, const char *name)
{
    return (int)cs_names_find(&c->by_name, name);
}

int cs_classes_add(cs_classes *c, const char *name, int *no)
{
    *no = cs_classes_find(c, name);
    if (*no >= 0)
        return CS_OK;
    if (!cs_name_is_plain(name))
        return cs_fail(CS_EFORMAT, "the class name '%s' contains a tab, newline or other control "
                       "character; rename it", name);
    const size_t n_bytes = strlen(name) + 1;
    char **all = cs_realloc(c->name, (size_t)c->n + 1, sizeof *all);
    if (all)
        c->name = all;
    char *copy = all ? cs_alloc(n_bytes, 1) : NULL;
    if (!copy)
        return cs_fail(CS_EMEM, "out of memory for class '%s'", name);
    memcpy(copy, name, n_bytes);
    if (cs_names_add(&c->by_name, copy, c->n) != CS_OK) {
        free(copy);
        return CS_EMEM;
    }
    *no = c->n;
    c->name[c->n++] = copy;
    return CS_OK;
}

int cs_classes_sort(cs_classes *c, int (*compare)(const void *, const void *), int32_t *to)
{
    int rc = CS_OK;
    const size_t n = (size_t)c->n;
    cs_names by_name = { NULL, 0, 0 };
    char **name = cs_alloc(n + 1, sizeof *name);

    if (!name)
        return cs_fail(CS_EMEM, "out of memory for %d classes", c->n);
    if (n > 0) {
        memcpy(name, c->name, n * sizeof *name);
        qsort(name, n, sizeof *name, compare);
    }
    for (int i = 0; i < c->n; i++)
        CS_TRY(cs_names_add(&by_name, name[i], i));
    for (int i = 0; i < c->n; i++)
        to[i] = (int32_t)cs_names_find(&by_name, c->name[i]);
    free(c->name);
    cs_names_release(&c->by_name);
    c->name = name;
    c->by_name = by_name;
out:
    if (rc != CS_OK) {
        free(name);
        cs_names_release(&by_name);
    }
    return rc;
}

struct row { size_t off; int64_t line; bool met; };

enum heading { NO_HEADER, HEADER, HEADER_IF_TEXT };      /* does the first line name columns? */

struct cs_labels {
    const char *path;            /* while opening */
    char        separator;       /* of columns: a tab, comma or semicolon; 0: not known yet */
    char       *text;
    size_t      n_text, cap_text;
    struct row *row;
    size_t      n_row, cap_row;
    cs_names    by_name;         /* rows */
    int         n_column;        /* after the name */
    enum heading heading;
    struct row  head;            /* names of columns; line 0: none, or not seen yet */
};

static const char *column(const cs_labels *l, size_t off, int i)
{
    const char *s = l->text + off;
    for (; i >= 0; i--)
        s += strlen(s) + 1;
    return s;
}

static int check_repeat(const cs_labels *l, const struct row *old, const struct row *row)
{
    for (int i = 0; i < l->n_column; i++) {
        const char *a = column(l, old->off, i), *b = column(l, row->off, i);
        if (strcmp(a, b) != 0)
            return cs_fail(CS_EFORMAT, "'%s' line %lld: '%.60s' is labelled '%.60s', but line %lld "
                           "says '%.60s'", l->path, (long long)row->line, l->text + row->off, b,
                           (long long)old->line, a);
    }
    return CS_OK;
}

static int add_row(cs_labels *l, size_t off, int64_t line)
{
    int rc = CS_OK;
    const struct row row = { off, line, false };
    const int64_t i = cs_names_find(&l->by_name, l->text + off);
    if (i >= 0)
        return check_repeat(l, &l->row[i], &row);
    CS_TRY(cs_grow((void **)&l->row, &l->cap_row, l->n_row + 1, sizeof *l->row));
    l->row[l->n_row] = row;
    rc = cs_names_add(&l->by_name, l->text + off, (int64_t)l->n_row++);
out:
    return rc;
}

/* Has none of n columns from `s` on a value, known or not? */
static bool is_text(const char *s, int n)
{
    double v;

    for (int i = 0; i < n; i++, s = cs_labels_next(s))
        if (cs_label_unknown(s) || cs_parse_real(s, &v) == CS_OK)
            return false;
    return true;
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), n_end = strlen(end);

    return n >= n_end && strcasecmp(s + n - n_end, end) == 0;
}

/* Of the first row. A semicolon is what spreadsheets write where a comma is the decimal point; it
 * also separates the ranks of a lineage, so a name before it must not have a blank. */
static char separator_of(const char *path, const char *s)
{
    const bool csv = ends_with(path, ".csv") || ends_with(path, ".csv.gz");
    const char *quote = s[0] == '"' ? strchr(s + 1, '"') : NULL;
    const char *first = strpbrk(quote != NULL ? quote : s, ",;");

    if (strchr(s, '\t') != NULL || first == NULL ||
        (!csv && quote == NULL && strcspn(s, " ") < (size_t)(first - s)))
        return '\t';
    return *first;
}

/* Moves a field from *from to *to, without its quotes and with a NUL, and both pointers behind it;
 * more: does another one follow? False: a quote does not end, or text follows it. */
static bool take_field(char **to, char **from, char separator, bool *more)
{
    char *r = *from, *w = *to;
    const bool quoted = separator != '\t' && *r == '"';

    r += quoted;
    while (quoted && *r != '\0' && (*r != '"' || r[1] == '"')) {
        r += *r == '"';
        *w++ = *r++;
    }
    if (quoted && *r++ != '"')
        return false;
    while (!quoted && *r != '\0' && *r != separator)
        *w++ = *r++;
    const char end = *r;
    *w = '\0';
    *to = w + 1;
    *from = r + 1;
    *more = end == separator;
    return *more || end == '\0';
}

/* Separates the fields of a line; n: columns after the first. */
static int split_line(const cs_labels *l, char *s, int64_t line, int *n)
{
    char *to = s, *from = s;
    bool more = true;

    for (*n = -1; more; ++*n)
        if (!take_field(&to, &from, l->separator, &more))
            return cs_fail(CS_EFORMAT, "'%s' line %lld: quotes must enclose a whole field, without "
                           "a line break in it", l->path, (long long)line);
    return CS_OK;
}

/* Rows of a spreadsheet without text: only separators. */
static bool is_blank_row(const cs_labels *l, const char *s)
{
    const char all[] = { l->separator, '\0' };

    return l->separator != '\t' && s[strspn(s, all)] == '\0';
}

static int check_text(const cs_labels *l, const char *s, size_t n, int64_t line)
{
    if (memchr(s, 0, n))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: a NUL byte; not a text file%s", l->path,
                       (long long)line, l->n_text > 1 && (memcmp(l->text, "\xff\xfe", 2) == 0 ||
                                                         memcmp(l->text, "\xfe\xff", 2) == 0)
                       ? " in UTF-8 but UTF-16; convert it (iconv)" : "");
    if (memchr(s, '\r', n))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: a carriage return within the line; end lines "
                       "with newlines", l->path, (long long)line);
    return CS_OK;
}

/* One line of n bytes at off, NUL-terminated; its separators become NULs. */
static int parse_line(cs_labels *l, size_t off, size_t n, int64_t line)
{
    int rc = CS_OK, n_column = 0;
    char *s = l->text + off;

    if (n && s[n - 1] == '\r')
        s[--n] = '\0';
    CS_TRY(check_text(l, s, n, line));
    bool head = l->heading == HEADER && l->head.line == 0;
    if (n == 0 || (s[0] == '#' && (!head || !strchr(s, '\t'))))
        return CS_OK;
    if (l->separator == 0)
        l->separator = separator_of(l->path, s);
    if (is_blank_row(l, s))
        return CS_OK;
    CS_TRY(split_line(l, s, line, &n_column));
    if (n_column == 0)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: expected a name, a %s and a label, got "
                       "'%.60s'", l->path, (long long)line, l->separator == '\t' ? "tab"
                       : l->separator == ',' ? "comma" : "semicolon", s);
    if ((l->n_row || l->head.line) && n_column != l->n_column)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: expected %d columns as in the first row, got "
                       "%d", l->path, (long long)line, l->n_column + 1, n_column + 1);
    if (l->heading == HEADER_IF_TEXT && l->n_row == 0 && l->head.line == 0)
        head = is_text(cs_labels_next(s), n_column);
    /* Names of columns may omit the first one, as those of pandas do. */
    head = head || (s[0] == '\0' && l->heading == NO_HEADER && l->n_row == 0 && l->head.line == 0);
    if (s[0] == '\0' && !head)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: the name is empty", l->path, (long long)line);
    l->n_column = n_column;
    if (!head)
        return add_row(l, off, line);
    l->head = (struct row){ off, line, false };
out:
    return rc;
}

/* Appends the whole source to text, NUL-terminated. */
static int read_text(cs_labels *l, cs_source *src)
{
    const char *p, *advice;
    size_t n;
    int rc = CS_OK;
    while (rc == CS_OK) {
        rc = cs_source_fill(src, &p, &n);
        if (rc < 0) {
            const char *what = cs_source_problem(src, &advice);
            return cs_fail(rc, "'%s': %s%s%s", l->path, what, *advice ? "; " : "", advice);
        }
        if (cs_grow((void **)&l->text, &l->cap_text, l->n_text + n + 1, 1) != CS_OK)
            return CS_EMEM;
        if (n)
            memcpy(l->text + l->n_text, p, n);
        l->n_text += n;
        l->text[l->n_text] = '\0';
    }
    return CS_OK;
}

static int parse_text(cs_labels *l)
{
    int rc = CS_OK;
    int64_t line = 1;
    for (size_t off = cs_bom_bytes(l->text, l->n_text); off < l->n_text; line++) {
        char *eol = memchr(l->text + off, '\n', l->n_text - off);
        const size_t end = eol ? (size_t)(eol - l->text) : l->n_text;
        l->text[end] = '\0';
        CS_TRY(parse_line(l, off, end - off, line));
        off = end + 1;
    }
out:
    return rc;
}

static int open_table(const char *path, enum heading heading, cs_labels **out)
{
    int rc = CS_OK;
    cs_source *src = NULL;
    cs_labels *l = NULL;

    *out = NULL;
    if (strcmp(path, "-") == 0)
        return cs_fail(CS_EUSAGE, "labels cannot come from standard input; give a file");
    CS_TRY(cs_source_open_file(path, &src));
    l = cs_xcalloc(1, sizeof *l);
    l->path = path;
    l->heading = heading;
    CS_TRY(read_text(l, src));
    CS_TRY(parse_text(l));
    l->path = NULL;
    *out = l;
    l = NULL;
out:
    cs_labels_close(l);
    if (cs_source_close(src) != CS_OK && rc == CS_OK) {
        cs_labels_close(*out);
        *out = NULL;
        rc = cs_fail(CS_EIO, "cannot close '%s'", path);
    }
    return rc;
}

int cs_labels_open(const char *path, cs_labels **out)
{
    return open_table(path, NO_HEADER, out);
}

int cs_labels_open_values(const char *path, cs_labels **out)
{
    return open_table(path, HEADER_IF_TEXT, out);
}

int cs_labels_open_named(const char *path, cs_labels **out)
{
    const int rc = open_table(path, HEADER, out);

    if (rc != CS_OK || (*out)->head.line > 0)
        return rc;
    cs_labels_close(*out);
    *out = NULL;
    return cs_fail(CS_EFORMAT, "'%s' is empty; its first line must name the labels", path);
}

const char *cs_labels_name(const cs_labels *l, int i)
{
    return column(l, l->head.off, i);
}

int64_t cs_labels_line(const cs_labels *l, const char *name)
{
    const int64_t row = name ? cs_names_find(&l->by_name, name) : -1;

    return name ? row < 0 ? 0 : l->row[row].line : l->head.line;
}

const char *cs_labels_find(const cs_labels *l, const char *name, int i)
{
    const int64_t row = cs_names_find(&l->by_name, name);
    if (row < 0 || i < 0 || i >= l->n_column)
        return NULL;
    return column(l, l->row[row].off, i);
}

int cs_labels_with(const cs_labels *l, const char *text)
{
    for (size_t i = 0; i < l->n_row; i++)
        for (int k = 0; k < l->n_column; k++)
            if (strcmp(column(l, l->row[i].off, k), text) == 0)
                return k;
    return -1;
}

void cs_labels_mark(cs_labels *l, const char *name)
{
    const int64_t row = l ? cs_names_find(&l->by_name, name) : -1;

    if (row >= 0)
        l->row[row].met = true;
}

int64_t cs_labels_unused(const cs_labels *l, const char **first)
{
    int64_t n = 0;

    for (size_t i = 0; l && i < l->n_row; i++) {
        if (l->row[i].met)
            continue;
        if (n++ == 0)
            *first = l->text + l->row[i].off;
    }
    return n;
}

int cs_labels_columns(const cs_labels *l)
{
    return l->n_column;
}

int64_t cs_labels_count(const cs_labels *l)
{
    return (int64_t)l->n_row;
}

void cs_labels_close(cs_labels *l)
{
    if (!l)
        return;
    free(l->text);
    free(l->row);
    cs_names_release(&l->by_name);
    free(l);
}

static const char blank[] = " \t";

const char *cs_label_key_find(const char *comment, const char *key, size_t *n)
{
    const size_t n_key = strlen(key);

    for (const char *s = comment + strspn(comment, blank); *s; s += strspn(s, blank)) {
        const size_t n_word = strcspn(s, blank);
        if (n_word > n_key && s[n_key] == '=' && memcmp(s, key, n_key) == 0) {
            *n = n_word - n_key - 1;
            return s + n_key + 1;
        }
        s += n_word;
    }
    return NULL;
}

int cs_label_key(const char *comment, const char *key, char *buf, size_t n_buf)
{
    size_t n;
    const char *value = cs_label_key_find(comment, key, &n);

    if (!value || n >= n_buf)
        return 0;
    memcpy(buf, value, n);
    buf[n] = '\0';
    return 1;
}

int cs_label_key_cut(const char *comment, const char *key, char *buf, size_t n_buf)
{
    const size_t n_key = strlen(key);
    bool found = false;

    for (const char *s = comment + strspn(comment, blank); *s; s += strspn(s, blank)) {
        const size_t n = strcspn(s, blank);
        if (found) {
            (void)snprintf(buf, n_buf, "%.*s", (int)n, s);
            return memchr(s, '=', n) == NULL;
        }
        found = n > n_key && s[n_key] == '=' && memcmp(s, key, n_key) == 0;
        s += n;
    }
    return 0;
}

/* lines.c - a text input line by line. */
#include "io/lines.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "io/input_pump.h"

int cs_lines_open(cs_lines *l, struct hFILE *fp, bool is_gzip, int threads)
{
    return cs_source_open(fp, is_gzip, threads, &l->src);
}

int cs_lines_open_file(cs_lines *l)
{
    const int rc = cs_source_open_file(l->path, &l->src);

    l->path = cs_input_shown(l->path);
    return rc;
}

int cs_lines_columns(cs_lines *l, char **column, int max)
{
    int n = 0;

    for (char *at = l->text, *tab; n < max && at; at = tab) {
        tab = strchr(at, '\t');
        if (tab)
            *tab++ = '\0';
        column[n++] = at;
    }
    return n;
}

void cs_lines_blanks_to_tabs(cs_lines *l)
{
    const char *from = l->text;
    char *to = l->text;

    if (strchr(l->text, '\t'))
        return;
    while (*from) {
        const size_t n_blank = strspn(from, " ");
        from += n_blank;
        if (n_blank && to > l->text && *from)
            *to++ = '\t';
        while (*from && *from != ' ')
            *to++ = *from++;
    }
    *to = '\0';
    l->n = (size_t)(to - l->text);
}

bool cs_lines_is_comment(const char *line)
{
    static const char *const word[] = { "track", "browser" };
    bool is = line[strspn(line, " \t")] == '\0' || *line == '#';

    for (size_t i = 0; !is && i < sizeof word / sizeof *word; i++) {
        const size_t n = strlen(word[i]);
        is = strncmp(line, word[i], n) == 0 && (line[n] == ' ' || line[n] == '\0');
    }
    return is;
}

int cs_lines_error(const cs_lines *l, const char *what)
{
    return cs_fail(CS_EFORMAT, "'%s' line %lld: %s", l->path, (long long)l->no, what);
}

static int more(cs_lines *l)
{
    const char *advice;
    size_t n = 0;

    if (l->p < l->end)
        return CS_OK;
    const int rc = cs_source_fill(l->src, &l->p, &n);
    l->end = l->p + n;
    if (rc == CS_OK || rc == CS_EOF)
        return rc;
    const char *what = cs_source_problem(l->src, &advice);
    return cs_fail(rc, "'%s': %s after line %lld%s%s", l->path, what, (long long)l->no,
                   *advice ? "; " : "", advice);
}

int cs_lines_next(cs_lines *l)
{
    int rc = CS_OK;
    bool whole = false;

    l->n = 0;
    while (!whole && (rc = more(l)) == CS_OK) {
        const char *eol = memchr(l->p, '\n', (size_t)(l->end - l->p));
        const size_t n = (size_t)((eol ? eol : l->end) - l->p);
        if (l->max_bytes > 0 && l->n + n > l->max_bytes) {
            l->no++;
            return cs_lines_error(l, "the line is too long; is it another kind of file?");
        }
        if (cs_grow((void **)&l->text, &l->cap, l->n + n + 1, 1) != CS_OK)
            return CS_EMEM;
        memcpy(l->text + l->n, l->p, n);
        l->n += n;
        l->p += n + (eol != NULL);
        whole = eol != NULL;
    }
    if (!whole && rc != CS_OK && (rc != CS_EOF || l->n == 0))
        return rc;
    if (l->no++ == 0) {
        const size_t skip = cs_bom_bytes(l->text, l->n);
        l->n -= skip;
        memmove(l->text, l->text + skip, l->n);
    }
    if (l->n > 0 && l->text[l->n - 1] == '\r')
        l->n--;
    l->text[l->n] = '\0';
    return memchr(l->text, '\0', l->n) ? cs_lines_error(l, "a NUL byte; not a text file")
                                       : CS_OK;
}

int cs_lines_close(cs_lines *l)
{
    const int rc = cs_source_close(l->src);

    free(l->text);
    l->src = NULL;
    l->text = NULL;
    return rc;
}

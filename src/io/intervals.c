/* intervals.c - class intervals of records from a BED-like table.
 *
 * DESIGN: lines may be in any order, so all are read, sorted by record and start, and joined if
 * adjacent; a record is found by binary search over the names.
 */
#include "io/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "io/regions.h"

struct row { const char *name; cs_span span; int64_t line; };

struct owner { const char *name; int64_t first; };   /* its spans begin there */

struct cs_intervals {
    const char   *path;          /* the caller's */
    struct row   *row;           /* while reading; afterwards joined and sorted */
    size_t        n_row, cap;
    cs_span      *span;          /* [n_row] */
    struct owner *owner;         /* [n_owner + 1] by name */
    int64_t       n_owner;
    cs_arena     *mem;           /* the names */
};

static int intervals_no_memory(const cs_intervals *v)
{
    return cs_fail(CS_EMEM, "'%s': out of memory for %zu intervals", v->path, v->n_row);
}

/* The class of a line: its fourth column. */
static int find_class(const cs_intervals *v, const char *rest, int64_t line, cs_classes *classes,
                      bool fixed, int32_t *no)
{
    const size_t n = rest ? strcspn(rest, "\t") : 0;
    int rc = CS_OK, k = -1;

    if (n == 0)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: no class in the fourth column",
                       v->path, (long long)line);
    char *name = cs_xmalloc(n + 1);
    memcpy(name, rest, n);
    name[n] = '\0';
    const bool unknown = strcmp(name, "-") == 0;
    if (!unknown && !fixed)
        rc = cs_classes_add(classes, name, &k);
    if (rc != CS_OK)
        rc = cs_fail_also(rc, " ('%s' line %lld)", v->path, (long long)line);
    else if (!unknown && fixed && (k = cs_classes_find(classes, name)) < 0)
        rc = cs_fail(CS_EFORMAT, "'%s' line %lld: '%.60s' is not a class of the model; 'chordseq "
                     "model show' lists them", v->path, (long long)line, name);
    free(name);
    *no = k;
    return rc;
}

static int read_rows(cs_intervals *v, cs_regions *in, cs_classes *classes, bool fixed)
{
    int rc;
    cs_region r;

    while ((rc = cs_regions_next(in, NULL, &r)) == CS_OK) {
        const char *last = v->n_row ? v->row[v->n_row - 1].name : NULL;
        struct row row = { last, { r.from, r.to, 0 }, 0 };
        const char *rest = cs_regions_rest(in, &row.line);
        CS_TRY(find_class(v, rest, row.line, classes, fixed, &row.span.class_no));
        if (!last || strcmp(last, r.contig) != 0)
            row.name = cs_arena_dup(v->mem, r.contig, strlen(r.contig));
        if (!row.name ||
            cs_try_grow((void **)&v->row, &v->cap, v->n_row + 1, sizeof *v->row) != CS_OK)
            return intervals_no_memory(v);
        v->row[v->n_row++] = row;
    }
out:
    return rc == CS_EOF ? CS_OK : rc;
}

static int by_place(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;
    const int by_name = strcmp(a->name, b->name);

    if (by_name != 0)
        return by_name;
    if (a->span.from != b->span.from)
        return a->span.from < b->span.from ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Joins the sorted rows; for two contradicting ones the error names the later line. */
static int join(cs_intervals *v)
{
    size_t n = 0;

    for (size_t i = 0; i < v->n_row; i++) {
        const struct row *r = &v->row[i];
        struct row *last = n ? &v->row[n - 1] : NULL;
        const bool near = last && strcmp(last->name, r->name) == 0 && r->span.from <= last->span.to;
        if (near && r->span.class_no == last->span.class_no) {
            if (r->span.to > last->span.to) {
                last->span.to = r->span.to;
                last->line = r->line;          /* messages are about the end */
            }
            continue;
        }
        if (near && r->span.from < last->span.to)
            return cs_fail(CS_EFORMAT, "'%s' line %lld: '%.60s' from %lld overlaps line %lld, "
                           "which has another class", v->path,
                           (long long)(r->line > last->line ? r->line : last->line), r->name,
                           (long long)r->span.from,
                           (long long)(r->line > last->line ? last->line : r->line));
        v->row[n++] = *r;
    }
    v->n_row = n;
    return CS_OK;
}

static int list_owners(cs_intervals *v)
{
    v->span = cs_alloc(v->n_row + 1, sizeof *v->span);
    v->owner = cs_alloc(v->n_row + 1, sizeof *v->owner);
    if (!v->span || !v->owner)
        return intervals_no_memory(v);
    for (size_t i = 0; i < v->n_row; i++) {
        v->span[i] = v->row[i].span;
        if (i == 0 || strcmp(v->row[i].name, v->row[i - 1].name) != 0)
            v->owner[v->n_owner++] = (struct owner){ v->row[i].name, (int64_t)i };
    }
    v->owner[v->n_owner] = (struct owner){ "", (int64_t)v->n_row };
    return CS_OK;
}

int cs_intervals_open(const char *path, cs_classes *classes, bool fixed, cs_intervals **out)
{
    int rc = CS_OK;
    cs_regions *in = NULL;
    cs_intervals *v = cs_xcalloc(1, sizeof *v);

    *out = NULL;
    v->path = path;
    v->mem = cs_arena_new();
    if (!v->mem) {
        rc = intervals_no_memory(v);
        goto out;
    }
    CS_TRY(cs_regions_open(NULL, 0, path, &in));
    CS_TRY(read_rows(v, in, classes, fixed));
    if (v->n_row > 0)
        qsort(v->row, v->n_row, sizeof *v->row, by_place);
    CS_TRY(join(v));
    CS_TRY(list_owners(v));
    *out = v;
    v = NULL;
out:
    cs_regions_free(in);
    cs_intervals_close(v);
    return rc;
}

static int by_name(const void *name, const void *owner)
{
    return strcmp(name, ((const struct owner *)owner)->name);
}

int cs_intervals_find(const cs_intervals *v, const char *name, int64_t n_base,
                      const cs_span **span, int64_t *n)
{
    const struct owner *o = bsearch(name, v->owner, (size_t)v->n_owner, sizeof *o, by_name);

    *span = v->span;
    *n = 0;
    if (!o)
        return CS_OK;
    *span = v->span + o->first;
    *n = o[1].first - o->first;
    const struct row *last = &v->row[o[1].first - 1];
    if (last->span.to > n_base)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: '%.60s' has %lld bases, but the interval "
                       "ends at %lld", v->path, (long long)last->line, name, (long long)n_base,
                       (long long)last->span.to);
    return CS_OK;
}

int64_t cs_intervals_records(const cs_intervals *v)
{
    return v->n_owner;
}

void cs_intervals_close(cs_intervals *v)
{
    if (!v)
        return;
    CS_FREE(v->row, v->span, v->owner);
    cs_arena_free(v->mem);
    free(v);
}

/*
 * taxonomy.c - taxonomy of a model's classes: taxids, ranks, names, parents.
 *
 * DESIGN
 * Tables and NCBI's dump become rows (taxa_rows.h), and rows a tree. A tree holds the classes and
 * their ancestors only, so it is small for any table.
 */
#include "io/taxonomy.h"

#include <jansson.h>
#include <string.h>

#include "base/log.h"
#include "base/names.h"
#include "base/opt.h"
#include "io/taxa_rows.h"

static const char no_rank[] = "no rank";

void cs_taxonomy_free(cs_taxonomy *t)
{
    if (!t)
        return;
    for (int32_t i = 0; i < t->n; i++) {
        free(t->node[i].name);
        free(t->node[i].rank);
    }
    CS_FREE(t->node, t->of_class, t);
}

int32_t cs_taxonomy_ncbi(const cs_taxonomy *t, int32_t i)
{
    while (i > 0 && t->node[i].taxid >= CS_TAXID_PRIVATE)
        i = t->node[i].parent;
    return i;
}

static int no_taxonomy_memory(int64_t n_node)
{
    return cs_fail(CS_EMEM, "out of memory for a taxonomy of %lld taxa", (long long)n_node);
}

/* A tree of at most n_node nodes, with the root in it. */
static int new_tree(size_t n_node, int32_t n_class, cs_taxonomy **out)
{
    cs_taxonomy *t = cs_xcalloc(1, sizeof *t);

    *out = t;
    t->node = cs_alloc(n_node + 1, sizeof *t->node);
    t->of_class = cs_alloc((size_t)n_class + 1, sizeof *t->of_class);
    if (!t->node || !t->of_class)
        return no_taxonomy_memory((int64_t)n_node);
    t->n_class = n_class;
    for (int32_t i = 0; i < n_class; i++)
        t->of_class[i] = -1;
    return CS_OK;
}

static int32_t add_node(cs_taxonomy *t, int64_t taxid, int32_t parent, const char *name,
                        const char *rank)
{
    t->node[t->n] = (cs_taxon){ taxid, parent, -1, cs_xstrdup(name),
                                cs_xstrdup(rank && *rank ? rank : no_rank) };
    return t->n++;
}

/* Steps from a node up to the root. */
static int depth_of(const cs_taxonomy *t, int32_t at)
{
    int n = 0;
    while ((at = t->node[at].parent) >= 0)
        n++;
    return n;
}

static void set_class(cs_taxonomy *t, int32_t node, int32_t class_no)
{
    t->of_class[class_no] = node;
    t->node[node].class_no = class_no;
}

struct numbered { int64_t taxid; int32_t node; };

static int by_taxid(const void *pa, const void *pb)
{
    const struct numbered *a = pa, *b = pb;

    return a->taxid != b->taxid ? (a->taxid > b->taxid) - (a->taxid < b->taxid)
                                : a->node - b->node;
}

/* The nodes in the order of their taxids: a model's file may have a million. NULL: no memory. */
static struct numbered *sort_taxids(const cs_taxonomy *t)
{
    struct numbered *v = cs_alloc((size_t)t->n + 1, sizeof *v);

    for (int32_t i = 0; v && i < t->n; i++)
        v[i] = (struct numbered){ t->node[i].taxid, i };
    if (v)
        qsort(v, (size_t)t->n, sizeof *v, by_taxid);
    return v;
}

/* The first of two nodes of one taxid, which the second follows; NULL: there are none. */
static const struct numbered *find_twice(const struct numbered *v, int32_t n)
{
    for (int32_t i = 1; i < n; i++)
        if (v[i - 1].taxid == v[i].taxid)
            return &v[i - 1];
    return NULL;
}

static int32_t find_taxid(const struct numbered *v, int32_t n, int64_t taxid)
{
    int32_t lo = 0, hi = n;

    while (lo < hi) {
        const int32_t mid = lo + (hi - lo) / 2;
        if (v[mid].taxid < taxid)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && v[lo].taxid == taxid ? v[lo].node : -1;
}

/* ---- without a table ------------------------------------------------------------ */

int cs_taxonomy_plain(const cs_class_taxon *c, int32_t n, cs_taxonomy **out)
{
    int rc = CS_OK;
    cs_taxonomy *t = NULL;
    struct numbered *by_no = NULL;
    int64_t next = CS_TAXID_PRIVATE;

    *out = NULL;
    CS_TRY(new_tree((size_t)n + 1, n, &t));
    add_node(t, CS_TAXID_ROOT, -1, "root", NULL);
    for (int32_t i = 0; i < n; i++) {
        const int64_t taxid = c[i].taxid > 0 ? c[i].taxid : next++;
        set_class(t, add_node(t, taxid, 0, c[i].name, c[i].rank), i);
    }
    if ((by_no = sort_taxids(t)) == NULL)
        CS_TRY(no_taxonomy_memory(t->n));
    const struct numbered *twice = find_twice(by_no, t->n);
    if (twice)
        CS_TRY(cs_fail(CS_EMODEL, "the model's classes '%s' and '%s' have the same taxid %lld",
                       t->node[twice->node].name, t->node[twice[1].node].name,
                       (long long)twice->taxid));
    *out = t;
    t = NULL;
out:
    free(by_no);
    cs_taxonomy_free(t);
    return rc;
}

/* ---- from rows ------------------------------------------------------------ */

struct building {
    const cs_taxa_rows *rows;
    cs_taxonomy        *t;
    int32_t            *node;    /* [rows] node of a row, or -1 */
    int64_t             next;    /* private taxid */
    int32_t             n_missing;       /* classes without a row */
    const char         *missing; /* the first of them */
};

/* "line 3 (phylum)"; rows of NCBI's dump have no line. */
static const char *place_text(const cs_taxa_row *row, char *text, size_t n)
{
    (void)snprintf(text, n, "%s %lld (%.40s)", row->line > 0 ? "line" : "taxid",
                   (long long)(row->line > 0 ? row->line : row->taxid),
                   row->rank ? row->rank : no_rank);
    return text;
}

/* The row of a row's parent; NULL: the root. */
static int parent_row(const struct building *b, const cs_taxa_row *row, const cs_taxa_row **up)
{
    int64_t taxid = 0;
    const cs_taxa_row *twice = NULL;
    char one[80], other[80];

    *up = NULL;
    if (!row->parent)
        return CS_OK;
    if (cs_parse_int(row->parent, &taxid) != CS_OK)
        taxid = 0;
    if (taxid > 0)
        *up = cs_taxa_rows_taxid(b->rows, taxid);
    if (!*up)
        *up = cs_taxa_rows_find(b->rows, row->parent, row, &twice);
    if (twice)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: '%.60s' has the parent '%.60s', the name of "
                       "several taxa, on %s and %s; give the parent's taxid instead, or rename "
                       "one of them and keep its scientific name in column 5", b->rows->what,
                       (long long)row->line, row->name, row->parent,
                       place_text(*up, one, sizeof one), place_text(twice, other, sizeof other));
    if (!*up && strcmp(row->parent, row->name) == 0)
        *up = row;
    if (*up && (*up)->taxid == CS_TAXID_ROOT)
        *up = NULL;
    else if (!*up && taxid != CS_TAXID_ROOT && strcmp(row->parent, "root") != 0)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: '%.60s' has the parent '%.60s', which has no "
                       "row", b->rows->what, (long long)row->line, row->name, row->parent);
    return CS_OK;
}

/* Insert a row and its ancestors into the tree. The path is at most as long as the table. */
static int place(struct building *b, const cs_taxa_row *row, int32_t *out)
{
    int rc = CS_OK;
    const cs_taxa_row **path = cs_alloc(b->rows->n + 1, sizeof *path);
    size_t n = 0;

    if (!path)
        return cs_fail(CS_EMEM, "out of memory for the taxonomy '%s'", b->rows->what);
    while (row && row->taxid != CS_TAXID_ROOT && b->node[row - b->rows->row] < 0) {
        if (n == b->rows->n) {
            rc = cs_fail(CS_EFORMAT, "'%s': '%.60s' is its own ancestor", b->rows->what,
                         row->name);
            goto out;
        }
        path[n++] = row;
        CS_TRY(parent_row(b, row, &row));
    }
    int32_t at = row && row->taxid != CS_TAXID_ROOT ? b->node[row - b->rows->row] : 0;
    if (n > 0 && (size_t)depth_of(b->t, at) + n > CS_TAXONOMY_DEPTH) {
        rc = cs_fail(CS_EFORMAT, "'%s': '%.60s' is more than %d steps from the root", b->rows->what,
                     path[0]->name, CS_TAXONOMY_DEPTH);
        goto out;
    }
    while (n > 0) {
        row = path[--n];
        const int64_t taxid = row->taxid ? row->taxid : b->next++;
        at = add_node(b->t, taxid, at, row->title ? row->title : row->name, row->rank);
        b->node[row - b->rows->row] = at;
    }
    *out = at;
out:
    free(path);
    return rc;
}

static int fail_ambiguous(const struct building *b, const cs_taxa_row *row, const char *name,
                          int32_t at)
{
    char line[32] = "";          /* rows of NCBI's dump have none */

    if (row->line > 0)
        (void)snprintf(line, sizeof line, " line %lld", (long long)row->line);
    return cs_fail(CS_EFORMAT, "'%s'%s: the class '%s' is %s, but a taxon has one class",
                   b->rows->what, line, name, at == 0 ? "the root" : "another one's taxon");
}

static int place_class(struct building *b, const char *name, int32_t class_no)
{
    int rc = CS_OK;
    int32_t at = 0;
    int64_t taxid;
    char one[80], other[80];
    const cs_taxa_row *twice, *row = cs_taxa_rows_find(b->rows, name, NULL, &twice);

    if (!row && cs_parse_int(name, &taxid) == CS_OK && taxid > CS_TAXID_ROOT)
        row = cs_taxa_rows_taxid(b->rows, taxid);
    if (twice)
        return cs_fail(CS_EFORMAT, "'%s': several taxa have the name of the class '%.60s', on %s "
                       "and %s; rename the rows that are not meant, and keep the scientific name "
                       "in column 5", b->rows->what, name, place_text(row, one, sizeof one),
                       place_text(twice, other, sizeof other));
    if (!row && b->n_missing++ == 0)
        b->missing = name;
    if (row)
        CS_TRY(place(b, row, &at));
    else
        at = add_node(b->t, b->next++, 0, name, NULL);
    if (at == 0 || b->t->node[at].class_no >= 0)
        rc = fail_ambiguous(b, row, name, at);
    else
        set_class(b->t, at, class_no);
out:
    return rc;
}

static int check_missing(const struct building *b, int32_t n_class)
{
    if (b->n_missing == 0)
        return CS_OK;
    if (b->n_missing == n_class && n_class > 1)
        return cs_fail(CS_EFORMAT, "'%s' has no taxon of the classes, such as '%.60s'; labels must "
                       "be names of taxa as in it", b->rows->what, b->missing);
    cs_warn("'%s' lacks %d of %d classes; placed under the root without an NCBI taxid: '%.60s'%s",
            b->rows->what, (int)b->n_missing, (int)n_class, b->missing,
            b->n_missing > 1 ? " and others" : "");
    return CS_OK;
}

/* Sort into preorder. */
static int sort_preorder(cs_taxonomy *t)
{
    const size_t n = (size_t)t->n;
    int32_t *link = cs_alloc(3 * n, sizeof *link), *child = link, *next = link + n,
            *to = link + 2 * n, n_done = 0;
    cs_taxon *node = cs_alloc(n, sizeof *node);

    if (!link || !node) {
        free(link);
        free(node);
        return no_taxonomy_memory(t->n);
    }
    for (size_t i = 0; i < n; i++)
        child[i] = next[i] = -1;
    for (int32_t i = t->n - 1; i > 0; i--) {      /* backwards, so that lists are in order */
        next[i] = child[t->node[i].parent];
        child[t->node[i].parent] = i;
    }
    for (int32_t i = 0; i >= 0;) {
        node[n_done] = t->node[i];
        to[i] = n_done++;
        int32_t at = child[i];
        for (; at < 0 && i > 0; i = t->node[i].parent)
            at = next[i];
        i = at;
    }
    for (int32_t i = 1; i < t->n; i++)
        node[i].parent = to[node[i].parent];
    for (int32_t i = 0; i < t->n_class; i++)
        t->of_class[i] = to[t->of_class[i]];
    free(t->node);
    t->node = node;
    free(link);
    return CS_OK;
}

static int check_names(const char *what, const cs_taxonomy *t)
{
    for (int32_t i = 0; i < t->n; i++)
        if (!cs_name_is_plain(t->node[i].name) || !cs_name_is_plain(t->node[i].rank))
            return cs_fail(CS_EFORMAT, "'%s': the taxon '%s' of rank '%s' contains a tab, "
                           "newline or other control character", what,
                           t->node[i].name, t->node[i].rank);
    return CS_OK;
}

static int build(const cs_taxa_rows *rows, const char *const *class_name, int32_t n,
                 cs_taxonomy **out)
{
    int rc = CS_OK;
    struct building b = { .rows = rows, .next = CS_TAXID_PRIVATE };
    const cs_taxa_row *root = NULL;

    b.node = cs_alloc(rows->n + 1, sizeof *b.node);
    if (!b.node)
        return cs_fail(CS_EMEM, "out of memory for the taxonomy '%s'", rows->what);
    for (size_t i = 0; i < rows->n; i++) {
        b.node[i] = -1;
        root = rows->row[i].taxid == CS_TAXID_ROOT ? &rows->row[i] : root;
        if (rows->row[i].taxid >= b.next)
            b.next = rows->row[i].taxid + 1;
    }
    CS_TRY(new_tree(rows->n + (size_t)n + 1, n, &b.t));
    add_node(b.t, CS_TAXID_ROOT, -1, root && root->title ? root->title : "root",
             root ? root->rank : NULL);
    for (int32_t i = 0; i < n; i++)
        CS_TRY(place_class(&b, class_name[i], i));
    CS_TRY(check_missing(&b, n));
    CS_TRY(check_names(rows->what, b.t));
    CS_TRY(sort_preorder(b.t));
    *out = b.t;
    b.t = NULL;
out:
    cs_taxonomy_free(b.t);
    free(b.node);
    return rc;
}

int cs_taxonomy_read(const char *table, const char *dump, const char *const *class_name, int32_t n,
                     cs_taxonomy **out)
{
    int rc = CS_OK;
    cs_taxa_rows rows;

    cs_taxa_rows_init(&rows, dump);
    *out = NULL;
    if (table)
        CS_TRY(cs_taxa_read_table(table, &rows));
    if (dump)
        CS_TRY(cs_taxa_read_dump(dump, class_name, n, &rows));
    CS_TRY(build(&rows, class_name, n, out));
out:
    cs_taxa_rows_release(&rows);
    return rc;
}

int cs_taxonomy_lineages(const char *ranks, const char *const *class_name, int32_t n,
                         cs_taxonomy **out)
{
    int rc = CS_OK;
    cs_taxa_rows rows;

    cs_taxa_rows_init(&rows, "the lineages");
    *out = NULL;
    CS_TRY(cs_taxa_read_lineages(class_name, n, ranks, &rows));
    CS_TRY(build(&rows, class_name, n, out));
out:
    cs_taxa_rows_release(&rows);
    return rc;
}

/* ---- as a model keeps it ------------------------------------------------------------ */

char *cs_taxonomy_text(const cs_taxonomy *t)
{
    json_t *all = json_array();
    int failed = 0;

    for (int32_t i = 0; i < t->n; i++) {
        const cs_taxon *v = &t->node[i];
        const int64_t up = v->parent < 0 ? 0 : t->node[v->parent].taxid;
        failed |= json_array_append_new(all, json_pack("{s:I, s:I, s:s, s:s}", "taxid",
                      (json_int_t)v->taxid, "parent", (json_int_t)up, "rank", v->rank, "name",
                      v->name));
    }
    char *text = failed ? NULL : json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}

static int unsound(const char *what, const char *why)
{
    return cs_fail(CS_EMODEL, "'%s' has an invalid taxonomy: %s", what, why);
}

static int parse_node(cs_taxonomy *t, const json_t *v, const char *what)
{
    const char *name = json_string_value(json_object_get(v, "name"));
    const char *rank = json_string_value(json_object_get(v, "rank"));
    const json_int_t taxid = json_integer_value(json_object_get(v, "taxid"));

    if (!name || !*name || !rank || taxid < 1 || taxid > INT32_MAX)
        return unsound(what, "a taxon lacks its name, rank or number");
    if (!cs_name_is_plain(name) || !cs_name_is_plain(rank))
        return unsound(what, "a name or rank has a control character");
    add_node(t, taxid, -1, name, rank);
    return CS_OK;
}

/* Of node i; those before it have theirs. */
static int parse_parent(cs_taxonomy *t, int32_t i, const struct numbered *by_no, const json_t *v,
                        const char *what)
{
    const json_int_t up = json_integer_value(json_object_get(v, "parent"));
    const int32_t parent = find_taxid(by_no, t->n, up);

    if (i == 0)
        return t->node[0].taxid == CS_TAXID_ROOT && up == 0
             ? CS_OK : unsound(what, "a taxon comes before its parent");
    if (parent < 0 || parent >= i)
        return unsound(what, "a taxon comes before its parent");
    if (depth_of(t, parent) >= CS_TAXONOMY_DEPTH)
        return unsound(what, "it is too deep");
    t->node[i].parent = parent;
    return CS_OK;
}

int cs_taxonomy_parse(const char *text, const char *what, const cs_class_taxon *c, int32_t n,
                      cs_taxonomy **out)
{
    int rc = CS_OK;
    cs_taxonomy *t = NULL;
    struct numbered *by_no = NULL;
    json_t *all = json_loads(text, 0, NULL);
    const size_t n_node = json_array_size(all);

    *out = NULL;
    CS_TRY(new_tree(n_node, n, &t));
    for (size_t i = 0; i < n_node; i++)
        CS_TRY(parse_node(t, json_array_get(all, i), what));
    if ((by_no = sort_taxids(t)) == NULL)
        CS_TRY(no_taxonomy_memory(t->n));
    if (find_twice(by_no, t->n))
        CS_TRY(unsound(what, "a number occurs twice"));
    for (int32_t i = 0; i < t->n; i++)
        CS_TRY(parse_parent(t, i, by_no, json_array_get(all, (size_t)i), what));
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = find_taxid(by_no, t->n, c[i].taxid);
        if (at <= 0 || t->node[at].class_no >= 0)
            CS_TRY(unsound(what, "a class is missing, or two are one"));
        set_class(t, at, i);
    }
    *out = t;
    t = NULL;
out:
    free(by_no);
    json_decref(all);
    cs_taxonomy_free(t);
    return rc;
}

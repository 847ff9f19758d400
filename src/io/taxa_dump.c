/*
 * taxa_dump.c - taxa from NCBI's taxonomy dump: nodes.dmp and names.dmp.
 *
 * DESIGN
 * Source: readme of NCBI's taxdump.tar.gz: fields end in "\t|\t", rows in "\t|\n"; nodes.dmp has
 * taxid, parent, rank first, names.dmp taxid, name, unique name, kind. Some three million taxa, of
 * which a model needs few: nodes are an array sorted by taxid (16 bytes each), not one by taxid,
 * because other dumps have few and large taxids; names.dmp is read twice, for the classes' taxids
 * and for the ancestors' names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/opt.h"
#include "base/path_conflicts.h"
#include "io/taxa_rows.h"
#include "io/taxonomy.h"

enum { MAX_TAXID = CS_TAXID_PRIVATE - 1, MAX_RANKS = 255, N_FIELD = 4 };

/* The taxon of a name, and another one of it; 0: none. */
struct named { int64_t taxid, other; };
/* A class and the taxa of its name, case-sensitive and not. */
struct wanted { const char *name; struct named exact, loose; };

/* row: its row + 1, 0: none; while nodes.dmp is read, the number of its line */
struct node { int32_t taxid, up, row; uint8_t rank; };

struct dump {
    const char   *folder;
    cs_taxa_rows *rows;
    struct node  *node;          /* [n] by taxid, once sorted */
    size_t        n, cap;
    size_t        at;            /* the node found last */
    bool          is_sorted;
    const char   *rank_name[MAX_RANKS];
    int           n_rank;
    struct wanted *wanted;       /* [n_class] sorted by name, ignoring case */
    int32_t       n_class;
};

/* Calls `take` with the fields of every row. */
static int each_row(struct dump *d, const char *file,
                    int (*take)(struct dump *d, char **field, int64_t taxid))
{
    int rc = CS_OK;
    char path[4096], *line = NULL, *field[N_FIELD];
    size_t cap = 0;
    int64_t no = 0, taxid;

    (void)snprintf(path, sizeof path, "%s/%s", d->folder, file);
    if ((rc = cs_paths_add_input(path)) != CS_OK)
        return rc;
    FILE *in = fopen(path, "re");
    if (!in)
        return cs_fail(CS_EIO, "cannot open '%s': %s", path, strerror(errno));
    for (ssize_t n; rc == CS_OK && (n = getline(&line, &cap, in)) > 0;) {
        int k = 0;
        no++;
        for (char *p = line; p && k < N_FIELD; k++) {
            field[k] = p;
            if ((p = strstr(p, "\t|")) != NULL) {
                *p = '\0';
                p += p[2] == '\t' ? 3 : 2;
            }
        }
        if (k < N_FIELD || cs_parse_int(field[0], &taxid) != CS_OK || taxid < 1
            || taxid > MAX_TAXID)
            rc = cs_fail(CS_EFORMAT, "'%s' line %lld: not a row of NCBI's taxonomy dump", path,
                         (long long)no);
        else
            rc = take(d, field, taxid);
    }
    if (rc == CS_OK && ferror(in))
        rc = cs_fail(CS_EIO, "cannot read '%s': %s", path, strerror(errno));
    (void)fclose(in);
    free(line);
    return rc;
}

static const char *keep(struct dump *d, const char *s)
{
    return cs_arena_dup(d->rows->text, s, strlen(s));
}

/* ---- nodes.dmp ------------------------------------------------------------ */

static int rank_number(struct dump *d, const char *rank, uint8_t *no)
{
    int i = 0;

    while (i < d->n_rank && strcmp(d->rank_name[i], rank) != 0)
        i++;
    if (i == MAX_RANKS)
        return cs_fail(CS_EFORMAT, "'%s/nodes.dmp' has more than %d ranks", d->folder, MAX_RANKS);
    if (i == d->n_rank && !(d->rank_name[d->n_rank++] = keep(d, rank)))
        return cs_fail(CS_EMEM, "out of memory for the ranks of '%s'", d->folder);
    *no = (uint8_t)i;
    return CS_OK;
}

static int take_node(struct dump *d, char **field, int64_t taxid)
{
    int rc = CS_OK;
    int64_t up;

    if (cs_parse_int(field[1], &up) != CS_OK || up < 1 || up > MAX_TAXID)
        return cs_fail(CS_EFORMAT, "'%s/nodes.dmp': the parent '%.60s' of taxon %lld is not a "
                       "taxid", d->folder, field[1], (long long)taxid);
    if (d->n == INT32_MAX)
        return cs_fail(CS_EFORMAT, "'%s/nodes.dmp' has more than %d rows", d->folder, INT32_MAX);
    CS_TRY(cs_grow((void **)&d->node, &d->cap, d->n + 1, sizeof *d->node));
    d->is_sorted = d->is_sorted && (d->n == 0 || d->node[d->n - 1].taxid < taxid);
    struct node *x = &d->node[d->n];
    *x = (struct node){ (int32_t)taxid, (int32_t)up, (int32_t)d->n, 0 };
    d->n++;
    rc = rank_number(d, field[2], &x->rank);
out:
    return rc;
}

static int by_taxid(const void *a, const void *b)
{
    const struct node *x = a, *y = b;

    return x->taxid != y->taxid ? (x->taxid > y->taxid) - (x->taxid < y->taxid)
                                : (x->row > y->row) - (x->row < y->row);
}

/* Sorts the nodes, as NCBI does; the last row of a taxon counts. */
static void sort_nodes(struct dump *d)
{
    size_t n = 0;

    if (!d->is_sorted)
        qsort(d->node, d->n, sizeof *d->node, by_taxid);
    for (size_t i = 0; i < d->n; i++) {
        n += n == 0 || d->node[n - 1].taxid != d->node[i].taxid;
        d->node[n - 1] = d->node[i];
        d->node[n - 1].row = 0;
    }
    d->n = n;
}

/* The node of a taxon, or NULL. names.dmp has the order of nodes.dmp: mostly the last one found or
 * the next. */
static struct node *find(struct dump *d, int64_t taxid)
{
    size_t from = 0, to = d->n;

    for (size_t i = d->at; i < d->n && i < d->at + 2; i++)
        if (d->node[i].taxid == taxid)
            return &d->node[d->at = i];
    while (from < to) {
        const size_t mid = from + (to - from) / 2;
        if (d->node[mid].taxid < taxid)
            from = mid + 1;
        else
            to = mid;
    }
    if (from == d->n || d->node[from].taxid != taxid)
        return NULL;
    return &d->node[d->at = from];
}

/* ---- names.dmp ------------------------------------------------------------ */

static void note(struct named *seen, int64_t taxid)
{
    if (seen->taxid == 0)
        seen->taxid = taxid;
    else if (seen->taxid != taxid && seen->other == 0)
        seen->other = taxid;
}

static int by_name(const void *a, const void *b)
{
    return strcasecmp(((const struct wanted *)a)->name, ((const struct wanted *)b)->name);
}

static int take_name_of_class(struct dump *d, char **field, int64_t taxid)
{
    const struct wanted key = { .name = field[1] };

    if (strcmp(field[3], "scientific name") != 0)
        return CS_OK;
    struct wanted *w = bsearch(&key, d->wanted, (size_t)d->n_class, sizeof *w, by_name);
    while (w && w > d->wanted && by_name(w - 1, &key) == 0)
        w--;
    for (; w && w < d->wanted + d->n_class && by_name(w, &key) == 0; w++) {
        note(&w->loose, taxid);
        if (strcmp(w->name, field[1]) == 0)
            note(&w->exact, taxid);
    }
    return CS_OK;
}

static int take_title(struct dump *d, char **field, int64_t taxid)
{
    if (strcmp(field[3], "scientific name") != 0)
        return CS_OK;
    const struct node *x = find(d, taxid);
    if (!x || x->row == 0)
        return CS_OK;
    cs_taxa_row *r = &d->rows->row[x->row - 1];
    if (r->title)
        return CS_OK;
    const char *title = keep(d, field[1]);
    if (!title)
        return cs_fail(CS_EMEM, "out of memory for the names of '%s'", d->folder);
    if (!*r->name)               /* an ancestor: a class may have its name */
        r->name = title;
    return cs_taxa_rows_title(d->rows, (size_t)(r - d->rows->row), title);
}

/* ---- rows ------------------------------------------------------------ */

static int add_row(struct dump *d, const char *name, int64_t taxid)
{
    return cs_taxa_rows_add(d->rows, &(cs_taxa_row){ .name = name, .taxid = taxid });
}

/* A taxon has one row: the table's, or that of a class whose name differs in case. */
static int add_class(struct dump *d, const char *name, int64_t taxid)
{
    const cs_taxa_row *old = cs_taxa_rows_taxid(d->rows, taxid);

    return old ? cs_names_add(&d->rows->by_name, name, old - d->rows->row)
               : add_row(d, name, taxid);
}

/* Classes without a row, by scientific name; then the row of each taxon. */
static int add_classes(struct dump *d)
{
    int rc = CS_OK;
    int64_t taxid;
    const cs_taxa_row *twice;

    for (int32_t i = 0; i < d->n_class; i++) {
        const struct wanted *w = &d->wanted[i];
        struct named taxon = w->exact.taxid ? w->exact : w->loose;
        if (taxon.taxid == 0 && cs_parse_int(w->name, &taxid) == CS_OK &&
            taxid > CS_TAXID_ROOT && find(d, taxid))
            taxon.taxid = taxid;
        if (cs_taxa_rows_find(d->rows, w->name, NULL, &twice) || taxon.taxid == 0)
            continue;
        if (taxon.other)
            return cs_fail(CS_EUSAGE, "several taxa in '%s' have the name '%.60s', such as %lld "
                           "and %lld; choose one with %s, a table of names and taxids", d->folder,
                           w->name, (long long)taxon.taxid, (long long)taxon.other,
                           CS_OPTION("taxa"));
        CS_TRY(add_class(d, w->name, taxon.taxid));
    }
    for (size_t i = 0; i < d->rows->n; i++) {
        struct node *x = find(d, d->rows->row[i].taxid);
        if (x)
            x->row = (int32_t)i + 1;
    }
out:
    return rc;
}

static int add_ancestor(struct dump *d, struct node *x)
{
    if (x->taxid == CS_TAXID_ROOT || x->row)
        return CS_OK;
    x->row = (int32_t)d->rows->n + 1;
    return add_row(d, "", x->taxid);
}

/* Rank and parent of row i from the dump; appends a row for its parent. */
static int complete(struct dump *d, size_t i)
{
    int rc = CS_OK;
    int64_t up;
    char number[24];
    struct node *parent;
    cs_taxa_row *r = &d->rows->row[i];

    if (r->taxid == 0 && r->parent && cs_parse_int(r->parent, &up) == CS_OK
        && (parent = find(d, up)) != NULL)
        return add_ancestor(d, parent);
    if (r->taxid == 0 || r->taxid >= CS_TAXID_PRIVATE)
        return CS_OK;
    const struct node *x = find(d, r->taxid);
    if (!x)
        return cs_fail(CS_EFORMAT, "'%s' has no taxon %lld%s%s", d->folder, (long long)r->taxid,
                       *r->name ? ", needed for class " : "", r->name);
    if ((parent = find(d, x->up)) == NULL)
        return cs_fail(CS_EFORMAT, "'%s': taxon %lld has the parent %lld, which is missing",
                       d->folder, (long long)r->taxid, (long long)x->up);
    (void)snprintf(number, sizeof number, "%lld", (long long)x->up);
    r->rank = d->rank_name[x->rank];
    if (!(r->parent = keep(d, number)))
        return cs_fail(CS_EMEM, "out of memory for the taxa of '%s'", d->folder);
    CS_TRY(add_ancestor(d, parent));
out:
    return rc;
}

int cs_taxa_read_dump(const char *folder, const char *const *class_name, int32_t n,
                      cs_taxa_rows *rows)
{
    int rc = CS_OK;
    struct dump d = { .folder = folder, .rows = rows, .n_class = n, .is_sorted = true };

    d.wanted = cs_xcalloc((size_t)n + 1, sizeof *d.wanted);
    for (int32_t i = 0; i < n; i++)
        d.wanted[i].name = class_name[i];
    qsort(d.wanted, (size_t)n, sizeof *d.wanted, by_name);
    CS_TRY(each_row(&d, "nodes.dmp", take_node));
    sort_nodes(&d);
    CS_TRY(each_row(&d, "names.dmp", take_name_of_class));
    CS_TRY(add_classes(&d));
    for (size_t i = 0; i < rows->n; i++)      /* grows while it runs */
        CS_TRY(complete(&d, i));
    CS_TRY(each_row(&d, "names.dmp", take_title));
    for (size_t i = 0; rc == CS_OK && i < rows->n; i++)
        if (!*rows->row[i].name)
            rc = cs_fail(CS_EFORMAT, "'%s/names.dmp' has no scientific name for taxon %lld", folder,
                         (long long)rows->row[i].taxid);
out:
    CS_FREE(d.node, d.wanted);
    return rc;
}

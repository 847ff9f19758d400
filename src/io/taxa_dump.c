/*
 * taxa_dump.c - taxa from NCBI's taxonomy dump: nodes.dmp and names.dmp.
 *
 * DESIGN
 * Source: readme of NCBI's taxdump.tar.gz: fields end in "\t|\t", rows in "\t|\n"; nodes.dmp has
 * taxid, parent, rank first, names.dmp taxid, name, unique name, kind. Some three million taxa, of
 * which a model needs few: parents, ranks and rows are arrays by taxid (40 MB); names.dmp is read
 * twice, for the classes' taxids and for the ancestors' names.
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

enum { MAX_TAXID = 1 << 28, MAX_RANKS = 255, N_FIELD = 4 };

/* A class and the taxon of its name, case-sensitive and not; 0: none, -1: several. */
struct wanted { const char *name; int64_t exact, loose; };

struct dump {
    const char   *folder;
    cs_taxa_rows *rows;
    int32_t      *up;            /* [cap] parent by taxid; 0: no such taxon */
    uint8_t      *rank;          /* [cap_rank] */
    size_t        cap, cap_rank, n;
    int32_t      *row_of;        /* [n] row + 1 by taxid, 0: none */
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
    const size_t i = (size_t)taxid;

    if (cs_parse_int(field[1], &up) != CS_OK || up < 1 || up > MAX_TAXID)
        return cs_fail(CS_EFORMAT, "'%s/nodes.dmp': the parent '%.60s' of taxon %lld is not a "
                       "taxid", d->folder, field[1], (long long)taxid);
    CS_TRY(cs_grow((void **)&d->up, &d->cap, i + 1, sizeof *d->up));
    CS_TRY(cs_grow((void **)&d->rank, &d->cap_rank, i + 1, sizeof *d->rank));
    while (d->n <= i)
        d->up[d->n++] = 0;
    d->up[i] = (int32_t)up;
    rc = rank_number(d, field[2], &d->rank[i]);
out:
    return rc;
}

static int known(const struct dump *d, int64_t taxid)
{
    return taxid > 0 && (size_t)taxid < d->n && d->up[taxid] > 0;
}

/* ---- names.dmp ------------------------------------------------------------ */

static void note(int64_t *seen, int64_t taxid)
{
    *seen = *seen == 0 || *seen == taxid ? taxid : -1;
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
    if (!known(d, taxid) || d->row_of[taxid] == 0 || strcmp(field[3], "scientific name") != 0)
        return CS_OK;
    cs_taxa_row *r = &d->rows->row[d->row_of[taxid] - 1];
    if (!r->title && !(r->title = keep(d, field[1])))
        return cs_fail(CS_EMEM, "out of memory for the names of '%s'", d->folder);
    if (!*r->name)               /* an ancestor: rows of classes have their names */
        return cs_taxa_rows_name(d->rows, (size_t)(r - d->rows->row), r->title);
    return CS_OK;
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

    for (int32_t i = 0; i < d->n_class; i++) {
        const struct wanted *w = &d->wanted[i];
        const int64_t taxid = w->exact ? w->exact : w->loose;
        if (cs_taxa_rows_find(d->rows, w->name) || taxid == 0)
            continue;
        if (taxid < 0)
            return cs_fail(CS_EUSAGE, "several taxa in '%s' have the name '%s'; choose one with "
                           "--taxa", d->folder, w->name);
        CS_TRY(add_class(d, w->name, taxid));
    }
    d->row_of = cs_alloc(d->n + 1, sizeof *d->row_of);
    if (!d->row_of)
        return cs_fail(CS_EMEM, "out of memory for the taxa of '%s'", d->folder);
    memset(d->row_of, 0, (d->n + 1) * sizeof *d->row_of);
    for (size_t i = 0; i < d->rows->n; i++)
        if (known(d, d->rows->row[i].taxid))
            d->row_of[d->rows->row[i].taxid] = (int32_t)i + 1;
out:
    return rc;
}

static int add_ancestor(struct dump *d, int64_t taxid)
{
    if (taxid == CS_TAXID_ROOT || d->row_of[taxid])
        return CS_OK;
    d->row_of[taxid] = (int32_t)d->rows->n + 1;
    return add_row(d, "", taxid);
}

/* Rank and parent of row i from the dump; appends a row for its parent. */
static int complete(struct dump *d, size_t i)
{
    int rc = CS_OK;
    int64_t up;
    char number[24];
    cs_taxa_row *r = &d->rows->row[i];

    if (r->taxid == 0 && r->parent && cs_parse_int(r->parent, &up) == CS_OK && known(d, up))
        return add_ancestor(d, up);
    if (r->taxid == 0 || r->taxid >= CS_TAXID_PRIVATE)
        return CS_OK;
    if (!known(d, r->taxid))
        return cs_fail(CS_EFORMAT, "'%s' has no taxon %lld%s%s", d->folder, (long long)r->taxid,
                       *r->name ? ", needed for class " : "", r->name);
    up = d->up[r->taxid];
    if (!known(d, up))
        return cs_fail(CS_EFORMAT, "'%s': taxon %lld has the parent %lld, which is missing",
                       d->folder, (long long)r->taxid, (long long)up);
    (void)snprintf(number, sizeof number, "%lld", (long long)up);
    r->rank = d->rank_name[d->rank[r->taxid]];
    if (!(r->parent = keep(d, number)))
        return cs_fail(CS_EMEM, "out of memory for the taxa of '%s'", d->folder);
    CS_TRY(add_ancestor(d, up));
out:
    return rc;
}

int cs_taxa_read_dump(const char *folder, const char *const *class_name, int32_t n,
                      cs_taxa_rows *rows)
{
    int rc = CS_OK;
    struct dump d = { .folder = folder, .rows = rows, .n_class = n };

    d.wanted = cs_xcalloc((size_t)n + 1, sizeof *d.wanted);
    for (int32_t i = 0; i < n; i++)
        d.wanted[i].name = class_name[i];
    qsort(d.wanted, (size_t)n, sizeof *d.wanted, by_name);
    CS_TRY(each_row(&d, "nodes.dmp", take_node));
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
    CS_FREE(d.up, d.rank, d.row_of, d.wanted);
    return rc;
}

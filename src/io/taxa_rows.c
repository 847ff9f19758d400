/* taxa_rows.c - rows of taxa before a tree is built. */
#include "io/taxa_rows.h"

#include <stdio.h>
#include <string.h>

enum { NUMBER_BYTES = 24 };

void cs_taxa_rows_init(cs_taxa_rows *r, const char *what)
{
    *r = (cs_taxa_rows){ .what = what, .text = cs_arena_new() };
}

void cs_taxa_rows_release(cs_taxa_rows *r)
{
    free(r->row);
    cs_names_release(&r->by_name);
    cs_names_release(&r->by_title);
    cs_names_release(&r->by_taxid);
    cs_arena_free(r->text);
}

/* The rows of a name are a list: from the first one, the others from the last to the second. */
static int set_row_name(cs_taxa_rows *r, size_t i, const char *name)
{
    const int64_t first = *name ? cs_names_find(&r->by_name, name) : -1;

    r->row[i].name = name;
    r->row[i].same_name = 0;
    if (first < 0)
        return *name ? cs_names_add(&r->by_name, name, (int64_t)i) : CS_OK;
    r->row[i].same_name = r->row[first].same_name;
    r->row[first].same_name = i + 1;
    return CS_OK;
}

int cs_taxa_rows_title(cs_taxa_rows *r, size_t i, const char *title)
{
    const int64_t first = cs_names_find(&r->by_title, title);

    r->row[i].title = title;
    r->row[i].same_title = 0;
    if (first < 0)
        return cs_names_add(&r->by_title, title, (int64_t)i);
    r->row[i].same_title = r->row[first].same_title;
    r->row[first].same_title = i + 1;
    return CS_OK;
}

int cs_taxa_rows_add(cs_taxa_rows *r, const cs_taxa_row *row)
{
    int rc = CS_OK;
    char number[NUMBER_BYTES];

    CS_TRY(cs_grow((void **)&r->row, &r->cap, r->n + 1, sizeof *r->row));
    r->row[r->n] = *row;
    CS_TRY(set_row_name(r, r->n, row->name));
    if (row->title)
        CS_TRY(cs_taxa_rows_title(r, r->n, row->title));
    if (row->taxid) {
        const int n = snprintf(number, sizeof number, "%lld", (long long)row->taxid);
        const char *key = cs_arena_dup(r->text, number, (size_t)n);
        if (!key)
            return cs_fail(CS_EMEM, "out of memory for '%s'", r->what);
        CS_TRY(cs_names_add(&r->by_taxid, key, (int64_t)r->n));
    }
    r->n++;
out:
    return rc;
}

const cs_taxa_row *cs_taxa_rows_taxid(const cs_taxa_rows *r, int64_t taxid)
{
    char number[NUMBER_BYTES];

    (void)snprintf(number, sizeof number, "%lld", (long long)taxid);
    const int64_t i = cs_names_find(&r->by_taxid, number);
    return i >= 0 ? &r->row[i] : NULL;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

bool cs_taxa_rows_equal(const cs_taxa_row *a, const cs_taxa_row *b)
{
    return a->taxid == b->taxid && same_text(a->name, b->name) && same_text(a->rank, b->rank) &&
           same_text(a->parent, b->parent) && same_text(a->title, b->title);
}

/* ---- rows of one name ------------------------------------------------------------ */

/* A rank's place from the top down; 0: unknown, such as "clade". */
static int level_of(const char *rank)
{
    static const char *const known[] = { "domain", "kingdom", "phylum", "class", "order",
                                         "family", "genus", "species" };
    const int step = rank && strncmp(rank, "super", 5) == 0 ? -1
                   : rank && strncmp(rank, "sub", 3) == 0   ? 1 : 0;
    const char *base = rank ? rank + (step < 0 ? 5 : step > 0 ? 3 : 0) : "";

    for (int i = 0; i < (int)(sizeof known / sizeof *known); i++)
        if (strcmp(base, known[i]) == 0)
            return 3 * (i + 1) + step;
    return 0;
}

/* Rows of one name, then those of one title. */
struct namesakes { const cs_taxa_rows *r; int64_t name, title; };

static const cs_taxa_row *row_at(const cs_taxa_rows *r, int64_t i)
{
    return i >= 0 ? &r->row[i] : NULL;
}

/* The row after one of them, NULL: the first; titles: has the list of titles begun? */
static const cs_taxa_row *next_of(struct namesakes v, const cs_taxa_row *row, bool *titles)
{
    const size_t after = !row ? 0 : *titles ? row->same_title : row->same_name;
    const cs_taxa_row *next = after > 0 ? &v.r->row[after - 1] : row ? NULL : row_at(v.r, v.name);

    if (next || *titles)
        return next;
    *titles = true;
    return row_at(v.r, v.title);
}

/* The level of `below`, if all namesakes have one, too; 0: ranks do not tell which one is meant. */
static int common_level(struct namesakes v, const cs_taxa_row *below)
{
    bool titles = false;
    int level = below ? level_of(below->rank) : 0;

    for (const cs_taxa_row *row = NULL; level > 0 && (row = next_of(v, row, &titles)) != NULL;)
        if (level_of(row->rank) == 0)
            level = 0;
    return level;
}

/* How near a row is above a level; 0: it is not, or there is no level. */
static int nearness(const cs_taxa_row *row, int below)
{
    const int level = level_of(row->rank);

    return level < below ? level : 0;
}

/* The nearest one above a level, not `below` itself; a repeated line counts once. */
static const cs_taxa_row *pick(struct namesakes v, const cs_taxa_row *below, int level,
                               const cs_taxa_row **twice)
{
    bool titles = false;
    const cs_taxa_row *best = NULL;

    *twice = NULL;
    for (const cs_taxa_row *row = NULL; (row = next_of(v, row, &titles)) != NULL;) {
        if ((below && cs_taxa_rows_equal(row, below)) || (best && cs_taxa_rows_equal(row, best)))
            continue;
        const int more = best ? nearness(row, level) - nearness(best, level) : 1;
        const cs_taxa_row *later = more == 0 && row < best ? best : row;
        if (more > 0)
            *twice = NULL;
        if (more == 0 && (!*twice || later < *twice))
            *twice = later;
        if (more > 0 || (more == 0 && row < best))
            best = row;
    }
    return best;
}

const cs_taxa_row *cs_taxa_rows_find(const cs_taxa_rows *r, const char *name,
                                     const cs_taxa_row *below, const cs_taxa_row **twice)
{
    const struct namesakes all = { r, cs_names_find(&r->by_name, name),
                                   cs_names_find(&r->by_title, name) },
                           names = { r, all.name, -1 }, titles = { r, -1, all.title };
    const int level = common_level(all, below);
    const cs_taxa_row *row = level > 0 ? pick(all, below, level, twice) : NULL;

    if (row && nearness(row, level) > 0)
        return row;
    row = pick(names, below, 0, twice);
    return row ? row : pick(titles, below, 0, twice);
}

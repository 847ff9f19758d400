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
    cs_names_release(&r->by_taxid);
    cs_arena_free(r->text);
}

int cs_taxa_rows_name(cs_taxa_rows *r, size_t i, const char *name)
{
    r->row[i].name = name;
    return *name ? cs_names_add(&r->by_name, name, (int64_t)i) : CS_OK;
}

int cs_taxa_rows_add(cs_taxa_rows *r, const cs_taxa_row *row)
{
    int rc = CS_OK;
    char number[NUMBER_BYTES];

    CS_TRY(cs_grow((void **)&r->row, &r->cap, r->n + 1, sizeof *r->row));
    r->row[r->n] = *row;
    CS_TRY(cs_taxa_rows_name(r, r->n, row->name));
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

/* Few have a title other than their name. */
const cs_taxa_row *cs_taxa_rows_find(const cs_taxa_rows *r, const char *name)
{
    const int64_t no = cs_names_find(&r->by_name, name);

    if (no >= 0)
        return &r->row[no];
    for (size_t i = 0; i < r->n; i++)
        if (r->row[i].title && strcmp(r->row[i].title, name) == 0)
            return &r->row[i];
    return NULL;
}

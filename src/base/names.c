/* names.c - hash table from names to numbers: open addressing, at most half full. */
#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* FNV-1a, 64 bits. Source: Fowler, Noll, Vo; draft-eastlake-fnv. */
static uint64_t hash(const char *s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(0x100000001b3);
    return h;
}

/* The slot of a name, or the free one where it belongs. */
static struct cs_name *slot_of(const cs_names *t, const char *name)
{
    size_t i = (size_t)hash(name) & (t->n_slot - 1);

    while (t->slot[i].name && strcmp(t->slot[i].name, name) != 0)
        i = (i + 1) & (t->n_slot - 1);
    return &t->slot[i];
}

static int enlarge(cs_names *t)
{
    cs_names more = { NULL, t->n_slot ? 2 * t->n_slot : 64, t->n };

    more.slot = cs_alloc(more.n_slot, sizeof *more.slot);
    if (!more.slot)
        return cs_fail(CS_EMEM, "out of memory for %zu names", t->n);
    memset(more.slot, 0, more.n_slot * sizeof *more.slot);
    for (size_t i = 0; i < t->n_slot; i++)
        if (t->slot[i].name)
            *slot_of(&more, t->slot[i].name) = t->slot[i];
    free(t->slot);
    *t = more;
    return CS_OK;
}

int64_t cs_names_find(const cs_names *t, const char *name)
{
    const struct cs_name *s = t->n_slot ? slot_of(t, name) : NULL;

    return s && s->name ? s->no : -1;
}

int cs_names_add(cs_names *t, const char *name, int64_t no)
{
    if (2 * (t->n + 1) > t->n_slot && enlarge(t) != CS_OK)
        return CS_EMEM;
    struct cs_name *s = slot_of(t, name);
    if (!s->name) {
        *s = (struct cs_name){ name, no };
        t->n++;
    }
    return CS_OK;
}

void cs_names_release(cs_names *t)
{
    free(t->slot);
    *t = (cs_names){ NULL, 0, 0 };
}

bool cs_name_is_plain(const char *name)
{
    while ((unsigned char)*name >= ' ' && *name != '\x7f')
        name++;
    return *name == '\0';
}

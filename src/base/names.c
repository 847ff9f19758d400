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

/* Slots of the next size, all free, in place of the present ones. */
static void move_names(cs_names *t, struct cs_name *slot, size_t n_slot)
{
    cs_names more = { slot, n_slot, t->n };

    memset(slot, 0, n_slot * sizeof *slot);
    for (size_t i = 0; i < t->n_slot; i++)
        if (t->slot[i].name)
            *slot_of(&more, t->slot[i].name) = t->slot[i];
    free(t->slot);
    *t = more;
}

static bool is_full(const cs_names *t)
{
    return 2 * (t->n + 1) > t->n_slot;
}

static size_t next_size(const cs_names *t)
{
    return t->n_slot ? 2 * t->n_slot : 64;
}

static void put(cs_names *t, const char *name, int64_t no)
{
    struct cs_name *s = slot_of(t, name);

    if (!s->name) {
        *s = (struct cs_name){ name, no };
        t->n++;
    }
}

int64_t cs_names_find(const cs_names *t, const char *name)
{
    const struct cs_name *s = t->n_slot ? slot_of(t, name) : NULL;

    return s && s->name ? s->no : -1;
}

int cs_names_add(cs_names *t, const char *name, int64_t no)
{
    const size_t n = next_size(t);
    struct cs_name *slot = is_full(t) ? cs_alloc(n, sizeof *slot) : NULL;

    if (is_full(t) && !slot)
        return cs_fail(CS_EMEM, "out of memory for %zu names", t->n);
    if (slot)
        move_names(t, slot, n);
    put(t, name, no);
    return CS_OK;
}

void cs_names_xadd(cs_names *t, const char *name, int64_t no)
{
    const size_t n = next_size(t);

    if (is_full(t))
        move_names(t, cs_xmalloc(n * sizeof *t->slot), n);
    put(t, name, no);
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

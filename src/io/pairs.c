/* pairs.c - join mates, from two inputs or interleaved, into one record. */
#include "io/pairs.h"

#include <string.h>

/* The length of a name without its "/1" or "/2". */
static size_t stem(const char *name, char mate)
{
    const size_t n = strlen(name);

    return n > 2 && name[n - 2] == '/' && name[n - 1] == mate ? n - 2 : n;
}

static int no_mate(const cs_pairs *p, const char *name)
{
    if (p->first == p->second)
        return cs_fail(CS_EFORMAT, "'%s' ends with record '%s' (pair %llu), which has no mate",
                       cs_inputs_path(p->first), name, (unsigned long long)p->n + 1);
    return cs_fail(CS_EFORMAT, "'%s' ends before record '%s' of '%s' (pair %llu), which has no "
                   "mate", cs_inputs_path(p->second), name,
                   cs_inputs_path(p->first), (unsigned long long)p->n + 1);
}

/* Reads on in the second input after the first has ended: there must be nothing. */
static int check_end(const cs_pairs *p, cs_chunk *c)
{
    if (p->first == p->second)
        return CS_EOF;
    const int rc = cs_inputs_next(p->second, c);
    if (rc != CS_OK)
        return rc;
    return cs_fail(CS_EFORMAT, "'%s' ends before record '%s' of '%s' (pair %llu), which has no "
                   "mate", cs_inputs_path(p->first), c->rec[c->n - 1].name,
                   cs_inputs_path(p->second), (unsigned long long)p->n + 1);
}

/* The chunk's last two records as one. */
static int join(const cs_pairs *p, cs_chunk *c)
{
    cs_record *a = &c->rec[c->n - 2];
    const cs_record *b = &c->rec[c->n - 1];
    const size_t n = stem(a->name, '1');

    if (n != stem(b->name, '2') || memcmp(a->name, b->name, n) != 0)
        return cs_fail(CS_EFORMAT, "pair %llu: record '%s' of '%s' and record '%s' of '%s' are "
                       "not mates; their names must match except for /1 and /2",
                       (unsigned long long)p->n + 1, a->name, cs_inputs_path(p->first), b->name,
                       cs_inputs_path(p->second));
    if (a->name[n] != '\0') {
        a->name = cs_arena_dup(c->mem, a->name, n);
        if (!a->name)
            return cs_fail(CS_EMEM, "out of memory for the name of '%s'", b->name);
    }
    a->n_seg = 2;
    a->seg[1] = b->seg[0];
    a->mate_comment = b->comment;
    a->native[1] = b->native[0];
    c->n--;
    return CS_OK;
}

int cs_pairs_next(void *pairs, cs_chunk *c)
{
    cs_pairs *p = pairs;
    int rc = cs_inputs_next(p->first, c);

    if (rc == CS_EOF)
        return check_end(p, c);
    if (rc != CS_OK)
        return rc;
    rc = cs_inputs_next(p->second, c);
    if (rc == CS_EOF)
        return no_mate(p, c->rec[c->n - 1].name);
    if (rc == CS_OK)
        rc = join(p, c);
    if (rc == CS_OK)
        c->rec[c->n - 1].serial = p->n++;
    return rc;
}

/* pairs.c - join mates, from two inputs or interleaved, into one record.
 *
 * DESIGN: records without a mate show only when the next one is read, which then belongs to the
 * next call, and maybe to another chunk. It is copied to a chunk of its own and back: such records
 * are few, and pairs are not copied.
 */
#include "io/pairs.h"

#include <string.h>

#include <htslib/sam.h>

/* The length of a name without its "/1" or "/2". */
static size_t stem(const char *name, char mate)
{
    const size_t n = strlen(name);

    return n > 2 && name[n - 2] == '/' && name[n - 1] == mate ? n - 2 : n;
}

/* Names of fastq-dump -I: RUN.SPOT.1 and RUN.SPOT.2. Without another dot they are of two spots. */
static bool are_mates_of_spot(const char *a, char mate_a, const char *b, char mate_b)
{
    const size_t n = strlen(a);

    return n > 2 && n == strlen(b) && memcmp(a, b, n - 1) == 0 && a[n - 2] == '.'
        && memchr(a, '.', n - 2) && a[n - 1] == mate_a && b[n - 1] == mate_b;
}

/* One input has ended; `name` of the other has no mate. */
static int no_mate(const cs_pairs *p, cs_inputs *ended, cs_inputs *other, const char *name)
{
    return cs_fail(CS_EFORMAT, "'%s' ends after %llu pairs, but '%s' continues with record "
                   "'%.60s'; both must have all mates in the same order", cs_inputs_path(ended),
                   (unsigned long long)p->n, cs_inputs_path(other), name);
}

/* After the end of the first input, the second must end, too. */
static int check_end(const cs_pairs *p, cs_chunk *c)
{
    const int rc = cs_inputs_next(p->second, c);

    return rc != CS_OK ? rc : no_mate(p, p->first, p->second, c->rec[c->n - 1].name);
}

/* ---- one input ------------------------------------------------------------------------------- */

static bool copy_native(cs_arena *mem, const void *from, const void **to)
{
    *to = NULL;
    if (!from)
        return true;
    bam1_t *b = (bam1_t *)(void *)cs_arena_dup(mem, from, sizeof *b);
    if (!b)
        return false;
    b->data = (uint8_t *)cs_arena_dup(mem, b->data, (size_t)b->l_data);
    *to = b;
    return b->data != NULL;
}

/* Copies a record of one segment and its texts into another chunk. */
static int copy_record(const cs_record *r, cs_chunk *c)
{
    cs_record *to = cs_chunk_append(c);
    const size_t n = (size_t)r->seg[0].n_base;

    if (!to)
        return cs_fail(CS_EMEM, "out of memory for record '%s'", r->name);
    *to = *r;
    to->name = cs_arena_dup(c->mem, r->name, strlen(r->name));
    to->comment = cs_arena_dup(c->mem, r->comment, strlen(r->comment));
    to->seg[0].base = cs_arena_dup(c->mem, r->seg[0].base, n);
    if (r->seg[0].qual)
        to->seg[0].qual = (const uint8_t *)cs_arena_dup(c->mem, (const char *)r->seg[0].qual, n);
    c->n_base += r->seg[0].n_base;
    if (!to->name || !to->comment || !to->seg[0].base || (r->seg[0].qual && !to->seg[0].qual)
        || !copy_native(c->mem, r->native[0], &to->native[0]))
        return cs_fail(CS_EMEM, "out of memory for record '%s'", r->name);
    return CS_OK;
}

/* Take the chunk's last record out of it, for later. */
static int hold(cs_pairs *p, cs_chunk *c)
{
    const cs_record *r = &c->rec[c->n - 1];

    p->lookahead = cs_chunk_new(0);
    const int rc = p->lookahead ? copy_record(r, p->lookahead)
                 : cs_fail(CS_EMEM, "out of memory for record '%s'", r->name);
    c->n_base -= r->seg[0].n_base;
    c->n--;
    return rc;
}

static int next_held(cs_pairs *p, cs_chunk *c)
{
    if (!p->lookahead)
        return cs_inputs_next(p->first, c);
    const int rc = copy_record(&p->lookahead->rec[0], c);
    cs_chunk_free(p->lookahead);
    p->lookahead = NULL;
    return rc;
}

static bool are_mates(const cs_record *a, char mate_a, const cs_record *b, char mate_b)
{
    const size_t n = stem(a->name, mate_a);

    return (n == stem(b->name, mate_b) && memcmp(a->name, b->name, n) == 0)
        || are_mates_of_spot(a->name, mate_a, b->name, mate_b);
}

/* ---- both ------------------------------------------------------------------------------------ */

/* The chunk's last two records, which are mates, as one. */
static int join(cs_chunk *c)
{
    cs_record *a = &c->rec[c->n - 2];
    const cs_record *b = &c->rec[c->n - 1];
    size_t n = stem(a->name, '1');

    if (are_mates_of_spot(a->name, '1', b->name, '2'))
        n -= 2;
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

static int next_of_two(cs_pairs *p, cs_chunk *c)
{
    int rc = cs_inputs_next(p->first, c);

    if (rc == CS_EOF)
        return check_end(p, c);
    if (rc != CS_OK)
        return rc;
    rc = cs_inputs_next(p->second, c);
    if (rc == CS_EOF)
        return no_mate(p, p->second, p->first, c->rec[c->n - 1].name);
    if (rc != CS_OK)
        return rc;
    const cs_record *a = &c->rec[c->n - 2], *b = &c->rec[c->n - 1];
    if (are_mates(a, '1', b, '2'))
        return join(c);
    return cs_fail(CS_EFORMAT, "pair %llu: record '%s' of '%s' and record '%s' of '%s' are "
                   "not mates; their names must match except for /1 and /2",
                   (unsigned long long)p->n + 1, a->name, cs_inputs_path(p->first), b->name,
                   cs_inputs_path(p->second));
}

static int next_of_one(cs_pairs *p, cs_chunk *c)
{
    int rc = CS_OK;

    CS_TRY(next_held(p, c));
    rc = cs_inputs_next(p->first, c);
    if (rc != CS_OK && rc != CS_EOF)
        return rc;
    cs_record *b = &c->rec[c->n - 1], *a = rc == CS_OK ? b - 1 : b;
    if (rc == CS_OK && are_mates(a, '1', b, '2'))
        return join(c);
    if (rc == CS_OK && are_mates(a, '2', b, '1')) {
        const cs_record second = *a;
        *a = *b;
        *b = second;
        a->swapped = true;
        return join(c);
    }
    if (!c->skipped)
        cs_warning_count(&p->unpaired, a->name);
    rc = rc == CS_OK ? hold(p, c) : CS_OK;
out:
    return rc;
}

int cs_pairs_next(void *pairs, cs_chunk *c)
{
    cs_pairs *p = pairs;
    const int rc = p->first == p->second ? next_of_one(p, c) : next_of_two(p, c);

    if (rc == CS_OK) {
        c->rec[c->n - 1].serial = p->n++;
        p->n_skipped += c->skipped;
    }
    return rc;
}

void cs_pairs_report(const cs_pairs *p)
{
    cs_warning_report(&p->unpaired, p->n - p->n_skipped, "record", "has", "have",
                      "no adjacent mate; predicted alone");
}

void cs_pairs_release(cs_pairs *p)
{
    cs_chunk_free(p->lookahead);
    p->lookahead = NULL;
}

/* record.c - records in chunks that own all their memory.
 *
 * DESIGN: the chunk itself is in its arena, so one call frees it with names, bases, tokens and
 * predictions. The array of records grows fourfold and leaves old copies in the arena: at most a
 * third more memory, and no second owner.
 */
#include "io/record.h"

#include <string.h>

enum { FIRST_RECORDS = 16, GROWTH = 4 };

/* Names, comments and tags of alignments may take many times the bytes of their bases. */
enum { FULL_BYTES = 4 << 20 };

int64_t cs_record_bases(const cs_record *r)
{
    int64_t n = 0;

    for (int s = 0; s < r->n_seg; s++)
        n += r->seg[s].n_base;
    return n;
}

const char *cs_record_name(const cs_record *r)
{
    return *r->name ? r->name : "*";
}

const char *cs_record_length(const cs_record *r, char buf[CS_LENGTH_TEXT])
{
    if (r->n_seg == 1)
        (void)snprintf(buf, CS_LENGTH_TEXT, "%lld", (long long)r->seg[0].n_base);
    else
        (void)snprintf(buf, CS_LENGTH_TEXT, "%lld|%lld", (long long)r->seg[0].n_base,
                       (long long)r->seg[1].n_base);
    return buf;
}

cs_chunk *cs_chunk_new(uint64_t no)
{
    cs_arena *mem = cs_arena_new();
    cs_chunk *c = cs_arena_alloc(mem, 1, sizeof *c);
    if (!c) {
        cs_arena_free(mem);
        return NULL;
    }
    memset(c, 0, sizeof *c);
    c->no = no;
    c->mem = mem;
    return c;
}

void cs_chunk_free(cs_chunk *c)
{
    if (c)
        cs_arena_free(c->mem);
}

void cs_chunk_drop(void *chunk)
{
    cs_chunk_free(chunk);
}

size_t cs_chunk_bytes(const void *chunk)
{
    const cs_chunk *c = chunk;
    return cs_arena_bytes(c->mem);
}

static int grow(cs_chunk *c)
{
    const size_t cap = c->cap ? c->cap * GROWTH : FIRST_RECORDS;
    cs_record *rec = cs_arena_alloc(c->mem, cap, sizeof *rec);
    if (!rec)
        return CS_EMEM;
    if (c->n)
        memcpy(rec, c->rec, (size_t)c->n * sizeof *rec);
    c->rec = rec;
    c->cap = cap;
    return CS_OK;
}

cs_record *cs_chunk_append(cs_chunk *c)
{
    if ((size_t)c->n == c->cap && grow(c) != CS_OK)
        return NULL;
    cs_record *r = &c->rec[c->n++];
    memset(r, 0, sizeof *r);
    r->name = r->comment = r->mate_comment = "";
    r->n_seg = 1;
    for (int s = 0; s < CS_MAX_SEG; s++)
        r->seg[s].base = "";
    return r;
}

bool cs_chunk_full(const cs_chunk *c)
{
    return c->n >= CS_CHUNK_RECORDS || c->n_base >= CS_CHUNK_BASES
        || (c->n > 0 && cs_arena_bytes(c->mem) >= FULL_BYTES);
}

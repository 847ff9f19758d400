/* covered.c - the bases that intervals cover: separate intervals of each contig, sorted. */
#include "io/covered.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/reference.h"

struct piece { int64_t from, to; };

struct cs_covered_contig {
    struct piece *piece;         /* [n] in order, without a common base */
    size_t        n, cap;
};

/* The first piece that ends after `from`. */
static size_t find_piece(const struct cs_covered_contig *k, int64_t from)
{
    size_t lo = 0, hi = k->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (k->piece[mid].to > from)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static int find_contig(cs_covered *c, const char *contig, struct cs_covered_contig **out)
{
    int rc = CS_OK;
    const char *name = cs_contig_bare(contig);
    int64_t no = cs_names_find(&c->names, name);

    if (no < 0) {
        no = (int64_t)c->n;
        CS_TRY(cs_grow((void **)&c->contig, &c->cap, c->n + 1, sizeof *c->contig));
        CS_TRY(cs_names_add(&c->names, name, no));
        c->contig[c->n++] = (struct cs_covered_contig){ NULL, 0, 0 };
    }
    *out = &c->contig[no];
out:
    return rc;
}

int cs_covered_add(cs_covered *c, const char *contig, int64_t from, int64_t to)
{
    int rc = CS_OK;
    struct cs_covered_contig *k;

    CS_TRY(find_contig(c, contig, &k));
    CS_TRY(cs_grow((void **)&k->piece, &k->cap, k->n + 1, sizeof *k->piece));
    const size_t at = find_piece(k, from);
    size_t end = at;
    for (; end < k->n && k->piece[end].from < to; end++) {
        from = from < k->piece[end].from ? from : k->piece[end].from;
        to = to > k->piece[end].to ? to : k->piece[end].to;
    }
    memmove(k->piece + at + 1, k->piece + end, (k->n - end) * sizeof *k->piece);
    k->piece[at] = (struct piece){ from, to };
    k->n += 1 + at - end;
out:
    return rc;
}

bool cs_covered_overlaps(const cs_covered *c, const char *contig, int64_t from, int64_t to)
{
    const int64_t no = cs_names_find(&c->names, cs_contig_bare(contig));

    if (no < 0)
        return false;
    const struct cs_covered_contig *k = &c->contig[no];
    const size_t at = find_piece(k, from);
    return at < k->n && k->piece[at].from < to;
}

void cs_covered_release(cs_covered *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->contig[i].piece);
    free(c->contig);
    cs_names_release(&c->names);
    *c = (cs_covered){ .n = 0 };
}

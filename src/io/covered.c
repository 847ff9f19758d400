/*
 * covered.c - the bases that intervals cover.
 *
 * DESIGN. A contig's intervals are in runs, each sorted and without a common base; an interval is
 * added as a run of its own. While a run is not twice as long as the next one, the last two are
 * merged, so runs are few, and n intervals in any order take O(n log n) time. One sorted array
 * would move half of it per interval.
 */
#include "io/covered.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/reference.h"

enum { MAX_RUNS = 64 };          /* each is twice as long as the next one */

struct piece { int64_t from, to; };

struct cs_covered_contig {
    struct piece *piece;         /* [n] of all runs */
    size_t        n, cap;
    struct piece *scratch;       /* [cap_scratch] for merging */
    size_t        cap_scratch;
    size_t        first[MAX_RUNS];       /* [n_run] index of a run's first piece */
    int           n_run;
};

/* The first of n pieces that ends after `from`. */
static size_t find_piece(const struct piece *piece, size_t n, int64_t from)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (piece[mid].to > from)
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
        c->contig[c->n++] = (struct cs_covered_contig){ .n = 0 };
    }
    *out = &c->contig[no];
out:
    return rc;
}

/* Merges the last two runs. Pieces that overlap or touch become one. */
static void merge_runs(struct cs_covered_contig *k)
{
    const size_t from = k->first[k->n_run - 2], mid = k->first[k->n_run - 1], n = k->n - from;
    const struct piece *a = k->scratch, *a_end = a + (mid - from), *b = a_end, *b_end = a + n;
    struct piece *to = k->piece + from;

    memcpy(k->scratch, k->piece + from, n * sizeof *k->scratch);
    *to = a->from <= b->from ? *a++ : *b++;
    while (a < a_end || b < b_end) {
        const bool is_a = b == b_end || (a < a_end && a->from <= b->from);
        const struct piece next = is_a ? *a++ : *b++;
        if (next.from > to->to)
            *++to = next;
        else if (next.to > to->to)
            to->to = next.to;
    }
    k->n = (size_t)(to + 1 - k->piece);
    k->n_run--;
}

/* Is the last run but one less than twice as long as the last? */
static bool is_uneven(const struct cs_covered_contig *k)
{
    if (k->n_run < 2)
        return false;
    const size_t mid = k->first[k->n_run - 1];
    return mid - k->first[k->n_run - 2] < 2 * (k->n - mid);
}

int cs_covered_add(cs_covered *c, const char *contig, int64_t from, int64_t to)
{
    int rc = CS_OK;
    struct cs_covered_contig *k;

    CS_TRY(find_contig(c, contig, &k));
    CS_TRY(cs_grow((void **)&k->piece, &k->cap, k->n + 1, sizeof *k->piece));
    CS_TRY(cs_grow((void **)&k->scratch, &k->cap_scratch, k->n + 1, sizeof *k->scratch));
    k->first[k->n_run++] = k->n;
    k->piece[k->n++] = (struct piece){ from, to };
    while (is_uneven(k))
        merge_runs(k);
out:
    return rc;
}

bool cs_covered_overlaps(const cs_covered *c, const char *contig, int64_t from, int64_t to)
{
    const int64_t no = cs_names_find(&c->names, cs_contig_bare(contig));

    if (no < 0)
        return false;
    const struct cs_covered_contig *k = &c->contig[no];
    for (int i = 0; i < k->n_run; i++) {
        const size_t end = i + 1 < k->n_run ? k->first[i + 1] : k->n;
        const size_t at = k->first[i] + find_piece(k->piece + k->first[i], end - k->first[i], from);
        if (at < end && k->piece[at].from < to)
            return true;
    }
    return false;
}

void cs_covered_release(cs_covered *c)
{
    for (size_t i = 0; i < c->n; i++)
        CS_FREE(c->contig[i].piece, c->contig[i].scratch);
    free(c->contig);
    cs_names_release(&c->names);
    *c = (cs_covered){ .n = 0 };
}

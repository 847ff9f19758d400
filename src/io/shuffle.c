/* shuffle.c - shuffle sequences, preserving dinucleotide counts. */
#include "io/shuffle.h"

#include <stdbool.h>

#include "base/mem.h"
#include "base/rng.h"

enum { N_LETTER = 256 };

/* A graph of letters with an edge for every pair of neighbours: a sequence is an Eulerian walk. The
 * edges of letter c lead to target[first[c]] .. target[first[c + 1] - 1]. */
struct graph {
    unsigned char *target;       /* [n - 1] */
    int64_t        first[N_LETTER + 1];
    uint64_t       key, n_random;
};

static int64_t below(struct graph *g, int64_t n)
{
    return (int64_t)cs_rng_below(g->key, g->n_random++, (uint64_t)n);
}

static void shuffle_collect(struct graph *g, const unsigned char *s, int64_t n)
{
    int64_t next[N_LETTER];

    for (int64_t i = 0; i + 1 < n; i++)
        g->first[s[i] + 1]++;
    for (int c = 0; c < N_LETTER; c++) {
        g->first[c + 1] += g->first[c];
        next[c] = g->first[c];
    }
    for (int64_t i = 0; i + 1 < n; i++)
        g->target[next[s[i]]++] = s[i + 1];
}

static void swap(unsigned char *a, unsigned char *b)
{
    const unsigned char c = *a;

    *a = *b;
    *b = c;
}

/* The last edges of all letters must lead to the end: a random spanning tree, by loop-erased random
 * walks (a later edge replaces an earlier one). */
static void choose_last_edges(struct graph *g, unsigned char end)
{
    bool done[N_LETTER] = { false };
    int64_t last[N_LETTER];

    done[end] = true;
    for (int c = 0; c < N_LETTER; c++) {
        if (g->first[c] == g->first[c + 1])
            continue;
        for (int at = c; !done[at]; at = g->target[last[at]])
            last[at] = g->first[at] + below(g, g->first[at + 1] - g->first[at]);
        for (int at = c; !done[at]; at = g->target[last[at]])
            done[at] = true;
    }
    for (int c = 0; c < N_LETTER; c++)
        if (c != end && g->first[c] < g->first[c + 1])
            swap(&g->target[last[c]], &g->target[g->first[c + 1] - 1]);
}

/* The other edges in random order; those of the last letter, which needs no last edge, all. */
static void shuffle_mix(struct graph *g, unsigned char end)
{
    for (int c = 0; c < N_LETTER; c++) {
        unsigned char *e = g->target + g->first[c];
        for (int64_t n = g->first[c + 1] - g->first[c] - (c != end); n > 1; n--)
            swap(&e[n - 1], &e[below(g, n)]);
    }
}

int cs_shuffle_pairs(char *base, int64_t n, uint64_t key)
{
    unsigned char *s = (unsigned char *)base;
    struct graph g = { .target = cs_alloc((size_t)n + 1, 1), .key = key };

    if (!g.target)
        return cs_fail(CS_EMEM, "out of memory to shuffle %lld bases", (long long)n);
    if (n > 2) {
        const unsigned char end = s[n - 1];
        shuffle_collect(&g, s, n);
        choose_last_edges(&g, end);
        shuffle_mix(&g, end);
        for (int64_t i = 0; i + 1 < n; i++)
            s[i + 1] = g.target[g.first[s[i]]++];
    }
    free(g.target);
    return CS_OK;
}

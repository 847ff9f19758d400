/* shuffle.c - shuffle sequences, preserving the counts of words.
 *
 * DESIGN: words of k - 1 letters are the nodes of a graph, with an edge for every letter that
 * follows one, so a sequence is an Eulerian walk. Another walk needs a last edge of every node, all
 * of which lead to the end (a spanning tree), and any order of the others.
 */
#include "io/shuffle.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "io/alphabet.h"

enum { MAX_NODE = 256 };

/* The edges of node u are the letters edge[first[u]] .. edge[first[u + 1] - 1]. */
struct graph {
    int            k, n_letter, n_node;   /* n_node = n_letter^(k - 1), a power of two */
    int            end;          /* the node where the walk ends */
    int64_t        first[MAX_NODE + 1];
    unsigned char *edge;
    uint64_t       key, n_random;
};

static int64_t below(struct graph *g, int64_t n)
{
    return (int64_t)cs_rng_below(g->key, g->n_random++, (uint64_t)n);
}

static int next_node(const struct graph *g, int u, int letter)
{
    return (u * g->n_letter + letter) & (g->n_node - 1);
}

static void swap(unsigned char *a, unsigned char *b)
{
    const unsigned char c = *a;

    *a = *b;
    *b = c;
}

/* Edges of each node, in the order of the sequence. */
static void graph_fill(struct graph *g, const unsigned char *s, int64_t n)
{
    int64_t at[MAX_NODE];
    int u = 0;

    memset(g->first, 0, (size_t)(g->n_node + 1) * sizeof g->first[0]);
    for (int64_t i = 0; i < n; u = next_node(g, u, s[i++]))
        if (i >= g->k - 1)
            g->first[u + 1]++;
    g->end = u;
    for (int v = 0; v < g->n_node; v++) {
        g->first[v + 1] += g->first[v];
        at[v] = g->first[v];
    }
    u = 0;
    for (int64_t i = 0; i < n; u = next_node(g, u, s[i++]))
        if (i >= g->k - 1)
            g->edge[at[u]++] = s[i];
}

/* A random spanning tree by loop-erased random walks (a later edge replaces an earlier one). */
static void choose_last_edges(struct graph *g)
{
    bool done[MAX_NODE] = { false };
    int64_t last[MAX_NODE];

    done[g->end] = true;
    for (int start = 0; start < g->n_node; start++) {
        if (g->first[start] == g->first[start + 1])
            continue;
        for (int u = start; !done[u]; u = next_node(g, u, g->edge[last[u]]))
            last[u] = g->first[u] + below(g, g->first[u + 1] - g->first[u]);
        for (int u = start; !done[u]; u = next_node(g, u, g->edge[last[u]]))
            done[u] = true;
    }
    for (int u = 0; u < g->n_node; u++)
        if (u != g->end && g->first[u] < g->first[u + 1])
            swap(&g->edge[last[u]], &g->edge[g->first[u + 1] - 1]);
}

/* The other edges in random order; those of the end, which needs no last edge, all. */
static void mix_edges(struct graph *g)
{
    for (int u = 0; u < g->n_node; u++) {
        unsigned char *e = g->edge + g->first[u];
        for (int64_t n = g->first[u + 1] - g->first[u] - (u != g->end); n > 1; n--)
            swap(&e[n - 1], &e[below(g, n)]);
    }
}

/* Shuffle letters, which are below g->n_letter. */
static void shuffle_letters(struct graph *g, unsigned char *s, int64_t n)
{
    int u = 0;

    if (n <= g->k)
        return;
    graph_fill(g, s, n);
    choose_last_edges(g);
    mix_edges(g);
    for (int64_t i = 0; i < n; u = next_node(g, u, s[i++]))
        if (i >= g->k - 1)
            s[i] = g->edge[g->first[u]++];
}

static int graph_init(struct graph *g, int64_t n)
{
    g->edge = cs_alloc((size_t)n + 1, 1);
    return g->edge ? CS_OK
                   : cs_fail(CS_EMEM, "out of memory to shuffle %lld bases", (long long)n);
}

int cs_shuffle_pairs(char *base, int64_t n, uint64_t key)
{
    struct graph g = { .k = 2, .n_letter = 256, .n_node = 256, .key = key };
    const int rc = graph_init(&g, n);

    if (rc == CS_OK)
        shuffle_letters(&g, (unsigned char *)base, n);
    free(g.edge);
    return rc;
}

int cs_shuffle_words(char *base, int64_t n_base, int k, uint64_t key)
{
    struct graph g = { .k = k, .n_letter = 4, .n_node = 1 << (2 * (k - 1)), .key = key };
    unsigned char *s = (unsigned char *)base;
    int rc;

    CS_BUG(k < 1 || k > CS_SHUFFLE_MAX_K);
    if ((rc = graph_init(&g, n_base)) != CS_OK)
        return rc;
    for (int64_t from = 0, to; from < n_base; from = to + 1) {
        for (to = from; to < n_base && cs_base_code[s[to]] < 4;)
            to++;
        if (to - from <= k)
            continue;
        for (int64_t i = from; i < to; i++)
            s[i] = cs_base_code[s[i]];
        shuffle_letters(&g, s + from, to - from);
        for (int64_t i = from; i < to; i++)
            base[i] = "ACGT"[s[i]];
    }
    free(g.edge);
    return CS_OK;
}

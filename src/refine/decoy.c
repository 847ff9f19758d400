/* decoy.c - decoy sequences: real ones, shuffled. */
#include "refine/decoy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "io/alphabet.h"

enum { NODES = 1 << (2 * (CS_DECOY_MAX_K - 1)) };

/* Words of k - 1 bases and the steps between them. A step is the base that it adds. */
struct walk {
    int      n_node, last;       /* the node where the walk ends */
    int64_t  first[NODES + 1];   /* a node's steps: first[u] .. first[u + 1] - 1 */
    uint8_t *step;
    uint64_t key, drawn;
};

static int64_t below(struct walk *w, int64_t n)
{
    return (int64_t)cs_rng_below(w->key, w->drawn++, (uint64_t)n);
}

static int go(const struct walk *w, int u, int step)
{
    return (4 * u + step) % w->n_node;
}

static void swap(uint8_t *a, uint8_t *b)
{
    const uint8_t t = *a;

    *a = *b;
    *b = t;
}

/* Steps of each node, in the order of the sequence. */
static void list_steps(struct walk *w, const char *base, int64_t n, int k)
{
    int64_t at[NODES] = { 0 };

    for (int pass = 0; pass < 2; pass++) {
        int u = 0;
        for (int64_t i = 0; i < n; i++) {
            const int code = cs_base_code[(unsigned char)base[i]];
            if (i >= k - 1 && pass == 0)
                at[u]++;
            else if (i >= k - 1)
                w->step[at[u]++] = (uint8_t)code;
            u = go(w, u, code);
        }
        w->last = u;
        w->first[0] = 0;
        for (int v = 0; v < w->n_node && pass == 0; v++) {
            w->first[v + 1] = w->first[v] + at[v];
            at[v] = w->first[v];
        }
    }
}

/* The last step of each node: a random spanning tree towards the end, by loop-erased walks. */
static void draw_tree(struct walk *w)
{
    int64_t chosen[NODES];
    bool in[NODES] = { false };

    in[w->last] = true;
    for (int start = 0; start < w->n_node; start++) {
        if (w->first[start] == w->first[start + 1])
            continue;
        for (int u = start; !in[u]; u = go(w, u, w->step[chosen[u]]))
            chosen[u] = w->first[u] + below(w, w->first[u + 1] - w->first[u]);
        for (int u = start; !in[u]; u = go(w, u, w->step[chosen[u]]))
            in[u] = true;
    }
    for (int u = 0; u < w->n_node; u++)
        if (u != w->last && w->first[u] < w->first[u + 1])
            swap(&w->step[chosen[u]], &w->step[w->first[u + 1] - 1]);
}

static void shuffle_steps(struct walk *w)
{
    for (int u = 0; u < w->n_node; u++) {
        const int64_t end = w->first[u + 1] - (u != w->last);
        for (int64_t i = end - 1; i > w->first[u]; i--)
            swap(&w->step[i], &w->step[w->first[u] + below(w, i - w->first[u] + 1)]);
    }
}

/* A run of known bases. */
static void shuffle_run(struct walk *w, char *base, int64_t n, int k)
{
    int64_t at[NODES];
    int u = 0;

    list_steps(w, base, n, k);
    draw_tree(w);
    shuffle_steps(w);
    for (int v = 0; v < w->n_node; v++)
        at[v] = w->first[v];
    for (int64_t i = 0; i < n; i++) {
        const int code = i < k - 1 ? cs_base_code[(unsigned char)base[i]] : w->step[at[u]++];
        base[i] = "ACGT"[code];
        u = go(w, u, code);
    }
}

int cs_decoy_shuffle(char *base, int64_t n_base, int k, uint64_t key)
{
    struct walk w = { .n_node = 1 << (2 * (k - 1)), .key = key };

    CS_BUG(k < 1 || k > CS_DECOY_MAX_K);
    w.step = cs_alloc((size_t)n_base + 1, 1);
    if (!w.step)
        return cs_fail(CS_EMEM, "out of memory to shuffle %lld bases", (long long)n_base);
    for (int64_t from = 0, to; from < n_base; from = to + 1) {
        for (to = from; to < n_base && cs_base_code[(unsigned char)base[to]] < 4;)
            to++;
        if (to - from > k)
            shuffle_run(&w, base + from, to - from, k);
    }
    free(w.step);
    return CS_OK;
}

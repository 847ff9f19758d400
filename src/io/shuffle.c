/* shuffle.c - shuffle sequences, preserving dinucleotide counts. */
#include "io/shuffle.h"

#include <stdbool.h>

#include "base/mem.h"
#include "base/rng.h"

enum { N_LETTER = 256 };

/* Letters are nodes, neighbours are edges: a sequence is an Eulerian walk. exit[from[c] ..
 * from[c+1]-1] are the targets of c's edges. */
struct roads {
    unsigned char *exit;         /* [n - 1] */
    int64_t        from[N_LETTER + 1];
    uint64_t       key, n_random;
};

static int64_t below(struct roads *r, int64_t n)
{
    return (int64_t)cs_rng_below(r->key, r->n_random++, (uint64_t)n);
}

static void shuffle_collect(struct roads *r, const unsigned char *s, int64_t n)
{
    int64_t next[N_LETTER];

    for (int64_t i = 0; i + 1 < n; i++)
        r->from[s[i] + 1]++;
    for (int c = 0; c < N_LETTER; c++) {
        r->from[c + 1] += r->from[c];
        next[c] = r->from[c];
    }
    for (int64_t i = 0; i + 1 < n; i++)
        r->exit[next[s[i]]++] = s[i + 1];
}

static void swap(unsigned char *a, unsigned char *b)
{
    const unsigned char c = *a;

    *a = *b;
    *b = c;
}

/* The last exits must lead from every node to the end: a random spanning tree, by loop-erased
 * random walks (a later exit replaces an earlier one). */
static void choose_last(struct roads *r, unsigned char end)
{
    bool done[N_LETTER] = { false };
    int64_t last[N_LETTER];

    done[end] = true;
    for (int c = 0; c < N_LETTER; c++) {
        if (r->from[c] == r->from[c + 1])
            continue;
        for (int at = c; !done[at]; at = r->exit[last[at]])
            last[at] = r->from[at] + below(r, r->from[at + 1] - r->from[at]);
        for (int at = c; !done[at]; at = r->exit[last[at]])
            done[at] = true;
    }
    for (int c = 0; c < N_LETTER; c++)
        if (c != end && r->from[c] < r->from[c + 1])
            swap(&r->exit[last[c]], &r->exit[r->from[c + 1] - 1]);
}

/* The other exits in random order; at the walk's end all of them. */
static void shuffle_mix(struct roads *r, unsigned char end)
{
    for (int c = 0; c < N_LETTER; c++) {
        unsigned char *e = r->exit + r->from[c];
        for (int64_t n = r->from[c + 1] - r->from[c] - (c != end); n > 1; n--)
            swap(&e[n - 1], &e[below(r, n)]);
    }
}

int cs_shuffle_pairs(char *base, int64_t n, uint64_t key)
{
    unsigned char *s = (unsigned char *)base;
    struct roads r = { .exit = cs_alloc((size_t)n + 1, 1), .key = key };

    if (!r.exit)
        return cs_fail(CS_EMEM, "out of memory to shuffle %lld bases", (long long)n);
    if (n > 2) {
        const unsigned char end = s[n - 1];
        shuffle_collect(&r, s, n);
        choose_last(&r, end);
        shuffle_mix(&r, end);
        for (int64_t i = 0; i + 1 < n; i++)
            s[i + 1] = r.exit[r.from[s[i]]++];
    }
    free(r.exit);
    return CS_OK;
}

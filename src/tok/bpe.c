/* bpe.c - byte-pair encoding: tables, and merging of a sequence.
 *
 * DESIGN: a sequence is merged in the array of ids itself. A piece of L symbols occupies L cells:
 * its id in the first, and -L in the last if L > 1, so both neighbours of a piece are found without
 * links. A second array holds the rank of the pair that begins in a cell, with a tree of minima
 * over blocks of 16, whose root is the next merge. Ties go to the left. A priority queue of pairs,
 * as in Hugging Face, takes 24 bytes or more per symbol and a cache miss per step; this takes 5
 * bytes, and updates the tree only up to the first unchanged minimum.
 */
#include "tok/bpe.h"

#include <string.h>

enum { NONE = INT32_MAX, BLOCK = 16 };

/* ---- tables ------------------------------------------------------------------------------ */

static uint32_t pow2_above(uint32_t n)
{
    uint32_t p = 16;
    while (p < n)
        p *= 2;
    return p;
}

static uint32_t hash_text(const char *s, size_t n)
{
    uint32_t h = UINT32_C(2166136261);             /* FNV-1a */
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * UINT32_C(16777619);
    return h ^ h >> 15;
}

static uint32_t hash_pair(uint64_t pair)
{
    return (uint32_t)(pair * UINT64_C(0x9E3779B97F4A7C15) >> 32);
}

cs_bpe *cs_bpe_new(int32_t cap, int32_t cap_merge)
{
    cs_bpe *b = cs_xcalloc(1, sizeof *b);
    const size_t n = (size_t)cap;
    b->mem = cs_arena_new();
    b->cap = cap;
    b->cap_merge = cap_merge;
    b->pad = b->unk = -1;
    b->n_text = pow2_above(2 * (uint32_t)cap);
    b->piece = cs_alloc(n, sizeof *b->piece);
    b->n_sym = cs_alloc(n, sizeof *b->n_sym);
    b->special = cs_alloc(n, sizeof *b->special);
    b->merge = cs_alloc((size_t)cap_merge, sizeof *b->merge);
    b->slot = cs_alloc(b->n_text, sizeof *b->slot);
    if (!b->piece || !b->n_sym || !b->special || !b->merge || !b->slot) {
        cs_bpe_free(b);
        return NULL;
    }
    memset(b->piece, 0, n * sizeof *b->piece);
    memset(b->special, 0, n * sizeof *b->special);
    memset(b->slot, -1, b->n_text * sizeof *b->slot);
    memset(b->of_byte, -1, sizeof b->of_byte);
    return b;
}

void cs_bpe_free(cs_bpe *b)
{
    if (!b)
        return;
    CS_FREE(b->piece, b->n_sym, b->special, b->merge, b->pair, b->rank, b->slot);
    cs_arena_free(b->mem);
    free(b);
}

/* Slot of a text, present or not. */
static uint32_t text_slot(const cs_bpe *b, const char *text, size_t n)
{
    uint32_t i = hash_text(text, n) & (b->n_text - 1);
    for (; b->slot[i] >= 0; i = (i + 1) & (b->n_text - 1)) {
        const char *t = b->piece[b->slot[i]];
        if (strncmp(t, text, n) == 0 && t[n] == '\0')
            break;
    }
    return i;
}

int cs_bpe_add(cs_bpe *b, int32_t id, const char *text, size_t n, bool special)
{
    const uint32_t i = text_slot(b, text, n);
    CS_BUG(id < 0 || id >= b->cap || b->piece[id] || b->slot[i] >= 0);
    b->piece[id] = cs_arena_dup(b->mem, text, n);
    if (!b->piece[id])
        return cs_fail(CS_EMEM, "out of memory for a vocabulary of %d pieces", (int)b->cap);
    b->n_sym[id] = special ? 1 : (int32_t)n;
    b->special[id] = special;
    b->slot[i] = id;
    b->n_id = id >= b->n_id ? id + 1 : b->n_id;
    if (n == 1 && !special)
        b->of_byte[(unsigned char)*text] = id;
    return CS_OK;
}

int32_t cs_bpe_find(const cs_bpe *b, const char *text, size_t n)
{
    return b->slot[text_slot(b, text, n)];
}

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)left << 32 | (uint32_t)right;
}

int cs_bpe_index(cs_bpe *b)
{
    b->n_slot = pow2_above(2 * (uint32_t)b->n_merge + 1);
    b->pair = cs_alloc(b->n_slot, sizeof *b->pair);
    b->rank = cs_alloc(b->n_slot, sizeof *b->rank);
    if (!b->pair || !b->rank)
        return cs_fail(CS_EMEM, "out of memory for a list of %d merges", (int)b->n_merge);
    memset(b->pair, 0xff, b->n_slot * sizeof *b->pair);
    for (int32_t r = 0; r < b->n_merge; r++) {
        const uint64_t pair = pair_of(b->merge[r].left, b->merge[r].right);
        uint32_t i = hash_pair(pair) & (b->n_slot - 1);
        while (b->pair[i] != UINT64_MAX && b->pair[i] != pair)
            i = (i + 1) & (b->n_slot - 1);
        b->pair[i] = pair;
        b->rank[i] = r;
    }
    return CS_OK;
}

static int32_t rank_of(const cs_bpe *b, int32_t left, int32_t right)
{
    const uint64_t pair = pair_of(left, right);
    uint32_t i = hash_pair(pair) & (b->n_slot - 1);
    while (b->pair[i] != pair) {
        if (b->pair[i] == UINT64_MAX)
            return NONE;
        i = (i + 1) & (b->n_slot - 1);
    }
    return b->rank[i];
}

/* ---- encoding ---------------------------------------------------------------------------- */

/* A sequence being merged: see DESIGN. */
struct merging {
    const cs_bpe *b;
    int32_t      *cell;          /* [n] */
    int64_t       n;
    int32_t      *rank;          /* [n_block * BLOCK] of the pair that begins here, or NONE */
    int32_t      *tree;          /* [2 * n_leaf] minima; the root is 1, block i is n_leaf + i */
    int64_t       n_leaf;
};

static int64_t blocks_of(int64_t n)
{
    return (n + BLOCK - 1) / BLOCK;
}

static int64_t leaves_of(int64_t n)
{
    int64_t p = 1;
    while (p < blocks_of(n))
        p *= 2;
    return p;
}

size_t cs_bpe_work(int64_t n)
{
    return (size_t)(blocks_of(n) * BLOCK + 2 * leaves_of(n)) * sizeof(int32_t);
}

static int64_t next_of(const struct merging *m, int64_t p)
{
    const int64_t q = p + m->b->n_sym[m->cell[p]];
    return q < m->n ? q : -1;
}

static int64_t prev_of(const struct merging *m, int64_t p)
{
    if (p == 0)
        return -1;
    const int32_t v = m->cell[p - 1];
    return v >= 0 ? p - 1 : p + v;
}

static int32_t rank_at(const struct merging *m, int64_t p)
{
    const int64_t q = next_of(m, p);
    return q < 0 ? NONE : rank_of(m->b, m->cell[p], m->cell[q]);
}

static int32_t block_min(const struct merging *m, int64_t block)
{
    const int32_t *r = m->rank + block * BLOCK;
    int32_t min = r[0];
    for (int i = 1; i < BLOCK; i++)
        min = r[i] < min ? r[i] : min;
    return min;
}

static void build_tree(struct merging *m)
{
    const int64_t n_block = blocks_of(m->n);
    for (int64_t p = 0; p < n_block * BLOCK; p++)
        m->rank[p] = p < m->n ? rank_at(m, p) : NONE;
    for (int64_t i = 0; i < m->n_leaf; i++)
        m->tree[m->n_leaf + i] = i < n_block ? block_min(m, i) : NONE;
    for (int64_t i = m->n_leaf - 1; i > 0; i--)
        m->tree[i] = m->tree[2 * i] < m->tree[2 * i + 1] ? m->tree[2 * i] : m->tree[2 * i + 1];
}

static void update(struct merging *m, int64_t block)
{
    int32_t min = block_min(m, block);
    for (int64_t i = m->n_leaf + block; m->tree[i] != min; i /= 2) {
        m->tree[i] = min;
        if (i == 1)
            break;
        min = m->tree[i ^ 1] < min ? m->tree[i ^ 1] : min;
    }
}

static int64_t leftmost(const struct merging *m, int32_t rank)
{
    int64_t i = 1;
    while (i < m->n_leaf)
        i = m->tree[2 * i] == rank ? 2 * i : 2 * i + 1;
    int64_t p = (i - m->n_leaf) * BLOCK;
    while (m->rank[p] != rank)
        p++;
    return p;
}

/* Merge the pair that begins at p. */
static void merge_at(struct merging *m, int64_t p, int32_t id)
{
    const int64_t q = next_of(m, p), a = prev_of(m, p);
    const int32_t n_sym = m->b->n_sym[id];
    m->cell[p] = id;
    m->cell[p + n_sym - 1] = -n_sym;
    m->rank[q] = NONE;
    m->rank[p] = rank_at(m, p);
    if (a >= 0)
        m->rank[a] = rank_at(m, a);
    update(m, p / BLOCK);
    if (q / BLOCK != p / BLOCK)
        update(m, q / BLOCK);
    if (a >= 0 && a / BLOCK != p / BLOCK)
        update(m, a / BLOCK);
}

/* Ids of single symbols; returns their number. */
static int64_t spell(const cs_bpe *b, const char *s, int64_t n, int32_t *id)
{
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        const int32_t v = b->of_byte[(unsigned char)s[i]];
        if (v >= 0)
            id[k++] = v;
        else if (!b->fuse_unk || k == 0 || id[k - 1] != b->unk)
            id[k++] = b->unk;
    }
    return k;
}

int64_t cs_bpe_encode(const cs_bpe *b, const char *s, int64_t n, void *work, int32_t *id)
{
    struct merging m = { .b = b, .cell = id, .n = spell(b, s, n, id), .rank = work };
    if (m.n == 0)
        return 0;
    m.n_leaf = leaves_of(m.n);
    m.tree = m.rank + blocks_of(m.n) * BLOCK;
    build_tree(&m);
    while (m.tree[1] != NONE) {
        const int32_t rank = m.tree[1];
        merge_at(&m, leftmost(&m, rank), b->merge[rank].id);
    }
    int64_t k = 0;
    for (int64_t p = 0, q; p < m.n; p = q) {
        q = p + b->n_sym[id[p]];
        id[k++] = id[p];
    }
    return k;
}

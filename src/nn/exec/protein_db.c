/*
 * protein_db.c - a database of proteins in a model, and the index of its seeds.
 *
 * DESIGN
 * The index sorts every position of the database by its bucket, the first bits of the hash of its
 * seed. To count and store positions at random in memory took 60 % of the time to load the default
 * model, which included its index then, so they are sorted in two steps: into parts of some
 * thousand buckets, and each part, which fits the cache, by buckets. Both steps keep the order of
 * positions, also with several threads: in the first one each scans a range of positions, whose
 * entries have places of their own. Seeds are hashed twice, for the sizes of the parts and for
 * their entries: to keep the hashes would take more memory. Seeds with fewer than four different
 * groups of letters are skipped: low complexity matches everywhere.
 */
#include "nn/exec/protein_db.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tok/translate.h"

enum {
    SPAN = CS_PROTEIN_SPAN,
    MIN_GROUPS = 4,              /* different groups of a seed's letters */
    MAX_BUCKET_BITS = 26, BUCKET_SEEDS = 8,
    PART_BITS = 8, MAX_PARTS = 1024,
    LOW_BITS = 16,               /* most of a bucket's bits in its part */
    MAX_FINGERPRINT_BITS = 7,
    BLOCK = CS_PROTEIN_BLOCK, STEP = 16
};

/* ---- the tree -------------------------------------------------------------------------------- */

static void tree_free(cs_protein_tree *t)
{
    CS_FREE(t->parent, t->place, t->node, t->first);
    *t = (cs_protein_tree){ 0 };
}

/* Each node has a parent among the nodes, or none, and is not above itself; those that are no
 * classes are above others. */
static bool is_tree(int32_t n_class, int32_t n, const int32_t *parent)
{
    bool is_above[CS_PROTEIN_MAX_NODES] = { false };

    for (int32_t i = 0; i < n; i++) {
        int32_t depth = 0;
        for (int32_t at = i; at >= 0; at = parent[at])
            if (at >= n || parent[at] < -1 || ++depth > n)
                return false;
        if (parent[i] >= 0)
            is_above[parent[i]] = true;
    }
    for (int32_t i = n_class; i < n; i++)
        if (!is_above[i])
            return false;
    return true;
}

/* Gives siblings adjacent places: the top nodes, then the nodes below each node. */
static void place_siblings(cs_protein_tree *t)
{
    int32_t at = 0;

    t->n_set = 0;
    for (int32_t parent = -1; parent < t->n; parent++) {
        const int32_t before = at;
        for (int32_t i = 0; i < t->n; i++) {
            if (t->parent[i] != parent)
                continue;
            t->place[i] = at;
            t->node[at++] = i;
        }
        if (at > before)
            t->first[t->n_set++] = before;
    }
    t->first[t->n_set] = at;
}

static void set_tree(cs_proteins *p, int32_t n, const int32_t *parent)
{
    cs_protein_tree *t = &p->tree;

    tree_free(t);
    free(p->weight);
    p->weight = cs_xcalloc((size_t)(n * CS_PROTEIN_WEIGHTS), sizeof *p->weight);
    *t = (cs_protein_tree){ .n = n, .parent = cs_xcalloc((size_t)n, sizeof *t->parent),
                            .place = cs_xcalloc((size_t)n, sizeof *t->place),
                            .node = cs_xcalloc((size_t)n, sizeof *t->node),
                            .first = cs_xcalloc((size_t)n + 1, sizeof *t->first) };
    for (int32_t i = 0; i < n; i++)
        t->parent[i] = parent ? parent[i] : -1;
    place_siblings(t);
}

int cs_proteins_set_tree(cs_proteins *p, int32_t n, const int32_t *parent)
{
    if (n < p->n_class || n > CS_PROTEIN_MAX_NODES || !is_tree(p->n_class, n, parent))
        return cs_fail(CS_EUSAGE, "the taxa of a protein database are not a tree of %d to %d nodes",
                       (int)p->n_class, (int)CS_PROTEIN_MAX_NODES);
    set_tree(p, n, parent);
    return CS_OK;
}

bool cs_proteins_same_tree(const cs_proteins *a, const cs_proteins *b)
{
    return a->tree.n == b->tree.n &&
           memcmp(a->tree.parent, b->tree.parent, (size_t)a->tree.n * sizeof *a->tree.parent) == 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* n letters with CS_PROTEIN_MARGIN stops on both sides; NULL: no memory. */
static uint8_t *new_letters(int64_t n)
{
    uint8_t *room = cs_huge_alloc((size_t)n + 2 * CS_PROTEIN_MARGIN, 1);

    if (!room)
        return NULL;
    memset(room, CS_ACID_STOP, (size_t)n + 2 * CS_PROTEIN_MARGIN);
    return room + CS_PROTEIN_MARGIN;
}

int cs_proteins_new(int32_t n_class, int64_t n, int64_t n_letter, cs_proteins **out)
{
    *out = NULL;
    if (n_class < 2 || n_class > CS_PROTEIN_MAX_CLASSES || n < 1 || n_letter < 2 * n + 1 ||
        n_letter >= CS_PROTEIN_MAX_LETTERS)
        return cs_fail(CS_EUSAGE, "a protein database takes 2 to %d classes and less than %d "
                       "letters, not %d and %lld", (int)CS_PROTEIN_MAX_CLASSES,
                       (int)CS_PROTEIN_MAX_LETTERS, (int)n_class, (long long)n_letter);
    cs_proteins *p = cs_xcalloc(1, sizeof *p);
    p->n_class = n_class;
    p->n = n;
    p->n_letter = n_letter;
    p->seed = CS_PROTEIN_SEED;
    p->min_equal = CS_PROTEIN_MIN_EQUAL;
    p->min_score = CS_PROTEIN_MIN_SCORE;
    p->shadow = CS_PROTEIN_SHADOW;
    p->letter = new_letters(n_letter);
    p->start = cs_alloc((size_t)n, sizeof *p->start);
    p->class_no = cs_alloc((size_t)n, 1);
    set_tree(p, n_class, NULL);
    if (!p->letter || !p->start || !p->class_no) {
        cs_proteins_free(p);
        return cs_fail(CS_EMEM, "out of memory for %lld proteins", (long long)n);
    }
    *out = p;
    return CS_OK;
}

void cs_proteins_free(cs_proteins *p)
{
    if (!p)
        return;
    if (p->letter)
        free(p->letter - CS_PROTEIN_MARGIN);
    tree_free(&p->tree);
    CS_FREE(p->start, p->class_no, p->weight, p->first, p->entry, p->mark);
    free(p);
}

/* ---- seeds ----------------------------------------------------------------------------------- */

/* The letters of a window as groups, four bits each, the first one on top. */
static const uint64_t window_bits = 0xfffffffffffffu;

/* Places of the seed's letters in its window. */
static void find_places(cs_proteins *p)
{
    p->n_place = 0;
    for (uint8_t i = 0; i < SPAN; i++)
        if (p->seed >> 4 * (SPAN - 1 - i) & 15)
            p->place[p->n_place++] = i;
}

/* Whether the seeds that begin at n letters have MIN_GROUPS different groups or more, of the groups
 * as bits; STEP at a time, which compilers vectorise. Both arrays are padded by STEP. */
static void find_complex(const cs_proteins *p, const uint16_t *group, int n, uint16_t *complex)
{
    for (int i = 0; i < n; i += STEP) {
        uint16_t all[STEP] = { 0 };
        for (int k = 0; k < p->n_place; k++) {
            const uint16_t *from = group + i + p->place[k];
            for (int j = 0; j < STEP; j++)
                all[j] |= from[j];
        }
        for (int j = 0; j < STEP; j++) {
            uint16_t left = all[j] & ((1u << CS_ACID_STOP_GROUP) - 1);
            for (int k = 1; k < MIN_GROUPS; k++)
                left = (uint16_t)(left & (left - 1));
            complex[i + j] = left;
        }
    }
}

void cs_protein_seeds(const cs_proteins *p, const uint8_t *letter, int n, uint64_t *hash)
{
    uint16_t group[BLOCK + SPAN - 1 + STEP], complex[BLOCK + STEP];
    uint64_t window = 0;
    int n_letter = 0;                              /* since the last stop */

    for (int i = 0; i < n + SPAN - 1; i++)
        group[i] = (uint16_t)(1u << cs_acid_group[letter[i]]);
    memset(group + n + SPAN - 1, 0, STEP * sizeof *group);
    find_complex(p, group, n, complex);
    for (int i = 0; i < n + SPAN - 1; i++) {
        const unsigned of = cs_acid_group[letter[i]];
        n_letter = of == CS_ACID_STOP_GROUP ? 0 : n_letter + 1;
        window = (window << 4 | of) & window_bits;
        if (i < SPAN - 1)
            continue;
        const uint64_t h = (window & p->seed) * 0x9e3779b97f4a7c15u;
        const bool ok = (n_letter >= SPAN) & (complex[i - (SPAN - 1)] != 0);
        hash[i - (SPAN - 1)] = ((h ^ h >> 32) * 0xbf58476d1ce4e5b9u | 1) & -(uint64_t)ok;
    }
}

/* ---- index ----------------------------------------------------------------------------------- */

static int no_index_memory(const cs_proteins *p)
{
    return cs_fail(CS_EMEM, "out of memory for the index of %lld proteins", (long long)p->n);
}

static size_t n_marks(const cs_proteins *p)
{
    return (size_t)(p->n_letter / CS_PROTEIN_MARK) + 1;
}

/* Allocates an index of 2^bucket_bits buckets but its entries, whose number is unknown. */
static int new_index(cs_proteins *p)
{
    CS_FREE(p->first, p->entry, p->mark);
    p->entry = NULL;
    find_places(p);
    p->mark = cs_alloc(n_marks(p), sizeof *p->mark);
    p->first = cs_huge_alloc(((size_t)1 << p->bucket_bits) + 1, sizeof *p->first);
    return p->first && p->mark ? CS_OK : no_index_memory(p);
}

static int new_entries(cs_proteins *p, size_t n)
{
    p->entry = cs_huge_alloc(n + 1, sizeof *p->entry);
    return p->entry ? CS_OK : no_index_memory(p);
}

/* The index while it is built: entries lie by parts of the buckets, and then by buckets. */
struct building {
    cs_proteins *p;
    int32_t   low_bits;          /* of a bucket's number, in its part */
    uint32_t  n_part, largest;   /* entries of the largest part */
    uint32_t  part[MAX_PARTS + 1];       /* a part's first entry */
    int       n_range;           /* ranges of positions, one for each thread */
    uint32_t *at;                /* [n_range][n_part] entries of a range; then its next one */
    uint16_t *low;               /* [entries] those bits */
};

/* Counts the seeds of a range at at[part], or stores them at at[part]++. */
static void scan_seeds(struct building *b, int range, bool store)
{
    cs_proteins *p = b->p;
    uint32_t *at = b->at + (size_t)range * b->n_part;
    uint64_t hash[BLOCK];
    const int64_t n_seed = p->n_letter - SPAN + 1, n_block = (n_seed + BLOCK - 1) / BLOCK;
    const int64_t end = (range + 1) * n_block / b->n_range;

    for (int64_t k = range * n_block / b->n_range; k < end; k++) {
        const int64_t from = k * BLOCK, left = n_seed - from;
        const int n = left < BLOCK ? (int)left : BLOCK;
        cs_protein_seeds(p, p->letter + from, n, hash);
        for (int i = 0; i < n; i++) {
            if (hash[i] == 0)
                continue;
            const uint32_t bucket = cs_protein_bucket(p, hash[i]), part = bucket >> b->low_bits;
            const uint32_t e = at[part]++;
            if (!store)
                continue;
            b->low[e] = (uint16_t)(bucket & ((1u << b->low_bits) - 1));
            p->entry[e] = (uint32_t)(from + i) << p->fingerprint_bits
                | cs_protein_fingerprint(p, hash[i]);
        }
    }
}

static void scan_ranges(struct building *b, bool store)
{
    #pragma omp parallel for num_threads(b->n_range) if (b->n_range > 1)
    for (int k = 0; k < b->n_range; k++)
        scan_seeds(b, k, store);
}

/* Numbers become places, those of a part in the order of ranges. Returns the number of entries. */
static uint32_t place_parts(struct building *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n_part; i++) {
        b->part[i] = n;
        for (int k = 0; k < b->n_range; k++) {
            uint32_t *at = b->at + (size_t)k * b->n_part + i;
            const uint32_t n_entry = *at;
            *at = n;
            n += n_entry;
        }
        b->largest = n - b->part[i] > b->largest ? n - b->part[i] : b->largest;
    }
    b->part[b->n_part] = n;
    return n;
}

/* Sorts the entries of a part by buckets. next [2^low_bits] receives a bucket's next entry, entry
 * [largest] the entries in the order of positions. */
static void sort_part(const struct building *b, uint32_t part, uint32_t *next, uint32_t *entry)
{
    const uint32_t n_bucket = 1u << b->low_bits, from = b->part[part], to = b->part[part + 1];
    uint32_t *first = b->p->first + ((size_t)part << b->low_bits), at = from;

    memset(next, 0, n_bucket * sizeof *next);
    for (uint32_t k = from; k < to; k++)
        next[b->low[k]]++;
    for (uint32_t i = 0; i < n_bucket; i++) {
        const uint32_t n = next[i];
        first[i] = next[i] = at;
        at += n;
    }
    memcpy(entry, b->p->entry + from, (to - from) * sizeof *entry);
    for (uint32_t k = from; k < to; k++)
        b->p->entry[next[b->low[k]]++] = entry[k - from];
}

static int sort_parts(const struct building *b)
{
    int failed = CS_OK;

    #pragma omp parallel num_threads(b->n_range) if (b->n_range > 1)
    {
        uint32_t *next = cs_alloc((size_t)1 << b->low_bits, sizeof *next);
        uint32_t *entry = cs_alloc((size_t)b->largest + 1, sizeof *entry);
        if (!next || !entry) {
            #pragma omp atomic write
            failed = CS_EMEM;
        }
        #pragma omp for schedule(dynamic)
        for (uint32_t i = 0; i < b->n_part; i++)
            if (next && entry)
                sort_part(b, i, next, entry);
        CS_FREE(next, entry);
    }
    return failed;
}

static int index_seeds(struct building *b)
{
    int rc = CS_OK;
    cs_proteins *p = b->p;
    const int32_t min = p->bucket_bits - LOW_BITS > PART_BITS ? p->bucket_bits - LOW_BITS
                                                             : PART_BITS;
    const int32_t part_bits = p->bucket_bits < min ? p->bucket_bits : min;

    b->n_part = 1u << part_bits;
    b->low_bits = p->bucket_bits - part_bits;
    b->at = cs_alloc((size_t)b->n_range * b->n_part, sizeof *b->at);
    if (!b->at)
        return no_index_memory(p);
    memset(b->at, 0, (size_t)b->n_range * b->n_part * sizeof *b->at);
    scan_ranges(b, false);
    const uint32_t n_entry = place_parts(b);
    CS_TRY(new_entries(p, n_entry));
    b->low = cs_alloc((size_t)n_entry + 1, sizeof *b->low);
    if (!b->low)
        return no_index_memory(p);
    scan_ranges(b, true);
    if (sort_parts(b) != CS_OK)
        return no_index_memory(p);
    p->first[(size_t)1 << p->bucket_bits] = n_entry;
out:
    return rc;
}

int cs_proteins_index(cs_proteins *p, int n_thread)
{
    int rc = CS_OK;
    struct building b = { .p = p, .n_range = n_thread };

    p->bucket_bits = 0;
    while (p->bucket_bits < MAX_BUCKET_BITS && p->n_letter >> p->bucket_bits > BUCKET_SEEDS)
        p->bucket_bits++;
    p->fingerprint_bits = MAX_FINGERPRINT_BITS;
    while (p->n_letter >> (32 - p->fingerprint_bits) > 0) /* positions take the others */
        p->fingerprint_bits--;
    CS_TRY(new_index(p));
    for (int64_t k = 0, i = 0; i <= p->n_letter / CS_PROTEIN_MARK; i++) {
        while (k + 1 < p->n && p->start[k + 1] <= i * CS_PROTEIN_MARK)
            k++;
        p->mark[i] = (uint32_t)k;
    }
    rc = index_seeds(&b);
out:
    CS_FREE(b.at, b.low);
    return rc;
}

int cs_proteins_need_index(cs_proteins *p, int n_thread)
{
    return !p || p->entry ? CS_OK : cs_proteins_index(p, n_thread);
}

/* The index of another database with the same letters. */
static int copy_index(cs_proteins *p, const cs_proteins *from)
{
    int rc = CS_OK;
    const size_t n_bucket = (size_t)1 << from->bucket_bits, n_entry = from->first[n_bucket];

    p->bucket_bits = from->bucket_bits;
    p->fingerprint_bits = from->fingerprint_bits;
    CS_TRY(new_index(p));
    memcpy(p->mark, from->mark, n_marks(p) * sizeof *p->mark);
    memcpy(p->first, from->first, (n_bucket + 1) * sizeof *p->first);
    CS_TRY(new_entries(p, n_entry));
    memcpy(p->entry, from->entry, n_entry * sizeof *p->entry);
out:
    return rc;
}

int cs_proteins_copy(const cs_proteins *p, cs_proteins **out)
{
    int rc = CS_OK;

    CS_TRY(cs_proteins_new(p->n_class, p->n, p->n_letter, out));
    set_tree(*out, p->tree.n, p->tree.parent);
    (*out)->seed = p->seed;
    (*out)->min_equal = p->min_equal;
    (*out)->min_score = p->min_score;
    (*out)->shadow = p->shadow;
    memcpy((*out)->letter, p->letter, (size_t)p->n_letter);
    memcpy((*out)->start, p->start, (size_t)p->n * sizeof *p->start);
    memcpy((*out)->class_no, p->class_no, (size_t)p->n);
    memcpy((*out)->weight, p->weight,
           (size_t)(p->tree.n * CS_PROTEIN_WEIGHTS) * sizeof *p->weight);
    if (p->entry)
        CS_TRY(copy_index(*out, p));
out:
    if (rc != CS_OK) {
        cs_proteins_free(*out);
        *out = NULL;
    }
    return rc;
}

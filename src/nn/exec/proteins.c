/*
 * proteins.c - a database of proteins in a model, the search of sequences in it, and its evidence
 * for classes.
 *
 * DESIGN
 * Seed and extend, as DIAMOND (Buchfink, Xie and Huson 2015) does, without gaps. The index sorts
 * every position of the database by the hash of its seed; the bits of the hash behind the bucket's
 * are stored beside the position, so most false matches need no access to the database. A frame is
 * searched in blocks: hash all seeds, prefetch their buckets, then the seeds, then the letters of
 * matches, then extend, so memory latencies overlap. Letters are prefetched AHEAD matches before
 * their use: prefetching those of all matches first made a search of contigs a tenth slower. Seeds
 * with fewer than four different groups of letters are skipped: low complexity matches everywhere.
 * Matches with too few equal letters around the seed, nine in ten, are not extended; few of them
 * would have been alignments. All sums are of integers, so their order does not matter.
 *
 * The reading frames over a gene in its other five frames, shadow ORFs, are most of the letters and
 * seldom align, so they are skipped.
 */
#include "nn/exec/proteins.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tok/open_frames.h"
#include "tok/translate.h"

_Static_assert((int)CS_OPEN_MARGIN >= (int)CS_PROTEIN_MARGIN, "matches end in the margin");

enum {
    SPAN = CS_PROTEIN_SPAN,
    WINDOW = 32, BEFORE = 10,    /* letters compared, and those of them before a seed */
    MIN_RUN = 25,                /* letters of a part of a frame */
    MIN_GROUPS = 4,              /* different groups of a seed's letters */
    DROP = 18,                   /* an extension ends this much below its best score */
    MIN_NEXT = 50,               /* of the next class, for the lead over it */
    MAX_BUCKET_BITS = 26, BUCKET_SEEDS = 8,
    MAX_FINGERPRINT_BITS = 7,
    MARK = 256,                  /* letters per element of cs_proteins.mark */
    CACHE_LINE = 16,             /* entries of the index */
    BLOCK = 512, MAX_MATCHES = 512,
    STRETCH = 64,                /* entries of a bucket compared at a time */
    AHEAD = 32,                  /* matches between a prefetch and its use */
    LETTERS = CS_ACIDS + 1, BAR = -127,   /* rows of the score matrix; score of a stop */
    ROW = 32,                    /* of the score matrix, a power of two for the address */
    TRIPLES = 4096,
    SHARE_UNIT = 1 << 20         /* parts of one in the sums of shares */
};

static const int8_t blosum62[CS_ACIDS][CS_ACIDS] = {
    /* A   C   D   E   F   G   H   I   K   L   M   N   P   Q   R   S   T   V   W   Y */
    {  4,  0, -2, -1, -2,  0, -2, -1, -1, -1, -1, -2, -1, -1, -1,  1,  0,  0, -3, -2 },   /* A */
    {  0,  9, -3, -4, -2, -3, -3, -1, -3, -1, -1, -3, -3, -3, -3, -1, -1, -1, -2, -2 },   /* C */
    { -2, -3,  6,  2, -3, -1, -1, -3, -1, -4, -3,  1, -1,  0, -2,  0, -1, -3, -4, -3 },   /* D */
    { -1, -4,  2,  5, -3, -2,  0, -3,  1, -3, -2,  0, -1,  2,  0,  0, -1, -2, -3, -2 },   /* E */
    { -2, -2, -3, -3,  6, -3, -1,  0, -3,  0,  0, -3, -4, -3, -3, -2, -2, -1,  1,  3 },   /* F */
    {  0, -3, -1, -2, -3,  6, -2, -4, -2, -4, -3,  0, -2, -2, -2,  0, -2, -3, -2, -3 },   /* G */
    { -2, -3, -1,  0, -1, -2,  8, -3, -1, -3, -2,  1, -2,  0,  0, -1, -2, -3, -2,  2 },   /* H */
    { -1, -1, -3, -3,  0, -4, -3,  4, -3,  2,  1, -3, -3, -3, -3, -2, -1,  3, -3, -1 },   /* I */
    { -1, -3, -1,  1, -3, -2, -1, -3,  5, -2, -1,  0, -1,  1,  2,  0, -1, -2, -3, -2 },   /* K */
    { -1, -1, -4, -3,  0, -4, -3,  2, -2,  4,  2, -3, -3, -2, -2, -2, -1,  1, -2, -1 },   /* L */
    { -1, -1, -3, -2,  0, -3, -2,  1, -1,  2,  5, -2, -2,  0, -1, -1, -1,  1, -1, -1 },   /* M */
    { -2, -3,  1,  0, -3,  0,  1, -3,  0, -3, -2,  6, -2,  0,  0,  1,  0, -3, -4, -2 },   /* N */
    { -1, -3, -1, -1, -4, -2, -2, -3, -1, -3, -2, -2,  7, -1, -2, -1, -1, -2, -4, -3 },   /* P */
    { -1, -3,  0,  2, -3, -2,  0, -3,  1, -2,  0,  0, -1,  5,  1,  0, -1, -2, -2, -1 },   /* Q */
    { -1, -3, -2,  0, -3, -2,  0, -3,  2, -2, -1,  0, -2,  1,  5, -1, -1, -3, -3, -2 },   /* R */
    {  1, -1,  0,  0, -2,  0, -1, -2,  0, -2, -1,  1, -1,  0, -1,  4,  1, -2, -3, -2 },   /* S */
    {  0, -1, -1, -1, -2, -2, -2, -1, -1, -1, -1,  0, -1, -1, -1,  1,  5,  0, -2, -2 },   /* T */
    {  0, -1, -3, -2, -1, -3, -3,  3, -2,  1,  1, -3, -2, -2, -3, -2,  0,  4, -3, -1 },   /* V */
    { -3, -2, -4, -3,  1, -2, -2, -3, -3, -2, -1, -4, -4, -2, -3, -3, -2, -3, 11,  2 },   /* W */
    { -2, -2, -3, -2,  3, -3,  2, -1, -2, -1, -1, -2, -3, -1, -2, -2, -2, -1,  2,  7 },   /* Y */
};

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
    p->weight = cs_xcalloc((size_t)(n_class * CS_PROTEIN_WEIGHTS), sizeof *p->weight);
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
    CS_FREE(p->start, p->class_no, p->weight, p->first, p->entry, p->mark, p->seen);
    free(p);
}

/* ---- seeds ----------------------------------------------------------------------------------- */

/* The letters of a window as groups, four bits each, the first one on top. */
static const uint64_t window_bits = 0xfffffffffffffu;

/* The groups of three letters, as bits, by the letters' twelve bits. */
static void fill_seen(uint16_t *seen)
{
    for (unsigned i = 0; i < TRIPLES; i++)
        seen[i] = (uint16_t)(1u << (i & 15) | 1u << (i >> 4 & 15) | 1u << (i >> 8));
}

/* Whether the letters of a seed in a window are of MIN_GROUPS different groups or more. */
static bool is_complex(const cs_proteins *p, uint64_t window)
{
    const uint64_t w = window | (~p->seed);       /* others are of group 15 */
    const uint16_t *seen = p->seen;
    unsigned all = (unsigned)seen[w & (TRIPLES - 1)] | seen[w >> 12 & (TRIPLES - 1)]
                         | seen[w >> 24 & (TRIPLES - 1)] | seen[w >> 36 & (TRIPLES - 1)]
                         | seen[w >> 48 & (TRIPLES - 1)];

    all &= (1u << CS_ACID_STOP_GROUP) - 1;
    for (int k = 1; k < MIN_GROUPS; k++)        /* without a popcount instruction the fastest */
        all &= all - 1;
    return all != 0;
}

/* Hashes of the seeds that begin at each of n letters, of which n + SPAN - 1 are readable; 0:
 * skipped. */
static void hash_seeds(const cs_proteins *p, const uint8_t *letter, int n, uint64_t *hash)
{
    uint64_t window = 0;
    int n_letter = 0;                              /* since the last stop */

    for (int i = 0; i < n + SPAN - 1; i++) {
        const unsigned group = cs_acid_group[letter[i]];
        n_letter = group == CS_ACID_STOP_GROUP ? 0 : n_letter + 1;
        window = (window << 4 | group) & window_bits;
        if (i < SPAN - 1)
            continue;
        const uint64_t h = (window & p->seed) * 0x9e3779b97f4a7c15u;
        const bool ok = n_letter >= SPAN && is_complex(p, window);
        hash[i - (SPAN - 1)] = ok ? (h ^ h >> 32) * 0xbf58476d1ce4e5b9u | 1 : 0;
    }
}

static uint32_t bucket_of(const cs_proteins *p, uint64_t hash)
{
    return p->bucket_bits ? (uint32_t)(hash >> (64 - p->bucket_bits)) : 0;
}

static uint32_t fingerprint_of(const cs_proteins *p, uint64_t hash)
{
    return (uint32_t)(hash << p->bucket_bits >> (64 - p->fingerprint_bits));
}

/* Counts the seeds of all buckets at first[bucket + 1], or stores them at first[bucket]++. */
static void scan_seeds(cs_proteins *p, uint32_t *first, bool store)
{
    uint64_t hash[BLOCK];

    for (int64_t from = 0; from + SPAN <= p->n_letter; from += BLOCK) {
        const int64_t left = p->n_letter - SPAN + 1 - from;
        const int n = left < BLOCK ? (int)left : BLOCK;
        hash_seeds(p, p->letter + from, n, hash);
        for (int i = 0; i < n; i++) {
            if (hash[i] == 0)
                continue;
            const uint32_t b = bucket_of(p, hash[i]);
            if (store)
                p->entry[first[b]++] = (uint32_t)(from + i) << p->fingerprint_bits
                    | fingerprint_of(p, hash[i]);
            else
                first[b + 1]++;
        }
    }
}

static int no_index_memory(const cs_proteins *p)
{
    return cs_fail(CS_EMEM, "out of memory for the index of %lld proteins", (long long)p->n);
}

static size_t n_marks(const cs_proteins *p)
{
    return (size_t)(p->n_letter / MARK) + 1;
}

/* Allocates an index of 2^bucket_bits buckets but its entries, whose number is unknown. */
static int new_index(cs_proteins *p)
{
    CS_FREE(p->first, p->entry, p->mark, p->seen);
    p->entry = NULL;
    p->seen = cs_xcalloc(TRIPLES, sizeof *p->seen);
    fill_seen(p->seen);
    p->mark = cs_alloc(n_marks(p), sizeof *p->mark);
    p->first = cs_huge_alloc(((size_t)1 << p->bucket_bits) + 2, sizeof *p->first);
    return p->first && p->mark ? CS_OK : no_index_memory(p);
}

static int new_entries(cs_proteins *p, size_t n)
{
    p->entry = cs_huge_alloc(n + 1, sizeof *p->entry);
    return p->entry ? CS_OK : no_index_memory(p);
}

int cs_proteins_index(cs_proteins *p)
{
    int rc = CS_OK;

    p->bucket_bits = 0;
    while (p->bucket_bits < MAX_BUCKET_BITS && p->n_letter >> p->bucket_bits > BUCKET_SEEDS)
        p->bucket_bits++;
    p->fingerprint_bits = MAX_FINGERPRINT_BITS;
    while (p->n_letter >> (32 - p->fingerprint_bits) > 0) /* positions take the others */
        p->fingerprint_bits--;
    const size_t n_bucket = (size_t)1 << p->bucket_bits;
    CS_TRY(new_index(p));
    for (int64_t b = 0, k = 0; b <= p->n_letter / MARK; b++) {
        while (k + 1 < p->n && p->start[k + 1] <= b * MARK)
            k++;
        p->mark[b] = (uint32_t)k;
    }
    /* Counted two places on, so that storing leaves each bucket's first seed one place on. */
    memset(p->first, 0, (n_bucket + 2) * sizeof *p->first);
    scan_seeds(p, p->first + 1, false);
    for (size_t b = 0; b <= n_bucket; b++)
        p->first[b + 1] += p->first[b];
    CS_TRY(new_entries(p, p->first[n_bucket + 1]));
    scan_seeds(p, p->first + 1, true);
out:
    return rc;
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
    (*out)->seed = p->seed;
    (*out)->min_equal = p->min_equal;
    (*out)->min_score = p->min_score;
    (*out)->shadow = p->shadow;
    memcpy((*out)->letter, p->letter, (size_t)p->n_letter);
    memcpy((*out)->start, p->start, (size_t)p->n * sizeof *p->start);
    memcpy((*out)->class_no, p->class_no, (size_t)p->n);
    memcpy((*out)->weight, p->weight,
           (size_t)(p->n_class * CS_PROTEIN_WEIGHTS) * sizeof *p->weight);
    CS_TRY(copy_index(*out, p));
out:
    if (rc != CS_OK) {
        cs_proteins_free(*out);
        *out = NULL;
    }
    return rc;
}

/* ---- search ---------------------------------------------------------------------------------- */

struct match { uint32_t query, target; };

struct search {
    const cs_proteins *p;
    int8_t   score[LETTERS][ROW];
    uint64_t hash[BLOCK];
    struct match match[MAX_MATCHES + STRETCH];
    int32_t  best[CS_PROTEIN_MAX_CLASSES];             /* of the current part of a frame */
    cs_protein_list *list;                             /* receives all alignments, or NULL */
    int      rc;                                       /* of its growth */
};

/* For the database p; the alignments go to a list, too, unless it is NULL. NULL: no memory. */
static struct search *search_new(const cs_proteins *p, cs_protein_list *list)
{
    struct search *s = cs_block_alloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->p = p;
    s->list = list;
    s->rc = CS_OK;
    memset(s->best, 0, sizeof s->best);
    memset(s->score, BAR, sizeof s->score);
    for (int a = 0; a < CS_ACIDS; a++)
        memcpy(s->score[a], blosum62[a], CS_ACIDS);
    return s;
}

/* Equal letters at the same places around a seed. */
static int n_equal(const uint8_t *q, const uint8_t *t)
{
    uint8_t n = 0;

    for (int k = -BEFORE; k < WINDOW - BEFORE; k++)
        n = (uint8_t)(n + (q[k] == t[k]));
    return n;
}

/* The best score of an alignment through q and t, in one direction; both end at stops. */
static int extend(const struct search *s, const uint8_t *q, const uint8_t *t, int step)
{
    int sum = 0, best = 0;

    for (; sum >= best - DROP; q += step, t += step) {
        sum += s->score[*q][*t];
        best = sum > best ? sum : best;
    }
    return best;
}

static uint32_t protein_at(const cs_proteins *p, uint32_t at)
{
    uint32_t k = p->mark[at / MARK];

    while (k + 1 < (uint32_t)p->n && p->start[k + 1] <= at)
        k++;
    return k;
}

static int add_to_list(cs_protein_list *l, uint32_t protein, int score)
{
    if (cs_grow((void **)&l->at, &l->cap, l->n + 1, sizeof *l->at) != CS_OK)
        return CS_EMEM;
    l->at[l->n++] = (cs_protein_alignment){ protein, score };
    return CS_OK;
}

static void extend_match(struct search *s, const uint8_t *q, uint32_t target)
{
    const cs_proteins *p = s->p;
    const uint8_t *t = p->letter + target;
    const int score = extend(s, q, t, 1) + extend(s, q - 1, t - 1, -1);

    if (score < p->min_score)
        return;
    const uint32_t k = protein_at(p, target);
    const int32_t c = p->class_no[k];
    s->best[c] = score > s->best[c] ? score : s->best[c];
    if (s->list && s->rc == CS_OK)
        s->rc = add_to_list(s->list, k, score);
}

static void prefetch_letters(const cs_proteins *p, uint32_t target)
{
    const uint8_t *first = p->letter + target - BEFORE;

    __builtin_prefetch(first);
    __builtin_prefetch(first + WINDOW - 1);
}

/* Extends those of n matches that have enough equal letters; keeps them without a branch, which
 * would be mispredicted. */
static void extend_matches(struct search *s, const uint8_t *letter, int n)
{
    const cs_proteins *p = s->p;
    int n_kept = 0;

    for (int i = 0; i < n && i < AHEAD; i++)
        prefetch_letters(p, s->match[i].target);
    for (int i = 0; i < n; i++) {
        const struct match m = s->match[i];
        if (i + AHEAD < n)
            prefetch_letters(p, s->match[i + AHEAD].target);
        s->match[n_kept] = m;
        n_kept += n_equal(letter + m.query, p->letter + m.target) >= p->min_equal;
    }
    for (int i = 0; i < n_kept; i++)
        extend_match(s, letter + s->match[i].query, s->match[i].target);
}

/* Appends those of n entries of a seed's bucket that have its fingerprint to n_match matches,
 * without a branch; returns the number of matches. */
static int add_matches(struct search *s, int n_match, uint32_t query, uint32_t fingerprint,
                       const uint32_t *entry, uint32_t n)
{
    const int32_t fingerprint_bits = s->p->fingerprint_bits;

    for (uint32_t k = 0; k < n; k++) {
        s->match[n_match] = (struct match){ query, entry[k] >> fingerprint_bits };
        n_match += (entry[k] & ((1u << fingerprint_bits) - 1)) == fingerprint;
    }
    return n_match;
}

/* The seeds that begin at n letters. */
static void search_block(struct search *s, const uint8_t *letter, int n)
{
    const cs_proteins *p = s->p;
    int n_match = 0;

    hash_seeds(p, letter, n, s->hash);
    for (int i = 0; i < n; i++)
        __builtin_prefetch(&p->first[bucket_of(p, s->hash[i])]);
    for (int i = 0; i < n; i++) {
        const uint32_t *entry = &p->entry[p->first[bucket_of(p, s->hash[i])]];
        __builtin_prefetch(entry);
        __builtin_prefetch(entry + CACHE_LINE);
    }
    for (int i = 0; i < n; i++) {
        if (s->hash[i] == 0)
            continue;
        const uint32_t b = bucket_of(p, s->hash[i]), fingerprint = fingerprint_of(p, s->hash[i]);
        for (uint32_t k = p->first[b], end = p->first[b + 1], n_entry; k < end; k += n_entry) {
            n_entry = end - k < STRETCH ? end - k : STRETCH;
            n_match = add_matches(s, n_match, (uint32_t)i, fingerprint, p->entry + k, n_entry);
            if (n_match >= MAX_MATCHES) {
                extend_matches(s, letter, n_match);
                n_match = 0;
            }
        }
    }
    extend_matches(s, letter, n_match);
}

/* Adds the classes' shares of a part of a frame. */
static void add_shares(const struct search *s, cs_protein_hits *h)
{
    double part[CS_PROTEIN_MAX_CLASSES], sum = 0;

    for (int32_t c = 0; c < s->p->n_class; c++) {
        const int score = s->best[c] < CS_PROTEIN_SHARE_SCORE ? s->best[c] : CS_PROTEIN_SHARE_SCORE;
        part[c] = exp(CS_PROTEIN_BACKGROUND / 10.0) + (score > 0 ? exp(score / 10.0) : 0);
        sum += part[c];
    }
    for (int32_t c = 0; c < s->p->n_class; c++) {
        h->share[c] += llround(part[c] / sum * SHARE_UNIT);
        h->log_share[c] += llround(log(part[c] / sum) * SHARE_UNIT);
    }
    h->n_frame++;
}

/* Adds the best scores of a part of a frame. */
static void add_part(const struct search *s, cs_protein_hits *h)
{
    int32_t lead = 0, next = CS_PROTEIN_BACKGROUND;

    for (int32_t c = 0; c < s->p->n_class; c++) {
        if (s->best[c] == 0)
            continue;
        h->best[c] = s->best[c] > h->best[c] ? s->best[c] : h->best[c];
        h->sum[c] += s->best[c] - CS_PROTEIN_BACKGROUND;
        lead = s->best[c] > s->best[lead] ? c : lead;
    }
    for (int32_t c = 0; c < s->p->n_class; c++)
        next = c != lead && s->best[c] > next ? s->best[c] : next;
    if (s->best[lead] > 0)
        add_shares(s, h);
    if (s->best[lead] > next) {
        h->margin[lead] += s->best[lead] - next;
        h->wins[lead]++;
    }
}

/* n letters between stops; a stop is before the first and behind the last one. */
static void search_part(struct search *s, const uint8_t *letter, int64_t n)
{
    const int64_t n_seed = n - SPAN + 1;

    for (int64_t from = 0; from < n_seed; from += BLOCK)
        search_block(s, letter + from, n_seed - from < BLOCK ? (int)(n_seed - from) : BLOCK);
}

int cs_proteins_search(const cs_proteins *p, const char *base, int64_t n_base,
                       cs_protein_hits *hits)
{
    struct search *s = search_new(p, NULL);
    cs_open_frames f;
    int rc = s ? CS_OK : CS_EMEM;

    memset(hits, 0, sizeof *hits);
    if (cs_open_frames_init(&f, base, n_base, MIN_RUN, p->shadow > 0) != CS_OK)
        rc = CS_EMEM;
    while (rc == CS_OK && cs_open_frames_next(&f)) {
        if (p->shadow > 0 && cs_open_frames_is_shadow(&f, p->shadow))
            continue;
        memset(s->best, 0, (size_t)p->n_class * sizeof *s->best);
        search_part(s, f.letter + f.from, f.to - f.from);
        add_part(s, hits);
    }
    cs_open_frames_close(&f);
    cs_block_free(s);
    return rc;
}

int cs_proteins_align(const cs_proteins *p, const uint8_t *letter, int64_t n, cs_protein_list *list)
{
    struct search *s = search_new(p, list);

    if (!s)
        return CS_EMEM;
    search_part(s, letter, n);
    const int rc = s->rc;
    cs_block_free(s);
    return rc;
}

/* ---- evidence -------------------------------------------------------------------------------- */

static int64_t above(int64_t a, int64_t b)
{
    return a > b ? a - b : 0;
}

/* The excess of a class's share over equal shares, and of its logarithm over the classes' mean. */
static void share_features(const cs_protein_hits *h, int32_t n_class, int32_t c, float *f)
{
    double mean = 0;

    for (int32_t k = 0; k < n_class; k++)
        mean += (double)h->log_share[k] / n_class;
    const double excess = (double)h->share[c] / SHARE_UNIT - (double)h->n_frame / n_class,
                 log_excess = ((double)h->log_share[c] - mean) / SHARE_UNIT;
    f[0] = (float)(log_excess / sqrt((double)h->n_frame + 1));
    f[1] = (float)excess;
    f[2] = (float)log1p(fmax(excess, 0));
}

void cs_protein_features(const cs_protein_hits *h, int32_t n_class, float *f)
{
    for (int32_t c = 0; c < n_class; c++, f += CS_PROTEIN_FEATURES) {
        int64_t next = MIN_NEXT;
        for (int32_t k = 0; k < n_class; k++)
            next = k != c && h->best[k] > next ? h->best[k] : next;
        f[0] = (float)log1p((double)above(h->best[c], CS_PROTEIN_BACKGROUND));
        f[1] = (float)log1p((double)h->sum[c]);
        f[2] = (float)log1p((double)h->margin[c]);
        f[3] = (float)log1p((double)h->wins[c]);
        f[4] = (float)h->best[c] / 100;
        f[5] = (float)log1p((double)above(h->best[c], next));
        share_features(h, n_class, c, f + 6);
    }
}

int cs_proteins_evidence(const cs_proteins *p, const char *base, int64_t n_base, float *out)
{
    cs_protein_hits hits;
    float f[CS_PROTEIN_MAX_CLASSES * CS_PROTEIN_FEATURES];
    const int rc = cs_proteins_search(p, base, n_base, &hits);

    if (rc != CS_OK)
        return rc;
    cs_protein_features(&hits, p->n_class, f);
    for (int32_t c = 0; c < p->n_class; c++) {
        const float *w = p->weight + c * CS_PROTEIN_WEIGHTS;
        double sum = (double)w[CS_PROTEIN_FEATURES];
        for (int k = 0; k < CS_PROTEIN_FEATURES; k++)
            sum += (double)w[k] * (double)f[c * CS_PROTEIN_FEATURES + k];
        out[c] = (float)sum;
    }
    return CS_OK;
}

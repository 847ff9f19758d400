/*
 * proteins.c - the search of sequences in a database of proteins, and its evidence for classes.
 *
 * DESIGN
 * Seed and extend, as DIAMOND (Buchfink, Xie and Huson 2015) does, without gaps. The bits of a
 * seed's hash behind the bucket's are stored beside the position, so most false matches need no
 * access to the database. A frame is searched in blocks: hash all seeds, prefetch their buckets,
 * then the seeds, then the letters of matches, then extend, so memory latencies overlap. Letters
 * are prefetched AHEAD matches before their use: prefetching those of all matches first made a
 * search of contigs a tenth slower. Matches with too few equal letters around the seed, nine in
 * ten, are not extended; few of them would have been alignments. All sums are of integers, so their
 * order does not matter.
 *
 * Relatives have many seeds on one diagonal, and an extension through each would give the same
 * score. Those that provably do (joins()) are skipped, which makes the search in a database of
 * conserved genes several times as fast. The last seed of each diagonal is remembered in a table
 * without collision handling: a lost one only costs an extension.
 *
 * The reading frames over a gene in its other five frames, shadow ORFs, are most of the letters and
 * seldom align, so they are skipped.
 *
 * Several threads can share a sequence: one lists the parts of a frame, all search them, and each
 * adds its hits, which are integers, to the others'.
 */
#include "nn/exec/proteins.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "tok/open_frames.h"
#include "tok/translate.h"

_Static_assert((int)CS_OPEN_MARGIN >= (int)CS_PROTEIN_MARGIN, "matches end in the margin");

enum {
    SPAN = CS_PROTEIN_SPAN,
    WINDOW = 32, BEFORE = 10,    /* letters compared, and those of them before a seed */
    MIN_RUN = 25,                /* letters of a part of a frame */
    DROP = 18,                   /* an extension ends this much below its best score */
    MIN_NEXT = 50,               /* of the next class, for the lead over it */
    CACHE_LINE = 16,             /* entries of the index */
    BLOCK = CS_PROTEIN_BLOCK, MAX_MATCHES = 512,
    PARTS = 4,                   /* of a frame that a thread takes at a time */
    STRETCH = 64,                /* entries of a bucket compared at a time */
    AHEAD = 32,                  /* matches between a prefetch and its use */
    DIAGONAL_BITS = 11,          /* of the diagonals that are remembered */
    LETTERS = CS_ACIDS + 1, BAR = -127,   /* rows of the score matrix; score of a stop */
    ROW = 32,                    /* of the score matrix, a power of two for the address */
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

/* ---- search ---------------------------------------------------------------------------------- */

struct match { uint32_t query, target; };

/* The last seed whose extension is known, on a diagonal: the difference of the positions of target
 * and query. */
struct diagonal { uint32_t part, difference, query; };

struct search {
    const cs_proteins *p;
    struct diagonal diagonal[1 << DIAGONAL_BITS];
    uint32_t part, block;                              /* number of the part, from 1; the block's
                                                        * first letter in it */
    int8_t   score[LETTERS][ROW];
    uint64_t hash[BLOCK];
    struct match match[MAX_MATCHES + STRETCH];
    int32_t  best[CS_PROTEIN_MAX_CLASSES];             /* of the current part of a frame */
    cs_protein_list *list;                             /* receives all alignments, or NULL */
    int      rc;                                       /* of its growth */
    cs_protein_hits hits;                              /* of the parts that were searched */
};

/* For the database p; the alignments go to a list, too, unless it is NULL. NULL: no memory. */
static struct search *search_new(const cs_proteins *p, cs_protein_list *list)
{
    struct search *s = cs_block_alloc(1, sizeof *s);

    CS_BUG(!p->entry);                             /* not indexed */
    if (!s)
        return NULL;
    s->p = p;
    s->list = list;
    s->rc = CS_OK;
    s->part = 0;
    memset(s->diagonal, 0, sizeof s->diagonal);
    memset(s->best, 0, sizeof s->best);
    memset(&s->hits, 0, sizeof s->hits);
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

/* Does an extension from q and t in one direction have its best score after n letters so far? */
static bool reaches(const struct search *s, const uint8_t *q, const uint8_t *t, int step,
                    uint32_t n)
{
    int sum = 0, best = 0;

    for (; n > 0 && sum >= best - DROP; n--, q += step, t += step) {
        sum += s->score[*q][*t];
        best = sum > best ? sum : best;
    }
    return sum == best;
}

/* Whether an extension through q and t has the score of that through the seed `back` letters
 * before. It has if each one, when it reaches the other seed, is at its best score so far: from
 * there, it goes on as the other one does, and the letters in between count in both. */
static bool joins(const struct search *s, const uint8_t *q, const uint8_t *t, uint32_t back)
{
    return reaches(s, q - back, t - back, 1, back) && reaches(s, q - 1, t - 1, -1, back);
}

/* Is the score of the match known from another seed on its diagonal? Remembers the match. */
static bool is_known(struct search *s, const uint8_t *letter, struct match m)
{
    const uint32_t query = s->block + m.query, difference = m.target - query;
    struct diagonal *d = &s->diagonal[difference * 0x9e3779b9u >> (32 - DIAGONAL_BITS)];
    const bool known = d->part == s->part && d->difference == difference &&
                       joins(s, letter + m.query, s->p->letter + m.target, query - d->query);

    *d = (struct diagonal){ s->part, difference, query };
    return known;
}

static uint32_t protein_at(const cs_proteins *p, uint32_t at)
{
    uint32_t k = p->mark[at / CS_PROTEIN_MARK];

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
        if (!is_known(s, letter, s->match[i]))
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

    cs_protein_seeds(p, letter, n, s->hash);
    for (int i = 0; i < n; i++)
        __builtin_prefetch(&p->first[cs_protein_bucket(p, s->hash[i])]);
    for (int i = 0; i < n; i++) {
        const uint32_t *entry = &p->entry[p->first[cs_protein_bucket(p, s->hash[i])]];
        __builtin_prefetch(entry);
        __builtin_prefetch(entry + CACHE_LINE);
    }
    for (int i = 0; i < n; i++) {
        if (s->hash[i] == 0)
            continue;
        const uint32_t b = cs_protein_bucket(p, s->hash[i]);
        const uint32_t fingerprint = cs_protein_fingerprint(p, s->hash[i]);
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

/* A set of siblings: places [from, to), and its number. */
struct siblings { int32_t from, to, no; };

static struct siblings siblings_at(const cs_proteins *p, int32_t k)
{
    return (struct siblings){ p->tree.first[k], p->tree.first[k + 1], k };
}

/* Adds the siblings' shares of a part of a frame; best [places] are their scores. */
static void add_shares(const int32_t *best, struct siblings s, cs_protein_hits *h)
{
    double part[CS_PROTEIN_MAX_NODES], sum = 0;

    for (int32_t i = s.from; i < s.to; i++) {
        const int score = best[i] < CS_PROTEIN_SHARE_SCORE ? best[i] : CS_PROTEIN_SHARE_SCORE;
        part[i] = exp(CS_PROTEIN_BACKGROUND / 10.0) + (score > 0 ? exp(score / 10.0) : 0);
        sum += part[i];
    }
    for (int32_t i = s.from; i < s.to; i++) {
        h->share[i] += llround(part[i] / sum * SHARE_UNIT);
        h->log_share[i] += llround(log(part[i] / sum) * SHARE_UNIT);
    }
    h->n_frame[s.no]++;
}

/* Adds the scores of siblings. */
static void add_scores(const int32_t *best, struct siblings s, cs_protein_hits *h)
{
    int32_t lead = s.from, next = CS_PROTEIN_BACKGROUND;

    for (int32_t i = s.from; i < s.to; i++) {
        if (best[i] == 0)
            continue;
        h->best[i] = best[i] > h->best[i] ? best[i] : h->best[i];
        h->sum[i] += best[i] - CS_PROTEIN_BACKGROUND;
        lead = best[i] > best[lead] ? i : lead;
    }
    if (best[lead] == 0)
        return;
    add_shares(best, s, h);
    for (int32_t i = s.from; i < s.to; i++)
        next = i != lead && best[i] > next ? best[i] : next;
    if (best[lead] > next) {
        h->margin[lead] += best[lead] - next;
        h->wins[lead]++;
    }
}

/* Adds the best scores of a part of a frame: those of classes, and of the nodes above them. */
static void add_part(struct search *s)
{
    const cs_protein_tree *t = &s->p->tree;
    int32_t best[CS_PROTEIN_MAX_NODES];

    memset(best, 0, (size_t)t->n * sizeof *best);
    for (int32_t c = 0; c < s->p->n_class; c++)
        for (int32_t at = s->best[c] > 0 ? c : -1; at >= 0; at = t->parent[at]) {
            int32_t *of = &best[t->place[at]];
            *of = s->best[c] > *of ? s->best[c] : *of;
        }
    for (int32_t k = 0; k < t->n_set; k++)
        add_scores(best, siblings_at(s->p, k), &s->hits);
}

/* n letters between stops; a stop is before the first and behind the last one. */
static void search_part(struct search *s, const uint8_t *letter, int64_t n)
{
    const int64_t n_seed = n - SPAN + 1;

    s->part++;
    for (int64_t from = 0; from < n_seed; from += BLOCK) {
        s->block = (uint32_t)from;
        search_block(s, letter + from, n_seed - from < BLOCK ? (int)(n_seed - from) : BLOCK);
    }
}

/* The hits of other parts of the same sequence. */
static void add_hits(const cs_protein_tree *t, const cs_protein_hits *other, cs_protein_hits *h)
{
    for (int32_t i = 0; i < t->n; i++) {
        h->best[i] = other->best[i] > h->best[i] ? other->best[i] : h->best[i];
        h->sum[i] += other->sum[i];
        h->margin[i] += other->margin[i];
        h->wins[i] += other->wins[i];
        h->share[i] += other->share[i];
        h->log_share[i] += other->log_share[i];
    }
    for (int32_t k = 0; k < t->n_set; k++)
        h->n_frame[k] += other->n_frame[k];
}

struct part { int64_t from, to; };

/* A sequence that a team of threads searches, frame by frame. */
struct team {
    const cs_proteins *p;
    cs_open_frames frames;
    struct part *part;           /* [n] of the current frame */
    int64_t n;
    bool more;                   /* whether there was another frame */
    cs_protein_hits *hits;
    int rc;
};

/* Lists the parts of the next frame that are searched; false: it was the last one. */
static bool list_parts(struct team *t)
{
    t->n = 0;
    if (t->rc != CS_OK || !cs_open_frames_next_frame(&t->frames))
        return false;
    while (cs_open_frames_next_in_frame(&t->frames)) {
        if (t->p->shadow > 0 && cs_open_frames_is_shadow(&t->frames, t->p->shadow))
            continue;
        t->part[t->n++] = (struct part){ t->frames.from, t->frames.to };
    }
    return true;
}

static void search_and_add(struct search *s, const uint8_t *letter, struct part part)
{
    memset(s->best, 0, (size_t)s->p->n_class * sizeof *s->best);
    search_part(s, letter + part.from, part.to - part.from);
    add_part(s);
}

static int search_alone(struct team *t)
{
    struct search *s = search_new(t->p, NULL);

    if (!s)
        return CS_EMEM;
    while (list_parts(t))
        for (int64_t i = 0; i < t->n; i++)
            search_and_add(s, t->frames.letter, t->part[i]);
    add_hits(&t->p->tree, &s->hits, t->hits);
    cs_block_free(s);
    return t->rc;
}

/* What each thread of a team does. */
static void search_together(struct team *t)
{
    struct search *s = search_new(t->p, NULL);
    bool more;

    if (!s) {
        #pragma omp atomic write
        t->rc = CS_EMEM;
    }
    do {
        #pragma omp single
        t->more = list_parts(t);
        more = t->more;                            /* until the next frame is listed */
        #pragma omp for schedule(dynamic, PARTS)
        for (int64_t i = 0; i < t->n; i++)
            if (s)
                search_and_add(s, t->frames.letter, t->part[i]);
    } while (more);
    if (s) {
        #pragma omp critical
        add_hits(&t->p->tree, &s->hits, t->hits);
    }
    cs_block_free(s);
}

int cs_proteins_search(const cs_proteins *p, const char *base, int64_t n_base, int n_thread,
                       cs_protein_hits *hits)
{
    struct team t = { .p = p, .hits = hits };

    memset(hits, 0, sizeof *hits);
    t.rc = cs_open_frames_init(&t.frames, base, n_base, MIN_RUN, p->shadow > 0);
    t.part = cs_block_alloc((size_t)n_base / 3 / (MIN_RUN + 1) + 1, sizeof *t.part);
    if (!t.part)
        t.rc = CS_EMEM;
    if (n_thread == 1) {               /* a team of one would add a tenth to the time of a read */
        t.rc = search_alone(&t);
    } else {
        #pragma omp parallel num_threads(n_thread)
        search_together(&t);
    }
    cs_open_frames_close(&t.frames);
    cs_block_free(t.part);
    return t.rc;
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

/* The excess of a sibling's share over equal shares, and of its logarithm over their mean. */
static void share_features(const cs_protein_hits *h, struct siblings s, int32_t i, float *f)
{
    const int32_t n = s.to - s.from;
    const int64_t n_frame = h->n_frame[s.no];
    double mean = 0;

    for (int32_t k = s.from; k < s.to; k++)
        mean += (double)h->log_share[k] / n;
    const double excess = (double)h->share[i] / SHARE_UNIT - (double)n_frame / n,
                 log_excess = ((double)h->log_share[i] - mean) / SHARE_UNIT;
    f[0] = (float)(log_excess / sqrt((double)n_frame + 1));
    f[1] = (float)excess;
    f[2] = (float)log1p(fmax(excess, 0));
}

/* The features of the sibling at place i. */
static void node_features(const cs_protein_hits *h, struct siblings s, int32_t i, float *f)
{
    int64_t next = MIN_NEXT;

    for (int32_t k = s.from; k < s.to; k++)
        next = k != i && h->best[k] > next ? h->best[k] : next;
    f[0] = (float)log1p((double)above(h->best[i], CS_PROTEIN_BACKGROUND));
    f[1] = (float)log1p((double)h->sum[i]);
    f[2] = (float)log1p((double)h->margin[i]);
    f[3] = (float)log1p((double)h->wins[i]);
    f[4] = (float)h->best[i] / 100;
    f[5] = (float)log1p((double)above(h->best[i], next));
    share_features(h, s, i, f + 6);
}

void cs_protein_features(const cs_proteins *p, const cs_protein_hits *h, float *f)
{
    for (int32_t k = 0; k < p->tree.n_set; k++) {
        const struct siblings s = siblings_at(p, k);
        for (int32_t i = s.from; i < s.to; i++)
            node_features(h, s, i, f + p->tree.node[i] * CS_PROTEIN_FEATURES);
    }
}

/* Features of a node by its weights. */
static double node_evidence(const float *w, const float *f)
{
    double sum = (double)w[CS_PROTEIN_FEATURES];

    for (int k = 0; k < CS_PROTEIN_FEATURES; k++)
        sum += (double)w[k] * (double)f[k];
    return sum;
}

int cs_proteins_evidence(const cs_proteins *p, const char *base, int64_t n_base, int n_thread,
                         float *out)
{
    cs_protein_hits hits;
    float f[CS_PROTEIN_MAX_NODES * CS_PROTEIN_FEATURES];
    double of[CS_PROTEIN_MAX_NODES];
    const int rc = cs_proteins_search(p, base, n_base, n_thread, &hits);

    if (rc != CS_OK)
        return rc;
    cs_protein_features(p, &hits, f);
    for (int32_t i = 0; i < p->tree.n; i++)
        of[i] = node_evidence(p->weight + i * CS_PROTEIN_WEIGHTS, f + i * CS_PROTEIN_FEATURES);
    for (int32_t c = 0; c < p->n_class; c++) {
        double sum = of[c];
        for (int32_t at = p->tree.parent[c]; at >= 0; at = p->tree.parent[at])
            sum += of[at];
        out[c] = (float)sum;
    }
    return CS_OK;
}

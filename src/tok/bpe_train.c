/* bpe_train.c - train byte-pair merges on sequences, with incremental counts.
 *
 * DESIGN: the corpus is one array of cells, written as bpe.c writes a sequence: a piece of L
 * symbols has its id in its first cell and -L in its last, and BOUND separates sequences. Each
 * start of a piece is in the list of its pair with the next piece; lists are doubly linked through
 * two more arrays, for removal in constant time. A merge walks its pair's list from left to right
 * and touches nothing else. A heap orders pairs by count; entries are not moved when counts fall
 * but checked when popped (counts of pairs of old pieces only fall, so a stale entry is never too
 * low; if a merge recreates an old piece's text, a new entry is pushed).
 */
#include "tok/bpe_train.h"

#include <string.h>

#include "base/log.h"
#include "base/order.h"
#include "base/rng.h"
#include "io/record.h"

enum { BOUND = INT32_MIN, DEAD = -1, N_SPECIAL = 5, STREAM_LENGTH = 141, STREAM_KEEP = 142 };

static const char *const special[N_SPECIAL] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };

/* ---- corpus -------------------------------------------------------------------------------- */

struct cs_bpe_corpus {
    cs_bpe_setting set;
    const char    *symbols;
    int32_t        id_of[256];   /* of a symbol; -1: ends a stretch */
    int32_t       *cell;         /* [n] */
    size_t         n, cap;
    char          *sample;       /* [n_sentence * sentence_max] or NULL */
    int32_t       *n_sample;     /* [n_sentence] lengths */
    uint64_t       n_seen;       /* sentences so far */
    int64_t        n_offered, n_short;   /* symbols; those of stretches too short for a sentence */
};

static int check_setting(const cs_bpe_setting *s, int n_symbol)
{
    if (s->n_vocab < N_SPECIAL + n_symbol || s->n_vocab > CS_BPE_MAX_ID)
        return cs_fail(CS_EUSAGE, "--vocab-size %lld is not between %d (special pieces and "
                       "symbols) and %d", (long long)s->n_vocab, N_SPECIAL + n_symbol,
                       CS_BPE_MAX_ID);
    if (s->n_sentence > 0 && s->sentence_min > s->sentence_max)
        return cs_fail(CS_EUSAGE, "--sentence-min %lld is above --sentence-max %lld",
                       (long long)s->sentence_min, (long long)s->sentence_max);
    if (s->n_sentence > 0 && s->n_sentence > INT32_MAX / s->sentence_max)
        return cs_fail(CS_EUSAGE, "--sentences %lld with --sentence-max %lld are more than "
                       "2^31 symbols; lower one of them", (long long)s->n_sentence,
                       (long long)s->sentence_max);
    return CS_OK;
}

static int push(cs_bpe_corpus *c, int32_t v)
{
    if (c->n >= INT32_MAX - 1)
        return cs_fail(CS_EUSAGE, "more than 2^31 symbols to train on; sample some with "
                       "--sentences NUM");
    if (c->n == c->cap && cs_grow((void **)&c->cell, &c->cap, c->n + 1, sizeof *c->cell) != CS_OK)
        return CS_EMEM;
    c->cell[c->n++] = v;
    return CS_OK;
}

int cs_bpe_corpus_new(const cs_bpe_setting *s, cs_bpe_corpus **out)
{
    int rc = CS_OK;
    cs_bpe_corpus *c = cs_xcalloc(1, sizeof *c);

    c->set = *s;
    c->symbols = s->alphabet == CS_DIPLOTYPES ? cs_diplotype_codes : "ACGT";
    memset(c->id_of, -1, sizeof c->id_of);
    for (int i = 0; c->symbols[i]; i++)
        c->id_of[(unsigned char)c->symbols[i]] = N_SPECIAL + i;
    CS_TRY(check_setting(s, (int)strlen(c->symbols)));
    if (s->n_sentence > 0) {
        c->sample = cs_alloc((size_t)s->n_sentence, (size_t)s->sentence_max);
        c->n_sample = cs_alloc((size_t)s->n_sentence, sizeof *c->n_sample);
        if (!c->sample || !c->n_sample) {
            rc = cs_fail(CS_EMEM, "out of memory for %lld sentences of %lld symbols",
                         (long long)s->n_sentence, (long long)s->sentence_max);
            goto out;
        }
    }
    CS_TRY(push(c, BOUND));
    *out = c;
    c = NULL;
out:
    cs_bpe_corpus_free(c);
    return rc;
}

void cs_bpe_corpus_free(cs_bpe_corpus *c)
{
    if (!c)
        return;
    CS_FREE(c->cell, c->sample, c->n_sample, c);
}

static int bpe_train_append(cs_bpe_corpus *c, const char *s, int64_t n)
{
    int rc = CS_OK;

    for (int64_t i = 0; rc == CS_OK && i < n; i++)
        rc = push(c, c->id_of[(unsigned char)s[i]]);
    return rc == CS_OK ? push(c, BOUND) : rc;
}

/* Algorithm R: sentence number k takes the place of a random one with probability n / (k + 1). */
static void keep(cs_bpe_corpus *c, const char *s, int64_t n)
{
    const uint64_t max = (uint64_t)c->set.n_sentence, k = c->n_seen++;
    const uint64_t at = k < max ? k : cs_rng_below(cs_rng_key(c->set.seed, STREAM_KEEP), k, k + 1);

    if (at >= max)
        return;
    memcpy(c->sample + at * (uint64_t)c->set.sentence_max, s, (size_t)n);
    c->n_sample[at] = (int32_t)n;
}

static void sample(cs_bpe_corpus *c, const char *s, int64_t n)
{
    const uint64_t key = cs_rng_key(c->set.seed, STREAM_LENGTH);
    const uint64_t more = (uint64_t)(c->set.sentence_max - c->set.sentence_min) + 1;

    c->n_offered += n;
    c->n_short += n < c->set.sentence_min ? n : 0;
    while (n >= c->set.sentence_min) {
        const int64_t len = c->set.sentence_min + (int64_t)cs_rng_below(key, c->n_seen, more);
        const int64_t take = len < n ? len : n;
        keep(c, s, take);
        s += take;
        n -= take;
    }
}

int cs_bpe_corpus_add(cs_bpe_corpus *c, const char *s, int64_t n)
{
    int rc = CS_OK;

    for (int64_t i = 0, start = 0; rc == CS_OK && i <= n; i++) {
        if (i < n && c->id_of[(unsigned char)s[i]] >= 0)
            continue;
        if (c->sample)
            sample(c, s + start, i - start);
        else if (i > start)
            rc = bpe_train_append(c, s + start, i - start);
        start = i + 1;
    }
    return rc;
}

static int64_t n_sentence(const cs_bpe_corpus *c)
{
    const uint64_t max = (uint64_t)c->set.n_sentence;
    return (int64_t)(c->n_seen < max ? c->n_seen : max);
}

int64_t cs_bpe_corpus_size(const cs_bpe_corpus *c)
{
    int64_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += c->cell[i] >= 0;
    for (int64_t i = 0; i < n_sentence(c); i++)
        n += c->n_sample[i];
    return n;
}

double cs_bpe_corpus_short(const cs_bpe_corpus *c)
{
    return c->n_offered > 0 ? (double)c->n_short / (double)c->n_offered : 0;
}

/* ---- pairs --------------------------------------------------------------------------------- */

struct pair {
    int32_t left, right;
    int32_t count;               /* positions in its list */
    int32_t head, tail;          /* cells, or -1 */
    int32_t next;                /* in its bucket or in the list of free ones, or -1 */
    int32_t n_heap;              /* entries in the heap */
    bool    fresh;               /* changed in this merge */
};

struct entry { int32_t count, pair; };

struct training {
    cs_bpe_corpus *c;
    cs_bpe        *b;
    int32_t       *after, *before;   /* [n] links of the lists that places are in */
    struct pair   *pair;
    size_t         n_pair, cap_pair, n_live;
    int32_t        free_pair;
    int32_t       *bucket;
    uint32_t       n_bucket;
    struct entry  *heap;
    size_t         n_heap, cap_heap;
    int32_t       *fresh;
    size_t         n_fresh, cap_fresh;
    int32_t       *place;            /* of the present pair */
    size_t         cap_place;
};

static uint32_t bucket_of(const struct training *l, int32_t left, int32_t right)
{
    const uint64_t pair = (uint64_t)left << 32 | (uint32_t)right;
    return (uint32_t)(pair * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (l->n_bucket - 1);
}

static int32_t find_pair(const struct training *l, int32_t left, int32_t right)
{
    int32_t i = l->bucket[bucket_of(l, left, right)];
    while (i >= 0 && (l->pair[i].left != left || l->pair[i].right != right))
        i = l->pair[i].next;
    return i;
}

static int grow_buckets(struct training *l)
{
    const uint32_t n = l->n_bucket ? 2 * l->n_bucket : 1 << 16;
    int32_t *bucket = cs_alloc(n, sizeof *bucket);

    if (!bucket)
        return cs_fail(CS_EMEM, "out of memory for %zu pairs of pieces", l->n_live);
    memset(bucket, -1, n * sizeof *bucket);
    free(l->bucket);
    l->bucket = bucket;
    l->n_bucket = n;
    for (size_t i = 0; i < l->n_pair; i++) {
        if (l->pair[i].left < 0)
            continue;
        const uint32_t k = bucket_of(l, l->pair[i].left, l->pair[i].right);
        l->pair[i].next = bucket[k];
        bucket[k] = (int32_t)i;
    }
    return CS_OK;
}

static int new_pair(struct training *l, int32_t left, int32_t right, int32_t *out)
{
    int32_t i = l->free_pair;

    if (l->n_live >= l->n_bucket && grow_buckets(l) != CS_OK)
        return CS_EMEM;
    if (i >= 0) {
        l->free_pair = l->pair[i].next;
    } else {
        if (cs_grow((void **)&l->pair, &l->cap_pair, l->n_pair + 1, sizeof *l->pair) != CS_OK)
            return CS_EMEM;
        i = (int32_t)l->n_pair++;
    }
    const uint32_t k = bucket_of(l, left, right);
    l->pair[i] = (struct pair){ left, right, 0, -1, -1, l->bucket[k], 0, false };
    l->bucket[k] = i;
    l->n_live++;
    *out = i;
    return CS_OK;
}

static void free_pair_at(struct training *l, int32_t i)
{
    struct pair *p = &l->pair[i];
    int32_t *link = &l->bucket[bucket_of(l, p->left, p->right)];

    while (*link != i)
        link = &l->pair[*link].next;
    *link = p->next;
    p->left = p->right = -1;
    p->next = l->free_pair;
    l->free_pair = i;
    l->n_live--;
}

/* ---- heap: largest count first, then smaller ids --------------------------------------------- */

static bool precedes(const struct training *l, struct entry x, struct entry y)
{
    const struct pair *p = &l->pair[x.pair], *q = &l->pair[y.pair];
    if (x.count != y.count)
        return x.count > y.count;
    return p->left != q->left ? p->left < q->left : p->right < q->right;
}

static int heap_push(struct training *l, int32_t pair)
{
    const struct entry e = { l->pair[pair].count, pair };

    if (cs_grow((void **)&l->heap, &l->cap_heap, l->n_heap + 1, sizeof *l->heap) != CS_OK)
        return CS_EMEM;
    size_t i = l->n_heap++;
    for (; i > 0 && precedes(l, e, l->heap[(i - 1) / 2]); i = (i - 1) / 2)
        l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = e;
    l->pair[pair].n_heap++;
    return CS_OK;
}

static struct entry heap_pop(struct training *l)
{
    const struct entry top = l->heap[0], e = l->heap[--l->n_heap];
    size_t i = 0;

    for (size_t k; (k = 2 * i + 1) < l->n_heap; i = k) {
        if (k + 1 < l->n_heap && precedes(l, l->heap[k + 1], l->heap[k]))
            k++;
        if (!precedes(l, l->heap[k], e))
            break;
        l->heap[i] = l->heap[k];
    }
    l->heap[i] = e;
    l->pair[top.pair].n_heap--;
    return top;
}

/* ---- places -------------------------------------------------------------------------------- */

static int add_place(struct training *l, int32_t at, int32_t left, int32_t right)
{
    int32_t i = find_pair(l, left, right);

    if (i < 0 && new_pair(l, left, right, &i) != CS_OK)
        return CS_EMEM;
    struct pair *p = &l->pair[i];
    l->before[at] = p->tail;
    l->after[at] = -1;
    if (p->tail >= 0)
        l->after[p->tail] = at;
    else
        p->head = at;
    p->tail = at;
    p->count++;
    if (p->fresh)
        return CS_OK;
    p->fresh = true;
    if (cs_grow((void **)&l->fresh, &l->cap_fresh, l->n_fresh + 1, sizeof *l->fresh) != CS_OK)
        return CS_EMEM;
    l->fresh[l->n_fresh++] = i;
    return CS_OK;
}

/* The present pair's list is detached: its count is 0, and nothing is to be done. */
static void drop_place(struct training *l, int32_t at, int32_t left, int32_t right)
{
    const int32_t i = find_pair(l, left, right);

    CS_BUG(i < 0);
    struct pair *p = &l->pair[i];
    if (p->count == 0)
        return;
    if (l->before[at] >= 0)
        l->after[l->before[at]] = l->after[at];
    else
        p->head = l->after[at];
    if (l->after[at] >= 0)
        l->before[l->after[at]] = l->before[at];
    else
        p->tail = l->before[at];
    if (--p->count == 0 && p->n_heap == 0 && !p->fresh)
        free_pair_at(l, i);
}

static int push_new_pairs(struct training *l)
{
    int rc = CS_OK;

    for (size_t k = 0; k < l->n_fresh; k++) {
        struct pair *p = &l->pair[l->fresh[k]];
        p->fresh = false;
        if (p->count >= l->c->set.min_count)
            CS_TRY(heap_push(l, l->fresh[k]));
        else if (p->count == 0 && p->n_heap == 0)
            free_pair_at(l, l->fresh[k]);
    }
    l->n_fresh = 0;
out:
    return rc;
}

/* The positions of a pair from left to right; empties its list. */
static int take_places(struct training *l, struct pair *p, size_t *n)
{
    size_t k = 0;
    bool sorted = true;

    if (cs_grow((void **)&l->place, &l->cap_place, (size_t)p->count, sizeof *l->place) != CS_OK)
        return CS_EMEM;
    for (int32_t at = p->head; at >= 0; at = l->after[at]) {
        sorted = sorted && (k == 0 || l->place[k - 1] < at);
        l->place[k++] = at;
    }
    CS_BUG(k != (size_t)p->count);
    if (!sorted)
        qsort(l->place, k, sizeof *l->place, cs_by_int32);
    p->head = p->tail = -1;
    p->count = 0;
    *n = k;
    return CS_OK;
}

static int merge_place(struct training *l, int32_t at, cs_bpe_merge m)
{
    int rc = CS_OK;
    int32_t *cell = l->c->cell;
    const int32_t q = at + l->b->n_sym[m.left], z = q + l->b->n_sym[m.right];
    const int32_t n_sym = l->b->n_sym[m.id];
    const int32_t a = cell[at - 1] >= 0 ? at - 1 : cell[at - 1] == BOUND ? -1 : at + cell[at - 1];

    if (cell[at] != m.left || cell[q] != m.right)
        return CS_OK;            /* AAA: its first two became a piece */
    if (a >= 0)
        drop_place(l, a, cell[a], m.left);
    if (cell[z] != BOUND)
        drop_place(l, q, m.right, cell[z]);
    cell[q] = DEAD;
    cell[at] = m.id;
    cell[at + n_sym - 1] = -n_sym;
    if (a >= 0)
        CS_TRY(add_place(l, a, cell[a], m.id));
    if (cell[z] != BOUND)
        CS_TRY(add_place(l, at, m.id, cell[z]));
out:
    return rc;
}

/* ---- training ------------------------------------------------------------------------------ */

static int add_alphabet(struct training *l)
{
    int rc = CS_OK;

    for (int i = 0; i < N_SPECIAL; i++)
        CS_TRY(cs_bpe_add(l->b, i, special[i], strlen(special[i]), true));
    for (int i = 0; l->c->symbols[i]; i++)
        CS_TRY(cs_bpe_add(l->b, N_SPECIAL + i, l->c->symbols + i, 1, false));
    l->b->pad = 0;
    l->b->unk = 1;
    l->b->fuse_unk = true;
    l->b->alphabet = l->c->set.alphabet;
out:
    return rc;
}

static int bpe_train_begin(struct training *l)
{
    int rc = CS_OK;
    cs_bpe_corpus *c = l->c;

    for (int64_t i = 0; i < n_sentence(c); i++)
        CS_TRY(bpe_train_append(c, c->sample + i * c->set.sentence_max, c->n_sample[i]));
    free(c->sample);
    c->sample = NULL;
    c->n_seen = 0;
    l->b = cs_bpe_new((int32_t)c->set.n_vocab, (int32_t)c->set.n_vocab);
    l->after = cs_alloc(c->n, sizeof *l->after);
    l->before = cs_alloc(c->n, sizeof *l->before);
    if (!l->b || !l->after || !l->before) {
        rc = cs_fail(CS_EMEM, "out of memory: training on %zu symbols takes %zu MiB or more; "
                     "sample some with --sentences NUM", c->n, c->n * 12 >> 20);
        goto out;
    }
    CS_TRY(grow_buckets(l));
    CS_TRY(add_alphabet(l));
    for (size_t i = 1; i + 1 < c->n; i++) {
        if (c->cell[i] != BOUND && c->cell[i + 1] != BOUND)
            CS_TRY(add_place(l, (int32_t)i, c->cell[i], c->cell[i + 1]));
    }
    CS_TRY(push_new_pairs(l));
out:
    return rc;
}

/* The merged piece: an old one of the same text, or a new one. */
static int joined(struct training *l, int32_t left, int32_t right, int32_t *id)
{
    char text[CS_BPE_MAX_PIECE];
    const size_t n = (size_t)l->b->n_sym[left], k = (size_t)l->b->n_sym[right];

    memcpy(text, l->b->piece[left], n);
    memcpy(text + n, l->b->piece[right], k);
    *id = cs_bpe_find(l->b, text, n + k);
    if (*id >= 0)
        return CS_OK;
    *id = l->b->n_id;
    return cs_bpe_add(l->b, *id, text, n + k, false);
}

static int record_merge(struct training *l, cs_bpe_merge m)
{
    size_t cap = (size_t)l->b->cap_merge;
    const int rc = cs_grow((void **)&l->b->merge, &cap, (size_t)l->b->n_merge + 1, sizeof m);

    if (rc == CS_OK) {
        l->b->cap_merge = (int32_t)cap;
        l->b->merge[l->b->n_merge++] = m;
    }
    return rc;
}

static int merge_pair(struct training *l, struct entry e)
{
    int rc = CS_OK;
    cs_bpe_merge m = { l->pair[e.pair].left, l->pair[e.pair].right, 0 };
    size_t n;

    CS_TRY(joined(l, m.left, m.right, &m.id));
    CS_TRY(record_merge(l, m));
    CS_TRY(take_places(l, &l->pair[e.pair], &n));
    for (size_t i = 0; i < n; i++)
        CS_TRY(merge_place(l, l->place[i], m));
    CS_TRY(push_new_pairs(l));
    if (l->b->n_merge % 1000 == 0)
        cs_info("%d merges; the last, '%s', joined %d pairs; %zu pairs are left",
                (int)l->b->n_merge, l->b->piece[m.id], (int)e.count, l->n_live);
out:
    return rc;
}

static int bpe_train_run(struct training *l)
{
    int rc = CS_OK;

    CS_TRY(bpe_train_begin(l));
    while (l->b->n_id < l->c->set.n_vocab && l->n_heap > 0) {
        const struct entry e = heap_pop(l);
        struct pair *p = &l->pair[e.pair];
        const int64_t n_sym = (int64_t)l->b->n_sym[p->left] + l->b->n_sym[p->right];
        if (e.count == p->count && n_sym <= l->c->set.max_piece)
            CS_TRY(merge_pair(l, e));
        else if (e.count > p->count && p->count >= l->c->set.min_count)
            CS_TRY(heap_push(l, e.pair));
        p = &l->pair[e.pair];
        if (p->count == 0 && p->n_heap == 0)
            free_pair_at(l, e.pair);
    }
    rc = cs_bpe_index(l->b);
out:
    return rc;
}

int cs_bpe_train(cs_bpe_corpus *c, cs_bpe **out)
{
    struct training l = { .c = c, .free_pair = -1 };
    const int rc = bpe_train_run(&l);

    CS_FREE(l.after, l.before, l.pair, l.bucket, l.heap, l.fresh, l.place);
    *out = NULL;
    if (rc == CS_OK)
        *out = l.b;
    else
        cs_bpe_free(l.b);
    return rc;
}

/*
 * proteins_choose.c - choose the proteins of a database: those that separate classes best.
 *
 * DESIGN. The pool is aligned with itself in shards, since a database has a maximum size; queries
 * run in parallel and keep their hits. For the choice hits are transposed to lists per protein; it
 * runs on one thread, with sums in a fixed order. A gain may also rise, when a chosen protein
 * misleads a query and another one corrects it; such a gain is found late, which is accepted.
 */
#include "refine/proteins_choose.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "nn/exec/proteins.h"
#include "nn/exec/proteins_io.h"
#include "tok/translate.h"

enum {
    MAX_LETTERS = 1000,          /* of a query */
    MAX_HITS = 24,               /* of a query and class */
    SHARD_LETTERS = 1 << 25      /* indexed at a time */
};
static const float least_share = 0.1f, score_unit = 10;

/* An alignment in the list of a query or of a protein: the other of the two, and exp(score /
 * score_unit). */
struct hit { uint32_t of; float part; };

struct hits { struct hit *at; uint32_t n; };

struct choice {
    const cs_protein_pool *pool;
    int           n_thread;
    struct hits  *by_query;      /* [n] */
    struct hits  *by_protein;    /* [n] views of all */
    struct hit   *all;
    float        *part;          /* [n * n_class] of queries: the best of chosen proteins */
    float        *weight;        /* [n] of queries */
    bool         *is_done;       /* [n] chosen */
    int64_t       max_bytes, n_acid;
    int64_t       used[CS_PROTEIN_MAX_CLASSES];  /* bytes of each class */
    int64_t       share[CS_PROTEIN_MAX_CLASSES]; /* and their limit */
    uint32_t     *chosen;
    size_t        n_chosen;
};

/* ---- alignments ------------------------------------------------------------------------------ */

struct ranked { struct hit hit; uint8_t class_no; };

/* By class, best ones first. */
static int by_part(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->class_no != y->class_no)
        return x->class_no < y->class_no ? -1 : 1;
    if (x->hit.part != y->hit.part)
        return x->hit.part > y->hit.part ? -1 : 1;
    return (x->hit.of > y->hit.of) - (x->hit.of < y->hit.of);
}

/* By protein, the best one first. */
static int by_protein(const void *a, const void *b)
{
    const cs_protein_alignment *x = a, *y = b;

    if (x->protein != y->protein)
        return x->protein < y->protein ? -1 : 1;
    return (x->score < y->score) - (x->score > y->score);
}

/* A query's hits so far, and its alignments with proteins of other groups of a shard, whose first
 * protein is number `first`: into r [h->n + l->n]; returns their number. */
static size_t join_hits(const cs_protein_pool *pool, uint64_t group, uint32_t first,
                        const struct hits *h, const cs_protein_list *l, struct ranked *r)
{
    size_t n = 0;

    for (uint32_t i = 0; i < h->n; i++)
        r[n++] = (struct ranked){ h->at[i], pool->class_no[h->at[i].of] };
    for (size_t i = 0; i < l->n; i++) {
        const uint32_t k = first + l->at[i].protein;
        const int score = l->at[i].score < CS_PROTEIN_SHARE_SCORE ? l->at[i].score
                                                                  : CS_PROTEIN_SHARE_SCORE;
        if ((i == 0 || l->at[i].protein != l->at[i - 1].protein) && pool->group[k] != group)
            r[n++] = (struct ranked){ { k, expf((float)score / score_unit) }, pool->class_no[k] };
    }
    return n;
}

/* Keeps the best hits of each class. */
static int keep_best(const cs_protein_pool *pool, uint64_t group, uint32_t first,
                     cs_protein_list *l, struct hits *h)
{
    struct ranked *r = cs_alloc(l->n + h->n + 1, sizeof *r);
    uint32_t n_class = 0;                          /* hits of the class so far */

    if (!r)
        return CS_EMEM;
    if (l->n > 0)
        qsort(l->at, l->n, sizeof *l->at, by_protein);
    const size_t n = join_hits(pool, group, first, h, l, r);
    free(h->at);
    *h = (struct hits){ cs_alloc(n + 1, sizeof *h->at), 0 };
    if (n > 0)
        qsort(r, n, sizeof *r, by_part);
    for (size_t i = 0; h->at && i < n; i++) {
        n_class = i > 0 && r[i].class_no == r[i - 1].class_no ? n_class + 1 : 0;
        if (n_class < MAX_HITS)
            h->at[h->n++] = r[i].hit;
    }
    free(r);
    return h->at ? CS_OK : CS_EMEM;
}

static int align_query(struct choice *c, const cs_proteins *shard, uint32_t first, size_t q,
                       cs_protein_list *l)
{
    const cs_protein_pool *pool = c->pool;
    uint8_t room[MAX_LETTERS + 2 * CS_PROTEIN_MARGIN], *letter = room + CS_PROTEIN_MARGIN;
    const int n = pool->length[q] < MAX_LETTERS ? pool->length[q] : MAX_LETTERS;

    memset(room, CS_ACID_STOP, sizeof room);
    memcpy(letter, pool->letter + pool->start[q] + (pool->length[q] - n) / 2, (size_t)n);
    l->n = 0;
    const int rc = cs_proteins_align(shard, letter, n, l);
    return rc == CS_OK ? keep_best(pool, pool->group[q], first, l, &c->by_query[q]) : rc;
}

static int align_queries(struct choice *c, const cs_proteins *shard, uint32_t first)
{
    int failed = CS_OK;

    #pragma omp parallel num_threads(c->n_thread)
    {
        cs_protein_list l = { 0 };
        #pragma omp for schedule(dynamic, 256)
        for (int64_t q = 0; q < (int64_t)c->pool->n; q++) {
            const int rc = align_query(c, shard, first, (size_t)q, &l);
            if (rc != CS_OK) {
                #pragma omp atomic write
                failed = rc;
            }
        }
        free(l.at);
    }
    return failed;
}

/* The proteins [from, to) as a database. */
static int make_shard(const struct choice *c, size_t from, size_t to, cs_proteins **out)
{
    int rc = CS_OK;
    const cs_protein_pool *pool = c->pool;
    const int64_t base = pool->start[from] - 1;
    const int64_t n_letter = pool->start[to - 1] + pool->length[to - 1] + 1 - base;

    CS_TRY(cs_proteins_new(pool->n_class, (int64_t)(to - from), n_letter, out));
    memcpy((*out)->letter, pool->letter + base, (size_t)n_letter);
    for (size_t k = from; k < to; k++) {
        (*out)->start[k - from] = (uint32_t)(pool->start[k] - base);
        (*out)->class_no[k - from] = pool->class_no[k];
    }
    rc = cs_proteins_index(*out, c->n_thread);
out:
    return rc;
}

static int align_all(struct choice *c)
{
    int rc = CS_OK;
    const cs_protein_pool *pool = c->pool;
    cs_proteins *shard = NULL;

    for (size_t from = 0, to; from < pool->n; from = to) {
        for (to = from + 1; to < pool->n && pool->start[to] + pool->length[to] + 2
                                            - pool->start[from] < SHARD_LETTERS; to++)
            ;
        CS_TRY(make_shard(c, from, to, &shard));
        CS_TRY(align_queries(c, shard, (uint32_t)from));
        cs_proteins_free(shard);
        shard = NULL;
    }
out:
    cs_proteins_free(shard);
    return rc;
}

/* ---- lists per protein, weights of queries --------------------------------------------------- */

static int transpose_hits(struct choice *c)
{
    const size_t n = c->pool->n;
    size_t n_hit = 0, at = 0;

    for (size_t q = 0; q < n; q++) {
        n_hit += c->by_query[q].n;
        for (uint32_t i = 0; i < c->by_query[q].n; i++)
            c->by_protein[c->by_query[q].at[i].of].n++;
    }
    c->all = cs_alloc(n_hit + 1, sizeof *c->all);
    if (!c->all)
        return CS_EMEM;
    for (size_t k = 0; k < n; k++) {
        c->by_protein[k].at = c->all + at;
        at += c->by_protein[k].n;
        c->by_protein[k].n = 0;
    }
    for (size_t q = 0; q < n; q++)
        for (uint32_t i = 0; i < c->by_query[q].n; i++) {
            struct hits *to = &c->by_protein[c->by_query[q].at[i].of];
            to->at[to->n++] = (struct hit){ (uint32_t)q, c->by_query[q].at[i].part };
        }
    return CS_OK;
}

struct member { uint64_t group; uint32_t q; uint8_t class_no; };

static int by_group(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->class_no != y->class_no)
        return x->class_no < y->class_no ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->q > y->q) - (x->q < y->q);
}

static int weigh(struct choice *c)
{
    const cs_protein_pool *pool = c->pool;
    struct member *m = cs_alloc(pool->n + 1, sizeof *m);
    double sum[CS_PROTEIN_MAX_CLASSES] = { 0 };

    if (!m)
        return CS_EMEM;
    for (size_t q = 0; q < pool->n; q++)
        m[q] = (struct member){ pool->group[q], (uint32_t)q, pool->class_no[q] };
    qsort(m, pool->n, sizeof *m, by_group);
    for (size_t i = 0, end; i < pool->n; i = end) {
        for (end = i + 1; end < pool->n && m[end].group == m[i].group &&
                          m[end].class_no == m[i].class_no; end++)
            ;
        sum[m[i].class_no] += sqrt((double)(end - i));
        for (size_t k = i; k < end; k++)
            c->weight[m[k].q] = (float)(1 / sqrt((double)(end - i)));
    }
    for (size_t q = 0; q < pool->n; q++)
        c->weight[q] = (float)((double)c->weight[q] / sum[pool->class_no[q]]);
    free(m);
    return CS_OK;
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* Increase of the value of the query h by a protein of class `own`. */
static float gain_of(const struct choice *c, struct hit h, int32_t own)
{
    const int32_t n = c->pool->n_class, truth = c->pool->class_no[h.of];
    const float *part = c->part + (size_t)h.of * (size_t)n;
    float sum = 0;

    if (h.part <= part[own])
        return 0;
    for (int32_t j = 0; j < n; j++)
        sum += part[j];
    const float before = part[truth] / sum;
    const float after = (own == truth ? h.part : part[truth]) / (sum + (h.part - part[own]));
    return c->weight[h.of] * (logf(least_share + after) - logf(least_share + before));
}

static int64_t bytes_of(const struct choice *c, uint32_t k)
{
    return cs_proteins_bytes(1, c->pool->length[k]);
}

/* Gain of a protein per byte. */
static float gain(const struct choice *c, uint32_t k)
{
    double sum = 0;

    for (uint32_t i = 0; i < c->by_protein[k].n; i++)
        sum += (double)gain_of(c, c->by_protein[k].at[i], c->pool->class_no[k]);
    return (float)(sum / (double)bytes_of(c, k));
}

static bool fits(const struct choice *c, uint32_t k)
{
    const int64_t n = (int64_t)c->n_chosen + 1, n_acid = c->n_acid + c->pool->length[k];

    return cs_proteins_bytes(n, n_acid) <= c->max_bytes && n_acid + n + 2 < CS_PROTEIN_MAX_LETTERS;
}

static void take(struct choice *c, uint32_t k)
{
    const int32_t n = c->pool->n_class, own = c->pool->class_no[k];

    for (uint32_t i = 0; i < c->by_protein[k].n; i++) {
        const struct hit h = c->by_protein[k].at[i];
        float *part = c->part + (size_t)h.of * (size_t)n + own;
        *part = h.part > *part ? h.part : *part;
    }
    c->is_done[k] = true;
    c->chosen[c->n_chosen++] = k;
    c->n_acid += c->pool->length[k];
    c->used[own] += bytes_of(c, k);
}

struct entry { float gain; uint32_t k; };

static bool is_less(struct entry a, struct entry b)
{
    return a.gain < b.gain || (a.gain == b.gain && a.k > b.k);
}

/* Moves entry i of a heap down. */
static void heap_down(struct entry *heap, size_t n, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && is_less(heap[child], heap[child + 1]))
            child++;
        if (!is_less(heap[i], heap[child]))
            return;
        const struct entry e = heap[i];
        heap[i] = heap[child];
        heap[child] = e;
    }
}

/* Takes proteins of the open classes, until each class has its share or no gain is left. Classes
 * that have their share stay open, the others are closed. is_open [CS_PROTEIN_MAX_CLASSES] */
static void take_shares(struct choice *c, bool *is_open, struct entry *heap)
{
    size_t n = 0;

    for (size_t k = 0; k < c->pool->n; k++)
        if (is_open[c->pool->class_no[k]] && !c->is_done[k])
            heap[n++] = (struct entry){ gain(c, (uint32_t)k), (uint32_t)k };
    memset(is_open, 0, CS_PROTEIN_MAX_CLASSES * sizeof *is_open);
    for (size_t i = n / 2; i-- > 0;)
        heap_down(heap, n, i);
    while (n > 0) {
        const uint32_t k = heap[0].k;
        const int32_t own = c->pool->class_no[k];
        const float now = gain(c, k);
        if (now < heap[0].gain) {
            heap[0].gain = now;
        } else if (now <= 0) {
            break;
        } else {
            if (c->used[own] + bytes_of(c, k) > c->share[own])
                is_open[own] = true;
            else if (fits(c, k))
                take(c, k);
            heap[0] = heap[--n];
        }
        heap_down(heap, n, 0);
    }
}

/* In equal shares of the classes; the unused share of a class goes to the others. */
static int take_by_gain(struct choice *c)
{
    const int32_t n_class = c->pool->n_class;
    struct entry *heap = cs_alloc(c->pool->n + 1, sizeof *heap);
    bool is_open[CS_PROTEIN_MAX_CLASSES] = { false };
    int32_t n_open = n_class;

    if (!heap)
        return CS_EMEM;
    for (int32_t j = 0; j < n_class; j++)
        is_open[j] = true;
    for (bool progress = true; progress && n_open > 0;) {
        const size_t before = c->n_chosen;
        const int64_t left = c->max_bytes - cs_proteins_bytes((int64_t)before, c->n_acid);
        for (int32_t j = 0; j < n_class; j++)
            c->share[j] = c->used[j] + (is_open[j] ? left / n_open : 0);
        take_shares(c, is_open, heap);
        n_open = 0;
        for (int32_t j = 0; j < n_class; j++)
            n_open += is_open[j];
        progress = c->n_chosen > before;
    }
    free(heap);
    return CS_OK;
}

/* The class that has the fewest bytes and a protein left, at next[]; -1: none has. */
static int32_t smallest_class(const struct choice *c, size_t *next)
{
    const cs_protein_pool *pool = c->pool;
    int32_t best = -1;

    for (int32_t j = 0; j < pool->n_class; j++) {
        while (next[j] < pool->n && (pool->class_no[next[j]] != j || c->is_done[next[j]]))
            next[j]++;
        if (next[j] < pool->n && (best < 0 || c->used[j] < c->used[best]))
            best = j;
    }
    return best;
}

static void fill_rest(struct choice *c)
{
    size_t next[CS_PROTEIN_MAX_CLASSES] = { 0 };

    for (int32_t j; (j = smallest_class(c, next)) >= 0 && fits(c, (uint32_t)next[j]);)
        take(c, (uint32_t)next[j]);
}

int cs_proteins_choose(const cs_protein_pool *pool, int64_t max_bytes, int n_thread,
                       uint32_t *chosen, size_t *n)
{
    int rc = CS_OK;
    const size_t n_part = pool->n * (size_t)pool->n_class;
    struct choice c = { .pool = pool, .max_bytes = max_bytes, .n_thread = n_thread,
                        .chosen = chosen,
                        .by_query = cs_xcalloc(pool->n + 1, sizeof *c.by_query),
                        .by_protein = cs_xcalloc(pool->n + 1, sizeof *c.by_protein),
                        .is_done = cs_xcalloc(pool->n + 1, sizeof *c.is_done),
                        .part = cs_alloc(n_part + 1, sizeof *c.part),
                        .weight = cs_alloc(pool->n + 1, sizeof *c.weight) };

    if (!c.part || !c.weight) {
        rc = CS_EMEM;
        goto out;
    }
    for (size_t i = 0; i < n_part; i++)
        c.part[i] = expf((float)CS_PROTEIN_BACKGROUND / score_unit);
    CS_TRY(align_all(&c));
    CS_TRY(weigh(&c));
    CS_TRY(transpose_hits(&c));
    CS_TRY(take_by_gain(&c));
    fill_rest(&c);
    *n = c.n_chosen;
out:
    for (size_t q = 0; q < pool->n; q++)
        free(c.by_query[q].at);
    CS_FREE(c.by_query, c.by_protein, c.all, c.part, c.weight, c.is_done);
    return rc == CS_EMEM ? cs_fail(CS_EMEM, "out of memory to choose proteins") : rc;
}

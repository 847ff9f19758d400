/*
 * proteins_build.c - build a protein database from labelled sequences.
 *
 * DESIGN
 * Frames are remembered by place, not by letters: of 500 Mbases there are a million. Words of eight
 * letters of a reduced alphabet that stored proteins of a class have are bits of one hashed set.
 * Its size is fixed, so a word is rarely taken for known by chance (7 % with 70 million letters).
 */
#include "refine/proteins_build.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "refine/proteins_choose.h"
#include "tok/open_frames.h"
#include "tok/translate.h"

enum { WORD = 8, MIN_WORDS = 10, SET_BITS = 30,
       MAX_LETTERS = 40000000 };     /* of a class's candidates */

/* A run of codons: letters [from, from + n) of a frame of an example. */
struct frame {
    uint64_t key;                /* hash of its letters */
    int32_t  example;
    uint32_t from;
    uint16_t n;
    uint8_t  frame, class_no;
};

struct proteins {
    const cs_dataset *d;
    const cs_protein_rule *rule;
    int32_t        n_class;
    struct frame  *frame;
    size_t         n, cap;
    uint8_t       *letter;       /* [most letters of a frame + 2] */
    uint8_t       *covered;      /* [most bases of an example] */
    uint8_t       *known;        /* [2^SET_BITS / 8] words of stored proteins */
    size_t        *stored;       /* indices of frames without near-duplicates */
    size_t         n_stored, cap_stored;
    int64_t        n_acid;       /* letters of these */
};

/* ---- open reading frames --------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static int add_frame(struct proteins *b, const struct frame *f)
{
    if (cs_grow((void **)&b->frame, &b->cap, b->n + 1, sizeof *b->frame) != CS_OK)
        return CS_EMEM;
    b->frame[b->n++] = *f;
    return CS_OK;
}

/* The current stretch of the frames, in pieces of equal length, none longer than the rule's. */
static int add_pieces(struct proteins *b, int32_t example, const cs_open_frames *r)
{
    const int64_t n = r->to - r->from,
                  n_piece = (n + b->rule->max_length - 1) / b->rule->max_length;
    int rc = CS_OK;

    for (int64_t i = 0; i < n_piece && rc == CS_OK; i++) {
        const int64_t first = r->from + n * i / n_piece, end = r->from + n * (i + 1) / n_piece;
        struct frame f = { .key = 1, .example = example, .from = (uint32_t)first,
                           .n = (uint16_t)(end - first), .frame = (uint8_t)r->frame,
                           .class_no = (uint8_t)b->d->ex[example].class_no };
        for (int64_t k = first; k < end; k++)
            f.key = mix(f.key, r->letter[k]);
        rc = add_frame(b, &f);
    }
    return rc;
}

static int add_runs(struct proteins *b, int32_t example)
{
    const cs_example *e = &b->d->ex[example];
    cs_open_frames r;
    int rc = cs_open_frames_init(&r, e->base, e->n_base, b->rule->min_length, false);

    if (rc != CS_OK)
        rc = cs_fail(CS_EMEM, "out of memory for a record of %lld bases", (long long)e->n_base);
    while (rc == CS_OK && cs_open_frames_next(&r))
        rc = add_pieces(b, example, &r);
    cs_open_frames_close(&r);
    return rc;
}

/* First base of a run, on the forward strand. */
static int64_t first_base(const struct proteins *b, const struct frame *f)
{
    const int64_t n_base = b->d->ex[f->example].n_base;

    return f->frame < 3 ? f->frame + 3 * (int64_t)f->from
                        : n_base - (f->frame - 3) - 3 * ((int64_t)f->from + f->n);
}

/* Equal letters occur at one place of several frames, and qsort() need not be stable. */
static int by_place(const struct frame *x, const struct frame *y)
{
    return x->from != y->from ? (x->from < y->from ? -1 : 1)
                              : (x->frame > y->frame) - (x->frame < y->frame);
}

static int by_length(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return by_place(x, y);
}

/* Drops an example's frames, from index `first` on, that overlap longer ones by more than half. */
static void drop_shadows(struct proteins *b, size_t first)
{
    size_t n = first;

    if (b->n == first)
        return;
    qsort(b->frame + first, b->n - first, sizeof *b->frame, by_length);
    memset(b->covered, 0, (size_t)b->d->ex[b->frame[first].example].n_base);
    for (size_t i = first; i < b->n; i++) {
        uint8_t *at = b->covered + first_base(b, &b->frame[i]);
        const int64_t n_base = 3 * (int64_t)b->frame[i].n;
        int64_t taken = 0;
        for (int64_t k = 0; k < n_base; k++)
            taken += at[k];
        if (2 * taken > n_base)
            continue;
        memset(at, 1, (size_t)n_base);
        b->frame[n++] = b->frame[i];
    }
    b->n = n;
}

static int find_frames(struct proteins *b)
{
    int rc = CS_OK;
    int64_t max = 0;

    for (int64_t i = 0; i < b->d->n; i++)
        max = b->d->ex[i].n_base > max ? b->d->ex[i].n_base : max;
    b->letter = cs_alloc((size_t)max / 3 + 2, 1);
    b->covered = cs_alloc((size_t)max + 1, 1);
    if (!b->letter || !b->covered)
        return cs_fail(CS_EMEM, "out of memory for a record of %lld bases", (long long)max);
    for (int64_t i = 0; i < b->d->n; i++) {
        const size_t first = b->n;
        if (b->d->ex[i].part != CS_PART_TRAIN)
            continue;
        CS_TRY(add_runs(b, (int32_t)i));
        drop_shadows(b, first);
    }
out:
    return rc;
}

/* ---- choice ---------------------------------------------------------------------------------- */

static int by_class(const void *a, const void *b)
{
    const struct frame *x = a, *y = b;

    if (x->class_no != y->class_no)
        return x->class_no < y->class_no ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->example != y->example)
        return x->example < y->example ? -1 : 1;
    return by_place(x, y);
}

/* The letters of a frame, in b->letter; returns their first. */
static const uint8_t *letters_of(struct proteins *b, const struct frame *f)
{
    const cs_example *e = &b->d->ex[f->example];
    const int64_t from = first_base(b, f);

    (void)cs_translate(e->base + from, 3 * (int64_t)f->n, f->frame < 3 ? 0 : 3, b->letter);
    return b->letter;
}

/* The place in the set of the word at a letter. */
static uint64_t word_at(const uint8_t *letter, uint8_t class_no)
{
    uint64_t h = (uint64_t)class_no + 1;

    for (int k = 0; k < WORD; k++)
        h = h << 4 | cs_acid_group[letter[k]];
    h *= 0x9e3779b97f4a7c15u;
    return (h ^ h >> 32) * 0xbf58476d1ce4e5b9u >> (64 - SET_BITS);
}

/* Keeps a frame for the choice unless most of its words are known. */
static int store(struct proteins *b, size_t i)
{
    const struct frame *f = &b->frame[i];
    const uint8_t *letter = letters_of(b, f);
    const int n = (int)f->n - WORD + 1;
    int n_known = 0;

    for (int k = 0; k < n; k++) {
        const uint64_t at = word_at(letter + k, f->class_no);
        n_known += b->known[at / 8] >> at % 8 & 1;
    }
    if (n < MIN_WORDS || n_known > b->rule->max_known * n)
        return CS_OK;
    for (int k = 0; k < n; k++) {
        const uint64_t at = word_at(letter + k, f->class_no);
        b->known[at / 8] |= (uint8_t)(1u << at % 8);
    }
    if (cs_grow((void **)&b->stored, &b->cap_stored, b->n_stored + 1, sizeof *b->stored) != CS_OK)
        return CS_EMEM;
    b->stored[b->n_stored++] = i;
    b->n_acid += f->n;
    return CS_OK;
}

/* The frames of each class in an order by a hash of their letters, without near-duplicates. */
static int drop_duplicates(struct proteins *b)
{
    int rc = CS_OK;
    int64_t before = 0;                            /* letters of the classes before this one */

    b->known = cs_alloc((size_t)1 << (SET_BITS - 3), 1);
    if (!b->known)
        return cs_fail(CS_EMEM, "out of memory to choose proteins");
    memset(b->known, 0, (size_t)1 << (SET_BITS - 3));
    if (b->n > 0)
        qsort(b->frame, b->n, sizeof *b->frame, by_class);
    for (size_t i = 0; i < b->n; i++) {
        if (i == 0 || b->frame[i].class_no != b->frame[i - 1].class_no)
            before = b->n_acid;
        if (b->n_acid - before < MAX_LETTERS)
            CS_TRY(store(b, i));
    }
out:
    return rc;
}

static void pool_free(cs_protein_pool *p)
{
    CS_FREE(p->letter, p->start, p->length, p->class_no, p->group);
}

static int make_pool(struct proteins *b, cs_protein_pool *p)
{
    const size_t n = b->n_stored;
    int64_t at = 0;

    *p = (cs_protein_pool){ .n = n, .n_class = b->n_class,
                            .letter = cs_alloc((size_t)b->n_acid + n + 1, 1),
                            .start = cs_alloc(n, sizeof *p->start),
                            .length = cs_alloc(n, sizeof *p->length),
                            .class_no = cs_alloc(n, 1), .group = cs_alloc(n, sizeof *p->group) };
    if (!p->letter || !p->start || !p->length || !p->class_no || !p->group)
        return cs_fail(CS_EMEM, "out of memory for %lld amino acids", (long long)b->n_acid);
    p->letter[at++] = CS_ACID_STOP;
    for (size_t k = 0; k < n; k++) {
        const struct frame *f = &b->frame[b->stored[k]];
        p->start[k] = at;
        p->length[k] = f->n;
        p->class_no[k] = f->class_no;
        p->group[k] = b->d->ex[f->example].group;
        memcpy(p->letter + at, letters_of(b, f), f->n);
        at += f->n;
        p->letter[at++] = CS_ACID_STOP;
    }
    return CS_OK;
}

static int proteins_build_fill(const cs_protein_pool *pool, const uint32_t *chosen, int n_thread,
                               cs_proteins *p)
{
    int64_t at = 0;

    p->letter[at++] = CS_ACID_STOP;
    for (int64_t k = 0; k < p->n; k++) {
        const uint32_t i = chosen[k];
        p->start[k] = (uint32_t)at;
        p->class_no[k] = pool->class_no[i];
        memcpy(p->letter + at, pool->letter + pool->start[i], pool->length[i]);
        at += pool->length[i];
        p->letter[at++] = CS_ACID_STOP;
    }
    return cs_proteins_index(p, n_thread);
}

/* The database that cs_proteins_choose() chooses; NULL if nothing fits. */
static int choose(const cs_protein_pool *pool, int64_t max_bytes, int n_thread,
                  cs_proteins **out)
{
    int rc = CS_OK;
    uint32_t *chosen = cs_alloc(pool->n, sizeof *chosen);
    size_t n = 0;
    int64_t n_acid = 0;

    if (!chosen)
        return cs_fail(CS_EMEM, "out of memory to choose proteins");
    CS_TRY(cs_proteins_choose(pool, max_bytes, n_thread, chosen, &n));
    for (size_t k = 0; k < n; k++)
        n_acid += pool->length[chosen[k]];
    if (n > 0) {
        CS_TRY(cs_proteins_new(pool->n_class, (int64_t)n, n_acid + (int64_t)n + 1, out));
        CS_TRY(proteins_build_fill(pool, chosen, n_thread, *out));
    }
out:
    free(chosen);
    return rc;
}

int cs_proteins_build(const cs_dataset *d, int32_t n_class, const cs_protein_rule *rule,
                      int n_thread, cs_proteins **out)
{
    int rc = CS_OK;
    struct proteins b = { .d = d, .rule = rule, .n_class = n_class };
    cs_protein_pool pool = { 0 };

    *out = NULL;
    CS_TRY(find_frames(&b));
    CS_TRY(drop_duplicates(&b));
    if (b.n_stored > 0) {
        CS_TRY(make_pool(&b, &pool));
        CS_TRY(choose(&pool, rule->max_bytes, n_thread, out));
    }
    if (!*out)
        rc = cs_fail(CS_EUSAGE, "no open reading frame has %lld amino acids, or the database is "
                     "too small; see --protein-length and --size", (long long)rule->min_length);
out:
    if (rc != CS_OK) {
        cs_proteins_free(*out);
        *out = NULL;
    }
    pool_free(&pool);
    CS_FREE(b.frame, b.letter, b.covered, b.known, b.stored);
    return rc;
}

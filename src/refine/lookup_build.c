/*
 * lookup_build.c - build a look-up table: words shared by groups of a class.
 *
 * DESIGN
 * Every sampled word of every sequence becomes 64 bits, its hash above the number of its group, in
 * one of 256 lists by the first bits of the hash. Lists are sorted one by one, so a word's groups
 * are adjacent. Two passes: the first makes a histogram, per class, of words by groups of their
 * class. Classes have equal shares of the table, and a class with fewer words leaves the rest of
 * its share to the others: otherwise the class with the most sequence would fill the table. The
 * histogram gives the minimum number of groups for each share. The second pass stores the words,
 * in the table's order.
 */
#include "refine/lookup_build.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/order.h"

enum { N_LIST = 256, GROUP_BITS = 64 - CS_LOOKUP_HASH_BITS, MAX_GROUPS = 1 << GROUP_BITS,
       N_LEVEL = 256 };

struct list { uint64_t *v; size_t n, cap; };

/* A group, by its hash and class; its number is its index. */
struct group { uint64_t name; int32_t class_no; };

/* A class's candidates and its share of the table. */
struct share {
    int64_t level[N_LEVEL];      /* histogram of words by groups of the class */
    int64_t n_word, max;         /* words in all; words stored */
    int64_t cut;                 /* words with this many groups are stored in part: */
    int64_t n_cut, n_met;        /* number stored, and seen so far in the second pass */
};

struct build {
    const cs_dataset *d;
    const cs_lookup_rule *rule;
    int32_t       n_class;       /* of words */
    const int32_t *class_of;     /* [n_label] of each class of the model; NULL: itself */
    struct list   list[N_LIST];
    struct group *group;         /* in order */
    int64_t       n_group;
    struct share *share;         /* [n_class] */
    int32_t      *count;         /* [n_class] groups of the present word */
};

/* ---- groups ---------------------------------------------------------------------------------- */

static int by_group(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    return (x->class_no > y->class_no) - (x->class_no < y->class_no);
}

static struct group group_of(const struct build *b, const cs_example *e)
{
    return (struct group){ e->group, b->class_of ? b->class_of[e->class_no] : e->class_no };
}

static int number_groups(struct build *b)
{
    int64_t n = 0;

    b->group = cs_alloc((size_t)b->d->n + 1, sizeof *b->group);
    if (!b->group)
        return cs_fail(CS_EMEM, "out of memory for the groups of %lld records", (long long)b->d->n);
    for (int64_t i = 0; i < b->d->n; i++)
        if (b->d->ex[i].part == CS_PART_TRAIN)
            b->group[n++] = group_of(b, &b->d->ex[i]);
    qsort(b->group, (size_t)n, sizeof *b->group, by_group);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || by_group(&b->group[i], &b->group[b->n_group - 1]) != 0)
            b->group[b->n_group++] = b->group[i];
    if (b->n_group > MAX_GROUPS)
        return cs_fail(CS_EUSAGE, "a look-up table takes at most %d groups, not %lld",
                       (int)MAX_GROUPS, (long long)b->n_group);
    return CS_OK;
}

static uint64_t group_no(const struct build *b, const cs_example *e)
{
    const struct group key = group_of(b, e);
    const struct group *g = bsearch(&key, b->group, (size_t)b->n_group, sizeof key, by_group);

    CS_BUG(!g);
    return (uint64_t)(g - b->group);
}

/* ---- words ----------------------------------------------------------------------------------- */

static int add_example(struct build *b, const cs_peptides *words, const cs_example *e)
{
    const uint64_t group = group_no(b, e), low = ((uint64_t)1 << GROUP_BITS) - 1;
    const int64_t n_window = cs_peptides_windows(words, e->n_base);
    uint64_t hash[2 * CS_PEPTIDE_BLOCK];

    for (int64_t from = 0; from < n_window; from += CS_PEPTIDE_BLOCK) {
        const int n = cs_peptides_hash(words, e->base, e->n_base, from, hash);
        for (int i = 0; i < n; i++) {
            struct list *l = &b->list[hash[i] >> 56];
            if (cs_try_grow((void **)&l->v, &l->cap, l->n + 1, sizeof *l->v) != CS_OK)
                return cs_fail(CS_EMEM, "out of memory for the words of '%s'; reduce them with "
                               "--sample", e->name);
            l->v[l->n++] = (hash[i] & ~low) | group;
        }
    }
    return CS_OK;
}

/* In order, and each once. */
static void sort_list(struct list *l)
{
    size_t n = 0;

    if (l->n > 0)
        qsort(l->v, l->n, sizeof *l->v, cs_by_uint64);
    for (size_t i = 0; i < l->n; i++)
        if (n == 0 || l->v[i] != l->v[n - 1])
            l->v[n++] = l->v[i];
    l->n = n;
}

/* The groups with a word. */
struct found { int32_t first, second; int64_t n_first; };

/* The word at l->v[*i]; advances *i over its groups. Is it stored? */
static bool next_word(struct build *b, const struct list *l, size_t *i, struct found *w)
{
    const uint64_t hash = l->v[*i] >> GROUP_BITS;
    const size_t from = *i;
    const int32_t *n = b->count;

    memset(b->count, 0, (size_t)b->n_class * sizeof *b->count);
    for (; *i < l->n && l->v[*i] >> GROUP_BITS == hash; (*i)++)
        b->count[b->group[l->v[*i] & (MAX_GROUPS - 1)].class_no]++;
    w->first = 0;
    for (int32_t c = 1; c < b->n_class; c++)
        w->first = n[c] > n[w->first] ? c : w->first;
    w->second = w->first == 0;
    for (int32_t c = 0; c < b->n_class; c++)
        w->second = c != w->first && n[c] > n[w->second] ? c : w->second;
    w->second = n[w->second] > 0 ? w->second : w->first;
    w->n_first = n[w->first];
    return w->n_first >= b->rule->min_groups &&
           (double)w->n_first >= b->rule->purity * (double)(*i - from);
}

static int64_t level_of(const struct found *w)
{
    return w->n_first < N_LEVEL ? w->n_first : N_LEVEL - 1;
}

/* Words that fit a table of so many bytes. */
static int64_t words_within(int32_t n_class, int64_t max_bytes)
{
    int64_t max = max_bytes / CS_LOOKUP_WORD_BYTES;

    while (max > 0 && cs_lookup_bytes(n_class, max) > max_bytes)
        max -= max / 64 + 1;
    return max;
}

/* Equal shares of n words; a class's unused share goes to the others. */
static void divide(struct build *b, int64_t n)
{
    int32_t open = b->n_class;

    for (bool changed = true; changed && open > 0;) {
        const int64_t each = n / open;
        changed = false;
        for (int32_t c = 0; c < b->n_class; c++) {
            struct share *s = &b->share[c];
            if (s->max == s->n_word || s->n_word > each)
                continue;
            s->max = s->n_word;
            n -= s->n_word;
            open--;
            changed = true;
        }
    }
    for (int32_t c = 0; c < b->n_class; c++)
        if (b->share[c].max < b->share[c].n_word)
            b->share[c].max = n / open;
}

/* Minimum number of groups of a class's stored words. */
static void find_cut(struct share *s)
{
    int64_t n = 0;

    for (s->cut = N_LEVEL - 1; s->cut > 0 && n + s->level[s->cut] <= s->max; s->cut--)
        n += s->level[s->cut];
    s->n_cut = s->cut > 0 ? s->max - n : 0;
}

static int64_t find_cuts(struct build *b)
{
    int64_t n = 0;

    for (int32_t c = 0; c < b->n_class; c++)
        b->share[c].max = -1;
    divide(b, words_within(b->n_class, b->rule->max_bytes));
    for (int32_t c = 0; c < b->n_class; c++) {
        find_cut(&b->share[c]);
        n += b->share[c].max;
    }
    return n;
}

static void count_levels(struct build *b)
{
    struct found w;

    for (int k = 0; k < N_LIST; k++)
        for (size_t i = 0; i < b->list[k].n;)
            if (next_word(b, &b->list[k], &i, &w)) {
                b->share[w.first].level[level_of(&w)]++;
                b->share[w.first].n_word++;
            }
}

/* Is a word stored? All above the class's threshold; at the threshold n_cut, evenly spaced. */
static bool takes(struct share *s, int64_t level)
{
    if (level != s->cut)
        return level > s->cut;
    const int64_t before = s->n_met * s->n_cut / s->level[level];
    s->n_met++;
    return s->n_met * s->n_cut / s->level[level] > before;
}

/* A fingerprint may be shorter than a hash: of words with equal ones the first is stored. */
static bool repeats(const cs_lookup *l, int64_t n, uint32_t bucket, uint32_t fingerprint)
{
    return n > (int64_t)l->first[bucket] && cs_lookup_word(l, n - 1) >> l->code_bits == fingerprint;
}

static void lookup_build_fill(struct build *b, cs_lookup *l)
{
    const int64_t n_bucket = (int64_t)1 << l->bucket_bits;
    int64_t n = 0, bucket = -1;
    struct found w;

    for (int k = 0; k < N_LIST; k++)
        for (size_t i = 0; i < b->list[k].n;) {
            const uint64_t hash = b->list[k].v[i] & ~(uint64_t)(MAX_GROUPS - 1);
            if (!next_word(b, &b->list[k], &i, &w) || !takes(&b->share[w.first], level_of(&w)))
                continue;
            const uint32_t to = cs_lookup_bucket(l, hash);
            const uint32_t fingerprint = cs_lookup_fingerprint(l, hash);
            while (bucket < (int64_t)to)
                l->first[++bucket] = (uint32_t)n;
            if (!repeats(l, n, to, fingerprint))
                cs_lookup_set_word(l, n++, fingerprint << l->code_bits
                                         | (uint32_t)cs_lookup_code(l, w.first, w.second));
        }
    while (bucket < n_bucket)
        l->first[++bucket] = (uint32_t)n;
    l->n = n;
    cs_lookup_index(l);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int lookup_build_collect(struct build *b, const cs_peptides *words, int n_thread)
{
    int rc = CS_OK;

    CS_TRY(number_groups(b));
    for (int64_t i = 0; i < b->d->n; i++)
        if (b->d->ex[i].part == CS_PART_TRAIN)
            CS_TRY(add_example(b, words, &b->d->ex[i]));
    #pragma omp parallel for schedule(dynamic) num_threads(n_thread) if (n_thread > 1)
    for (int k = 0; k < N_LIST; k++)
        sort_list(&b->list[k]);
out:
    return rc;
}

int cs_lookup_build(const cs_peptides *words, const cs_dataset *d, int32_t n_label,
                    const int32_t *class_of, const cs_lookup_rule *rule, int n_thread,
                    cs_lookup **out)
{
    int rc = CS_OK;
    int32_t n_class = class_of ? 0 : n_label;
    int64_t n;
    struct build *b = cs_xcalloc(1, sizeof *b);

    *out = NULL;
    for (int32_t k = 0; k < n_label && class_of; k++)
        n_class = class_of[k] >= n_class ? class_of[k] + 1 : n_class;
    b->d = d;
    b->rule = rule;
    b->n_class = n_class;
    b->class_of = class_of;
    b->count = cs_xcalloc((size_t)n_class, sizeof *b->count);
    b->share = cs_xcalloc((size_t)n_class, sizeof *b->share);
    CS_TRY(lookup_build_collect(b, words, n_thread));
    count_levels(b);
    n = find_cuts(b);
    if (n == 0) {
        rc = cs_fail(CS_EUSAGE, "no peptide word occurs in %lld groups of one class, or the "
                     "table is too small; see --min-groups and --size",
                     (long long)rule->min_groups);
        goto out;
    }
    CS_TRY(cs_lookup_new(words, n_class, n, cs_lookup_bucket_bits(n), out));
    lookup_build_fill(b, *out);
    if (class_of)
        rc = cs_lookup_set_classes(*out, n_label, class_of);
out:
    for (int k = 0; k < N_LIST; k++)
        free(b->list[k].v);
    CS_FREE(b->group, b->count, b->share, b);
    return rc;
}

/* dataset.c - labelled sequences in memory, and their split by groups. */
#include "train/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/rng.h"

/* Streams of the seed, one per purpose. */
enum { STREAM_SPLIT = 101, STREAM_CUT = 102 };

const char *const cs_part_names[] = { [CS_PART_TRAIN] = "train", [CS_PART_VALID] = "valid",
                                      [CS_PART_SKIP] = "skip" };
bool cs_part_of(const char *name, cs_part *part)
{
    for (int i = 0; i < (int)(sizeof cs_part_names / sizeof *cs_part_names); i++)
        if (strcmp(name, cs_part_names[i]) == 0) {
            *part = (cs_part)i;
            return true;
        }
    return false;
}

static uint64_t dataset_mix(uint64_t h, const void *p, size_t n)
{
    const unsigned char *b = p;
    uint64_t word;

    for (; n >= sizeof word; n -= sizeof word, b += sizeof word) {
        memcpy(&word, b, sizeof word);
        h = cs_rng_u64(h, word);
    }
    word = 0;
    memcpy(&word, b, n);
    return cs_rng_u64(h ^ n, word);
}

void cs_dataset_init(cs_dataset *d, bool is_class, int32_t n_target, int32_t n_channel)
{
    *d = (cs_dataset){ .is_class = is_class, .n_class = 1, .n_target = n_target,
                       .n_channel = n_channel, .background = -1, .mem = cs_arena_new() };
}

void cs_dataset_clear(cs_dataset *d)
{
    cs_arena_free(d->mem);
    d->mem = cs_arena_new();
    d->n = d->n_base = 0;
    d->hash = 0;
}

void cs_dataset_release(cs_dataset *d)
{
    cs_arena_free(d->mem);
    free(d->ex);
    *d = (cs_dataset){ 0 };
}

/* The length of NAME in NAME:FROM-TO, else of the whole: others' names have colons, too. */
static size_t whole_name(const char *name)
{
    static const char digits[] = "0123456789";
    const char *colon = strrchr(name, ':');
    const size_t n = colon != NULL ? strspn(colon + 1, digits) : 0;

    if (n == 0 || colon[1 + n] != '-')
        return strlen(name);
    const char *to = colon + 1 + n + 1;
    const size_t n_to = strspn(to, digits);
    return n_to > 0 && to[n_to] == '\0' ? (size_t)(colon - name) : strlen(name);
}

static uint64_t group_of(const char *name, const char *group)
{
    if (group != NULL && group[0] != '\0' && strcmp(group, CS_NO_GROUP) != 0)
        return dataset_mix(1, group, strlen(group));
    return dataset_mix(2, name, whole_name(name));
}

/* Hash h extended by the sequence. */
static uint64_t mix_sequence(uint64_t h, const cs_dataset *d, const cs_example *e)
{
    if (e->x != NULL)
        return dataset_mix(h, e->x, (size_t)e->n_base * (size_t)d->n_channel * sizeof *e->x);
    return dataset_mix(h, e->base, (size_t)e->n_base);
}

static uint64_t hash_of(const cs_dataset *d, const cs_example *e)
{
    uint64_t h = dataset_mix(d->hash, e->name, strlen(e->name));

    if (e->target != NULL)
        h = dataset_mix(h, e->target, (size_t)d->n_target * sizeof *e->target);
    if (d->n_target == CS_TARGET_TOKENS)
        h = dataset_mix(h, &d->background, sizeof d->background);
    for (int64_t i = 0; i < e->n_span; i++)
        h = dataset_mix(h, (const int64_t[]){ e->span[i].from, e->span[i].to, e->span[i].class_no },
                        3 * sizeof(int64_t));
    return mix_sequence(h, d, e);
}

/* All of an example except its target. */
static int copy_record(cs_dataset *d, const cs_record *r, const char *group, cs_example *e)
{
    const size_t n = (size_t)r->seg[0].n_base;
    const size_t x_bytes = n * (size_t)d->n_channel * sizeof *r->x;

    *e = (cs_example){ .n_base = r->seg[0].n_base, .group = group_of(r->name, group) };
    if (cs_try_grow((void **)&d->ex, &d->cap, (size_t)d->n + 1, sizeof *d->ex) != CS_OK)
        return CS_EMEM;
    if (d->n_channel > 0)
        e->x = (const float *)(void *)cs_arena_dup(d->mem, r->x, x_bytes);
    else
        e->base = cs_arena_dup(d->mem, r->seg[0].base, n);
    e->name = cs_arena_dup(d->mem, r->name, strlen(r->name));
    if (group != NULL && group[0] != '\0')
        e->group_name = cs_arena_dup(d->mem, group, strlen(group));
    return (e->x != NULL || e->base != NULL) && e->name != NULL &&
           (e->group_name != NULL || group == NULL || group[0] == '\0') ? CS_OK : CS_EMEM;
}

static void dataset_append(cs_dataset *d, const cs_example *e)
{
    if (e->class_no >= d->n_class)
        d->n_class = e->class_no + 1;
    d->hash = hash_of(d, e);
    d->n_base += e->n_base;
    d->ex[d->n++] = *e;
}

static int dataset_no_memory(const cs_dataset *d, const cs_record *r)
{
    return cs_fail(CS_EMEM, "out of memory for the sequences, at record '%s' after %lld bases; "
                   "training holds all sequences in memory", r->name, (long long)d->n_base);
}

int cs_dataset_add(cs_dataset *d, const cs_record *r, const float *target, const char *group)
{
    const size_t n_bytes = (size_t)d->n_target * sizeof *target;
    cs_example e;

    if (copy_record(d, r, group, &e) != CS_OK)
        return dataset_no_memory(d, r);
    e.target = (const float *)(void *)cs_arena_dup(d->mem, target, n_bytes);
    if (e.target == NULL)
        return dataset_no_memory(d, r);
    e.class_no = d->is_class ? (int32_t)target[0] : 0;
    dataset_append(d, &e);
    return CS_OK;
}

int cs_dataset_add_spans(cs_dataset *d, const cs_record *r, const cs_span *span, int64_t n_span,
                         const char *group)
{
    cs_example e;

    CS_BUG(d->n_target != CS_TARGET_TOKENS);
    if (copy_record(d, r, group, &e) != CS_OK)
        return dataset_no_memory(d, r);
    e.span = (const cs_span *)(void *)cs_arena_dup(d->mem, span, (size_t)n_span * sizeof *span);
    e.n_span = n_span;
    if (e.span == NULL)
        return dataset_no_memory(d, r);
    dataset_append(d, &e);
    return CS_OK;
}

/* ---- split ----------------------------------------------------------------------------------- */

/* An example's position in the order of groups. */
struct place { uint64_t rank, group; int64_t example; };

static int by_rank(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->example < b->example ? -1 : a->example > b->example;
}

struct split {
    double   frac;
    double  *total, *held_out;   /* [n_class] bases */
    double  *group;              /* [n_class] bases of the current group; -1: it lacks the class */
    int32_t *in_group;           /* its classes */
};

/* Bases of the group place[0..n) per class. Returns the number of its classes, which are sorted, so
 * that sums over them do not depend on the order of examples. */
static size_t list_classes(const cs_dataset *d, struct split *s, const struct place *place,
                           int64_t n)
{
    size_t n_in = 0;

    for (int64_t i = 0; i < n; i++) {
        const cs_example *e = &d->ex[place[i].example];
        double *bases = &s->group[e->class_no];
        if (*bases < 0) {
            *bases = 0;
            s->in_group[n_in++] = e->class_no;
        }
        *bases += (double)e->n_base;
    }
    qsort(s->in_group, n_in, sizeof *s->in_group, cs_by_int32);
    return n_in;
}

static double distance(const struct split *s, int32_t c, double more)
{
    return s->total[c] > 0 ? fabs((s->held_out[c] + more) / s->total[c] - s->frac) : 0;
}

/* Holds out the group place[0..n) if that brings the shares closer to the target. */
static void hold_out_if_closer(cs_dataset *d, struct split *s, const struct place *place, int64_t n)
{
    const size_t n_in = list_classes(d, s, place, n);
    double gain = 0;

    for (size_t k = 0; k < n_in; k++) {
        const int32_t c = s->in_group[k];
        gain += distance(s, c, 0) - distance(s, c, s->group[c]);
    }
    for (int64_t i = 0; i < n && gain > 0; i++)
        d->ex[place[i].example].part = CS_PART_VALID;
    for (size_t k = 0; k < n_in; k++) {
        const int32_t c = s->in_group[k];
        s->held_out[c] += gain > 0 ? s->group[c] : 0;
        s->group[c] = -1;
    }
}

static int64_t list_places(const cs_dataset *d, uint64_t seed, double *total, struct place *place)
{
    const uint64_t key = cs_rng_key(seed, STREAM_SPLIT);
    int64_t n = 0;

    for (int64_t i = 0; i < d->n; i++) {
        const cs_example *e = &d->ex[i];
        if (e->part == CS_PART_SKIP)
            continue;
        total[e->class_no] += (double)e->n_base;
        place[n++] = (struct place){ cs_rng_u64(key, e->group), e->group, i };
    }
    qsort(place, (size_t)n, sizeof *place, by_rank);
    return n;
}

int cs_dataset_split(cs_dataset *d, double frac, uint64_t seed)
{
    int rc = CS_OK;
    const size_t n_class = (size_t)d->n_class;
    struct place *place = NULL;
    double *sums = NULL;
    int32_t *in_group = NULL;

    if (frac <= 0 || d->n == 0)
        return CS_OK;
    place = cs_alloc((size_t)d->n, sizeof *place);
    sums = cs_alloc(3 * n_class, sizeof *sums);
    in_group = cs_alloc(n_class, sizeof *in_group);
    if (place == NULL || sums == NULL || in_group == NULL) {
        rc = cs_fail(CS_EMEM, "out of memory for splitting %lld records", (long long)d->n);
        goto out;
    }
    memset(sums, 0, 3 * n_class * sizeof *sums);
    struct split s = { frac, sums, sums + n_class, sums + 2 * n_class, in_group };
    for (size_t c = 0; c < n_class; c++)
        s.group[c] = -1;
    int64_t n = list_places(d, seed, s.total, place);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && place[end].group == place[i].group;)
            end++;
        hold_out_if_closer(d, &s, &place[i], end - i);
    }
out:
    CS_FREE(sums, place, in_group);
    return rc;
}

void cs_dataset_count(const cs_dataset *d, cs_part part, int32_t class_no, int64_t *n,
                      int64_t *n_base)
{
    *n = *n_base = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const cs_example *e = &d->ex[i];
        if (e->part != part || (class_no >= 0 && e->class_no != class_no))
            continue;
        *n += 1;
        *n_base += e->n_base;
    }
}

int32_t cs_dataset_count_missing(const cs_dataset *d, cs_part part, int32_t n_class, int32_t *first)
{
    int32_t n = 0;
    bool *has = cs_xcalloc((size_t)n_class, sizeof *has);

    for (int64_t i = 0; i < d->n; i++)
        if (d->ex[i].part == part)
            has[d->ex[i].class_no] = true;
    for (int32_t c = n_class - 1; c >= 0; c--) {
        if (has[c])
            continue;
        n++;
        *first = c;
    }
    free(has);
    return n;
}

int cs_dataset_count_groups(const cs_dataset *d, int32_t class_no, int64_t *n)
{
    size_t n_all = 0;
    uint64_t *group = cs_alloc((size_t)d->n + 1, sizeof *group);

    *n = 0;
    if (group == NULL)
        return cs_fail(CS_EMEM, "out of memory for the groups of %lld records", (long long)d->n);
    for (int64_t i = 0; i < d->n; i++)
        if (d->ex[i].part != CS_PART_SKIP && (class_no < 0 || d->ex[i].class_no == class_no))
            group[n_all++] = d->ex[i].group;
    qsort(group, n_all, sizeof *group, cs_by_uint64);
    for (size_t i = 0; i < n_all; i++)
        *n += i == 0 || group[i] != group[i - 1];
    free(group);
    return CS_OK;
}

int cs_dataset_count_leaks(const cs_dataset *d, int64_t *n)
{
    size_t n_train = 0;
    uint64_t *train = cs_alloc((size_t)d->n + 1, sizeof *train);

    *n = 0;
    if (train == NULL)
        return cs_fail(CS_EMEM, "out of memory for comparing %lld records", (long long)d->n);
    for (int64_t i = 0; i < d->n; i++)
        if (d->ex[i].part == CS_PART_TRAIN)
            train[n_train++] = mix_sequence(0, d, &d->ex[i]);
    qsort(train, n_train, sizeof *train, cs_by_uint64);
    for (int64_t i = 0; i < d->n; i++) {
        const uint64_t h = d->ex[i].part == CS_PART_VALID ? mix_sequence(0, d, &d->ex[i]) : 0;
        if (d->ex[i].part == CS_PART_VALID)
            *n += bsearch(&h, train, n_train, sizeof h, cs_by_uint64) != NULL;
    }
    free(train);
    return CS_OK;
}

struct hashed { uint64_t hash; int64_t example; };

static int by_hash(const void *pa, const void *pb)
{
    const struct hashed *a = pa, *b = pb;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->example < b->example ? -1 : a->example > b->example;
}

/* The first of n examples with one sequence that has another class than the first one; 0: none. */
static int64_t first_conflict(const cs_dataset *d, const struct hashed *h, int64_t n)
{
    for (int64_t k = 1; k < n; k++)
        if (d->ex[h[k].example].class_no != d->ex[h[0].example].class_no)
            return k;
    return 0;
}

int cs_dataset_count_conflicts(const cs_dataset *d, int64_t *n, int64_t *pair)
{
    int64_t n_all = 0;
    struct hashed *all = cs_alloc((size_t)d->n + 1, sizeof *all);

    *n = 0;
    if (all == NULL)
        return cs_fail(CS_EMEM, "out of memory for comparing %lld records", (long long)d->n);
    for (int64_t i = 0; i < d->n; i++)
        if (d->ex[i].part != CS_PART_SKIP)
            all[n_all++] = (struct hashed){ mix_sequence(0, d, &d->ex[i]), i };
    qsort(all, (size_t)n_all, sizeof *all, by_hash);
    for (int64_t i = 0, end; i < n_all; i = end) {
        for (end = i + 1; end < n_all && all[end].hash == all[i].hash;)
            end++;
        const int64_t k = first_conflict(d, all + i, end - i);
        if (k > 0 && (*n == 0 || all[i].example < pair[0])) {
            pair[0] = all[i].example;
            pair[1] = all[i + k].example;
        }
        *n += k > 0 ? end - i : 0;
    }
    free(all);
    return CS_OK;
}

static int by_start(const void *pa, const void *pb)
{
    const cs_sample *a = pa, *b = pb;

    return a->start < b->start ? -1 : a->start > b->start;
}

void cs_dataset_cut(const cs_dataset *d, int64_t example, int64_t len, int64_t k, uint64_t seed,
                    cs_sample *out)
{
    const cs_example *e = &d->ex[example];
    const int64_t slack = e->n_base - k * len;
    const uint64_t key = cs_rng_key(cs_rng_key(seed, STREAM_CUT),
                                    dataset_mix(0, e->name, strlen(e->name)));

    CS_BUG(slack < 0);
    /* Sorted draws from the uncovered bases: every set of positions is equally likely. */
    for (int64_t i = 0; i < k; i++) {
        int64_t at = (int64_t)(cs_rng_u64(key, (uint64_t)i) % (uint64_t)(slack + 1));
        out[i] = (cs_sample){ .example = example, .start = at, .n_base = len };
    }
    qsort(out, (size_t)k, sizeof *out, by_start);
    for (int64_t i = 0; i < k; i++)
        out[i].start += i * len;
}

void cs_dataset_count_bases(const cs_dataset *d, cs_part part, int32_t n_class, int64_t *n)
{
    memset(n, 0, (size_t)n_class * sizeof *n);
    for (int64_t i = 0; i < d->n; i++) {
        const cs_example *e = &d->ex[i];
        int64_t rest = e->n_base;
        for (int64_t k = 0; e->part == part && k < e->n_span; k++) {
            const cs_span *s = &e->span[k];
            rest -= s->to - s->from;
            if (s->class_no >= 0)
                n[s->class_no] += s->to - s->from;
        }
        if (e->part == part && d->background >= 0)
            n[d->background] += rest;
    }
}

uint64_t cs_dataset_hash(const cs_dataset *d)
{
    uint64_t h = d->hash;

    for (int64_t i = 0; i < d->n; i++)
        h = cs_rng_u64(cs_rng_u64(h, d->ex[i].group), (uint64_t)d->ex[i].part);
    return h;
}

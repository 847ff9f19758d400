/* sampler.c - sample the crops of an epoch: classes, then sequences, then positions. */
#include "train/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

enum { STREAM_SAMPLE = 111, STREAM_ORDER = 112 };
/* Purposes of a sample's random numbers. */
enum { PICK_CLASS, PICK_EXAMPLE, PICK_LENGTH, PICK_START, PICK_STRAND,
       PICK_MUTATION };

/* DESIGN. `example` lists the part's examples class by class (or in their own order when every one
 * is used once), and cum[i] is the mass of examples 0 .. i of the same class, so that a draw is a
 * binary search. */
struct cs_sampler {
    const cs_dataset *d;
    cs_sampler_opt  draw;
    int64_t  n;
    int64_t *example;            /* [n] */
    double  *cum;                /* [n] */
    int64_t *first;              /* [n_class + 1] */
    double  *class_cum;          /* [n_class] cumulated probability of the classes */
};

/* The class or stratum that an example is listed in: one for all, if each is used once. */
static int32_t listed_class(const cs_sampler *s, int64_t i)
{
    const int32_t class_no = s->d->ex[i].class_no;

    if (s->draw.n_sample == 0)
        return 0;
    return s->draw.stratum ? s->draw.stratum[class_no] : class_no;
}

/* Counting sort by class: stable, so that the input's order decides within one. */
static void list_examples(cs_sampler *s, cs_part part)
{
    const cs_dataset *d = s->d;

    memset(s->first, 0, ((size_t)d->n_class + 1) * sizeof *s->first);
    for (int64_t i = 0; i < d->n; i++)
        if (d->ex[i].part == part)
            s->first[listed_class(s, i) + 1]++;
    for (int32_t c = 0; c < d->n_class; c++)
        s->first[c + 1] += s->first[c];
    CS_BUG(s->first[d->n_class] != s->n);
    /* Listing moves first[c] to the end of class c, which is the beginning of the next. */
    for (int64_t i = 0; i < d->n; i++)
        if (d->ex[i].part == part)
            s->example[s->first[listed_class(s, i)]++] = i;
    for (int32_t c = d->n_class; c > 0; c--)
        s->first[c] = s->first[c - 1];
    s->first[0] = 0;
}

static double own_mass(const cs_sampler *s, int64_t i)
{
    return pow((double)s->d->ex[s->example[i]].n_base, s->draw.length_power);
}

/* An example of a class, to be sorted by group. */
struct member { uint64_t group; int64_t i; };

static int by_group(const void *pa, const void *pb)
{
    const struct member *a = pa, *b = pb;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->i < b->i ? -1 : a->i > b->i;
}

/* s->cum[i] = mass of example i, so that a group weighs its mass^(1 - group_balance). */
static void weigh_groups(cs_sampler *s, struct member *m, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; i++)
        m[i - lo] = (struct member){ s->d->ex[s->example[i]].group, i };
    qsort(m, (size_t)(hi - lo), sizeof *m, by_group);
    for (int64_t a = 0, b; a < hi - lo; a = b) {
        double mass = 0;
        for (b = a; b < hi - lo && m[b].group == m[a].group; b++)
            mass += own_mass(s, m[b].i);
        for (int64_t k = a; k < b; k++)
            s->cum[m[k].i] = own_mass(s, m[k].i) * pow(mass, -s->draw.group_balance);
    }
}

static int weigh_examples(cs_sampler *s)
{
    const cs_dataset *d = s->d;
    struct member *m = cs_alloc((size_t)s->n, sizeof *m);
    double total = 0;

    if (m == NULL)
        return CS_EMEM;
    for (int32_t c = 0; c < d->n_class; c++) {
        double mass = 0;
        weigh_groups(s, m, s->first[c], s->first[c + 1]);
        for (int64_t i = s->first[c]; i < s->first[c + 1]; i++) {
            mass += s->cum[i];
            s->cum[i] = mass;
        }
        if (mass > 0)
            total += pow(mass, 1 - s->draw.balance);
        s->class_cum[c] = total;
    }
    for (int32_t c = 0; c < d->n_class; c++)
        s->class_cum[c] /= total;
    free(m);
    return CS_OK;
}

int cs_sampler_new(const cs_dataset *d, cs_part part, const cs_sampler_opt *draw, cs_sampler **out)
{
    cs_sampler *s = cs_xcalloc(1, sizeof *s);
    int64_t n_base;

    s->d = d;
    s->draw = *draw;
    cs_dataset_count(d, part, -1, &s->n, &n_base);
    if (s->n == 0) {
        free(s);
        return cs_fail(CS_EUSAGE, "no record is left for %s; change --valid-frac or --split",
                       part == CS_PART_TRAIN ? "training" : "validation");
    }
    s->example = cs_alloc((size_t)s->n, sizeof *s->example);
    s->cum = cs_alloc((size_t)s->n, sizeof *s->cum);
    s->first = cs_alloc((size_t)d->n_class + 1, sizeof *s->first);
    s->class_cum = cs_alloc((size_t)d->n_class, sizeof *s->class_cum);
    int rc = s->example != NULL && s->cum != NULL && s->first != NULL && s->class_cum != NULL
           ? CS_OK : CS_EMEM;
    if (rc == CS_OK) {
        list_examples(s, part);
        rc = weigh_examples(s);
    }
    if (rc != CS_OK) {
        cs_sampler_free(s);
        return cs_fail(rc, "out of memory to sample from %lld records", (long long)d->n);
    }
    *out = s;
    return CS_OK;
}

void cs_sampler_free(cs_sampler *s)
{
    if (s == NULL)
        return;
    CS_FREE(s->example, s->cum, s->first, s->class_cum, s);
}

int64_t cs_sampler_count(const cs_sampler *s)
{
    return s->draw.n_sample > 0 ? s->draw.n_sample : s->n;
}

bool cs_sampler_crops(const cs_sampler *s)
{
    return s->draw.crop_max > 0;
}

const cs_dataset *cs_sampler_dataset(const cs_sampler *s)
{
    return s->d;
}

uint64_t cs_sampler_key(const cs_sampler *s, uint64_t epoch)
{
    return cs_rng_key(cs_rng_key(s->draw.seed, STREAM_ORDER), epoch);
}

/* The first index in lo .. hi-1 whose cumulated value exceeds u. */
static int64_t search(const double *cum, int64_t lo, int64_t hi, double u)
{
    hi--;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (cum[mid] > u)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* 53 random bits: 24 are too coarse to reach every base of a class with a gigabase. */
static double unit(uint64_t key, uint64_t counter)
{
    return (double)(cs_rng_u64(key, counter) >> 11) * 0x1p-53;
}

/* The quantile u of a density L^-power between min and max. */
static int64_t quantile(const cs_sampler_opt *w, double u)
{
    const double lo = (double)w->crop_min, hi = (double)w->crop_max, k = 1 - w->crop_power;

    if (fabs(k) < 1e-6)
        return llround(lo * pow(hi / lo, u));
    return llround(pow(pow(lo, k) + u * (pow(hi, k) - pow(lo, k)), 1 / k));
}

static int64_t draw_example(const cs_sampler *s, uint64_t key)
{
    int32_t c = (int32_t)search(s->class_cum, 0, s->d->n_class, unit(key, PICK_CLASS));
    int64_t lo = s->first[c], hi = s->first[c + 1];

    return s->example[search(s->cum, lo, hi, unit(key, PICK_EXAMPLE) * s->cum[hi - 1])];
}

cs_sample cs_sampler_get(const cs_sampler *s, uint64_t epoch, int64_t j)
{
    const cs_sampler_opt *w = &s->draw;
    const uint64_t key = cs_rng_key(cs_rng_key(cs_rng_key(w->seed, STREAM_SAMPLE), epoch),
                                    (uint64_t)j);
    cs_sample a = { .example = w->n_sample > 0 ? draw_example(s, key) : s->example[j] };
    const int64_t n = s->d->ex[a.example].n_base;

    a.n_base = n;
    if (w->crop_max > 0) {
        int64_t len = quantile(w, unit(key, PICK_LENGTH));
        a.n_base = len < n ? len : n;
        a.start = (int64_t)(cs_rng_u64(key, PICK_START) % (uint64_t)(n - a.n_base + 1));
    }
    if (!cs_mutation_is_none(&w->mutation))
        a.mutation = cs_mutation_draw(&w->mutation, cs_rng_u64(key, PICK_MUTATION));
    a.reverse = w->reverse && (cs_rng_u64(key, PICK_STRAND) >> 63) != 0;
    return a;
}

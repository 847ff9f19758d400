/* folds.c - cross-validation: folds of whole groups, and results of their validations. */
#include "train/folds.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"

enum { STREAM_FOLDS = 103 };

/* An example in the order in which groups are dealt: by size, then by a random number. */
struct place { int64_t size; uint64_t rank, group; int64_t example; };

static int by_group(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->example < b->example ? -1 : a->example > b->example;
}

static int by_size(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return by_group(a, b);
}

/* All examples, a group's side by side. */
static int64_t list_places(const cs_dataset *d, uint64_t seed, struct place *place)
{
    const uint64_t key = cs_rng_key(seed, STREAM_FOLDS);
    int64_t n = 0;

    for (int64_t i = 0; i < d->n; i++)
        if (d->ex[i].part != CS_PART_SKIP)
            place[n++] = (struct place){ 0, cs_rng_u64(key, d->ex[i].group), d->ex[i].group, i };
    qsort(place, (size_t)n, sizeof *place, by_group);
    for (int64_t a = 0, b; a < n; a = b) {
        int64_t size = 0;
        for (b = a; b < n && place[b].group == place[a].group; b++)
            size += d->ex[place[b].example].n_base;
        for (int64_t k = a; k < b; k++)
            place[k].size = size;
    }
    qsort(place, (size_t)n, sizeof *place, by_size);
    return n;
}

struct deal {
    const cs_dataset *d;
    int     n;                   /* folds */
    double *total;               /* [n_class] bases of the class */
    double *sum;                 /* [n * n_class] of it in a fold */
    double *own;                 /* [n_class] of it in the current group; -1: none */
    double *size;                /* [n] bases of a fold */
    int32_t *in_group;           /* [n_class] classes of the current group, in order */
    size_t   n_in;
};

/* Increase of the sum over classes of the fold's squared shares, if it receives the group, without
 * terms that are equal for all folds. */
static double cost(const struct deal *t, int fold)
{
    double sum = 0;

    for (size_t k = 0; k < t->n_in; k++) {
        const int32_t c = t->in_group[k];
        if (t->own[c] > 0)
            sum += t->sum[fold * t->d->n_class + c] * t->own[c] / (t->total[c] * t->total[c]);
    }
    return sum;
}

static bool better(const struct deal *t, int fold, int than)
{
    const double a = cost(t, fold), b = cost(t, than);

    return a != b ? a < b : t->size[fold] < t->size[than];
}

static void add_to_group(struct deal *t, const cs_example *e)
{
    if (t->own[e->class_no] < 0) {
        t->own[e->class_no] = 0;
        t->in_group[t->n_in++] = e->class_no;
    }
    t->own[e->class_no] += (double)e->n_base;
}

static void deal_group(struct deal *t, const struct place *place, int64_t n, int32_t *of)
{
    const cs_dataset *d = t->d;
    int best = 0;

    t->n_in = 0;
    for (int64_t i = 0; i < n; i++)
        add_to_group(t, &d->ex[place[i].example]);
    qsort(t->in_group, t->n_in, sizeof *t->in_group, cs_by_int32);
    for (int k = 1; k < t->n; k++)
        best = better(t, k, best) ? k : best;
    for (int64_t i = 0; i < n; i++)
        of[place[i].example] = best;
    for (size_t k = 0; k < t->n_in; k++) {
        const int32_t c = t->in_group[k];
        t->sum[best * d->n_class + c] += t->own[c];
        t->size[best] += t->own[c];
        t->own[c] = -1;
    }
}

/* ---- repair ---------------------------------------------------------------------------------- */

/* A class can miss a fold though it has a group for each, because groups are dealt by shares only.
 * Groups then change their folds, one by one or in pairs, as long as each change adds more of the
 * missing classes to folds than it removes. Of several, the one that moves least bases. */

/* A group of examples: those of place[from, to), of the classes cls[first, first + n_cls). */
struct unit { int64_t from, to; size_t first, n_cls; int fold; };

struct repair {
    const struct deal  *t;
    const struct place *place;
    struct unit *unit;           /* in the order of dealing */
    size_t   n_unit;
    int32_t *cls;                /* ascending per group */
    int64_t *count;              /* [n * n_class] groups of the class in a fold */
    int64_t  n_pair;             /* pairs tried so far */
};

enum { MAX_PAIR = 20000000 };

static int64_t *count_of(const struct repair *r, int fold, int32_t c)
{
    return &r->count[(int64_t)fold * r->t->d->n_class + c];
}

static void list_units(struct repair *r, int64_t n_place, const int32_t *of)
{
    const struct place *p = r->place;
    size_t at = 0;

    for (int64_t a = 0, b; a < n_place; a = b) {
        struct unit u = { .from = a, .first = at, .fold = of[p[a].example] };
        for (b = a; b < n_place && p[b].group == p[a].group; b++)
            r->cls[at + (size_t)(b - a)] = r->t->d->ex[p[b].example].class_no;
        qsort(r->cls + at, (size_t)(b - a), sizeof *r->cls, cs_by_int32);
        for (size_t i = at; i < u.first + (size_t)(b - a); i++)
            if (u.n_cls == 0 || r->cls[i] != r->cls[u.first + u.n_cls - 1])
                r->cls[u.first + u.n_cls++] = r->cls[i];
        for (size_t i = 0; i < u.n_cls; i++)
            ++*count_of(r, u.fold, r->cls[u.first + i]);
        u.to = b;
        at += u.n_cls;
        r->unit[r->n_unit++] = u;
    }
}

static bool unit_has(const struct repair *r, const struct unit *u, int32_t c)
{
    return bsearch(&c, r->cls + u->first, u->n_cls, sizeof c, cs_by_int32) != NULL;
}

/* Folds that gain a class they lack, less those that lose their only group of one. */
static int64_t gain(const struct repair *r, const struct unit *u, int to)
{
    int64_t sum = 0;

    for (size_t i = 0; i < u->n_cls; i++) {
        const int32_t c = r->cls[u->first + i];
        sum += (*count_of(r, to, c) == 0) - (*count_of(r, u->fold, c) == 1);
    }
    return sum;
}

static void relocate(struct repair *r, struct unit *u, int to)
{
    for (size_t i = 0; i < u->n_cls; i++) {
        --*count_of(r, u->fold, r->cls[u->first + i]);
        ++*count_of(r, to, r->cls[u->first + i]);
    }
    u->fold = to;
}

/* Move a group of a class into a fold that lacks it. */
static bool move_into(struct repair *r, int32_t c, int fold)
{
    struct unit *best = NULL;

    for (struct unit *u = r->unit; u < r->unit + r->n_unit; u++)
        if (unit_has(r, u, c) && gain(r, u, fold) > 0 &&
            (best == NULL || r->place[u->from].size < r->place[best->from].size))
            best = u;
    if (best != NULL)
        relocate(r, best, fold);
    return best != NULL;
}

/* The same, and a group of that fold the other way. */
static bool swap_into(struct repair *r, int32_t c, int fold)
{
    struct unit *best[2] = { NULL, NULL }, *end = r->unit + r->n_unit;
    int64_t min = INT64_MAX;

    for (struct unit *u = r->unit; u < end && r->n_pair < MAX_PAIR; u++) {
        if (!unit_has(r, u, c))
            continue;
        const int from = u->fold;
        const int64_t own = gain(r, u, fold);
        relocate(r, u, fold);
        for (struct unit *v = r->unit; v < end; v++) {
            const int64_t size = r->place[u->from].size + r->place[v->from].size;
            r->n_pair++;
            if (v == u || v->fold != fold || size >= min || own + gain(r, v, from) <= 0)
                continue;
            min = size;
            best[0] = u;
            best[1] = v;
        }
        relocate(r, u, from);
    }
    if (best[0] == NULL)
        return false;
    relocate(r, best[1], best[0]->fold);
    relocate(r, best[0], fold);
    return true;
}

/* The first class that misses a fold after the repair, or -1. */
static int32_t fill_folds(struct repair *r)
{
    int32_t first;
    bool changed = true;

    while (changed) {
        changed = false;
        first = -1;
        for (int32_t c = 0; c < r->t->d->n_class && !changed; c++)
            for (int k = 0; k < r->t->n && r->t->total[c] > 0 && !changed; k++) {
                if (*count_of(r, k, c) > 0)
                    continue;
                first = first < 0 ? c : first;
                changed = move_into(r, c, k) || swap_into(r, c, k);
            }
    }
    return first;
}

/* missing: the class that still misses a fold, or -1. */
static int repair(const struct deal *t, const struct place *place, int64_t n_place, int32_t *of,
                  int32_t *missing)
{
    int rc = CS_OK;
    const size_t n = (size_t)n_place + 1, n_count = (size_t)t->n * (size_t)t->d->n_class;
    struct repair r = { .t = t, .place = place, .unit = cs_alloc(n, sizeof *r.unit),
                        .cls = cs_alloc(n, sizeof *r.cls),
                        .count = cs_alloc(n_count, sizeof *r.count) };

    if (r.unit == NULL || r.cls == NULL || r.count == NULL) {
        rc = cs_fail(CS_EMEM, "out of memory for folds of %lld records", (long long)n_place);
        goto out;
    }
    memset(r.count, 0, n_count * sizeof *r.count);
    list_units(&r, n_place, of);
    *missing = fill_folds(&r);
    for (size_t i = 0; i < r.n_unit; i++)
        for (int64_t k = r.unit[i].from; k < r.unit[i].to; k++)
            of[place[k].example] = r.unit[i].fold;
out:
    CS_FREE(r.unit, r.cls, r.count);
    return rc;
}

static bool misses_fold(const struct deal *t, int32_t c)
{
    for (int k = 0; k < t->n; k++)
        if (t->total[c] > 0 && t->sum[k * t->d->n_class + c] <= 0)
            return true;
    return false;
}

/* The groups of each class. NULL: no memory. */
static int64_t *count_groups(const struct deal *t, const struct place *place, int64_t n_place)
{
    const size_t n_class = (size_t)t->d->n_class;
    int64_t *n = cs_alloc(2 * n_class, sizeof *n), *last = n + n_class;   /* last: place + 1 */

    if (n == NULL)
        return NULL;
    memset(n, 0, 2 * n_class * sizeof *n);
    for (int64_t a = 0, b; a < n_place; a = b)
        for (b = a; b < n_place && place[b].group == place[a].group; b++) {
            const int32_t c = t->d->ex[place[b].example].class_no;
            n[c] += last[c] != a + 1;
            last[c] = a + 1;
        }
    return n;
}

/* c: the first class with too few groups, n_group[c]. */
static int too_few_groups(const struct deal *t, const cs_classes *classes, const char *by,
                          int32_t c, const int64_t *n_group)
{
    int32_t n_more = 0;
    char more[48] = "";

    if (!t->d->is_class)         /* all are of class 0 */
        return cs_fail(CS_EUSAGE, "the records have %lld %s by %s, too few for --folds %d; lower "
                       "it, or give another --split-by", (long long)n_group[c],
                       CS_PLURAL(n_group[c], "group", "groups"), by, t->n);
    for (int32_t k = c + 1; k < t->d->n_class; k++)
        n_more += t->total[k] > 0 && n_group[k] < t->n;
    if (n_more > 0)
        (void)snprintf(more, sizeof more, ", and %d other %s too few", (int)n_more,
                       CS_PLURAL(n_more, "class has", "classes have"));
    return cs_fail(CS_EUSAGE, "class '%s' has %lld %s by %s, too few for --folds %d%s; lower it, "
                   "give another --split-by, or leave %s out with --label-map", classes->name[c],
                   (long long)n_group[c], CS_PLURAL(n_group[c], "group", "groups"), by, t->n,
                   more, n_more > 0 ? "these classes" : "the class");
}

/* Gives every fold every class, by repair if the dealing did not. */
static int fill_classes(const struct deal *t, const struct place *place, int64_t n_place,
                        const cs_classes *classes, const char *by, int32_t *of)
{
    int rc = CS_OK;
    int32_t missing = -1;
    int64_t *n_group = count_groups(t, place, n_place);

    if (n_group == NULL)
        return cs_fail(CS_EMEM, "out of memory for folds of %lld records", (long long)n_place);
    for (int32_t c = 0; c < t->d->n_class; c++) {
        if (!misses_fold(t, c))
            continue;
        missing = c;
        if (n_group[c] < t->n)
            CS_TRY(too_few_groups(t, classes, by, c, n_group));
    }
    if (missing < 0)
        goto out;
    CS_TRY(repair(t, place, n_place, of, &missing));
    if (missing >= 0)
        rc = cs_fail(CS_EUSAGE, "found no split of the groups by %s with class '%s' in all folds; "
                     "lower --folds %d, give another --split-by, or leave a class out with "
                     "--label-map", by, classes->name[missing], t->n);
out:
    free(n_group);
    return rc;
}

/* ---- folds ----------------------------------------------------------------------------------- */

int cs_folds_assign(const cs_dataset *d, const cs_classes *classes, int n, uint64_t seed,
                    const char *by, cs_folds *f)
{
    int rc = CS_OK;
    const size_t n_class = (size_t)d->n_class, n_sum = (size_t)(n + 2) * n_class + (size_t)n;
    struct place *place = cs_alloc((size_t)d->n + 1, sizeof *place);
    double *sum = cs_alloc(n_sum, sizeof *sum);
    int32_t *in_group = cs_alloc(n_class, sizeof *in_group);

    *f = (cs_folds){ .n = n, .of = cs_alloc((size_t)d->n + 1, sizeof *f->of),
                     .fold = cs_xcalloc((size_t)n, sizeof *f->fold) };
    if (place == NULL || sum == NULL || in_group == NULL || f->of == NULL) {
        rc = cs_fail(CS_EMEM, "out of memory for folds of %lld records", (long long)d->n);
        goto out;
    }
    memset(sum, 0, n_sum * sizeof *sum);
    struct deal t = { d, n, sum, sum + n_class, sum + (size_t)(n + 1) * n_class,
                      sum + (size_t)(n + 2) * n_class, in_group, 0 };
    for (size_t c = 0; c < n_class; c++)
        t.own[c] = -1;
    const int64_t n_place = list_places(d, seed, place);
    for (int64_t i = 0; i < n_place; i++)
        t.total[d->ex[place[i].example].class_no] += (double)d->ex[place[i].example].n_base;
    for (int64_t a = 0, b; a < n_place; a = b) {
        for (b = a; b < n_place && place[b].group == place[a].group;)
            b++;
        deal_group(&t, place + a, b - a, f->of);
    }
    rc = fill_classes(&t, place, n_place, classes, by, f->of);
out:
    CS_FREE(place, sum, in_group);
    return rc;
}

void cs_folds_release(cs_folds *f)
{
    free(f->of);
    free(f->fold);
    *f = (cs_folds){ 0 };
}

void cs_folds_select(const cs_folds *f, int i, cs_dataset *d)
{
    for (int64_t k = 0; k < d->n; k++)
        if (d->ex[k].part != CS_PART_SKIP)
            d->ex[k].part = f->of[k] == i ? CS_PART_VALID : CS_PART_TRAIN;
}

static const char *const fit_names[] = { "network", "bag of words", "bag of reading frames" };

static void folds_append(char *line, size_t n, const char *fmt, double v)
{
    const size_t at = strlen(line);

    if (isfinite(v))
        (void)snprintf(line + at, n - at, fmt, v);
}

void cs_folds_add(cs_folds *f, const cs_fold *fold)
{
    const cs_fold_scores *own = fold->of;
    char line[192] = "";

    f->fold[f->n_done++] = *fold;
    folds_append(line, sizeof line, "R2 %.4f", own->r2);
    folds_append(line, sizeof line, "balanced accuracy %.4f", own->balanced);
    if (isfinite(own->balanced))
        folds_append(line, sizeof line, ", accuracy %.4f", own->accuracy);
    folds_append(line, sizeof line, *line != '\0' ? ", loss %.4g" : "loss %.4g", own->loss);
    folds_append(line, sizeof line, "; bag of words %.4f", own[CS_FIT_WORDS].balanced);
    folds_append(line, sizeof line, "; bag of reading frames %.4f", own[CS_FIT_FRAMES].balanced);
    folds_append(line, sizeof line, "; regression on 5-mers %.4f", fold->regression);
    cs_note("fold %d of %d, %lld validation records: %s", f->n_done, f->n,
            (long long)fold->n_valid, line);
}

static cs_fold_mean average(const cs_folds *f, const double *field)
{
    return cs_fold_average(f->fold, f->n_done, field);
}

static void append_mean(char *line, size_t n, const char *name, cs_fold_mean m)
{
    const size_t at = strlen(line);

    if (isfinite(m.mean))
        (void)snprintf(line + at, n - at, "; %s %.4f +- %.4f", name, m.mean, m.error);
}

void cs_folds_finish(cs_folds *f)
{
    const cs_fold *first = f->fold;
    const cs_fold_scores *own = &first->of[CS_FIT_NETWORK];
    const cs_fold_mean accuracy = average(f, &own->accuracy), r2 = average(f, &own->r2),
                       loss = average(f, &own->loss);
    cs_fold_mean of[CS_N_FIT];
    char line[256];

    f->best = CS_FIT_NETWORK;
    for (int k = 0; k < CS_N_FIT; k++) {
        of[k] = average(f, &first->of[k].balanced);
        f->best = of[k].mean > of[f->best].mean ? (cs_fit)k : f->best;
    }
    if (isfinite(of->mean))
        (void)snprintf(line, sizeof line, "balanced accuracy %.4f +- %.4f, accuracy %.4f +- %.4f",
                       of->mean, of->error, accuracy.mean, accuracy.error);
    else if (isfinite(r2.mean))
        (void)snprintf(line, sizeof line, "R2 %.4f +- %.4f, loss %.4g +- %.2g", r2.mean, r2.error,
                       loss.mean, loss.error);
    else
        (void)snprintf(line, sizeof line, "loss %.4g +- %.2g", loss.mean, loss.error);
    for (int k = CS_FIT_WORDS; k < CS_N_FIT; k++)
        append_mean(line, sizeof line, fit_names[k], of[k]);
    append_mean(line, sizeof line, "regression on 5-mers", average(f, &first->regression));
    cs_note("mean and standard error of %d folds: %s", f->n, line);
    cs_note("training the %s on all records, without validation",
            isfinite(of[CS_FIT_WORDS].mean) ? fit_names[f->best] : "model");
}

int64_t cs_folds_words_steps(const cs_folds *f)
{
    const double mean = average(f, &f->fold->words_steps).mean;

    return isfinite(mean) ? llround(mean) : 0;
}

void cs_folds_headline(const cs_folds *f, cs_train_state *st)
{
    const cs_fold *first = f->fold;
    const cs_fold_scores *own = first->of + f->best;

    st->best_accuracy = average(f, &own->accuracy).mean;
    st->best_balanced = average(f, &own->balanced).mean;
    st->best_loss = average(f, &own->loss).mean;
    st->best_r2 = average(f, &own->r2).mean;
    st->regression = average(f, &first->regression).mean;
    /* NaN if neither was trained. */
    st->bag = fmax(average(f, &first->of[CS_FIT_WORDS].balanced).mean,
                   average(f, &first->of[CS_FIT_FRAMES].balanced).mean);
}

static void put_field(json_t *o, const cs_folds *f, const char *name, const double *field)
{
    const cs_fold_mean m = average(f, field);
    const ptrdiff_t off = (const char *)field - (const char *)f->fold;
    json_t *each = json_array();

    for (int i = 0; i < f->n_done; i++)
        json_array_append_new(each, json_real(*(const double *)(const void *)
                                              ((const char *)(f->fold + i) + off)));
    if (isfinite(m.mean) && isfinite(m.error))
        json_object_set_new(o, name, json_pack("{s:f, s:f, s:O}", "mean", m.mean, "standard_error",
                                               m.error, "each", each));
    json_decref(each);
}

struct json_t *cs_folds_json(const cs_folds *f)
{
    const cs_fold *first = f->fold;
    json_t *o = json_pack("{s:i}", "number", f->n_done);

    if (isfinite(first->of[CS_FIT_WORDS].balanced))
        json_object_set_new(o, "model", json_string(fit_names[f->best]));
    put_field(o, f, "balanced_accuracy", &first->of[CS_FIT_NETWORK].balanced);
    put_field(o, f, "accuracy", &first->of[CS_FIT_NETWORK].accuracy);
    put_field(o, f, "loss", &first->of[CS_FIT_NETWORK].loss);
    put_field(o, f, "r2", &first->of[CS_FIT_NETWORK].r2);
    put_field(o, f, "bag_balanced_accuracy", &first->of[CS_FIT_WORDS].balanced);
    put_field(o, f, "frames_balanced_accuracy", &first->of[CS_FIT_FRAMES].balanced);
    put_field(o, f, "regression_balanced_accuracy", &first->regression);
    return o;
}

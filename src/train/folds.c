/* folds.c - cross-validation: folds of whole groups, and what their validations gave. */
#include "train/folds.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
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

static int ascending(const void *pa, const void *pb)
{
    const int32_t a = *(const int32_t *)pa, b = *(const int32_t *)pb;

    return (a > b) - (a < b);
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
    qsort(t->in_group, t->n_in, sizeof *t->in_group, ascending);
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

static int check_classes(const struct deal *t, const cs_classes *classes, const char *by)
{
    int64_t n_group;

    for (int32_t c = 0; c < t->d->n_class; c++) {
        bool all = true;
        for (int k = 0; k < t->n; k++)
            all = all && t->sum[k * t->d->n_class + c] > 0;
        if (all || t->total[c] <= 0)
            continue;
        const int rc = cs_dataset_groups(t->d, c, &n_group);
        return rc != CS_OK ? rc
             : cs_fail(CS_EUSAGE, "class '%s' has %lld group%s by %s, too few for --folds %d; "
                       "lower it, give another --split-by, or leave the class out with --label-map",
                       classes->name[c], (long long)n_group, n_group == 1 ? "" : "s", by, t->n);
    }
    return CS_OK;
}

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
    rc = check_classes(&t, classes, by);
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
    folds_append(line, sizeof line, "balanced accuracy %.4f", own->balanced);
    folds_append(line, sizeof line, ", accuracy %.4f", own->accuracy);
    folds_append(line, sizeof line, ", loss %.4g", own->loss);
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
    const cs_fold_mean accuracy = average(f, &first->of[CS_FIT_NETWORK].accuracy);
    cs_fold_mean of[CS_N_FIT];
    char line[256];

    f->best = CS_FIT_NETWORK;
    for (int k = 0; k < CS_N_FIT; k++) {
        of[k] = average(f, &first->of[k].balanced);
        f->best = of[k].mean > of[f->best].mean ? (cs_fit)k : f->best;
    }
    (void)snprintf(line, sizeof line, "balanced accuracy %.4f +- %.4f, accuracy %.4f +- %.4f",
                   of->mean, of->error, accuracy.mean, accuracy.error);
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
    put_field(o, f, "bag_balanced_accuracy", &first->of[CS_FIT_WORDS].balanced);
    put_field(o, f, "frames_balanced_accuracy", &first->of[CS_FIT_FRAMES].balanced);
    put_field(o, f, "regression_balanced_accuracy", &first->regression);
    return o;
}

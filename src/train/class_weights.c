/* class_weights.c - loss weights by class or label: --class-weights. */
#include "train/class_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"

struct weights {
    const cs_head    *head;
    const cs_dataset *d;
    const cs_classes *classes;
    int32_t           n;         /* numbers that a list has */
    float            *v;
};

/* Head variant weighs the labels 0 and 1, head multilabel the 1s of each label. */
static bool on_variants(const struct weights *w)
{
    return w->head->n_part > 1;
}

static bool weighs_labels(const struct weights *w)
{
    return w->head->is_labels && !on_variants(w);
}

/* Index of the given weight for class or label c. */
static float *weight_at(const struct weights *w, int32_t c)
{
    return &w->v[weighs_labels(w) ? 2 * c + 1 : c];
}

/* With larger ones, a loss or its gradients could exceed fp32. */
static const double max_weight = 1e6;

/* A number from 0 to max_weight. */
static bool parse_weight(const char *text, float *weight)
{
    double v;

    if (cs_parse_real(text, &v) != CS_OK || !(v >= 0 && v <= max_weight))
        return false;
    *weight = (float)v;
    return true;
}

/* CS_OK; CS_EUSAGE if no weight is above 0. */
static int check_weights(const struct weights *w, const char *text)
{
    bool any = false;

    for (int32_t c = 0; c < w->n; c++)
        any = any || *weight_at(w, c) > 0;
    return any ? CS_OK : cs_fail(CS_EUSAGE, "--class-weights %s: at least one weight must be above "
                                 "0", text);
}

/* The next item up to a comma, in place, or NULL; empty ones are skipped. A backslash before a
 * comma or backslash is removed, and that is part of the item. */
static char *next_named(char **list)
{
    char *s = *list + strspn(*list, ","), *to = s, *item = s;

    while (*s != '\0' && *s != ',') {
        if (*s == '\\' && (s[1] == ',' || s[1] == '\\'))
            s++;
        *to++ = *s++;
    }
    *list = s + (*s == ',');
    *to = '\0';
    return to > item ? item : NULL;
}

/* CLASS=NUM,...: the other classes keep 1. */
static int parse_named(const struct weights *w, const char *text)
{
    int rc = CS_OK;
    char *list = cs_xstrdup(text), *rest = list;

    for (char *s = next_named(&rest); rc == CS_OK && s; s = next_named(&rest)) {
        char *equals = strrchr(s, '=');
        float v = 0;
        if (!equals || !parse_weight(equals + 1, &v)) {
            rc = cs_fail(CS_EUSAGE, "--class-weights: expected CLASS=NUM, NUM from 0 to %.0f, not "
                         "'%.60s'", max_weight, s);
            break;
        }
        *equals = '\0';
        const int c = cs_classes_find(w->classes, s);
        if (c < 0)
            rc = cs_fail(CS_EUSAGE, "--class-weights: no record has the class '%.60s'", s);
        else
            *weight_at(w, c) = v;
    }
    free(list);
    return rc == CS_OK ? check_weights(w, text) : rc;
}

static int parse(const struct weights *w, const char *text)
{
    char *list = cs_xstrdup(text), *save = NULL;
    int32_t c = 0;

    for (char *s = strtok_r(list, ",", &save); s != NULL; s = strtok_r(NULL, ",", &save), c++)
        if (c >= w->n || !parse_weight(s, weight_at(w, c)))
            c = w->n;
    free(list);
    if (c != w->n)
        return cs_fail(CS_EUSAGE, "--class-weights takes none, balanced or %d numbers from 0 to "
                       "%.0f, not '%s'", (int)w->n, max_weight, text);
    return check_weights(w, text);
}

/* Counts by class in the training part: records, or bases if intervals have classes, or the 0s and
 * 1s of variants, for all labels together. */
static void class_weights_count(const struct weights *w, int64_t *n)
{
    const cs_dataset *d = w->d;

    if (w->head->per_token) {
        cs_dataset_count_bases(d, CS_PART_TRAIN, w->n, n);
        return;
    }
    for (int64_t i = 0; i < d->n; i++) {
        const cs_example *e = &d->ex[i];
        if (e->part == CS_PART_TRAIN && !on_variants(w))
            n[e->class_no]++;
        for (int32_t t = 0; e->part == CS_PART_TRAIN && on_variants(w) && t < d->n_target; t++)
            if (!isnan(e->target[t]))
                n[e->target[t] > 0]++;
    }
}

/* As many 1s as 0s, by weight; 1 where a label has only either. */
static void balance_labels(const struct weights *w)
{
    const cs_dataset *d = w->d;

    for (int32_t t = 0; t < d->n_target; t++) {
        int64_t n[2] = { 0, 0 };
        for (int64_t i = 0; i < d->n; i++)
            if (d->ex[i].part == CS_PART_TRAIN && !isnan(d->ex[i].target[t]))
                n[d->ex[i].target[t] > 0]++;
        if (n[0] > 0 && n[1] > 0)
            *weight_at(w, t) = (float)((double)n[0] / (double)n[1]);
    }
}

static void balance_classes(const struct weights *w)
{
    int64_t *n = cs_xcalloc((size_t)w->n, sizeof *n);
    double all = 0;

    class_weights_count(w, n);
    for (int32_t c = 0; c < w->n; c++)
        all += (double)n[c];
    for (int32_t c = 0; c < w->n; c++)
        w->v[c] = n[c] > 0 ? (float)(all / ((double)w->n * (double)n[c])) : 0;
    free(n);
}

int cs_class_weights(const char *list, const cs_head *head, const cs_dataset *d,
                     const cs_classes *classes, float **weight)
{
    struct weights w = { .head = head, .d = d, .classes = classes,
                         .n = head->n_part > 1 ? 2 : classes->n };

    *weight = NULL;
    if (strcmp(list, "none") == 0)
        return CS_OK;
    if (!head->is_class && !head->is_labels)
        return cs_fail(CS_EUSAGE, "--class-weights is for classes, but the head predicts values");
    *weight = w.v = cs_xcalloc(2 * (size_t)w.n, sizeof *w.v);
    for (int32_t c = 0; c < 2 * w.n; c++)
        w.v[c] = 1;
    if (strchr(list, '=') && !on_variants(&w))
        return parse_named(&w, list);
    if (strcmp(list, "balanced") != 0)
        return parse(&w, list);
    if (weighs_labels(&w))
        balance_labels(&w);
    else
        balance_classes(&w);
    return CS_OK;
}

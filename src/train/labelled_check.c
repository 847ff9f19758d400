/* labelled_check.c - messages about the labelled records that were read, and about their split. */
#include "train/labelled.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Number of classes from which the head tree is recommended. */
enum { MANY_CLASSES = 1000 };

/* ---- records --------------------------------------------------------------------------------- */

/* A note only: the table may cover more than this training. */
static void warn_unmet(const cs_labels *table, const char *what, const char *path)
{
    const char *first;
    const int64_t n = cs_labels_unused(table, &first);

    if (n > 0)
        cs_note("%lld of the %lld %s of '%s' %s not in the input; first: '%s'", (long long)n,
                (long long)cs_labels_count(table), what, path, CS_PLURAL(n, "is", "are"), first);
}

static void warn_left_out(const cs_labelled *l, int64_t n, const char *has)
{
    cs_warn("%lld of %lld %s %s %s and %s left out", (long long)n, (long long)l->n_read,
            CS_PLURAL(l->n_read, "record", "records"), CS_PLURAL(n, "has", "have"), has,
            CS_PLURAL(n, "was", "were"));
}

void cs_labelled_report(const cs_labelled *l)
{
    const int64_t n_absent =
        l->interval != NULL ? cs_intervals_records(l->interval) - l->n_named : 0;

    cs_inputs_report(l->in);
    warn_unmet(cs_labelled_table(l), "records", l->args->labels);
    warn_unmet(l->split, "records", l->args->split);
    warn_unmet(l->map, "labels", l->args->map);
    if (l->n_unlabelled > 0)
        warn_left_out(l, l->n_unlabelled, "no label");
    if (l->n_masked > 0)
        warn_left_out(l, l->n_masked, "only unknown labels");
    if (n_absent > 0)
        cs_warn("%lld of the %lld records of '%s' %s not in the input", (long long)n_absent,
                (long long)cs_intervals_records(l->interval), l->args->intervals,
                CS_PLURAL(n_absent, "is", "are"));
    if (l->n_cut > 0)
        cs_warn("labels end at a blank: %s (%lld of %lld %s); write '_' for blanks, or give "
                "--labels", l->first_cut, (long long)l->n_cut, (long long)l->n_read,
                CS_PLURAL(l->n_read, "record", "records"));
    if (l->n_short > 0)
        cs_warn("%lld of %lld %s %s too short and %s left out; first: '%s'",
                (long long)l->n_short, (long long)l->n_read,
                CS_PLURAL(l->n_read, "record", "records"), CS_PLURAL(l->n_short, "is", "are"),
                CS_PLURAL(l->n_short, "was", "were"), l->first_short);
    if (l->n_unknown > 0 && !l->fixed)
        cs_warn("%lld of %lld %s %s only unknown bases (N), from which nothing can be learnt; "
                "first: '%s'", (long long)l->n_unknown, (long long)l->n_read,
                CS_PLURAL(l->n_read, "record", "records"), CS_PLURAL(l->n_unknown, "has", "have"),
                l->first_unknown);
}

void cs_labelled_advise_tree(const cs_labelled *l)
{
    const cs_classes *c = &l->classes;

    if (c->n >= MANY_CLASSES && !l->lineages && strchr(c->name[0], ';') != NULL)
        cs_note("the %d classes are lineages; --head tree --lineage RANKS also trains on their "
                "ancestors", c->n);
}

/* ---- classes and the split ------------------------------------------------------------------- */

static void warn_untrained(const cs_labelled *l, const cs_dataset *d)
{
    int32_t first;
    const int32_t n = cs_dataset_count_missing(d, CS_PART_TRAIN, l->classes.n, &first);

    if (n > 0)
        cs_warn("%d of %d classes %s no training record; first: '%s'", (int)n,
                l->classes.n, CS_PLURAL(n, "has", "have"), l->classes.name[first]);
}

/* No weights can give one sequence two classes. */
static int warn_conflicts(const cs_labelled *l, const cs_dataset *d)
{
    int64_t n, pair[2];
    const int rc = cs_dataset_count_conflicts(d, &n, pair);

    if (rc != CS_OK || n == 0)
        return rc;
    const cs_example *a = &d->ex[pair[0]], *b = &d->ex[pair[1]];
    cs_warn("%lld of %lld records have the same sequence as a record of another class; first: '%s' "
            "is '%s', '%s' is '%s'", (long long)n, (long long)d->n, a->name,
            l->classes.name[a->class_no], b->name, l->classes.name[b->class_no]);
    return CS_OK;
}

/* Numbers such as 0.37 are values to predict; 0 and 1 may be classes. */
static void warn_values(const cs_classes *c)
{
    bool fraction = false;
    double v;

    for (int i = 0; i < c->n; i++) {
        if (cs_parse_real(c->name[i], &v) != CS_OK)
            return;
        fraction = fraction || v != floor(v);
    }
    if (fraction)
        cs_warn("the %d classes are numbers, such as '%s'; to predict values, give --head regress",
                c->n, c->name[0]);
}

/* Order of names, ignoring case and quotes; an underscore is a blank. */
static int spelling_order(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "\"");
        b += strspn(b, "\"");
        const int x = *a == '_' ? ' ' : tolower((unsigned char)*a);
        const int y = *b == '_' ? ' ' : tolower((unsigned char)*b);
        if (x != y || x == '\0')
            return x - y;
    }
}

static int by_spelling(const void *x, const void *y)
{
    const char *a = *(char *const *)x, *b = *(char *const *)y;
    const int order = spelling_order(a, b);

    return order != 0 ? order : strcmp(a, b);
}

/* Spellings of one class would be separate classes. */
static void warn_spellings(const cs_classes *c)
{
    char **name = cs_xcalloc((size_t)c->n + 1, sizeof *name);
    int n = 0, first = 0;

    for (int i = 0; i < c->n; i++)
        name[i] = c->name[i];
    qsort(name, (size_t)c->n, sizeof *name, by_spelling);
    for (int i = c->n - 1; i > 0; i--)
        if (spelling_order(name[i - 1], name[i]) == 0) {
            n++;
            first = i;
        }
    if (n > 0)
        cs_warn("%d %s from another one only by case, quotes or underscores; first: '%s' and "
                "'%s'; if they are one class, unite them with --label-map", n,
                CS_PLURAL(n, "class differs", "classes differ"), name[first - 1], name[first]);
    free(name);
}

/* The same of labels (of variants, or several per record) and of values to predict. */
static void warn_unknown(const cs_labelled *l, const cs_dataset *d)
{
    const bool labels = d->n_target == l->classes.n;
    char number[32];
    int32_t n = 0, first = 0;
    bool *has = cs_xcalloc((size_t)d->n_target + 1, sizeof *has);

    for (int64_t i = 0; i < d->n; i++)
        for (int32_t c = 0; d->ex[i].part == CS_PART_TRAIN && c < d->n_target; c++)
            has[c] = has[c] || !isnan(d->ex[i].target[c]);
    for (int32_t c = d->n_target - 1; c >= 0; c--) {
        n += !has[c];
        first = has[c] ? first : c;
    }
    free(has);
    if (n == 0)
        return;
    const char *name = labels ? l->classes.name[first] : cs_labelled_value(l, first);
    (void)snprintf(number, sizeof number, CS_UNNAMED_VALUE "%d", (int)first + 1);
    cs_warn("%d of %d %s %s no value in a training record; first: '%s'", (int)n, (int)d->n_target,
            labels ? "labels" : "values to predict", CS_PLURAL(n, "has", "have"),
            name != NULL ? name : number);
}

/* Why the first of them has none, and the remedy. Without any validation the key of --split-by is
 * too coarse, such as a rank above the classes. */
static int warn_unvalidated(const cs_labelled *l, const cs_dataset *d)
{
    int rc = CS_OK;
    int32_t first;
    int64_t n_train, n_base, n_group;
    char why[256] = "";
    const char *by = l->args != NULL ? l->args->split_by : NULL;   /* NULL: variants */
    const int32_t n = cs_dataset_count_missing(d, CS_PART_VALID, l->classes.n, &first);

    if (n == 0)
        return CS_OK;
    cs_dataset_count(d, CS_PART_TRAIN, first, &n_train, &n_base);
    CS_TRY(cs_dataset_count_groups(d, first, &n_group));
    if (l->split == NULL && n_train == 1)
        (void)snprintf(why, sizeof why, ", which has one record; give it more, or leave it out "
                       "with --label-map");
    else if (l->split == NULL && n_group == 1)
        (void)snprintf(why, sizeof why, ", whose %lld records are one group by %s%s; give another "
                       "--split-by, or --split", (long long)n_train, by != NULL ? by : "name",
                       by != NULL ? "" : " (NAME:FROM-TO is a piece of NAME)");
    else if (l->split == NULL && n_group == 0)
        (void)snprintf(why, sizeof why, ", which has no record at all");
    else if (l->split == NULL)
        (void)snprintf(why, sizeof why, ", whose groups are %lld; raise --valid-frac, or give "
                       "--split", (long long)n_group);
    if (l->split == NULL && by != NULL && n == l->classes.n)
        return cs_fail(CS_EUSAGE, "no class has a validation record; first: '%s'%s, or "
                       "--valid-frac 0 to train without validation", l->classes.name[first], why);
    cs_warn("%d of %d classes %s no validation record; first: '%s'%s", (int)n,
            l->classes.n, CS_PLURAL(n, "has", "have"), l->classes.name[first], why);
out:
    return rc;
}

/* A key that no record of the n used ones has would silently split by names. */
static int check_key(const cs_labelled *l, int64_t n)
{
    const char *by = l->args != NULL ? l->args->split_by : NULL;   /* NULL: variants */

    if (by == NULL || l->n_ungrouped == 0)
        return CS_OK;
    if (l->n_ungrouped == n)
        return cs_fail(CS_EUSAGE, "no record has '%s=' in its header%s; give --split-by a key "
                       "that records have", by,
                       l->args->ranks != NULL ? ", and it is not a rank of the labels" : "");
    cs_note("%lld of %lld records %s no '%s' for --split-by and %s grouped by name",
            (long long)l->n_ungrouped, (long long)n, CS_PLURAL(l->n_ungrouped, "has", "have"), by,
            CS_PLURAL(l->n_ungrouped, "is", "are"));
    return CS_OK;
}

int cs_labelled_check_split(const cs_labelled *l, const cs_dataset *d, bool wants_valid)
{
    int rc = CS_OK;
    int64_t n, n_base, n_both;

    CS_TRY(check_key(l, d->n));
    if (d->is_class) {
        warn_values(&l->classes);
        warn_spellings(&l->classes);
        CS_TRY(warn_conflicts(l, d));
        warn_untrained(l, d);
    } else if (d->n_target > 0)
        warn_unknown(l, d);
    if (d->is_class && wants_valid)
        CS_TRY(warn_unvalidated(l, d));
    cs_dataset_count(d, CS_PART_VALID, -1, &n, &n_base);
    if (n == 0)
        return CS_OK;
    CS_TRY(cs_dataset_count_leaks(d, &n_both));
    if (n_both > 0)
        cs_warn("%lld of %lld validation records %s the same sequence as a training record; %s "
                "keeps duplicates together", (long long)n_both, (long long)n,
                CS_PLURAL(n_both, "has", "have"),
                d->n_part > 1 ? "--split" : "--split or --split-by");
out:
    return rc;
}

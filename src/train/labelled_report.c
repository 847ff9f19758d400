/* labelled_report.c - messages about labelled input: omitted records, the split. */
#include "base/log.h"
#include "train/labelled.h"

/* Number of classes from which the head tree is recommended. */
enum { MANY_CLASSES = 1000 };

/* A note only: the table may cover more than this training. */
static void tell_unmet(const cs_labels *table, const char *path)
{
    const char *first;
    const int64_t n = cs_labels_unmet(table, &first);

    if (n > 0)
        cs_note("%lld of the %lld records of '%s' are not in the input; first: '%s'",
                (long long)n, (long long)cs_labels_count(table), path, first);
}

void cs_labelled_report(const cs_labelled *l)
{
    cs_inputs_report(l->in);
    tell_unmet(cs_labelled_table(l), l->args->labels);
    tell_unmet(l->split, l->args->split);
    if (l->n_unlabelled > 0)
        cs_warn("%lld of %lld records have no label and were left out",
                (long long)l->n_unlabelled, (long long)l->n_read);
    if (l->n_masked > 0)
        cs_warn("%lld of %lld records have only unknown labels and were left out",
                (long long)l->n_masked, (long long)l->n_read);
    if (l->interval != NULL && l->n_named < cs_intervals_records(l->interval))
        cs_warn("%lld of the %lld records of '%s' are not in the input",
                (long long)(cs_intervals_records(l->interval) - l->n_named),
                (long long)cs_intervals_records(l->interval), l->args->intervals);
    if (l->n_short > 0)
        cs_warn("%lld of %lld records are too short and were left out; first: '%s'",
                (long long)l->n_short, (long long)l->n_read, l->first_short);
}

void cs_labelled_advise_tree(const cs_labelled *l)
{
    const cs_classes *c = &l->classes;

    if (c->n >= MANY_CLASSES && !l->lineages && strchr(c->name[0], ';') != NULL)
        cs_note("the %d classes are lineages; --head tree --lineage RANKS also trains on their "
                "ancestors", c->n);
}

static void tell_untrained(const cs_labelled *l, const cs_dataset *d)
{
    int32_t first;
    const int32_t n = cs_dataset_lacks(d, CS_PART_TRAIN, l->classes.n, &first);

    if (n > 0)
        cs_warn("%d of %d classes have no training record; first: '%s'", (int)n,
                l->classes.n, l->classes.name[first]);
}

/* Why the first of them has none, and the remedy. */
static int tell_unvalidated(const cs_labelled *l, const cs_dataset *d)
{
    int rc = CS_OK;
    int32_t first;
    int64_t n_train, n_base, n_group;
    char why[256] = "";
    const char *by = l->args != NULL ? l->args->split_by : NULL;   /* NULL: variants */
    const int32_t n = cs_dataset_lacks(d, CS_PART_VALID, l->classes.n, &first);

    if (n == 0)
        return CS_OK;
    cs_dataset_count(d, CS_PART_TRAIN, first, &n_train, &n_base);
    CS_TRY(cs_dataset_groups(d, first, &n_group));
    if (l->split == NULL && n_train == 1)
        (void)snprintf(why, sizeof why, ", which has one record; give it more, or leave it out "
                       "with --label-map");
    else if (l->split == NULL && n_group == 1)
        (void)snprintf(why, sizeof why, ", whose %lld records are one group by %s%s; give another "
                       "--split-by, or --split", (long long)n_train, by != NULL ? by : "name",
                       by != NULL ? "" : " (NAME:FROM-TO is a piece of NAME)");
    else if (l->split == NULL)
        (void)snprintf(why, sizeof why, ", whose groups are %lld; raise --valid-frac, or give "
                       "--split", (long long)n_group);
    cs_warn("%d of %d classes have no validation record; first: '%s'%s", (int)n,
            l->classes.n, l->classes.name[first], why);
out:
    return rc;
}

/* A key without a record would silently split by names. */
static int check_key(const cs_labelled *l)
{
    const char *by = l->args != NULL ? l->args->split_by : NULL;   /* NULL: variants */

    if (by == NULL || l->n_ungrouped == 0)
        return CS_OK;
    if (l->n_ungrouped == l->n_read)
        return cs_fail(CS_EUSAGE, "no record has '%s=' in its header%s; give --split-by a key "
                       "that records have", by,
                       l->args->ranks != NULL ? ", and it is not a rank of the labels" : "");
    cs_note("%lld of %lld records have no '%s' for --split-by and are grouped by name",
            (long long)l->n_ungrouped, (long long)l->n_read, by);
    return CS_OK;
}

int cs_labelled_check_split(const cs_labelled *l, const cs_dataset *d, bool wants_valid)
{
    int rc = CS_OK;
    int64_t n, n_base, n_both;

    CS_TRY(check_key(l));
    if (d->is_class)
        tell_untrained(l, d);
    if (d->is_class && wants_valid)
        CS_TRY(tell_unvalidated(l, d));
    cs_dataset_count(d, CS_PART_VALID, -1, &n, &n_base);
    if (n == 0)
        return CS_OK;
    CS_TRY(cs_dataset_leaks(d, &n_both));
    if (n_both > 0)
        cs_warn("%lld of %lld validation records have the same sequence as a training record; %s "
                "keeps duplicates together", (long long)n_both, (long long)n,
                d->n_part > 1 ? "--split" : "--split or --split-by");
out:
    return rc;
}

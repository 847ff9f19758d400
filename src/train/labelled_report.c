/* labelled_report.c - what is told of labelled input: what was left out, and how it was split. */
#include "base/log.h"
#include "train/labelled.h"

/* No more than told: a table may be of more than is learnt from here. */
static void tell_unmet(const cs_labels *table, const char *path)
{
    const char *first;
    const int64_t n = cs_labels_unmet(table, &first);

    if (n > 0)
        cs_note("%lld of the %lld records that '%s' names are not in the input; the first: '%s'",
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
        cs_warn("of %lld of %lld records no label is known, and they were left out",
                (long long)l->n_masked, (long long)l->n_read);
    if (l->interval != NULL && l->n_named < cs_intervals_records(l->interval))
        cs_warn("%lld of the %lld records that '%s' names are not in the input",
                (long long)(cs_intervals_records(l->interval) - l->n_named),
                (long long)cs_intervals_records(l->interval), l->args->intervals);
    if (l->n_short > 0)
        cs_warn("%lld of %lld records are too short and were left out; first: '%s'",
                (long long)l->n_short, (long long)l->n_read, l->first_short);
}

static void tell_lacking(const cs_labelled *l, const cs_dataset *d, cs_part part, const char *what)
{
    int32_t first;
    const int32_t n = cs_dataset_lacks(d, part, l->classes.n, &first);

    if (n > 0)
        cs_warn("%d of %d classes have no record %s; the first: '%s'", (int)n, l->classes.n, what,
                l->classes.name[first]);
}

int cs_labelled_check_split(const cs_labelled *l, const cs_dataset *d)
{
    int rc = CS_OK;
    int64_t n, n_base, n_both;

    if (d->is_class)
        tell_lacking(l, d, CS_PART_TRAIN, "to learn from");
    cs_dataset_count(d, CS_PART_VALID, -1, &n, &n_base);
    if (n == 0)
        return CS_OK;
    if (d->is_class)
        tell_lacking(l, d, CS_PART_VALID, "for validation");
    CS_TRY(cs_dataset_leaks(d, &n_both));
    if (n_both > 0)
        cs_warn("%lld of %lld records for validation have the sequence of one that is learnt from; "
                "%s keeps such together", (long long)n_both, (long long)n,
                d->n_part > 1 ? "--split" : "--split or --group-key");
out:
    return rc;
}

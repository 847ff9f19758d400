/* labelled_record.c - label, part and group of one record: from tables, header, file or series. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/taxa_lineage.h"
#include "io/taxonomy.h"
#include "train/labelled_internal.h"

enum { MAX_TARGET = CS_MULTILABELS_MAX, MAX_OWN_CLASS = 1024 };

/* Labels end at a blank; that of the first record that has more is reported. */
static void note_cut(cs_labelled *l, const cs_record *r, const char *label)
{
    char next[32];

    if (cs_label_key_cut(r->comment, l->args->key, next, sizeof next) && l->n_cut++ == 0)
        (void)snprintf(l->first_cut, sizeof l->first_cut, "'%.32s' has '%.64s', without '%s'",
                       r->name, label, next);
}

/* The text of a record's label, or NULL; buf holds one from the header. */
static const char *find_label(const cs_labelled *l, const cs_record *r, char *buf, size_t n_buf)
{
    if (l->table != NULL)
        return cs_labels_find(l->table, r->name, 0);
    if (l->args->key != NULL && cs_label_key(r->comment, l->args->key, buf, n_buf))
        return buf;
    return NULL;
}

static bool has_row(const cs_labels *table, const char *before, const char *name,
                    const char *blank, const char *after)
{
    const size_t n = strlen(before) + strlen(name) + strlen(blank) + strlen(after) + 1;
    char *row = cs_xmalloc(n);

    (void)snprintf(row, n, "%s%s%s%s", before, name, blank, after);
    const bool has = cs_labels_find(table, row, 0) != NULL;
    free(row);
    return has;
}

/* How the table writes the record's name instead, with the remedy; NULL: it does not. Spreadsheets
 * quote names and leave spaces after them; others write whole header lines. */
static const char *miswritten(const cs_labels *table, const cs_record *r)
{
    if (table == NULL)
        return NULL;
    if (has_row(table, "\"", r->name, "", "\""))
        return "in quotes; remove the quotes";
    if (has_row(table, ">", r->name, "", "") || has_row(table, "@", r->name, "", ""))
        return "with the first character of its header line; remove it";
    if (has_row(table, "", r->name, " ", ""))
        return "with a space after it; remove the space";
    if (r->comment[0] != '\0' && has_row(table, "", r->name, " ", r->comment))
        return "with the rest of its header line; a name ends at the first blank";
    return NULL;
}

/* The first line, taken for names of columns, is that of a record. */
static bool is_in_head(const cs_labelled *l, const char *name)
{
    const cs_labels *table = cs_labelled_table(l);

    return table != NULL && (l->is_labels || cs_labelled_value(l, 0) != NULL) &&
           cs_labels_line(table, NULL) > 0 && strcmp(cs_labels_name(table, -1), name) == 0;
}

/* label: one that names no class, or NULL: there is none. */
static int unlabelled(cs_labelled *l, const cs_record *r, const char *label)
{
    size_t n;
    const cs_labels *table = cs_labelled_table(l);
    const char *how;

    if (l->args->key != NULL && cs_label_key_find(r->comment, l->args->key, &n) != NULL &&
        n >= CS_LABEL_BYTES)
        return cs_fail(CS_EFORMAT, "the label of record '%s' has %zu bytes; at most %d are "
                       "supported", r->name, n, CS_LABEL_BYTES - 1);
    l->n_unlabelled++;
    if (l->args->skip_unlabelled)
        return CS_EOF;
    if (label != NULL)
        return cs_fail(CS_EFORMAT, "the label '%.60s' of record '%s' names no class; "
                       "--skip-unlabelled omits such records", label, r->name);
    if ((how = miswritten(table, r)) != NULL)
        return cs_fail(CS_EFORMAT, "'%s' has the name of record '%s' %s", l->args->labels, r->name,
                       how);
    if (l->args->labels != NULL && is_in_head(l, r->name))
        return l->is_labels
             ? cs_fail(CS_EFORMAT, "record '%s' is in the first line of '%s', which must name the "
                       "labels: insert such a line", r->name, l->args->labels)
             : cs_fail(CS_EFORMAT, "record '%s' is in the first line of '%s', whose '%.60s' is not "
                       "a number", r->name, l->args->labels, cs_labelled_value(l, 0));
    if (table != NULL && cs_labels_with(table, r->name) >= 0)
        return cs_fail(CS_EFORMAT, "'%s' has the name of record '%s' in column %d; the first one "
                       "must have the names of records", l->args->labels, r->name,
                       cs_labels_with(table, r->name) + 2);
    if (l->args->labels != NULL)
        return cs_fail(CS_EFORMAT, "record '%s' is not in '%s'; --skip-unlabelled omits such "
                       "records", r->name, l->args->labels);
    if (l->args->key != NULL)
        return cs_fail(CS_EFORMAT, "record '%s' has no '%s=' in its header; --skip-unlabelled "
                       "omits such records", r->name, l->args->key);
    return cs_fail(CS_EUSAGE, "record '%s' has no %s", r->name, l->is_labels
                   ? "labels; give --labels" : "values; give --labels or --label-key");
}

/* With the line of the table that has the value. */
static int refuse(const cs_labelled *l, const cs_record *r, const char *what, const char *text,
                  const char *why)
{
    const char *table = l->table ? l->args->labels : NULL;

    (void)cs_fail(CS_EFORMAT, "record '%s' has the %s '%s'%s", r->name, what, text, why);
    return table ? cs_fail_also(CS_EFORMAT, " ('%s' line %lld)", table,
                                (long long)cs_labels_line(l->table, r->name)) : CS_EFORMAT;
}

/* CS_OK and the class number of a label, or CS_EOF: skip the record. */
static int take_label(cs_labelled *l, const cs_record *r, const char *label, float *target)
{
    int no;
    const int rc = cs_labelled_mapped(l, label, &no);

    if (rc != CS_OK)
        return rc;
    if (no == CS_LABEL_EMPTY)
        return unlabelled(l, r, label);
    const char *class = no >= 0 ? l->classes.name[no] : "";
    const size_t n = strlen(class);
    if (n > 0 && !l->fixed && (class[0] == ' ' || class[n - 1] == ' '))
        return refuse(l, r, "label", class, ", which starts or ends with a space; remove it");
    *target = (float)no;
    return no == CS_LABEL_OMITTED ? CS_EOF : CS_OK;
}

/* A series' single target is its class without another source. Class k is named k, so all classes
 * below the largest number exist. */
static int own_class(cs_labelled *l, const cs_record *r, float *target)
{
    int rc = CS_OK, no;
    char name[32];

    if (r->target == NULL)
        return cs_fail(CS_EUSAGE, "no labels; give --labels, --label-key or --class");
    if (r->n_target != 1 || r->target[0] < 0 || r->target[0] >= MAX_OWN_CLASS ||
        r->target[0] != floorf(r->target[0]))
        return cs_fail(CS_EFORMAT, "record '%s' has no class: its target must be an integer from "
                       "0 to %d", r->name, MAX_OWN_CLASS - 1);
    for (; !l->fixed && l->n_own < (int)r->target[0]; l->n_own++) {
        (void)snprintf(name, sizeof name, "%d", l->n_own);
        CS_TRY(cs_labelled_mapped(l, name, &no));
    }
    (void)snprintf(name, sizeof name, "%d", (int)r->target[0]);
    rc = take_label(l, r, name, target);
out:
    return rc;
}

/* CS_OK and a class number, or CS_EOF: skip the record. */
static int find_class(cs_labelled *l, const cs_record *r, float *target)
{
    char buf[CS_LABEL_BYTES];

    if (l->file_class != NULL) {
        const int no = l->file_class[cs_inputs_index(l->in)];
        *target = (float)no;
        return no == CS_LABEL_OMITTED ? CS_EOF : CS_OK;
    }
    if (l->table == NULL && l->args->key == NULL)
        return own_class(l, r, target);
    const char *label = find_label(l, r, buf, sizeof buf);
    if (label == NULL)
        return unlabelled(l, r, NULL);
    if (label == buf)
        note_cut(l, r, label);
    return take_label(l, r, label, target);
}

/* A record without a known value, such as this one. CS_EOF: skip the record. */
static int no_value(cs_labelled *l, const cs_record *r, const char *text)
{
    l->n_unlabelled++;
    return l->args->skip_unlabelled ? CS_EOF
         : refuse(l, r, "value", text, ", which is unknown; --skip-unlabelled omits such records");
}

/* NaN: unknown, and masked in the loss. */
static int parse_value(cs_labelled *l, const cs_record *r, const char *text, float *v)
{
    double d;

    *v = NAN;
    if (cs_label_unknown(text))
        return CS_OK;
    if (cs_parse_real(text, &d) != CS_OK)
        return refuse(l, r, "value", text, ", which is not a number such as 0.5, or NA if it is "
                      "unknown");
    if (fabs(d) > FLT_MAX)
        return refuse(l, r, "value", text, "; at most 3.40282e+38 is supported");
    *v = (float)d;
    return CS_OK;
}

static int find_values(cs_labelled *l, const cs_record *r, float *target)
{
    char buf[CS_LABEL_BYTES];
    int rc = CS_OK, n_known = 0;

    if (l->table == NULL && l->args->key == NULL && r->target != NULL) {
        memcpy(target, r->target, (size_t)r->n_target * sizeof *target);
        return CS_OK;
    }
    const char *text = find_label(l, r, buf, sizeof buf);
    if (text == NULL)
        return unlabelled(l, r, NULL);
    const int n = l->table != NULL ? cs_labels_columns(l->table) : 1;
    for (int i = 0; i < n; i++) {
        const int column = l->column != NULL ? l->column[i] : i;
        CS_TRY(parse_value(l, r, l->table != NULL ? cs_labels_find(l->table, r->name, column)
                                                  : text, &target[i]));
        n_known += !isnan(target[i]);
    }
    rc = n_known == 0 ? no_value(l, r, text) : CS_OK;
out:
    return rc;
}

/* A series' targets are its labels without a table. Label k is named k. */
static int own_labels(cs_labelled *l, const cs_record *r, float *target)
{
    int rc = CS_OK, no;
    char name[32];

    for (int k = 0; k < r->n_target; k++) {
        if (r->target[k] != 0 && r->target[k] != 1)
            return cs_fail(CS_EFORMAT, "record '%s' has the target %g; a label is 0 or 1", r->name,
                           (double)r->target[k]);
        target[k] = r->target[k];
        (void)snprintf(name, sizeof name, "%d", k);
        if (!l->fixed)
            CS_TRY(cs_classes_add(&l->classes, name, &no));
    }
out:
    return rc;
}

/* CS_OK, or CS_EOF: skip the record. */
static int find_labels(cs_labelled *l, const cs_record *r, float *target)
{
    bool known = false;

    if (l->multi == NULL)
        return r->target != NULL ? own_labels(l, r, target) : unlabelled(l, r, NULL);
    const int rc = cs_multilabels_find(l->multi, r->name, target);
    if (rc != CS_OK)
        return rc == CS_EOF ? unlabelled(l, r, NULL) : rc;
    for (int k = 0; k < l->classes.n; k++)
        known = known || !isnan(target[k]);
    l->n_masked += !known;
    return known ? CS_OK : CS_EOF;
}

static int find_target(cs_labelled *l, const cs_record *r, float *target)
{
    return l->is_class ? find_class(l, r, target) : l->is_labels ? find_labels(l, r, target)
                                                                 : find_values(l, r, target);
}

static int n_target(const cs_labelled *l, const cs_record *r)
{
    if (l->interval != NULL)
        return CS_TARGET_TOKENS;
    if (l->multi != NULL)
        return l->classes.n;
    if (l->is_class)
        return 1;
    if (l->table != NULL)
        return cs_labels_columns(l->table);
    return l->args->key == NULL && r->target != NULL ? r->n_target : 1;
}

static int find_part(const cs_labelled *l, const cs_record *r, cs_part *part)
{
    *part = CS_PART_TRAIN;
    if (l->split == NULL)
        return CS_OK;
    const char *text = cs_labels_find(l->split, r->name, 0);
    if (text != NULL && cs_part_of(text, part))
        return CS_OK;
    if (text == NULL)
        return cs_fail(CS_EFORMAT, "record '%s' is not in '%s'; add it with its part: train, valid "
                       "or skip", r->name, l->args->split);
    return cs_fail(CS_EFORMAT, "record '%s' has '%s' in '%s'; it must be train, valid or skip",
                   r->name, text, l->args->split);
}

/* The first record determines bases or values, and the number of targets. */
static int check_shape(const cs_labelled *l, cs_dataset *d, const cs_record *r)
{
    const int32_t channels = r->x != NULL ? r->n_channel : 0, targets = n_target(l, r);

    if (targets > MAX_TARGET)
        return cs_fail(CS_EFORMAT, "record '%s' has %d target values; at most %d are supported",
                       r->name, (int)targets, (int)MAX_TARGET);
    if (d->mem == NULL)
        cs_dataset_init(d, l->is_class && l->interval == NULL, targets, channels);
    d->background = l->background;
    if (channels != d->n_channel || targets != d->n_target)
        return cs_fail(CS_EFORMAT, "record '%s' has %d real values per position and %d targets, "
                       "but earlier records have %d and %d", r->name, (int)channels, (int)targets,
                       (int)d->n_channel, (int)d->n_target);
    return CS_OK;
}

/* The record's intervals, or CS_EOF: skip the record. */
static int find_spans(cs_labelled *l, const cs_record *r, const cs_span **span, int64_t *n)
{
    const int rc = cs_intervals_find(l->interval, r->name, r->seg[0].n_base, span, n);

    if (rc != CS_OK)
        return rc;
    l->n_named += *n > 0;
    if (*n > 0 || l->background >= 0)
        return CS_OK;
    l->n_unlabelled++;
    return l->args->skip_unlabelled ? CS_EOF
         : cs_fail(CS_EFORMAT, "record '%s' has no interval in '%s'; --skip-unlabelled omits "
                   "such records, --background gives them a class", r->name, l->args->intervals);
}

static int check_group_length(const cs_record *r, const char *of, size_t n)
{
    return n < CS_LABEL_BYTES ? CS_OK
         : cs_fail(CS_EFORMAT, "the group of record '%s' by %s has %zu bytes; at most %d are "
                   "supported", r->name, of, n, CS_LABEL_BYTES - 1);
}

/* Copies the value of a key, or "". */
static int copy_key(const cs_record *r, const char *key, char *group, size_t size)
{
    int rc = CS_OK;
    size_t n = 0;
    const char *value = cs_label_key_find(r->comment, key, &n);

    group[0] = '\0';
    CS_TRY(check_group_length(r, "--split-by", n));
    if (value != NULL)
        (void)snprintf(group, size, "%.*s", (int)n, value);
out:
    return rc;
}

/* The value of --split-by, or "". */
static int find_split_key(const cs_labelled *l, const cs_record *r, char *group, size_t n)
{
    int rc = CS_OK;
    const char *by = l->args->split_by, *ranks = l->args->ranks;
    const char *colon = strrchr(by, ':');
    char key[CS_LABEL_BYTES], label[CS_LABEL_BYTES];
    int64_t n_part = 0;
    bool found = true;

    if (ranks != NULL && cs_lineage_has_rank(ranks, by)) {
        const char *s = find_label(l, r, label, sizeof label);
        (void)snprintf(group, n, "%s", s != NULL ? s : "");
        cs_lineage_tidy(group, 0);
        found = cs_lineage_cut(group, ranks, by);
    } else if (colon != NULL && cs_parse_int(colon + 1, &n_part) == CS_OK && n_part > 0) {
        (void)snprintf(key, sizeof key, "%.*s", (int)(colon - by), by);
        CS_TRY(copy_key(r, key, group, n));
        found = group[0] != '\0'
             && cs_lineage_cut_parts(group, n_part < INT_MAX ? (int)n_part : INT_MAX);
    } else {
        rc = copy_key(r, by, group, n);
    }
    if (!found)
        group[0] = '\0';
out:
    return rc;
}

static int find_group(cs_labelled *l, const cs_record *r, char *group, size_t n)
{
    int rc = CS_OK;

    group[0] = '\0';
    if (l->args->split_by != NULL) {
        CS_TRY(find_split_key(l, r, group, n));
        l->n_ungrouped += group[0] == '\0';
    }
    if (l->split != NULL && cs_labels_columns(l->split) > 1) {
        const char *own = cs_labels_find(l->split, r->name, 1);
        CS_TRY(check_group_length(r, "--split", strlen(own)));
        (void)snprintf(group, n, "%s", own);
    }
out:
    return rc;
}

/* Nucleotides and diplotypes have N for an unknown symbol; n is one with --tokenizer.case only. */
static void note_unknown(cs_labelled *l, const cs_record *r)
{
    int64_t i = 0;
    const char other = l->cased ? 'n' : 'N';
    const char *base = r->seg[0].base;

    while (r->x == NULL && i < r->seg[0].n_base && (base[i] == 'N' || base[i] == other))
        i++;
    if (r->x == NULL && i == r->seg[0].n_base && l->n_unknown++ == 0)
        (void)snprintf(l->first_unknown, sizeof l->first_unknown, "%s", r->name);
}

int cs_labelled_add(cs_labelled *l, cs_dataset *d, const cs_record *r)
{
    int rc = CS_OK;
    float target[MAX_TARGET];
    char group[CS_LABEL_BYTES];
    const cs_span *span = NULL;
    int64_t n_span = 0;
    cs_part part;

    l->n_read++;
    cs_labels_mark(cs_labelled_table(l), r->name);
    cs_labels_mark(l->split, r->name);
    CS_TRY(check_shape(l, d, r));
    rc = l->interval != NULL ? find_spans(l, r, &span, &n_span)
                             : find_target(l, r, target);
    if (rc != CS_OK)
        return rc == CS_EOF ? CS_OK : rc;
    if (r->seg[0].n_base < l->min_base) {
        if (l->n_short++ == 0)
            (void)snprintf(l->first_short, sizeof l->first_short, "%s", r->name);
        return CS_OK;
    }
    if (l->interval == NULL)
        note_unknown(l, r);
    CS_TRY(find_part(l, r, &part));      /* records that are left out need none */
    CS_TRY(find_group(l, r, group, sizeof group));
    CS_TRY(l->interval != NULL ? cs_dataset_add_spans(d, r, span, n_span, group)
                               : cs_dataset_add(d, r, target, group));
    d->ex[d->n - 1].part = part;
out:
    return rc;
}

/* labelled.c - read labelled sequences for training and evaluation. */
/* long: options, reading and messages about the input are one idea */
#include "train/labelled.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/suggest.h"
#include "infer/taxa.h"
#include "io/taxonomy.h"

enum { MAX_TARGET = CS_MULTILABELS_MAX, MAX_VALUE = 64, LABEL_BYTES = 1024, MAX_OWN_CLASS = 1024 };

const cs_opt cs_label_table[] = {
    { .type = CS_OPT_GROUP, .name = "Labels" },
    { .type = CS_OPT_IN, .name = "labels", .off = offsetof(cs_label_args, labels), .arg = "TSV",
      .help = "table: record name, then its class or its values",
      .man = "One row per record; lines that begin with '#' are skipped. With a regression head "
             "every further column is a value to predict. With head multilabel the first line "
             "names the columns, and each column after the first is a label: 1, 0, or NA, '.' or "
             "empty if unknown." },
    { .type = CS_OPT_STR, .name = "label-key", .off = offsetof(cs_label_args, key), .arg = "KEY",
      .help = "the label follows 'KEY=' in the record's header line",
      .man = "It ends at the next blank." },
    { .type = CS_OPT_INS, .name = "class", .off = offsetof(cs_label_args, class_file),
      .arg = "CLASS=FILE", .help = "class of all records of this file",
      .man = "May be given several times, also with several files per class. Other input is not "
             "read." },
    { .type = CS_OPT_IN, .name = "label-map", .off = offsetof(cs_label_args, map), .arg = "TSV",
      .help = "table: label in the input, class to use",
      .man = "Labels missing in it keep their name; the class '-' omits its records." },
    { .type = CS_OPT_IN, .name = "intervals", .off = offsetof(cs_label_args, intervals),
      .arg = "BED", .help = "table of intervals: record, start, end, class",
      .man = "For --head token. Starts count from 0, ends are not included. The order of lines "
             "is free; intervals of different classes must not overlap. The class '-' excludes a "
             "stretch from training." },
    { .type = CS_OPT_STR, .name = "background", .off = offsetof(cs_label_args, background),
      .arg = "CLASS", .help = "class of all bases outside of intervals",
      .man = "Without it, they are excluded from training and evaluation." },
    { .type = CS_OPT_FLAG, .name = "skip-unlabelled",
      .off = offsetof(cs_label_args, skip_unlabelled),
      .help = "skip records without a label instead of failing" },
    { .type = CS_OPT_IN, .name = "split", .off = offsetof(cs_label_args, split), .arg = "TSV",
      .help = "table: record name, then train, valid or skip, then its group if there is a column",
      .man = "Groups are for --group-balance." },
    { .type = CS_OPT_STR, .name = "split-by", .off = offsetof(cs_label_args, split_by),
      .arg = "KEY", .help = "keep records with the same 'KEY=' in their header on one side of the "
                            "split",
      .man = "For example organism: relatives of training records would make validation too "
             "optimistic. KEY:N takes the first N parts of a lineage, separated by ';'; a rank "
             "of --lineage takes the label down to that rank. A record without it, or with the "
             "value 'unknown', is grouped by its name; pieces NAME:FROM-TO of one NAME stay "
             "together." },
    { .type = CS_OPT_END }
};

/* ---- opening --------------------------------------------------------------------------------- */

static int check_intervals(const cs_label_args *a, bool per_token)
{
    const char *other = a->labels != NULL ? "labels" : a->key != NULL ? "label-key"
                      : a->class_file.n > 0 ? "class" : a->map != NULL ? "label-map" : NULL;

    if (per_token && a->intervals == NULL)
        return cs_fail(CS_EUSAGE, "the head predicts a class per token; give the labels of bases "
                       "with --intervals");
    if (per_token && other != NULL)
        return cs_fail(CS_EUSAGE, "--%s is for labels of records, but the head needs --intervals",
                       other);
    if (!per_token && (a->intervals != NULL || a->background != NULL))
        return cs_fail(CS_EUSAGE, "--%s is for a head that predicts a class per token",
                       a->intervals != NULL ? "intervals" : "background");
    return CS_OK;
}

/* Absent and unknown labels must be distinguished, which requires a table. */
static int check_multilabel(const cs_label_args *a)
{
    const char *other = a->key != NULL ? "label-key" : a->class_file.n > 0 ? "class"
                      : a->map != NULL ? "label-map" : NULL;

    return other == NULL ? CS_OK
         : cs_fail(CS_EUSAGE, "--%s gives one class per record; the head needs --labels with a "
                   "column per label", other);
}

static int check_sources(const cs_label_args *a, const cs_input_args *input, bool is_class)
{
    const int n = (a->labels != NULL) + (a->key != NULL) + (a->class_file.n > 0);

    if (n > 1)
        return cs_fail(CS_EUSAGE, "give one of --labels, --label-key and --class, not several");
    if (a->class_file.n > 0 && input->file.n + input->list.n > 0)
        return cs_fail(CS_EUSAGE, "'%s' has no class; with --class, give every file there",
                       input->file.n > 0 ? input->file.v[0] : input->list.v[0]);
    if (a->class_file.n > 0 && !is_class)
        return cs_fail(CS_EUSAGE, "--class is for classes, but the head predicts values");
    /* Series files have targets of their own, detected at the first record. */
    return CS_OK;
}

const char *cs_labelled_once(const cs_label_args *a, const cs_input_args *input)
{
    const char *const table[] = { a->labels, a->map, a->split, a->intervals };
    const char *once = cs_args_once(input->file.v, input->file.n);

    if (input->file.n + input->list.n + a->class_file.n == 0)
        return "-";
    if (once == NULL)
        once = cs_args_once(input->list.v, input->list.n);
    if (once == NULL)
        once = cs_args_once(table, sizeof table / sizeof *table);
    for (int i = 0; i < a->class_file.n && once == NULL; i++) {
        const char *equals = strchr(a->class_file.v[i], '=');
        once = equals != NULL ? cs_args_once(&(const char *){ equals + 1 }, 1) : NULL;
    }
    return once;
}

static int class_no(cs_labelled *l, const char *label, int *no)
{
    if (!l->fixed || l->lineages)
        return cs_classes_add(&l->classes, label, no);
    *no = cs_classes_find(&l->classes, label);
    if (*no >= 0)
        return CS_OK;
    cs_suggest suggest = cs_suggest_begin(label);
    for (int i = 0; i < l->classes.n; i++)
        cs_suggest_try(&suggest, l->classes.name[i]);
    return cs_fail(CS_EFORMAT, "label '%s' is not a class of the model; %s--label-map can map it "
                   "to a class", label, cs_suggest_hint(&suggest));
}

/* CLASS=FILE: add the file to the inputs and store its class. */
static int add_class_files(cs_labelled *l, cs_input_args *input)
{
    int rc = CS_OK;
    const cs_strlist *list = &l->args->class_file;
    char name[LABEL_BYTES];

    if (list->n == 0)
        return CS_OK;
    l->file_class = cs_xcalloc((size_t)list->n, sizeof *l->file_class);
    input->file.v = cs_xrealloc(input->file.v, (size_t)list->n * sizeof *input->file.v);
    for (int i = 0; i < list->n; i++) {
        const char *equals = strchr(list->v[i], '=');
        const size_t n = equals != NULL ? (size_t)(equals - list->v[i]) : 0;
        if (n == 0 || n >= sizeof name || equals[1] == '\0')
            return cs_fail(CS_EUSAGE, "--class takes CLASS=FILE, not '%s'", list->v[i]);
        memcpy(name, list->v[i], n);
        name[n] = '\0';
        if (l->lineages)
            cs_lineage_tidy(name, l->n_rank);
        if (name[0] == '\0')
            return cs_fail(CS_EUSAGE, "--class '%s': the lineage names nothing", list->v[i]);
        CS_TRY(class_no(l, name, &l->file_class[i]));
        input->file.v[input->file.n++] = equals + 1;
    }
out:
    return rc;
}

/* The background is the first class, unless the model defines the order. */
static int open_intervals(cs_labelled *l)
{
    int rc = CS_OK;
    const cs_label_args *a = l->args;

    l->background = -1;
    if (a->background != NULL)
        CS_TRY(class_no(l, a->background, &l->background));
    CS_TRY(cs_intervals_open(a->intervals, &l->classes, l->fixed, &l->interval));
    if (!l->fixed && l->classes.n < 2)
        rc = cs_fail(CS_EFORMAT, "'%s' has fewer than two classes; --background can add one",
                     a->intervals);
out:
    return rc;
}

static int open_tables(cs_labelled *l)
{
    int rc = CS_OK;
    const cs_label_args *a = l->args;

    if (a->intervals != NULL)
        CS_TRY(open_intervals(l));
    if (a->labels != NULL && l->is_labels)
        CS_TRY(cs_multilabels_open(a->labels, &l->classes, l->fixed, &l->multi));
    else if (a->labels != NULL)
        CS_TRY(cs_labels_open(a->labels, &l->table));
    if (a->map != NULL)
        CS_TRY(cs_labels_open(a->map, &l->map));
    if (a->split != NULL)
        CS_TRY(cs_labels_open(a->split, &l->split));
    if (l->multi != NULL && cs_multilabels_columns(l->multi) < l->classes.n)
        cs_warn("'%s' has no column for %d of the model's %d labels, which are not evaluated",
                a->labels, l->classes.n - cs_multilabels_columns(l->multi), l->classes.n);
    if (l->table != NULL && cs_labels_columns(l->table) > (l->is_class ? 1 : MAX_VALUE))
        rc = cs_fail(CS_EFORMAT, "'%s' has %d columns after the name, but %s", a->labels,
                     cs_labels_columns(l->table), l->is_class ? "a class needs one" : "at most 64 "
                     "are supported");
out:
    return rc;
}

int cs_labelled_open(const cs_label_args *a, cs_input_args *input, const cs_input_opt *how,
                     const cs_model *model, const cs_head *head, cs_labelled *l)
{
    int rc = CS_OK, no;
    const bool is_class = head->is_class;
    cs_input_opt with_series = *how;

    with_series.series = true;
    *l = (cs_labelled){ .args = a, .is_class = is_class, .is_labels = head->is_labels,
                        .min_base = 1 };
    CS_TRY(check_intervals(a, head->per_token));
    if (head->is_labels)
        CS_TRY(check_multilabel(a));
    CS_TRY(check_sources(a, input, is_class));
    for (int32_t i = 0; model && (is_class || l->is_labels) && i < model->n_label; i++)
        CS_TRY(cs_classes_add(&l->classes, model->label[i].name, &no));
    l->fixed = model != NULL;
    /* The family of an unknown genus may be known to the model. */
    l->n_rank = model == NULL ? a->n_rank : head->per_token ? 0 : cs_taxa_depth(model);
    l->lineages = model == NULL ? a->lineages : l->n_rank > 0;
    CS_TRY(add_class_files(l, input));
    CS_TRY(open_tables(l));
    CS_TRY(cs_args_input(input));
    with_series.implied = input->implied;
    CS_TRY(cs_inputs_open(input->file.v, input->file.n, &with_series, &l->in));
out:
    if (rc != CS_OK)
        cs_labelled_close(l);
    return rc;
}

void cs_labelled_close(cs_labelled *l)
{
    cs_chunk_free(l->chunk);
    cs_inputs_close(l->in);
    cs_labels_close(l->table);
    cs_multilabels_close(l->multi);
    cs_labels_close(l->map);
    cs_labels_close(l->split);
    cs_intervals_close(l->interval);
    cs_classes_release(&l->classes);
    free(l->file_class);
    *l = (cs_labelled){ 0 };
}

/* ---- one record ------------------------------------------------------------------------------ */

/* The text of a record's label, or NULL; buf holds one from the header. */
static const char *find_label(const cs_labelled *l, const cs_record *r, char *buf, size_t n_buf)
{
    if (l->table != NULL)
        return cs_labels_find(l->table, r->name, 0);
    if (l->args->key != NULL && cs_label_key(r->comment, l->args->key, buf, n_buf))
        return buf;
    return NULL;
}

static int unlabelled(cs_labelled *l, const cs_record *r)
{
    l->n_unlabelled++;
    if (l->args->skip_unlabelled)
        return CS_EOF;
    if (l->args->labels != NULL)
        return cs_fail(CS_EFORMAT, "record '%s' is not in '%s'; --skip-unlabelled omits such "
                       "records", r->name, l->args->labels);
    if (l->args->key != NULL)
        return cs_fail(CS_EFORMAT, "record '%s' has no '%s=' in its header; --skip-unlabelled "
                       "omits such records", r->name, l->args->key);
    return cs_fail(CS_EUSAGE, "record '%s' has no %s", r->name, l->is_labels
                   ? "labels; give --labels" : "values; give --labels or --label-key");
}

/* A series' single target is its class without another source. Class k is named k, so all classes
 * below the largest number exist. */
static int own_class(cs_labelled *l, const cs_record *r, float *target)
{
    int rc = CS_OK, no = 0;
    char name[32];

    if (r->target == NULL)
        return cs_fail(CS_EUSAGE, "no labels; give --labels, --label-key or --class");
    if (r->n_target != 1 || r->target[0] < 0 || r->target[0] >= MAX_OWN_CLASS ||
        r->target[0] != floorf(r->target[0]))
        return cs_fail(CS_EFORMAT, "record '%s' has no class: its target must be an integer from "
                       "0 to %d", r->name, MAX_OWN_CLASS - 1);
    for (int k = l->fixed ? (int)r->target[0] : l->classes.n; k <= (int)r->target[0]; k++) {
        (void)snprintf(name, sizeof name, "%d", k);
        CS_TRY(class_no(l, name, &no));
    }
    *target = (float)(l->fixed ? no : (int)r->target[0]);
out:
    return rc;
}

/* CS_OK and a class number, or CS_EOF: skip the record. */
static int find_class(cs_labelled *l, const cs_record *r, float *target)
{
    char buf[LABEL_BYTES], tidy[LABEL_BYTES];
    int rc = CS_OK, no = 0;

    if (l->file_class != NULL) {
        *target = (float)l->file_class[cs_inputs_index(l->in)];
        return CS_OK;
    }
    if (l->table == NULL && l->args->key == NULL)
        return own_class(l, r, target);
    const char *label = find_label(l, r, buf, sizeof buf);
    if (label == NULL)
        return unlabelled(l, r);
    const char *mapped = l->map != NULL ? cs_labels_find(l->map, label, 0) : NULL;
    if (mapped != NULL && strcmp(mapped, "-") == 0) {
        l->n_skipped++;
        return CS_EOF;
    }
    label = mapped != NULL ? mapped : label;
    if (l->lineages) {
        (void)snprintf(tidy, sizeof tidy, "%s", label);
        cs_lineage_tidy(tidy, l->n_rank);
        label = tidy;
    }
    if (*label == '\0')
        return unlabelled(l, r);
    CS_TRY(class_no(l, label, &no));
    *target = (float)no;
out:
    return rc;
}

static int parse_value(const cs_record *r, const char *text, float *v)
{
    double d;

    if (cs_parse_real(text, &d) != CS_OK)
        return cs_fail(CS_EFORMAT, "record '%s' has the value '%s', which is not a number", r->name,
                       text);
    *v = (float)d;
    return CS_OK;
}

static int find_values(cs_labelled *l, const cs_record *r, float *target)
{
    char buf[LABEL_BYTES];
    int rc = CS_OK;

    if (l->table == NULL && l->args->key == NULL && r->target != NULL) {
        memcpy(target, r->target, (size_t)r->n_target * sizeof *target);
        return CS_OK;
    }
    const char *text = find_label(l, r, buf, sizeof buf);
    if (text == NULL)
        return unlabelled(l, r);
    if (l->table == NULL)
        return parse_value(r, text, target);
    for (int i = 0; i < cs_labels_columns(l->table); i++)
        CS_TRY(parse_value(r, cs_labels_find(l->table, r->name, i), &target[i]));
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
        return r->target != NULL ? own_labels(l, r, target) : unlabelled(l, r);
    const int rc = cs_multilabels_find(l->multi, r->name, target);
    if (rc != CS_OK)
        return rc == CS_EOF ? unlabelled(l, r) : rc;
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
    static const char *const name[] = { "train", "valid", "skip" };

    *part = CS_PART_TRAIN;
    if (l->split == NULL)
        return CS_OK;
    const char *text = cs_labels_find(l->split, r->name, 0);
    for (int i = 0; text != NULL && i < 3; i++) {
        if (strcmp(text, name[i]) == 0) {
            *part = (cs_part)i;
            return CS_OK;
        }
    }
    if (text == NULL)
        return cs_fail(CS_EFORMAT, "record '%s' is not in '%s'", r->name, l->args->split);
    return cs_fail(CS_EFORMAT, "record '%s' has '%s' in '%s'; it must be train, valid or skip",
                   r->name, text, l->args->split);
}

/* The first record determines bases or values, and the number of targets. */
static int fit(const cs_labelled *l, cs_dataset *d, const cs_record *r)
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

/* The value of --split-by, or "". */
static void find_relatives(const cs_labelled *l, const cs_record *r, char *group, size_t n)
{
    const char *by = l->args->split_by, *ranks = l->args->ranks;
    const char *colon = strrchr(by, ':');
    char key[LABEL_BYTES], label[LABEL_BYTES];
    int64_t n_part = 0;
    bool found;

    if (ranks != NULL && cs_lineage_has_rank(ranks, by)) {
        const char *s = find_label(l, r, label, sizeof label);
        (void)snprintf(group, n, "%s", s != NULL ? s : "");
        cs_lineage_tidy(group, 0);
        found = cs_lineage_cut(group, ranks, by);
    } else if (colon != NULL && cs_parse_int(colon + 1, &n_part) == CS_OK && n_part > 0) {
        (void)snprintf(key, sizeof key, "%.*s", (int)(colon - by), by);
        found = cs_label_key(r->comment, key, group, n) &&
                cs_lineage_cut_parts(group, n_part < INT_MAX ? (int)n_part : INT_MAX);
    } else {
        found = cs_label_key(r->comment, by, group, n);
    }
    if (!found)
        group[0] = '\0';
}

static const char *find_group(cs_labelled *l, const cs_record *r, char *group, size_t n)
{
    group[0] = '\0';
    if (l->args->split_by != NULL) {
        find_relatives(l, r, group, n);
        l->n_ungrouped += group[0] == '\0';
    }
    if (l->split != NULL && cs_labels_columns(l->split) > 1)
        (void)snprintf(group, n, "%s", cs_labels_find(l->split, r->name, 1));
    return group;
}

cs_labels *cs_labelled_table(const cs_labelled *l)
{
    return l->multi != NULL ? cs_multilabels_table(l->multi) : l->table;
}

static int add_record(cs_labelled *l, cs_dataset *d, const cs_record *r)
{
    int rc = CS_OK;
    float target[MAX_TARGET];
    char buf[LABEL_BYTES];
    const cs_span *span = NULL;
    int64_t n_span = 0;
    cs_part part;

    l->n_read++;
    cs_labels_mark(cs_labelled_table(l), r->name);
    cs_labels_mark(l->split, r->name);
    CS_TRY(fit(l, d, r));
    CS_TRY(find_part(l, r, &part));
    rc = l->interval != NULL ? find_spans(l, r, &span, &n_span)
                             : find_target(l, r, target);
    if (rc != CS_OK)
        return rc == CS_EOF ? CS_OK : rc;
    if (r->seg[0].n_base < l->min_base) {
        if (l->n_short++ == 0)
            (void)snprintf(l->first_short, sizeof l->first_short, "%s", r->name);
        return CS_OK;
    }
    const char *group = find_group(l, r, buf, sizeof buf);
    CS_TRY(l->interval != NULL ? cs_dataset_add_spans(d, r, span, n_span, group)
                               : cs_dataset_add(d, r, target, group));
    d->ex[d->n - 1].part = part;
out:
    return rc;
}

int cs_labelled_read(cs_labelled *l, cs_dataset *d, int64_t max_base)
{
    int rc = CS_OK;

    while (rc == CS_OK && d->n_base < max_base) {
        if (l->chunk != NULL && cs_chunk_full(l->chunk)) {
            cs_chunk_free(l->chunk);
            l->chunk = NULL;
        }
        if (l->chunk == NULL)
            l->chunk = cs_chunk_new(0);
        if (l->chunk == NULL)
            return CS_EMEM;
        CS_TRY(cs_inputs_next(l->in, l->chunk));
        CS_TRY(add_record(l, d, &l->chunk->rec[l->chunk->n - 1]));
    }
out:
    return rc;
}

int cs_labelled_read_all(const cs_label_args *a, cs_input_args *input, const cs_model *m,
                         cs_dataset *d)
{
    int rc = CS_OK;
    cs_labelled l = { 0 };
    cs_input_opt how;

    CS_TRY(cs_args_reading(input, 0, &how));
    CS_TRY(cs_labelled_open(a, input, &how, m, m->head, &l));
    rc = cs_labelled_read(&l, d, INT64_MAX);
    if (rc == CS_EOF)
        rc = CS_OK;
    CS_TRY(rc);
    cs_labelled_report(&l);
    if (d->n == 0)
        rc = cs_fail(CS_EFORMAT, "the input has no labelled record");
out:
    cs_labelled_close(&l);
    return rc;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Number of classes from which the head tree is recommended. */
enum { MANY_CLASSES = 1000 };

/* A note only: the table may cover more than this training. */
static void warn_unmet(const cs_labels *table, const char *path)
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
    warn_unmet(cs_labelled_table(l), l->args->labels);
    warn_unmet(l->split, l->args->split);
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

static void warn_untrained(const cs_labelled *l, const cs_dataset *d)
{
    int32_t first;
    const int32_t n = cs_dataset_lacks(d, CS_PART_TRAIN, l->classes.n, &first);

    if (n > 0)
        cs_warn("%d of %d classes have no training record; first: '%s'", (int)n,
                l->classes.n, l->classes.name[first]);
}

/* Why the first of them has none, and the remedy. */
static int warn_unvalidated(const cs_labelled *l, const cs_dataset *d)
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
        warn_untrained(l, d);
    if (d->is_class && wants_valid)
        CS_TRY(warn_unvalidated(l, d));
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

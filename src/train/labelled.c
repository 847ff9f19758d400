/* labelled.c - read labelled sequences for training and evaluation. */
#include "io/taxa_lineage.h"
#include "train/labelled_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/suggest.h"
#include "infer/taxa.h"
#include "io/taxonomy.h"

enum { MAX_VALUE = 64 };

const cs_opt cs_label_table[] = {
    { .type = CS_OPT_GROUP, .name = "Labels" },
    { .type = CS_OPT_IN, .name = "labels", .off = offsetof(cs_label_args, labels), .arg = "TSV",
      .help = "table of record names and classes or values, TSV or CSV",
      .man = "One row per record; lines that begin with '#' are skipped. A table whose first row "
             "has no tab is CSV, with commas or semicolons, as are those of other label options. "
             "With a regression head, "
             "every further column is a value to predict; a record with an unknown one (NA, NaN, "
             "'.' or empty) has no label. If the first line has no value, it names the columns, "
             "and the model's values get these names, by which 'eval' finds several values. With "
             "head multilabel, the first line names the columns, and each column after the first "
             "is a label: 1, 0, or unknown." },
    { .type = CS_OPT_STR, .name = "label-key", .off = offsetof(cs_label_args, key), .arg = "KEY",
      .help = "the label follows 'KEY=' in the record's header line",
      .man = "It ends at the next blank." },
    { .type = CS_OPT_INS, .name = "class", .off = offsetof(cs_label_args, class_file),
      .arg = "CLASS=FILE", .help = "class of all records of this file",
      .man = "May be given several times, also with several files per class. No other input is "
             "read. --label-map also applies to CLASS." },
    { .type = CS_OPT_IN, .name = "label-map", .off = offsetof(cs_label_args, map), .arg = "TSV",
      .help = "table of labels in the input and classes to use",
      .man = "Labels without a row keep their name; records of the class '-' are omitted." },
    { .type = CS_OPT_IN, .name = "intervals", .off = offsetof(cs_label_args, intervals),
      .arg = "BED", .help = "table of intervals: record, start, end, class",
      .man = "For --head token. As in BED, starts count from 0, and ends are excluded. Lines can "
             "be in any order; intervals of different classes must not overlap. The class '-' "
             "excludes an interval from training." },
    { .type = CS_OPT_STR, .name = "background", .off = offsetof(cs_label_args, background),
      .arg = "CLASS", .help = "class of all bases outside the intervals",
      .man = "By default, these bases are excluded from training and evaluation." },
    { .type = CS_OPT_FLAG, .name = "skip-unlabelled",
      .off = offsetof(cs_label_args, skip_unlabelled),
      .help = "skip records without a label instead of failing" },
    { .type = CS_OPT_IN, .name = "split", .off = offsetof(cs_label_args, split), .arg = "TSV",
      .help = "table of record names, parts (train, valid or skip) and optional groups",
      .man = "Groups are for --group-balance." },
    { .type = CS_OPT_STR, .name = "split-by", .off = offsetof(cs_label_args, split_by),
      .arg = "KEY", .help = "keep records with the same 'KEY=' in their header on one side of the "
                            "split",
      .man = "For example organism: with relatives in training, validation would be too "
             "optimistic. KEY:N uses the first N parts of a lineage separated by ';'; a rank of "
             "--lineage uses the label down to that rank. A record without KEY, or with the value "
             "'unknown', is grouped by its name; pieces NAME:FROM-TO of one NAME stay together." },
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
    if ((a->class_file.n > 0 || a->map != NULL) && !is_class)
        return cs_fail(CS_EUSAGE, "--%s is for classes, but the head predicts values",
                       a->class_file.n > 0 ? "class" : "label-map");
    /* Series files have targets of their own, detected at the first record. */
    return CS_OK;
}

bool cs_labelled_given(const cs_label_args *a, const cs_input_args *input)
{
    return input->file.n + input->list.n + a->class_file.n > 0;
}

int cs_labelled_optional(const cs_label_args *a, const cs_input_args *input, bool *given)
{
    *given = cs_labelled_given(a, input);
    if (!*given && (a->labels != NULL || a->key != NULL))
        return cs_fail(CS_EUSAGE, "--%s needs sequences; give them with -i",
                       a->labels != NULL ? "labels" : "label-key");
    return CS_OK;
}

const char *cs_labelled_once(const cs_label_args *a, const cs_input_args *input)
{
    const char *const table[] = { a->labels, a->map, a->split, a->intervals };
    const char *once = cs_args_once(input->file.v, input->file.n);

    if (!cs_labelled_given(a, input))
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

/* The number of a class, which may be added. */
static int number_class(cs_labelled *l, const char *label, int *no)
{
    if (l->adds)
        return cs_classes_add(&l->classes, label, no);
    *no = cs_classes_find(&l->classes, label);
    if (*no >= 0)
        return CS_OK;
    cs_suggest suggest = cs_suggest_begin(label);
    for (int i = 0; i < l->classes.n; i++)
        cs_suggest_try(&suggest, l->classes.name[i]);
    return cs_fail(CS_EFORMAT, "label '%s' is not a class of the model; %s--label-map can map it "
                   "to a class, which 'chordseq model show' lists", label,
                   cs_suggest_hint(&suggest));
}

int cs_labelled_mapped(cs_labelled *l, const char *label, int *no)
{
    char tidy[CS_LABEL_BYTES];
    const char *mapped = l->map != NULL ? cs_labels_find(l->map, label, 0) : NULL;

    cs_labels_mark(l->map, label);
    *no = CS_LABEL_OMITTED;
    if (mapped != NULL && strcmp(mapped, "-") == 0)
        return CS_OK;
    label = mapped != NULL ? mapped : label;
    if (l->lineages && strlen(label) >= sizeof tidy)
        return cs_fail(CS_EFORMAT, "the lineage '%.60s...' has %zu bytes; at most %d are "
                       "supported", label, strlen(label), CS_LABEL_BYTES - 1);
    if (l->lineages) {
        (void)snprintf(tidy, sizeof tidy, "%s", label);
        cs_lineage_tidy(tidy, l->n_rank);
        label = tidy;
    }
    *no = CS_LABEL_EMPTY;
    return *label != '\0' ? number_class(l, label, no) : CS_OK;
}

/* CLASS=FILE: add the file to the inputs and store its class. */
static int add_class_files(cs_labelled *l, cs_input_args *input)
{
    int rc = CS_OK;
    const cs_strlist *list = &l->args->class_file;
    char name[CS_LABEL_BYTES];

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
        CS_TRY(cs_labelled_mapped(l, name, &l->file_class[i]));
        if (l->file_class[i] == CS_LABEL_EMPTY)
            return cs_fail(CS_EUSAGE, "--class '%s': the %s", list->v[i], l->lineages
                           ? "lineage has no named part" : "class of --label-map has no name");
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
        CS_TRY(number_class(l, a->background, &l->background));
    CS_TRY(cs_intervals_open(a->intervals, &l->classes, l->fixed, &l->interval));
    if (!l->fixed && l->classes.n < 2)
        rc = cs_fail(CS_EFORMAT, "'%s' has fewer than two classes; --background can add one",
                     a->intervals);
out:
    return rc;
}

/* A file is read once for each time that it is given, but has one class. */
static int check_repeats(const cs_labelled *l, const cs_strlist *file)
{
    int rc = CS_OK;

    if (l->file_class == NULL)
        return CS_OK;
    int *same = cs_args_repeats(file);
    for (int i = 0; i < file->n && rc == CS_OK; i++)
        if (same[i] >= 0 && l->file_class[i] != l->file_class[same[i]])
            rc = cs_fail(CS_EUSAGE, "--class gives '%s' two classes", file->v[i]);
    free(same);
    return rc;
}

const char *cs_labelled_value(const cs_labelled *l, int i)
{
    const bool named = l->table != NULL && !l->is_class && cs_labels_line(l->table, NULL) > 0;

    return named ? cs_labels_name(l->table, i) : NULL;
}

/* The column of a value's name, before column `end`; -1: none. */
static int find_column(const cs_labelled *l, const char *name, int end)
{
    for (int i = 0; i < end; i++)
        if (strcmp(cs_labelled_value(l, i), name) == 0)
            return i;
    return -1;
}

/* Each value is a column of outputs, beside the columns `others`. */
static int check_value_name(const cs_labelled *l, int i)
{
    static const char *const others[] = { "name", "length", "reason" };
    const char *name = cs_labelled_value(l, i), *table = l->args->labels;
    const long long line = (long long)cs_labels_line(l->table, NULL);
    const int same = find_column(l, name, i);

    if (same >= 0)
        return cs_fail(CS_EFORMAT, "'%s' line %lld: columns %d and %d are both named '%.60s'",
                       table, line, same + 2, i + 2, name);
    if (!cs_name_is_plain(name))
        return cs_fail(CS_EFORMAT, "'%s' line %lld: the name of column %d has a control character",
                       table, line, i + 2);
    for (size_t k = 0; !l->fixed && k < sizeof others / sizeof *others; k++)
        if (strcmp(name, others[k]) == 0)
            return cs_fail(CS_EFORMAT, "'%s' line %lld: a value cannot be named '%s', as another "
                           "column of outputs is; rename it", table, line, name);
    return CS_OK;
}

static int open_values(cs_labelled *l)
{
    int rc = CS_OK;

    CS_TRY(cs_labels_open_values(l->args->labels, &l->table));
    for (int i = 0; i < cs_labels_columns(l->table) && cs_labelled_value(l, i) != NULL; i++)
        CS_TRY(check_value_name(l, i));
out:
    return rc;
}

/* Finds the columns of a model's values by name, if both model and table have names. */
static int match_columns(cs_labelled *l, const cs_model *m)
{
    const int n = l->table != NULL ? cs_labels_columns(l->table) : 0;

    if (n < 2 || n != m->n_label || cs_labelled_value(l, 0) == NULL ||
        strcmp(m->label[0].name, CS_UNNAMED_VALUE "1") == 0)
        return CS_OK;
    l->column = cs_xcalloc((size_t)n, sizeof *l->column);
    for (int i = 0; i < n; i++) {
        l->column[i] = find_column(l, m->label[i].name, n);
        if (l->column[i] < 0)
            return cs_fail(CS_EFORMAT, "'%s' line %lld: no column is named '%s', as the model's "
                           "value %d; rename the column", l->args->labels,
                           (long long)cs_labels_line(l->table, NULL), m->label[i].name, i + 1);
    }
    return CS_OK;
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
        CS_TRY(l->is_class ? cs_labels_open(a->labels, &l->table) : open_values(l));
    if (a->split != NULL)
        CS_TRY(cs_labels_open(a->split, &l->split));
    if (l->multi != NULL && cs_multilabels_columns(l->multi) < l->classes.n)
        cs_warn("'%s' has no column for %d of the model's %d labels, which are not evaluated",
                a->labels, l->classes.n - cs_multilabels_columns(l->multi), l->classes.n);
    if (l->table != NULL && cs_labels_columns(l->table) > (l->is_class ? 1 : MAX_VALUE))
        rc = cs_fail(CS_EFORMAT, "'%s' has %d columns after the name, but %s", a->labels,
                     cs_labels_columns(l->table), l->is_class ? "a class needs one; remove the "
                     "others (cut -f)" : "at most 64 are supported");
out:
    return rc;
}

/* The rest of opening; `l` has its kinds of labels and the classes of a model. */
static int open_all(const cs_label_args *a, cs_input_args *input, const cs_input_opt *input_opt,
                    bool per_token, cs_labelled *l)
{
    int rc = CS_OK;
    cs_input_opt with_series = *input_opt;

    with_series.series = true;
    CS_TRY(check_intervals(a, per_token));
    if (l->is_labels)
        CS_TRY(check_multilabel(a));
    CS_TRY(check_sources(a, input, l->is_class));
    if (a->map != NULL)
        CS_TRY(cs_labels_open(a->map, &l->map));
    CS_TRY(add_class_files(l, input));
    CS_TRY(open_tables(l));
    CS_TRY(cs_args_input(input));
    CS_TRY(check_repeats(l, &input->file));
    with_series.implied = input->implied;
    rc = cs_inputs_open(input->file.v, input->file.n, &with_series, &l->in);
out:
    return rc;
}

static cs_labelled labelled_of(const cs_label_args *a, const cs_head *head, cs_alphabet alphabet)
{
    return (cs_labelled){ .args = a, .is_class = head->is_class, .is_labels = head->is_labels,
                          .cased = alphabet == CS_CASED, .min_base = 1 };
}

int cs_labelled_open(const cs_label_args *a, cs_input_args *input, const cs_input_opt *input_opt,
                     const cs_head *head, cs_labelled *l)
{
    *l = labelled_of(a, head, input_opt->alphabet);
    l->adds = true;
    l->lineages = a->lineages;
    l->n_rank = a->n_rank;
    const int rc = open_all(a, input, input_opt, head->per_token, l);
    if (rc != CS_OK)
        cs_labelled_close(l);
    return rc;
}

int cs_labelled_open_for(const cs_model *m, bool unknown, const cs_label_args *a,
                         cs_input_args *input, int n_inflate, cs_labelled *l)
{
    int rc = CS_OK, no;
    const cs_head *head = m->head;
    cs_input_opt input_opt;

    *l = labelled_of(a, head, cs_tokenizer_alphabet(m->tok, m->tok_state));
    CS_TRY(cs_args_input_opt(input, n_inflate, &input_opt));
    input_opt.alphabet = cs_tokenizer_alphabet(m->tok, m->tok_state);
    if (m->tok != NULL)
        l->min_base = m->tok->min_base(m->tok_state);
    l->fixed = true;
    for (int32_t i = 0; (l->is_class || l->is_labels) && i < m->n_label; i++)
        CS_TRY(cs_classes_add(&l->classes, m->label[i].name, &no));
    /* The family of an unknown genus may be known to the model. */
    l->n_rank = head->per_token ? 0 : cs_taxa_depth(m);
    l->lineages = l->n_rank > 0;
    l->adds = unknown && l->lineages;
    CS_TRY(open_all(a, input, &input_opt, head->per_token, l));
    rc = match_columns(l, m);
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
    CS_FREE(l->file_class, l->column);
    *l = (cs_labelled){ 0 };
}

/* ---- reading -------------------------------------------------------------------------------- */

cs_labels *cs_labelled_table(const cs_labelled *l)
{
    return l->multi != NULL ? cs_multilabels_table(l->multi) : l->table;
}

int cs_labelled_read(cs_labelled *l, cs_dataset *d, int64_t max_base)
{
    int rc = CS_OK;

    while (rc == CS_OK && d->n_base < max_base) {
        if (l->chunk != NULL && cs_chunk_full(l->chunk)) {
            cs_chunk_free(l->chunk);
            l->chunk = NULL;
        }
        if (l->chunk == NULL && cs_signal_caught() != 0)
            return CS_ECANCEL;
        if (l->chunk == NULL && (l->chunk = cs_chunk_new(0)) == NULL)
            return cs_fail(CS_EMEM, "out of memory for a chunk of the input");
        CS_TRY(cs_inputs_next(l->in, l->chunk));
        CS_TRY(cs_labelled_add(l, d, &l->chunk->rec[l->chunk->n - 1]));
    }
out:
    return rc;
}

int cs_labelled_check_model(const cs_dataset *d, const cs_model *m)
{
    if (d->n_channel != m->n_channel)
        return cs_fail(CS_EMODEL, "the input has %s, but the model takes %s",
                       d->n_channel > 0 ? "real values" : "bases",
                       m->n_channel > 0 ? "real values with the number of channels it was "
                                          "trained on"
                                        : "bases");
    if (!m->head->is_class && d->n_target != m->n_label)
        return cs_fail(CS_EMODEL, "the input has %d target values, but the model predicts %d",
                       (int)d->n_target, (int)m->n_label);
    return CS_OK;
}

int cs_labelled_read_all(const cs_label_args *a, cs_input_args *input, const cs_model *m,
                         cs_dataset *d)
{
    int rc = CS_OK;
    cs_labelled l = { 0 };

    CS_TRY(cs_labelled_open_for(m, false, a, input, 0, &l));
    rc = cs_labelled_read(&l, d, INT64_MAX);
    if (rc == CS_EOF)
        rc = CS_OK;
    CS_TRY(rc);
    cs_labelled_report(&l);
    if (d->n == 0)
        rc = cs_fail(CS_EFORMAT, "the input has no labelled record");
    else
        rc = cs_labelled_check_model(d, m);
out:
    cs_labelled_close(&l);
    return rc;
}

/* labelled.h - read labelled sequences for training and evaluation. */
#ifndef CS_TRAIN_LABELLED_H
#define CS_TRAIN_LABELLED_H

#include "infer/input_args.h"
#include "io/intervals.h"
#include "io/multilabels.h"
#include "nn/exec/model.h"
#include "train/dataset.h"

typedef struct cs_label_args {
    const char *labels, *key, *map, *split_by, *split, *intervals, *background;
    cs_strlist  class_file;
    int         skip_unlabelled;
    /* Not options: set by a command without a model so far. As in cs_labelled */
    bool        lineages;
    int         n_rank;
    const char *ranks;           /* of --lineage, or NULL */
} cs_label_args;

#define CS_UNNAMED_VALUE "value"    /* default name of a value; of several, with its number */

extern const cs_opt cs_label_table[];      /* --labels, --label-key, --class, --label-map, ... */

/* Inputs with the tables that label them. */
typedef struct cs_labelled {
    const cs_label_args *args;
    cs_inputs  *in;
    cs_chunk   *chunk;
    cs_labels  *table, *map, *split;
    cs_classes  classes;         /* extended in input order */
    bool        fixed;           /* `classes` began with those of a model */
    bool        adds;            /* a label that is not in `classes` is added; else an error */
    bool        lineages;        /* labels are lineages of at most n_rank parts (0: any) */
    int         n_rank;
    bool        is_class;        /* else values, or */
    bool        cased;           /* bases keep their case */
    bool        is_labels;       /* 0, 1 or NaN for each of `classes` */
    int        *column;          /* of the table, by value of a model; NULL: in the table's order */
    cs_multilabels *multi;       /* table of these from --labels, or NULL */
    cs_intervals *interval;      /* labelled intervals instead, or NULL */
    int         background;      /* class of bases outside of them, or -1 */
    int64_t     n_named;         /* records with intervals */
    int64_t     min_base;        /* minimum length; shorter records are skipped */
    int        *file_class;      /* [n files] of --class, -1: omitted; or NULL */
    int         n_own;           /* classes of a series' own targets so far */
    int64_t     n_read, n_ungrouped, n_unlabelled, n_short, n_masked, n_cut;
    int64_t     n_unknown;       /* records of N only */
    char        first_short[64], first_cut[192], first_unknown[64];
} cs_labelled;

/** cs_labelled_once - the name of an input or table that can be read only once, or NULL; "-",
 * standard input, without named inputs */
const char *cs_labelled_once(const cs_label_args *a, const cs_input_args *input);

/** cs_labelled_given - are there sequences: inputs, their lists, or files of --class? */
bool cs_labelled_given(const cs_label_args *a, const cs_input_args *input);
/** cs_labelled_optional - the same where sequences are optional. CS_OK; CS_EUSAGE for a source of
 * labels without them */
int cs_labelled_optional(const cs_label_args *a, const cs_input_args *input, bool *given)
    CS_MUST_CHECK;

/**
 * cs_labelled_open - check the options and open tables and inputs; classes are collected
 *
 * input    files of -i; the files of --class are added to it
 * head     determines whether labels are classes or values, of records or intervals
 * Returns  CS_OK; CS_EUSAGE without exactly one source of labels; errors of opening
 */
int cs_labelled_open(const cs_label_args *a, cs_input_args *input, const cs_input_opt *input_opt,
                     const cs_head *head, cs_labelled *l) CS_MUST_CHECK;

/**
 * cs_labelled_open_for - the same for a model: its classes, its alphabet, and its minimum length.
 * Columns of a table of several values are found by their names, if model and table have some
 *
 * unknown    of a model whose classes are lineages: are other lineages added after its classes?
 *            Their numbers are n_label and above
 * n_inflate  threads that decompress
 */
int cs_labelled_open_for(const cs_model *m, bool unknown, const cs_label_args *a,
                         cs_input_args *input, int n_inflate, cs_labelled *l) CS_MUST_CHECK;

/** cs_labelled_value - the name of value `i` in the header of its table, or NULL */
const char *cs_labelled_value(const cs_labelled *l, int i);

/**
 * cs_labelled_read - add records to a dataset until it holds max_base bases or the input ends
 *
 * d        zero before the first call; initialised by the first record
 * Returns  CS_OK; CS_EOF at the end of the input (records may have been added); CS_EFORMAT for a
 *          record with a missing or invalid label; CS_ECANCEL after a signal; reading errors
 */
int cs_labelled_read(cs_labelled *l, cs_dataset *d, int64_t max_base) CS_MUST_CHECK;

/** cs_labelled_check_model - CS_OK; CS_EMODEL if the model takes bases and d has real values, or
 * the reverse, or if d has other numbers of channels or of values to predict */
int cs_labelled_check_model(const cs_dataset *d, const cs_model *m) CS_MUST_CHECK;

/** cs_labelled_read_all - open for a model, read all records, and close. d: zero, as above; every
 * class_no is below m->n_label. Returns their errors, those of cs_labelled_check_model(), and
 * CS_EFORMAT without a record */
int cs_labelled_read_all(const cs_label_args *a, cs_input_args *input, const cs_model *m,
                         cs_dataset *d) CS_MUST_CHECK;

/** cs_labelled_table - the table of --labels; NULL without */
cs_labels *cs_labelled_table(const cs_labelled *l);

/** cs_labelled_report - warnings about omitted records */
void cs_labelled_report(const cs_labelled *l);
/** cs_labelled_advise_tree - a note if a thousand classes or more are lineages under a flat head */
void cs_labelled_advise_tree(const cs_labelled *l);
/** cs_labelled_check_split - warnings about classes without a record in a part of d, with the
 * reason, about labels without a value in training, about classes that are values or spellings of
 * one class, and about sequences in two classes or in both parts; CS_EUSAGE if no record has the
 * key of --split-by, or if that leaves no validation record; CS_EMEM */
int cs_labelled_check_split(const cs_labelled *l, const cs_dataset *d, bool wants_valid)
    CS_MUST_CHECK;
void cs_labelled_close(cs_labelled *l);

#endif

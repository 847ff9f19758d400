/* labelled.h - sequences with what is known about them: for the commands that learn and
 * evaluate. */
#ifndef CS_TRAIN_LABELLED_H
#define CS_TRAIN_LABELLED_H

#include "infer/args.h"
#include "io/intervals.h"
#include "io/multilabels.h"
#include "train/dataset.h"

typedef struct cs_label_args {
    const char *labels, *key, *map, *split_by, *split, *intervals, *background;
    cs_strlist  class_file;
    int         skip_unlabelled;
    /* No options: set by a command that has no model yet. As in cs_labelled */
    bool        lineages;
    int         n_rank;
    const char *ranks;           /* of --lineage, or NULL */
} cs_label_args;

extern const cs_opt cs_label_table[];      /* --labels, --label-key, --class, --label-map, ... */

/* Inputs with the tables that label them. */
typedef struct cs_labelled {
    const cs_label_args *args;
    cs_inputs  *in;
    cs_chunk   *chunk;
    cs_labels  *table, *map, *split;
    cs_classes  classes;         /* grows in the order met, unless `fixed` */
    bool        fixed;           /* a label that is not in `classes` is an error, but for */
    bool        lineages;        /* labels that are lineages, of n_rank parts at most (0: any):
                                  * those are added behind a model's classes */
    int         n_rank;
    bool        is_class;        /* else values, or */
    bool        is_labels;       /* 0, 1 or NaN for each of `classes` */
    cs_multilabels *multi;       /* where these come from --labels, or NULL */
    cs_intervals *interval;      /* classes of stretches instead, or NULL */
    int         background;      /* class of what lies between them, or -1 */
    int64_t     n_named;         /* records with intervals */
    int64_t     min_base;        /* shorter records are left out */
    int        *file_class;      /* [n files] of --class, or NULL */
    int64_t     n_read, n_ungrouped, n_unlabelled, n_short, n_skipped, n_masked;
    char        first_short[64];
} cs_labelled;

/** cs_labelled_once - what of inputs and tables can be read only once, by name, or NULL; "-",
 * standard input, where no input is named */
const char *cs_labelled_once(const cs_label_args *a, const cs_input_args *input);

/**
 * cs_labelled_open - check the options and open tables and inputs
 *
 * input    files of -i; with --class those files are added to it
 * model    NULL: classes are collected; else its labels are the only ones
 * head     says whether labels are classes or values, of records or of stretches
 * Returns  CS_OK; CS_EUSAGE when not exactly one source of labels is given; what opening gives
 */
int cs_labelled_open(const cs_label_args *a, cs_input_args *input, const cs_input_opt *how,
                     const cs_model *model, const cs_head *head, cs_labelled *l) CS_MUST_CHECK;

/**
 * cs_labelled_read - add records to a dataset until it holds max_base bases or the input ends
 *
 * d        zero before the first call; initialised by the first record
 * Returns  CS_OK; CS_EOF when the input has ended (records may have been added); CS_EFORMAT for a
 *          record without a label or with one that does not fit; what reading gives
 */
int cs_labelled_read(cs_labelled *l, cs_dataset *d, int64_t max_base) CS_MUST_CHECK;

/** cs_labelled_read_all - open, read all that a model tells the classes of, and close. d: zero, as
 * above. Returns what those give; CS_EFORMAT without a record */
int cs_labelled_read_all(const cs_label_args *a, cs_input_args *input, const cs_model *m,
                         cs_dataset *d) CS_MUST_CHECK;

/** cs_labelled_table - whose rows are records that have labels, of --labels; NULL without */
cs_labels *cs_labelled_table(const cs_labelled *l);

/** cs_labelled_report - warnings about what was left out */
void cs_labelled_report(const cs_labelled *l);
/** cs_labelled_advise_tree - a note where a thousand classes or more are lineages, and flat */
void cs_labelled_advise_tree(const cs_labelled *l);
/** cs_labelled_check_split - warnings about classes without a record in a part of d, and why, and
 * about sequences that are in both; CS_EUSAGE when no record has the key of --split-by; CS_EMEM */
int cs_labelled_check_split(const cs_labelled *l, const cs_dataset *d, bool wants_valid)
    CS_MUST_CHECK;
void cs_labelled_close(cs_labelled *l);

#endif

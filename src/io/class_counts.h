/* class_counts.h - counts of records and bases per class and clade, for reports. */
#ifndef CS_IO_CLASS_COUNTS_H
#define CS_IO_CLASS_COUNTS_H

#include "io/writer.h"

typedef struct cs_count { uint64_t n_record, n_base; } cs_count;

enum { CS_PROB_BINS = 20 };

/* Its size depends on the model, not on the input. */
typedef struct cs_class_counts {
    cs_count  all, unclassified;
    cs_count  reason[CS_N_REASON];
    cs_count *of_class;          /* [n_label] called so */
    cs_count *direct, *clade;    /* [nodes] called so; the same with descendants. NULL: no tree */
    uint64_t  prob[2][CS_PROB_BINS];  /* called, not called: twentieths of cs_prediction_prob() */
    int       n_label, n_node;
} cs_class_counts;

/** cs_prob_bin - bin of a probability, one of twenty; 1 is in the last, NaN in the first */
int  cs_prob_bin(double p);

/** cs_class_counts_new - for the classes (or values) of an output; CS_EMEM */
int  cs_class_counts_new(const cs_output_info *info, cs_class_counts **out) CS_MUST_CHECK;
/** cs_class_counts_add - add one record; with values, a record with a prediction has no class */
void cs_class_counts_add(cs_class_counts *t, const cs_output_info *info, const cs_record *r,
                         const cs_prediction *a);
/** cs_class_counts_few_calls - a message if half of the records or more have probabilities but no
 * call; false: fewer */
bool cs_class_counts_few_calls(const cs_class_counts *t, char *buf, size_t n_buf);

/** cs_class_counts_sum - fill clade, after the last record */
void cs_class_counts_sum(cs_class_counts *t, const cs_taxonomy *tree);
/** cs_class_counts_merge - add the counts of `from`, except clades; both have the same classes */
void cs_class_counts_merge(cs_class_counts *to, const cs_class_counts *from);
void cs_class_counts_free(cs_class_counts *t);

/* For writers with class counts as their only state: begin, record and release. */
int  cs_class_counts_begin(cs_output *o) CS_MUST_CHECK;
int  cs_class_counts_record(cs_output *o, const cs_record *r, const cs_prediction *a) CS_MUST_CHECK;
void cs_class_counts_release(cs_output *o);

/** cs_class_counts_save, cs_class_counts_restore - the same writers' save and restore */
json_t *cs_class_counts_save(const cs_output *o);
int     cs_class_counts_restore(cs_output *o, const json_t *state);

/** cs_class_counts_json, cs_class_counts_read - class counts without clades, which follow from the
 * rest */
json_t *cs_class_counts_json(const cs_class_counts *t);
bool    cs_class_counts_read(cs_class_counts *t, const json_t *j) CS_MUST_CHECK;

/* The members of a cs_writer that reports counts per class at the end. */
#define CS_CLASS_COUNTS_WRITER \
    .begin = cs_class_counts_begin, .record = cs_class_counts_record, \
    .release = cs_class_counts_release, .resumes = true, .save = cs_class_counts_save, \
    .restore = cs_class_counts_restore

#endif

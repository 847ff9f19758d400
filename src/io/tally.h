/* tally.h - how many records and bases each class got, and each clade: what reports are made of. */
#ifndef CS_IO_TALLY_H
#define CS_IO_TALLY_H

#include "io/writer.h"

typedef struct cs_count { uint64_t n_record, n_base; } cs_count;

enum { CS_PROB_BINS = 20 };

/* Its size depends on the model, not on the input. */
typedef struct cs_tally {
    cs_count  all, unclassified;
    cs_count  reason[CS_N_REASON];
    cs_count *of_class;          /* [n_label] called so */
    cs_count *direct, *clade;    /* [nodes] called so; the same with all below. NULL: no tree */
    uint64_t  prob[2][CS_PROB_BINS];  /* called, not called: twentieths of cs_answer_prob() */
    int       n_label, n_node;
} cs_tally;

/** cs_prob_bin - which twentieth a probability falls in; 1 is of the last */
int  cs_prob_bin(double p);

/** cs_tally_new - for the classes (or values) of an output; CS_EMEM */
int  cs_tally_new(const cs_output_info *info, cs_tally **out) CS_MUST_CHECK;
/** cs_tally_add - one record more; with values, a record with an answer is of no class */
void cs_tally_add(cs_tally *t, const cs_output_info *info, const cs_record *r, const cs_answer *a);
/** cs_tally_sum - fill clade, after the last record */
void cs_tally_sum(cs_tally *t, const cs_taxonomy *tree);
/** cs_tally_merge - what `from` counted as well, but for clades; both are for the same classes */
void cs_tally_merge(cs_tally *to, const cs_tally *from);
void cs_tally_free(cs_tally *t);

/* For writers whose state is a tally and nothing else: begin, record and release. */
int  cs_tally_begin(cs_output *o) CS_MUST_CHECK;
int  cs_tally_record(cs_output *o, const cs_record *r, const cs_answer *a) CS_MUST_CHECK;
void cs_tally_release(cs_output *o);

/** cs_tally_save, cs_tally_restore - the same writers' save and restore */
json_t *cs_tally_save(const cs_output *o);
bool    cs_tally_restore(cs_output *o, const json_t *state);

/** cs_counts_save - n counts as a JSON array. cs_counts_restore - back; false: it is none of n */
json_t *cs_counts_save(const uint64_t *v, size_t n);
bool    cs_counts_restore(const json_t *a, uint64_t *v, size_t n) CS_MUST_CHECK;
/** cs_tally_json, cs_tally_read - a tally but for its clades, which follow from the rest */
json_t *cs_tally_json(const cs_tally *t);
bool    cs_tally_read(cs_tally *t, const json_t *j) CS_MUST_CHECK;

#endif

/* dataset.h - labelled sequences in memory, and their split.
 *
 * DESIGN. Sequences stay in memory as one byte per base (or n_channel floats per position) in one
 * arena; crops are views (sampler.h). Tokens are made per batch: they take four times the memory of
 * bases and cost little compared with the network.
 */
#ifndef CS_TRAIN_DATASET_H
#define CS_TRAIN_DATASET_H

#include <stdbool.h>

#include "batch/batch.h"
#include "io/record.h"
#include "train/mutate.h"

typedef enum cs_part { CS_PART_TRAIN, CS_PART_VALID, CS_PART_SKIP } cs_part;

extern const char *const cs_part_names[];      /* by cs_part, in tables of --split */
#define CS_NO_GROUP "unknown"    /* there and for --split-by: a record without a group */

/** cs_part_of - the part that a table of --split calls train, valid or skip; else false */
bool cs_part_of(const char *name, cs_part *part);

typedef struct cs_example {
    const char  *name;
    const char  *base;           /* [n_base], or NULL when x is given */
    const float *x;              /* [n_base * n_channel] or NULL */
    const float *target;         /* [n_target], or NULL with CS_TARGET_TOKENS: then */
    const cs_span *span;         /* [n_span] labelled intervals: sorted, not overlapping */
    int64_t      n_span;
    int64_t      n_base;
    const char  *group_name;     /* as given; NULL: the group is the record's name */
    uint64_t     group;          /* hash of the group's name */
    int32_t      class_no;       /* of the whole example; 0 if none */
    cs_part      part;
} cs_example;

typedef struct cs_dataset {
    cs_example *ex;
    int64_t     n;
    size_t      cap;
    bool        is_class;        /* target[0] is a class number */
    int32_t     n_class;         /* one more than the largest class_no so far */
    int32_t     n_target, n_channel;
    int32_t     background;      /* class of bases outside of spans; negative: masked */
    int32_t     n_part;          /* 2: bases are two sequences of one length, in sequence */
    int64_t     n_base;
    uint64_t    hash;            /* hash of all contents, in order */
    cs_arena   *mem;
} cs_dataset;

/** cs_dataset_init - an empty set; n_channel 0: bases */
void cs_dataset_init(cs_dataset *d, bool is_class, int32_t n_target, int32_t n_channel);
/** cs_dataset_clear - remove the examples, keep the settings */
void cs_dataset_clear(cs_dataset *d);
void cs_dataset_release(cs_dataset *d);

/**
 * cs_dataset_add - append a copy of a record (its first segment), in CS_PART_TRAIN
 *
 * target   [n_target] a class number, or values
 * group    records of one group are never on both sides of a split; NULL, "" or "unknown": the
 *          record's name, or NAME of NAME:FROM-TO with two numbers, so pieces of one sequence stay
 *          together
 * Returns  CS_OK, or CS_EMEM
 */
int cs_dataset_add(cs_dataset *d, const cs_record *r, const float *target, const char *group)
    CS_MUST_CHECK;

/** cs_dataset_add_spans - the same with labelled intervals instead of a target (of a dataset with
 * CS_TARGET_TOKENS); span [n_span], sorted, not overlapping, within the record */
int cs_dataset_add_spans(cs_dataset *d, const cs_record *r, const cs_span *span, int64_t n_span,
                         const char *group) CS_MUST_CHECK;

/** cs_dataset_count_bases - bases of every class in a part's spans, background included; n
 * [n_class] */
void cs_dataset_count_bases(const cs_dataset *d, cs_part part, int32_t n_class, int64_t *n);

/** cs_dataset_hash - hash of the records, their groups and parts */
uint64_t cs_dataset_hash(const cs_dataset *d);

/**
 * cs_dataset_split - hold out part of every class for validation, in whole groups
 *
 * Groups are visited in an order given by the seed and their names. One is held out if that brings
 * the classes' shares of bases (as |share - frac|, summed over classes) closer to frac.
 *
 * frac     0 .. 1; 0 leaves all in CS_PART_TRAIN. Skipped examples are unchanged
 */
int cs_dataset_split(cs_dataset *d, double frac, uint64_t seed) CS_MUST_CHECK;

/** cs_dataset_count - examples and bases of a class (-1: all) in a part */
void cs_dataset_count(const cs_dataset *d, cs_part part, int32_t class_no, int64_t *n,
                      int64_t *n_base);

/** cs_dataset_count_missing - classes, of n_class, without an example in a part; *first receives
 * the first of them, if any */
int32_t cs_dataset_count_missing(const cs_dataset *d, cs_part part, int32_t n_class,
                                 int32_t *first);
/** cs_dataset_count_groups - groups of a class (-1: of all), without skipped examples; CS_OK or
 * CS_EMEM */
int cs_dataset_count_groups(const cs_dataset *d, int32_t class_no, int64_t *n) CS_MUST_CHECK;
/** cs_dataset_count_leaks - validation examples with the same sequence as a training example; CS_OK
 * or CS_EMEM */
int cs_dataset_count_leaks(const cs_dataset *d, int64_t *n) CS_MUST_CHECK;
/** cs_dataset_count_conflicts - examples, without skipped ones, with the same sequence as an
 * example of another class; pair [2] receives the first two of one sequence, in input order, if
 * any. CS_OK or CS_EMEM */
int cs_dataset_count_conflicts(const cs_dataset *d, int64_t *n, int64_t *pair) CS_MUST_CHECK;

/* A piece of an example: bases from `start`, or positions of real values. */
typedef struct cs_sample {
    int64_t example, start, n_base;
    bool    reverse;
    cs_mutation mutation;
} cs_sample;

/** cs_dataset_cut - k random crops of `len` bases of an example that do not overlap, in order
 *
 * out      [k]; k * len must not exceed the example's length
 */
void cs_dataset_cut(const cs_dataset *d, int64_t example, int64_t len, int64_t k, uint64_t seed,
                    cs_sample *out);

#endif

/* batch.h - tokens packed back to back: no padding, every segment of one depth. */
#ifndef CS_BATCH_BATCH_H
#define CS_BATCH_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "io/record.h"

/* Instead of a number of values per record: one class per token. */
enum { CS_TARGET_TOKENS = -1 };

/* View i of a chunk, which gets the prediction. In training the chunk is NULL, and i is the number
 * of bases of the record, for metrics by length. */
typedef struct cs_slot { cs_chunk *chunk; int32_t i; } cs_slot;

typedef struct cs_batch {
    int32_t  *tok;                   /* [n_tok] segments back to back; NULL when inputs are real */
    const int64_t *count;            /* [vocabulary] occurrences of each token of its only segment,
                                      * instead of tok; not owned. Or NULL */
    int64_t  *off;                   /* [n_seg + 1] segment s is rows off[s] .. off[s+1]-1 */
    cs_slot  *slot;                  /* [n_rec] */
    float    *x;                     /* [n_tok * n_channel] when inputs are real, else NULL */
    float    *target;                /* [n_rec * n_target] or NULL; NaN entries are masked */
    int32_t  *label;                 /* [n_tok] classes, with CS_TARGET_TOKENS, else NULL; negative
                                      * ones are masked */
    int64_t   n_tok;
    int32_t   n_seg, n_rec;          /* n_seg = n_rec * segments per record */
    int32_t   depth;                 /* ceil(log2(n tokens)), the same for every segment */
    int32_t   n_channel, n_target;   /* widths of x and target rows; 0 when absent, or
                                      * CS_TARGET_TOKENS */
    uint64_t  oldest;                /* number of the oldest chunk in it */
    int64_t   cap_tok;               /* space, in tokens */
    int32_t   cap_seg, cap_rec;      /* space; the arrays grow as needed */
} cs_batch;

/** cs_depth - ceil(log2(n)) for n >= 1; 0 for n <= 1. Exact for every int64_t */
int32_t cs_depth(int64_t n);

/** cs_batch_takes - the rule of batches, for inference and training: may a record of n tokens join
 * the n_tok ones of a batch? All have one depth, and together they keep to the budget; a longer
 * record is a batch of its own */
bool cs_batch_takes(int32_t depth, int64_t n_tok, int64_t n, int64_t budget);

/** cs_batch_new - empty; memory grows with appended records. Never NULL */
cs_batch *cs_batch_new(int32_t n_channel, int32_t n_target);
/** cs_batch_reserve - space for `n` tokens in all; CS_EMEM */
int cs_batch_reserve(cs_batch *b, int64_t n) CS_MUST_CHECK;
void cs_batch_free(cs_batch *b);
/** cs_batch_drop, cs_batch_bytes - cs_batch_free() and the memory held, as queues want them */
void cs_batch_drop(void *batch);
size_t cs_batch_bytes(const void *batch);
/** cs_batch_reset - empty it, keep its memory */
void cs_batch_reset(cs_batch *b);

/**
 * cs_batch_append - append a copy of one record's tokens (or real values)
 *
 * tok      [n] ids, or NULL when x is given
 * x        [n * n_channel] values, or NULL
 * target   [n_target], or NULL when n_target is 0; with CS_TARGET_TOKENS use
 *          cs_batch_append_labelled()
 * Returns  CS_OK or CS_EMEM (the batch is unchanged). A depth other than the batch's is CS_BUG
 */
int cs_batch_append(cs_batch *b, const int32_t *tok, const float *x, int64_t n,
                    const float *target, cs_slot slot) CS_MUST_CHECK;
/** cs_batch_append_labelled - the same with a class per token, or a negative number to mask it;
 * label [n] */
int cs_batch_append_labelled(cs_batch *b, const int32_t *tok, const float *x, int64_t n,
                             const int32_t *label, cs_slot slot) CS_MUST_CHECK;
/** cs_batch_set_counts - fill an empty batch with one record of n tokens as counts, which must
 * outlive it (cs_batch.count). CS_OK or CS_EMEM */
int cs_batch_set_counts(cs_batch *b, const int64_t *count, int64_t n, cs_slot slot) CS_MUST_CHECK;

#endif

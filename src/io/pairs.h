/* pairs.h - join mates, from two inputs or interleaved, into one record. */
#ifndef CS_IO_PAIRS_H
#define CS_IO_PAIRS_H

#include "io/reader.h"

/* Both NULL: no pairs. second may be the same as first: mates follow each other. */
typedef struct cs_pairs {
    cs_inputs *first, *second;   /* not owned */
    uint64_t   n;                /* pairs so far */
} cs_pairs;

/**
 * cs_pairs_next - the next pair as one record of two segments, in the form of cs_stream's `next`
 *
 * Mates have one name but for a final "/1" and "/2", which the record's name has not.
 * Returns  CS_OK; CS_EOF; CS_EFORMAT where names differ or one input ends first, with file and
 *          record; what reading gives
 */
int cs_pairs_next(void *pairs, cs_chunk *c) CS_MUST_CHECK;

#endif

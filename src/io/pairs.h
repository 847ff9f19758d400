/* pairs.h - join mates, from two inputs or interleaved, into one record. */
#ifndef CS_IO_PAIRS_H
#define CS_IO_PAIRS_H

#include "io/reader.h"

/* Both NULL: no pairs. second may be the same as first: mates follow each other, and records
 * without a mate may be between them. */
typedef struct cs_pairs {
    cs_inputs *first, *second;   /* not owned */
    uint64_t   n, n_skipped;     /* pairs and single records so far; those in skipped chunks */
    cs_chunk  *lookahead;        /* one record that was read ahead, or NULL */
    cs_warning unpaired;         /* records without a mate */
} cs_pairs;

/**
 * cs_pairs_next - the next pair as one record of two segments, in the form of cs_stream's `next`
 *
 * Mates have the same name, except for a final "/1" and "/2", which the record's name lacks. Where
 * they follow each other, either may come first, and one without a mate is a record of one segment.
 * Returns  CS_OK; CS_EOF; CS_EFORMAT where names of two inputs differ or one of them ends first,
 *          with file and record; what reading gives
 */
int cs_pairs_next(void *pairs, cs_chunk *c) CS_MUST_CHECK;

/** cs_pairs_report - warn of records without a mate */
void cs_pairs_report(const cs_pairs *p);
/** cs_pairs_release - free records read ahead */
void cs_pairs_release(cs_pairs *p);

#endif

/* likeness.h - similarity of a sequence's 6-mers to those of real DNA of any organism. */
#ifndef CS_TOK_LIKENESS_H
#define CS_TOK_LIKENESS_H

#include "io/record.h"

/* A 6-mer and its reverse complement are one word. */
enum { CS_LIKENESS_K = 6, CS_LIKENESS_WORDS = 2080 };

typedef struct cs_likeness {
    double repetition;           /* share of pairs of equal 6-mers, 0 to 1 */
    /* Excess of a word over its expectation from the sequence's 3-mers: (n - e) / sqrt((e + 1)
     * bases). In shuffled sequences it is noise, in real ones it reflects codons. */
    double contrast[CS_LIKENESS_WORDS];
} cs_likeness;

/**
 * cs_likeness_of - of all segments of a record together
 *
 * The same to the last bit for the reverse complement. 6-mers with letters other than A, C, G and T
 * are skipped; if none remain, all is 0.
 *
 * Thread   any
 */
void cs_likeness_of(const cs_record *r, cs_likeness *out);

/** cs_likeness_score - sum of contrast times weight; weight [CS_LIKENESS_WORDS] */
double cs_likeness_score(const cs_likeness *x, const int16_t *weight);

#endif

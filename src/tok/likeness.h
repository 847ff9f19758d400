/* likeness.h - how far a sequence's 6-mers are those of real DNA, whatever organism it is of. */
#ifndef CS_TOK_LIKENESS_H
#define CS_TOK_LIKENESS_H

#include "io/record.h"

/* A 6-mer and its reverse complement are one word. */
enum { CS_LIKENESS_K = 6, CS_LIKENESS_WORDS = 2080 };

typedef struct cs_likeness {
    double repetition;           /* share of pairs of 6-mers that are the same word, 0 to 1 */
    /* How much more often a word occurs than the sequence's own 3-mers make expect: (n - e) /
     * sqrt((e + 1) bases). Shuffled sequences have none but chance, real ones their codons'. */
    double contrast[CS_LIKENESS_WORDS];
} cs_likeness;

/**
 * cs_likeness_of - of all segments of a record together
 *
 * The same to the last bit for the reverse complement. 6-mers with another letter than A, C, G and
 * T are left out; without any other all is 0.
 *
 * Thread   any
 */
void cs_likeness_of(const cs_record *r, cs_likeness *out);

/** cs_likeness_score - sum of contrast times weight; weight [CS_LIKENESS_WORDS] */
double cs_likeness_score(const cs_likeness *x, const int16_t *weight);

#endif

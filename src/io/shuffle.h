/* shuffle.h - shuffle sequences, preserving the counts of words. */
#ifndef CS_IO_SHUFFLE_H
#define CS_IO_SHUFFLE_H

#include <stdint.h>

#include "base/err.h"

/**
 * cs_shuffle_pairs - permute n letters, preserving the count of every pair of neighbours
 *
 * The first and the last letter stay. All such sequences are equally likely, up to the order of
 * equal pairs; the result is a function of key and letters.
 *
 * base     [n] any bytes, shuffled in place
 * Returns  CS_OK or CS_EMEM
 * Source   Altschul, Erickson, Significance of nucleotide sequence alignments, Mol Biol Evol 1985;
 *          the last edges by Wilson, Generating random spanning trees, STOC 1996
 */
int cs_shuffle_pairs(char *base, int64_t n, uint64_t key) CS_MUST_CHECK;

enum { CS_SHUFFLE_MAX_K = 3 };

/**
 * cs_shuffle_words - shuffle DNA, preserving the counts of words of k bases
 *
 * Each run of more than k of A, C, G and T (either case, U as T) is shuffled by itself and becomes
 * upper case; shorter runs and other letters stay. All such sequences are equally likely.
 *
 * base     [n_base] shuffled in place
 * k        1 to CS_SHUFFLE_MAX_K
 * Returns  CS_OK or CS_EMEM
 * Source   Jiang et al., uShuffle, BMC Bioinformatics 9 (2008)
 */
int cs_shuffle_words(char *base, int64_t n_base, int k, uint64_t key) CS_MUST_CHECK;

#endif

/* shuffle.h - shuffle sequences, preserving dinucleotide counts. */
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
 * Returns  CS_OK or CS_EMEM
 * Source   Altschul, Erickson, Significance of nucleotide sequence alignments, Mol Biol Evol 1985;
 *          the last edges by Wilson, Generating random spanning trees, STOC 1996
 */
int cs_shuffle_pairs(char *base, int64_t n, uint64_t key) CS_MUST_CHECK;

#endif

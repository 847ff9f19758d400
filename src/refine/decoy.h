/* decoy.h - decoy sequences: real ones, shuffled. */
#ifndef CS_REFINE_DECOY_H
#define CS_REFINE_DECOY_H

#include <stdint.h>

#include "base/err.h"

enum { CS_DECOY_MAX_K = 3 };

/**
 * cs_decoy_shuffle - shuffle a sequence, preserving the counts of words of k bases
 *
 * All such sequences are equally likely: a random Eulerian walk over the words of k - 1 bases. Each
 * run of A, C, G and T is shuffled by itself; other letters keep their positions.
 *
 * k        1 to CS_DECOY_MAX_K
 * Returns  CS_OK or CS_EMEM
 * Source   Altschul, Erickson, Mol. Biol. Evol. 2 (1985); Jiang et al., uShuffle, BMC
 *          Bioinformatics 9 (2008), with Wilson's random trees
 */
int cs_decoy_shuffle(char *base, int64_t n_base, int k, uint64_t key) CS_MUST_CHECK;

#endif

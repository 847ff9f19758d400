/* mutate.h - mutate samples to resemble distant relatives: substitutions, insertions, deletions and
 * synonymous codons. */
#ifndef CS_TRAIN_MUTATE_H
#define CS_TRAIN_MUTATE_H

#include <stdint.h>

#include "base/opt.h"

/* Rates per base, silent per codon; 0: none. share: of samples that are mutated. */
typedef struct cs_mutation { double substitution, indel, silent, share; uint64_t key; } cs_mutation;

/* Options of the group "Samples": maximum rates, into a cs_mutation. */
extern const cs_opt cs_mutation_table[];

/** cs_mutation_draw - draw rates uniformly between 0 and those of `max` for the sample of this
 * key, or none with probability 1 - share, and the key of its changes */
cs_mutation cs_mutation_draw(const cs_mutation *max, uint64_t key);
/** cs_mutation_is_none - are all rates 0? */
static inline int cs_mutation_is_none(const cs_mutation *m)
{
    return m->substitution <= 0 && m->indel <= 0 && m->silent <= 0;
}

/**
 * cs_mutate - change n bases, a function of the key, the rates and the bases
 *
 * First codons of the longest open frame (a stretch without stop codons in the standard code, of
 * any of six frames) are changed to others of the same amino acid. Then bases are substituted by
 * one of the three others. Then 1 to 3 bases are inserted or deleted at a position, with equal
 * probability; the result is truncated to n bases. Letters other than A, C, G and T are unchanged.
 *
 * out      [n]
 * work     [n]
 * Returns  number of bases: at most n, and more than half of it
 */
int64_t cs_mutate(const cs_mutation *m, const char *base, int64_t n, char *work, char *out);

#endif

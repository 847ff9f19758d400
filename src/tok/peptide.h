/* peptide.h - peptide words in all six reading frames of a sequence, and a sample of them. */
#ifndef CS_TOK_PEPTIDE_H
#define CS_TOK_PEPTIDE_H

#include <stdint.h>

#include "base/err.h"

/* Letters of a word; groups of an alphabet. A letter is four bits, and one value is that of
 * stops. */
enum { CS_PEPTIDE_MIN_K = 8, CS_PEPTIDE_MAX_K = 16, CS_PEPTIDE_GROUPS = 15 };
/* Windows of the sequence per call of cs_peptides_hash(). */
enum { CS_PEPTIDE_BLOCK = 1024 };

/* Words of k letters: codons translated by the standard code, amino acids of one group are
 * equal. */
typedef struct cs_peptides {
    char    alphabet[64];        /* groups of amino acids, comma-separated */
    int32_t k;                   /* letters of a word */
    int32_t sample;              /* one word of this many is used, chosen by its first four
                                  * letters */
    uint8_t codon[512];          /* by three bases of three bits each (4: unknown): the codon's
                                  * letter, and that of its reverse complement in the upper half */
} cs_peptides;

/**
 * cs_peptides_init - check the settings and make the table of codons
 *
 * alphabet  every amino acid once, in groups: "LVIM,C,A,..."
 * Returns   CS_OK, or CS_EUSAGE saying which setting is impossible
 */
int cs_peptides_init(cs_peptides *p, const char *alphabet, int64_t k, int64_t sample) CS_MUST_CHECK;

/** cs_peptides_windows - number of start positions of words in n_base bases */
static inline int64_t cs_peptides_windows(const cs_peptides *p, int64_t n_base)
{
    return n_base < 3 * p->k ? 0 : n_base - 3 * p->k + 1;
}

/**
 * cs_peptides_hash - hashes of the sampled words of one block of windows, of both strands
 *
 * Words with a stop or an unknown base are skipped. The words of the reverse complement are the
 * same ones, in another order.
 *
 * base     [n_base] letters of the sequence, either case
 * from     the first window: 0, CS_PEPTIDE_BLOCK, ... below cs_peptides_windows()
 * hash     [2 * CS_PEPTIDE_BLOCK] receives them, mixed in all 64 bits
 * Returns  how many
 * Thread   any
 */
int cs_peptides_hash(const cs_peptides *p, const char *base, int64_t n_base, int64_t from,
                     uint64_t *hash);

#endif

/* translate.h - the six reading frames of a sequence as amino acids. */
#ifndef CS_TOK_TRANSLATE_H
#define CS_TOK_TRANSLATE_H

#include <stdint.h>

#include "io/record.h"

/* Reading frames: three of the sequence, then three of its reverse complement. Letters of amino
 * acids, and the letter of stops and of codons with an unknown base. */
enum { CS_FRAMES = 6, CS_ACIDS = 20, CS_ACID_STOP = CS_ACIDS };

/* The amino acids in the order of their letters. */
extern const char cs_amino_acids[];

/* Codons are numbers: two bits per base, as in cs_base_code[], the first base on top. */
enum { CS_CODONS = 64, CS_NO_CODON = -1 };

/* The standard code (NCBI's table 1): [CS_CODONS] amino acids, '*' for a stop. */
extern const char cs_genetic_code[];

/** cs_codon_at - the codon at p[0..2], or CS_NO_CODON with an unknown base */
static inline int cs_codon_at(const char *p)
{
    const int a = cs_base_code[(unsigned char)p[0]], b = cs_base_code[(unsigned char)p[1]],
              c = cs_base_code[(unsigned char)p[2]];

    return (a | b | c) & 4 ? CS_NO_CODON : a << 4 | b << 2 | c;
}

/** cs_codon_revcomp - as cs_word_revcomp(), in fewer operations */
static inline int cs_codon_revcomp(int codon)
{
    const int complement = CS_CODONS - 1 - codon;

    return (complement & 3) << 4 | (complement & 12) | complement >> 4;
}

/* Groups of similar amino acids by letter: the ten of Murphy, Wallqvist and Levy (2000), and that
 * of stops. */
enum { CS_ACID_STOP_GROUP = 15 };
extern const uint8_t cs_acid_group[CS_ACIDS + 1];

/** cs_frame_letters - letters of a reading frame of n_base bases */
static inline int64_t cs_frame_letters(int64_t n_base, int frame)
{
    const int64_t n = n_base - frame % 3;

    return n < 0 ? 0 : n / 3;
}

/**
 * cs_translate - a reading frame by the standard genetic code (NCBI's table 1)
 *
 * base     [n_base] either case
 * frame    f < 3 starts at base f; f >= 3 at base f - 3 of the reverse complement
 * letter   [cs_frame_letters()] receives 0 to CS_ACID_STOP
 * Returns  the number of letters
 */
int64_t cs_translate(const char *base, int64_t n_base, int frame, uint8_t *letter);

#endif

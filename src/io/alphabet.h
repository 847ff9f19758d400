/* alphabet.h - the letters of nucleotide sequences: case, codes, complements. */
#ifndef CS_IO_ALPHABET_H
#define CS_IO_ALPHABET_H

#include <stdint.h>

/** cs_base_code - A C G T as 0 1 2 3 (either case, U as T); 4 for every other byte */
extern const uint8_t cs_base_code[256];
/** cs_base_upper - IUPAC letters upper-case with U as T; 0 for a byte that is no IUPAC letter.
 * '-' and '.' (gaps) and '*' give 'N'. */
extern const char cs_base_upper[256];
/** cs_base_complement - of an upper-case IUPAC letter (R<->Y, K<->M, B<->V, D<->H, S, W, N kept);
 * 0 for every other byte */
extern const char cs_base_complement[256];

/** cs_base_revcomp - reverse complement of n upper-case bases; out must not overlap in */
void cs_base_revcomp(const char *in, int64_t n, char *out);

#endif

/* alphabet.h - the letters of nucleotide sequences: case, codes, complements. */
#ifndef CS_IO_ALPHABET_H
#define CS_IO_ALPHABET_H

#include <stdbool.h>
#include <stdint.h>

/** cs_base_code - A C G T as 0 1 2 3 (either case, U as T); 4 for every other byte */
extern const uint8_t cs_base_code[256];
/** cs_base_upper - IUPAC letters upper-case with U as T; 0 for other bytes. '-' and '.' (gaps) and
 * '*' give 'N'. */
extern const char cs_base_upper[256];
/** cs_base_complement - of an IUPAC letter except U, in its case (R<->Y, K<->M, B<->V, D<->H; S, W
 * and N are kept); 0 for every other byte */
extern const char cs_base_complement[256];
/** cs_base_cased - cs_base_upper in the case of c: 't' for 'u' */
static inline char cs_base_cased(char c)
{
    const char upper = cs_base_upper[(unsigned char)c];
    return c >= 'a' && c <= 'z' && upper ? (char)(upper | 0x20) : upper;
}

/**
 * cs_base_fold, cs_base_codes - many letters at once: cs_base_upper and cs_base_code
 *
 * With AVX2 where the CPU has it; the same bytes without.
 *
 * fold     dst[i] = cs_base_upper[src[i]], if all of these are A, C, G or T: true. Otherwise false,
 *          and dst is undefined
 * codes    code[i] = cs_base_code[base[i]]; true if none of them is 4
 * Aliasing the operands do not overlap
 */
bool cs_base_fold(const char *restrict src, int64_t n, char *restrict dst);
bool cs_base_codes(const char *restrict base, int64_t n, uint8_t *restrict code);

/** cs_base_max_unknown - maximum number of unknown bases of n with this share: 29 of 100 with 0.29,
 * although 0.29 * 100 is below 29 in binary */
int64_t cs_base_max_unknown(double share, int64_t n);

/** cs_base_revcomp - reverse complement of n bases in their case; out must not overlap in */
void cs_base_revcomp(const char *in, int64_t n, char *out);

/** cs_allele_is_sequence - is a VCF allele a sequence of IUPAC letters, possibly empty? Symbols,
 * breakends, '*' and '.' are not */
bool cs_allele_is_sequence(const char *allele);

/** cs_word_revcomp - reverse complement of a word of 1 to 8 bases: two bits each, as in
 * cs_base_code[], the first base on top */
static inline uint32_t cs_word_revcomp(uint32_t word, int k)
{
    uint32_t r = ~word;

    r = (r & 0x3333) << 2 | (r >> 2 & 0x3333);
    r = (r & 0x0f0f) << 4 | (r >> 4 & 0x0f0f);
    r = (r & 0x00ff) << 8 | (r >> 8 & 0x00ff);
    return r >> (16 - 2 * k);
}

#endif

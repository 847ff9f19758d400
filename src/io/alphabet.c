/* alphabet.c - the letters of nucleotide sequences: case, codes, complements.
 *
 * Source   Nomenclature Committee of the IUB, "Nomenclature for incompletely specified bases in
 *          nucleic acid sequences", 1984 (NAR 13:3021), table 1.
 */
#include "io/alphabet.h"

#define REST4 4, 4, 4, 4
#define REST16 REST4, REST4, REST4, REST4
#define REST64 REST16, REST16, REST16, REST16
/* The columns of ASCII from '@' to 'O', and from 'P' to '_': A C G at 1 3 7, T U at 4 5. */
#define ROW_A 4, 0, 4, 1, 4, 4, 4, 2, REST4, REST4
#define ROW_P REST4, 3, 3, 4, 4, REST4, REST4

const uint8_t cs_base_code[256] = {
    REST64, ROW_A, ROW_P, ROW_A, ROW_P, REST64, REST64
};

/* Either case of one letter. */
#define BOTH(upper, lower, value) [upper] = value, [lower] = value

const char cs_base_upper[256] = {
    BOTH('A', 'a', 'A'), BOTH('C', 'c', 'C'), BOTH('G', 'g', 'G'), BOTH('T', 't', 'T'),
    BOTH('U', 'u', 'T'), BOTH('R', 'r', 'R'), BOTH('Y', 'y', 'Y'), BOTH('S', 's', 'S'),
    BOTH('W', 'w', 'W'), BOTH('K', 'k', 'K'), BOTH('M', 'm', 'M'), BOTH('B', 'b', 'B'),
    BOTH('D', 'd', 'D'), BOTH('H', 'h', 'H'), BOTH('V', 'v', 'V'), BOTH('N', 'n', 'N'),
    ['-'] = 'N', ['.'] = 'N', ['*'] = 'N'
};

const char cs_base_complement[256] = {
    ['A'] = 'T', ['C'] = 'G', ['G'] = 'C', ['T'] = 'A', ['R'] = 'Y', ['Y'] = 'R',
    ['S'] = 'S', ['W'] = 'W', ['K'] = 'M', ['M'] = 'K', ['B'] = 'V', ['V'] = 'B',
    ['D'] = 'H', ['H'] = 'D', ['N'] = 'N'
};

void cs_base_revcomp(const char *in, int64_t n, char *out)
{
    for (int64_t i = 0; i < n; i++)
        out[n - 1 - i] = cs_base_complement[(unsigned char)in[i]];
}

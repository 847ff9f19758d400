/* translate.c - the six reading frames of a sequence as amino acids. */
#include "tok/translate.h"

const char cs_amino_acids[] = "ACDEFGHIKLMNPQRSTVWY";
const char cs_genetic_code[] = "KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVV*Y*YSSSS*CWCLFLF";
const uint8_t cs_acid_group[CS_ACIDS + 1] = { 2, 1, 7, 7, 6, 3, 9, 0, 8, 0, 0, 7, 5, 7, 8, 4, 4, 0,
                                              6, 6, CS_ACID_STOP_GROUP };

/* Letters of the characters of cs_genetic_code[]: their places in cs_amino_acids[]. To search for
 * them took 3 % of the time of reads. */
static const uint8_t letter_of[] = {
    ['*'] = CS_ACID_STOP, ['A'] = 0, ['C'] = 1, ['D'] = 2, ['E'] = 3, ['F'] = 4, ['G'] = 5,
    ['H'] = 6, ['I'] = 7, ['K'] = 8, ['L'] = 9, ['M'] = 10, ['N'] = 11, ['P'] = 12, ['Q'] = 13,
    ['R'] = 14, ['S'] = 15, ['T'] = 16, ['V'] = 17, ['W'] = 18, ['Y'] = 19
};

/* Letters by the codon of the sequence, in the forward frames or in those of the reverse strand. */
static void codon_letters(int reverse, uint8_t *letter)
{
    for (int codon = 0; codon < CS_CODONS; codon++) {
        const int read = reverse ? cs_codon_revcomp(codon) : codon;
        letter[codon] = letter_of[(unsigned char)cs_genetic_code[read]];
    }
}

int64_t cs_translate(const char *base, int64_t n_base, int frame, uint8_t *letter)
{
    const int64_t n = cs_frame_letters(n_base, frame);
    const int reverse = frame >= 3;
    uint8_t of_codon[CS_CODONS];

    codon_letters(reverse, of_codon);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = reverse ? n_base - frame % 3 - 3 * i - 3 : frame + 3 * i;
        const int codon = cs_codon_at(base + at);
        letter[i] = codon == CS_NO_CODON ? CS_ACID_STOP : of_codon[codon];
    }
    return n;
}

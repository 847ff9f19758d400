/* diplotype.h - diplotype codes: the two haplotypes at a site as one of 66 printable codes. */
#ifndef CS_IO_DIPLOTYPE_H
#define CS_IO_DIPLOTYPE_H

/* Start of a diplotype text file, and its whole first line with the format's version. */
#define CS_DIPLOTYPE_MAGIC "#chordseq-diplotype"
#define CS_DIPLOTYPE_HEAD  CS_DIPLOTYPE_MAGIC "\t1"

/* Meaning of the bytes of a record's bases. Nucleotides are upper-case letters; with CS_CASED their
 * case has a meaning, too. */
typedef enum cs_alphabet { CS_NUCLEOTIDES, CS_CASED, CS_DIPLOTYPES } cs_alphabet;

/* Symbol of one haplotype at a site: a base, a base with an insertion after it, or a deletion. */
enum {
    CS_HAP_A, CS_HAP_C, CS_HAP_G, CS_HAP_T, CS_HAP_N,
    CS_HAP_INS = 5,              /* added to one of the above */
    CS_HAP_DEL = 10,
    CS_N_HAP = 11,
    CS_N_DIPLOTYPE = CS_N_HAP * (CS_N_HAP + 1) / 2
};

/** cs_diplotype_codes - one printable byte for each of the 66 unordered pairs of haplotype symbols,
 * in the order of chordseq-diplotype(5), NUL-terminated. Two plain bases have their IUPAC letter,
 * so N and a FASTA file's codes for two bases keep their meaning */
extern const char cs_diplotype_codes[CS_N_DIPLOTYPE + 1];
/** cs_diplotype_code - the code of two haplotype symbols, in either order */
char cs_diplotype_code(int hap1, int hap2);
/** cs_diplotype_of - a code's index in cs_diplotype_codes, 0 .. 65; -1 for every other byte */
int cs_diplotype_of(char code);
/** cs_diplotype_split - the two haplotype symbols of index 0 .. 65, the smaller one first */
void cs_diplotype_split(int place, int *hap1, int *hap2);
/** cs_hap_of_base - A C G T as CS_HAP_A .. CS_HAP_T, anything else as CS_HAP_N */
int cs_hap_of_base(char base);
/** cs_haplotype_name - "A", "AI", "DEL" ... */
const char *cs_haplotype_name(int hap);

#endif

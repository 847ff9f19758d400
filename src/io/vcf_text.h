/* vcf_text.h - validate a VCF text line and parse its INFO column. */
#ifndef CS_IO_VCF_TEXT_H
#define CS_IO_VCF_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** cs_vcf_n_column - the number of columns of a line */
int cs_vcf_n_column(const char *line, size_t n);

/**
 * cs_vcf_line_is_valid - checks that htslib omits: the number of columns, and the first seven
 * columns
 *
 * why      receives the problem, worded to follow "record N"
 */
bool cs_vcf_line_is_valid(const char *line, size_t n, int n_column, char *why, size_t n_why);

/** cs_vcf_info_find - the value of a key in a line's INFO column, [*n]; NULL: it has none */
const char *cs_vcf_info_find(const char *line, size_t n_line, const char *key, size_t *n);

/** cs_vcf_column - column i (from 0) of a line, [*n]; NULL: it has fewer */
const char *cs_vcf_column(const char *line, size_t n_line, int i, size_t *n);

/** cs_vcf_has_first_phase - has a sample a genotype such as "/0|1", which VCF 4.4 adds? s: a
 * line's [n] bytes from the end of the INFO column; separators may be NUL */
bool cs_vcf_has_first_phase(const char *s, size_t n);

/** cs_vcf_lacks - what the header of text, the first n bytes of a file, lacks to be VCF, with
 * the remedy, worded to follow "is not VCF:"; NULL if it does not look like VCF */
const char *cs_vcf_lacks(const char *text, size_t n);

enum { CS_VCF_PLACE_BYTES = 128 };

/** cs_vcf_place - the place of a record for messages, " (chr1:123)"; empty if the line, of which
 * the beginning suffices, has no contig and number in its first columns */
void cs_vcf_place(const char *line, size_t n_line, char place[CS_VCF_PLACE_BYTES]);

#endif

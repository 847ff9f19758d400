/* exons.h - exons of a BED, GTF or GFF3 file, by position. */
#ifndef CS_IO_EXONS_H
#define CS_IO_EXONS_H

#include <stdbool.h>
#include <stdint.h>

#include "io/reference.h"
#include "io/variant_windows.h"

typedef struct cs_exons cs_exons;

/* An exon: bases from .. to-1 of a contig, from 0; strand 1 or -1. */
typedef struct cs_exon {
    int64_t from, to;
    int     strand;
    int64_t n_line;              /* lines that list it, such as one per transcript */
    bool    both;                /* others that were found are on the other strand */
} cs_exon;

/**
 * cs_exons_open - read the exons of an annotation
 *
 * path     plain, gzip or BGZF. BED with the strand in column six, of which blocks in columns ten
 *          to twelve count, or GTF or GFF3 of nine columns, of which features `exon` count; the
 *          first line decides, and sequences that end GFF3 are not read. Strands are '+' and
 *          '-'; a warning counts lines with '.' or '?'
 * out      receives the exons, to be closed by the caller
 * Returns  CS_OK; CS_EIO; CS_EMEM; CS_EFORMAT with file and line, also for a file without exons
 */
int cs_exons_open(const char *path, cs_exons **out) CS_MUST_CHECK;
/** cs_exons_close - accepts NULL */
void cs_exons_close(cs_exons *e);

/**
 * cs_exons_find - of the exons that overlap bases [from, to) of a contig the nearest to base `at`
 *
 * Among equally near ones, such as those of several transcripts, the one on most lines, then the
 * shortest, then the first, then that on strand '+': never by the order of lines.
 *
 * Returns  false: there are none
 */
bool cs_exons_find(cs_exons *e, const char *contig, int64_t from, int64_t to, int64_t at,
                   cs_exon *out);

/** cs_exons_near - cs_exons_find() in the window of n_base bases around a variant. On a circular
 * contig the exon's positions are near the variant's: negative, or beyond the contig's end, for
 * bases on the other side of the origin */
bool cs_exons_near(cs_exons *e, const char *contig, const cs_window_pair *pair, int64_t n_base,
                   cs_exon *out);

/**
 * cs_exons_mark - cs_variant_windows_mark() with the nearest exon in the window of a variant
 *
 * base     [2 * n_base] both windows of the pair
 * pair     its `why` becomes CS_UNSCORED_NO_EXON if there is none
 * out      receives the exon
 * Returns  is there one?
 */
bool cs_exons_mark(cs_exons *e, const char *contig, int64_t n_base, char *base,
                   cs_window_pair *pair, cs_exon *out);

/**
 * cs_exons_circular - add the contigs to w that a GFF3 file states as circular, with a note
 *
 * They have a feature of all their bases in ref with the attribute Is_circular=true.
 *
 * path     of the exons, which must outlive w
 * Returns  CS_OK; CS_EMEM
 */
int cs_exons_circular(const cs_exons *e, const char *path, const cs_reference *ref,
                      cs_variant_windows *w) CS_MUST_CHECK;

/**
 * cs_exons_compare - warn if none is on a contig of the reference, or if some are beyond the end of
 * a linear one
 *
 * path     of the exons
 * w        tells circular contigs, whose exons may span the origin
 * Returns  CS_OK; CS_EUSAGE for a contig that only cs_reference_strict() hides; CS_EMEM
 */
int cs_exons_compare(const cs_exons *e, const char *path, const cs_reference *ref,
                     const cs_variant_windows *w) CS_MUST_CHECK;

#endif

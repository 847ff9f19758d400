/* exons.h - exons of a BED, GTF or GFF3 file, by position. */
#ifndef CS_IO_EXONS_H
#define CS_IO_EXONS_H

#include <stdbool.h>
#include <stdint.h>

#include "io/reference.h"

typedef struct cs_exons cs_exons;

/* An exon: bases from .. to-1 of a contig, from 0; strand 1 or -1. */
typedef struct cs_exon {
    int64_t from, to;
    int     strand;
    int64_t n_line;              /* lines that list it, such as one per transcript */
} cs_exon;

/**
 * cs_exons_open - read the exons of an annotation
 *
 * path     plain, gzip or BGZF. BED with the strand in column six, or GTF or GFF3 of nine columns,
 *          of which features `exon` count; the first line decides, and sequences that end GFF3 are
 *          not read. Strands are '+' and '-'; lines with '.' or '?' are passed over
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
 * shortest, then the first.
 *
 * Returns  false: there are none, or exons on both strands
 */
bool cs_exons_find(cs_exons *e, const char *contig, int64_t from, int64_t to, int64_t at,
                   cs_exon *out);

/** cs_exons_compare - warn if none is on a contig of the reference. path: of the exons */
void cs_exons_compare(const cs_exons *e, const char *path, const cs_reference *ref);

#endif

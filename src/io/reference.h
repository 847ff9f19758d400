/* reference.h - random access to contigs of an indexed FASTA file. */
#ifndef CS_IO_REFERENCE_H
#define CS_IO_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct cs_reference cs_reference;

/** cs_reference_open - plain or BGZF FASTA with its index FILE.fai, which is made if it is missing.
 * CS_EIO with the reason, also for an index that cannot be read; CS_EFORMAT for FASTQ, and for an
 * index of a file that has changed since; CS_EUSAGE for a pipe, a device or a folder, also as its
 * index; CS_ECANCEL on a signal */
int  cs_reference_open(const char *path, cs_reference **out) CS_MUST_CHECK;
/** cs_reference_usable - before htslib opens a FASTA file; makes its index. CS_OK, also for a
 * missing file and for a URL; errors of cs_reference_open() */
int  cs_reference_usable(const char *path) CS_MUST_CHECK;
/** cs_reference_free - accepts NULL */
void cs_reference_free(cs_reference *r);
/** cs_reference_path - as it was opened, for messages */
const char *cs_reference_path(const cs_reference *r);
/* Contigs go by their name, or by it with or without "chr" before it, which is warned of once. */

/** cs_reference_strict - from here on by their name only */
void cs_reference_strict(cs_reference *r);
/** cs_reference_keep_case - from here on cs_reference_fetch() keeps the case of bases */
void cs_reference_keep_case(cs_reference *r);
/** cs_reference_check - CS_OK; CS_EUSAGE for a contig that only cs_reference_strict() hides */
int cs_reference_check(const cs_reference *r, const char *contig) CS_MUST_CHECK;
/** cs_reference_length - bases of a contig; -1 if it is missing */
int64_t cs_reference_length(const cs_reference *r, const char *contig);
/** cs_reference_count, cs_reference_name - contigs of the file, and the name of contig i, in the
 * file's order; the reference owns the text */
int         cs_reference_count(const cs_reference *r);
const char *cs_reference_name(const cs_reference *r, int i);
/**
 * cs_reference_fetch - bases [from, to) of a contig, 0-based, upper-case IUPAC unless
 * cs_reference_keep_case()
 *
 * out      free() it
 * Returns  CS_OK; CS_EIO, also without memory, which htslib does not tell apart; CS_EFORMAT for a
 *          letter that is not a nucleotide
 */
int  cs_reference_fetch(cs_reference *r, const char *contig, int64_t from, int64_t to, char **out)
    CS_MUST_CHECK;
/** cs_reference_base - one base, upper-case; blocks around it are kept, so that neighbours are
 * cheap. Errors as above */
int  cs_reference_base(cs_reference *r, const char *contig, int64_t pos, char *base) CS_MUST_CHECK;

enum { CS_CONTIG_BYTES = 256 };
/** cs_contig_other - the name without its prefix "chr", or with one; "" if too long. Returns buf */
const char *cs_contig_other(const char *name, char buf[CS_CONTIG_BYTES]);
/** cs_contig_bare - the name behind its prefix "chr", if it has that */
const char *cs_contig_bare(const char *name);
/** cs_contig_same - are names equal, except for a "chr" before one of them? */
bool cs_contig_same(const char *a, const char *b);

#endif

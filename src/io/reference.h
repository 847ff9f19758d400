/* reference.h - random access to contigs of an indexed FASTA file. */
#ifndef CS_IO_REFERENCE_H
#define CS_IO_REFERENCE_H

#include <stdint.h>

#include "base/err.h"

typedef struct cs_reference cs_reference;

/** cs_reference_open - plain or BGZF FASTA with its index FILE.fai, which is made if it is missing.
 * CS_EIO with the reason */
int  cs_reference_open(const char *path, cs_reference **out) CS_MUST_CHECK;
/** cs_reference_free - accepts NULL */
void cs_reference_free(cs_reference *r);
const char *cs_reference_path(const cs_reference *r);
/** cs_reference_length - bases of a contig; -1: there is none of this name */
int64_t cs_reference_length(const cs_reference *r, const char *contig);
/** cs_reference_count, cs_reference_name - contigs of the file, and the name of contig i, in the
 * file's order; the reference owns the text */
int         cs_reference_count(const cs_reference *r);
const char *cs_reference_name(const cs_reference *r, int i);
/**
 * cs_reference_fetch - bases [from, to) of a contig, 0-based, upper-case IUPAC
 *
 * out      free() it
 * Returns  CS_OK; CS_EIO; CS_EFORMAT for a letter that is not a nucleotide; CS_EMEM
 */
int  cs_reference_fetch(cs_reference *r, const char *contig, int64_t from, int64_t to, char **out)
    CS_MUST_CHECK;
/** cs_reference_base - one base, upper-case; blocks around it are kept, so that neighbours are
 * cheap. Errors as above */
int  cs_reference_base(cs_reference *r, const char *contig, int64_t pos, char *base) CS_MUST_CHECK;

#endif

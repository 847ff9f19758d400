/* fasta_index.h - the index of a FASTA file. */
#ifndef CS_IO_FASTA_INDEX_H
#define CS_IO_FASTA_INDEX_H

#include "base/err.h"

/** cs_fasta_index - make FILE.fai, and FILE.gzi for BGZF, if FILE.fai is missing and FILE is local.
 * CS_OK, also if it cannot be made, which htslib will report; CS_ECANCEL on a signal */
int cs_fasta_index(const char *path) CS_MUST_CHECK;

#endif

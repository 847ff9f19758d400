/* content.h - detect input files that an output of another kind must not overwrite. */
#ifndef CS_IO_CONTENT_H
#define CS_IO_CONTENT_H

/* The kinds, as messages name them. */
#define CS_SEQUENCES  "sequences"
#define CS_ALIGNMENTS "alignments"
#define CS_VARIANTS   "variants"

/** cs_content_of - the kind of a regular file's content: CS_SEQUENCES (FASTA, FASTQ, diplotypes),
 * CS_ALIGNMENTS (SAM, BAM, CRAM), CS_VARIANTS (VCF, BCF), compressed or not; NULL for other and for
 * unreadable files. For cs_outfile_protect() */
const char *cs_content_of(const char *path);

#endif

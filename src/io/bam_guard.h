/* bam_guard.h - check what a BAM file's header, or an index, declares before htslib uses it. */
#ifndef CS_IO_BAM_GUARD_H
#define CS_IO_BAM_GUARD_H

#include "base/err.h"

/** cs_bam_guard - do text and references of a BAM file's header fit a file of its size? CS_OK, also
 * for other than regular files, for which htslib touches only memory of bytes that arrive;
 * CS_EFORMAT */
int cs_bam_guard(const char *path) CS_MUST_CHECK;

/** cs_index_guard - before htslib loads the index of a file. CS_OK, also if there is none, or one
 * other than BAI, TBI or CSI; CS_EFORMAT if it ends early or has impossible sizes */
int cs_index_guard(const char *path) CS_MUST_CHECK;

#endif

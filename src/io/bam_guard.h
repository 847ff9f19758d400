/* bam_guard.h - check what a BAM file's header declares before htslib allocates it. */
#ifndef CS_IO_BAM_GUARD_H
#define CS_IO_BAM_GUARD_H

#include "base/err.h"

/** cs_bam_guard - do text and references of a BAM file's header fit a file of its size? CS_OK, also
 * for other than regular files, for which htslib touches only memory of bytes that arrive;
 * CS_EFORMAT */
int cs_bam_guard(const char *path) CS_MUST_CHECK;

#endif

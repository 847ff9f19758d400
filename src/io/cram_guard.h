/* cram_guard.h - check what CRAM and BAM files declare before htslib allocates it. */
#ifndef CS_IO_CRAM_GUARD_H
#define CS_IO_CRAM_GUARD_H

#include <stdint.h>

#include "base/err.h"

typedef struct cs_cram_guard cs_cram_guard;

/**
 * cs_cram_guard_new - for one CRAM file
 *
 * path     a regular file; of anything else nothing is checked. Must outlive the guard
 * ahead    containers that are read ahead of the one in hand, by htslib's threads
 */
cs_cram_guard *cs_cram_guard_new(const char *path, int ahead);
/** cs_cram_guard_free - accepts NULL */
void cs_cram_guard_free(cs_cram_guard *g);
/**
 * cs_cram_guard_reach - check containers before they are decoded
 *
 * at       how far the file is read, in bytes
 * Returns  CS_OK; CS_EFORMAT for a container whose declared sizes do not fit its bytes. What is
 *          truncated is left to htslib
 */
int cs_cram_guard_reach(cs_cram_guard *g, int64_t at) CS_MUST_CHECK;

/** cs_bam_guard - the same for the header of a BAM file: do text and references fit a file of its
 * size? CS_OK, also for what is no regular file; CS_EFORMAT */
int cs_bam_guard(const char *path) CS_MUST_CHECK;

#endif

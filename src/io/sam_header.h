/* sam_header.h - one header for the alignments of several inputs. */
#ifndef CS_IO_SAM_HEADER_H
#define CS_IO_SAM_HEADER_H

#include "base/err.h"

struct sam_hdr_t;

/**
 * cs_sam_header_join - add the @RG, @PG and @CO lines that `from`, of a later input, has besides
 *
 * A program whose ID is another one's gets a new ID, as in samtools merge; PG tags of records keep
 * the old one.
 *
 * path     of that input
 * Returns  CS_OK; CS_EUSAGE for a read group that differs from the one with its ID; CS_EFORMAT;
 *          CS_EMEM
 */
int cs_sam_header_join(struct sam_hdr_t *to, struct sam_hdr_t *from, const char *path)
    CS_MUST_CHECK;

/** cs_sam_header_unsort - for records of several inputs in sequence: SO says unsorted, SS and GO
 * are removed. CS_OK or CS_EMEM */
int cs_sam_header_unsort(struct sam_hdr_t *h) CS_MUST_CHECK;

/** cs_sam_header_covers - may records of `from` follow under `all`, which is written? CS_OK, with a
 * warning for programs that `all` lacks; CS_EUSAGE for read groups, with the remedy. all: or NULL,
 * which has none */
int cs_sam_header_covers(struct sam_hdr_t *all, struct sam_hdr_t *from, const char *path)
    CS_MUST_CHECK;

#endif

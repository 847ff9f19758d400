/* sam_header.h - one header for the alignments of several inputs. */
#ifndef CS_IO_SAM_HEADER_H
#define CS_IO_SAM_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/names.h"

struct sam_hdr_t;
struct bam1_t;
struct htsFile;

/* Programs of an input that have another ID in the header of the output; new[i] is NULL for those
 * that it lacks, while another one has their ID. */
typedef struct cs_programs {
    char **old, **new;           /* [n] */
    size_t n, cap_old, cap_new;
    cs_names no;                 /* of old IDs in those */
    bool   joined;               /* the header has all lines of the input */
} cs_programs;

/** cs_programs_change - change or remove the PG tag of a record of that input. CS_OK, CS_EMEM */
int  cs_programs_change(const cs_programs *p, struct bam1_t *b) CS_MUST_CHECK;
void cs_programs_release(cs_programs *p);

/**
 * cs_sam_header_read - read the header of SAM, BAM or CRAM
 *
 * Since 1.24 htslib refuses invalid lines, before only cs_sam_header_check() finds them.
 *
 * path     of the file, for messages
 * Returns  CS_OK and *h, to be freed by sam_hdr_destroy(); CS_EFORMAT
 */
int cs_sam_header_read(struct htsFile *fp, const char *path, struct sam_hdr_t **h) CS_MUST_CHECK;

/** cs_sam_header_check - are all lines valid? htslib before 1.24 reads headers with an @RG or @PG
 * line without ID, but cannot list or change their lines. path: of the input. CS_OK; CS_EFORMAT */
int cs_sam_header_check(struct sam_hdr_t *h, const char *path) CS_MUST_CHECK;

/**
 * cs_sam_header_join - add the @RG, @PG and @CO lines that only `from`, of a later input, has
 *
 * A program whose ID is another one's gets a new ID, as in samtools merge. Lines that differ in the
 * order of their tags are equal.
 *
 * to, from headers that passed cs_sam_header_check(), here and below
 * path     of that input
 * programs receives the changed IDs, for the input's records
 * Returns  CS_OK; CS_EUSAGE for a read group that differs from the one with its ID; CS_EFORMAT;
 *          CS_EMEM
 */
int cs_sam_header_join(struct sam_hdr_t *to, struct sam_hdr_t *from, const char *path,
                       cs_programs *programs) CS_MUST_CHECK;

/** cs_sam_header_unsort - for records of several inputs in sequence: SO says unsorted, SS and GO
 * are removed. CS_OK or CS_EMEM */
int cs_sam_header_unsort(struct sam_hdr_t *h) CS_MUST_CHECK;

/**
 * cs_sam_header_covers - check the header `from` of a later pipe against the output's, `all`, which
 * is written already
 *
 * all      or NULL, which has no lines
 * programs as above
 * Returns  CS_OK, with a warning if `all` lacks a read group or program; CS_EUSAGE for a read group
 *          that differs from the one with its ID; CS_EMEM
 */
int cs_sam_header_covers(struct sam_hdr_t *all, struct sam_hdr_t *from, const char *path,
                         cs_programs *programs) CS_MUST_CHECK;

#endif

/* regions.h - parts of a genome, as text "contig:from-to" or from a BED file. */
#ifndef CS_IO_REGIONS_H
#define CS_IO_REGIONS_H

#include <stdint.h>

#include "base/err.h"
#include "io/reference.h"

/* Bases [from, to), 0-based. The name is valid until the next call. */
typedef struct cs_region { const char *contig; int64_t from, to; } cs_region;

typedef struct cs_regions cs_regions;

/** cs_region_remedy - the end of a message that refuses a region: "" or how to give several */
const char *cs_region_remedy(const char *text);

/**
 * cs_regions_open - a list of regions, in order, and then those of a BED file
 *
 * text     [n] "contig", "contig:from", "contig:from-" or "contig:from-to", 1-based with both ends
 *          included, with or without commas; a contig with a colon in its name is looked up before
 *          splitting
 * bed      a BED file (three columns or more; plain, gzip, BGZF), read line by line, or NULL
 * Returns  CS_OK; CS_EIO; CS_EFORMAT
 */
int  cs_regions_open(const char *const *text, int n, const char *bed, cs_regions **out)
    CS_MUST_CHECK;
/** cs_regions_free - accepts NULL */
void cs_regions_free(cs_regions *r);

/**
 * cs_regions_next - the next region, checked against the reference
 *
 * ref      or NULL: contigs are not checked, and regions need an end
 * Returns  CS_OK; CS_EOF; CS_EUSAGE for an invalid text; CS_EFORMAT with file and line
 */
int  cs_regions_next(cs_regions *r, const cs_reference *ref, cs_region *out) CS_MUST_CHECK;

/** cs_regions_end - after the last one: CS_OK for CS_EOF, CS_EFORMAT if there was none, or rc */
int cs_regions_end(const cs_regions *r, int rc) CS_MUST_CHECK;

/** cs_regions_given_to - end of the last region before it was cut to its contig's, for records
 * behind that; the largest position of htslib if none was given */
int64_t cs_regions_given_to(const cs_regions *r);

/** cs_regions_rest - further columns of the last region's BED line as text (valid until the next
 * region), or NULL; *line receives its number */
const char *cs_regions_rest(const cs_regions *r, int64_t *line);

#endif

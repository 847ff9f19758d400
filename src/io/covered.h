/* covered.h - the bases that intervals cover, as more are added. */
#ifndef CS_IO_COVERED_H
#define CS_IO_COVERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/names.h"

/* Zero covers nothing. Contigs go by their names without "chr". */
typedef struct cs_covered {
    cs_names names;
    struct cs_covered_contig *contig;   /* [n] */
    size_t   n, cap;
} cs_covered;

/**
 * cs_covered_add - cover [from, to), which is not empty
 *
 * contig   must outlive the set, in place
 * Returns  CS_OK or CS_EMEM
 *
 * Takes logarithmic time in the number of separate intervals, on average.
 */
int cs_covered_add(cs_covered *c, const char *contig, int64_t from, int64_t to) CS_MUST_CHECK;
/** cs_covered_overlaps - is any base of [from, to) covered? In log^2 time */
bool cs_covered_overlaps(const cs_covered *c, const char *contig, int64_t from, int64_t to);
void cs_covered_release(cs_covered *c);

#endif

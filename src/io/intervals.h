/* intervals.h - class intervals of records from a BED-like table. */
#ifndef CS_IO_INTERVALS_H
#define CS_IO_INTERVALS_H

#include "io/labels.h"

typedef struct cs_intervals cs_intervals;

/**
 * cs_intervals_open - read a table as in BED: record, start, end, class
 *
 * path     plain or gzip; must outlive the intervals, for messages. Starts from 0, ends not
 *          included; further columns and comments are ignored. The class '-' is class -1: unknown.
 *          Intervals of one class may touch and overlap
 * classes  the classes to look up names in
 * fixed    an unknown class is CS_EFORMAT, else it is added
 * Returns  CS_OK; CS_EIO; CS_EMEM; CS_EFORMAT with file and line, also for intervals of different
 *          classes that overlap
 */
int cs_intervals_open(const char *path, cs_classes *classes, bool fixed, cs_intervals **out)
    CS_MUST_CHECK;

/**
 * cs_intervals_find - the intervals of a record, sorted and without overlaps
 *
 * n_base   of the record: an interval that ends beyond it is CS_EFORMAT
 * span     receives [n], valid until closed; n is 0 for a record without intervals
 */
int cs_intervals_find(const cs_intervals *v, const char *name, int64_t n_base,
                      const cs_span **span, int64_t *n) CS_MUST_CHECK;

/** cs_intervals_records - number of records in the table */
int64_t cs_intervals_records(const cs_intervals *v);
/** cs_intervals_close - accepts NULL */
void cs_intervals_close(cs_intervals *v);

#endif

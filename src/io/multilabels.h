/* multilabels.h - multiple labels per record: a table with a column per label. */
#ifndef CS_IO_MULTILABELS_H
#define CS_IO_MULTILABELS_H

#include "io/labels.h"

typedef struct cs_multilabels cs_multilabels;

enum { CS_MULTILABELS_MAX = 4096 };

/**
 * cs_multilabels_open - read a table: its first line names the columns, the others are a record's
 * name and what is known of every label
 *
 * path     as for cs_labels_open(). 0 and 1, also as 0.0 and 1.0; NA, '.' or nothing: not known
 * labels   where a column's name is looked for
 * fixed    a column that is not there is CS_EFORMAT, else it is added
 * Returns  CS_OK; CS_EIO; CS_EMEM; CS_EFORMAT with file and line
 */
int cs_multilabels_open(const char *path, cs_classes *labels, bool fixed, cs_multilabels **out)
    CS_MUST_CHECK;

/**
 * cs_multilabels_find - what is known of a record
 *
 * target   receives [labels->n] 0, 1 or NaN, which labels without a column get as well
 * Returns  CS_OK; CS_EOF: the table does not name it; CS_EFORMAT with file, line and column
 */
int cs_multilabels_find(const cs_multilabels *m, const char *name, float *target) CS_MUST_CHECK;

/** cs_multilabels_columns - labels that have one */
int cs_multilabels_columns(const cs_multilabels *m);
/** cs_multilabels_table - the table that it was read from */
cs_labels *cs_multilabels_table(const cs_multilabels *m);
/** cs_multilabels_close - accepts NULL */
void cs_multilabels_close(cs_multilabels *m);

#endif

/* multilabels.h - multiple labels per record: a table with a column per label. */
#ifndef CS_IO_MULTILABELS_H
#define CS_IO_MULTILABELS_H

#include "io/labels.h"

typedef struct cs_multilabels cs_multilabels;

enum { CS_MULTILABELS_MAX = 4096 };

/**
 * cs_multilabels_open - read a table: the first line names the columns, the others have a record's
 * name and a value per label
 *
 * path     as for cs_labels_open(). 0 and 1, also as 0.0 and 1.0, or unknown as in
 *          cs_label_unknown()
 * labels   the labels to look up column names in
 * fixed    an unknown column is CS_EFORMAT, else it is added
 * Returns  CS_OK; CS_EIO; CS_EMEM; CS_EFORMAT with file and line
 */
int cs_multilabels_open(const char *path, cs_classes *labels, bool fixed, cs_multilabels **out)
    CS_MUST_CHECK;

/**
 * cs_multilabels_find - the labels of a record
 *
 * target   receives [labels->n] 0, 1 or NaN (unknown, or label without a column)
 * Returns  CS_OK; CS_EOF: not in the table; CS_EFORMAT with file, line and column
 */
int cs_multilabels_find(const cs_multilabels *m, const char *name, float *target) CS_MUST_CHECK;

/** cs_multilabels_columns - number of labels with a column */
int cs_multilabels_columns(const cs_multilabels *m);
/** cs_multilabels_table - the table, which m owns: its lines, and marks of rows that were used */
cs_labels *cs_multilabels_table(const cs_multilabels *m);
/** cs_multilabels_close - accepts NULL */
void cs_multilabels_close(cs_multilabels *m);

#endif

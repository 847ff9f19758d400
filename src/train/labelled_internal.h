/* labelled_internal.h - declarations shared by labelled.c and labelled_record.c. */
#ifndef CS_TRAIN_LABELLED_INTERNAL_H
#define CS_TRAIN_LABELLED_INTERNAL_H

#include "train/labelled.h"

enum { CS_LABEL_BYTES = 1024 };
enum { CS_LABEL_OMITTED = -1, CS_LABEL_EMPTY = -2 };

/**
 * cs_labelled_mapped - the number of the class of a label in the input
 *
 * The label is replaced by --label-map, and tidied if it is a lineage. The class is added unless
 * the model fixes them.
 *
 * no       receives the number; CS_LABEL_OMITTED: the class is '-'; CS_LABEL_EMPTY: it has no name
 * Returns  CS_OK; CS_EFORMAT for a label that is no class of the model, or for too long a lineage
 */
int cs_labelled_mapped(cs_labelled *l, const char *label, int *no) CS_MUST_CHECK;

/** cs_labelled_add - add a record to the dataset with its label, part and group, or count why it is
 * left out. CS_OK; CS_EFORMAT, CS_EUSAGE for a missing or invalid label; CS_EMEM */
int cs_labelled_add(cs_labelled *l, cs_dataset *d, const cs_record *r) CS_MUST_CHECK;

#endif

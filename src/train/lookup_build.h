/* lookup_build.h - build a look-up table: words shared by groups of a class. */
#ifndef CS_TRAIN_LOOKUP_BUILD_H
#define CS_TRAIN_LOOKUP_BUILD_H

#include "nn/exec/lookup.h"
#include "train/dataset.h"

/* Which words are kept. */
typedef struct cs_lookup_rule {
    int64_t min_groups;          /* groups of one class that have the word, at least */
    double  purity;              /* and their share of all groups that have it, at least */
    int64_t max_bytes;           /* of the table: words of more groups go first */
} cs_lookup_rule;

/**
 * cs_lookup_build - the words of a part of a dataset
 *
 * A word counts once per group (an example's group and class). A word of one group only says what
 * has been seen, not what a class is like; rule.min_groups 1 keeps it all the same.
 *
 * d        of classes; bases
 * n_class  of the model
 * Returns  CS_OK, weights zero; CS_EUSAGE when no word is kept, or for too many groups; CS_EMEM.
 *          Memory: 8 bytes per sampled word of the part
 */
int cs_lookup_build(const cs_peptides *words, const cs_dataset *d, cs_part part, int32_t n_class,
                    const cs_lookup_rule *rule, cs_lookup **out) CS_MUST_CHECK;

#endif

/* lookup_build.h - build a look-up table: words shared by groups of a class. */
#ifndef CS_REFINE_LOOKUP_BUILD_H
#define CS_REFINE_LOOKUP_BUILD_H

#include "nn/exec/lookup.h"
#include "train/dataset.h"

/* Rule for stored words. */
typedef struct cs_lookup_rule {
    int64_t min_groups;          /* minimum groups of one class with the word */
    double  purity;              /* and their minimum share of all groups with it */
    int64_t max_bytes;           /* bytes of the table, in equal shares of the classes: words with
                                  * more groups have priority */
} cs_lookup_rule;

/**
 * cs_lookup_build - the words of the training part of a dataset
 *
 * A word counts once per group (an example's group and class of words). A word of a single group
 * identifies a relative, not a class; rule.min_groups 1 stores it nevertheless.
 *
 * d        of classes; bases
 * n_label  classes of the model
 * class_of [n_label] the class of words of each; NULL: a class of words for each
 * n_thread threads that sort words; the table does not depend on their number
 * Returns  CS_OK, weights zero; CS_EUSAGE if no word is stored, or for too many groups; CS_EMEM.
 *          Memory: 8 bytes per sampled word of that part
 */
int cs_lookup_build(const cs_peptides *words, const cs_dataset *d, int32_t n_label,
                    const int32_t *class_of, const cs_lookup_rule *rule, int n_thread,
                    cs_lookup **out) CS_MUST_CHECK;

#endif

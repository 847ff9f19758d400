/* proteins_build.h - build a protein database from labelled sequences. */
#ifndef CS_REFINE_PROTEINS_BUILD_H
#define CS_REFINE_PROTEINS_BUILD_H

#include "nn/exec/proteins.h"
#include "train/dataset.h"

/* Rule for stored proteins. */
typedef struct cs_protein_rule {
    int64_t min_length;          /* amino acids of an open reading frame */
    int64_t max_length;          /* of a stored piece of one, at most CS_PROTEIN_MAX_LENGTH */
    double  max_known;           /* maximum share of its words that proteins of its class before
                                  * it have */
    int64_t max_bytes;           /* of the database in a file */
} cs_protein_rule;

/**
 * cs_proteins_build - proteins of open reading frames of the training part of a dataset
 *
 * Candidates are the open reading frames of every record, in all six frames, that overlap longer
 * ones by at most half; long ones are cut into pieces. Near-duplicates are skipped, in an order
 * given by a hash of their letters, so the result does not depend on the order of records. At most
 * 40 million letters of a class are candidates, since the time of the choice grows by the square.
 * cs_proteins_choose() selects the proteins to store.
 *
 * d        of classes; bases
 * n_class  of the model
 * n_thread threads that align candidates; the result does not depend on their number
 * Returns  CS_OK, weights zero, indexed; CS_EUSAGE if no protein is stored; CS_EMEM. Memory: 24
 *          bytes per frame, 1 per letter, and that of cs_proteins_choose()
 */
int cs_proteins_build(const cs_dataset *d, int32_t n_class, const cs_protein_rule *rule,
                      int n_thread, cs_proteins **out) CS_MUST_CHECK;

#endif

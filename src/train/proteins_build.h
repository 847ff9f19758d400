/* proteins_build.h - build a protein database from labelled sequences. */
#ifndef CS_TRAIN_PROTEINS_BUILD_H
#define CS_TRAIN_PROTEINS_BUILD_H

#include "nn/exec/proteins.h"
#include "train/dataset.h"

/* Rule for stored proteins. */
typedef struct cs_protein_rule {
    int64_t min_length;          /* amino acids of an open reading frame */
    double  max_known;           /* maximum share of its words that stored proteins of its class
                                  * have */
    int64_t max_bytes;           /* of the database in a file, in equal shares of the classes */
} cs_protein_rule;

/**
 * cs_proteins_build - proteins of open reading frames of a part of a dataset
 *
 * Of every record the longest runs of codons without a stop, in any frame, that overlap longer ones
 * by at most half. They are stored in an order given by a hash of their letters, a random sample
 * that does not depend on the order of records, until a class's share is full; near-duplicates of
 * stored ones are skipped. A class with fewer proteins leaves the rest of its share to the others.
 *
 * d        of classes; bases
 * n_class  of the model
 * Returns  CS_OK, weights zero, indexed; CS_EUSAGE if no protein is stored; CS_EMEM. Memory: 24
 *          bytes per frame
 */
int cs_proteins_build(const cs_dataset *d, cs_part part, int32_t n_class,
                      const cs_protein_rule *rule, cs_proteins **out) CS_MUST_CHECK;

#endif

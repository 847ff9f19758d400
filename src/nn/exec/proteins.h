/* proteins.h - the search of sequences in a database of proteins, and its evidence for classes. */
#ifndef CS_NN_EXEC_PROTEINS_H
#define CS_NN_EXEC_PROTEINS_H

#include "nn/exec/protein_db.h"

/* Results of a search, per node of the tree, at its place; without a tree, per class. Scores of a
 * node in an open reading frame are those of the best alignment of its classes; sums are over
 * frames. A node is compared with its siblings. */
typedef struct cs_protein_hits {
    int64_t best[CS_PROTEIN_MAX_NODES];          /* highest score */
    int64_t sum[CS_PROTEIN_MAX_NODES];           /* scores above the background */
    int64_t margin[CS_PROTEIN_MAX_NODES];        /* lead over the next sibling, of the best one */
    int64_t wins[CS_PROTEIN_MAX_NODES];          /* frames in which it is the best */
    int64_t share[CS_PROTEIN_MAX_NODES];         /* exp(score / 10) + exp(background / 10), divided
                                                  * by its sum over siblings, in units of 2^-20 */
    int64_t log_share[CS_PROTEIN_MAX_NODES];     /* its natural logarithm, in the same units */
    int64_t n_frame[CS_PROTEIN_MAX_NODES];       /* per set of siblings: frames with an alignment,
                                                  * in both shares */
} cs_protein_hits;

/* Alignments, in the order of their seeds. */
typedef struct cs_protein_alignment {
    uint32_t protein;
    int32_t  score;
} cs_protein_alignment;

typedef struct cs_protein_list {
    cs_protein_alignment *at;            /* [n], for free() */
    size_t                n, cap;
} cs_protein_list;

/**
 * cs_proteins_search - align all six reading frames of a sequence with the proteins
 *
 * Seeds are spaced letters of an alphabet of ten. Where letters around a seed's match are equal
 * (min_equal), it is extended in both directions without gaps, by BLOSUM62 (Henikoff and
 * Henikoff 1992), until the score drops. Frames are split at stops; of each part the best score
 * per class counts. Parts mostly covered by parts more than p->shadow times as long are skipped.
 * The same for the reverse complement.
 *
 * n_thread  threads that search; hits do not depend on it
 * Returns   CS_OK; CS_EMEM without a message (it takes 0.63 bytes per base)
 * Thread    any
 */
int cs_proteins_search(const cs_proteins *p, const char *base, int64_t n_base, int n_thread,
                       cs_protein_hits *hits) CS_MUST_CHECK;

/**
 * cs_proteins_align - append all alignments of a protein, or of a part of one, to a list
 *
 * letter   [n] without stops; CS_PROTEIN_MARGIN stops are before and behind them
 * Returns  CS_OK; CS_EMEM without a message
 * Thread   any
 */
int cs_proteins_align(const cs_proteins *p, const uint8_t *letter, int64_t n,
                      cs_protein_list *list) CS_MUST_CHECK;

/** cs_protein_features - of each node the values that weights belong to: f [p->tree.n *
 * CS_PROTEIN_FEATURES] */
void cs_protein_features(const cs_proteins *p, const cs_protein_hits *hits, float *f);

/**
 * cs_proteins_evidence - added to a sequence's raw prediction: features by weights, and constants
 *
 * A class has the sum over its node and those above it.
 *
 * n_thread as in cs_proteins_search(); out [n_class]; returns as cs_proteins_search()
 */
int cs_proteins_evidence(const cs_proteins *p, const char *base, int64_t n_base, int n_thread,
                         float *out) CS_MUST_CHECK;

#endif

/* proteins.h - a database of proteins in a model, the search of sequences in it, and its evidence
 * for classes. */
#ifndef CS_NN_EXEC_PROTEINS_H
#define CS_NN_EXEC_PROTEINS_H

#include <stdint.h>

#include "base/err.h"

enum {
    CS_PROTEIN_MAX_CLASSES = 160,
    CS_PROTEIN_MAX_OWN = 16,             /* classes, for weights of their own */
    CS_PROTEIN_MAX_LETTERS = 1 << 29,    /* of a database, with separators */
    CS_PROTEIN_MAX_LENGTH = 65535,       /* letters of a protein */
    CS_PROTEIN_FEATURES = 9,             /* of a class: see cs_protein_features() */
    CS_PROTEIN_WEIGHTS = CS_PROTEIN_FEATURES + 1,    /* of a class, the constant last */
    CS_PROTEIN_SPAN = 13,                /* letters from the first to the last of a seed */
    CS_PROTEIN_MARGIN = 32,              /* stops before and after the letters of a search */
    CS_PROTEIN_BACKGROUND = 45,          /* score of no alignment; subtracted from scores in sums */
    CS_PROTEIN_SHARE_SCORE = 300         /* maximum of scores in shares */
};

/* Settings of a new database. A letter of the seed is four bits of one, the first letter on top. */
#define CS_PROTEIN_SEED 0xf00f00ff0f0ffu
enum {
    CS_PROTEIN_MIN_EQUAL = 8,            /* equal letters around a seed, for an extension */
    CS_PROTEIN_MIN_SCORE = 60,           /* of an alignment */
    CS_PROTEIN_SHADOW = 2                /* skip frames under frames longer by this factor */
};

/* Letters are those of tok/translate.h; a stop separates proteins, and is first and last, with
 * CS_PROTEIN_MARGIN more on both sides. */
typedef struct cs_proteins {
    int32_t   n_class;
    int64_t   n, n_letter;       /* proteins; letters with their separators */
    uint8_t  *letter;            /* [n_letter] */
    uint32_t *start;             /* [n] a protein's first letter, increasing */
    uint8_t  *class_no;          /* [n] */
    float    *weight;            /* [n_class * CS_PROTEIN_WEIGHTS] */
    uint64_t  seed;              /* as CS_PROTEIN_SEED */
    int32_t   min_equal;         /* equal letters, of 32 around a seed, for an extension */
    int32_t   min_score;         /* of an alignment that counts */
    int32_t   shadow;            /* frames mostly covered by frames more than this many times as
                                  * long are skipped; 0: none */
    int32_t   bucket_bits;       /* the index, by cs_proteins_index(): */
    int32_t   fingerprint_bits;  /* further bits of a hash, in an entry */
    uint32_t *first;             /* [2^bucket_bits + 1] a bucket's first entry */
    uint32_t *entry;             /* a seed's position above those bits, by buckets */
    uint32_t *mark;              /* protein at every 256th letter */
    uint16_t *seen;              /* [4096] groups of three letters, as bits */
} cs_proteins;

/* Results of a search, per class. Scores of a class in an open reading frame are those of its best
 * alignment; sums are over frames. */
typedef struct cs_protein_hits {
    int64_t best[CS_PROTEIN_MAX_CLASSES];        /* highest score */
    int64_t sum[CS_PROTEIN_MAX_CLASSES];         /* scores above the background */
    int64_t margin[CS_PROTEIN_MAX_CLASSES];      /* lead over the next class, of the best class */
    int64_t wins[CS_PROTEIN_MAX_CLASSES];        /* frames whose best class it is */
    int64_t share[CS_PROTEIN_MAX_CLASSES];       /* exp(score / 10) + exp(background / 10), divided
                                                  * by its sum over classes, in units of 2^-20 */
    int64_t log_share[CS_PROTEIN_MAX_CLASSES];   /* its natural logarithm, in the same units */
    int64_t n_frame;                             /* frames with an alignment, in both shares */
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
 * cs_proteins_new - space for n proteins of n_letter letters with separators
 *
 * Returns  CS_OK, weights zero, the seed of new databases; CS_EUSAGE (too many classes or letters,
 *          or none); CS_EMEM
 */
int cs_proteins_new(int32_t n_class, int64_t n, int64_t n_letter, cs_proteins **out) CS_MUST_CHECK;
/** cs_proteins_copy - another one with the same proteins, weights and index, which p has; CS_OK or
 * CS_EMEM */
int  cs_proteins_copy(const cs_proteins *p, cs_proteins **out) CS_MUST_CHECK;
void cs_proteins_free(cs_proteins *p);

/**
 * cs_proteins_index - index the seeds of a database whose letters are final
 *
 * Memory: four to five bytes per letter.
 * Returns  CS_OK or CS_EMEM
 */
int cs_proteins_index(cs_proteins *p) CS_MUST_CHECK;

/**
 * cs_proteins_search - align all six reading frames of a sequence with the proteins
 *
 * Seeds are spaced letters of an alphabet of ten. Where letters around a seed's match are equal
 * (min_equal), it is extended in both directions without gaps, by BLOSUM62 (Henikoff and
 * Henikoff 1992), until the score drops. Frames are split at stops; of each part the best score
 * per class counts. Parts mostly covered by parts more than p->shadow times as long are skipped.
 * The same for the reverse complement.
 *
 * Returns  CS_OK; CS_EMEM without a message (it takes 0.42 bytes per base)
 * Thread   any
 */
int cs_proteins_search(const cs_proteins *p, const char *base, int64_t n_base,
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

/** cs_protein_features - of each class the values that weights belong to: f [n_class *
 * CS_PROTEIN_FEATURES] */
void cs_protein_features(const cs_protein_hits *hits, int32_t n_class, float *f);

/**
 * cs_proteins_evidence - added to a sequence's raw prediction: features by weights, and constants
 *
 * out [n_class]; returns as cs_proteins_search()
 */
int cs_proteins_evidence(const cs_proteins *p, const char *base, int64_t n_base,
                         float *out) CS_MUST_CHECK;

#endif

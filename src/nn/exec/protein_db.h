/* protein_db.h - a database of proteins in a model, and the index of its seeds. */
#ifndef CS_NN_EXEC_PROTEIN_DB_H
#define CS_NN_EXEC_PROTEIN_DB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum {
    CS_PROTEIN_MAX_CLASSES = 160,
    CS_PROTEIN_MAX_NODES = 2 * CS_PROTEIN_MAX_CLASSES,   /* classes and the taxa above them */
    CS_PROTEIN_MAX_OWN = 16,             /* top nodes, for weights of their own */
    CS_PROTEIN_MAX_LETTERS = 1 << 29,    /* of a database, with separators */
    CS_PROTEIN_MAX_LENGTH = 65535,       /* letters of a protein */
    CS_PROTEIN_FEATURES = 9,             /* of a node: see cs_protein_features() */
    CS_PROTEIN_WEIGHTS = CS_PROTEIN_FEATURES + 1,    /* of a node, the constant last */
    CS_PROTEIN_SPAN = 13,                /* letters from the first to the last of a seed */
    CS_PROTEIN_MARK = 256,               /* letters per element of cs_proteins.mark */
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

/* The tree of the classes. Nodes are the classes, then taxa above them; a class may also be above
 * others. Siblings are compared with each other, so they have adjacent places. Without a tree, all
 * classes are siblings, in their order. */
typedef struct cs_protein_tree {
    int32_t  n;                  /* nodes */
    int32_t *parent;             /* [n] the node above, or -1: a top node */
    int32_t *place;              /* [n] of each node */
    int32_t *node;               /* [n] at each place */
    int32_t *first;              /* [n_set + 1] first place of each set of siblings; the top nodes
                                  * are the first set */
    int32_t  n_set;
} cs_protein_tree;

/* Letters are those of tok/translate.h; a stop separates proteins, and is first and last, with
 * CS_PROTEIN_MARGIN more on both sides. */
typedef struct cs_proteins {
    int32_t   n_class;
    cs_protein_tree tree;
    int64_t   n, n_letter;       /* proteins; letters with their separators */
    uint8_t  *letter;            /* [n_letter] */
    uint32_t *start;             /* [n] a protein's first letter, increasing */
    uint8_t  *class_no;          /* [n] */
    float    *weight;            /* [tree.n * CS_PROTEIN_WEIGHTS] */
    uint64_t  seed;              /* as CS_PROTEIN_SEED */
    int32_t   min_equal;         /* equal letters, of 32 around a seed, for an extension */
    int32_t   min_score;         /* of an alignment that counts */
    int32_t   shadow;            /* frames mostly covered by frames more than this many times as
                                  * long are skipped; 0: none */
    int32_t   bucket_bits;       /* the index, by cs_proteins_index(): */
    int32_t   fingerprint_bits;  /* further bits of a hash, in an entry */
    uint32_t *first;             /* [2^bucket_bits + 1] a bucket's first entry; NULL: no index */
    uint32_t *entry;             /* a seed's position above those bits, by buckets */
    uint32_t *mark;              /* protein at every CS_PROTEIN_MARK letters */
    uint8_t   place[CS_PROTEIN_SPAN];    /* [n_place] of the seed's letters, the first is 0 */
    int32_t   n_place;
} cs_proteins;

/**
 * cs_proteins_new - space for n proteins of n_letter letters with separators
 *
 * Returns  CS_OK, weights zero, no tree, the seed of new databases; CS_EUSAGE (too many classes
 *          or letters, or none); CS_EMEM
 */
int cs_proteins_new(int32_t n_class, int64_t n, int64_t n_letter, cs_proteins **out) CS_MUST_CHECK;
/** cs_proteins_copy - another one with the same proteins, weights and index, if p has one; CS_OK
 * or CS_EMEM */
int  cs_proteins_copy(const cs_proteins *p, cs_proteins **out) CS_MUST_CHECK;
void cs_proteins_free(cs_proteins *p);

/**
 * cs_proteins_set_tree - compare taxa with their siblings, instead of all classes with each other
 *
 * parent   [n] for each class, then for taxa above classes: the node above, or -1
 * Returns  CS_OK, weights zero; CS_EUSAGE unless this is a tree of n_class to CS_PROTEIN_MAX_NODES
 *          nodes, in which every further taxon is above others
 */
int cs_proteins_set_tree(cs_proteins *p, int32_t n, const int32_t *parent) CS_MUST_CHECK;
/** cs_proteins_same_tree - have two databases the same nodes? */
bool cs_proteins_same_tree(const cs_proteins *a, const cs_proteins *b);

/**
 * cs_proteins_index - index the seeds of a database whose letters are final
 *
 * Memory: four to five bytes per letter, and two more until it returns.
 *
 * n_thread  threads that build it; it does not depend on their number
 * Returns   CS_OK or CS_EMEM
 */
int cs_proteins_index(cs_proteins *p, int n_thread) CS_MUST_CHECK;
/** cs_proteins_need_index - the same unless it has an index; before a search in a model's database,
 * which is not indexed when it is read. NULL: there is none */
int cs_proteins_need_index(cs_proteins *p, int n_thread) CS_MUST_CHECK;

enum { CS_PROTEIN_BLOCK = 512 };         /* seeds that are hashed at a time */

/** cs_protein_seeds - hashes of the seeds that begin at each of n letters, of which n +
 * CS_PROTEIN_SPAN - 1 are readable; 0: skipped */
void cs_protein_seeds(const cs_proteins *p, const uint8_t *letter, int n, uint64_t *hash);

/** cs_protein_bucket, cs_protein_fingerprint - bucket of a hash, and the bits in its entry */
static inline uint32_t cs_protein_bucket(const cs_proteins *p, uint64_t hash)
{
    return p->bucket_bits ? (uint32_t)(hash >> (64 - p->bucket_bits)) : 0;
}
static inline uint32_t cs_protein_fingerprint(const cs_proteins *p, uint64_t hash)
{
    return (uint32_t)(hash << p->bucket_bits >> (64 - p->fingerprint_bits));
}

#endif

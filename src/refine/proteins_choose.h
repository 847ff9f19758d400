/* proteins_choose.h - choose the proteins of a database: those that separate classes best. */
#ifndef CS_REFINE_PROTEINS_CHOOSE_H
#define CS_REFINE_PROTEINS_CHOOSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Proteins to choose from. Letters are those of tok/translate.h, with a stop before and after
 * every protein. */
typedef struct cs_protein_pool {
    size_t    n;
    int32_t   n_class;
    uint8_t  *letter;
    int64_t  *start;             /* [n] a protein's first letter, increasing */
    uint16_t *length;            /* [n] letters */
    uint8_t  *class_no;          /* [n] */
    uint64_t *group;             /* [n] of relatives */
} cs_protein_pool;

/**
 * cs_proteins_choose - proteins that best predict the classes of proteins of other groups
 *
 * Every protein of the pool is a query (the middle 1,000 letters). It is aligned with all proteins
 * of other groups, as by cs_proteins_search(); the best 24 per class count. The probability of a
 * class is the softmax of score / 10, with the best score of its chosen proteins, at least that of
 * a background. Greedily, the next protein is the one with the largest increase per byte of the sum
 * over queries of log(0.1 + probability of the query's class); gains are updated lazily (Minoux
 * 1978). All classes have the same weight, and within a class a group has the square root of its
 * number of queries. When no protein increases the sum, the rest is filled in the pool's order, in
 * equal shares of the classes.
 *
 * max_bytes  of the database in a file
 * n_thread   threads that align; the result does not depend on their number
 * chosen     [pool->n] receives proteins in the order of their choice; n: their number
 * Returns    CS_OK; CS_EMEM. Memory: an index of 33 million letters, 16 bytes per alignment
 */
int cs_proteins_choose(const cs_protein_pool *pool, int64_t max_bytes, int n_thread,
                       uint32_t *chosen, size_t *n) CS_MUST_CHECK;

#endif

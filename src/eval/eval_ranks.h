/* eval_ranks.h - accuracy per taxonomic rank. */
#ifndef CS_EVAL_EVAL_RANKS_H
#define CS_EVAL_EVAL_RANKS_H

#include "eval/metrics.h"
#include "infer/taxa.h"

/* Truth and calls as nodes of a model's tree. */
typedef struct cs_eval_ranks {
    cs_taxonomy *taxonomy;
    cs_tree      tree;
    int32_t     *truth;          /* [n_truth] the node of each class of the labels */
    int          n_truth;
    const char **rank;           /* [n] names, from the top down; the taxonomy owns them */
    int          n;
} cs_eval_ranks;

/**
 * cs_eval_ranks_init - for a model with a taxonomy; for others n is 0
 *
 * classes  the model's classes, then labels that it lacks
 * Returns  CS_OK (cs_eval_ranks_release() it); CS_EMODEL; CS_EMEM
 */
int cs_eval_ranks_init(cs_eval_ranks *e, const cs_model *m, const char *path,
                       const cs_classes *classes) CS_MUST_CHECK;
void cs_eval_ranks_release(cs_eval_ranks *e);

/**
 * cs_eval_ranks_count - count right calls of the records with lo <= length < hi
 *
 * A record counts at the ranks where its truth has a taxon known to the model. It is called as by
 * `classify --call taxon` without a minimum probability.
 *
 * n, n_right  [e->n]
 */
void cs_eval_ranks_count(const cs_eval_ranks *e, const cs_scores *s, int64_t lo, int64_t hi,
                         int64_t *n, int64_t *n_right);

#endif

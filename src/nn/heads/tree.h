/* tree.h - probabilities and calls on the tree of classes. */
#ifndef CS_NN_TREE_H
#define CS_NN_TREE_H

#include <stdint.h>

/* Node 0 is the root. Nodes are in preorder: a clade is a node and its immediate successors. */
typedef struct cs_tree {
    const int32_t *parent;       /* [n_node] a node before this one; -1: the root */
    const int32_t *class_no;     /* [n_node] the class that it is, or -1 */
    const int32_t *of_class;     /* [n_class] the node of each class */
    int32_t        n_node, n_class;
    const int32_t *is_other;     /* [n_node] 1: the other taxa of the parent; NULL: none */
} cs_tree;

/** cs_tree_within - is node `at` in the clade of node `top`? */
int cs_tree_within(const cs_tree *t, int32_t at, int32_t top);

/** cs_tree_top - the deepest node above all classes: a call of it has no information */
int32_t cs_tree_top(const cs_tree *t);

/**
 * cs_tree_call - the deepest node with sufficient probability, the sum over its clade's classes
 *
 * Descends from cs_tree_top() to the most probable child (the first of equals) while the child's
 * probability is at least `min_prob` and that of the node's own class, if any, and the child is
 * not the other taxa of a taxon that can be called.
 *
 * v        [n_class] probabilities
 * p        receives the probability of the node returned, or of the best child where none passed
 * Returns  a node below the top, or 0: no child of it is sufficient
 */
int32_t cs_tree_call(const cs_tree *t, const float *v, double min_prob, double *p);

#endif

/* tree.c - probabilities and calls on the tree of classes. */
#include "nn/heads/tree.h"

int cs_tree_within(const cs_tree *t, int32_t at, int32_t top)
{
    while (at > top)
        at = t->parent[at];
    return at == top;
}

/* The first node after a clade. */
static int32_t end_of(const cs_tree *t, int32_t node)
{
    int32_t i = node + 1;

    while (i < t->n_node && t->parent[i] >= node)
        i++;
    return i;
}

int32_t cs_tree_top(const cs_tree *t)
{
    int32_t at = 0;

    /* Its only child spans the rest, and it is not a class itself. */
    while (at + 1 < t->n_node && t->class_no[at] < 0 && end_of(t, at + 1) == t->n_node)
        at++;
    return at;
}

/* The most probable child, with its probability; 0: a leaf. */
static int32_t best_child(const cs_tree *t, const float *v, int32_t node, double *p)
{
    int32_t best = 0, child = node + 1;
    double sum = 0;

    *p = 0;
    for (int32_t i = node + 1; i < t->n_node && t->parent[i] >= node; i++) {
        if (t->parent[i] == node) {
            child = i;
            sum = 0;
        }
        if (t->class_no[i] >= 0)
            sum += (double)v[t->class_no[i]];
        const int complete = i + 1 >= t->n_node || t->parent[i + 1] <= node;
        if (complete && (best == 0 || sum > *p)) {
            best = child;
            *p = sum;
        }
    }
    return best;
}

int32_t cs_tree_call(const cs_tree *t, const float *v, double min_prob, double *p)
{
    int32_t at = cs_tree_top(t), call = 0;
    double best;

    *p = 0;
    for (;;) {
        const int32_t child = best_child(t, v, at, &best), own = t->class_no[at];
        if (child != 0 && call == 0)
            *p = best;
        if (child == 0 || best < min_prob || (own >= 0 && (double)v[own] > best) ||
            (call != 0 && t->is_other && t->is_other[child]))
            return call;
        at = call = child;
        *p = best;
    }
}

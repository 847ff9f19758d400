/*
 * head_tree.c - classes in a tree: one softmax, whose probabilities are summed up the tree.
 *
 * DESIGN. The probability of a taxon is the sum over its classes. So the taxa of a rank sum to 1,
 * and none exceeds its parent. A softmax per rank was rejected: it may call a genus outside of the
 * called family, and it needs parameters for every rank. The loss of a record of class t is
 *
 *     (-log P(t) + a mean over the ancestors v of t of -log P(v)) / (1 + a)
 *
 * This is the hierarchical cross-entropy of Bertinetto, Mueller, Tertikas, Samangooei, Lord (Making
 * Better Mistakes, CVPR 2020, eq. 3): its conditional probabilities telescope to these. Ancestors
 * of all classes are left out, because their term is 0, and ancestors of the same classes as the
 * next lower taxon, because a split would count twice. A class above other classes means "this
 * taxon, undetermined below": its P(t) includes theirs.
 *
 * Predictions are those of the head `class`: the temperature divides the classes' logits, and taxa
 * are sums over the softmax.
 */
#include <math.h>
#include <string.h>

#include "nn/heads/head.h"
#include "nn/heads/pooled.h"
#include "nn/ops/ops.h"

/* Classes in the clade of each node. */
static int32_t *clade_sizes(const cs_tree *t)
{
    int32_t *n = cs_alloc((size_t)t->n_node + 1, sizeof *n);

    for (int32_t i = 0; n && i < t->n_node; i++)
        n[i] = t->class_no[i] >= 0;
    for (int32_t i = t->n_node - 1; n && i > 0; i--)
        n[t->parent[i]] += n[i];
    return n;
}

/* The nodes in the loss of one class, from the class upwards; returns their number. node: receives
 * them, or NULL */
static int32_t terms(const cs_tree *t, const int32_t *size, int32_t class_no, int32_t *node)
{
    int32_t n = 0, last = 0;

    for (int32_t at = t->of_class[class_no]; at > 0 && size[at] < t->n_class; at = t->parent[at]) {
        if (size[at] == last)
            continue;
        last = size[at];
        if (node)
            node[n] = at;
        n++;
    }
    return n;
}

/* group (level, class): the node of each class at a level; share: its weight in the loss. Level 0
 * is the topmost node, because a taxon must have the same level for all of its classes. */
static void tree_fill(cs_pooled *p, const cs_tree *t, const int32_t *size, int32_t *node)
{
    const int32_t n = t->n_class;

    for (int64_t i = 0; i < (int64_t)p->n_level * n; i++)
        p->group[i] = (cs_real)NAN;
    memset(p->share, 0, (size_t)p->n_level * (size_t)n * sizeof *p->share);
    for (int32_t c = 0; c < n; c++) {
        const int32_t k = terms(t, size, c, node);
        const double a = k > 1 ? p->cfg.ancestors : 0;
        for (int32_t i = 0; i < k; i++) {
            const int64_t at = (int64_t)(k - 1 - i) * n + c;
            p->group[at] = (cs_real)node[i];
            p->share[at] = (cs_real)((i == 0 ? 1 : a / (k - 1)) / (1 + a));
        }
    }
}

static int tree_set_taxonomy(void *net, const cs_tree *t)
{
    int rc = CS_OK;
    cs_pooled *p = net;
    int32_t *size = clade_sizes(t), *node = cs_alloc((size_t)t->n_node + 1, sizeof *node);
    int32_t max = 0;

    CS_BUG(t->n_class != p->out.n_out || p->group);
    for (int32_t c = 0; size && c < t->n_class; c++) {
        const int32_t k = terms(t, size, c, NULL);
        max = k > max ? k : max;
    }
    const size_t n = (size_t)max * (size_t)t->n_class;
    p->group = cs_alloc(n + 1, sizeof *p->group);
    p->share = cs_alloc(n + 1, sizeof *p->share);
    if (size && node && p->group && p->share) {
        p->n_level = max;
        tree_fill(p, t, size, node);
    } else {
        rc = cs_fail(CS_EMEM, "out of memory for a tree of %d taxa", (int)t->n_node);
    }
    free(size);
    free(node);
    return rc;
}

/* Uploads group and share once: they are constant. */
static cs_clades clades(cs_ctx *cx, const cs_pooled *p, cs_mat weight)
{
    const int32_t n = p->out.n_out;
    const int64_t n_real = (int64_t)p->n_level * n;
    const size_t n_bytes = (size_t)n_real * sizeof(cs_real);
    int64_t *done;
    cs_real *group = cs_cached_fixed(cx, p, 2 * n_real, &done);
    cs_real *share = cx->dry ? NULL : group + n_real;

    if (!cx->dry && *done == 0) {
        cx->be->op.upload(cx->be, group, p->group, n_bytes);
        cx->be->op.upload(cx->be, share, p->share, n_bytes);
        *done = 1;
    }
    return (cs_clades){ weight, { group, p->n_level, n, n }, { share, p->n_level, n, n } };
}

static void tree_loss(cs_ctx *cx, const void *net, cs_mat y, cs_mat target, cs_mat weight,
                      cs_real scale)
{
    const cs_pooled *p = net;

    if (p->n_level == 0) {
        cs_xent(cx, scale, y, target, weight);
        return;
    }
    const cs_clades k = clades(cx, p, weight);
    cs_xent_tree(cx, scale, &k, y, target);
}

const cs_head cs_head_tree = {
    .name = "tree",
    .is_class = true,
    .check = cs_pooled_check_tree,
    .set_taxonomy = tree_set_taxonomy,
    .n_target = cs_pooled_class,
    .activate = cs_pooled_softmax,
    .decide = cs_pooled_decide_class,
    .loss = tree_loss,
    CS_POOLED_HEAD
};

/* eval_ranks.c - accuracy per taxonomic rank. */
#include "eval/eval_ranks.h"

#include <math.h>
#include <string.h>

/* The rank's index in the list, or -1. */
static int find_rank(const cs_eval_ranks *e, const char *rank)
{
    for (int i = 0; i < e->n; i++)
        if (strcmp(e->rank[i], rank) == 0)
            return i;
    return -1;
}

/* A rank precedes those of all descendants of its first taxon; nodes are in preorder, so each is
 * inserted right after that of its nearest ancestor. */
static void list_ranks(cs_eval_ranks *e)
{
    const cs_taxonomy *t = e->taxonomy;

    for (int32_t i = 1; i < t->n; i++) {
        int at = 0;
        const char *rank = t->node[i].rank;
        if (strcmp(rank, "no rank") == 0 || strcmp(rank, CS_RANK_OTHER) == 0 ||
            find_rank(e, rank) >= 0)
            continue;
        for (int32_t up = t->node[i].parent; up > 0 && at == 0; up = t->node[up].parent)
            at = find_rank(e, t->node[up].rank) + 1;
        memmove(e->rank + at + 1, e->rank + at, (size_t)(e->n - at) * sizeof *e->rank);
        e->rank[at] = t->node[i].rank;
        e->n++;
    }
}

int cs_eval_ranks_init(cs_eval_ranks *e, const cs_model *m, const char *path,
                       const cs_classes *classes)
{
    int rc = CS_OK;

    *e = (cs_eval_ranks){ .n_truth = classes->n };
    if (!m->head->is_class || m->head->per_token || !m->taxonomy)
        return CS_OK;
    CS_TRY(cs_taxa_of(m, path, &e->taxonomy));
    CS_TRY(cs_taxa_tree(e->taxonomy, &e->tree));
    e->truth = cs_alloc((size_t)e->n_truth, sizeof *e->truth);
    e->rank = cs_alloc((size_t)e->taxonomy->n, sizeof *e->rank);
    if (!e->truth || !e->rank) {
        rc = cs_fail(CS_EMEM, "out of memory for a taxonomy of %d taxa", (int)e->taxonomy->n);
        goto out;
    }
    CS_TRY(cs_taxa_places(m, e->taxonomy, classes, e->truth));
    list_ranks(e);
out:
    return rc;
}

void cs_eval_ranks_release(cs_eval_ranks *e)
{
    cs_taxa_tree_release(&e->tree);
    cs_taxonomy_free(e->taxonomy);
    free(e->truth);
    free(e->rank);
    *e = (cs_eval_ranks){ 0 };
}

static int32_t at_rank(const cs_taxonomy *t, int32_t node, const char *rank)
{
    while (node > 0 && strcmp(t->node[node].rank, rank) != 0)
        node = t->node[node].parent;
    return node > 0 ? node : 0;
}

void cs_eval_ranks_count(const cs_eval_ranks *e, const cs_scores *s, int64_t lo, int64_t hi,
                         int64_t *n, int64_t *n_right)
{
    double p;

    if (e->n == 0)
        return;
    memset(n, 0, (size_t)e->n * sizeof *n);
    memset(n_right, 0, (size_t)e->n * sizeof *n_right);
    for (int64_t i = 0; i < s->n; i++) {
        if (s->length[i] < lo || s->length[i] >= hi || isnan(s->target[i * s->n_target]))
            continue;
        const int32_t truth = e->truth[cs_scores_truth(s, i)];
        const int32_t call = cs_tree_call(&e->tree, s->output + i * s->n_out, 0, &p);
        for (int k = 0; k < e->n; k++) {
            const int32_t want = at_rank(e->taxonomy, truth, e->rank[k]);
            n[k] += want > 0;
            n_right[k] += want > 0 && at_rank(e->taxonomy, call, e->rank[k]) == want;
        }
    }
}

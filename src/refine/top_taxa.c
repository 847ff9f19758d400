/* top_taxa.c - top taxa of a model's tree, which a table or database tells apart first. */
#include "refine/top_taxa.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "infer/taxa.h"
#include "nn/heads/tree.h"

/* What is known of each node of the taxonomy; [n] each. */
struct taxa {
    const cs_model    *m;
    const cs_taxonomy *t;
    bool    *is_top, *inside;    /* a top taxon, or below one */
    int32_t *n_class;            /* classes in its clade that are not below another top taxon */
    int32_t *n_branch;           /* children with such classes */
    int32_t *node;               /* number in the database, or -1 */
};

static void taxa_init(struct taxa *x, const cs_model *m, const cs_taxonomy *t)
{
    const size_t n = (size_t)t->n;

    *x = (struct taxa){ m, t, cs_xcalloc(n, sizeof *x->is_top), cs_xcalloc(n, sizeof *x->inside),
                        cs_xcalloc(n, sizeof *x->n_class), cs_xcalloc(n, sizeof *x->n_branch),
                        cs_xcalloc(n, sizeof *x->node) };
}

static void taxa_free(struct taxa *x)
{
    CS_FREE(x->is_top, x->inside, x->n_class, x->n_branch, x->node);
}

/* ---- top taxa -------------------------------------------------------------------------------- */

static bool is_named(const struct taxa *x, int32_t i, const char *name)
{
    const cs_taxon *v = &x->t->node[i];
    char taxid[32];

    (void)snprintf(taxid, sizeof taxid, "%" PRId64, v->taxid);
    return strcmp(v->name, name) == 0 || strcmp(taxid, name) == 0 ||
           (v->class_no >= 0 && strcmp(x->m->label[v->class_no].name, name) == 0);
}

static int mark_named(struct taxa *x, const char *name)
{
    for (int32_t i = 0; i < x->t->n; i++)
        if (is_named(x, i, name)) {
            x->is_top[i] = true;
            return CS_OK;
        }
    return cs_fail(CS_EUSAGE, "the tree of the model has no taxon '%s' for %s; 'chordseq model "
                   "show' lists its classes", name, CS_OPTION("top-taxa"));
}

static int mark_list(struct taxa *x, const char *list)
{
    int rc = CS_OK;
    char *copy = cs_xstrdup(list), *save = NULL;

    for (char *s = strtok_r(copy, ",", &save); s && rc == CS_OK; s = strtok_r(NULL, ",", &save))
        rc = mark_named(x, s);
    free(copy);
    return rc;
}

static int mark_children(struct taxa *x)
{
    int rc = CS_OK;
    cs_tree tree;

    CS_TRY(cs_taxa_tree(x->t, &tree));
    const int32_t top = cs_tree_top(&tree);
    for (int32_t i = top + 1; i < x->t->n; i++)
        x->is_top[i] = x->t->node[i].parent == top;
    cs_taxa_tree_release(&tree);
out:
    return rc;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Counts classes and branches; nodes are in preorder. */
static void count_classes(struct taxa *x)
{
    const cs_taxon *node = x->t->node;

    for (int32_t i = 0; i < x->t->n; i++) {
        x->inside[i] = x->is_top[i] || (i > 0 && x->inside[node[i].parent]);
        x->n_class[i] = node[i].class_no >= 0;
    }
    for (int32_t i = x->t->n - 1; i > 0; i--) {
        if (x->is_top[i] || x->n_class[i] == 0)
            continue;
        x->n_class[node[i].parent] += x->n_class[i];
        x->n_branch[node[i].parent]++;
    }
}

/* Numbers the nodes, classes first; returns their number. parent receives those above them. */
static int32_t number_nodes(struct taxa *x, int32_t *parent)
{
    const cs_taxon *node = x->t->node;
    int32_t n = x->t->n_class, *above = cs_xcalloc((size_t)x->t->n, sizeof *above);

    for (int32_t i = 0; i < x->t->n; i++) {
        const int32_t up = node[i].parent;
        above[i] = x->is_top[i] || i == 0 ? -1 : x->node[up] >= 0 ? x->node[up] : above[up];
        x->node[i] = node[i].class_no >= 0 ? node[i].class_no
                   : x->inside[i] && x->n_branch[i] > 1 ? n++ : -1;
        if (x->node[i] >= 0)
            parent[x->node[i]] = above[i];
    }
    free(above);
    return n;
}

int cs_protein_taxa(const cs_model *m, const char *top, int32_t *parent, int32_t *n)
{
    int rc = CS_OK;
    cs_taxonomy *t = NULL;
    struct taxa x = { 0 };

    *n = 0;
    if (!m->head->set_taxonomy || !m->taxonomy)
        return top ? cs_fail(CS_EUSAGE, "%s is for models with the head 'tree'",
                             CS_OPTION("top-taxa"))
                   : CS_OK;
    CS_TRY(cs_taxa_of(m, "the model", &t));
    taxa_init(&x, m, t);
    if (top)
        CS_TRY(mark_list(&x, top));
    else
        CS_TRY(mark_children(&x));
    count_classes(&x);
    *n = number_nodes(&x, parent);
out:
    taxa_free(&x);
    cs_taxonomy_free(t);
    return rc;
}

int cs_top_taxa_classes(const cs_model *m, const char *top, int32_t *class_of, int32_t *n)
{
    int rc = CS_OK;
    int32_t n_node, *parent = cs_xcalloc(2 * (size_t)m->n_label, sizeof *parent);
    int32_t *number = cs_xcalloc(2 * (size_t)m->n_label, sizeof *number);

    *n = 0;
    CS_TRY(cs_protein_taxa(m, top, parent, &n_node));
    for (int32_t k = 0; k < m->n_label && n_node > 0; k++) {
        int32_t at = k;
        while (parent[at] >= 0)
            at = parent[at];
        if (number[at] == 0)
            number[at] = ++*n;
        class_of[k] = number[at] - 1;
    }
out:
    CS_FREE(parent, number);
    return rc;
}

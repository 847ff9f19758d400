/* top_taxa.h - top taxa of a model's tree, which a table or database tells apart first. */
#ifndef CS_REFINE_TOP_TAXA_H
#define CS_REFINE_TOP_TAXA_H

#include "nn/exec/model.h"

/**
 * cs_protein_taxa - the tree for cs_proteins_set_tree(), of a model with the head `tree`
 *
 * Nodes are the classes, and the taxa above them that have two branches or more, up to the top
 * taxa.
 *
 * top      names or taxids of the top taxa, separated by commas; NULL: the children of the lowest
 *          taxon above all classes. One may be below another, and is then compared with it, not
 *          with its siblings in the taxonomy. Classes outside of all are top nodes
 * parent   [2 * n_label] receives the parent of each node
 * n        receives the number of nodes; 0: another head
 * Returns  CS_OK; CS_EUSAGE (an unknown taxon, a list for another head); CS_EMODEL; CS_EMEM
 */
int cs_protein_taxa(const cs_model *m, const char *top, int32_t *parent, int32_t *n)
    CS_MUST_CHECK;

/**
 * cs_top_taxa_classes - the top taxon of each class, for cs_lookup_set_classes()
 *
 * top       as above
 * class_of  [n_label] receives the number of its top taxon, by the order of their first classes
 * n         receives the number of top taxa; 0: another head
 * Returns   as cs_protein_taxa()
 */
int cs_top_taxa_classes(const cs_model *m, const char *top, int32_t *class_of, int32_t *n)
    CS_MUST_CHECK;

#endif

/* protein_taxa.h - the taxa that a protein database compares, from the tree of a model. */
#ifndef CS_REFINE_PROTEIN_TAXA_H
#define CS_REFINE_PROTEIN_TAXA_H

#include "nn/exec/model.h"

/**
 * cs_protein_taxa - the tree for cs_proteins_set_tree(), of a model with the head `tree`
 *
 * Nodes are the classes, and the taxa above them that have two branches or more, up to the top
 * taxa.
 *
 * m        of at most CS_PROTEIN_MAX_CLASSES classes
 * top      names or taxids of the top taxa, separated by commas; NULL: the children of the lowest
 *          taxon above all classes. One may be below another, and is then compared with it, not
 *          with its siblings in the taxonomy. Classes outside of all are top nodes
 * parent   [CS_PROTEIN_MAX_NODES] receives the parent of each node
 * n        receives the number of nodes; 0: another head
 * Returns  CS_OK; CS_EUSAGE (an unknown taxon, a list for another head); CS_EMODEL; CS_EMEM
 */
int cs_protein_taxa(const cs_model *m, const char *top, int32_t *parent, int32_t *n)
    CS_MUST_CHECK;

#endif

/* taxa.h - options and tables that connect a model's labels with a taxonomy. */
#ifndef CS_INFER_TAXA_H
#define CS_INFER_TAXA_H

#include "io/labels.h"
#include "io/taxonomy.h"
#include "nn/exec/model.h"

/* --taxonomy FILE|FOLDER, --taxa FILE and --lineage RANKS, for `train` and `model label`. */
typedef struct cs_taxa_args { const char *taxonomy, *taxa, *lineage; } cs_taxa_args;
extern const cs_opt cs_taxa_table[];

/**
 * cs_taxa_set - assign a model's labels to nodes of a taxonomy
 *
 * Returns  CS_OK; CS_EUSAGE (no classes; ambiguous names); CS_EIO; CS_EFORMAT
 *
 * Does nothing without an option. Replaces the model's previous tree.
 */
int cs_taxa_set(cs_model *m, const cs_taxa_args *a) CS_MUST_CHECK;

/** cs_taxa_of - the tree of a model of classes, or one of root and classes if it has none;
 * cs_taxonomy_free() it. CS_OK; CS_EMODEL */
int cs_taxa_of(const cs_model *m, const char *path, cs_taxonomy **out) CS_MUST_CHECK;

/** cs_taxa_tree - the same tree in numbers; cs_taxa_tree_release() it. CS_OK or CS_EMEM */
int  cs_taxa_tree(const cs_taxonomy *t, cs_tree *out) CS_MUST_CHECK;
void cs_taxa_tree_release(cs_tree *t);

/** cs_taxa_set_head - pass the tree to a head that trains on it; CS_EUSAGE if the model has none */
int cs_taxa_set_head(cs_model *m) CS_MUST_CHECK;

/**
 * cs_taxa_places - the nodes of classes: the model's own, then others named by lineages, at their
 * deepest taxon in the tree (0: the root)
 *
 * node     [classes->n]
 */
int cs_taxa_places(const cs_model *m, const cs_taxonomy *t, const cs_classes *classes,
                   int32_t *node) CS_MUST_CHECK;

/** cs_taxa_depth - maximum number of parts of a class's lineage; 0: the classes are not lineages */
int cs_taxa_depth(const cs_model *m);

#endif

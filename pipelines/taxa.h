/* taxa.h - between a model's labels and the tree they stand in. */
#ifndef CS_PIPELINES_TAXA_H
#define CS_PIPELINES_TAXA_H

#include "io/taxonomy.h"
#include "nn/model.h"

/* --taxonomy FILE|FOLDER and --taxa FILE, as `train` and `model label` take them. */
typedef struct cs_taxa_args { const char *taxonomy, *taxa; } cs_taxa_args;
extern const cs_opt cs_taxa_table[];

/**
 * cs_taxa_set - give a model's labels their places in a taxonomy
 *
 * Returns  CS_OK; CS_EUSAGE (no classes; names that fit several taxa); CS_EIO; CS_EFORMAT
 *
 * Does nothing when neither option was given. A tree that the model had is replaced.
 */
int cs_taxa_set(cs_model *m, const cs_taxa_args *a) CS_MUST_CHECK;

/** cs_taxa_of - the tree of a model of classes, or one of root and classes if it has none;
 * cs_taxonomy_free() it. CS_OK; CS_EMODEL */
int cs_taxa_of(const cs_model *m, const char *path, cs_taxonomy **out) CS_MUST_CHECK;

#endif

/* taxonomy.h - taxonomy of a model's classes: taxids, ranks, names, parents. */
#ifndef CS_IO_TAXONOMY_H
#define CS_IO_TAXONOMY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Taxids of taxa unknown to NCBI start here, far above NCBI's and within 31 bits. They are stored
 * in the model, so they are the same in all of its outputs. */
enum { CS_TAXID_ROOT = 1, CS_TAXID_PRIVATE = 2000000001,
       CS_TAXONOMY_DEPTH = 1000 };   /* maximum steps from a taxon to the root */

/* Rank of a class for the other taxa of its parent: a call of it is a call of the parent. */
#define CS_RANK_OTHER "other"

typedef struct cs_taxon {
    int64_t taxid;               /* unique, at least 1 */
    int32_t parent;              /* parent node, before this one; -1: this is the root */
    int32_t class_no;            /* class number, or -1: an ancestor */
    char   *name, *rank;         /* rank "no rank" if none */
} cs_taxon;

/* Node 0 is the root; nodes are in preorder. Only classes and their ancestors. */
typedef struct cs_taxonomy {
    cs_taxon *node;              /* [n] */
    int32_t   n;
    int32_t  *of_class;          /* [n_class] the node of each class */
    int32_t   n_class;
} cs_taxonomy;

/* Labels of the classes, before building a tree. */
typedef struct cs_class_taxon { const char *name; int64_t taxid; const char *rank; } cs_class_taxon;

/**
 * cs_taxonomy_plain - a tree of the root and the classes: those without a taxid get private ones
 *
 * Returns  CS_OK; CS_EMODEL if two classes have the same taxid
 */
int cs_taxonomy_plain(const cs_class_taxon *c, int32_t n, cs_taxonomy **out) CS_MUST_CHECK;

/**
 * cs_taxonomy_read - from a table, from NCBI's taxonomy dump, or from both
 *
 * table    NULL, or a TSV of name, taxid, rank, parent, scientific name; the last two may be
 *          missing, "-" means none. A name is a class's or an ancestor's, a parent the taxid or
 *          name of a row: of several, the nearest of a higher rank. '#' starts a comment
 * dump     NULL, or a folder with nodes.dmp and names.dmp: with ancestors, and classes missing in
 *          the table, looked up by scientific name
 * Returns  CS_OK; CS_EIO; CS_EFORMAT with file and line, also for an ambiguous name in the table
 *          and if it has no class; CS_EUSAGE for an ambiguous name in the dump
 *
 * A class is the name or scientific name of one row, or a taxid. An unknown class is placed under
 * the root, with a warning.
 */
int cs_taxonomy_read(const char *table, const char *dump, const char *const *class_name, int32_t n,
                     cs_taxonomy **out) CS_MUST_CHECK;

/**
 * cs_taxonomy_lineages - of classes named by lineages, "Bacteria;Bacillota;Bacilli"
 *
 * ranks    of the parts, from the top down, with commas; or "prefixed": "d__Bacteria;p__Bacillota"
 * class_name  [n] as cs_lineage_tidy() leaves them
 * Returns  CS_OK; CS_EUSAGE (more parts than ranks, or "prefixed" without any prefix); CS_EMEM.
 *          Taxids are private ones
 */
int cs_taxonomy_lineages(const char *ranks, const char *const *class_name, int32_t n,
                         cs_taxonomy **out) CS_MUST_CHECK;
/**
 * cs_taxonomy_parse - parse the tree of a model or manifest, a JSON array
 *
 * what     the file, for messages
 * c        the model's classes, found in the tree by their taxids
 * Returns  CS_OK; CS_EMODEL (invalid tree, or a class missing in it), to which the caller adds the
 *          remedy; CS_EMEM
 */
int cs_taxonomy_parse(const char *text, const char *what, const cs_class_taxon *c, int32_t n,
                      cs_taxonomy **out) CS_MUST_CHECK;
/** cs_taxonomy_text - the text that cs_taxonomy_parse() reads; free() it. NULL when a name is not
 * UTF-8 */
char *cs_taxonomy_text(const cs_taxonomy *t);

void cs_taxonomy_free(cs_taxonomy *t);

/** cs_taxonomy_ncbi - the nearest node from `i` upwards that has a taxid of NCBI */
int32_t cs_taxonomy_ncbi(const cs_taxonomy *t, int32_t i);

#endif

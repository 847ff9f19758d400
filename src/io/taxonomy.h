/* taxonomy.h - taxonomy of a model's classes: taxids, ranks, names, parents. */
#ifndef CS_IO_TAXONOMY_H
#define CS_IO_TAXONOMY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Taxa that NCBI has no number for are numbered from here on, far above NCBI's and within 31 bits.
 * The numbers are kept in the model, so that they mean the same in all of its outputs. */
enum { CS_TAXID_ROOT = 1, CS_TAXID_PRIVATE = 2000000001,
       CS_TAXONOMY_DEPTH = 1000 };   /* most steps from a taxon to the root */

typedef struct cs_taxon {
    int64_t taxid;               /* unique, at least 1 */
    int32_t parent;              /* a node before this one; -1: this is the root */
    int32_t class_no;            /* the class that it is, or -1: an ancestor */
    char   *name, *rank;         /* rank "no rank" where there is none */
} cs_taxon;

/* Node 0 is the root; parents come before their children, a taxon right
 * before all that is below it. Only classes and their ancestors. */
typedef struct cs_taxonomy {
    cs_taxon *node;              /* [n] */
    int32_t   n;
    int32_t  *of_class;          /* [n_class] the node of each class */
    int32_t   n_class;
} cs_taxonomy;

/* What is known of the classes before there is a tree. */
typedef struct cs_class_taxon { const char *name; int64_t taxid; const char *rank; } cs_class_taxon;

/**
 * cs_taxonomy_plain - a tree of the root and the classes: those without a taxid get private ones
 *
 * Returns  CS_OK; CS_EMODEL when two classes have the same taxid
 */
int cs_taxonomy_plain(const cs_class_taxon *c, int32_t n, cs_taxonomy **out) CS_MUST_CHECK;

/**
 * cs_taxonomy_read - from a table, from NCBI's taxonomy dump, or from both
 *
 * table    NULL, or a TSV of name, taxid, rank, parent, scientific name; the last two may be
 *          missing, "-" stands for none. A name is a class's or an ancestor's, a parent the taxid
 *          or name of a row. '#' opens a comment
 * dump     NULL, or a folder with nodes.dmp and names.dmp: ancestors are taken from there, and
 *          classes that the table does not name are looked up by scientific name
 * Returns  CS_OK; CS_EIO; CS_EFORMAT with file and line; CS_EUSAGE when a name fits several taxa
 *
 * A class that nothing is known of is put under the root, with a warning.
 */
int cs_taxonomy_read(const char *table, const char *dump, const char *const *class_name, int32_t n,
                     cs_taxonomy **out) CS_MUST_CHECK;

/**
 * cs_taxonomy_lineages - of classes that are called by their lineages, "Bacteria;Bacillota;Bacilli"
 *
 * ranks    of the parts, from the top down, with commas; or "prefixed": "d__Bacteria;p__Bacillota"
 * class_name  [n] as cs_lineage_tidy() leaves them
 * Returns  CS_OK; CS_EUSAGE (more parts than ranks); CS_EMEM. Taxids are private ones
 */
int cs_taxonomy_lineages(const char *ranks, const char *const *class_name, int32_t n,
                         cs_taxonomy **out) CS_MUST_CHECK;
/** cs_lineage_tidy - take out blanks beside ';' and, at the end, parts that name nothing ("",
 * "g__", "unclassified", "unidentified"), and all beyond the first n_rank (0: none); in place */
void cs_lineage_tidy(char *s, int n_rank);
/** cs_lineage_cut - cut a lineage off behind its part of a rank, one of `ranks`; in place. False,
 * and nothing done, where the lineage does not get that far */
bool cs_lineage_cut(char *s, const char *ranks, const char *rank);
/** cs_lineage_cut_parts - the same behind its first n parts */
bool cs_lineage_cut_parts(char *s, int n);
/** cs_lineage_has_rank - is this one of `ranks`? "prefixed" has those of the letters */
bool cs_lineage_has_rank(const char *ranks, const char *rank);
/** cs_lineage_ranks - how many parts such a list of ranks keeps; 0: all of them ("prefixed") */
int cs_lineage_ranks(const char *ranks);

/**
 * cs_taxonomy_parse - the tree as a model keeps it, a JSON array
 *
 * what     names it in messages
 * c        the model's classes, found in the tree by their taxids
 * Returns  CS_OK; CS_EMODEL (no sound tree, or a class is not in it)
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

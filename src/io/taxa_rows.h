/* taxa_rows.h - rows of taxa before a tree is built. */
#ifndef CS_IO_TAXA_ROWS_H
#define CS_IO_TAXA_ROWS_H

#include "base/mem.h"
#include "base/names.h"

typedef struct cs_taxa_row {
    const char *name;            /* name of the class */
    const char *title;           /* scientific name, or NULL: the name itself */
    const char *rank;            /* or NULL */
    const char *parent;          /* taxid or name of a row, or NULL: the root */
    int64_t     taxid;           /* 0: none */
    int64_t     line;            /* of the table; 0: from elsewhere */
    size_t      same_name, same_title;   /* the next row of this name or title + 1; 0: none */
} cs_taxa_row;

typedef struct cs_taxa_rows {
    cs_taxa_row *row;
    size_t       n, cap;
    const char  *what;           /* source, for messages */
    cs_arena    *text;           /* holds the strings */
    cs_names     by_name, by_title, by_taxid;   /* the first row of each */
} cs_taxa_rows;

/** cs_taxa_rows_init - none, with an arena; cs_taxa_rows_release() them. what: see above */
void cs_taxa_rows_init(cs_taxa_rows *r, const char *what);
void cs_taxa_rows_release(cs_taxa_rows *r);
/** cs_taxa_rows_add - copy a row, without its strings; a name "" is none yet; CS_EMEM */
int cs_taxa_rows_add(cs_taxa_rows *r, const cs_taxa_row *row) CS_MUST_CHECK;
/** cs_taxa_rows_title - set the scientific name of row i, which others may have, too; CS_EMEM */
int cs_taxa_rows_title(cs_taxa_rows *r, size_t i, const char *title) CS_MUST_CHECK;
/** cs_taxa_rows_equal - have both the same texts and taxid? */
bool cs_taxa_rows_equal(const cs_taxa_row *a, const cs_taxa_row *b);
/** cs_taxa_rows_taxid - the row of a taxid, or NULL */
const cs_taxa_row *cs_taxa_rows_taxid(const cs_taxa_rows *r, int64_t taxid);
/**
 * cs_taxa_rows_find - the row of this name, or else of this scientific name
 *
 * below    NULL, or a row below it: not the row itself, and of several of either name the one of
 *          the nearest rank above that of `below`, if all ranks are known
 * twice    receives another such row, so that the name is ambiguous, or NULL
 * Returns  the row, the first of several; NULL: there is none
 */
const cs_taxa_row *cs_taxa_rows_find(const cs_taxa_rows *r, const char *name,
                                     const cs_taxa_row *below, const cs_taxa_row **twice);

/** cs_taxa_read_table - all rows of a TSV; format: see cs_taxonomy_read() */
int cs_taxa_read_table(const char *path, cs_taxa_rows *r) CS_MUST_CHECK;

/**
 * cs_taxa_read_lineages - rows of classes named by lineages: "Bacteria;Bacillota"
 *
 * A row's name is the lineage down to it, its scientific name the last part.
 *
 * class_name  [n] as cs_lineage_tidy() leaves them
 * ranks    of the parts, from the top down, with commas; or "prefixed": "d__Bacteria;p__..."
 * Returns  CS_OK; CS_EUSAGE for a lineage with more parts than ranks, and for "prefixed" without
 *          any prefix; CS_EMEM
 */
int cs_taxa_read_lineages(const char *const *class_name, int32_t n, const char *ranks,
                          cs_taxa_rows *r) CS_MUST_CHECK;

/**
 * cs_taxa_read_dump - complete the rows from NCBI's nodes.dmp and names.dmp
 *
 * Classes without a row are looked up by scientific name (ignoring case if necessary). Rows with a
 * taxid take rank, scientific name and parent from the dump; ancestors get rows.
 */
int cs_taxa_read_dump(const char *folder, const char *const *class_name, int32_t n,
                      cs_taxa_rows *r) CS_MUST_CHECK;

#endif

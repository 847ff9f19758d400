/* taxa_lineage.h - lineage labels as text: tidy and cut them, and count their ranks. */
#ifndef CS_IO_TAXA_LINEAGE_H
#define CS_IO_TAXA_LINEAGE_H

#include <stdbool.h>

/** cs_lineage_tidy - remove blanks beside ';' and, at the end, parts without a name ("", "g__",
 * "unclassified", "unidentified"), and all beyond the first n_rank (0: none); in place */
void cs_lineage_tidy(char *s, int n_rank);
/** cs_lineage_cut - truncate a lineage after its part of a rank, one of `ranks`; in place. False,
 * without a change, if the lineage ends before */
bool cs_lineage_cut(char *s, const char *ranks, const char *rank);
/** cs_lineage_cut_parts - the same after its first n parts */
bool cs_lineage_cut_parts(char *s, int n);
/** cs_lineage_has_rank - is this one of `ranks`? "prefixed" has those of the letters */
bool cs_lineage_has_rank(const char *ranks, const char *rank);
/** cs_lineage_ranks - number of parts kept by such a list of ranks; 0: all ("prefixed") */
int cs_lineage_ranks(const char *ranks);

#endif

/* window.h - reference and alternate windows of a variant, of equal length. */
#ifndef CS_IO_WINDOW_H
#define CS_IO_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "io/reference.h"

/* Why a variant has no windows. One list; window.c has the name and the sentence of each. */
typedef enum cs_unscored {
    CS_SCORED, CS_UNSCORED_NO_CONTIG, CS_UNSCORED_REF_MISMATCH, CS_UNSCORED_SYMBOLIC,
    CS_UNSCORED_AMBIGUOUS, CS_UNSCORED_SAME, CS_UNSCORED_TOO_LONG, CS_UNSCORED_NEAR_END,
    CS_N_UNSCORED
} cs_unscored;
/** cs_unscored_name - as outputs give it: "REF_MISMATCH" */
const char *cs_unscored_name(cs_unscored u);
/** cs_unscored_help - what it means, a fragment for the manual */
const char *cs_unscored_help(cs_unscored u);

/* What --ends says of windows that reach beyond a linear contig. */
enum { CS_ENDS_SKIP, CS_ENDS_FILL };
extern const char *const cs_window_ends[];   /* "skip", "fill", NULL */

typedef struct cs_window_opt {
    int64_t n_base;              /* of a window */
    bool    fill;                /* N beyond the ends of a linear contig, instead of NEAR_END */
    const char *const *circular; /* [n_circular] contigs that go round */
    int     n_circular;
} cs_window_opt;

typedef struct cs_windows cs_windows;

/** cs_windows_new - ref must outlive it; opt is copied */
cs_windows *cs_windows_new(cs_reference *ref, const cs_window_opt *opt);
/** cs_windows_free - accepts NULL */
void cs_windows_free(cs_windows *w);

enum { CS_FOUND_BASES = 12 };

/* What came of a variant. */
typedef struct cs_window_pair {
    cs_unscored why;
    int64_t     at, n_ref, n_alt;   /* where the trimmed alleles lie in the windows */
    int64_t     pos;             /* and in the contig, 0-based */
    bool        swapped;         /* the reference has the alternative allele */
    char        found[CS_FOUND_BASES + 4];   /* what the reference has, of a REF_MISMATCH */
} cs_window_pair;

/**
 * cs_windows_make - both windows of one alternative allele
 *
 * REF and ALT are trimmed at their ends, what is then an insertion or a deletion is moved to the
 * left as far as it can be, and the longer allele is put in the middle: so that a variant has the
 * same windows however it is written. Both have the same bases to its left; on its right what
 * follows in the contig, as much as fills the window.
 *
 * pos      0-based
 * ref_seq, alt_seq   [n_base] each; not filled when there is a reason
 * Returns  CS_OK; the errors of cs_reference_fetch()
 */
int cs_windows_make(cs_windows *w, const char *contig, int64_t pos, const char *ref,
                    const char *alt, char *ref_seq, char *alt_seq, cs_window_pair *out)
    CS_MUST_CHECK;

#endif

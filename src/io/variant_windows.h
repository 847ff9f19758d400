/* variant_windows.h - reference and alternate windows of a variant, of equal length. */
#ifndef CS_IO_VARIANT_WINDOWS_H
#define CS_IO_VARIANT_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "io/reference.h"

/* Reasons for a variant without windows; variant_windows.c has their names and descriptions. */
typedef enum cs_unscored {
    CS_SCORED, CS_UNSCORED_NO_CONTIG, CS_UNSCORED_REF_MISMATCH, CS_UNSCORED_SYMBOLIC,
    CS_UNSCORED_AMBIGUOUS, CS_UNSCORED_SAME, CS_UNSCORED_TOO_LONG, CS_UNSCORED_NEAR_END,
    CS_UNSCORED_NO_EXON, CS_N_UNSCORED
} cs_unscored;
/** cs_unscored_name - name in outputs: "REF_MISMATCH" */
const char *cs_unscored_name(cs_unscored u);
/** cs_unscored_help - description, a fragment for the manual */
const char *cs_unscored_help(cs_unscored u);

/* Values of --ends: windows that reach beyond a linear contig. */
enum { CS_ENDS_SKIP, CS_ENDS_FILL };
extern const char *const cs_window_ends[];   /* "skip", "fill", NULL */

typedef struct cs_window_opt {
    int64_t n_base;              /* of a window */
    bool    fill;                /* N beyond the ends of a linear contig, instead of NEAR_END */
    const char *const *circular; /* [n_circular] circular contigs */
    int     n_circular;
} cs_window_opt;

typedef struct cs_variant_windows cs_variant_windows;

/** cs_variant_windows_check - are all circular contigs in the reference? CS_OK, CS_EUSAGE */
int cs_variant_windows_check(const cs_window_opt *o, const cs_reference *ref) CS_MUST_CHECK;
/** cs_variant_windows_new - ref must outlive it; opt is copied */
cs_variant_windows *cs_variant_windows_new(cs_reference *ref, const cs_window_opt *opt);
/** cs_variant_windows_free - accepts NULL */
void cs_variant_windows_free(cs_variant_windows *w);
/** cs_variant_windows_add_circular - one more circular contig. contig must outlive w; CS_EMEM */
int cs_variant_windows_add_circular(cs_variant_windows *w, const char *contig) CS_MUST_CHECK;
/** cs_variant_windows_circular - is the contig one of `circular`, or added? */
bool cs_variant_windows_circular(const cs_variant_windows *w, const char *contig);

enum { CS_FOUND_BASES = 12 };

/* One alternative allele of a record; the caller owns the texts. */
typedef struct cs_window_allele {
    const char *contig;
    int64_t     pos;             /* of REF, 0-based */
    const char *ref, *alt;
} cs_window_allele;

/* The windows of a variant, or the reason for none. */
typedef struct cs_window_pair {
    cs_unscored why;
    int64_t     at, n_ref, n_alt;   /* position of the trimmed alleles in the windows */
    int64_t     pos;             /* and in the contig, 0-based */
    int64_t     circle;          /* bases of a circular contig; 0: it is linear */
    bool        swapped;         /* the reference has the alternative allele */
    char        found[CS_FOUND_BASES + 4];   /* bases of the reference, for REF_MISMATCH */
} cs_window_pair;

/**
 * cs_variant_windows_make - both windows of one alternative allele
 *
 * REF and ALT are trimmed at both ends, a remaining insertion or deletion is left-aligned, and the
 * longer allele is centred, so that equivalent records get the same windows. Both windows share the
 * bases to the left; to the right, each continues with the contig up to its length.
 *
 * ref_seq, alt_seq   [n_base] each; not filled if there is a reason
 * Returns  CS_OK; the errors of cs_reference_fetch()
 */
int cs_variant_windows_make(cs_variant_windows *w, const cs_window_allele *v, char *ref_seq,
                            char *alt_seq, cs_window_pair *out) CS_MUST_CHECK;

/**
 * cs_variant_windows_mark - write bases outside of [from, to) of the contig in lower case
 *
 * On a circular contig `from` may be negative, or `to` beyond its end.
 *
 * Bases of an allele that the contig lacks have the positions of the bases they replace; excess
 * bases have that of the last one, and those of an insertion that of the base after it.
 *
 * v        the result of the last cs_variant_windows_make(), and its windows of n_base bases
 */
void cs_variant_windows_mark(const cs_window_pair *v, int64_t from, int64_t to, int64_t n_base,
                             char *ref_seq, char *alt_seq);

#endif

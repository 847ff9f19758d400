/* near.h - which known word a mistyped one was probably meant to be. */
#ifndef CS_BASE_NEAR_H
#define CS_BASE_NEAR_H

#include <stddef.h>

enum { CS_NEAR_BYTES = 40 };     /* longer words are near to none */

typedef struct cs_near {
    const char *typed;
    size_t      least;           /* changes of a letter from `typed` to `best` */
    char        best[CS_NEAR_BYTES], hint[CS_NEAR_BYTES + 24];
} cs_near;

/** cs_near_begin - nothing is known yet; `typed` stays the caller's and must outlive the result */
cs_near cs_near_begin(const char *typed);

/** cs_near_try - a word that is known; of equally near ones the first counts */
void cs_near_try(cs_near *n, const char *word);

/** cs_near_hint - "did you mean 'WORD'? " of the nearest, in `n`; "" if more than three letters
 * differ, or more than a third of its letters and one */
const char *cs_near_hint(cs_near *n);

#endif

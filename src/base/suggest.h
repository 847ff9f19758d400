/* suggest.h - suggest the known word nearest to a mistyped one. */
#ifndef CS_BASE_SUGGEST_H
#define CS_BASE_SUGGEST_H

#include <stddef.h>

enum { CS_SUGGEST_BYTES = 40 };     /* longer words are near to none */

typedef struct cs_suggest {
    const char *typed;
    size_t      min_distance;    /* changes of a letter from `typed` to `best` */
    char        best[CS_SUGGEST_BYTES], hint[CS_SUGGEST_BYTES + 24];
} cs_suggest;

/** cs_suggest_begin - start without candidates; `typed` must outlive the result */
cs_suggest cs_suggest_begin(const char *typed);

/** cs_suggest_try - add a candidate; of equally near ones the first is used */
void cs_suggest_try(cs_suggest *n, const char *word);

/** cs_suggest_hint - "did you mean 'WORD'? " of the nearest, in `n`; "" if more letters differ than
 * three, or than a third of the word's letters plus one, without hyphens and a common prefix */
const char *cs_suggest_hint(cs_suggest *n);

#endif

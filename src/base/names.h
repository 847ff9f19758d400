/* names.h - hash table from names to numbers. */
#ifndef CS_BASE_NAMES_H
#define CS_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Zero is an empty table. Names are not copied: they must outlive it in place. */
typedef struct cs_names {
    struct cs_name { const char *name; int64_t no; } *slot;   /* [n_slot] name NULL: free */
    size_t n_slot, n;            /* n_slot is a power of two */
} cs_names;

/** cs_names_find - the number of a name, or -1 */
int64_t cs_names_find(const cs_names *t, const char *name);
/** cs_names_add - assign a number (at least 0) to a name without one; CS_OK or CS_EMEM */
int cs_names_add(cs_names *t, const char *name, int64_t no) CS_MUST_CHECK;
/** cs_names_xadd - the same for few names; out of memory exits */
void cs_names_xadd(cs_names *t, const char *name, int64_t no);
void cs_names_release(cs_names *t);

/** cs_name_is_plain - is the name free of tabs, newlines and other control characters, so that it
 * fits a column of a table? */
bool cs_name_is_plain(const char *name);

#endif

/* index_name.h - indexes that are given by name: FILE##idx##INDEX, as in htslib. */
#ifndef CS_IO_INDEX_NAME_H
#define CS_IO_INDEX_NAME_H

#include "base/err.h"

/* Registrations are for a program that runs one command: they are permanent, and made by the thread
 * that starts the run. */

/** cs_index_split - the name of the file alone; its index, if any, is registered for it. Not to be
 * freed */
const char *cs_index_split(const char *path);
/** cs_index_check - CS_OK if no index is given for a file, or a missing one; CS_EUSAGE for one that
 * is no regular file */
int cs_index_check(const char *path) CS_MUST_CHECK;
/** cs_index_given - the index that was registered for a file, or NULL: the one beside it */
const char *cs_index_given(const char *path);
/** cs_index_missing - report that a file's index cannot be read. remedy: if none was given.
 * CS_EIO */
int cs_index_missing(const char *path, const char *remedy);
/** cs_index_warn_old - warn if the index of a file, given or beside it, is older than the file */
void cs_index_warn_old(const char *path);
/** cs_index_warn_left - warn about indexes beside a new output that are of an earlier file of its
 * name, which readers would use. own: the index that this run writes, or NULL. Path "-": none */
void cs_index_warn_left(const char *path, const char *own);

#endif

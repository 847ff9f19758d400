/* join.h - join an output of all shards. */
#ifndef CS_RUN_JOIN_H
#define CS_RUN_JOIN_H

#include "base/outfile.h"
#include "run/manifest.h"

/* Copied; with the first column, a row's number, renumbered; NPY, whose header has the number of
 * rows. */
typedef enum cs_join_kind { CS_JOIN_BYTES, CS_JOIN_ROWS, CS_JOIN_NPY } cs_join_kind;

/**
 * cs_join - join an output of all shards into one
 *
 * option   the output's option, by its long name
 * path     name of `out`, for messages; not finished here
 * Returns  CS_OK; CS_EUSAGE if a shard has no such output, or it is `path`; CS_EFORMAT if one does
 *          not match its manifest, or headers differ; CS_EIO; errors of cs_outfile_write()
 */
int cs_join(const cs_manifests *all, const char *option, cs_join_kind kind, const char *path,
            cs_outfile *out) CS_MUST_CHECK;

#endif

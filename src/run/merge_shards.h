/* merge_shards.h - merge the outputs of all shards of a run. */
#ifndef CS_RUN_MERGE_SHARDS_H
#define CS_RUN_MERGE_SHARDS_H

#include "io/writer.h"
#include "run/manifest.h"

/* An output of the run. The caller zeroes the others; cs_merge_shards() closes them. */
typedef struct cs_merge_output {
    const char      *option;     /* its long name */
    const cs_writer *writer;     /* of a report, from counts; NULL: files of shards are joined */
    const char      *path;       /* NULL: not wanted */
    cs_outfile      *joined;
    cs_output       *counted;
} cs_merge_output;

/** cs_merge_run - the run as recorded by all shards: command, options */
const json_t *cs_merge_run(const cs_manifests *all);
/** cs_merge_is_npy - do shards hold the output as NPY? Its rows' names are in a table beside it */
bool cs_merge_is_npy(const cs_manifests *all, const char *option);

/**
 * cs_merge_shards - join outputs per record, and write reports from the sum of counts; all are
 * renamed together
 *
 * out      [n]
 * options  of the undivided run, for reports; NULL: its command is unknown, and CS_EUSAGE if there
 *          is a report. Not taken over
 * line     the command line
 * Returns  CS_OK; CS_EUSAGE for reports without counts, or of classes from values; the errors of
 *          cs_join(), cs_shard_counts_sum_read() and writing
 */
int cs_merge_shards(const cs_manifests *all, cs_merge_output *out, int n, json_t *options,
                    const char *line) CS_MUST_CHECK;

#endif

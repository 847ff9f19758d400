/* shard_counts.h - counts for reports in the manifests of shards: written, and summed by merge. */
#ifndef CS_RUN_SHARD_COUNTS_H
#define CS_RUN_SHARD_COUNTS_H

#include "io/class_counts.h"
#include "run/manifest.h"

/** cs_shard_counts_json - members of a manifest: counts, classes and taxonomy, so that merge needs
 * neither the model nor the shards' reports. NULL when out of memory */
json_t *cs_shard_counts_json(const cs_output_info *info, const cs_class_counts *counts);

/* Sum over all shards; zeroed before use. */
typedef struct cs_shard_counts_sum {
    cs_output_info info;         /* of the writers; `from` is their state after the last record */
    const char   **label;
    cs_taxonomy   *taxonomy;
    json_t        *from;
} cs_shard_counts_sum;

/** cs_shard_counts_sum_read - sum the counts of all manifests, which must outlive the sum. Release
 * it in any case. CS_OK; CS_EFORMAT for damaged manifests; CS_EMEM */
int  cs_shard_counts_sum_read(const cs_manifests *all, cs_shard_counts_sum *sum) CS_MUST_CHECK;
void cs_shard_counts_sum_release(cs_shard_counts_sum *sum);

#endif

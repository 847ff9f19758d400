/* manifest.h - manifests of shards, checked to belong to one run. */
#ifndef CS_RUN_MANIFEST_H
#define CS_RUN_MANIFEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

/* A shard's manifest, written by src/run/shard.c. */
typedef struct cs_manifest {
    const char *path;            /* as given */
    json_t     *all;
    int64_t     no, records;     /* no: 1 .. n */
} cs_manifest;

typedef struct cs_manifests {
    cs_manifest *m;              /* [n] by number */
    int          n;
} cs_manifests;

/* Fills in all option tables of a command, up to CS_MAX_OPTSET rows; none if there is no such
 * command. */
typedef void (*cs_manifest_tables)(const char *command, cs_optset *set);

/**
 * cs_manifests_read - the manifests of all shards of one run
 *
 * path     [n] in any order; kept
 * tables   say in which options shards may differ
 * Returns  CS_OK; CS_EIO; CS_EFORMAT for other files; CS_EUSAGE if they belong to different runs
 *          (version, command, model, precision, kernels, inputs, options), or a shard is missing or
 *          duplicate
 */
int  cs_manifests_read(const char *const *path, int n, cs_manifest_tables tables,
                       cs_manifests *out) CS_MUST_CHECK;
void cs_manifests_release(cs_manifests *m);

/** cs_manifest_output - entry of an output, by its option's long name; NULL: none */
const json_t *cs_manifest_output(const cs_manifest *m, const char *option);
/** cs_manifest_find - path of that output: beside the manifest under its base name, with its size,
 * else the run's path; free() it. made: the path of the merged output, used only as a last
 * resort */
char *cs_manifest_find(const cs_manifest *m, const json_t *output, const char *made);

#endif

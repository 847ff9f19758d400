/* records.h - shared by commands that stream records through a model: options, model, inputs. */
#ifndef CS_RUN_RECORDS_H
#define CS_RUN_RECORDS_H

#include "infer/args.h"
#include "infer/device_args.h"
#include "infer/input_args.h"
#include "infer/model_args.h"
#include "infer/policy.h"
#include "infer/stream.h"
#include "run/shard.h"

typedef struct cs_record_args {
    cs_input_args   input;
    cs_pair_args    pairs;
    cs_model_args   model;
    cs_policy_args  policy;
    cs_compute_args compute;
    cs_device_args  device;
    cs_stream_args  stream;
    cs_shard_args   shard;
} cs_record_args;

/* Rows of a command's cs_optset array, before and after its own tables. */
#define CS_RECORD_MODEL_TABLES(a) \
    { cs_model_table, &(a).model, NULL }, { cs_policy_table, &(a).policy, NULL }
#define CS_RECORD_RUN_TABLES(a) \
    { cs_compute_table, &(a).compute, NULL }, { cs_device_table, &(a).device, NULL }, \
    { cs_stream_table, &(a).stream, NULL }, { cs_shard_table, &(a).shard, NULL }

enum { CS_PATH_BYTES = 4096 };

typedef struct cs_records {
    cs_thread_counts threads;
    cs_backend  *be;
    cs_model    *model;
    char         model_path[CS_PATH_BYTES];
    cs_input_opt input_opt;      /* of readers; the caller may change it before cs_records_open() */
    cs_policy    policy;
    cs_record_source src;
    cs_shard    *shard;          /* of --shard, or NULL */
} cs_records;

/**
 * cs_records_load - read the options of readers and shards, find the inputs, and load the model
 *
 * r        zeroed; release with cs_records_close(), also after an error
 * a        receives the names of all inputs
 * Returns  CS_OK; the errors of cs_shard_new(), cs_args_input_opt(), cs_record_source_find() and
 *          cs_model_open()
 */
int cs_records_load(cs_records *r, cs_record_args *a) CS_MUST_CHECK;

/**
 * cs_records_open - determine the policy and open the inputs
 *
 * calls    options of calls, or NULL
 * Returns  CS_OK; the errors of cs_policy_init() and cs_record_source_open()
 */
int cs_records_open(cs_records *r, cs_record_args *a, const cs_call_args *calls) CS_MUST_CHECK;

/** cs_records_stream - the stream of these records, for a sink */
cs_stream cs_records_stream(cs_records *r, const cs_record_args *a,
                            int (*sink)(void *, const cs_record *, const cs_prediction *),
                            void *arg);

/** cs_records_close - close all, and free the names of inputs */
void cs_records_close(cs_records *r, cs_record_args *a);

#endif

/* shared_model.h - an open model, shared by its handles. */
#ifndef CS_LIB_SHARED_MODEL_H
#define CS_LIB_SHARED_MODEL_H

#include <stdatomic.h>

#include "infer/device_args.h"
#include "infer/policy.h"
#include "io/taxonomy.h"
#include "io/writer.h"

enum { CS_MAX_THREADS = 4096 };

typedef struct cs_shared_model_args {
    cs_policy_args policy;
    cs_call_args   calls;
    int64_t        threads;
    cs_device_args device;
} cs_shared_model_args;

/* Constant while there are several handles, except their number. */
typedef struct cs_shared_model {
    atomic_int           n_handle;
    cs_shared_model_args args;       /* args.device.device is for cs_shared_model_new() only */
    cs_backend          *be;
    cs_model            *model;      /* handles have sessions on it */
    cs_policy            policy;
    cs_taxonomy         *taxonomy;   /* NULL: a model of values */
    cs_tree              tree;       /* the same, if calls are taxa */
    const char         **label;      /* [n_label] the model's */
    char               **taxon;      /* [taxonomy->n] name of a call of each node */
    int32_t              n_output;   /* values of a prediction; 0: the model predicts per token */
    int32_t              n_vector;   /* length of the head's input vector; 0: none */
    int64_t              longest;    /* bases; 0: any */
    cs_output_info       info;       /* of the above, for cs_prediction_label() and its like */
} cs_shared_model;

/**
 * cs_shared_model_new - load a model, check that it predicts for sequences, set up derived data
 *
 * path     NULL: the default model
 * option   NULL, or a NULL-terminated array of "NAME=VALUE"
 * Returns  CS_OK with one handle counted; CS_EUSAGE; CS_EDEVICE; the errors of cs_model_load()
 */
int  cs_shared_model_new(const char *path, const char *const *option, cs_shared_model **out)
    CS_MUST_CHECK;

/** cs_shared_model_drop - one handle fewer; the last one frees it. Accepts NULL */
void cs_shared_model_drop(cs_shared_model *o);

#endif

/* learning.h - what the commands that learn share: options of learning, of a run, of its files. */
#ifndef CS_PIPELINES_LEARNING_H
#define CS_PIPELINES_LEARNING_H

#include "pipelines/common.h"
#include "train/loop.h"

/* Options that decide what is learnt: a run that goes on must have the same. */
typedef struct cs_learn_args {
    int64_t batch_tokens, step_records, accumulate, epochs, max_steps, patience, seed;
    double  lr, beta1, beta2, eps, decay, warmup, cycles, power, lr_end, clip, ema;
    int     optim, schedule, keeps, recompute;
} cs_learn_args;

/* Options that decide where a run ends and what it writes. */
typedef struct cs_run_args {
    const char *output, *checkpoint, *metrics;
    int64_t checkpoint_steps, stop_after;
    double  max_time, timeout;
    int     resume, ranks;
} cs_run_args;

/* Options that decide how memory is spent: nothing that is learnt depends on them. */
typedef struct cs_memory_args { int64_t keep; } cs_memory_args;

extern const cs_opt cs_learn_table[];
extern const cs_opt cs_run_table[];
extern const cs_opt cs_memory_table[];

/** cs_learn_options - what they say to cs_train_run(); the rest is zero */
cs_train_opt cs_learn_options(const cs_learn_args *a, const cs_run_args *r,
                              const cs_memory_args *memory);

/**
 * cs_learn_join - with --ranks, wait until all ranks are there; to be called before what takes long
 *
 * Ranks but the first say nothing but errors from here on.
 *
 * group    receives this rank's end, for cs_train_opt; NULL: there is one rank. Leave it in the end
 * Returns  CS_OK; CS_EUSAGE also when a step has too few batches for all, or --device names
 *          several; the errors of cs_group_env() and cs_group_join()
 */
int cs_learn_join(const cs_learn_args *a, const cs_run_args *r, const cs_device_args *device,
                  cs_group **group) CS_MUST_CHECK;

/**
 * cs_learn_device - open what this rank computes on
 *
 * With a group, "cuda" and "auto" are the one among the machine's GPUs that the rank's number on it
 * says, over and over again where there are fewer. Else as cs_device_open()
 *
 * Returns  also CS_EUSAGE when there are several GPUs and that number is not known
 */
int cs_learn_device(const cs_device_args *a, const cs_group *group, int n_thread, cs_backend **out)
    CS_MUST_CHECK;

/**
 * cs_learn_outputs - can every output be created?
 *
 * group    as cs_learn_join() gave it: only rank 0 creates any
 * checkpoint  receives its path: that of the options, or the model's with ".ckpt"; free() it
 * Returns  CS_OK; CS_EUSAGE when no model is named; CS_EIO
 */
int cs_learn_outputs(const cs_run_args *r, const cs_group *group, char **checkpoint)
    CS_MUST_CHECK;

/** cs_learn_summary - the note that ends a run: rc is what cs_train_run() returned */
void cs_learn_summary(const cs_train_state *st, const char *checkpoint, int rc);

#endif

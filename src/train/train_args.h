/* train_args.h - options of the training commands: training, a run, of its
 * files. */
#ifndef CS_TRAIN_TRAIN_ARGS_H
#define CS_TRAIN_TRAIN_ARGS_H

#include "infer/args.h"
#include "train/loop.h"

/* Options that determine the result: a resumed run must have the same. */
typedef struct cs_train_args {
    int64_t batch_tokens, step_records, accumulate, epochs, max_steps, patience, seed;
    double  lr, beta1, beta2, eps, decay, warmup, cycles, power, lr_end, clip, ema;
    int     optim, schedule, keeps;
} cs_train_args;

/* Options that decide where a run ends and what it writes. */
typedef struct cs_run_args {
    const char *output, *checkpoint, *metrics, *steps, *tensorboard;
    int64_t checkpoint_steps, stop_after;
    const char *ranks;
    double  max_time, timeout;
    int     resume;
} cs_run_args;

/* Options for memory: the result does not depend on them. */
typedef struct cs_memory_args { int64_t keep; int recompute; } cs_memory_args;

extern const cs_opt cs_train_table[];
extern const cs_opt cs_run_table[];
extern const cs_opt cs_memory_table[];

/** cs_memory_checkpoint_blocks - what they say, as cs_step_opt.keep has it */
int32_t cs_memory_checkpoint_blocks(const cs_memory_args *a);

/** cs_train_options - what they say to cs_train_run(); the rest is zero */
cs_train_opt cs_train_options(const cs_train_args *a, const cs_run_args *r,
                              const cs_memory_args *memory);

/**
 * cs_train_join - become one of several ranks, if --ranks or a list of devices says so
 *
 * To be called before anything is opened: ranks that no launcher has started are forked, and it
 * returns in all of them. Ranks but the first say nothing but errors from here on; forked ones not
 * even these, which rank 0 hears and says.
 *
 * once     of what will be read, what can be read only once, by name; or NULL
 * compute  its threads are shared among forked ranks: receives this one's
 * group    receives this rank's end, for cs_train_opt; NULL: there is one rank. Leave it in the end
 * Returns  CS_OK; CS_EUSAGE also when a step has too few batches for all, or an input can be read
 *          only once; the errors of cs_group_env(), cs_group_join() and cs_group_fork()
 */
int cs_train_join(const cs_train_args *a, const cs_run_args *r, const cs_device_args *device,
                  const char *once, cs_compute_args *compute, cs_group **group) CS_MUST_CHECK;

/**
 * cs_train_turn - rank 0 goes first where an index may be written beside an input
 *
 * All ranks call it before that, and after it.
 * group    as cs_train_join() gave it
 * Returns  CS_OK; the errors of cs_group_barrier()
 */
int cs_train_turn(cs_group *group, bool after) CS_MUST_CHECK;
/** cs_train_index - the same for a FASTA file that will be used by place; path may be NULL. Also
 * the errors of cs_reference_open() */
int cs_train_index(cs_group *group, const char *path) CS_MUST_CHECK;

/**
 * cs_train_device - open what this rank computes on
 *
 * With a group it is the one that the rank's number on its machine says, of the GPUs that --device
 * lists, or of all with "cuda" and "auto"; over and over again where there are fewer. Else as
 * cs_device_open()
 *
 * Returns  also CS_EUSAGE when there are several GPUs and that number is not known
 */
int cs_train_device(const cs_device_args *a, const cs_group *group, int n_thread, cs_backend **out)
    CS_MUST_CHECK;

/**
 * cs_train_outputs - can every output be created?
 *
 * group    as cs_train_join() gave it: only rank 0 creates any
 * checkpoint  receives its path: that of the options, or the model's with ".ckpt"; free() it
 * Returns  CS_OK; CS_EUSAGE when no model is named; CS_EIO
 */
int cs_train_outputs(const cs_run_args *r, const cs_group *group, char **checkpoint)
    CS_MUST_CHECK;

/** cs_train_summary - the note that ends a run: rc is what cs_train_run() returned */
void cs_train_summary(const cs_train_state *st, const char *checkpoint, int rc);

#endif

/* train_args.h - options that `train` and `pretrain` share: optimiser, run, files, memory. */
#ifndef CS_TRAIN_TRAIN_ARGS_H
#define CS_TRAIN_TRAIN_ARGS_H

#include "infer/args.h"
#include "infer/device_args.h"
#include "train/loop.h"

/* Options that determine the result: a resumed run must have the same. */
typedef struct cs_train_args {
    int64_t batch_tokens, step_records, accumulate, epochs, max_steps, patience, seed;
    double  lr, beta1, beta2, eps, decay, warmup, cycles, power, lr_end, clip, ema;
    int     optim, schedule, keep_zero_grad;
    const char *budget;          /* NULL: none */
} cs_train_args;

/* Options for the end of a run and its outputs. */
typedef struct cs_run_args {
    const char *output, *checkpoint, *metrics, *steps, *tensorboard;
    int64_t checkpoint_steps, stop_after;
    const char *ranks;
    double  max_time, timeout;
    int     resume;
} cs_run_args;

/* Options for memory: the result does not depend on them. */
typedef struct cs_memory_args { int64_t checkpoint_blocks; int recompute; } cs_memory_args;

extern const cs_opt cs_train_table[];
extern const cs_opt cs_run_table[];
extern const cs_opt cs_memory_table[];

/** cs_memory_checkpoint_blocks - the value of cs_step_opt.keep for these options */
int32_t cs_memory_checkpoint_blocks(const cs_memory_args *a);

/** cs_train_loop_opt - the options as settings of cs_train_run(); other fields are zero */
cs_loop_opt cs_train_loop_opt(const cs_train_args *a, const cs_run_args *r,
                              const cs_memory_args *memory);

/** cs_train_limit - the given option that limits the run, besides --budget; NULL: there is none */
const char *cs_train_limit(const cs_train_args *a);
/** cs_train_take_budget - parse --budget; b: zero, as it stays without. CS_OK; CS_EUSAGE also with
 * another limit */
int cs_train_take_budget(const cs_train_args *a, cs_train_budget *b) CS_MUST_CHECK;
/** cs_train_set_budget - put a budget, if there is one, into settings of cs_train_run() in place of
 * epochs; began: start of the command in seconds */
void cs_train_set_budget(const cs_train_budget *b, double began, cs_loop_opt *o);

/**
 * cs_train_join - join or start a group of ranks, with --ranks or several devices
 *
 * Call before opening anything: without a launcher this forks the ranks and returns in each of
 * them. From here on ranks other than the first log errors only; forked ones report theirs through
 * rank 0.
 *
 * once     name of an input that can be read only once, or NULL
 * preset   a preset will choose rates and the size of a step: call cs_train_check() afterwards
 * compute  its threads are divided among forked ranks: receives this rank's
 * group    receives this rank's end, for cs_loop_opt; NULL: a single rank. Leave it at the end
 * Returns  CS_OK; CS_EUSAGE also if a step has fewer batches than ranks, or an input can be read
 *          only once; the errors of cs_group_env(), cs_group_join() and cs_group_fork()
 */
int cs_train_join(const cs_train_args *a, const cs_run_args *r, const cs_device_args *device,
                  const char *once, bool preset, cs_compute_args *compute, cs_group **group)
    CS_MUST_CHECK;

/** cs_train_warn_idle - warn about options of another --schedule than the chosen one */
void cs_train_warn_idle(const cs_train_args *a);

/** cs_train_check - CS_OK, or CS_EUSAGE if a step has fewer batches than ranks, or --lr-end exceeds
 * --lr. group: of this rank, or NULL */
int cs_train_check(const cs_train_args *a, const cs_group *group) CS_MUST_CHECK;

/**
 * cs_train_rank0_begin, cs_train_rank0_end - rank 0 opens an input first, because it may write an
 * index beside it
 *
 * All ranks call both, before and after opening it: _begin returns in the others when rank 0 has
 * called _end.
 *
 * group    from cs_train_join(); NULL: nothing to wait for
 * Returns  CS_OK; the errors of cs_group_barrier()
 */
int cs_train_rank0_begin(cs_group *group) CS_MUST_CHECK;
int cs_train_rank0_end(cs_group *group) CS_MUST_CHECK;
/** cs_train_index_reference - make the index of a FASTA file if it is missing, on rank 0 first;
 * path may be NULL. Also the errors of cs_reference_open() */
int cs_train_index_reference(cs_group *group, const char *path) CS_MUST_CHECK;

/**
 * cs_train_device - open this rank's device
 *
 * In a group: by the rank's number on its machine, one of the GPUs in --device, or of all GPUs with
 * "cuda" and "auto"; several ranks share a GPU if there are fewer. Otherwise as cs_device_open()
 *
 * Returns  also CS_EUSAGE if there are several GPUs and that number is unknown
 */
int cs_train_device(const cs_device_args *a, const cs_group *group, int n_thread, cs_backend **out)
    CS_MUST_CHECK;

/**
 * cs_train_check_outputs - check that every output can be created, and find the checkpoint
 *
 * r        its `resume` is reset, with a message, if there is no checkpoint
 * group    from cs_train_join(): only rank 0 creates outputs
 * checkpoint  receives the checkpoint's path, by default the model's with ".ckpt", or NULL if that
 *             is no regular file; free() it
 * Returns  CS_OK; CS_EUSAGE without a model file; CS_EIO
 */
int cs_train_check_outputs(cs_run_args *r, const cs_group *group, char **checkpoint)
    CS_MUST_CHECK;

/** cs_train_summary - log the end of a run; rc is from cs_train_run(); values: the model predicts
 * real values */
void cs_train_summary(const cs_train_state *st, const char *checkpoint, bool values, int rc);

#endif

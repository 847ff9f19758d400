/* plan.h - memory plans: the memory of batches by dry runs, and the batches that fit. */
#ifndef CS_NN_PLAN_H
#define CS_NN_PLAN_H

#include "nn/exec/session_state.h"

/* Maximum planned tokens of a batch: fewer keep a device busy. */
enum { CS_PLAN_CPU = 1 << 16, CS_PLAN_DEVICE = 1 << 22 };

/** cs_plan_memory - bytes of activations and staging buffers for such a batch. Sets s->cx.peak and
 * s->cx.grad_peak to the arenas' needs, in reals. Training: with s->cx.keep stored block inputs */
int64_t cs_plan_memory(cs_session *s, int64_t n_tok, int32_t n_seg, int32_t depth, bool training);

/**
 * cs_plan_free_memory - bytes for the activations of a prediction
 *
 * On a device nine tenths of the free memory: the rest is a margin. On the CPU half, since other
 * programs use it. With several devices (a list that starts at s's backend) the smallest, each
 * holding the model's parameters.
 */
int64_t cs_plan_free_memory(const cs_session *s);

/** cs_plan_batch - tokens of a batch of any depth that fits: CS_PLAN_CPU or CS_PLAN_DEVICE, halved
 * until it does; at least 1024 */
int64_t cs_plan_batch(cs_session *s);

/**
 * cs_plan_checkpoint_blocks - checkpoints of a batch of this shape: the most that fit into a
 * device's free memory, or three quarters of the CPU's
 *
 * max_blocks  as cs_step_opt.keep
 * Returns  `max_blocks`, or the inputs of fewer blocks, at least of one of every stack; results do
 *          not depend on it, nor do gradients, except in bf16 (nn/ops/blocks.h). The caller sets
 *          s->cx.keep to it: here it is overwritten
 */
int32_t cs_plan_checkpoint_blocks(cs_session *s, int64_t n_tok, int32_t n_seg, int32_t depth,
                                  int32_t max_blocks);

/** cs_plan_longest - maximum tokens of one sequence that fits; 0: none; INT64_MAX: any number, for
 * a model that averages embedded tokens. max_memory: bytes, 0 for cs_plan_free_memory() */
int64_t cs_plan_longest(cs_session *s, int64_t max_memory);

#endif

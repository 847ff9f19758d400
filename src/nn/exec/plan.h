/* plan.h - memory plans: the memory of batches by dry runs, and the batches that fit. */
#ifndef CS_NN_PLAN_H
#define CS_NN_PLAN_H

#include "nn/exec/session_state.h"

/* Most tokens of a batch that are planned: a device is busy with fewer. */
enum { CS_PLAN_CPU = 1 << 16, CS_PLAN_DEVICE = 1 << 22 };

/** cs_plan_memory - bytes of activations and staging buffers for such a batch. What the arenas need
 * is in s->cx.peak and s->cx.grad_peak then; when training, s->cx.keep says what is kept of the
 * blocks */
int64_t cs_plan_memory(cs_session *s, int64_t n_tok, int32_t n_seg, int32_t depth, bool training);

/**
 * cs_plan_free_memory - bytes for the activations of a prediction
 *
 * Of a device nine tenths of what is free: the rest is a margin for what the plan cannot see. Of
 * the CPU's memory half, since others use it too. Of several devices (s's backend begins the
 * list) that of the smallest, each with the model's parameters on it.
 */
int64_t cs_plan_free_memory(const cs_session *s);

/** cs_plan_batch - tokens of a batch of any depth that fits: CS_PLAN_CPU or CS_PLAN_DEVICE, halved
 * until it does; at least 1024 */
int64_t cs_plan_batch(cs_session *s);

/**
 * cs_plan_checkpoint_blocks - what training keeps of a batch of this shape: the most that fits a
 * device's space, or three quarters of what the CPU's memory has left
 *
 * most     as cs_step_opt.keep has it
 * Returns  `most`, or the inputs of fewer blocks, at least of one of every stack; results do not
 *          depend on it, nor do gradients but for what nn/ops/blocks.h says of bf16
 */
int32_t cs_plan_checkpoint_blocks(cs_session *s, int64_t n_tok, int32_t n_seg, int32_t depth,
                                  int32_t most);

/** cs_plan_longest - most tokens of one sequence that fits; 0: none does */
int64_t cs_plan_longest(cs_session *s);

#endif

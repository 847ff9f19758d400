/* optim.h - Adam step, learning-rate schedules, gradient norm, averaged weights. */
#ifndef CS_TRAIN_OPTIM_H
#define CS_TRAIN_OPTIM_H

#include "nn/ops/param.h"

/**
 * cs_optim_step - update every tensor that takes part in this step
 *
 * h        lr (times a tensor's own rate), betas, eps, decay, grad_scale, decoupled; `step` is
 *          ignored: each tensor counts its own
 * keep_zero_grad  treatment of a tensor without a gradient since the last step. true (torch 1.13's
 *                  zero_grad): skipped if it never had one, else stepped with a gradient of zero,
 *                  so decay and moments continue. false (torch >= 2.0, set_to_none): skipped.
 *
 * Clears `touched`; leaves the gradients to cs_optim_zero_grad(). Buffers are never stepped.
 * Source   torch.optim.Adam, torch.optim.AdamW (kernels/backend.h: cs_adam)
 */
void cs_optim_step(cs_params *ps, cs_adam h, bool keep_zero_grad);

/** cs_optim_zero_grad - all gradients to zero */
void cs_optim_zero_grad(cs_params *ps);

/**
 * cs_optim_grad_norm - Euclidean norm over all gradients
 *
 * work     one real of backend memory
 * Returns  CS_OK and *norm (inf or NaN when a gradient is); CS_EDEVICE
 */
int cs_optim_grad_norm(cs_params *ps, cs_real *work, double *norm) CS_MUST_CHECK;

/** cs_optim_average_start - initialise the average with the present values */
void cs_optim_average_start(cs_params *ps);
/** cs_optim_average - average = decay * average + (1 - decay) * value; buffers and unchanged
 * tensors keep their value bit for bit */
void cs_optim_average(cs_params *ps, double decay);
/** cs_optim_average_swap - swap values and average, to predict with the averaged weights */
void cs_optim_average_swap(cs_params *ps);

typedef enum cs_decay {
    CS_DECAY_CONSTANT, CS_DECAY_LINEAR, CS_DECAY_COSINE, CS_DECAY_POLYNOMIAL
} cs_decay;

/* Linear warm-up over the first `warmup` steps, then a decay that ends at step `total`. */
typedef struct cs_schedule {
    cs_decay kind;
    int64_t  warmup, total;      /* steps */
    double   cycles;             /* COSINE: waves over the decay; 0.5 ends at zero */
    double   power;              /* POLYNOMIAL */
    double   floor;              /* POLYNOMIAL: the factor at the end (lr_end / lr) */
} cs_schedule;

/* The names that --schedule takes, in the order of cs_decay; NULL-terminated. */
extern const char *const cs_decay_names[];

/**
 * cs_schedule_factor - factor on the base learning rate
 *
 *   t < warmup    t / warmup                       (the first step has factor 0)
 *   linear        max(0, (total - t) / max(1, total - warmup))
 *   cosine        max(0, (1 + cos(2 pi cycles p)) / 2),  p = (t - warmup) / max(1, total - warmup)
 *   polynomial    (1 - floor) (1 - p)^power + floor;  floor for t > total
 *
 * t        the step, from 0
 * Source   Khalitov et al., ChordMixer; reference optim/schedulers.py
 */
double cs_schedule_factor(const cs_schedule *s, int64_t t);

#endif

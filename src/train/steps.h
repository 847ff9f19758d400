/* steps.h - arrange an epoch: samples into batches, batches into steps. */
#ifndef CS_TRAIN_STEPS_H
#define CS_TRAIN_STEPS_H

#include "tok/tokenizer.h"
#include "train/dataset.h"
#include "train/sampler.h"

/* Rules for making batches from samples, and steps from batches. */
typedef struct cs_batch_rules {
    const cs_tokenizer *tok;     /* NULL: one token per position */
    const void *tok_state;
    int64_t     batch_tokens;    /* maximum number of tokens in a batch; a longer sample is a batch
                                  * of its own */
    int64_t     step_records;    /* samples per step, of all lengths; 0: see accumulate */
    int64_t     accumulate;      /* batches per step when step_records is 0 */
} cs_batch_rules;

/* Sample i of batch b is sample[batch[b] + i]; batch j of step s is batch[step[s] + j]. */
typedef struct cs_steps {
    cs_sample *sample;           /* [n_sample] */
    int64_t   *batch;            /* [n_batch + 1] */
    int64_t   *step;             /* [n_step + 1] */
    int64_t    n_sample, n_batch, n_step;
} cs_steps;

/**
 * cs_steps_plan - lay out one epoch
 *
 * Samples of a batch have one depth by the tokenizer's bound. With step_records the epoch's
 * samples are shuffled and cut into steps of that many, so that every step sees all lengths; each
 * step is then sorted by depth and cut into batches. Without, the whole epoch is sorted by depth
 * and cut, the batches are shuffled, and every `accumulate` of them make a step.
 *
 * Returns  CS_OK (release with cs_steps_release) or CS_EMEM. A function of its arguments alone
 */
int  cs_steps_plan(const cs_sampler *s, uint64_t epoch, const cs_batch_rules *rules, cs_steps *out)
    CS_MUST_CHECK;
void cs_steps_release(cs_steps *p);
/** cs_steps_count - the n_step of cs_steps_plan(), in a fraction of its time. CS_OK or CS_EMEM */
int  cs_steps_count(const cs_sampler *s, uint64_t epoch, const cs_batch_rules *rules, int64_t *n)
    CS_MUST_CHECK;

#endif

/* toy.h - small models and batches for tests, of any registered encoder and head. */
#ifndef CS_TESTS_TOY_H
#define CS_TESTS_TOY_H

#include "check.h"

#include "base/cpu.h"
#include "base/rng.h"
#include "nn/exec/plan.h"
#include "nn/exec/session.h"
#include "registry.h"

/* A small model; options that an encoder does not have are ignored. */
typedef struct toy {
    const cs_encoder *enc;
    const cs_head    *head;
    bool              real;      /* two real channels instead of tokens */
    const char       *max_len;   /* "32" unless given */
    const char       *flag;      /* a flag of the encoder that is set, or NULL */
    const char       *name, *value;   /* one more option of the encoder, or NULL */
    const char       *head_name, *head_value;   /* and of the head, which has a hidden layer then */
    bool              training;
    bool              wide;      /* tracks of 16 and 128 hidden units instead of 4 and 8 */
} toy;

/** toy_model - every parameter is moved off its initial value, so that none is just 0 or 1 */
cs_model *toy_model(const toy *t, cs_backend *be);

/** toy_session - a session on such a model of its own; toy_free() frees both and accepts NULL */
cs_session *toy_session(const toy *t, cs_backend *be);
void        toy_free(cs_session *s);

/** toy_batch - n records of the given lengths (of each part), of one depth, with targets of the
 * model's head */
cs_batch *toy_batch(const cs_model *m, const int64_t *len, int n, uint64_t seed);

/** toy_each - call f with every encoder and head, with every choice of their ENUM options, and with
 * dropout, a dilation of 3, two groups, poolings and words if they have any, all that for an
 * encoder's every flag once more; incompatible settings are skipped; `arg` is passed on. The
 * environment's CS_ENCODER: this one only */
void toy_each(void (*f)(const toy *t, void *arg), void *arg);

/** toy_train - zero the gradients and train on one batch; the loss. Fails when that takes other
 * memory than the dry run said */
double toy_train(cs_session *s, const cs_batch *b, int32_t keep);

/** toy_file - the bytes of the model's file; free() them */
char *toy_file(cs_model *m, size_t *n);

/** toy_slab - a copy of a slab of parameters in host memory; free() it */
cs_real *toy_slab(const cs_model *m, const cs_real *slab);

/** toy_outputs - predict: cs_session_output_len() values; free() them */
float *toy_outputs(cs_session *s, const cs_batch *b);

/** toy_nmse - |a - b|^2 / |b|^2 */
double toy_nmse(const cs_real *a, const cs_real *b, int64_t n);

#endif

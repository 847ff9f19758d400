/* golden.h - shared parts of the golden test: a file, its comparisons, its verdict. */
#ifndef CS_TESTS_GOLDEN_H
#define CS_TESTS_GOLDEN_H

#include <jansson.h>

#include "nn/exec/safetensors.h"
#include "nn/exec/session.h"

/* The largest tolerated errors, relative to what each comparison says. The double build is held to
 * 1e-9 of the largest value everywhere; the float tolerances are those of the golden README. */
#ifdef CS_DOUBLE
#define TOL_OUTPUT 1e-9
#define TOL_GRAD   1e-9
#define TOL_LOSS   1e-9
#define TOL_ZERO   1e-9
#else
#define TOL_OUTPUT 1e-4
#define TOL_GRAD   1e-3
#define TOL_LOSS   1e-5
#define TOL_ZERO   1e-5
#endif
#define TOL_BF16   1e-2          /* of outputs with CS_PRECISION=bf16 */

typedef struct golden {
    const char     *path;
    cs_safetensors *file;
    json_t         *config;
    cs_backend     *be;
    bool           *seen;        /* [tensors of the file] was it compared? */
    void          **shown;       /* [n_shown] copies that the backend reads (golden_show) */
    int             n_shown;
    int             n_compared;
    double          worst;       /* largest error / tolerance so far, 1 is the limit */
    double          worst_error; /* the error there */
    char            where[160];
} golden;

/** golden_text, golden_number - a member of an object; a missing number is `missing`, a missing
 * text "". golden_has: is `name` in the list of names `key`? */
const char *golden_text(const json_t *j, const char *key);
double      golden_number(const json_t *j, const char *key, double missing);
bool        golden_has(const json_t *j, const char *key, const char *name);

/** golden_find - a tensor by printf-like name, or NULL */
const cs_tensor *golden_find(const golden *g, const char *fmt, ...) CS_PRINTF(2, 3);

/**
 * golden_compare - the largest |got - want| against tol * max(max |want|, floor)
 *
 * got      [want->n] in the order of the file
 */
void golden_compare(golden *g, const cs_tensor *want, const double *got, double tol,
                    double floor);
/** golden_check - one error against one limit; for values outside of tensors */
void golden_check(golden *g, const char *what, double error, double limit);
/** golden_fetch - a matrix of the backend as doubles; free() it */
double *golden_fetch(const golden *g, cs_mat m);
/** golden_show - a copy of n_bytes of the host that the backend can read, until the file ends */
const void *golden_show(golden *g, const void *p, size_t n_bytes);
/** golden_offsets - offsets of n segments of `len` rows, for the backend, until the file ends */
const int64_t *golden_offsets(golden *g, int64_t n, int64_t len);
/** golden_largest - max |element| */
double golden_largest(const cs_tensor *t);
/** golden_largest_gradient - the same over all gradients of the file, or what it says of them where
 * it does not hold them (grad_stats) */
double golden_largest_gradient(const golden *g);

/* What golden_steps() trains: parameters, which of them torch calls `torch` (or -1), and a pass
 * over batch number `batch` that adds gradients and gives the loss. */
typedef struct golden_run {
    cs_params *ps;
    int      (*find)(const void *self, const char *torch);
    int      (*train)(void *self, int64_t batch, double *loss);
    void      *self;
} golden_run;

struct cs_schedule;
/** golden_read_schedule - a schedule of the file, by its function, into s. CS_OK; CS_EUSAGE for an
 * unknown function */
int golden_read_schedule(const char *function, const json_t *j, double base_lr,
                         struct cs_schedule *s) CS_MUST_CHECK;

/** golden_steps - the optimiser steps that the config describes, everything compared */
int golden_steps(golden *g, const golden_run *what) CS_MUST_CHECK;

/* Each reads what its kind of file holds; CS_OK when everything could be computed. */
int golden_chordmixer(golden *g);
int golden_train(golden *g);
int golden_schedule(golden *g);
int golden_attn(golden *g);
int golden_cdil(golden *g);
int golden_sparse(golden *g);

/** golden_variant - a file with two encoders once more, as a model with a head for variants */
int  golden_variant(golden *g);
/** golden_cdil_name - what we call a tensor of CDIL */
void golden_cdil_name(const char *torch, char *ours, size_t n_ours);

/* ---- a ChordMixer model as the config of a file describes it (golden_model.c) -------------- */

int  golden_model_new(golden *g, bool training, cs_model **out) CS_MUST_CHECK;
/** golden_session - a session on it, in training or evaluation mode as the file says */
cs_session *golden_session(const golden *g, cs_model *m);
/** golden_load - parameters and buffers: as stored, or generated */
int  golden_load(golden *g, cs_model *m) CS_MUST_CHECK;
/** golden_param - index of the parameter that torch calls `name`, or -1 */
int  golden_param(const cs_model *m, const char *name);
/** golden_batch - input.PREFIXtokens or input.PREFIXx, lengths and targets as a batch */
int  golden_batch(golden *g, const cs_model *m, const char *prefix, cs_batch **out) CS_MUST_CHECK;
/** golden_scale - what multiplies the summed loss of a batch; CS_EUSAGE for an unknown loss */
int  golden_scale(const golden *g, const cs_model *m, const cs_batch *b, double *scale)
    CS_MUST_CHECK;

#endif

/* param.h - tensors declared once, held in slabs: value, gradient, two moments, average. */
#ifndef CS_NN_PARAM_H
#define CS_NN_PARAM_H

#include "base/names.h"
#include "kernels/backend.h"

typedef enum cs_init {
    CS_INIT_ZERO,
    CS_INIT_ONE,                 /* `gain` everywhere */
    CS_INIT_NORMAL,              /* standard normal times `gain` */
    CS_INIT_XAVIER,              /* uniform in +-gain sqrt(6 / (fan_in + fan_out)) (Glorot 2010) */
    CS_INIT_FANIN,               /* uniform in +-gain / sqrt(fan_in): torch's Linear default */
    CS_INIT_UNIFORM,             /* uniform in +-gain */
    CS_INIT_ORTHOGONAL,          /* over the last two dimensions: orthonormal columns, or rows where
                                  * there are fewer, times gain (Saxe et al. 2014) */
    CS_INIT_SINUSOID             /* column 2i: sin(row / 10000^(2i / columns)), 2i+1: cos of it */
} cs_init;

typedef struct cs_shape { int32_t n_dim; int64_t dim[4]; } cs_shape;   /* torch layout: [out, in] */

typedef struct cs_param {
    char    *name;
    cs_shape shape;
    cs_init  init;
    double   gain;
    double   rate;               /* factor on the learning rate; 1 unless set by cs_params_rate() */
    bool     buffer;             /* buffer: saved but not trained, such as running statistics */
    bool     tracks;             /* a buffer updated by every training batch */
    bool     idle;               /* no pass uses it, with the present options */
    bool     absent;             /* idle, and the model's file leaves it out */
    int32_t  zero_row;           /* a row that stays zero (padding), or -1 */
    int64_t  off, n;             /* offset and size in every slab, in reals */
    int64_t  step;               /* number of its optimiser steps; 0: never touched, no moments */
    bool     touched;            /* has had a gradient since the last optimiser step */
} cs_param;

/* Called for every weight matrix of a linear layer on declaration: 1 .. min(n_out, n_in) makes it a
 * product of that rank, other values keep full rank. `of` NULL: all have full rank. */
typedef struct cs_ranks {
    int64_t (*of)(const void *arg, const char *name, int32_t n_out, int32_t n_in);
    const void *arg;
} cs_ranks;

typedef struct cs_params {
    cs_param   *p;
    int32_t     n;
    size_t      cap;
    cs_names    by_name;         /* indexes */
    int64_t     n_real;          /* size of a slab; offsets are multiples of 16 reals */
    int32_t     too_large;       /* 1 + the first tensor that cs_params_check() refuses, or 0 */
    cs_ranks    ranks;           /* while layers are being declared */
    cs_backend *be;
    cs_real    *value, *grad, *m, *v, *ema;   /* backend memory; NULL until allocated */
} cs_params;

/** cs_params_init - no parameters */
void cs_params_init(cs_params *ps);
void cs_params_release(cs_params *ps);

/** cs_shape1, cs_shape2, cs_shape3 - shapes of one to three dimensions */
static inline cs_shape cs_shape1(int64_t n) { return (cs_shape){ 1, { n } }; }
static inline cs_shape cs_shape2(int64_t r, int64_t c) { return (cs_shape){ 2, { r, c } }; }
static inline cs_shape cs_shape3(int64_t a, int64_t b, int64_t c)
{
    return (cs_shape){ 3, { a, b, c } };
}
static inline bool cs_shape_equal(const cs_shape *a, const cs_shape *b)
{
    bool same = a->n_dim == b->n_dim;
    for (int32_t i = 0; same && i < a->n_dim; i++)
        same = a->dim[i] == b->dim[i];
    return same;
}

/**
 * cs_declare - one trainable tensor
 *
 * fmt      its name in the model file ("encoder.block.%d.fc1.weight"); twice the same is CS_BUG
 * Returns  its index; out of memory exits (names and rows are small)
 */
int cs_declare(cs_params *ps, cs_shape shape, cs_init init, double gain, const char *fmt, ...)
    CS_PRINTF(5, 6);
/** cs_declare_buffer - the same for a tensor that is saved but not trained */
int cs_declare_buffer(cs_params *ps, cs_shape shape, cs_init init, const char *fmt, ...)
    CS_PRINTF(4, 5);
/** cs_params_rate - tensors whose names begin with `prefix` train with `rate` times the learning
 * rate */
void cs_params_rate(cs_params *ps, const char *prefix, double rate);
/** cs_params_find - index of a name, or -1 */
int cs_params_find(const cs_params *ps, const char *name);

/** cs_params_check - after all declarations: CS_EUSAGE with the name of a tensor whose columns
 * exceed 32 bits, or with which the bytes of all exceed 64. Such a tensor has no valid n and no
 * view */
int cs_params_check(const cs_params *ps) CS_MUST_CHECK;
/**
 * cs_params_alloc - memory for the values; `training` adds gradients, moments and the average
 *
 * Returns  CS_OK, CS_EMEM, or the error of cs_params_check(). Values are zero until
 *          cs_params_fill() or a model file sets them.
 */
int cs_params_alloc(cs_params *ps, cs_backend *be, bool training) CS_MUST_CHECK;
/** cs_params_copy - copy the values to a model of the same shapes, on any device; CS_OK, CS_EMEM,
 * CS_EDEVICE */
int  cs_params_copy(const cs_params *from, cs_params *to) CS_MUST_CHECK;
/** cs_params_fill - initial values: element j of a tensor is a function of (seed, name, shape, j);
 * CS_OK or CS_EMEM */
int  cs_params_fill(cs_params *ps, uint64_t seed) CS_MUST_CHECK;
/** cs_param_fill - those of tensor i alone */
int  cs_param_fill(cs_params *ps, int i, uint64_t seed) CS_MUST_CHECK;

/** cs_value, cs_grad - tensor i as a matrix: rows dim[0], columns the rest; 1-D is (1, n) */
cs_mat cs_value(const cs_params *ps, int i);
cs_mat cs_grad(const cs_params *ps, int i);
/** cs_params_slab - a whole slab as a matrix (n_real / 16, 16) without gaps, for zeroing, norms,
 * averaging: n_real may exceed the 32 bits of a single row's columns */
cs_mat cs_params_slab(const cs_params *ps, cs_real *slab);

#endif

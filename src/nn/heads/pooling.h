/* pooling.h - pooling of token vectors, by one or several methods. */
#ifndef CS_NN_POOLING_H
#define CS_NN_POOLING_H

#include "nn/ops/ctx.h"

typedef enum cs_pool {
    CS_POOL_MEAN, CS_POOL_CLS, CS_POOL_CENTRE, CS_POOL_MAX, CS_POOL_LSE, CS_POOL_ATTENTION,
    CS_POOL_KINDS
} cs_pool;

typedef struct cs_pooling {
    int32_t n;                   /* concatenated vectors */
    cs_pool kind[CS_POOL_KINDS];
    int64_t centre;              /* tokens in the middle */
    int32_t width;               /* channels of a token */
    int     score;               /* of attention */
} cs_pooling;

/** cs_pooling_parse - parse kinds, "mean" or "mean+max"; CS_EUSAGE for unknown or repeated ones */
int cs_pooling_parse(const char *text, cs_pooling *p) CS_MUST_CHECK;
/** cs_pooling_declare - for tokens of `width` channels; attention has "NAME.weight" (1, width), all
 * zero: it starts as the mean */
void cs_pooling_declare(cs_pooling *p, int64_t centre, int32_t width, cs_params *ps,
                        const char *name);
/** cs_pooling_width - columns of the result */
static inline int32_t cs_pooling_width(const cs_pooling *p) { return p->n * p->width; }
/** cs_pooling_is - is this kind the only one? */
static inline bool cs_pooling_is(const cs_pooling *p, cs_pool kind)
{
    return p->n == 1 && p->kind[0] == kind;
}
/** cs_pooling_is_linear - is the difference of two sequences' vectors that of their tokens? */
bool cs_pooling_is_linear(const cs_pooling *p);

/**
 * cs_pooling_apply - a new (n_seg, n * width) matrix of h (N, width)
 *
 * attention is sum_t a_t h_t with a the softmax over a segment's tokens of <w, h_t>.
 * Source   Ilse, Tomczak, Welling, Attention-based deep multiple instance learning, 2018, eq. 7,
 *          without the hidden layer
 */
cs_mat cs_pooling_apply(cs_ctx *cx, const cs_pooling *p, cs_seg seg, cs_mat h);

#endif

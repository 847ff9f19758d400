/* encoder.h - encoder interface: one file nn/encoders/enc_X.c and one line in registry.am. */
#ifndef CS_NN_ENCODER_H
#define CS_NN_ENCODER_H

#include "base/opt.h"
#include "nn/ops/ctx.h"

typedef struct cs_encoder {
    const char   *name;
    const cs_opt *opt;                         /* hyper-parameters: the command line's table */
    size_t        cfg_size;
    int     (*check)(const void *cfg);         /* CS_OK, or CS_EUSAGE naming the invalid setting */
    void   *(*build)(const void *cfg, cs_params *ps);      /* declare tensors as "encoder...." */
    int32_t (*width)(const void *net);                     /* columns of its output */
    int32_t (*in_width)(const void *net);                  /* of its input; NULL: the same */
    int64_t (*max_len)(const void *net);                   /* maximum tokens of a sequence; 0:
                                                            * any */
    /* x is (rows, in_width), the result (rows, width). x may be overwritten; when training, only if
     * the adjoints restore it */
    cs_mat  (*forward)(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x);
    /* Optional, for predictions: the mean over each segment of forward()'s result, (n_seg, width),
     * if there is a shortcut; absent (p NULL) otherwise. id: tokens, with x their embedding (V,
     * in_width); NULL: x is as for forward(). Backend memory; dry runs see id too */
    cs_mat  (*mean)(cs_ctx *cx, const void *net, cs_seg seg, const int32_t *id, cs_mat x);
    /* Is forward()'s result x, so that its mean over a segment does not depend on the order of the
     * tokens, except for rounding? NULL: no */
    bool    (*unordered)(const void *net);
    void    (*release)(void *net);             /* accepts NULL */
} cs_encoder;

#endif

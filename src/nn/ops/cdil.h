/* cdil.h - a stack of circular dilated convolutions: layer l has dilation D 2^(l-1). */
#ifndef CS_NN_CDIL_H
#define CS_NN_CDIL_H

#include "nn/ops/layer.h"

enum { CS_CDIL_MAX = 48 };       /* most layers: the dilation is below D 2^48 */

typedef enum cs_cdil_norm {
    CS_CDIL_PLAIN, CS_CDIL_WEIGHT, CS_CDIL_BATCH, CS_CDIL_LAYER
} cs_cdil_norm;
extern const char *const cs_cdil_norm_names[];     /* for an ENUM option */

/* Settings of a stack. */
typedef struct cs_cdil_spec {
    int32_t      n_in, n_layer;
    int32_t      width[CS_CDIL_MAX];   /* channels of each layer's output */
    int32_t      n_tap;                /* odd */
    int32_t      dilation;             /* D, of the first layer; 0: 1 */
    int32_t      hidden;               /* between the two convolutions of a layer; 0: one only */
    cs_cdil_norm norm;
    double       dropout;
} cs_cdil_spec;

typedef struct cs_cdil cs_cdil;

/**
 * cs_cdil_new - declare the tensors of a stack
 *
 * name     layer l (from 0) has "NAME.l.conv1.weight" (out, in, taps; "weight_v" and "weight_g"
 *          with weight norm), "NAME.l.conv1.bias" without batch or layer norm, "NAME.l.norm1...",
 *          the same with 2 where layers have two convolutions, and "NAME.l.res.weight", "...bias"
 *          where the number of channels changes
 */
cs_cdil *cs_cdil_new(const cs_cdil_spec *s, cs_params *ps, const char *name);
void     cs_cdil_free(cs_cdil *e);

/**
 * cs_cdil_apply - y = unit_2(unit_1(x)) + res(x) for each layer, unit = relu(norm(conv))
 *
 * n_layer  the first so many layers
 * block    number of the first layer for cx->block_hook; -1: none is reported
 * out      where the last layer writes, such as columns of a wider matrix; NULL: a new one
 * Returns  (N, width of the last layer); x may be overwritten when not training
 */
cs_mat cs_cdil_apply(cs_ctx *cx, const cs_cdil *e, cs_seg seg, int32_t n_layer, int32_t block,
                     cs_mat x, const cs_mat *out);

#endif

/*
 * cdil.c - layers of circular dilated convolutions: their tensors and their forward pass.
 *
 * DESIGN
 * Tensors have torch's names and layout. For predictions a batch normalisation with running
 * statistics is folded into the convolution before it; in training, and for gradients of
 * predictions, it is a separate step.
 */
#include "nn/ops/cdil.h"

#include <math.h>
#include <stdio.h>

#include "nn/ops/ops.h"
#include "nn/ops/ops_conv.h"
#include "nn/ops/tape.h"

const char *const cs_cdil_norm_names[] = { "none", "weight", "batch", "layer", NULL };

struct unit { int v, g, bias; cs_norm norm; };         /* -1: no such tensor */

/* Arguments of a layer's forward function; has a back pointer because a node of the tape has one
 * pointer. */
struct layer {
    const cs_cdil *net;
    int64_t        dilation;
    int32_t        n_out;
    struct unit    unit[2];
    bool           has_res;
    cs_linear      res;
};

struct cs_cdil {
    cs_cdil_spec spec;
    struct layer layer[];
};

/* ---- tensors ----------------------------------------------------------------------------- */

static struct unit declare_unit(const cs_cdil_spec *s, cs_params *ps, const char *name, int number,
                                int32_t n_in, int32_t n_out)
{
    struct unit u = { .g = -1, .bias = -1 };
    cs_shape shape = cs_shape3(n_out, n_in, s->n_tap);
    char norm[80];

    snprintf(norm, sizeof norm, "%s.norm%d", name, number);
    if (s->norm == CS_CDIL_WEIGHT) {
        /* The length that torch's initial weights have on average. */
        u.g = cs_declare(ps, cs_shape3(n_out, 1, 1), CS_INIT_ONE, 1 / sqrt(3.0),
                         "%s.conv%d.weight_g", name, number);
        u.v = cs_declare(ps, shape, CS_INIT_FANIN, 1, "%s.conv%d.weight_v", name, number);
    } else {
        u.v = cs_declare(ps, shape, CS_INIT_FANIN, 1, "%s.conv%d.weight", name, number);
    }
    if (s->norm == CS_CDIL_PLAIN || s->norm == CS_CDIL_WEIGHT)
        u.bias = cs_declare(ps, cs_shape1(n_out), CS_INIT_ZERO, 1, "%s.conv%d.bias", name, number);
    else
        u.norm = cs_norm_declare(ps, s->norm == CS_CDIL_BATCH ? CS_NORM_BATCH : CS_NORM_LAYER,
                                 n_out, 1, norm);
    return u;
}

static cs_linear declare_res(cs_params *ps, const char *name, int32_t n_in, int32_t n_out)
{
    cs_linear l = { .n_out = n_out };
    l.w = cs_declare(ps, cs_shape3(n_out, n_in, 1), CS_INIT_FANIN, 1, "%s.res.weight", name);
    l.b = cs_declare(ps, cs_shape1(n_out), CS_INIT_ZERO, 1, "%s.res.bias", name);
    return l;
}

cs_cdil *cs_cdil_new(const cs_cdil_spec *s, cs_params *ps, const char *name)
{
    cs_cdil *e = cs_xcalloc(1, sizeof *e + (size_t)s->n_layer * sizeof e->layer[0]);
    int32_t n_in = s->n_in;
    char full[64];

    CS_BUG(s->n_layer < 1 || s->n_layer > CS_CDIL_MAX || s->n_tap % 2 == 0);
    e->spec = *s;
    for (int32_t l = 0; l < s->n_layer; l++) {
        struct layer *k = &e->layer[l];
        int32_t mid = s->hidden ? s->hidden : s->width[l];
        snprintf(full, sizeof full, "%s.%d", name, (int)l);
        k->net = e;
        k->dilation = (int64_t)(s->dilation ? s->dilation : 1) << l;
        k->n_out = s->width[l];
        k->unit[0] = declare_unit(s, ps, full, 1, n_in, mid);
        if (s->hidden)
            k->unit[1] = declare_unit(s, ps, full, 2, mid, k->n_out);
        k->has_res = n_in != k->n_out;
        if (k->has_res)
            k->res = declare_res(ps, full, n_in, k->n_out);
        n_in = k->n_out;
    }
    return e;
}

void cs_cdil_free(cs_cdil *e)
{
    free(e);
}

/* ---- forward ----------------------------------------------------------------------------- */

static cs_taps taps_of(const struct layer *k)
{
    return (cs_taps){ k->net->spec.n_tap, k->dilation };
}

/* Is a unit one step? */
static bool is_whole(const cs_ctx *cx, const struct layer *k, cs_mat x, cs_mat y)
{
    const bool norm = k->net->spec.norm == CS_CDIL_LAYER;
    return cx->training ? norm && cs_conv_can_train(cx, taps_of(k), x, y)
                        : cs_conv_can_infer(cx, taps_of(k), x, y, norm);
}

/* y = relu(norm(conv(x))), plus res where the unit is whole */
static void apply_unit(cs_ctx *cx, const struct layer *k, const struct unit *u, cs_seg seg,
                       cs_mat x, cs_mat res, cs_mat y)
{
    const cs_cdil_spec *s = &k->net->spec;
    cs_mat none = { 0 }, g = u->g >= 0 ? cs_value(cx->ps, u->g) : none;
    cs_mat bias = u->bias >= 0 ? cs_value(cx->ps, u->bias) : none;
    cs_mat w = cs_conv_weight(cx, s->n_tap, cs_value(cx->ps, u->v), g);
    bool has_norm = s->norm == CS_CDIL_BATCH || s->norm == CS_CDIL_LAYER;

    if (s->norm == CS_CDIL_BATCH && !cx->training) {
        bias = cs_conv_fold(cx, cs_value(cx->ps, u->norm.gamma), cs_value(cx->ps, u->norm.beta),
                            cs_norm_running(cx->ps, &u->norm), w);
        has_norm = false;
    }
    if (is_whole(cx, k, x, y)) {
        cs_epilogue epi = { .bias = bias, .res = res };
        if (has_norm) {
            epi.gamma = cs_value(cx->ps, u->norm.gamma);
            epi.beta = cs_value(cx->ps, u->norm.beta);
        }
        (cx->training ? cs_conv_train : cs_conv_infer)(cx, seg, taps_of(k), x, w, &epi, y);
        return;
    }
    const bool in_place = cs_act_in_place(cx, CS_ACT_RELU);
    cs_mat pre = !in_place || has_norm ? cs_empty(cx, y.r, y.c) : y;
    cs_conv(cx, seg, taps_of(k), x, w, bias, pre);
    if (has_norm) {
        cs_mat normed = in_place ? y : cs_empty(cx, y.r, y.c);
        cs_norm_apply(cx, &u->norm, seg, pre, normed);
        pre = normed;
    }
    cs_activate(cx, CS_ACT_RELU, pre, y);
}

static cs_mat res_of(cs_ctx *cx, const struct layer *k, cs_mat x)
{
    return k->has_res ? cs_linear_apply(cx, &k->res, x) : x;
}

static void apply_layer(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    const struct layer *k = net;
    const cs_cdil_spec *s = &k->net->spec;
    const struct unit *last = &k->unit[s->hidden ? 1 : 0];
    const cs_mat none = { 0 };
    const bool drops = s->dropout > 0 && cs_is_training(cx);
    cs_mat h = x;

    if (s->hidden) {
        h = cs_empty(cx, x.r, s->hidden);
        apply_unit(cx, k, &k->unit[0], seg, x, none, h);
        h = cs_dropout(cx, s->dropout, h);
    }
    if (is_whole(cx, k, h, y) && !drops) {
        apply_unit(cx, k, last, seg, h, res_of(cx, k, x), y);
        return;
    }
    cs_mat out = cx->recording ? cs_empty(cx, y.r, y.c) : y;
    apply_unit(cx, k, last, seg, h, none, out);
    out = cs_dropout(cx, s->dropout, out);
    cs_add(cx, out, res_of(cx, k, x), y);
}

cs_mat cs_cdil_apply(cs_ctx *cx, const cs_cdil *e, cs_seg seg, int32_t n_layer, int32_t block,
                     cs_mat x, const cs_mat *out)
{
    cs_mat scratch = { 0 };

    CS_BUG(n_layer < 1 || n_layer > e->spec.n_layer || x.c != e->spec.n_in || x.r != seg.rows);
    for (int32_t l = 0; l < n_layer; l++) {
        const struct layer *k = &e->layer[l];
        /* Without gradients two buffers of a width take turns. */
        bool reuse = !cx->training && l > 0 && scratch.c == k->n_out;
        cs_mat y = out && l == n_layer - 1 ? *out : reuse ? scratch : cs_empty(cx, x.r, k->n_out);
        cs_block(cx, apply_layer, k, seg, x, y);
        scratch = x;
        x = y;
        if (cx->block_hook && block >= 0 && !cx->dry)
            cx->block_hook(cx->block_hook_arg, block + l, x);
    }
    return x;
}

/* layer.c - linear layers and normalisations: their parameters and how they are applied. */
#include "nn/layer.h"

#include "nn/ops.h"

cs_linear cs_linear_declare(cs_params *ps, int32_t n_in, int32_t n_out, double gain,
                            const char *name)
{
    cs_linear l = { .n_in = n_in, .n_out = n_out };
    cs_init init = gain == 0 ? CS_INIT_ZERO : CS_INIT_XAVIER;
    l.w = cs_declare(ps, cs_shape2(n_out, n_in), init, gain, "%s.weight", name);
    l.b = cs_declare(ps, cs_shape1(n_out), CS_INIT_ZERO, 1, "%s.bias", name);
    return l;
}

cs_mat cs_linear_apply(cs_ctx *cx, const cs_linear *l, cs_mat x)
{
    cs_mat y = cs_tmp(cx, x.r, l->n_out);
    cs_affine(cx, x, cs_value(cx->ps, l->w), cs_value(cx->ps, l->b), y);
    return y;
}

const char *const cs_norm_names[] = { "none", "layer", "batch", "group", NULL };

cs_norm cs_norm_declare(cs_params *ps, cs_norm_kind kind, int32_t width, int32_t n_group,
                        const char *name)
{
    cs_norm n = { .kind = kind, .n_group = n_group };
    if (kind == CS_NORM_NONE)
        return n;
    n.gamma = cs_declare(ps, cs_shape1(width), CS_INIT_ONE, 1, "%s.weight", name);
    n.beta = cs_declare(ps, cs_shape1(width), CS_INIT_ZERO, 1, "%s.bias", name);
    if (kind == CS_NORM_BATCH) {
        n.mean = cs_declare_buffer(ps, cs_shape1(width), CS_INIT_ZERO, "%s.running_mean", name);
        n.var = cs_declare_buffer(ps, cs_shape1(width), CS_INIT_ONE, "%s.running_var", name);
    }
    return n;
}

/* The two tensors as rows of one matrix: they lie in the same slab, a fixed distance apart. */
cs_mat cs_norm_running(const cs_params *ps, const cs_norm *n)
{
    cs_mat m = cs_value(ps, n->mean);
    m.r = 2;
    m.ld = (int32_t)(ps->p[n->var].off - ps->p[n->mean].off);
    return m;
}

void cs_norm_apply(cs_ctx *cx, const cs_norm *n, cs_seg seg, cs_mat x, cs_mat y)
{
    cs_mat gamma = cs_value(cx->ps, n->gamma), beta = cs_value(cx->ps, n->beta);
    switch (n->kind) {
    case CS_NORM_LAYER:
        cs_layernorm(cx, x, gamma, beta, y);
        break;
    case CS_NORM_BATCH:
        cs_batchnorm(cx, x, gamma, beta, cs_norm_running(cx->ps, n), y);
        break;
    case CS_NORM_GROUP:
        cs_groupnorm(cx, seg, n->n_group, x, gamma, beta, y);
        break;
    case CS_NORM_NONE:
        CS_BUG(true);
    }
}

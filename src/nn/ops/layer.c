/* layer.c - linear layers and normalisations: parameters and forward pass. */
#include "nn/ops/layer.h"

#include <string.h>

#include "nn/ops/ops.h"

static const char first_of_two[] = "_a";

int cs_weight_declare(cs_params *ps, int32_t n_out, int32_t n_in, double gain, const char *name,
                      int *a)
{
    const cs_init init = gain == 0 ? CS_INIT_ZERO : CS_INIT_XAVIER;
    const int64_t max = n_out < n_in ? n_out : n_in;
    const int64_t rank = ps->ranks.of ? ps->ranks.of(ps->ranks.arg, name, n_out, n_in) : 0;

    *a = -1;
    if (rank < 1 || rank > max)
        return cs_declare(ps, cs_shape2(n_out, n_in), init, gain, "%s", name);
    *a = cs_declare(ps, cs_shape2(rank, n_in), CS_INIT_XAVIER, 1, "%s%s", name, first_of_two);
    return cs_declare(ps, cs_shape2(n_out, rank), init, gain, "%s_b", name);
}

void cs_weight_apply(cs_ctx *cx, int w, int a, cs_mat x, cs_mat bias, cs_mat y)
{
    cs_mat part = cs_value(cx->ps, w);

    part.r = y.c;
    if (bias.r)
        bias.c = y.c;
    if (a >= 0) {
        const cs_mat down = cs_value(cx->ps, a), low = cs_empty(cx, x.r, (int32_t)down.r);
        cs_affine(cx, x, down, (cs_mat){ 0 }, low);
        x = low;
    }
    cs_affine(cx, x, part, bias, y);
}

static int64_t rank_like(const void *arg, const char *name, int32_t n_out, int32_t n_in)
{
    const cs_params *like = arg;
    char first[256];

    (void)n_out;
    (void)n_in;
    if ((size_t)snprintf(first, sizeof first, "%s%s", name, first_of_two) >= sizeof first)
        return 0;
    const int i = cs_params_find(like, first);
    return i >= 0 ? like->p[i].shape.dim[0] : 0;
}

cs_ranks cs_params_ranks(const cs_params *like)
{
    return (cs_ranks){ rank_like, like };
}

int32_t cs_params_low_rank(const cs_params *ps)
{
    static const char tail[] = "weight_a";
    int32_t n = 0;

    for (int32_t i = 0; i < ps->n; i++) {
        const size_t len = strlen(ps->p[i].name);
        n += len >= strlen(tail) && strcmp(ps->p[i].name + len - strlen(tail), tail) == 0;
    }
    return n;
}

cs_linear cs_linear_declare(cs_params *ps, int32_t n_in, int32_t n_out, double gain,
                            const char *name)
{
    cs_linear l = { .n_out = n_out };
    char full[256];
    snprintf(full, sizeof full, "%s.weight", name);
    l.w = cs_weight_declare(ps, n_out, n_in, gain, full, &l.a);
    l.low = l.a >= 0;
    l.b = cs_declare(ps, cs_shape1(n_out), CS_INIT_ZERO, 1, "%s.bias", name);
    return l;
}

cs_mat cs_linear_apply(cs_ctx *cx, const cs_linear *l, cs_mat x)
{
    cs_mat y = cs_empty(cx, x.r, l->n_out);
    cs_linear_into(cx, l, x, y);
    return y;
}

cs_mat cs_linear_infer(cs_ctx *cx, const cs_linear *l, cs_mat x)
{
    const cs_fused *f = &cx->be->fused;
    const cs_mat w = cs_value(cx->ps, l->w);
    int64_t *done;

    if (l->low || cx->training || cx->ps->grad || cx->no_fused || !f->affine)
        return cs_linear_apply(cx, l, x);
    CS_BUG(w.c != x.c || w.r != l->n_out);
    cs_mat y = cs_empty(cx, x.r, l->n_out);
    cs_real *pack = cs_cached(cx, l, f->affine_pack_size(w), &done);
    if (cx->dry)
        return y;
    if (*done == 0)
        f->affine_prepare(cx->be, w, pack);
    *done = 1;
    f->affine(cx->be, x, pack, cs_value(cx->ps, l->b), y);
    return y;
}

void cs_linear_into(cs_ctx *cx, const cs_linear *l, cs_mat x, cs_mat y)
{
    cs_weight_apply(cx, l->w, l->low ? l->a : -1, x, cs_value(cx->ps, l->b), y);
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
        ps->p[n.mean].tracks = ps->p[n.var].tracks = true;
    }
    return n;
}

/* The two tensors as rows of one matrix: they are in one slab, at a fixed distance. */
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

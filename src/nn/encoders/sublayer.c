/* sublayer.c - projections, feed-forward networks, residuals and positions. */
#include "nn/encoders/sublayer.h"

#include <math.h>

#include "nn/ops/ops.h"
#include "nn/ops/ops_attn.h"

cs_proj cs_proj_declare(cs_params *ps, int32_t n_in, int32_t n_out, int32_t rank, bool bias,
                        const char *name)
{
    cs_proj p = { .a = -1, .b = -1, .n_out = n_out };
    const char *tail = rank > 0 ? "_b" : "";
    char full[256];
    snprintf(full, sizeof full, "%s.weight", name);
    if (rank > 0) {
        p.a = cs_declare(ps, cs_shape2(rank, n_in), CS_INIT_XAVIER, 1, "%s_a.weight", name);
        p.w = cs_declare(ps, cs_shape2(n_out, rank), CS_INIT_XAVIER, 1, "%s_b.weight", name);
    } else {
        p.w = cs_weight_declare(ps, n_out, n_in, 1, full, &p.a);
    }
    if (bias)
        p.b = cs_declare(ps, cs_shape1(n_out), CS_INIT_ZERO, 1, "%s%s.bias", name, tail);
    return p;
}

cs_mat cs_value_block(const cs_params *ps, int tensor, int32_t i, int64_t r, int32_t c)
{
    cs_mat m = cs_value(ps, tensor);
    return (cs_mat){ m.p ? m.p + i * r * c : NULL, r, c, c };
}

/* n blocks (r, c), or one without the first dimension if n is 0 */
static int declare_blocks(cs_params *ps, int32_t n, int64_t r, int64_t c, const char *name,
                          const char *suffix)
{
    cs_shape s = n > 0 ? cs_shape3(n, r, c) : cs_shape2(r, c);
    return cs_declare(ps, s, CS_INIT_NORMAL, sqrt(2 / (double)(r + c)), "%s%s", name, suffix);
}

cs_proj cs_proj_declare_parts(cs_params *ps, const cs_proj_parts *parts, const char *name,
                              const char *suffix)
{
    char e[80], d[80];
    const int32_t n = parts->n_part, r = parts->rank;
    cs_proj p = { .b = -1, .n_out = parts->n_out, .n_part = n > 0 ? n : 1, .rank = r };
    snprintf(e, sizeof e, "%s.E", name);
    snprintf(d, sizeof d, "%s.D", name);
    p.a = declare_blocks(ps, n, parts->n_in, r, e, suffix);
    p.w = declare_blocks(ps, n, r, p.n_out / p.n_part, d, suffix);
    return p;
}

static cs_mat apply_parts(cs_ctx *cx, const cs_proj *p, cs_mat x)
{
    int32_t c = p->n_out / p->n_part;
    cs_mat low = cs_empty(cx, x.r, p->rank * p->n_part), y = cs_empty(cx, x.r, p->n_out);
    for (int32_t i = 0; i < p->n_part; i++) {
        cs_mat mid = cs_columns(low, i * p->rank, p->rank);
        cs_matmul(cx, x, cs_value_block(cx->ps, p->a, i, x.c, p->rank), mid);
        cs_matmul(cx, mid, cs_value_block(cx->ps, p->w, i, p->rank, c), cs_columns(y, i * c, c));
    }
    return y;
}

cs_mat cs_proj_apply(cs_ctx *cx, const cs_proj *p, cs_mat x)
{
    cs_mat b = p->b >= 0 ? cs_value(cx->ps, p->b) : (cs_mat){ 0 };
    if (p->n_part > 0)
        return apply_parts(cx, p, x);
    cs_mat y = cs_empty(cx, x.r, p->n_out);
    cs_weight_apply(cx, p->w, p->a, x, b, y);
    return y;
}

int cs_check_heads(int64_t dim, int64_t heads)
{
    if (dim % heads == 0)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "%lld heads do not divide %lld channels; change %s or %s",
                   (long long)heads, (long long)dim, CS_OPTION("encoder.heads"),
                   CS_OPTION("encoder.dim"));
}

int cs_check_columns(int64_t n, int64_t each, const char *option)
{
    enum { MOST = 1 << 30 };     /* sums of a few, and of vectors beyond the end, stay int32_t */

    if (n * each <= MOST)
        return CS_OK;
    return cs_fail(CS_EUSAGE, "%lld times %lld columns are more than a matrix can have; lower %s",
                   (long long)n, (long long)each, CS_OPTION("encoder.%s", option));
}

const char *const cs_ffn_act_names[] = { "gelu", "relu", NULL };
const cs_act cs_ffn_acts[] = { CS_ACT_GELU, CS_ACT_RELU };

cs_ffn cs_ffn_declare(cs_params *ps, int32_t l, const char *up, const char *down, int32_t width,
                      int32_t hidden)
{
    cs_ffn f = { .dropout = 0 };
    char name[64];

    snprintf(name, sizeof name, "encoder.layers.%d.%s", l, up);
    f.up = cs_proj_declare(ps, width, hidden, 0, true, name);
    snprintf(name, sizeof name, "encoder.layers.%d.%s", l, down);
    f.down = cs_proj_declare(ps, hidden, width, 0, true, name);
    return f;
}

cs_mat cs_ffn_apply(cs_ctx *cx, const void *ffn, cs_seg seg, cs_mat x)
{
    const cs_ffn *f = ffn;
    cs_mat pre = cs_proj_apply(cx, &f->up, x);
    cs_mat h = cx->recording ? cs_empty(cx, pre.r, pre.c) : pre;
    (void)seg;
    cs_activate(cx, f->act, pre, h);
    return cs_proj_apply(cx, &f->down, cs_dropout(cx, f->dropout, h));
}

void cs_sublayers_declare(cs_params *ps, int32_t l, int32_t width, bool pre, double dropout,
                          cs_sublayer sublayer[2])
{
    char name[64];

    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "encoder.layers.%d.norm%d", l, i + 1);
        sublayer[i] = (cs_sublayer){ cs_norm_declare(ps, CS_NORM_LAYER, width, 1, name), pre,
                                     dropout };
    }
}

void cs_sublayer_apply(cs_ctx *cx, const cs_sublayer *a, cs_sub_fn f, const void *net, cs_seg seg,
                       cs_mat x, cs_mat y)
{
    if (a->pre) {
        cs_mat h = cs_empty(cx, x.r, x.c);
        cs_norm_apply(cx, &a->norm, seg, x, h);
        cs_add(cx, x, cs_dropout(cx, a->dropout, f(cx, net, seg, h)), y);
        return;
    }
    cs_mat h = cs_dropout(cx, a->dropout, f(cx, net, seg, x));
    cs_mat sum = cx->recording ? cs_empty(cx, x.r, x.c) : h;
    cs_add(cx, x, h, sum);
    cs_norm_apply(cx, &a->norm, seg, sum, y);
}

/* ---- positions ----------------------------------------------------------------------------- */

const char *const cs_position_names[] = { "none", "sinusoid", "learned", NULL };

int cs_position_declare(cs_params *ps, cs_position kind, int64_t n, int32_t width,
                        const char *name)
{
    if (kind == CS_POSITION_NONE)
        return -1;
    if (kind == CS_POSITION_SINUSOID)
        return cs_declare_buffer(ps, cs_shape2(n, width), CS_INIT_SINUSOID, "%s", name);
    return cs_declare(ps, cs_shape2(n, width), CS_INIT_NORMAL, 1, "%s", name);
}

cs_mat cs_position_apply(cs_ctx *cx, int table, cs_seg seg, double scale, cs_mat x)
{
    if (table < 0)
        return x;
    cs_mat y = cx->recording ? cs_empty(cx, x.r, x.c) : x;
    cs_seg_position(cx, seg, cx->ps->p[table].buffer, (cs_real)scale, cs_value(cx->ps, table), x,
                    y);
    return y;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

void *cs_attn_stack_new(const cs_attn_stack *s, const void *cfg, cs_params *ps)
{
    cs_attn_stack *e = cs_xcalloc(1, sizeof *e + (size_t)s->n_layer * s->layer_bytes);

    *e = *s;
    e->table = cs_position_declare(ps, s->position, s->max_len, s->width, "encoder.position");
    for (int32_t l = 0; l < s->n_layer; l++)
        s->declare(e->layer + (size_t)l * s->layer_bytes, cfg, l, ps);
    return e;
}

int32_t cs_attn_stack_width(const void *net)
{
    return ((const cs_attn_stack *)net)->width;
}

int64_t cs_attn_stack_max_len(const void *net)
{
    const cs_attn_stack *e = net;
    return e->table >= 0 || e->fixed_len ? e->max_len : 0;
}

cs_mat cs_attn_stack_forward(cs_ctx *cx, const void *net, cs_seg seg, cs_mat x)
{
    const cs_attn_stack *e = net;

    CS_BUG(x.c != e->width || x.r != seg.rows);
    x = cs_position_apply(cx, e->table, seg, 1, x);
    return cs_stack(cx, e->run, e->layer, e->layer_bytes, e->n_layer, seg, x);
}

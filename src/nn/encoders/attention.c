/* attention.c - softmax, Linformer's and feed-forward kernel attention between projections. */
#include "nn/encoders/attention.h"

#include <math.h>

#include "nn/ops/ops.h"
#include "nn/ops/ops_attn.h"

static cs_proj project(cs_params *ps, int64_t n_in, int64_t n_out, bool bias, const char *name,
                       const char *which)
{
    char full[96];
    snprintf(full, sizeof full, "%s.%s", name, which);
    return cs_proj_declare(ps, (int32_t)n_in, (int32_t)n_out, 0, bias, full);
}

/* ---- softmax --------------------------------------------------------------------------------- */

cs_mat cs_mha_cross(cs_ctx *cx, const cs_mha *m, cs_seg seg, cs_mat x, cs_seg key, cs_mat z)
{
    cs_mat q = cs_proj_apply(cx, &m->q, x), k = cs_proj_apply(cx, &m->k, z);
    cs_mat v = cs_proj_apply(cx, &m->v, z), y = cs_empty(cx, x.r, m->n_value);
    const cs_attn a = { .seg = seg, .key = key, .n_head = m->n_head, .scale = (cs_real)m->scale,
                        .dropout = m->dropout };
    cs_call_value_hook(cx, "q", m->layer, q);
    cs_call_value_hook(cx, "k", m->layer, k);
    cs_attend(cx, &a, q, k, v, y);
    return cs_proj_apply(cx, &m->o, y);
}

cs_mat cs_mha_apply(cs_ctx *cx, const void *mha, cs_seg seg, cs_mat x)
{
    return cs_mha_cross(cx, mha, seg, x, seg, x);
}

/* ---- Linformer ------------------------------------------------------------------------------- */

cs_linformer cs_linformer_declare(cs_params *ps, const cs_linformer_cfg *c, int32_t layer,
                                  const char *name)
{
    int64_t head = c->head ? c->head : c->dim / c->heads, kv = head * (c->one ? 1 : c->heads);
    double gain = 1 / sqrt((double)c->n_key);
    cs_shape sums = cs_shape2(c->max_len, c->n_key);
    cs_linformer m = { .n_head = (int32_t)c->heads, .head = (int32_t)head, .share = c->share,
                       .n_key = (int32_t)c->n_key, .layer = layer, .dropout = c->dropout };

    m.q = project(ps, c->dim, head * c->heads, false, name, "to_q");
    m.k = project(ps, c->dim, kv, false, name, "to_k");
    m.sum_k = cs_declare(ps, sums, CS_INIT_UNIFORM, gain, "%s.proj_k", name);
    /* The weights of the sums of values start equal, so that each sum begins as the composition.
     * With the released code's random weights a rare token's effect changes sign with its position
     * and is hardly learned: temporal order stays at chance (tests/bench/results/README.md). */
    if (!c->share) {
        m.v = project(ps, c->dim, kv, false, name, "to_v");
        m.sum_v = cs_declare(ps, sums, CS_INIT_ONE, 1 / sqrt(2 * (double)c->max_len), "%s.proj_v",
                             name);
    }
    m.o = project(ps, head * c->heads, c->dim, true, name, "to_out");
    return m;
}

/* Per segment: n_key weighted sums of the rows of x. */
static cs_mat summed(cs_ctx *cx, int weights, int32_t n_key, cs_seg seg, cs_mat x)
{
    cs_mat y = cs_empty(cx, (int64_t)seg.n * n_key, x.c);
    cs_seg_gemm(cx, seg, true, false, (cs_operand){ cs_value(cx->ps, weights), CS_SEG_SHARED },
                (cs_operand){ x, CS_SEG_ROWS }, (cs_operand){ y, CS_SEG_BLOCK });
    return y;
}

cs_mat cs_linformer_apply(cs_ctx *cx, const void *linformer, cs_seg seg, cs_mat x)
{
    const cs_linformer *m = linformer;
    cs_seg key = { .n = seg.n, .rows = (int64_t)seg.n * m->n_key };
    const cs_attn a = { .seg = seg, .key = key, .n_head = m->n_head, .dropout = m->dropout,
                        .scale = (cs_real)(1 / sqrt((double)m->head)) };
    cs_mat q = cs_proj_apply(cx, &m->q, x), y = cs_empty(cx, q.r, q.c);
    cs_mat k = summed(cx, m->sum_k, m->n_key, seg, cs_proj_apply(cx, &m->k, x)), v = k;

    if (!m->share)
        v = summed(cx, m->sum_v, m->n_key, seg, cs_proj_apply(cx, &m->v, x));
    cs_attend(cx, &a, q, k, v, y);
    return cs_proj_apply(cx, &m->o, y);
}

/* ---- feed-forward kernels -------------------------------------------------------------------- */

/* Weights of shape (heads, in, out). */
static int declare_kernel(cs_params *ps, cs_shape s, cs_init init, const char *name,
                          const char *which, int unit)
{
    double gain = init == CS_INIT_ORTHOGONAL ? 1 : sqrt(2 / (double)(s.dim[1] + s.dim[2]));
    return cs_declare(ps, s, init, gain, "%s.kernel.%s.%d", name, which, unit);
}

cs_fkernel cs_fkernel_declare(cs_params *ps, const cs_fkernel_cfg *c, int32_t layer,
                              const char *name)
{
    cs_fkernel m = { .n_head = (int32_t)c->heads, .head = (int32_t)(c->dim / c->heads),
                     .rank = (int32_t)c->rank, .n_unit = (int32_t)c->units, .gated = c->gated,
                     .shared = c->shared, .ortho = c->ortho, .layer = layer };
    /* Targets of the regulariser, if there is one. */
    const cs_init first = c->ortho > 0 ? CS_INIT_ORTHOGONAL : CS_INIT_NORMAL;
    const int64_t n = m.shared ? 1 : m.n_head;
    const cs_shape full = cs_shape3(n, m.head, m.head), to_rank = cs_shape3(n, m.head, m.rank);
    const cs_shape from_rank = cs_shape3(n, m.rank, m.head);

    m.q = project(ps, c->dim, c->dim, true, name, "wq");
    m.k = project(ps, c->dim, c->dim, true, name, "wk");
    m.v = project(ps, c->dim, c->dim, true, name, "wv");
    m.o = project(ps, c->dim, c->dim, true, name, "wo");
    for (int i = 0; i < m.n_unit; i++) {
        m.f[i] = declare_kernel(ps, full, first, name, "Wf", i);
        if (m.gated && m.rank == 0)
            m.g[i] = declare_kernel(ps, full, CS_INIT_NORMAL, name, "Wg", i);
        if (m.gated && m.rank > 0) {
            m.g[i] = declare_kernel(ps, to_rank, CS_INIT_NORMAL, name, "Wa", i);
            m.h[i] = declare_kernel(ps, from_rank, CS_INIT_NORMAL, name, "Wb", i);
        }
    }
    return m;
}

/* The weights (r, c) of head h, which act on the right. */
static cs_mat kernel_of(const cs_ctx *cx, const cs_fkernel *m, int tensor, int32_t h, int32_t r,
                        int32_t c)
{
    return cs_value_block(cx->ps, tensor, m->shared ? 0 : h, r, c);
}

/* Every head's columns of x times its weights (r, c): a new matrix. */
static cs_mat per_head(cs_ctx *cx, const cs_fkernel *m, int tensor, int32_t r, int32_t c, cs_mat x)
{
    cs_mat y = cs_empty(cx, x.r, c * m->n_head);
    for (int32_t h = 0; h < m->n_head; h++)
        cs_matmul(cx, cs_columns(x, h * r, r), kernel_of(cx, m, tensor, h, r, c),
                  cs_columns(y, h * c, c));
    return y;
}

static cs_mat activated(cs_ctx *cx, cs_act f, cs_mat x)
{
    cs_mat y = cx->recording ? cs_empty(cx, x.r, x.c) : x;
    cs_activate(cx, f, x, y);
    return y;
}

/* The features: units of f(x) sigmoid(gate(x)), the last with softplus(f(x)), so that they are
 * positive; without gates one unit, softplus(f(x)). */
static cs_mat features(cs_ctx *cx, const cs_fkernel *m, cs_mat x)
{
    int32_t n = m->head;
    for (int i = 0; i < m->n_unit; i++) {
        cs_mat f = per_head(cx, m, m->f[i], n, n, x), gate = x;
        if (i == m->n_unit - 1)
            f = activated(cx, CS_ACT_SOFTPLUS, f);
        if (m->gated && m->rank > 0)
            gate = per_head(cx, m, m->h[i], m->rank, n, per_head(cx, m, m->g[i], n, m->rank, x));
        else if (m->gated)
            gate = per_head(cx, m, m->g[i], n, n, x);
        x = f;
        if (m->gated) {
            x = cs_empty(cx, f.r, f.c);
            cs_mul(cx, f, activated(cx, CS_ACT_SIGMOID, gate), x);
        }
    }
    return x;
}

static void penalise(cs_ctx *cx, const cs_fkernel *m, int32_t n_seg)
{
    for (int i = 0; i < m->n_unit && m->ortho > 0 && cx->training; i++)
        for (int32_t h = 0; h < (m->shared ? 1 : m->n_head); h++) {
            cs_mat gram = cs_empty(cx, m->head, m->head);
            cs_gram(cx, kernel_of(cx, m, m->f[i], h, m->head, m->head), gram);
            /* Each sequence adds its share, so a step of several batches adds the penalty once. */
            cs_penalty(cx, CS_PEN_ORTHO, m->ortho * n_seg, gram);
        }
}

cs_mat cs_fkernel_apply(cs_ctx *cx, const void *fkernel, cs_seg seg, cs_mat x)
{
    const cs_fkernel *m = fkernel;
    const cs_attn a = { .seg = seg, .key = seg, .n_head = m->n_head, .scale = 1 };
    cs_mat q = features(cx, m, cs_proj_apply(cx, &m->q, x));
    cs_mat k = features(cx, m, cs_proj_apply(cx, &m->k, x));
    cs_mat v = cs_proj_apply(cx, &m->v, x), y = cs_empty(cx, x.r, x.c);

    cs_linear_attend(cx, &a, q, k, v, y);
    cs_call_value_hook(cx, "phi_q", m->layer, q);
    cs_call_value_hook(cx, "phi_k", m->layer, k);
    cs_call_value_hook(cx, "heads", m->layer, y);
    penalise(cx, m, seg.n);
    return cs_proj_apply(cx, &m->o, y);
}

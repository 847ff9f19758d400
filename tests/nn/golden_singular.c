/* golden_singular.c - Singularformer's classifier and regularisers under the golden test. */
#include <math.h>
#include <string.h>

#include "golden_attn.h"
#include "nn/ops/ops.h"
#include "nn/ops/tape.h"

/* ---- pooling: the largest and the mean of every channel over the valid rows ------------------ */

static int64_t valid_rows(cs_seg seg, int32_t k)
{
    return seg.n_valid ? seg.n_valid[k] : seg.off[k + 1] - seg.off[k];
}

static void pool_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_mat x = n->m[0], dx = cs_grad_to(cx, x), dy = cs_grad_of(cx, n->m[1]);
    (void)cx->be->op.sync(cx->be);       /* a device may still fill dx */
    for (int32_t k = 0; k < n->seg.n; k++)
        for (int32_t j = 0; j < x.c; j++) {
            int64_t from = n->seg.off[k], len = valid_rows(n->seg, k), best = from;
            for (int64_t r = from; r < from + len; r++) {
                best = x.p[r * x.c + j] > x.p[best * x.c + j] ? r : best;
                dx.p[r * x.c + j] += dy.p[(k * 2 + 1) * x.c + j] / (cs_real)len;
            }
            dx.p[best * x.c + j] += dy.p[k * 2 * x.c + j];
        }
}

static cs_mat pool(cs_ctx *cx, cs_seg seg, cs_mat x)
{
    cs_mat y = cs_empty(cx, seg.n, 2 * x.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = pool_adjoint, .m = { x, y }, .seg = seg });
    (void)cx->be->op.sync(cx->be);
    for (int32_t k = 0; !cx->dry && k < seg.n; k++)
        for (int32_t j = 0; j < x.c; j++) {
            double sum = 0, max = -INFINITY;
            for (int64_t r = seg.off[k]; r < seg.off[k] + valid_rows(seg, k); r++) {
                sum += (double)x.p[r * x.c + j];
                max = fmax(max, (double)x.p[r * x.c + j]);
            }
            y.p[k * 2 * x.c + j] = (cs_real)max;
            y.p[(k * 2 + 1) * x.c + j] = (cs_real)(sum / (double)valid_rows(seg, k));
        }
    return y;
}

void singular_declare(subject *s, const json_t *args)
{
    int32_t d = (int32_t)golden_number(args, "emb", 0);
    int32_t h = (int32_t)golden_number(args, "fcSize", 0);
    int32_t n_class = (int32_t)golden_number(args, "classNum", 0);
    int32_t n_token = (int32_t)golden_number(args, "vocab", 0);

    s->table = cs_declare(&s->ps, cs_shape2(n_token, d), CS_INIT_ZERO, 1, "embedding.weight");
    s->fc = cs_proj_declare(&s->ps, 2 * d, h, 0, true, "fc");
    s->norm = cs_norm_declare(&s->ps, CS_NORM_BATCH, h, 1, "norm");
    s->logits = cs_proj_declare(&s->ps, h, n_class, 0, true, "out");
    s->classifier = true;
}

cs_mat singular_classify(subject *s)
{
    cs_ctx *cx = &s->cx;
    s->pooled = pool(cx, s->seg, s->encoded);
    cs_mat h = cs_proj_apply(cx, &s->fc, s->pooled), n = cs_empty(cx, h.r, h.c);
    cs_norm_apply(cx, &s->norm, s->seg, h, n);
    h = cs_empty(cx, n.r, n.c);
    cs_activate(cx, CS_ACT_RELU, n, h);
    return cs_proj_apply(cx, &s->logits, h);
}

/* ---- regularisers ---------------------------------------------------------------------------- */

void singular_note(subject *s, const char *what, int32_t layer, cs_mat m)
{
    static const char *const names[] = { "gram_v", "prob", "gram_u" };
    double *v = golden_fetch(s->g, m);

    for (int i = 0; i < 3 && layer < MAX_LAYER; i++) {
        if (strcmp(what, names[i]) != 0)
            continue;
        int64_t r = m.r / s->seg.n;
        double sum = 0;
        for (int64_t e = 0; e < m.r * m.c; e++)
            if (e / m.c % r != e % m.c % r)
                sum += i == 1 ? v[e] : v[e] * v[e];
        s->loss[layer * 3 + i] = sum / (double)(m.r * m.c);
        s->n_loss = layer + 1 > s->n_loss ? layer + 1 : s->n_loss;
    }
    free(v);
}

void singular_compare(subject *s)
{
    const cs_tensor *want = golden_find(s->g, "output.layer_losses");
    double add = s->aux > 0 ? s->own_loss / s->aux : 0;

    compare_heads(s, "scores_last", s->scores, false);
    if (want && want->n == 3 * s->n_loss)
        golden_compare(s->g, want, s->loss, TOL_OUTPUT, 0);
    if (s->aux > 0)
        compare_fetched(s->g, "output.add_loss", &add);
}

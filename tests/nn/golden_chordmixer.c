/* golden_chordmixer.c - one pass of a ChordMixer: outputs, loss, gradients, buffers. */
#include <math.h>
#include <string.h>

#include "golden.h"
#include "nn/ops/ops.h"
#include "nn/ops/tape.h"

/* ---- comparisons ------------------------------------------------------------------------- */

/* Output NAME, whole or the rows listed in input.rows. */
static void compare_rows(golden *g, const char *name, cs_mat m, double tol, double floor)
{
    const cs_tensor *whole = golden_find(g, "%s", name), *part = golden_find(g, "%s.rows", name),
                    *rows = golden_find(g, "input.rows");
    double *v = whole || part ? golden_fetch(g, m) : NULL;

    if (whole && whole->n == m.r * m.c)
        golden_compare(g, whole, v, tol, floor);
    if (part && rows && part->n == rows->n * m.c) {
        double *some = cs_xmalloc((size_t)part->n * sizeof *some);
        for (int64_t i = 0; i < rows->n; i++)
            memcpy(some + i * m.c, v + (int64_t)cs_tensor_get(rows, i) * m.c,
                   (size_t)m.c * sizeof *some);
        golden_compare(g, part, some, tol, floor);
        free(some);
    }
    free(v);
}

static void watch(void *arg, int32_t block, cs_mat y)
{
    char name[64];
    snprintf(name, sizeof name, "output.block%d", block + 1);
    compare_rows(arg, name, y, TOL_OUTPUT, 0);
}

/* Values, or gradients, against every PREFIX<torch name> of the file. */
static void compare_params(golden *g, const cs_model *m, const char *prefix, bool grad, double tol,
                           double floor)
{
    const cs_tensor *t;
    size_t n = strlen(prefix);

    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++) {
        int k = strncmp(t->name, prefix, n) == 0 ? golden_param(m, t->name + n) : -1;
        if (k < 0 || m->ps.p[k].n != t->n)
            continue;
        double *v = golden_fetch(g, grad ? cs_grad(&m->ps, k) : cs_value(&m->ps, k));
        /* A gradient that is analytically zero is rounding noise in both: only its size is
         * checked. */
        if (golden_has(g->config, "zero_grad_params", t->name + n))
            golden_compare(g, t, v, grad ? TOL_ZERO : INFINITY,
                           grad ? golden_largest_gradient(g) : 1);
        else
            golden_compare(g, t, v, tol, floor);
        free(v);
    }
}

/* A gradient that was not stored whole: its first rows and columns, and three sums. */
static void compare_corner(golden *g, const cs_model *m, size_t t, double floor)
{
    const json_t *order = json_object_get(g->config, "param_order");
    const char *name = json_string_value(json_array_get(order, t));
    const cs_tensor *corner = golden_find(g, "grad.%s.corner", name),
                    *stats = golden_find(g, "grad_stats");
    cs_mat grad = cs_grad(&m->ps, golden_param(m, name));
    double *v = golden_fetch(g, grad), sum = 0, sumsq = 0, max_abs = 0;
    const double n = (double)(grad.r * grad.c);

    for (int64_t i = 0; i < grad.r * grad.c; i++) {
        sum += v[i];
        sumsq += v[i] * v[i];
        max_abs = fmax(max_abs, fabs(v[i]));
    }
    double want[3], norm;
    for (int k = 0; k < 3; k++)
        want[k] = cs_tensor_get(stats, 3 * (int64_t)t + k);
    norm = fmax(sqrt(want[1]), sqrt(n) * floor);
    golden_check(g, name, fabs(sum - want[0]) / norm, TOL_GRAD * sqrt(n));
    golden_check(g, name, fabs(sumsq - want[1]) / (norm * norm), 2 * TOL_GRAD);
    golden_check(g, name, fabs(max_abs - want[2]) / fmax(want[2], floor), TOL_GRAD);
    if (corner) {
        int64_t rows = corner->shape.dim[0], cols = corner->shape.dim[1];
        double *some = cs_xmalloc((size_t)corner->n * sizeof *some);
        for (int64_t r = 0; r < rows; r++)
            memcpy(some + r * cols, v + r * grad.c, (size_t)cols * sizeof *some);
        golden_compare(g, corner, some, TOL_GRAD, fmax(want[2], floor));
        free(some);
    }
    free(v);
}

/* A parameter without a gradient in the file must have none. */
static void check_unused(golden *g, const cs_model *m, bool encoder_only)
{
    for (int32_t i = 0; i < m->ps.n; i++) {
        const cs_param *p = &m->ps.p[i];
        bool listed = false;
        const json_t *unused = json_object_get(g->config, "unused_params");
        for (size_t k = 0; k < json_array_size(unused); k++)
            listed |= golden_param(m, json_string_value(json_array_get(unused, k))) == i;
        if (listed)
            golden_check(g, p->name, p->touched ? INFINITY : 0, 1);
        else if (unused && !p->buffer && (!encoder_only || strncmp(p->name, "encoder.", 8) == 0))
            golden_check(g, p->name, p->touched ? 0 : INFINITY, 1);
    }
}

static void compare_gradients(golden *g, const cs_session *s)
{
    const cs_model *m = s->model;
    const char *kind = golden_text(g->config, "kind");
    const cs_tensor *stats = golden_find(g, "grad_stats");
    double floor = 1e-4 * golden_largest_gradient(g);

    compare_params(g, m, "grad.", true, TOL_GRAD, floor);
    compare_rows(g, "grad.embedding_out", cs_grad_of(&s->cx, s->trace.x), TOL_GRAD, floor);
    for (size_t t = 0; stats && (int64_t)t < stats->n / 3; t++)
        compare_corner(g, m, t, floor);
    if (stats)
        g->seen[stats - cs_safetensors_at(g->file, 0)] = true;
    check_unused(g, m, strcmp(kind, "full") != 0);
    compare_params(g, m, "buffer_after.", false, TOL_OUTPUT, 0);
}

static void compare_scalar(golden *g, const char *name, double got)
{
    const cs_tensor *t = golden_find(g, "%s", name);
    if (t)
        golden_compare(g, t, &got, TOL_OUTPUT, 0);
}

/* ---- passes ------------------------------------------------------------------------------ */

/* The mean of every segment of the encoder's output. */
static void compare_pooled(golden *g, const cs_session *s, const cs_batch *b, double **pooled)
{
    cs_mat e = s->trace.encoded;
    const cs_tensor *want = golden_find(g, "output.pooled");
    double *v = golden_fetch(g, e), *mean = cs_xcalloc((size_t)(b->n_seg * e.c), sizeof *mean);

    for (int32_t i = 0; i < b->n_seg; i++)
        for (int64_t r = b->off[i]; r < b->off[i + 1]; r++)
            for (int32_t j = 0; j < e.c; j++)
                mean[i * e.c + j] += v[r * e.c + j] / (double)(b->off[i + 1] - b->off[i]);
    if (want)
        golden_compare(g, want, mean, TOL_OUTPUT, 0);
    free(v);
    *pooled = mean;
}

/* Training: outputs and gradients. All activations are stored, because recomputation would
 * overwrite the encoder's output. */
static int full_train(golden *g, cs_session *s, const cs_batch *b)
{
    const cs_model *m = s->model;
    int rc = CS_OK;
    double loss, *pooled;
    cs_step_opt l = { .keep = CS_KEEP_ALL };

    CS_TRY(golden_scale(g, m, b, &l.scale));
    CS_TRY(cs_session_forward_backward(s, b, &l, &loss, NULL));
    compare_scalar(g, "output.loss", loss);
    compare_rows(g, "output.encoder", s->trace.encoded, TOL_OUTPUT, 0);
    compare_rows(g, "output.logits", s->trace.y, TOL_OUTPUT, 0);
    compare_pooled(g, s, b, &pooled);
    free(pooled);
    compare_gradients(g, s);
out:
    return rc;
}

/* Predictions from logits, and the loss that follows from them. */
static void compare_outputs(golden *g, const cs_model *m, const cs_batch *b, const float *output)
{
    const cs_tensor *logits = golden_find(g, "output.logits");
    int32_t c = m->n_label;
    double loss = 0;

    for (int32_t r = 0; logits && r < b->n_rec; r++) {
        double sum = 0;
        for (int32_t k = 0; k < c; k++)
            sum += exp(cs_tensor_get(logits, r * c + k));
        for (int32_t k = 0; k < c; k++) {
            double z = cs_tensor_get(logits, r * c + k), p = m->head->is_class ? exp(z) / sum : z;
            golden_check(g, "answer", fabs((double)output[r * c + k] - p) / fmax(1, fabs(p)), 1e-4);
        }
    }
    for (int32_t r = 0; r < b->n_rec && m->head->is_class; r++)
        loss -= log((double)output[r * c + (int32_t)b->target[r]]) / b->n_rec;
    /* predictions are float, in every build */
    const cs_tensor *want = golden_find(g, "output.loss");
    if (want && m->head->is_class)
        golden_compare(g, want, &loss, 1e-4, 0);
}

/* Logits from the pooled rows once more: a prediction replaces them by probabilities. */
static void compare_logits(golden *g, const cs_model *m, const cs_batch *b, const double *pooled)
{
    const cs_tensor *want = golden_find(g, "output.logits");
    double *w = golden_fetch(g, cs_value(&m->ps, cs_params_find(&m->ps, "head.weight")));
    double *bias = golden_fetch(g, cs_value(&m->ps, cs_params_find(&m->ps, "head.bias")));
    double *y = cs_xcalloc((size_t)(b->n_rec * m->n_label), sizeof *y);

    for (int32_t r = 0; r < b->n_rec; r++)
        for (int32_t k = 0; k < m->n_label; k++) {
            y[r * m->n_label + k] = bias[k];
            for (int32_t j = 0; j < m->width; j++)
                y[r * m->n_label + k] += w[k * m->width + j] * pooled[r * m->width + j];
        }
    if (want)
        golden_compare(g, want, y, TOL_OUTPUT, 0);
    free(w);
    free(bias);
    free(y);
}

/* Files without gradients, by the code path of predictions. */
static int full_predict(golden *g, cs_session *s, const cs_batch *b)
{
    const cs_model *m = s->model;
    int rc = CS_OK;
    double *pooled = NULL;
    float *output = cs_xmalloc((size_t)(b->n_rec * m->n_label) * sizeof *output);

    CS_TRY(cs_session_predict(s, b, output));
    compare_outputs(g, m, b, output);
    /* once more, without shortcuts for predictions */
    s->cx.no_mean = true;
    CS_TRY(cs_session_predict(s, b, output));
    compare_rows(g, "output.encoder", s->trace.encoded, TOL_OUTPUT, 0);
    compare_pooled(g, s, b, &pooled);
    compare_logits(g, m, b, pooled);
    compare_outputs(g, m, b, output);
out:
    free(pooled);
    free(output);
    return rc;
}

/* A copy of a tensor of the file in the arena, times a factor. */
static cs_mat uploaded(cs_ctx *cx, const cs_tensor *t, int64_t r, int32_t c, double factor)
{
    cs_mat m = cs_empty(cx, r, c);
    for (int64_t i = 0; !cx->dry && i < r * c; i++)
        m.p[i] = (cs_real)(factor * cs_tensor_get(t, i));
    return m;
}

static cs_mat embedded(golden *g, cs_session *s, const cs_batch *b, bool has_embedding)
{
    const cs_model *m = s->model;
    cs_ctx *cx = &s->cx;
    cs_mat w = cs_value(&m->ps, m->embed_w), x, y;

    if (m->tok) {
        y = cs_empty(cx, b->n_tok, m->width);
        cs_embed(cx, golden_show(g, b->tok, (size_t)b->n_tok * sizeof *b->tok), CS_TOK_PAD, w, y);
        return y;
    }
    x = uploaded(cx, golden_find(g, "input.x"), b->n_tok, b->n_channel, 1);
    if (!has_embedding)
        return x;
    y = cs_empty(cx, b->n_tok, m->width);
    cs_affine(cx, x, w, cs_value(&m->ps, m->embed_b), y);
    return y;
}

/* Embedding or not, encoder, pooling or not, and a loss that is the mean of output * loss_w. */
static void part_pass(golden *g, cs_session *s, const cs_batch *b, bool pool, bool dry)
{
    const cs_model *m = s->model;
    cs_ctx *cx = &s->cx;
    const cs_tensor *w = golden_find(g, "input.loss_w");
    cs_seg seg = { golden_show(g, b->off, ((size_t)b->n_seg + 1) * sizeof *b->off), b->n_seg,
                   b->n_tok, b->depth, NULL };

    cs_ctx_begin(cx, true, dry, 0);
    s->trace.x = embedded(g, s, b, pool);
    s->trace.encoded = s->trace.y = m->enc->forward(cx, m->enc_net, seg, s->trace.x);
    if (pool) {
        s->trace.y = cs_empty(cx, seg.n, m->width);
        cs_seg_mean(cx, seg, s->trace.encoded, s->trace.y);
    }
    cs_grad_seed(cx, s->trace.y, uploaded(cx, w, s->trace.y.r, m->width, 1.0 / (double)w->n));
    cs_backward(cx);
}

static int part_train(golden *g, cs_session *s, const cs_batch *b, bool pool)
{
    const cs_model *m = s->model;
    int rc = CS_OK;
    const cs_tensor *w = golden_find(g, "input.loss_w");
    double loss = 0;

    if (!w || w->n != (pool ? b->n_seg : b->n_tok) * (int64_t)m->width)
        return cs_fail(CS_EFORMAT, "input.loss_w is missing or has the wrong size");
    part_pass(g, s, b, pool, true);
    CS_TRY(cs_ctx_reserve(&s->cx, s->cx.peak, s->cx.grad_peak));
    part_pass(g, s, b, pool, false);
    double *y = golden_fetch(g, s->trace.y);
    for (int64_t i = 0; i < w->n; i++)
        loss += y[i] * cs_tensor_get(w, i) / (double)w->n;
    free(y);
    compare_scalar(g, "output.loss", loss);
    compare_rows(g, "output.encoder", s->trace.encoded, TOL_OUTPUT, 0);
    if (pool)
        compare_rows(g, "output.pooled", s->trace.y, TOL_OUTPUT, 0);
    compare_gradients(g, s);
out:
    return rc;
}

static bool has_gradients(const golden *g)
{
    const cs_tensor *t;
    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++)
        if (strncmp(t->name, "grad", 4) == 0)
            return true;
    return false;
}

int golden_chordmixer(golden *g)
{
    int rc = CS_OK;
    const char *kind = golden_text(g->config, "kind");
    bool train = has_gradients(g);
    cs_model *m = NULL;
    cs_session *s = NULL;
    cs_batch *b = NULL;

    CS_TRY(golden_model_new(g, train, &m));
    s = golden_session(g, m);
    CS_TRY(golden_load(g, m));
    CS_TRY(golden_batch(g, m, "", &b));
    s->cx.block_hook = watch;
    s->cx.block_hook_arg = g;
    if (strcmp(kind, "full") == 0)
        rc = train ? full_train(g, s, b) : full_predict(g, s, b);
    else
        rc = part_train(g, s, b, strcmp(kind, "nodec") == 0);
out:
    cs_batch_free(b);
    cs_session_free(s);
    cs_model_free(m);
    return rc;
}

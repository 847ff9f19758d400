/*
 * golden_attn.c - one pass of an encoder with attention, or of one of its sublayers.
 *
 * Networks run on padded sequences as in the file, because its losses contain the padding; then
 * forward once more, on packed sequences without padding.
 */
#include <math.h>
#include <string.h>

#include "golden_attn.h"
#include "nn/ops/ops.h"
#include "nn/ops/tape.h"

void compare_fetched(golden *g, const char *name, const double *v)
{
    const cs_tensor *want = golden_find(g, "%s", name);
    if (want)
        golden_compare(g, want, v, TOL_OUTPUT, 0);
}

static void compare_mat(golden *g, const char *name, cs_mat m)
{
    const cs_tensor *want = golden_find(g, "%s", name);
    if (!want || want->n != m.r * m.c)
        return;
    double *v = golden_fetch(g, m);
    golden_compare(g, want, v, TOL_OUTPUT, 0);
    free(v);
}

static void watch(void *arg, int32_t block, cs_mat y)
{
    if (block == 0)
        compare_mat(arg, "output.block1", y);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static cs_mat uploaded(cs_ctx *cx, const cs_tensor *t, int64_t r, int32_t c, double factor)
{
    cs_mat m = cs_empty(cx, r, c);
    for (int64_t i = 0; !cx->dry && i < r * c; i++)
        m.p[i] = (cs_real)(factor * cs_tensor_get(t, i));
    return m;
}

static int32_t columns(const cs_tensor *t)
{
    return (int32_t)t->shape.dim[t->shape.n_dim - 1];
}

static cs_mat embedded(subject *s)
{
    const cs_tensor *x = golden_find(s->g, "input.x");
    if (s->table < 0)
        return uploaded(&s->cx, x, s->seg.rows, columns(x), 1);
    cs_mat table = cs_value(&s->ps, s->table), y = cs_empty(&s->cx, s->seg.rows, table.c);
    cs_embed(&s->cx, golden_show(s->g, s->tok, (size_t)y.r * sizeof *s->tok), -1, table, y);
    return y;
}

static cs_mat cross(cs_ctx *cx, const void *arg, cs_seg seg, cs_mat x)
{
    const subject *s = arg;
    return cs_mha_cross(cx, &s->part.mha, seg, x, s->key, s->z);
}

static cs_mat through(subject *s, cs_mat x)
{
    const cs_tensor *z = golden_find(s->g, "input.x_kv");
    bool looks = s->key.n > 0;
    if (s->enc)
        return s->enc->forward(&s->cx, s->net, s->seg, x);
    s->z = x;
    if (looks && z)
        s->z = uploaded(&s->cx, z, s->key.rows, columns(z), 1);
    if (!s->has_residual)
        return s->sub(&s->cx, &s->part, s->seg, x);
    cs_mat y = cs_empty(&s->cx, x.r, x.c);
    cs_sublayer_apply(&s->cx, &s->wrap, looks ? cross : s->sub, looks ? (void *)s : &s->part,
                      s->seg,
                      x, y);
    return y;
}

/* Mean cross-entropy of all tokens or sequences, or the mean of output times loss_w. */
static void add_loss(subject *s)
{
    const cs_tensor *w = golden_find(s->g, "input.loss_w"), *t = golden_find(s->g, "input.target");
    s->y = s->encoded;
    if (s->logits.n_out > 0) {
        s->y = s->classifier ? singular_classify(s)
                             : cs_proj_apply(&s->cx, &s->logits, s->encoded);
        cs_mat target = uploaded(&s->cx, t, s->y.r, 1, 1);
        cs_xent(&s->cx, (cs_real)(1.0 / (double)s->y.r), s->y, target, (cs_mat){ 0 });
    } else {
        cs_grad_seed(&s->cx, s->y, uploaded(&s->cx, w, s->y.r, s->y.c, 1.0 / (double)w->n));
    }
}

static void pass(subject *s, bool dry)
{
    cs_ctx_begin(&s->cx, true, dry, 0);
    s->cx.aux_scale = 1.0 / s->seg.n;
    s->x = embedded(s);
    s->encoded = through(s, s->x);
    s->own_loss = dry ? 0 : (double)s->cx.loss.p[0];
    add_loss(s);
    cs_backward(&s->cx);
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static int find_param(const subject *s, const char *name)
{
    char ours[256], full[300];

    static const char *const outer[] = { "encoder.", "linformer.", "pseformer." };
    for (size_t i = 0; i < sizeof outer / sizeof outer[0]; i++)
        if (strncmp(name, outer[i], strlen(outer[i])) == 0)
            name += strlen(outer[i]);
    snprintf(ours, sizeof ours, "%s", name);
    for (const rename_rule *r = s->rules; r && r->theirs; r++) {
        int layer = 0, n = -1;
        char pattern[96];
        snprintf(pattern, sizeof pattern, "%s%%n", r->theirs);
        bool numbered = strstr(r->theirs, "%d") != NULL;
        if (numbered)
            (void)sscanf(name, pattern, &layer, &n);
        else if (strncmp(name, r->theirs, strlen(r->theirs)) == 0)
            n = (int)strlen(r->theirs);
        if (n < 0)
            continue;
        snprintf(ours, sizeof ours, r->ours, layer);
        snprintf(ours + strlen(ours), sizeof ours - strlen(ours), "%s", name + n);
        break;
    }
    snprintf(full, sizeof full, "encoder.%s", ours);
    int i = cs_params_find(&s->ps, full);
    return i >= 0 ? i : cs_params_find(&s->ps, ours);
}

/* Running statistics after the pass. */
static void compare_buffers(subject *s)
{
    const cs_tensor *t;
    for (size_t i = 0; (t = cs_safetensors_at(s->g->file, i)) != NULL; i++) {
        int k = strncmp(t->name, "buffer_after.", 13) == 0 ? find_param(s, t->name + 13) : -1;
        if (k < 0 || s->ps.p[k].n != t->n)
            continue;
        double *v = golden_fetch(s->g, cs_value(&s->ps, k));
        golden_compare(s->g, t, v, TOL_OUTPUT, 0);
        free(v);
    }
}

static void compare_gradients(subject *s)
{
    golden *g = s->g;
    const cs_tensor *t;
    double max_abs = golden_largest_gradient(g);

    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++) {
        int k = strncmp(t->name, "grad.", 5) == 0 ? find_param(s, t->name + 5) : -1;
        if (k < 0 || s->ps.p[k].n != t->n)
            continue;
        double *v = golden_fetch(g, cs_grad(&s->ps, k));
        /* A gradient that is analytically zero is rounding noise in both: only its size is
         * checked. */
        bool zero = golden_has(g->config, "zero_grad_params", t->name + 5);
        golden_compare(g, t, v, zero ? TOL_ZERO : TOL_GRAD, zero ? max_abs : 1e-4 * max_abs);
        free(v);
    }
}

static void compare_input_gradient(subject *s, const char *name, cs_mat x)
{
    const cs_tensor *t = golden_find(s->g, "%s", name);
    cs_mat d = cs_grad_of(&s->cx, x);
    if (!t || t->n != d.r * d.c)
        return;
    double *v = golden_fetch(s->g, d);
    golden_compare(s->g, t, v, TOL_GRAD, 1e-4 * golden_largest_gradient(s->g));
    free(v);
}

/* The file's loss, from the output and the terms added by the pass. */
static void compare_loss(subject *s)
{
    const cs_tensor *w = golden_find(s->g, "input.loss_w");
    double *own = golden_fetch(s->g, s->cx.loss), loss = own[0];
    double *y = golden_fetch(s->g, s->y);

    for (int64_t i = 0; w && i < w->n; i++)
        loss += y[i] * cs_tensor_get(w, i) / (double)w->n;
    compare_fetched(s->g, "output.loss", &loss);
    free(y);
    free(own);
}

/* Sum over all kernels of |f'f - 1|^2, also where it is no part of the loss. */
static void compare_ortho(subject *s)
{
    double sum = 0;
    for (int32_t i = 0; i < s->ps.n; i++) {
        const cs_param *p = &s->ps.p[i];
        int32_t d = (int32_t)p->shape.dim[2];
        if (!strstr(p->name, "kernel.Wf."))
            continue;
        double *w = golden_fetch(s->g, cs_value(&s->ps, i));
        for (int64_t a = 0; a < p->shape.dim[0] * d * d; a++) {
            const double *block = w + a / (d * d) * d * d;
            double dot = a / d % d == a % d ? -1 : 0;
            for (int32_t r = 0; r < d; r++)
                dot += block[r * d + a / d % d] * block[r * d + a % d];
            sum += dot * dot;
        }
        free(w);
    }
    compare_fetched(s->g, "output.orth_reg", &sum);
}

/* ---- ragged ---------------------------------------------------------------------------------- */

/* The valid rows only, forward and without gradients: the same numbers as the file's. */
static int compare_ragged(subject *s)
{
    int rc = CS_OK;
    golden *g = s->g;
    const cs_tensor *want = golden_find(g, "output.encoder"), *in = golden_find(g, "input.x");
    int64_t *off = cs_xcalloc((size_t)s->seg.n + 1, sizeof *off);
    cs_ctx *cx = &s->cx;
    double worst = 0;

    for (int32_t k = 0; k < s->seg.n; k++)
        off[k + 1] = off[k] + s->n_valid[k];
    cs_seg seg = { golden_show(g, off, ((size_t)s->seg.n + 1) * sizeof *off), s->seg.n,
                   off[s->seg.n], s->seg.depth, NULL };
    for (int dry = 1; dry >= 0; dry--) {
        cs_ctx_begin(cx, false, dry, 0);
        cs_mat x = cs_empty(cx, seg.rows, columns(in));
        for (int32_t k = 0; !dry && k < seg.n; k++)
            for (int64_t i = 0; i < (off[k + 1] - off[k]) * x.c; i++)
                x.p[off[k] * x.c + i] = (cs_real)cs_tensor_get(in, s->off[k] * x.c + i);
        s->encoded = s->enc ? s->enc->forward(cx, s->net, seg, x) : s->sub(cx, &s->part, seg, x);
        if (dry)
            CS_TRY(cs_ctx_reserve(cx, cx->peak, 0));
    }
    double *y = golden_fetch(g, s->encoded);
    for (int32_t k = 0; k < seg.n; k++)
        for (int64_t i = 0; i < (off[k + 1] - off[k]) * s->encoded.c; i++)
            worst = fmax(worst, fabs(y[off[k] * s->encoded.c + i]
                                     - cs_tensor_get(want, s->off[k] * s->encoded.c + i)));
    golden_check(g, "ragged", worst / golden_largest(want), TOL_OUTPUT);
    free(y);
out:
    free(off);
    return rc;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static int load(subject *s)
{
    const cs_tensor *t;
    bool *set = cs_xcalloc((size_t)s->ps.n + 1, sizeof *set);
    int rc = CS_OK;

    for (size_t i = 0; rc == CS_OK && (t = cs_safetensors_at(s->g->file, i)) != NULL; i++) {
        bool param = strncmp(t->name, "param.", 6) == 0;
        bool buffer = strncmp(t->name, "buffer.", 7) == 0;
        int k = param || buffer ? find_param(s, t->name + (param ? 6 : 7)) : -1;
        if (param && (k < 0 || s->ps.p[k].n != t->n))
            rc = cs_fail(CS_EFORMAT, "the network has no place for '%s'", t->name);
        if (k < 0 || s->ps.p[k].n != t->n)
            continue;
        set[k] = true;
        for (int64_t j = 0; j < t->n; j++)
            s->ps.value[s->ps.p[k].off + j] = (cs_real)cs_tensor_get(t, j);
    }
    for (int32_t k = 0; rc == CS_OK && k < s->ps.n; k++)
        if (!set[k])
            rc = cs_fail(CS_EFORMAT, "the file has no '%s'", s->ps.p[k].name);
    free(set);
    return rc;
}

int golden_attn(golden *g)
{
    int rc = CS_OK;
    subject s;

    CS_TRY(subject_open(&s, g));
    CS_TRY(cs_params_alloc(&s.ps, g->be, true));
    CS_TRY(load(&s));
    cs_ctx_init(&s.cx, g->be, &s.ps);
    pass(&s, true);
    CS_TRY(cs_ctx_reserve(&s.cx, s.cx.peak, s.cx.grad_peak));
    s.cx.frozen = strcmp(golden_text(g->config, "mode"), "eval") == 0;
    s.cx.block_hook = watch;
    s.cx.block_hook_arg = g;
    s.cx.value_hook = subject_note;
    s.cx.value_hook_arg = &s;
    pass(&s, false);
    compare_loss(&s);
    compare_mat(g, "output.encoder", s.encoded);
    if (s.logits.n_out > 0)
        compare_mat(g, "output.logits", s.y);
    if (s.classifier)
        compare_mat(g, "output.pooled", s.pooled);
    compare_ortho(&s);
    singular_compare(&s);
    compare_buffers(&s);
    compare_gradients(&s);
    compare_input_gradient(&s, "grad.embedding_out", s.x);
    compare_input_gradient(&s, "grad.embedding_out_kv", s.z);
    s.cx.block_hook = NULL;
    s.cx.value_hook = NULL;
    if (s.n_valid && !s.has_residual && s.table < 0)
        CS_TRY(compare_ragged(&s));
out:
    subject_close(&s);
    return rc;
}

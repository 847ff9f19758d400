/* attribute.c - contributions of tokens to a prediction: gradients, rescale rule.
 *
 * DESIGN: the network runs from the embedded input as in training, but frozen: running statistics,
 * no dropout. The gradient of one raw value is seeded instead of a loss. For the rescale rule the
 * baseline is a second sequence of the same pass, so every step has both values (nn/ops/tape.h).
 */
#include "nn/exec/attribute.h"

#include <string.h>

#include "nn/ops/tape.h"

/* State of the passes: one or two sequences each, with their embeddings on the host. */
struct point {
    cs_session   *s;
    int64_t       off[3];
    int64_t       n;
    int32_t       n_seq, label, width;
    cs_real      *x, *baseline;  /* [n * width] */
    cs_real      *at, *grad;     /* [n_seq * n * width] point on the path; [n * width] gradient */
    double       *part;          /* [n] contributions, measured from one baseline */
};

static cs_mat offsets(cs_ctx *cx, const struct point *p)
{
    cs_mat m = cs_empty(cx, 3 * (int64_t)(sizeof(int64_t) / sizeof(cs_real)), 1);

    if (!cx->dry)
        cx->be->op.upload(cx->be, m.p, p->off, sizeof p->off);
    return m;
}

/* dF/dx at p->at, or its multipliers; F of each sequence into f. */
static void pass(struct point *p, bool dry, double *f)
{
    const cs_model *m = p->s->model;
    cs_ctx *cx = &p->s->cx;
    cs_real value, one = 1;

    cs_ctx_begin(cx, true, dry, 0);
    cx->aux_scale = 0;
    const cs_seg seg = { (const int64_t *)(const void *)offsets(cx, p).p, p->n_seq,
                         p->n_seq * p->n, cs_depth(p->n), NULL };
    cs_mat x = cs_empty(cx, seg.rows, p->width);
    if (!dry)
        cx->be->op.upload(cx->be, x.p, p->at, (size_t)(x.r * p->width) * sizeof *p->at);
    cs_mat y = m->head->forward(cx, m->head_net, seg, m->enc->forward(cx, m->enc_net, seg, x));
    cs_mat g = cs_empty(cx, y.r, y.c);
    for (int32_t s = 0; !dry && s < p->n_seq; s++) {
        cx->be->op.download(cx->be, &value, y.p + s * y.ld + p->label, sizeof value);
        f[s] = (double)value;
    }
    if (!dry) {
        cx->be->op.zero(cx->be, g);
        cx->be->op.upload(cx->be, g.p + p->label, &one, sizeof one);
    }
    cs_grad_seed(cx, y, g);
    cs_backward(cx);
    if (!dry)
        cx->be->op.download(cx->be, p->grad, cs_grad_of(cx, x).p,
                            (size_t)(p->n * p->width) * sizeof *p->grad);
}

/* p->at: the point at this share of the path from the baseline b to the sequence x. At its end
 * b + (x - b) would differ from x in the last bits. */
static void set_point(struct point *p, double share)
{
    for (int64_t i = 0; i < p->n * p->width; i++) {
        const double x = (double)p->x[i], b = (double)p->baseline[i];
        p->at[i] = (cs_real)(share < 1 ? b + share * (x - b) : x);
    }
}

static void add_products(const struct point *p, double weight)
{
    for (int64_t i = 0; i < p->n * p->width; i++)
        p->part[i / p->width] += weight * (double)p->grad[i]
                               * ((double)p->x[i] - (double)p->baseline[i]);
}

static int check(const cs_model *m, const cs_attribute *a)
{
    CS_BUG(!m->ps.grad || a->n < 1 || a->label < 0 || a->label >= m->n_label);
    if (!m->tok || cs_model_parts(m) > 1 || m->head->per_token)
        return cs_fail(CS_EUSAGE, "a model with head '%s' cannot be explained by gradients; it "
                       "does not predict one result per sequence", m->head->name);
    if (m->head->word && m->head->word(m->head_net) > 0)
        return cs_fail(CS_EUSAGE, "a model with --head.composition cannot be explained by "
                       "gradients, which do not pass through its word counts; give --method "
                       "mutagenesis");
    const int64_t max_len = cs_model_max_len(m);
    if (max_len > 0 && a->n > max_len)
        return cs_fail(CS_EUSAGE, "%lld tokens exceed the model's maximum of %lld",
                       (long long)a->n, (long long)max_len);
    return CS_OK;
}

static int attribute_reserve(struct point *p)
{
    const size_t n = (size_t)(p->n * p->width);
    double f[2];

    p->x = cs_alloc(n, sizeof *p->x);
    p->at = cs_alloc((size_t)p->n_seq * n, sizeof *p->at);
    p->grad = cs_alloc(n, sizeof *p->grad);
    p->baseline = cs_alloc(n, sizeof *p->baseline);
    p->part = cs_alloc((size_t)p->n, sizeof *p->part);
    if (!p->x || !p->at || !p->grad || !p->baseline || !p->part)
        return cs_fail(CS_EMEM, "out of memory for the gradients of %lld tokens", (long long)p->n);
    pass(p, true, f);
    if (p->s->cx.no_rule)
        return cs_fail(CS_EUSAGE, "encoder '%s' has operations without a rescale rule in this "
                       "configuration (attention, group normalisation, reversible blocks); "
                       "integrated gradients work with any encoder", p->s->model->enc->name);
    return cs_ctx_reserve(&p->s->cx, p->s->cx.peak, p->s->cx.grad_peak);
}

/* Embeddings of n tokens; of no tokens, zeros. */
static void embed(const struct point *p, const int32_t *id, cs_real *out)
{
    const cs_model *m = p->s->model;
    cs_backend *be = p->s->be;
    const cs_mat table = cs_value(&m->ps, m->embed_w);
    const size_t row = (size_t)p->width * sizeof *out;

    if (!id)
        memset(out, 0, (size_t)p->n * row);
    for (int64_t t = 0; id && t < p->n; t++)
        be->op.download(be, out + t * p->width, table.p + (int64_t)id[t] * table.ld, row);
}

/* ends [2], or NULL. known: the pass before was at the sequence, where the gradient is the same for
 * all baselines. */
static void add_gradients(struct point *p, const cs_attribute *a, bool known, double *ends)
{
    const int32_t n_step = a->rule == CS_ATTRIBUTE_INTEGRATED ? a->n_step : 0;
    double f;

    if (ends) {
        set_point(p, 0);
        pass(p, false, &ends[1]);
    }
    if (ends || (n_step == 0 && !known)) {
        set_point(p, 1);
        pass(p, false, ends ? &ends[0] : &f);
    }
    if (n_step == 0)
        add_products(p, 1);
    for (int32_t k = 0; k < n_step; k++) {
        set_point(p, (k + 0.5) / n_step);
        pass(p, false, &f);
        add_products(p, 1.0 / n_step);
    }
}

static void add_multipliers(struct point *p, double ends[2])
{
    const size_t n = (size_t)(p->n * p->width);

    memcpy(p->at, p->x, n * sizeof *p->at);
    memcpy(p->at + n, p->baseline, n * sizeof *p->at);
    pass(p, false, ends);
    add_products(p, 1);
}

/* Adds the share of baseline k to out and to ends, unless that is NULL. */
static int add_baseline(struct point *p, const cs_attribute *a, int64_t k, double *out,
                        double *ends)
{
    const cs_label *l = &p->s->model->label[p->label];
    const double share = a->n_baseline > 0 ? (double)a->n_baseline : 1;
    double f[2] = { 0, 0 };
    int rc = CS_OK;

    if (a->next)
        CS_TRY(a->next(a->arg, k));
    embed(p, a->baseline, p->baseline);
    memset(p->part, 0, (size_t)p->n * sizeof *p->part);
    if (a->rule == CS_ATTRIBUTE_RESCALE)
        add_multipliers(p, f);
    else
        add_gradients(p, a, k > 0, ends ? f : NULL);
    for (int64_t t = 0; t < p->n; t++)
        out[t] += p->part[t] * (l->deviation > 0 ? l->deviation : 1) / share;
    for (int i = 0; ends && i < 2; i++)
        ends[i] += cs_label_destandardize(l, f[i]) / share;
out:
    return rc;
}

int cs_attribute_tokens(cs_session *s, const cs_attribute *a, double *out, double *ends)
{
    int rc = CS_OK;
    cs_ctx *cx = &s->cx;
    const bool frozen = cx->frozen, no_fused = cx->no_fused;
    const bool pair = a->rule == CS_ATTRIBUTE_RESCALE;
    struct point p = { .s = s, .off = { 0, a->n, 2 * a->n }, .n = a->n, .n_seq = pair ? 2 : 1,
                       .label = a->label, .width = s->model->in_width };

    cx->frozen = true;
    cx->rescale = pair;
    cx->no_fused = no_fused || pair;
    cx->no_rule = false;
    CS_TRY(check(s->model, a));
    CS_TRY(attribute_reserve(&p));
    embed(&p, a->id, p.x);
    memset(out, 0, (size_t)a->n * sizeof *out);
    if (ends)
        ends[0] = ends[1] = 0;
    for (int64_t k = 0; k == 0 || k < a->n_baseline; k++)
        CS_TRY(add_baseline(&p, a, k, out, ends));
    rc = s->be->op.sync(s->be);
out:
    cx->frozen = frozen;
    cx->rescale = false;
    cx->no_fused = no_fused;
    CS_FREE(p.x, p.at, p.grad, p.baseline, p.part);
    return rc;
}

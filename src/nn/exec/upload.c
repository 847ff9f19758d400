/*
 * upload.c - copy a batch to the backend before a pass.
 *
 * DESIGN
 * All host data of a batch is copied first, into memory without a gradient
 * (cs_scratch()): offsets, tokens or values, targets, weights. The following ops read memory at
 * addresses that depend on the batch's shape alone, so they can be captured as a graph (graph.c).
 */
#include "nn/exec/upload.h"

#include <math.h>
#include <string.h>

enum { PART = 2048 };            /* elements converted at a time */

/* ---- layout of a batch's arrays ------------------------------------------------------------ */

cs_pass_input cs_pass_input_of(const cs_batch *b, const cs_step_opt *o)
{
    return (cs_pass_input){ .tok = b->tok, .count = b->count, .x = b->x, .target = b->target,
                            .label = b->label, .off = b->off, .n_tok = b->n_tok, .n_seg = b->n_seg,
                            .depth = b->depth, .train = o };
}

cs_pass_input cs_pass_input_parts(cs_session *s, const cs_pass_input *in, bool dry)
{
    const cs_model *m = s->model;

    if (cs_model_parts(m) != 2)
        return *in;
    const cs_parts *p = &s->parts;
    const int64_t half = in->n_tok / 2, width = m->n_channel;
    cs_pass_input first = *in;

    first.n_tok = half;
    first.depth = in->depth > 0 ? in->depth - 1 : 0;
    for (int32_t i = 0; i <= in->n_seg && !dry; i++)
        p->off[i] = in->off[i] / 2;
    for (int32_t i = 0; i < in->n_seg && !dry; i++) {
        const int64_t at = p->off[i], n = p->off[i + 1] - at, from = 2 * at;
        for (int64_t k = 0; k < 2 && m->tok; k++)
            memcpy(p->tok + at + k * half, in->tok + from + k * n, (size_t)n * sizeof *p->tok);
        for (int64_t k = 0; k < 2 && !m->tok; k++)
            memcpy(p->x + (at + k * half) * width, in->x + (from + k * n) * width,
                   (size_t)(n * width) * sizeof *p->x);
    }
    first.off = p->off;
    first.tok = p->tok;
    first.x = p->x;
    return first;
}

int cs_parts_reserve(cs_session *s, int64_t n_tok, int32_t n_seg)
{
    const cs_model *m = s->model;
    cs_parts *p = &s->parts;
    int rc = CS_OK;

    if (cs_model_parts(m) != 2)
        return CS_OK;
    CS_TRY(cs_grow((void **)&p->off, &p->n_off, (size_t)n_seg + 1, sizeof *p->off));
    if (m->tok)
        rc = cs_grow((void **)&p->tok, &p->n_tok, (size_t)n_tok, sizeof *p->tok);
    else
        rc = cs_grow((void **)&p->x, &p->n_x, (size_t)(n_tok * m->n_channel), sizeof *p->x);
out:
    return rc;
}

void cs_parts_release(cs_session *s)
{
    CS_FREE(s->parts.off, s->parts.tok, s->parts.x);
    s->parts = (cs_parts){ 0 };
}

/* ---- upload --------------------------------------------------------------------------------- */

/* Host floats as a matrix of the backend. */
static cs_mat reals(cs_ctx *cx, const float *v, int64_t r, int32_t c)
{
    cs_mat m = cs_scratch(cx, r, c);
    if (cx->dry)
        return m;
    if (!cx->be->is_host) {
        cx->be->op.upload(cx->be, m.p, v, (size_t)(r * c) * sizeof *v);
        return m;
    }
    for (int64_t i = 0; i < r * c; i++)
        m.p[i] = (cs_real)v[i];
    return m;
}

/* Host integers readable by the backend: the array itself, or a copy. */
static const void *bytes(cs_ctx *cx, const cs_pass_input *in, const void *p, size_t n_bytes)
{
    if (cx->be->is_host || in->on_device)
        return p;
    cs_mat m = cs_scratch(cx, (int64_t)((n_bytes + sizeof(cs_real) - 1) / sizeof(cs_real)), 1);
    if (!cx->dry)
        cx->be->op.upload(cx->be, m.p, p, n_bytes);
    return m.p;
}

/* A dry run has no data, but must know which arrays exist. */
static const int32_t some_token;
static const int64_t some_number;

static const int32_t *tokens(cs_ctx *cx, const cs_pass_input *in, int64_t n)
{
    const int32_t *id = bytes(cx, in, in->tok, (size_t)n * sizeof *in->tok);
    return cx->dry ? &some_token : id;
}

static cs_mat values(cs_ctx *cx, const cs_pass_input *in, int64_t n, int32_t n_channel)
{
    cs_mat v = { NULL, n, n_channel, n_channel };
    if (!in->on_device)
        return reals(cx, in->x, n, n_channel);
    memcpy(&v.p, &in->x, sizeof v.p);      /* never written: an input has no gradient */
    return v;
}

/* Weight of each token with a known label in a segment. */
static cs_real upload_share(const cs_pass_input *in, int32_t s)
{
    int64_t n = 0;

    for (int64_t t = in->off[s]; t < in->off[s + 1]; t++)
        n += in->label[t] >= 0;
    return n > 0 ? 1 / (cs_real)n : 0;
}

/* The targets of tokens, as in head.h. */
static void put_labels(cs_ctx *cx, const cs_pass_input *in, cs_mat to)
{
    cs_real part[2 * PART], each = 0;
    int32_t s = -1;

    for (int64_t t = 0; t < in->n_tok; t++) {
        while (t == in->off[s + 1])
            each = upload_share(in, ++s);
        cs_real *at = part + t % PART * 2;
        at[0] = in->label[t] >= 0 ? (cs_real)in->label[t] : (cs_real)NAN;
        at[1] = in->label[t] >= 0 ? each : 0;
        if (t % PART == PART - 1 || t == in->n_tok - 1)
            cx->be->op.upload(cx->be, to.p + t / PART * PART * 2, part,
                              (size_t)(t % PART + 1) * 2 * sizeof *part);
    }
}

static cs_mat standardized_targets(cs_session *s, const cs_pass_input *in)
{
    const cs_model *m = s->model;
    const cs_mat to = cs_scratch(&s->cx, in->n_seg, m->n_label);
    const int64_t n = to.r * to.c;
    cs_real part[PART];

    for (int64_t i = 0; i < n && !s->cx.dry; i++) {
        part[i % PART] = (cs_real)cs_label_standardize(&m->label[i % to.c],
                                                       (double)in->target[i]);
        if (i % PART == PART - 1 || i == n - 1)
            s->be->op.upload(s->be, to.p + i / PART * PART, part,
                             (size_t)(i % PART + 1) * sizeof *part);
    }
    return to;
}

static cs_mat targets(cs_session *s, const cs_pass_input *in)
{
    const int32_t n = cs_model_n_target(s->model);

    if (n != CS_TARGET_TOKENS && cs_model_is_standardized(s->model))
        return standardized_targets(s, in);
    if (n != CS_TARGET_TOKENS)
        return reals(&s->cx, in->target, in->n_seg, n);
    const cs_mat to = cs_scratch(&s->cx, in->n_tok, 2);
    if (!s->cx.dry)
        put_labels(&s->cx, in, to);
    return to;
}

static cs_mat weights(cs_session *s, const cs_step_opt *o)
{
    const int32_t n = cs_model_n_weight(s->model);

    if (o->weight)
        return reals(&s->cx, o->weight, 1, n);
    (void)cs_scratch(&s->cx, 1, n);        /* the same memory with and without weights */
    return (cs_mat){ 0 };
}

const int64_t *cs_upload_arange(cs_ctx *cx, int32_t n)
{
    const int64_t per_real = (int64_t)(sizeof(int64_t) / sizeof(cs_real));
    const cs_mat m = cs_scratch(cx, n + 1, (int32_t)per_real);
    int64_t part[PART];

    for (int64_t i = 0; i <= n && !cx->dry; i++) {
        part[i % PART] = i;
        if (i % PART == PART - 1 || i == n)
            cx->be->op.upload(cx->be, m.p + i / PART * PART * per_real, part,
                              (size_t)(i % PART + 1) * sizeof *part);
    }
    return (const int64_t *)(const void *)m.p;
}

cs_uploaded cs_upload(cs_session *s, const cs_pass_input *in)
{
    const cs_model *m = s->model;
    cs_ctx *cx = &s->cx;
    const int64_t n_row = cs_model_parts(m) * in->n_tok;
    cs_uploaded up = { 0 };

    if (in->on_device)
        up.arange = cx->dry ? &some_number : in->arange;
    up.seg = (cs_seg){ bytes(cx, in, in->off, (size_t)(in->n_seg + 1) * sizeof *in->off),
                       in->n_seg, in->n_tok, in->depth, NULL };
    up.count = in->count;
    if (m->tok && !in->count)
        up.tok = tokens(cx, in, n_row);
    else if (!m->tok)
        up.x = values(cx, in, n_row, m->n_channel);
    if (!in->train)
        return up;
    /* A frozen encoder may return means. */
    if (s->freeze_encoder)
        up.arange = cs_upload_arange(cx, in->n_seg);
    up.target = targets(s, in);
    up.weight = weights(s, in->train);
    up.scale = in->train->scale;
    return up;
}

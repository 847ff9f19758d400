/*
 * staged.c - what a pass reads, brought to the backend before anything is computed.
 *
 * DESIGN
 * Everything of a batch that comes from the host is put aside (cs_aside()) first: offsets, tokens
 * or values, targets, weights. What follows are ops on memory whose place the batch's shape alone
 * says, so that they can be asked for again as one (graph.c). Nothing of it has a gradient.
 */
#include "nn/exec/pass.h"

#include <math.h>
#include <string.h>

enum { PART = 2048 };            /* elements that go at a time where they are made on the way */

/* Host floats as a matrix of the backend. */
static cs_mat reals(cs_ctx *cx, const float *v, int64_t r, int32_t c)
{
    cs_mat m = cs_aside(cx, r, c);
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

/* Host integers where the backend can read them: as they are, or a copy. */
static const void *bytes(cs_ctx *cx, const cs_input *in, const void *p, size_t n_bytes)
{
    if (cx->be->is_host || in->staged)
        return p;
    cs_mat m = cs_aside(cx, (int64_t)((n_bytes + sizeof(cs_real) - 1) / sizeof(cs_real)), 1);
    if (!cx->dry)
        cx->be->op.upload(cx->be, m.p, p, n_bytes);
    return m.p;
}

/* A dry run has none of either, but must see that there are some. */
static const int32_t some_token;
static const int64_t some_number;

static const int32_t *tokens(cs_ctx *cx, const cs_input *in, int64_t n)
{
    const int32_t *id = bytes(cx, in, in->tok, (size_t)n * sizeof *in->tok);
    return cx->dry ? &some_token : id;
}

static cs_mat values(cs_ctx *cx, const cs_input *in, int64_t n, int32_t n_channel)
{
    cs_mat v = { NULL, n, n_channel, n_channel };
    if (!in->staged)
        return reals(cx, in->x, n, n_channel);
    memcpy(&v.p, &in->x, sizeof v.p);      /* never written: an input has no gradient */
    return v;
}

/* What each token of a segment counts whose label is known. */
static cs_real share(const cs_input *in, int32_t s)
{
    int64_t n = 0;

    for (int64_t t = in->off[s]; t < in->off[s + 1]; t++)
        n += in->label[t] >= 0;
    return n > 0 ? 1 / (cs_real)n : 0;
}

/* The targets of tokens, as head.h has them. */
static void put_labels(cs_ctx *cx, const cs_input *in, cs_mat to)
{
    cs_real part[2 * PART], each = 0;
    int32_t s = -1;

    for (int64_t t = 0; t < in->n_tok; t++) {
        while (t == in->off[s + 1])
            each = share(in, ++s);
        cs_real *at = part + t % PART * 2;
        at[0] = in->label[t] >= 0 ? (cs_real)in->label[t] : (cs_real)NAN;
        at[1] = in->label[t] >= 0 ? each : 0;
        if (t % PART == PART - 1 || t == in->n_tok - 1)
            cx->be->op.upload(cx->be, to.p + t / PART * PART * 2, part,
                              (size_t)(t % PART + 1) * 2 * sizeof *part);
    }
}

static cs_mat targets(cs_model *m, const cs_input *in)
{
    const int32_t n = cs_model_n_target(m);

    if (n != CS_TARGET_TOKENS)
        return reals(&m->cx, in->target, in->n_seg, n);
    const cs_mat to = cs_aside(&m->cx, in->n_tok, 2);
    if (!m->cx.dry)
        put_labels(&m->cx, in, to);
    return to;
}

static cs_mat weights(cs_model *m, const cs_learn *l)
{
    const int32_t n = cs_model_n_weight(m);

    if (l->weight)
        return reals(&m->cx, l->weight, 1, n);
    (void)cs_aside(&m->cx, 1, n);        /* the same memory with and without weights */
    return (cs_mat){ 0 };
}

const int64_t *cs_stage_each(cs_ctx *cx, int32_t n)
{
    const int64_t per_real = (int64_t)(sizeof(int64_t) / sizeof(cs_real));
    const cs_mat m = cs_aside(cx, n + 1, (int32_t)per_real);
    int64_t part[PART];

    for (int64_t i = 0; i <= n && !cx->dry; i++) {
        part[i % PART] = i;
        if (i % PART == PART - 1 || i == n)
            cx->be->op.upload(cx->be, m.p + i / PART * PART * per_real, part,
                              (size_t)(i % PART + 1) * sizeof *part);
    }
    return (const int64_t *)(const void *)m.p;
}

cs_staged cs_stage_input(cs_model *m, const cs_input *in)
{
    cs_ctx *cx = &m->cx;
    const int64_t n_row = cs_model_parts(m) * in->n_tok;
    cs_staged st = { 0 };

    if (in->staged)
        st.each = cx->dry ? &some_number : in->each;
    st.seg = (cs_seg){ bytes(cx, in, in->off, (size_t)(in->n_seg + 1) * sizeof *in->off),
                       in->n_seg, in->n_tok, in->depth, NULL };
    if (m->tok)
        st.tok = tokens(cx, in, n_row);
    else
        st.x = values(cx, in, n_row, m->n_channel);
    if (!in->learn)
        return st;
    /* An encoder that only answers may give means. */
    if (m->probing)
        st.each = cs_stage_each(cx, in->n_seg);
    st.target = targets(m, in);
    st.weight = weights(m, in->learn);
    st.scale = in->learn->scale;
    return st;
}

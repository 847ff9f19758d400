/*
 * pass.c - a batch through embedding, encoder and head.
 *
 * DESIGN
 * The same function, cs_pass(), is the dry run and the real run, so the memory counted is the
 * memory used: the batch's arrays are also uploaded into the arena (upload.c) if the backend has
 * its own memory and staging.c has not uploaded them.
 */
#include "nn/exec/pass.h"

#include "nn/ops/ops.h"

static cs_mat embedded(cs_session *s, const cs_uploaded *up)
{
    const cs_model *m = s->model;
    cs_ctx *cx = &s->cx;
    cs_mat x = cs_empty(cx, up->seg.rows, m->in_width);

    if (m->tok)
        cs_embed(cx, up->tok, CS_TOK_PAD, cs_value(&m->ps, m->embed_w), x);
    else
        cs_affine(cx, up->x, cs_value(&m->ps, m->embed_w), cs_value(&m->ps, m->embed_b), x);
    return x;
}

/* Segments of one row per record: the rows to average. */
static cs_seg one_row_each(cs_ctx *cx, const cs_uploaded *up, int32_t n)
{
    return (cs_seg){ .off = up->arange ? up->arange : cs_upload_arange(cx, n), .n = n, .rows = n };
}

/* Does a training pass use means of embedded tokens instead of rows? An order-free encoder needs no
 * rows. */
static bool wants_mean_gradient(const cs_model *m, const cs_ctx *cx)
{
    return m->tok && cx->be->fused.embed_mean_bwd && !cx->rescale && m->enc->unordered
        && m->enc->unordered(m->enc_net);
}

/* The mean of an order-free encoder's rows from token counts. The dry run is that of tokens: both
 * need a row. */
static cs_mat mean_of_counts(cs_session *s, const cs_uploaded *up, cs_seg *seg)
{
    const cs_model *m = s->model;
    const cs_mat table = cs_value(&m->ps, m->embed_w), y = cs_empty(&s->cx, 1, table.c);

    cs_count_mean(&s->cx, up->count, seg->rows, table, y);
    *seg = one_row_each(&s->cx, up, 1);
    return y;
}

/* The encoder's rows, or their means as segments of one row. */
static cs_mat encode(cs_session *s, const cs_uploaded *up, cs_seg *seg)
{
    const cs_model *m = s->model;
    cs_ctx *cx = &s->cx;
    bool mean = m->enc->mean && (!cx->training || wants_mean_gradient(m, cx)) && !cx->no_mean
        && s->output != CS_HEAD_TOKENS && m->head->pools && m->head->pools(m->head_net);
    cs_mat y = { 0 };

    s->trace.x = (cs_mat){ 0 };
    if (up->count)
        return mean_of_counts(s, up, seg);
    if (mean && m->tok)
        y = m->enc->mean(cx, m->enc_net, *seg, up->tok, cs_value(&m->ps, m->embed_w));
    if (!y.p)
        s->trace.x = embedded(s, up);
    if (mean && !y.p)
        y = m->enc->mean(cx, m->enc_net, *seg, NULL, s->trace.x);
    if (!y.p)
        return m->enc->forward(cx, m->enc_net, *seg, s->trace.x);
    *seg = one_row_each(cx, up, seg->n);
    return y;
}

/* The head's input. A frozen encoder runs as for predictions, without the tape. */
static cs_mat encoded(cs_session *s, const cs_uploaded *up, cs_seg *seg)
{
    cs_ctx *cx = &s->cx;

    if (!cx->training || !s->freeze_encoder)
        return encode(s, up, seg);
    const double aux_scale = cx->aux_scale;
    cx->training = cx->recording = false;
    cx->aux_scale = 0;
    cs_mat y = encode(s, up, seg);
    cx->training = cx->recording = true;
    cx->aux_scale = aux_scale;
    return y;
}

/* One part of the arrays uploaded for all parts. */
static cs_uploaded part_of(const cs_session *s, const cs_uploaded *up, int64_t i)
{
    const cs_model *m = s->model;
    cs_uploaded part = *up;

    part.x.r = m->tok ? 0 : up->seg.rows;
    if (s->cx.dry)
        return part;
    if (m->tok)
        part.tok += i * up->seg.rows;
    else
        part.x.p += i * up->seg.rows * up->x.ld;
    return part;
}

/* The value of a part to subtract. */
static cs_mat part_encoded(cs_session *s, const cs_uploaded *up, cs_seg *seg)
{
    const cs_mat h = encoded(s, up, seg);
    return s->model->head->part(&s->cx, s->model->head_net, *seg, h);
}

/* Input of a head of two parts: rows of the first minus rows of the second. The encoder runs twice
 * (with separate batch statistics per part, as in the released code of CDIL for DNA). */
static cs_mat difference(cs_session *s, const cs_uploaded *up, cs_seg *seg)
{
    cs_ctx *cx = &s->cx;
    const cs_uploaded first = part_of(s, up, 0), second = part_of(s, up, 1);
    cs_seg again = *seg;

    const cs_mat a = part_encoded(s, &first, seg);
    const cs_mat x = s->trace.x;
    const cs_mat b = part_encoded(s, &second, &again);
    s->trace.x = x;
    cs_mat d = cs_empty(cx, a.r, a.c);
    cs_sub(cx, a, b, d);
    cx->first = a;
    return d;
}

cs_uploaded cs_pass_begin(cs_session *s, const cs_pass_input *in, bool dry)
{
    cs_ctx_begin(&s->cx, in->train != NULL, dry, in->train ? in->train->key : 0);
    s->cx.aux_scale = in->train ? in->train->scale : 0;
    return cs_upload(s, in);
}

/* The head's raw output, a vector before it, or its input. */
static cs_mat head_output(cs_session *s, cs_seg seg)
{
    const cs_model *m = s->model;

    if (s->cx.training || s->output == CS_HEAD_PREDICTION)
        return m->head->forward(&s->cx, m->head_net, seg, s->trace.encoded);
    if (s->output == CS_HEAD_TOKENS)
        return s->trace.encoded;
    return m->head->vector(&s->cx, m->head_net, seg, s->trace.encoded,
                           s->output == CS_HEAD_HIDDEN);
}

cs_mat cs_pass_compute(cs_session *s, const cs_uploaded *up)
{
    const cs_model *m = s->model;
    cs_ctx *cx = &s->cx;
    cs_seg seg = up->seg;

    cx->text.id = up->tok;
    cx->text.seg = up->seg;
    s->trace.encoded = cs_model_parts(m) == 2 ? difference(s, up, &seg) : encoded(s, up, &seg);
    s->trace.y = head_output(s, seg);
    if (cx->training)
        m->head->loss(cx, m->head_net, s->trace.y, up->target, up->weight, (cs_real)up->scale);
    return s->trace.y;
}

cs_mat cs_pass(cs_session *s, const cs_pass_input *in, bool dry)
{
    const cs_uploaded up = cs_pass_begin(s, in, dry);
    return cs_pass_compute(s, &up);
}

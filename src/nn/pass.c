/*
 * pass.c - a batch through embedding, encoder and head: answers, and one step of learning.
 *
 * DESIGN
 * The same function, cs_pass(), runs dry and for real, so that what a dry run counted is what a run
 * takes: the batch's arrays are staged into the arena too when the backend has memory of its own
 * and berths.c has not put them there.
 */
#include "nn/pass.h"

#include <math.h>
#include <string.h>

#include "nn/ops.h"
#include "nn/plan.h"

/* Host floats as a matrix of the backend. */
static cs_mat stage_reals(cs_ctx *cx, const float *v, int64_t r, int32_t c)
{
    cs_mat m = cs_tmp(cx, r, c);
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

/* Host integers where the backend can read them: as they are, or a copy in the arena. */
static const void *stage_bytes(cs_ctx *cx, const cs_input *in, const void *p, size_t n_bytes)
{
    if (cx->be->is_host || in->staged)
        return p;
    cs_mat m = cs_tmp(cx, (int64_t)((n_bytes + sizeof(cs_real) - 1) / sizeof(cs_real)), 1);
    if (!cx->dry)
        cx->be->op.upload(cx->be, m.p, p, n_bytes);
    return m.p;
}

/* Token ids for the backend; a dry run has none, but must see that there are some. */
static const int32_t *tokens(cs_model *m, const cs_input *in)
{
    static const int32_t some;
    const int32_t *id = stage_bytes(&m->cx, in, in->tok, (size_t)in->n_tok * sizeof *in->tok);
    return m->cx.dry ? &some : id;
}

static cs_mat values(cs_ctx *cx, const cs_input *in, int32_t n_channel)
{
    cs_mat v = { NULL, in->n_tok, n_channel, n_channel };
    if (!in->staged)
        return stage_reals(cx, in->x, in->n_tok, n_channel);
    memcpy(&v.p, &in->x, sizeof v.p);      /* never written: an input has no gradient */
    return v;
}

static cs_mat embedded(cs_model *m, const cs_input *in)
{
    cs_ctx *cx = &m->cx;
    if (m->tok) {
        const int32_t *id = tokens(m, in);
        cs_mat x = cs_tmp(cx, in->n_tok, m->in_width);
        cs_embed(cx, id, CS_TOK_PAD, cs_value(&m->ps, m->embed_w), x);
        return x;
    }
    const cs_mat v = values(cx, in, m->n_channel);
    cs_mat x = cs_tmp(cx, in->n_tok, m->in_width);
    cs_affine(cx, v, cs_value(&m->ps, m->embed_w), cs_value(&m->ps, m->embed_b), x);
    return x;
}

/* The targets of a segment's tokens, as head.h has them, behind those of the segments before. */
static void stage_labels_of(cs_ctx *cx, const cs_input *in, int32_t s, cs_mat to)
{
    enum { PART = 256 };
    cs_real part[2 * PART];
    const int64_t end = in->off[s + 1];
    int64_t n_known = 0;

    for (int64_t t = in->off[s]; t < end; t++)
        n_known += in->label[t] >= 0;
    for (int64_t from = in->off[s]; from < end; from += PART) {
        const int64_t n = end - from < PART ? end - from : PART;
        for (int64_t i = 0; i < n; i++) {
            const int32_t label = in->label[from + i];
            part[2 * i] = label >= 0 ? (cs_real)label : (cs_real)NAN;
            part[2 * i + 1] = label >= 0 ? 1 / (cs_real)n_known : 0;
        }
        cx->be->op.upload(cx->be, to.p + 2 * from, part, (size_t)(2 * n) * sizeof *part);
    }
}

static cs_mat targets(cs_model *m, const cs_input *in)
{
    const int32_t n = cs_model_n_target(m);

    if (n != CS_TARGET_TOKENS)
        return stage_reals(&m->cx, in->target, in->n_seg, n);
    cs_mat to = cs_tmp(&m->cx, in->n_tok, 2);
    for (int32_t s = 0; s < in->n_seg && !m->cx.dry; s++)
        stage_labels_of(&m->cx, in, s, to);
    return to;
}

static void add_loss(cs_model *m, const cs_input *in, cs_mat y)
{
    const cs_learn *l = in->learn;
    cs_mat target = targets(m, in);
    cs_mat weight = { 0 };
    const int32_t n_weight = cs_model_n_weight(m);
    if (l->weight)
        weight = stage_reals(&m->cx, l->weight, 1, n_weight);
    else
        cs_tmp(&m->cx, 1, n_weight);         /* the same memory with and without weights */
    m->head->loss(&m->cx, m->head_net, y, target, weight, (cs_real)l->scale);
}

/* A segment of one row for every record: what a mean is the mean of. */
static cs_seg one_row_each(cs_ctx *cx, const cs_input *in, int32_t n)
{
    if (in->staged)
        return (cs_seg){ .off = in->each, .n = n, .rows = n };
    enum { PART = 256 };
    int64_t part[PART];
    size_t per_real = sizeof *part / sizeof(cs_real);
    cs_mat m = cs_tmp(cx, n + 1, (int32_t)per_real);

    for (int64_t i = 0; i <= n && !cx->dry; i++) {
        part[i % PART] = i;
        if (i % PART == PART - 1 || i == n)
            cx->be->op.upload(cx->be, m.p + i / PART * PART * (int64_t)per_real, part,
                              (size_t)(i % PART + 1) * sizeof *part);
    }
    return (cs_seg){ .off = (const int64_t *)(const void *)m.p, .n = n, .rows = n };
}

/* The encoder's rows, or their means as segments of one row. */
static cs_mat encode(cs_model *m, const cs_input *in, cs_seg *seg)
{
    cs_ctx *cx = &m->cx;
    bool mean = m->enc->mean && !cx->training && !cx->no_mean && m->head->pools
        && m->head->pools(m->head_net);
    cs_mat y = { 0 };

    m->trace.x = (cs_mat){ 0 };
    if (mean && m->tok)
        y = m->enc->mean(cx, m->enc_net, *seg, tokens(m, in), cs_value(&m->ps, m->embed_w));
    if (!y.p)
        m->trace.x = embedded(m, in);
    if (mean && !y.p)
        y = m->enc->mean(cx, m->enc_net, *seg, NULL, m->trace.x);
    if (!y.p)
        return m->enc->forward(cx, m->enc_net, *seg, m->trace.x);
    *seg = one_row_each(cx, in, seg->n);
    return y;
}

/* What the head gets. While probing as for answers: nothing of it is on the tape. */
static cs_mat encoded(cs_model *m, const cs_input *in, cs_seg *seg)
{
    cs_ctx *cx = &m->cx;
    if (!in->learn || !m->probing)
        return encode(m, in, seg);
    const double aux_scale = cx->aux_scale;
    cx->training = cx->recording = false;
    cx->aux_scale = 0;
    cs_mat y = encode(m, in, seg);
    cx->training = cx->recording = true;
    cx->aux_scale = aux_scale;
    return y;
}

cs_input cs_input_of(const cs_batch *b, const cs_learn *l)
{
    return (cs_input){ .tok = b->tok, .x = b->x, .target = b->target, .label = b->label,
                       .off = b->off, .n_tok = b->n_tok, .n_seg = b->n_seg, .depth = b->depth,
                       .learn = l };
}

cs_input cs_input_parts(cs_model *m, const cs_input *in, bool dry)
{
    if (cs_model_parts(m) != 2)
        return *in;
    const cs_parts *p = &m->parts;
    const int64_t half = in->n_tok / 2, width = m->n_channel;
    cs_input first = *in;

    first.n_tok = half;
    first.depth = in->depth > 0 ? in->depth - 1 : 0;
    for (int32_t s = 0; s <= in->n_seg && !dry; s++)
        p->off[s] = in->off[s] / 2;
    for (int32_t s = 0; s < in->n_seg && !dry; s++) {
        const int64_t at = p->off[s], n = p->off[s + 1] - at, from = 2 * at;
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

/* What a head of two parts gets: rows of the first minus rows of the second. The encoder runs twice
 * (batch statistics are each part's own, as in the released code of CDIL for DNA). */
static cs_mat difference(cs_model *m, const cs_input *in, cs_seg *seg)
{
    cs_ctx *cx = &m->cx;
    cs_input part = *in;
    cs_seg again = *seg;

    const cs_mat a = encoded(m, &part, seg);
    const cs_mat x = m->trace.x;
    part.tok = part.tok ? part.tok + part.n_tok : NULL;
    part.x = part.x ? part.x + part.n_tok * m->n_channel : NULL;
    const cs_mat b = encoded(m, &part, &again);
    m->trace.alt = m->trace.x;
    m->trace.x = x;
    cs_mat d = cs_tmp(cx, a.r, a.c);
    cs_sub(cx, a, b, d);
    return d;
}

cs_mat cs_pass(cs_model *m, const cs_input *in, bool dry)
{
    cs_ctx *cx = &m->cx;
    cs_ctx_begin(cx, in->learn != NULL, dry, in->learn ? in->learn->key : 0);
    cx->aux_scale = in->learn ? in->learn->scale : 0;
    cs_seg seg = { stage_bytes(cx, in, in->off, (size_t)(in->n_seg + 1) * sizeof *in->off),
                   in->n_seg, in->n_tok, in->depth, NULL };
    m->trace.encoded = cs_model_parts(m) == 2 ? difference(m, in, &seg) : encoded(m, in, &seg);
    m->trace.y = m->head->forward(cx, m->head_net, seg, m->trace.encoded);
    if (in->learn)
        add_loss(m, in, m->trace.y);
    return m->trace.y;
}

/* What such a pass takes is in the context's peaks then; *n_answer receives its answers' reals. */
static void dry_run(cs_model *m, int64_t n_tok, int32_t n_seg, int32_t depth, bool training,
                    int64_t *n_answer)
{
    const cs_learn learn = { .scale = 1 };
    const cs_input whole = { .n_tok = n_tok, .n_seg = n_seg, .depth = depth,
                             .staged = !training && cs_berths_has(m->be),
                             .learn = training ? &learn : NULL };
    const cs_input in = cs_input_parts(m, &whole, true);
    const cs_mat y = cs_pass(m, &in, true);

    *n_answer = y.r * y.c;
    if (training)
        cs_backward(&m->cx);
    else
        m->cx.grad_peak = 0;
}

int64_t cs_model_memory(cs_model *m, int64_t n_tok, int32_t n_seg, int32_t depth, bool training)
{
    int64_t n_answer;
    dry_run(m, n_tok, n_seg, depth, training, &n_answer);
    const int64_t n_berths = training ? 0 : cs_berths_bytes(m, n_tok, n_seg, n_answer);
    return (m->cx.peak + m->cx.grad_peak) * (int64_t)sizeof(cs_real) + n_berths;
}

static int reserve_parts(cs_model *m, int64_t n_tok, int32_t n_seg)
{
    int rc = CS_OK;
    cs_parts *p = &m->parts;

    CS_TRY(cs_grow((void **)&p->off, &p->n_off, (size_t)n_seg + 1, sizeof *p->off));
    if (m->tok)
        rc = cs_grow((void **)&p->tok, &p->n_tok, (size_t)n_tok, sizeof *p->tok);
    else
        rc = cs_grow((void **)&p->x, &p->n_x, (size_t)(n_tok * m->n_channel), sizeof *p->x);
out:
    return rc;
}

int cs_model_reserve(cs_model *m, int64_t n_tok, int32_t n_seg, int32_t depth, bool training)
{
    int64_t n_answer;
    dry_run(m, n_tok, n_seg, depth, training, &n_answer);
    if (cs_model_parts(m) == 2 && reserve_parts(m, n_tok, n_seg) != CS_OK)
        return CS_EMEM;
    if (cs_ctx_reserve(&m->cx, m->cx.peak, m->cx.grad_peak) == CS_OK)
        return CS_OK;
    cs_error_clear();
    return cs_fail(CS_EMEM, "out of memory: %lld tokens need %lld bytes of activations; lower "
                   "--batch-tokens", (long long)n_tok,
                   (long long)cs_model_memory(m, n_tok, n_seg, depth, training));
}

int cs_check_batch(const cs_model *m, const cs_batch *b)
{
    int64_t most = cs_model_max_len(m), longest = 0;
    CS_BUG(b->n_seg != b->n_rec || (m->tok ? b->tok == NULL : b->n_channel != m->n_channel));
    for (int32_t s = 0; s < b->n_seg; s++)
        longest = b->off[s + 1] - b->off[s] > longest ? b->off[s + 1] - b->off[s] : longest;
    if (most > 0 && longest > most)
        return cs_fail(CS_EMODEL, "a sequence of more than %lld tokens is longer than this model "
                       "takes", (long long)most);
    return CS_OK;
}

int cs_check_finite(cs_model *m, int64_t first)
{
    m->not_finite = first;
    if (first < 0 || m->unchecked)
        return CS_OK;
    return cs_fail(CS_EMODEL, "the model's answer is not a finite number; its weights are damaged "
                   "or training diverged");
}

int cs_tell_batch(int rc, const cs_input *in)
{
    char what[512];

    if (rc != CS_EDEVICE)
        return rc;
    (void)snprintf(what, sizeof what, "%s", cs_error_message());
    cs_error_clear();
    return cs_fail(rc, "%s; the batch had %d sequences of %lld tokens, depth %d", what,
                   (int)in->n_seg, (long long)in->n_tok, (int)in->depth);
}

/* The head's answers in host floats. */
static int fetch(cs_model *m, cs_mat y, float *out)
{
    int64_t first = -1;

    if (m->be->is_host)
        for (int64_t i = 0; i < y.r * y.c; i++)
            out[i] = (float)y.p[i];
    else
        m->be->op.download(m->be, out, y.p, (size_t)(y.r * y.c) * sizeof *out);
    for (int64_t i = y.r * y.c - 1; i >= 0; i--)
        first = isfinite(out[i]) ? first : i;
    return cs_check_finite(m, first);
}

static int answer(cs_model *m, const cs_batch *b, bool raw, float *out)
{
    int rc = CS_OK;
    const cs_input whole = cs_input_of(b, NULL);

    m->not_finite = -1;
    if (cs_berths_has(m->be)) {
        CS_TRY(cs_model_start(m, 0, b, raw));
        return cs_model_finish(m, 0, out);
    }
    CS_TRY(cs_check_batch(m, b));
    CS_TRY(cs_model_reserve(m, b->n_tok, b->n_seg, b->depth, false));
    const cs_input in = cs_input_parts(m, &whole, false);
    cs_mat y = cs_pass(m, &in, false);
    if (!raw)
        m->head->activate(&m->cx, m->head_net, y);
    CS_TRY(m->be->op.sync(m->be));
    CS_TRY(fetch(m, y, out));
out:
    return cs_tell_batch(rc, &whole);
}

int cs_model_predict(cs_model *m, const cs_batch *b, float *out)
{
    return answer(m, b, false, out);
}

int cs_model_raw(cs_model *m, const cs_batch *b, float *out)
{
    return answer(m, b, true, out);
}

static int check_loss(double loss)
{
    if (isfinite(loss))
        return CS_OK;
    return cs_fail(CS_EMODEL, "the loss is not a finite number: training diverged; lower the "
                   "learning rate or clip the gradient");
}

int cs_model_learn(cs_model *m, const cs_batch *b, const cs_learn *l, double *loss, float *out)
{
    int rc = CS_OK;
    cs_real sum;
    const cs_input whole = cs_input_of(b, l);

    CS_BUG(!m->ps.grad || (!b->target && !b->label));
    CS_BUG(b->n_target != cs_model_n_target(m));
    CS_TRY(cs_check_batch(m, b));
    m->cx.keep = cs_plan_keep(m, b->n_tok, b->n_seg, b->depth, l->keep);
    CS_TRY(cs_model_reserve(m, b->n_tok, b->n_seg, b->depth, true));
    const cs_input in = cs_input_parts(m, &whole, false);
    cs_mat y = cs_pass(m, &in, false);
    cs_backward(&m->cx);
    CS_TRY(m->be->op.sync(m->be));
    m->be->op.download(m->be, &sum, m->cx.loss.p, sizeof sum);
    *loss = (double)sum;
    CS_TRY(check_loss(*loss));
    if (out) {
        /* After the backward pass, because the answers overwrite the raw values. */
        m->head->activate(&m->cx, m->head_net, y);
        CS_TRY(m->be->op.sync(m->be));
        CS_TRY(fetch(m, y, out));
    }
out:
    return cs_tell_batch(rc, &whole);
}

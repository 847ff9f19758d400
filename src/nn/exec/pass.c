/*
 * pass.c - a batch through embedding, encoder and head: answers, and one step of learning.
 *
 * DESIGN
 * The same function, cs_pass(), runs dry and for real, so that what a dry run counted is what a run
 * takes: the batch's arrays are staged into the arena too (staged.c) when the backend has memory of
 * its own and berths.c has not put them there.
 */
#include "nn/exec/pass.h"

#include <math.h>
#include <string.h>

#include "nn/exec/plan.h"
#include "nn/ops/ops.h"

static cs_mat embedded(cs_model *m, const cs_staged *st)
{
    cs_ctx *cx = &m->cx;
    cs_mat x = cs_tmp(cx, st->seg.rows, m->in_width);

    if (m->tok)
        cs_embed(cx, st->tok, CS_TOK_PAD, cs_value(&m->ps, m->embed_w), x);
    else
        cs_affine(cx, st->x, cs_value(&m->ps, m->embed_w), cs_value(&m->ps, m->embed_b), x);
    return x;
}

/* A segment of one row for every record: what a mean is the mean of. */
static cs_seg one_row_each(cs_ctx *cx, const cs_staged *st, int32_t n)
{
    return (cs_seg){ .off = st->each ? st->each : cs_stage_each(cx, n), .n = n, .rows = n };
}

/* The encoder's rows, or their means as segments of one row. */
static cs_mat encode(cs_model *m, const cs_staged *st, cs_seg *seg)
{
    cs_ctx *cx = &m->cx;
    bool mean = m->enc->mean && !cx->training && !cx->no_mean && m->head->pools
        && m->head->pools(m->head_net);
    cs_mat y = { 0 };

    m->trace.x = (cs_mat){ 0 };
    if (mean && m->tok)
        y = m->enc->mean(cx, m->enc_net, *seg, st->tok, cs_value(&m->ps, m->embed_w));
    if (!y.p)
        m->trace.x = embedded(m, st);
    if (mean && !y.p)
        y = m->enc->mean(cx, m->enc_net, *seg, NULL, m->trace.x);
    if (!y.p)
        return m->enc->forward(cx, m->enc_net, *seg, m->trace.x);
    *seg = one_row_each(cx, st, seg->n);
    return y;
}

/* What the head gets. While probing as for answers: nothing of it is on the tape. */
static cs_mat encoded(cs_model *m, const cs_staged *st, cs_seg *seg)
{
    cs_ctx *cx = &m->cx;
    if (!cx->training || !m->probing)
        return encode(m, st, seg);
    const double aux_scale = cx->aux_scale;
    cx->training = cx->recording = false;
    cx->aux_scale = 0;
    cs_mat y = encode(m, st, seg);
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

/* Of what is staged for all parts that of one. */
static cs_staged part_of(const cs_model *m, const cs_staged *st, int64_t i)
{
    cs_staged part = *st;

    part.x.r = m->tok ? 0 : st->seg.rows;
    if (m->cx.dry)
        return part;
    if (m->tok)
        part.tok += i * st->seg.rows;
    else
        part.x.p += i * st->seg.rows * st->x.ld;
    return part;
}

/* What a head of two parts gets: rows of the first minus rows of the second. The encoder runs twice
 * (batch statistics are each part's own, as in the released code of CDIL for DNA). */
static cs_mat difference(cs_model *m, const cs_staged *st, cs_seg *seg)
{
    cs_ctx *cx = &m->cx;
    const cs_staged first = part_of(m, st, 0), second = part_of(m, st, 1);
    cs_seg again = *seg;

    const cs_mat a = encoded(m, &first, seg);
    const cs_mat x = m->trace.x;
    const cs_mat b = encoded(m, &second, &again);
    m->trace.alt = m->trace.x;
    m->trace.x = x;
    cs_mat d = cs_tmp(cx, a.r, a.c);
    cs_sub(cx, a, b, d);
    return d;
}

cs_staged cs_pass_begin(cs_model *m, const cs_input *in, bool dry)
{
    cs_ctx_begin(&m->cx, in->learn != NULL, dry, in->learn ? in->learn->key : 0);
    m->cx.aux_scale = in->learn ? in->learn->scale : 0;
    return cs_stage_input(m, in);
}

cs_mat cs_pass_compute(cs_model *m, const cs_staged *st)
{
    cs_ctx *cx = &m->cx;
    cs_seg seg = st->seg;

    m->trace.encoded = cs_model_parts(m) == 2 ? difference(m, st, &seg) : encoded(m, st, &seg);
    m->trace.y = m->head->forward(cx, m->head_net, seg, m->trace.encoded);
    if (cx->training)
        m->head->loss(cx, m->head_net, m->trace.y, st->target, st->weight, (cs_real)st->scale);
    return m->trace.y;
}

cs_mat cs_pass(cs_model *m, const cs_input *in, bool dry)
{
    const cs_staged st = cs_pass_begin(m, in, dry);
    return cs_pass_compute(m, &st);
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
    return cs_fail(CS_EMEM, "out of memory: %lld tokens%s need %lld bytes of activations",
                   (long long)n_tok, n_seg > 1 ? "" : " of one sequence",
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
    if (rc != CS_EDEVICE)
        return rc;
    return cs_fail_also(rc, "; the batch had %d sequences of %lld tokens, depth %d",
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
    cs_learn_pass(m, &in);
    CS_TRY(m->be->op.sync(m->be));
    m->be->op.download(m->be, &sum, m->cx.loss.p, sizeof sum);
    *loss = (double)sum;
    CS_TRY(check_loss(*loss));
    if (out) {
        /* After the backward pass, because the answers overwrite the raw values. */
        m->head->activate(&m->cx, m->head_net, m->trace.y);
        CS_TRY(m->be->op.sync(m->be));
        CS_TRY(fetch(m, m->trace.y, out));
    }
out:
    return cs_tell_batch(rc, &whole);
}

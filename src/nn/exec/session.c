/* session.c - session: predictions and training passes of a model. */
#include "nn/exec/session.h"

#include <math.h>

#include "nn/exec/graph.h"
#include "nn/exec/plan.h"
#include "nn/exec/staging.h"

cs_session *cs_session_new(cs_model *m, cs_backend *be)
{
    cs_session *s = cs_xcalloc(1, sizeof *s);

    s->model = m;
    s->be = be;
    s->nonfinite = -1;
    cs_ctx_init(&s->cx, be, &m->ps);
    return s;
}

void cs_session_free(cs_session *s)
{
    if (!s)
        return;
    cs_graphs_release(s);
    cs_staging_release(s);
    cs_ctx_release(&s->cx);
    cs_parts_release(s);
    free(s);
}

int cs_session_reserve(cs_session *s, int64_t n_tok, int32_t n_seg, int32_t depth, bool training)
{
    const int64_t n_bytes = cs_plan_memory(s, n_tok, n_seg, depth, training);

    if (cs_parts_reserve(s, n_tok, n_seg) != CS_OK)
        return CS_EMEM;
    if (cs_ctx_reserve(&s->cx, s->cx.peak, s->cx.grad_peak) == CS_OK)
        return CS_OK;
    cs_error_clear();
    return cs_fail(CS_EMEM, "out of memory: %lld tokens%s need %lld bytes of activations",
                   (long long)n_tok, n_seg > 1 ? "" : " of one sequence", (long long)n_bytes);
}

int64_t cs_session_output_len(const cs_session *s, const cs_batch *b)
{
    int64_t n = 0;

    for (int32_t i = 0; i < b->n_seg; i++)
        n += cs_model_output_len(s->model, s->output, b->off[i + 1] - b->off[i]);
    return n;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* CS_BUG for a batch of another kind of model, CS_EMODEL if a sequence is too long for it. */
static int check_batch(const cs_model *m, const cs_batch *b)
{
    int64_t max_len = cs_model_max_len(m), longest = 0;

    CS_BUG(b->n_seg != b->n_rec || (m->tok ? !b->tok && !b->count : b->n_channel != m->n_channel));
    CS_BUG(b->count && (b->n_seg != 1 || !cs_model_takes_counts(m)));
    for (int32_t i = 0; i < b->n_seg; i++)
        longest = b->off[i + 1] - b->off[i] > longest ? b->off[i + 1] - b->off[i] : longest;
    if (max_len > 0 && longest > max_len)
        return cs_fail(CS_EMODEL, "the sequence exceeds the model's maximum of %lld tokens",
                       (long long)max_len);
    return CS_OK;
}

/* Value number `first` of the outputs is not finite (-1: all are). */
static int check_finite(cs_session *s, int64_t first)
{
    s->nonfinite = first;
    if (first < 0 || s->allow_nonfinite)
        return CS_OK;
    return cs_fail(CS_EMODEL, "the model's prediction is not finite; its weights are damaged or "
                   "training diverged");
}

static int check_loss(double loss)
{
    if (isfinite(loss))
        return CS_OK;
    return cs_fail(CS_EMODEL, "the loss is not finite: training diverged; lower the learning "
                   "rate or clip the gradient");
}

/* rc; the message of CS_EDEVICE gets the batch's shape. */
static int with_shape(int rc, int64_t n_tok, int32_t n_seg, int32_t depth)
{
    if (rc != CS_EDEVICE)
        return rc;
    return cs_fail_also(rc, "; the batch had %d sequences of %lld tokens, depth %d", (int)n_seg,
                        (long long)n_tok, (int)depth);
}

/* ---- predictions ----------------------------------------------------------------------------- */

static void activate(cs_session *s, cs_mat y)
{
    if (s->cx.training || s->output == CS_HEAD_PREDICTION)
        s->model->head->activate(&s->cx, s->model->head_net, y);
}

/* The head's output in host floats. */
static int download(cs_session *s, cs_mat y, float *out)
{
    int rc = CS_OK;
    int64_t first = -1;

    if (s->be->is_host)
        for (int64_t i = 0; i < y.r * y.c; i++)
            out[i] = (float)y.p[i];
    else
        s->be->op.download(s->be, out, y.p, (size_t)(y.r * y.c) * sizeof *out);
    CS_TRY(s->be->op.sync(s->be));
    for (int64_t i = y.r * y.c - 1; i >= 0; i--)
        first = isfinite(out[i]) ? first : i;
    rc = check_finite(s, first);
out:
    return rc;
}

static int forward(cs_session *s, const cs_batch *b, bool raw, float *out)
{
    int rc = CS_OK;
    const cs_pass_input whole = cs_pass_input_of(b, NULL);

    s->nonfinite = -1;
    if (cs_staging_has(s->be)) {
        CS_TRY(cs_session_start(s, 0, b, raw));
        return cs_session_finish(s, 0, out);
    }
    CS_TRY(check_batch(s->model, b));
    CS_TRY(cs_session_reserve(s, b->n_tok, b->n_seg, b->depth, false));
    const cs_pass_input in = cs_pass_input_parts(s, &whole, false);
    const cs_mat y = cs_pass(s, &in, false);
    if (s->cx.stopped)
        return CS_ECANCEL;
    if (!raw)
        activate(s, y);
    CS_TRY(download(s, y, out));
    if (!raw && s->output == CS_HEAD_PREDICTION)
        cs_model_destandardize(s->model, out, b->n_seg);
out:
    return with_shape(rc, b->n_tok, b->n_seg, b->depth);
}

int cs_session_predict(cs_session *s, const cs_batch *b, float *out)
{
    return forward(s, b, false, out);
}

int cs_session_forward(cs_session *s, const cs_batch *b, float *out)
{
    return forward(s, b, true, out);
}

int cs_session_start(cs_session *s, int slot, const cs_batch *b, bool raw)
{
    int rc = CS_OK;
    const cs_pass_input whole = cs_pass_input_of(b, NULL);

    CS_BUG(!cs_staging_has(s->be));
    s->nonfinite = -1;
    CS_TRY(check_batch(s->model, b));
    CS_TRY(cs_session_reserve(s, b->n_tok, b->n_seg, b->depth, false));
    CS_TRY(cs_staging_reserve(s, slot, b, cs_session_output_len(s, b)));
    const cs_pass_input in = cs_pass_input_parts(s, &whole, false);
    const cs_pass_input there = cs_staging_send(s, slot, &in);
    s->staging[slot].raw = raw;
    const cs_mat y = cs_pass(s, &there, false);
    if (!raw)
        activate(s, y);
    cs_staging_end(s, slot, y);
out:
    return rc;
}

int cs_session_finish(cs_session *s, int slot, float *out)
{
    const cs_staging *l = &s->staging[slot];
    int64_t first;
    const int rc = cs_staging_fetch(s, slot, out, &first);

    if (rc == CS_OK && !l->raw && s->output == CS_HEAD_PREDICTION)
        cs_model_destandardize(s->model, out, l->n_seg);
    return rc == CS_OK ? check_finite(s, first) : with_shape(rc, l->n_tok, l->n_seg, l->depth);
}

/* ---- training -------------------------------------------------------------------------------- */

int cs_session_forward_backward(cs_session *s, const cs_batch *b, const cs_step_opt *o,
                                double *loss, float *out)
{
    int rc = CS_OK;
    cs_real sum;
    const cs_pass_input whole = cs_pass_input_of(b, o);

    CS_BUG(!s->model->ps.grad || (!b->target && !b->label));
    CS_BUG(b->n_target != cs_model_n_target(s->model));
    CS_TRY(check_batch(s->model, b));
    s->cx.keep = cs_plan_checkpoint_blocks(s, b->n_tok, b->n_seg, b->depth, o->keep);
    CS_TRY(cs_session_reserve(s, b->n_tok, b->n_seg, b->depth, true));
    const cs_pass_input in = cs_pass_input_parts(s, &whole, false);
    cs_graph_train(s, &in);
    if (s->cx.stopped)
        return CS_ECANCEL;
    s->be->op.download(s->be, &sum, s->cx.loss.p, sizeof sum);
    CS_TRY(s->be->op.sync(s->be));
    *loss = (double)sum;
    CS_TRY(check_loss(*loss));
    if (out) {
        /* After the backward pass, because predictions overwrite the raw values. */
        activate(s, s->trace.y);
        CS_TRY(download(s, s->trace.y, out));
        cs_model_destandardize(s->model, out, b->n_seg);
    }
out:
    return with_shape(rc, b->n_tok, b->n_seg, b->depth);
}

/* infer_stage.c - run a session on batches and deliver predictions to their views. */
#include "infer/infer_stage.h"

#include <string.h>

#include "base/budget.h"
#include "infer/evidence.h"
#include "nn/exec/plan.h"

/* ---- predictions of a batch ------------------------------------------------------------------ */

static const cs_view *view_of(const cs_batch *b, int32_t i)
{
    return &b->slot[i].chunk->views->view[b->slot[i].i];
}

static const cs_record *record_of(const cs_batch *b, int32_t i)
{
    return &b->slot[i].chunk->rec[view_of(b, i)->rec];
}

/* Tokens of sequences of one depth: the most that keep to --max-memory, and the fewest that do not,
 * of those measured. */
struct known_sizes { int64_t within, above; };

/* Does record i alone exceed --max-memory? Its neighbours must not decide this. */
static bool record_above(const cs_infer_stage *s, cs_session *by, const cs_batch *b, int32_t i,
                         struct known_sizes *k)
{
    const int64_t n = b->off[i + 1] - b->off[i];

    if (n > k->within && n < k->above)
        *(cs_plan_memory(by, n, 1, b->depth, false) > s->policy->max_memory ? &k->above
                                                                           : &k->within) = n;
    return n >= k->above;
}

/* Does a record of the batch? None does if the batch does not. */
static bool above_limit(const cs_infer_stage *s, cs_session *by, const cs_batch *b)
{
    struct known_sizes k = { 0, INT64_MAX };
    const int64_t max = s->policy->max_memory;
    bool any = false;

    if (max == 0 || cs_plan_memory(by, b->n_tok, b->n_seg, b->depth, false) <= max)
        return false;
    for (int32_t i = 0; i < b->n_rec && !any; i++)
        any = record_above(s, by, b, i, &k);
    return any;
}

/* The record whose prediction is not finite, or the only one; NULL: unknown. */
static const cs_record *failed_record(const cs_session *by, const cs_batch *b, int rc)
{
    int64_t left = rc == CS_EMODEL ? by->nonfinite : -1;

    for (int32_t i = 0; left >= 0 && i < b->n_rec; i++) {
        left -= b->slot[i].chunk->views->prediction[view_of(b, i)->rec].n;
        if (left < 0)
            return record_of(b, i);
    }
    return b->n_rec == 1 ? record_of(b, 0) : NULL;
}

/* Add the record that caused the error, if known, and the remedy to the message. */
static int annotate_error(const cs_infer_stage *s, cs_session *by, const cs_batch *b, int rc)
{
    char why[1024], remedy[CS_REMEDY_TEXT];
    const cs_record *r = failed_record(by, b, rc);

    if (!r)
        return rc == CS_EMEM ? cs_fail_also(rc, "; %s", s->limit ? "lower --batch-tokens"
                                            : "give fewer sequences at once") : rc;
    (void)snprintf(why, sizeof why, "%s", cs_error_message());
    cs_error_clear();
    if (rc == CS_EMEM && above_limit(s, by, b))
        return cs_fail(rc, "record '%s' (%lld bases) exceeds %s; %s", r->name,
                       (long long)cs_record_bases(r),
                       CS_OPTION("max-memory %lld", (long long)s->policy->max_memory),
                       cs_policy_remedy(s->policy, false, remedy));
    if (rc == CS_EMEM)
        return cs_fail(rc, "out of memory for record '%s' (%lld bases), which needs %lld bytes; "
                       "%s", r->name, (long long)cs_record_bases(r),
                       (long long)cs_plan_memory(by, b->n_tok, b->n_seg, b->depth, false),
                       cs_policy_remedy(s->policy, !by->be->is_host, remedy));
    return cs_fail(rc, "record '%s': %s", r->name, why[0] ? why : cs_error_name(rc));
}

/* A sequence without enough memory fails its record only, unless --long-sequence is error. */
static int give_up(cs_infer_stage *s, cs_session *by, const cs_batch *b)
{
    cs_chunk *c = b->slot[0].chunk;

    if (b->n_rec != 1 || s->policy->on_long == CS_LONG_ERROR)
        return annotate_error(s, by, b, CS_EMEM);
    cs_error_clear();
    c->views->view[b->slot[0].i].reason = CS_REASON_NO_MEMORY;
    cs_pipe_count_down(s->pipe, &c->views->pending, 1);
    return CS_OK;
}

/* Count down a run of views of one chunk at once: after the chunk's last view the writer may free
 * it. */
static void deliver(cs_infer_stage *s, const cs_batch *b)
{
    const float *v = s->output;

    for (int32_t i = 0; i < b->n_rec;) {
        cs_chunk *c = b->slot[i].chunk;
        int n = 0;
        for (; i < b->n_rec && b->slot[i].chunk == c; i++, n++) {
            const cs_view *w = view_of(b, i);
            const int64_t n_value = c->views->prediction[w->rec].n;
            memcpy(w->v, v, (size_t)n_value * sizeof *v);
            cs_evidence_add(w, n_value);
            v += n_value;
        }
        cs_pipe_count_down(s->pipe, &c->views->pending, n);
    }
}

/* Space for the predictions of a batch. */
static int reserve_values(cs_infer_stage *s, const cs_batch *b)
{
    size_t n = 0;

    for (int32_t i = 0; i < b->n_rec; i++)
        n += (size_t)b->slot[i].chunk->views->prediction[view_of(b, i)->rec].n;
    return cs_grow((void **)&s->output, &s->cap, n, sizeof *s->output);
}

/* ---- batches that exceed memory -------------------------------------------------------------- */

/* Lower the budget to half of this batch, the first time that a batch exceeds the memory. Returns
 * whether the batch exceeds the budget. */
static bool lower_limit(cs_limit *l, const cs_batch *b)
{
    const int64_t half = b->n_tok / 2;           /* of several records: at least 1 */
    int64_t budget = l->first;

    if (atomic_compare_exchange_strong(&l->tokens, &budget, half)) {
        cs_warn("no memory for a batch of %lld tokens; continuing with --batch-tokens %lld",
                (long long)b->n_tok, (long long)half);
        budget = half;
    }
    return b->n_tok > budget;
}

/* Offsets for a part of the batch. */
static int64_t *slice_offsets(const cs_batch *b)
{
    int64_t *off = cs_alloc((size_t)b->n_seg + 1, sizeof *off);

    if (!off)
        (void)cs_fail(CS_EMEM, "out of memory to split a batch of %d records", (int)b->n_rec);
    return off;
}

/* Records i .. end - 1 of the batch. It keeps the tokens; off receives the offsets. */
static cs_batch slice_of(const cs_batch *b, int32_t i, int32_t end, int64_t *off)
{
    const int64_t from = b->off[i];
    cs_batch part = *b;

    for (int32_t k = i; k <= end; k++)
        off[k - i] = b->off[k] - from;
    part.tok = b->tok ? b->tok + from : NULL;
    part.x = b->x ? b->x + from * b->n_channel : NULL;
    part.off = off;
    part.slot = b->slot + i;
    part.n_seg = part.n_rec = end - i;
    part.n_tok = off[end - i];
    return part;
}

/* Split the batch's records into batches within the budget. */
static int predict_parts(cs_infer_stage *s, cs_session *by, const cs_batch *b)
{
    const int64_t budget = atomic_load(&s->limit->tokens);
    int64_t *off = slice_offsets(b);
    int rc = off ? CS_OK : CS_EMEM;

    for (int32_t i = 0, end; rc == CS_OK && i < b->n_rec; i = end) {
        for (end = i + 1; end < b->n_rec && b->off[end + 1] - b->off[i] <= budget;)
            end++;
        const cs_batch part = slice_of(b, i, end, off);
        rc = cs_batch_predict(s, by, &part);
    }
    free(off);
    return rc;
}

/* Give up the records above --max-memory, and predict those between. */
static int predict_within(cs_infer_stage *s, cs_session *by, const cs_batch *b)
{
    struct known_sizes k = { 0, INT64_MAX };
    int64_t *off = slice_offsets(b);
    int rc = off ? CS_OK : CS_EMEM;

    for (int32_t i = 0, end; rc == CS_OK && i < b->n_rec; i = end) {
        const bool above = record_above(s, by, b, i, &k);
        for (end = i + 1; !above && end < b->n_rec && !record_above(s, by, b, end, &k);)
            end++;
        const cs_batch part = slice_of(b, i, end, off);
        rc = above ? give_up(s, by, &part) : cs_batch_predict(s, by, &part);
    }
    free(off);
    return rc;
}

/* On the CPU, one batch at a time. */
static int predict_by_fallback(cs_infer_stage *s, const cs_batch *b)
{
    cs_budget *budget = cs_budget_leave();

    cs_error_clear();
    CS_BUG(pthread_mutex_lock(s->fallback_lock) != 0);
    cs_budget_enter(budget);
    int rc = cs_session_forward(s->fallback, b, s->output);
    if (rc == CS_OK) {
        b->slot[0].chunk->views->view[b->slot[0].i].on_cpu = true;
        deliver(s, b);
    } else {
        rc = rc == CS_EMEM ? give_up(s, s->fallback, b) : annotate_error(s, s->fallback, b, rc);
    }
    CS_BUG(pthread_mutex_unlock(s->fallback_lock) != 0);
    return rc;
}

/* A batch that exceeded the memory. */
static int predict_with_less(cs_infer_stage *s, cs_session *by, const cs_batch *b)
{
    if (b->n_rec > 1 && s->limit && lower_limit(s->limit, b)) {
        cs_error_clear();
        return predict_parts(s, by, b);
    }
    return b->n_rec == 1 && s->fallback ? predict_by_fallback(s, b) : give_up(s, by, b);
}

/* ---- batches --------------------------------------------------------------------------------- */

int cs_batch_predict(cs_infer_stage *s, cs_session *by, const cs_batch *b)
{
    int rc = CS_OK;

    CS_TRY(reserve_values(s, b));
    if (above_limit(s, by, b))
        return predict_within(s, by, b);
    CS_TRY(cs_session_forward(by, b, s->output));
    deliver(s, b);
    return CS_OK;
out:
    return rc == CS_EMEM ? predict_with_less(s, by, b) : annotate_error(s, by, b, rc);
}

/* cs_batch_predict() in two halves, as cs_session_start() and _finish() are. CS_OK, also without
 * memory for the batch: see s->started[slot]. Then batch_finish(), with the other slot empty, acts
 * like cs_batch_predict(). */
static int batch_start(cs_infer_stage *s, int slot, const cs_batch *b)
{
    int rc = CS_OK;

    s->started[slot] = false;
    if (!above_limit(s, s->session, b)) {
        rc = cs_session_start(s->session, slot, b, true);
        s->started[slot] = rc == CS_OK;
    }
    if (rc == CS_EMEM) {
        cs_error_clear();
        rc = CS_OK;
    }
    return rc == CS_OK ? rc : annotate_error(s, s->session, b, rc);
}

static int batch_finish(cs_infer_stage *s, int slot, const cs_batch *b)
{
    int rc = CS_OK;

    if (!s->started[slot])
        return cs_batch_predict(s, s->session, b);
    CS_TRY(reserve_values(s, b));
    cs_budget *budget = cs_budget_leave();       /* do not count waiting for a device as work */
    rc = cs_session_finish(s->session, slot, s->output);
    cs_budget_enter(budget);
    CS_TRY(rc);
    deliver(s, b);
    return CS_OK;
out:
    return annotate_error(s, s->session, b, rc);
}

/* ---- the stage ------------------------------------------------------------------------------- */

/* Use the shared session, with all spare threads. Its backend is the caller's, whose number of
 * threads outlasts the stream. */
static int infer_shared(cs_infer_stage *s, const cs_batch *b)
{
    cs_backend *be = s->shared->be;
    cs_budget *budget = cs_budget_leave();

    CS_BUG(pthread_mutex_lock(s->shared_lock) != 0);
    cs_budget_enter(budget);
    const int n_thread = be->n_thread;
    be->n_thread = cs_pipe_share(s->pipe);
    const int rc = cs_batch_predict(s, s->shared, b);
    be->n_thread = n_thread;
    CS_BUG(pthread_mutex_unlock(s->shared_lock) != 0);
    return rc;
}

static bool is_small(cs_session *s, const cs_batch *b)
{
    return cs_plan_memory(s, b->n_tok, b->n_seg, b->depth, false) <= CS_SMALL_BATCH;
}

/* The predictions of the batch in a slot. */
static int predict_collect(cs_infer_stage *s, int slot)
{
    cs_batch *b = s->sent[slot];
    const int rc = b ? batch_finish(s, slot, b) : CS_OK;

    s->sent[slot] = NULL;
    cs_batch_free(b);
    return rc;
}

/* Through a device's staging buffers: the next batch is uploaded while one is computed. Never wait
 * for a batch while a slot holds predictions: the bucket stage may wait for the writer, and the
 * writer for these predictions. */
static int infer_ahead(cs_infer_stage *s, cs_queue *in)
{
    void *item;
    int rc = CS_OK, slot = 0;

    for (; rc == CS_OK; slot = 1 - slot) {
        CS_TRY(cs_queue_try(in, &item));
        if (!item) {
            CS_TRY(predict_collect(s, 1 - slot));
            CS_TRY(cs_queue_pop(in, &item));
        }
        s->sent[slot] = item;
        rc = batch_start(s, slot, item);
        if (rc == CS_OK)
            rc = predict_collect(s, 1 - slot);
        if (rc == CS_OK && !s->started[slot])
            rc = predict_collect(s, slot);        /* out of memory: run it alone, or split it */
    }
out:
    if (rc != CS_EOF)
        return rc;
    rc = predict_collect(s, 1 - slot);
    return rc == CS_OK ? CS_EOF : rc;
}

int cs_stage_infer(void *self, cs_queue *in, cs_queue *out)
{
    cs_infer_stage *s = self;
    void *item;
    int rc;

    (void)out;
    if (s->session->be->staging.send)
        return infer_ahead(s, in);
    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        rc = s->session != s->shared && is_small(s->session, item)
           ? cs_batch_predict(s, s->session, item) : infer_shared(s, item);
        cs_batch_free(item);
        if (rc != CS_OK)
            break;
    }
    return rc;
}

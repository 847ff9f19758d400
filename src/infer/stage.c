/* stage.c - the shared stages of every command that streams: read, tokenise, bucket, infer, write.
 *
 * DESIGN
 * Token ids are four times as large as the bases and are needed for a moment only: tokenise puts
 * all of a chunk's into one block, and bucket frees it when it has copied them into batches, so
 * that the chunks that wait for the writer are small. The block is c->id. What they do to a single
 * chunk or batch is in predict.c, which the library shares.
 *
 * A record is answered as one or several views (views.h), each a sequence of its own for bucket and
 * infer; the writer makes the record's answer of theirs, so that it depends on nothing but them.
 *
 * No deadlock. Only `flight` and the count `pending` can close a circle: bucket waits for room
 * in flight, the writer for the answers of its chunk w, and these may lie in a batch that only
 * bucket can close. Let b(j) be the bytes of chunk j, P and B the items and bytes that flight
 * holds. Bucket blocks on chunk k only if flight, which then holds w+1 .. k-1, has k-1-w >= P
 * items, or if b(w+1) + ... + b(k) > B (a push into an empty flight always succeeds).
 * Therefore, before pushing k, it closes every batch whose oldest chunk o has
 *
 *     k - o >= L  or  b(o+1) + ... + b(k) > B / 2,       1 <= L <= P + 1.
 *
 * Both grow as o falls, so if bucket blocks, every batch with records of chunks <= w has been
 * closed, infer (which waits for nobody else) will answer it, and the writer will go on. Half
 * of B, and L = P / 2, leave the writer some way to go before anybody waits. Chunk numbers and
 * bytes are functions of the input, so batches are, too; a clock or the length of a queue is
 * never asked.
 */
#include "infer/stage.h"

#include "base/budget.h"
#include "infer/predict.h"
#include "infer/views.h"
#include "nn/exec/plan.h"

/* ---- read --------------------------------------------------------------------------------- */

/* CS_EOF: the input ended; the chunk may have records all the same. */
static int fill(const cs_read_stage *s, cs_chunk *c)
{
    int rc = CS_OK;

    while (rc == CS_OK && !cs_chunk_full(c))
        rc = s->next(s->source, c);
    c->input_bytes = s->in ? cs_inputs_tell(s->in) : 0;
    return rc;
}

int cs_stage_read(void *self, cs_queue *in, cs_queue *out)
{
    cs_read_stage *s = self;
    int rc = CS_OK;

    (void)in;
    for (uint64_t no = 0; rc == CS_OK; no++) {
        cs_chunk *c = cs_chunk_new(no);
        if (!c)
            return cs_fail(CS_EMEM, "out of memory for a chunk of the input");
        rc = fill(s, c);
        /* Once it is pushed, the chunk is another thread's. */
        const bool whole = rc >= 0 && c->n > 0;
        const int pushed = whole ? cs_queue_push(out, c) : rc;
        if (!whole || pushed != CS_OK) {
            cs_chunk_free(c);
            return pushed;
        }
    }
    return rc;
}

/* ---- tokenise ----------------------------------------------------------------------------- */

size_t cs_tokenised_bytes(const void *chunk)
{
    const cs_chunk *c = chunk;

    return cs_chunk_bytes(c) + (size_t)c->n_id * sizeof *c->id;
}

void cs_tokenised_drop(void *chunk)
{
    if (chunk)
        cs_chunk_free_ids(chunk);
    cs_chunk_free(chunk);
}

static void note_longest(cs_tokenise_stage *s, const cs_chunk *c)
{
    for (int i = 0; i < c->n; i++) {
        const int64_t n_base = cs_record_bases(&c->rec[i]);
        s->longest = n_base > s->longest ? n_base : s->longest;
    }
}

int cs_stage_tokenise(void *self, cs_queue *in, cs_queue *out)
{
    cs_tokenise_stage *s = self;
    void *item;
    int rc;

    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        note_longest(s, item);
        rc = cs_chunk_tokenise(s->policy, item);
        if (rc == CS_OK)
            rc = cs_queue_push(out, item);
        if (rc != CS_OK) {
            cs_tokenised_drop(item);
            break;
        }
    }
    return rc;
}

/* ---- bucket ------------------------------------------------------------------------------- */

/* The byte half of the lag rule: how far the window of chunks that may share a batch reaches back.
 * Invariant: chunks first .. k-1 (k the next) number fewer than `lag`; bytes is their sum but for
 * the first's own, and size[j % lag] is b(j). */
struct lag {
    uint64_t lag, first;
    size_t  *size;
    size_t   bytes, max_bytes;
};

/* Take chunk k in; afterwards a batch whose oldest chunk is below `first` is too old. */
static void lag_advance(struct lag *l, uint64_t k, size_t n_bytes)
{
    if (k > l->first)
        l->bytes += n_bytes;
    while (l->first < k && (k - l->first >= l->lag || l->bytes > l->max_bytes)) {
        l->first++;
        l->bytes -= l->first < k ? l->size[l->first % l->lag] : n_bytes;
    }
    l->size[k % l->lag] = n_bytes;
}

static int push_batch(void *queue, cs_batch *b)
{
    return cs_queue_push(queue, b);
}

/* The chunk as bucket holds it; on an error after the push it stays the writer's. */
static int bucket_chunk(cs_bucket_stage *s, struct lag *l, cs_bucketer *k, cs_chunk *c)
{
    int rc = CS_OK, n_missing = 0;

    lag_advance(l, c->no, cs_chunk_bytes(c));
    /* The bucketer counts in chunks: tell it the chunk number at which `first` is due anyway. */
    rc = cs_bucketer_chunk(k, l->first + l->lag - 1);
    if (s->limit)
        cs_bucketer_limit(k, atomic_load(&s->limit->tokens));
    for (int32_t i = 0; i < c->n_view; i++)
        n_missing += !c->view[i].reason;
    atomic_store(&c->pending, n_missing + 1);
    if (rc == CS_OK)
        rc = cs_queue_push(s->flight, c);
    if (rc != CS_OK) {
        cs_tokenised_drop(c);
        return rc;
    }
    for (int32_t i = 0; rc == CS_OK && i < c->n_view; i++)
        if (!c->view[i].reason)
            rc = cs_bucketer_add(k, c, i);
    cs_chunk_free_ids(c);
    return rc;
}

int cs_stage_bucket(void *self, cs_queue *in, cs_queue *out)
{
    cs_bucket_stage *s = self;
    struct lag l = { .lag = s->window > 1 ? s->window / 2 : 1, .max_bytes = s->window_bytes / 2 };
    cs_bucketer *k = cs_bucketer_new(s->budget, l.lag, s->n_channel, 0, push_batch, out);
    void *item;
    int rc;

    l.size = cs_xcalloc((size_t)l.lag, sizeof *l.size);
    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        rc = bucket_chunk(s, &l, k, item);
        if (rc != CS_OK)
            break;
        cs_pipe_count_down(s->pipe, &((cs_chunk *)item)->pending, 1);
    }
    if (rc == CS_EOF)
        rc = cs_bucketer_end(k);
    s->stat = cs_bucketer_stat(k);
    cs_bucketer_free(k);
    free(l.size);
    return rc;
}

/* ---- infer -------------------------------------------------------------------------------- */

/* By the session that all stages share, with the threads that there are to spare. */
static int infer_shared(cs_infer_stage *s, const cs_batch *b)
{
    cs_budget *budget = cs_budget_leave();

    CS_BUG(pthread_mutex_lock(s->shared_lock) != 0);
    cs_budget_enter(budget);
    s->shared->be->n_thread = cs_pipe_share(s->pipe);
    const int rc = cs_batch_predict(s, s->shared, b);
    CS_BUG(pthread_mutex_unlock(s->shared_lock) != 0);
    return rc;
}

static bool is_small(cs_session *s, const cs_batch *b)
{
    return cs_plan_memory(s, b->n_tok, b->n_seg, b->depth, false) <= CS_SMALL_BATCH;
}

/* The answers of the batch in a slot. */
static int collect(cs_infer_stage *s, int slot)
{
    cs_batch *b = s->sent[slot];
    const int rc = b ? cs_batch_finish(s, slot, b) : CS_OK;

    s->sent[slot] = NULL;
    cs_batch_free(b);
    return rc;
}

/* Through a device's staging buffers: while one batch is computed the next is sent. Nobody waits
 * for a batch while answers are in a slot: the bucket stage may wait for the writer, and that for
 * them. */
static int infer_ahead(cs_infer_stage *s, cs_queue *in)
{
    void *item;
    int rc = CS_OK, slot = 0;

    for (; rc == CS_OK; slot = 1 - slot) {
        CS_TRY(cs_queue_try(in, &item));
        if (!item) {
            CS_TRY(collect(s, 1 - slot));
            CS_TRY(cs_queue_pop(in, &item));
        }
        s->sent[slot] = item;
        rc = cs_batch_start(s, slot, item);
        if (rc == CS_OK)
            rc = collect(s, 1 - slot);
        if (rc == CS_OK && !s->started[slot])
            rc = collect(s, slot);        /* no room for it: alone, or otherwise */
    }
out:
    if (rc != CS_EOF)
        return rc;
    rc = collect(s, 1 - slot);
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

/* ---- write -------------------------------------------------------------------------------- */

static void count_reason(cs_write_stage *s, const cs_record *r, cs_reason reason)
{
    if (reason == CS_REASON_TOO_LONG)
        cs_count_warning(&s->too_long, r->name);
    if (reason == CS_REASON_NO_MEMORY)
        cs_count_warning(&s->no_memory, r->name);
}

/* How answers came about where there was no room for sequences as they are. */
static void count_detours(cs_write_stage *s, const cs_chunk *c, int i)
{
    bool spared = false;

    for (int32_t k = c->first[i]; k < c->first[i + 1]; k++)
        spared = spared || c->view[k].spared;
    if (spared)
        cs_count_warning(&s->spared, c->rec[i].name);
    if (s->policy->on_long == CS_LONG_FIT && c->ans[i].n_window[0] > 1)
        cs_count_warning(&s->cut, c->rec[i].name);
}

static int write_chunk(cs_write_stage *s, const cs_chunk *c)
{
    int rc = CS_OK;

    for (int i = 0; i < c->n; i++) {
        cs_views_decide(s->policy, c, i);
        CS_TRY(cs_prediction_accept(s->policy, &c->rec[i], c->ans[i].reason));
        count_reason(s, &c->rec[i], c->ans[i].reason);
        count_detours(s, c, i);
        CS_TRY(s->sink(s->arg, &c->rec[i], &c->ans[i]));
    }
    s->n_record += (uint64_t)c->n;
    s->n_base += (uint64_t)c->n_base;
    if (s->progress)
        cs_progress_update(s->progress, s->n_record, s->n_base, c->input_bytes);
out:
    return rc;
}

int cs_stage_write(void *self, cs_queue *in, cs_queue *out)
{
    cs_write_stage *s = self;
    void *item;
    int rc;

    (void)out;
    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        cs_chunk *c = item;
        rc = cs_pipe_wait_zero(s->pipe, &c->pending);
        if (rc != CS_OK) {
            cs_pipe_keep(s->pipe, c, cs_chunk_drop);   /* infer may still be writing to it */
            break;
        }
        rc = write_chunk(s, c);
        cs_chunk_free(c);
        if (rc != CS_OK)
            break;
    }
    return rc;
}

/* stage.c - the shared stages of every command that streams: read, tokenise, bucket, infer, write.
 *
 * DESIGN
 * Token ids are four times as large as the bases and are needed for a moment only: tokenise puts
 * all of a chunk's into one block, and bucket frees it when it has copied them into batches, so
 * that the chunks that wait for the writer are small. The block is c->id.
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
#include "pipelines/stage.h"

#include <limits.h>
#include <string.h>

#include "base/budget.h"

#include "pipelines/views.h"

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

static void free_ids(cs_chunk *c)
{
    cs_block_free(c->id);
    c->id = NULL;
    c->n_id = 0;
}

void cs_tokenised_drop(void *chunk)
{
    if (chunk)
        free_ids(chunk);
    cs_chunk_free(chunk);
}

static int no_room(const cs_chunk *c, const char *what, int64_t n)
{
    return cs_fail(CS_EMEM, "out of memory for %lld %s of the records from '%s' to '%s'; "
                   "--long-sequence window would cut long ones", (long long)n, what,
                   c->rec[0].name, c->rec[c->n - 1].name);
}

static int list_views(cs_tokenise_stage *s, cs_chunk *c)
{
    int64_t n = 0;

    for (int i = 0; i < c->n; i++) {
        const int64_t n_base = cs_record_bases(&c->rec[i]);
        n += cs_views_count(s->policy, &c->rec[i]);
        s->longest = n_base > s->longest ? n_base : s->longest;
    }
    if (n > INT_MAX / 2)
        return no_room(c, "windows", n);
    c->n_view = (int32_t)n;
    c->ans = cs_arena_alloc(c->mem, (size_t)c->n, sizeof *c->ans);
    c->first = cs_arena_alloc(c->mem, (size_t)c->n + 1, sizeof *c->first);
    c->view = cs_arena_alloc(c->mem, (size_t)n, sizeof *c->view);
    if (!c->ans || !c->first || !c->view)
        return no_room(c, "windows", n);
    memset(c->ans, 0, (size_t)c->n * sizeof *c->ans);
    c->first[0] = 0;
    for (int i = 0; i < c->n; i++) {
        c->first[i + 1] = c->first[i] + (int32_t)cs_views_count(s->policy, &c->rec[i]);
        cs_views_list(s->policy, &c->rec[i], i, c->view + c->first[i]);
    }
    return CS_OK;
}

/* One block for the ids of all views, each given as much as its bases can need. */
static int reserve_ids(const cs_model *m, cs_chunk *c)
{
    for (int32_t k = 0; m->tok && k < c->n_view; k++)
        c->n_id += c->view[k].tok.n;
    c->id = cs_block_alloc((size_t)c->n_id + 1, sizeof *c->id);
    if (!c->id)
        return no_room(c, "tokens", c->n_id);
    int32_t *id = c->id;
    for (int32_t k = 0; m->tok && k < c->n_view; k++) {
        c->view[k].tok.id = id;
        id += c->view[k].tok.n;
    }
    return CS_OK;
}

/* Tokens of all views, each with the room that the tokenizer and bases to turn need meanwhile. */
static int encode(const cs_tokenise_stage *s, cs_chunk *c)
{
    const cs_policy *p = s->policy;
    int64_t most = 0;

    for (int32_t k = 0; k < c->n_view; k++) {
        const int64_t n = cs_view_scratch(p, &c->view[k]);
        most = n > most ? n : most;
    }
    char *scratch = cs_block_alloc((size_t)most + 1, 1);
    if (!scratch)
        return no_room(c, "bytes to work with", most);
    for (int32_t k = 0; k < c->n_view; k++)
        cs_view_encode(p, &c->rec[c->view[k].rec], &c->view[k], scratch);
    cs_block_free(scratch);
    return CS_OK;
}

static bool is_alone(const cs_chunk *c, const cs_view *v)
{
    return c->first[v->rec + 1] - c->first[v->rec] == 1;
}

/* How many answers a record's own is made of, one after the other. */
static int answers_of(const cs_policy *p, const cs_chunk *c, int i)
{
    return p->pair == CS_PAIR_APART ? c->rec[i].n_seg : 1;
}

/* Room for the raw values of views; where a record has one view, they are its answer's own. */
static int reserve_answers(const cs_policy *p, cs_chunk *c)
{
    const cs_model *m = p->model;
    int64_t total = 0;

    for (int32_t k = 0; k < c->n_view; k++) {
        const cs_view *v = &c->view[k];
        cs_answer *a = &c->ans[v->rec];
        if (v->reason)
            continue;
        const int64_t n = cs_model_answer_len(m, v->tok.n);
        total += (is_alone(c, v) ? 0 : n) + (a->n == 0 ? n * answers_of(p, c, v->rec) : 0);
        a->n = n;
    }
    float *v = cs_arena_alloc(c->mem, (size_t)total + 1, sizeof *v);
    if (!v)
        return no_room(c, "values", total);
    for (int i = 0; i < c->n; i++) {
        c->ans[i].v = v;
        v += c->ans[i].n * answers_of(p, c, i);
    }
    for (int32_t k = 0; k < c->n_view; k++) {
        cs_view *w = &c->view[k];
        const cs_answer *a = &c->ans[w->rec];
        w->v = is_alone(c, w) ? a->v : v;
        v += is_alone(c, w) || w->reason ? 0 : a->n;
    }
    return CS_OK;
}

static int tokenise(cs_tokenise_stage *s, cs_chunk *c)
{
    int rc = CS_OK;

    CS_TRY(list_views(s, c));
    CS_TRY(reserve_ids(s->policy->model, c));
    CS_TRY(encode(s, c));
    rc = reserve_answers(s->policy, c);
out:
    return rc;
}

int cs_stage_tokenise(void *self, cs_queue *in, cs_queue *out)
{
    cs_tokenise_stage *s = self;
    void *item;
    int rc;

    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        rc = tokenise(s, item);
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
    free_ids(c);
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

static const cs_view *view_of(const cs_batch *b, int32_t i)
{
    return &b->slot[i].chunk->view[b->slot[i].i];
}

static const cs_record *record_of(const cs_batch *b, int32_t i)
{
    return &b->slot[i].chunk->rec[view_of(b, i)->rec];
}

static bool above_limit(const cs_infer_stage *s, cs_model *m, const cs_batch *b)
{
    const int64_t most = s->policy->max_memory;

    return most > 0 && b->n_rec == 1 &&
           cs_model_memory(m, b->n_tok, b->n_seg, b->depth, false) > most;
}

/* When a batch of one view fails, its record is to blame: say which, and what would help it. */
static int blame(const cs_infer_stage *s, cs_model *m, const cs_batch *b, int rc)
{
    char why[1024];

    if (b->n_rec != 1)
        return rc;
    const cs_record *r = record_of(b, 0);
    (void)snprintf(why, sizeof why, "%s", cs_error_message());
    cs_error_clear();
    if (rc == CS_EMEM && above_limit(s, m, b))
        return cs_fail(rc, "record '%s' (%lld bases) needs more than --max-memory %lld; cut it "
                       "with --long-sequence window", r->name, (long long)cs_record_bases(r),
                       (long long)s->policy->max_memory);
    if (rc == CS_EMEM)
        return cs_fail(rc, "out of memory for record '%s' (%lld bases), which needs %lld bytes; "
                       "cut it with --long-sequence window, or use a machine with more", r->name,
                       (long long)cs_record_bases(r),
                       (long long)cs_model_memory(m, b->n_tok, b->n_seg, b->depth, false));
    return cs_fail(rc, "record '%s': %s", r->name, why[0] ? why : cs_error_name(rc));
}

/* A long sequence that does not fit is its record's misfortune, unless the user wants to stop. */
static int give_up(cs_infer_stage *s, cs_model *m, const cs_batch *b)
{
    cs_chunk *c = b->slot[0].chunk;

    if (b->n_rec != 1 || s->policy->on_long == CS_LONG_ERROR)
        return blame(s, m, b, CS_EMEM);
    cs_error_clear();
    c->view[b->slot[0].i].reason = CS_REASON_NO_MEMORY;
    cs_pipe_count_down(s->pipe, &c->pending, 1);
    return CS_OK;
}

/* Answers of a run of views of one chunk are counted down at once: the last view of a chunk may be
 * the moment at which the writer frees it. */
static void deliver(cs_infer_stage *s, const cs_batch *b)
{
    const float *v = s->answer;

    for (int32_t i = 0; i < b->n_rec;) {
        cs_chunk *c = b->slot[i].chunk;
        int n = 0;
        for (; i < b->n_rec && b->slot[i].chunk == c; i++, n++) {
            const cs_view *w = view_of(b, i);
            const int64_t n_value = c->ans[w->rec].n;
            memcpy(w->v, v, (size_t)n_value * sizeof *v);
            v += n_value;
        }
        cs_pipe_count_down(s->pipe, &c->pending, n);
    }
}

static int infer(cs_infer_stage *s, cs_model *m, const cs_batch *b)
{
    int rc = CS_OK;
    size_t n = 0;

    for (int32_t i = 0; i < b->n_rec; i++)
        n += (size_t)b->slot[i].chunk->ans[view_of(b, i)->rec].n;
    CS_TRY(cs_grow((void **)&s->answer, &s->cap, n, sizeof *s->answer));
    if (above_limit(s, m, b))
        return give_up(s, m, b);
    CS_TRY(cs_model_raw(m, b, s->answer));
    deliver(s, b);
    return CS_OK;
out:
    return rc == CS_EMEM ? give_up(s, m, b) : blame(s, m, b, rc);
}

/* By the model that all stages share, with the threads that there are to spare. */
static int infer_whole(cs_infer_stage *s, const cs_batch *b)
{
    cs_budget *budget = cs_budget_leave();

    CS_BUG(s->whole && pthread_mutex_lock(s->whole) != 0);
    cs_budget_enter(budget);
    s->model->be->n_thread = cs_pipe_share(s->pipe);
    const int rc = infer(s, s->model, b);
    CS_BUG(s->whole && pthread_mutex_unlock(s->whole) != 0);
    return rc;
}

static bool is_small(cs_model *m, const cs_batch *b)
{
    return cs_model_memory(m, b->n_tok, b->n_seg, b->depth, false) <= CS_SMALL_BATCH;
}

int cs_stage_infer(void *self, cs_queue *in, cs_queue *out)
{
    cs_infer_stage *s = self;
    void *item;
    int rc;

    (void)out;
    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        rc = s->twin && is_small(s->twin, item) ? infer(s, s->twin, item) : infer_whole(s, item);
        cs_batch_free(item);
        if (rc != CS_OK)
            break;
    }
    return rc;
}

/* ---- write -------------------------------------------------------------------------------- */

/* With --long-sequence error, what is too long for the model ends the run here, in input order. */
static int look_at(cs_write_stage *s, const cs_record *r, cs_reason reason)
{
    const cs_policy *p = s->policy;

    if (reason == CS_REASON_TOO_LONG && p->on_long == CS_LONG_ERROR)
        return cs_fail(CS_EMODEL, "record '%s' (%lld bases) is longer than the model's %lld "
                       "tokens; cut it with --long-sequence window", r->name,
                       (long long)cs_record_bases(r), (long long)p->max_len);
    if (reason == CS_REASON_TOO_LONG)
        cs_count_warning(&s->too_long, r->name);
    if (reason == CS_REASON_NO_MEMORY)
        cs_count_warning(&s->no_memory, r->name);
    return CS_OK;
}

static int write_chunk(cs_write_stage *s, const cs_chunk *c)
{
    int rc = CS_OK;

    for (int i = 0; i < c->n; i++) {
        cs_views_decide(s->policy, c, i);
        CS_TRY(look_at(s, &c->rec[i], c->ans[i].reason));
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

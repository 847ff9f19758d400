/* stage.c - the shared stages of every command that streams: read, tokenise, bucket, infer, write.
 *
 * DESIGN
 * Token ids are four times as large as the bases and are needed for a moment only: tokenise puts
 * all of a chunk's into one block, and bucket frees it when it has copied them into batches, so
 * that the chunks that wait for the writer are small. The block is c->tok[0].id.
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

#include <string.h>

/* ---- read --------------------------------------------------------------------------------- */

/* CS_EOF: the input ended; the chunk may have records all the same. */
static int fill(cs_inputs *in, cs_chunk *c)
{
    int rc = CS_OK;

    while (rc == CS_OK && !cs_chunk_full(c))
        rc = cs_inputs_next(in, c);
    c->input_bytes = cs_inputs_tell(in);
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
        rc = fill(s->in, c);
        int pushed = rc < 0 || c->n == 0 ? rc : cs_queue_push(out, c);
        if (rc < 0 || c->n == 0 || pushed != CS_OK) {
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
    size_t n_id = 0;

    for (int i = 0; i < c->n; i++)
        n_id += (size_t)c->tok[i * CS_MAX_SEG].n;
    return cs_chunk_bytes(c) + n_id * sizeof(int32_t);
}

static void free_ids(cs_chunk *c)
{
    if (!c->tok)
        return;
    cs_block_free(c->tok[0].id);
    c->tok[0].id = NULL;
}

void cs_tokenised_drop(void *chunk)
{
    if (chunk)
        free_ids(chunk);
    cs_chunk_free(chunk);
}

static int has_known_base(const cs_segment *s)
{
    int64_t i = 0;

    while (i < s->n_base && cs_base_code[(unsigned char)s->base[i]] > 3)
        i++;
    return i < s->n_base;
}

static cs_reason reason_against(const cs_segment *s, int64_t min_base)
{
    if (s->n_base == 0)
        return CS_REASON_EMPTY;
    if (s->n_base < min_base)
        return CS_REASON_TOO_SHORT;
    return has_known_base(s) ? CS_REASON_NONE : CS_REASON_ALL_N;
}

/* One block for the ids of all records, each given as much as its bases can need. */
static int reserve_ids(cs_tokenise_stage *s, cs_chunk *c)
{
    const cs_model *m = s->model;
    const int64_t min_base = m->tok->min_base(m->tok_state);
    int64_t total = 0;

    c->ans = cs_arena_alloc(c->mem, (size_t)c->n, sizeof *c->ans);
    c->tok = cs_arena_alloc(c->mem, (size_t)c->n * CS_MAX_SEG, sizeof *c->tok);
    if (!c->ans || !c->tok)
        return cs_fail(CS_EMEM, "out of memory for the tokens of %d records", c->n);
    memset(c->ans, 0, (size_t)c->n * sizeof *c->ans);
    memset(c->tok, 0, (size_t)c->n * CS_MAX_SEG * sizeof *c->tok);
    for (int i = 0; i < c->n; i++) {
        const cs_segment *g = &c->rec[i].seg[0];
        CS_BUG(c->rec[i].n_seg != 1);
        c->ans[i].reason = reason_against(g, min_base);
        c->tok[i * CS_MAX_SEG].n = c->ans[i].reason ? 0 : m->tok->bound(m->tok_state, g->n_base);
        total += c->tok[i * CS_MAX_SEG].n;
        s->longest = g->n_base > s->longest ? g->n_base : s->longest;
    }
    int32_t *id = cs_block_alloc((size_t)total + 1, sizeof *id);
    if (!id)
        return cs_fail(CS_EMEM, "out of memory for %lld tokens of the records from '%s' to '%s'",
                       (long long)total, c->rec[0].name, c->rec[c->n - 1].name);
    for (int i = 0; i < c->n; i++) {
        c->tok[i * CS_MAX_SEG].id = id;
        id += c->tok[i * CS_MAX_SEG].n;
    }
    return CS_OK;
}

static void encode(cs_tokenise_stage *s, cs_chunk *c, int i, int64_t max_len)
{
    const cs_model *m = s->model;
    cs_tokens *t = &c->tok[i * CS_MAX_SEG];

    t->n = m->tok->encode(m->tok_state, &c->rec[i].seg[0], t->id);
    if (t->n == 0) {
        c->ans[i].reason = CS_REASON_TOO_SHORT;
    } else if (max_len > 0 && t->n > max_len) {
        c->ans[i].reason = CS_REASON_TOO_LONG;
        cs_count_warning(&s->too_long, c->rec[i].name);
    }
}

static int reserve_answers(const cs_model *m, cs_chunk *c)
{
    int64_t total = 0;

    for (int i = 0; i < c->n; i++) {
        if (c->ans[i].reason)
            continue;
        c->ans[i].n = cs_model_answer_len(m, c->tok[i * CS_MAX_SEG].n);
        total += c->ans[i].n;
    }
    float *v = cs_arena_alloc(c->mem, (size_t)total + 1, sizeof *v);
    if (!v)
        return cs_fail(CS_EMEM, "out of memory for %lld values of the answers to '%s' and the "
                       "records after it", (long long)total, c->rec[0].name);
    for (int i = 0; i < c->n; i++) {
        c->ans[i].v = v;
        v += c->ans[i].n;
    }
    return CS_OK;
}

static int tokenise(cs_tokenise_stage *s, cs_chunk *c)
{
    const int64_t max_len = cs_model_max_len(s->model);
    int rc = reserve_ids(s, c);

    if (rc != CS_OK)
        return rc;
#pragma omp parallel for num_threads(s->n_thread) schedule(dynamic, 16)
    for (int i = 0; i < c->n; i++)
        if (!c->ans[i].reason)
            encode(s, c, i, max_len);
    return reserve_answers(s->model, c);
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
    for (int i = 0; i < c->n; i++)
        n_missing += !c->ans[i].reason;
    atomic_store(&c->pending, n_missing + 1);
    if (rc == CS_OK)
        rc = cs_queue_push(s->flight, c);
    if (rc != CS_OK) {
        cs_tokenised_drop(c);
        return rc;
    }
    for (int i = 0; rc == CS_OK && i < c->n; i++)
        if (!c->ans[i].reason)
            rc = cs_bucketer_add(k, c, i);
    free_ids(c);
    return rc;
}

int cs_stage_bucket(void *self, cs_queue *in, cs_queue *out)
{
    cs_bucket_stage *s = self;
    struct lag l = { .lag = s->window > 1 ? s->window / 2 : 1, .max_bytes = s->window_bytes / 2 };
    cs_bucketer *k = cs_bucketer_new(s->budget, l.lag, 0, 0, push_batch, out);
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

/* When a batch of one record fails, the record is to blame: say which, and what would help it. */
static int blame(const cs_infer_stage *s, const cs_batch *b, int rc)
{
    char why[1024];
    const cs_record *r = &b->slot[0].chunk->rec[b->slot[0].i];

    if (b->n_rec != 1)
        return rc;
    (void)snprintf(why, sizeof why, "%s", cs_error_message());
    cs_error_clear();
    if (rc == CS_EMEM)
        return cs_fail(rc, "out of memory for record '%s' (%lld bases), which needs %lld bytes; "
                       "split it, or use a machine with more", r->name,
                       (long long)r->seg[0].n_base,
                       (long long)cs_model_memory(s->model, b->n_tok, b->n_seg, b->depth, false));
    return cs_fail(rc, "record '%s': %s", r->name, why[0] ? why : cs_error_name(rc));
}

/* Answers of a run of records of one chunk are counted down at once: the last record of a chunk may
 * be the moment at which the writer frees it. */
static void deliver(cs_infer_stage *s, const cs_batch *b)
{
    const float *v = s->answer;

    for (int32_t i = 0; i < b->n_rec;) {
        cs_chunk *c = b->slot[i].chunk;
        int n = 0;
        for (; i < b->n_rec && b->slot[i].chunk == c; i++, n++) {
            const cs_answer *a = &c->ans[b->slot[i].i];
            memcpy(a->v, v, (size_t)a->n * sizeof *v);
            v += a->n;
        }
        cs_pipe_count_down(s->pipe, &c->pending, n);
    }
}

static int infer(cs_infer_stage *s, const cs_batch *b)
{
    int rc = CS_OK;
    size_t n = 0;

    for (int32_t i = 0; i < b->n_rec; i++)
        n += (size_t)b->slot[i].chunk->ans[b->slot[i].i].n;
    CS_TRY(cs_grow((void **)&s->answer, &s->cap, n, sizeof *s->answer));
    CS_TRY(cs_model_predict(s->model, b, s->answer));
    deliver(s, b);
    return CS_OK;
out:
    return blame(s, b, rc);
}

int cs_stage_infer(void *self, cs_queue *in, cs_queue *out)
{
    cs_infer_stage *s = self;
    void *item;
    int rc;

    (void)out;
    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        rc = infer(s, item);
        cs_batch_free(item);
        if (rc != CS_OK)
            break;
    }
    s->peak_bytes = s->model->cx.cap * (int64_t)sizeof(cs_real);
    return rc;
}

/* ---- write -------------------------------------------------------------------------------- */

static int write_chunk(cs_write_stage *s, const cs_chunk *c)
{
    int rc = CS_OK;

    for (int i = 0; rc == CS_OK && i < c->n; i++)
        rc = s->sink(s->arg, &c->rec[i], &c->ans[i]);
    s->n_record += (uint64_t)c->n;
    s->n_base += (uint64_t)c->n_base;
    if (s->progress)
        cs_progress_update(s->progress, s->n_record, s->n_base, c->input_bytes);
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

/* bucket_stage.c - the bucket stage: chunks to the writer, their views into batches.
 *
 * DESIGN
 * No deadlock. Only `flight` and the count `pending` can form a cycle: bucket waits for space in
 * flight, the writer for the predictions of its chunk w, and these may be in a batch that only
 * bucket can close. Let b(j) be the bytes of chunk j, P and B the items and bytes that flight
 * holds. Bucket blocks on chunk k only if flight, which then holds w+1 .. k-1, has k-1-w >= P
 * items, or if b(w+1) + ... + b(k) > B (a push into an empty flight always succeeds). Therefore,
 * before pushing k, it closes every batch whose oldest chunk o has
 *
 *     k - o >= L  or  b(o+1) + ... + b(k) > B / 2,       1 <= L <= P + 1.
 *
 * Both grow as o falls, so if bucket blocks, every batch with records of chunks <= w has been
 * closed, infer (which waits for no other thread) will process it, and the writer will continue.
 * Half of B, and L = P / 2, leave some slack before any stage waits. Chunk numbers and bytes are
 * functions of the input, so batches are, too; they never depend on a clock or the length of a
 * queue.
 */
#include "infer/stage.h"
#include "infer/tokenise_stage.h"

/* The byte half of the lag rule: size of the window of chunks that may share a batch. Invariant:
 * chunks first .. k-1 (k the next) number fewer than `lag`; bytes is their sum without the first's
 * own, and size[j % lag] is b(j). */
struct lag {
    uint64_t lag, first;
    size_t  *size;
    size_t   bytes, max_bytes;
};

/* Add chunk k; afterwards a batch whose oldest chunk is below `first` must be closed. */
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

/* Pass the chunk to the writer and its views to batches. The chunk may be used until its `pending`
 * is decremented; on errors it is dropped, or the writer owns it. */
static int bucket_chunk(cs_bucket_stage *s, struct lag *l, cs_bucketer *k, cs_chunk *c)
{
    int rc = CS_OK, n_missing = 0;

    lag_advance(l, c->no, cs_chunk_bytes(c));
    /* The bucketer counts in chunks: pass it the chunk number at which `first` is due anyway. */
    rc = cs_bucketer_chunk(k, l->first + l->lag - 1);
    if (s->limit)
        cs_bucketer_limit(k, atomic_load(&s->limit->tokens));
    for (int32_t i = 0; i < c->views->n; i++)
        n_missing += !c->views->view[i].reason;
    atomic_store(&c->views->pending, n_missing + 1);
    if (rc == CS_OK)
        rc = cs_queue_push(s->flight, c);
    if (rc != CS_OK) {
        cs_tokenised_drop(c);
        return rc;
    }
    for (int32_t i = 0; rc == CS_OK && i < c->views->n; i++)
        if (!c->views->view[i].reason)
            rc = cs_bucketer_add(k, c, i);
    cs_chunk_free_ids(c);
    return rc;
}

int cs_stage_bucket(void *self, cs_queue *in, cs_queue *out)
{
    cs_bucket_stage *s = self;
    struct lag l = { .lag = s->window > 1 ? s->window / 2 : 1, .max_bytes = s->window_bytes / 2 };
    cs_bucketer *k = cs_bucketer_new(s->budget, l.lag, s->n_channel, push_batch, out);
    void *item;
    int rc;

    l.size = cs_xcalloc((size_t)l.lag, sizeof *l.size);
    while ((rc = cs_queue_pop(in, &item)) == CS_OK) {
        rc = bucket_chunk(s, &l, k, item);
        if (rc != CS_OK)
            break;
        cs_pipe_count_down(s->pipe, &((cs_chunk *)item)->views->pending, 1);
    }
    if (rc == CS_EOF)
        rc = cs_bucketer_end(k);
    s->stat = cs_bucketer_stat(k);
    cs_bucketer_free(k);
    free(l.size);
    return rc;
}

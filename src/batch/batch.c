/* batch.c - tokens packed back to back: append, reset, drop.
 *
 * DESIGN: every array grows by doubling and keeps its memory over a reset. All arrays grow before
 * any is written, so a failure leaves the batch unchanged.
 */
#include "batch/batch.h"

#include <limits.h>
#include <string.h>

int32_t cs_depth(int64_t n)
{
    if (n <= 1)
        return 0;
    int32_t d = 0;
    for (uint64_t left = (uint64_t)n - 1; left; left >>= 1)
        d++;
    return d;
}

bool cs_batch_takes(int32_t depth, int64_t n_tok, int64_t n, int64_t budget)
{
    return cs_depth(n) == depth && n_tok + n <= budget;
}

cs_batch *cs_batch_new(int32_t n_channel, int32_t n_target)
{
    cs_batch *b = cs_xcalloc(1, sizeof *b);
    b->n_channel = n_channel;
    b->n_target = n_target;
    return b;
}

void cs_batch_free(cs_batch *b)
{
    if (!b)
        return;
    cs_block_free(b->tok);
    CS_FREE(b->off, b->slot, b->x, b->target, b->label, b);
}

void cs_batch_drop(void *batch)
{
    cs_batch_free(batch);
}

size_t cs_batch_bytes(const void *batch)
{
    const cs_batch *b = batch;
    const size_t per_tok = (b->n_channel ? (size_t)b->n_channel * sizeof *b->x : sizeof *b->tok) +
                           (b->n_target == CS_TARGET_TOKENS ? sizeof *b->label : 0);
    const size_t per_rec = sizeof *b->slot +
                           (b->n_target > 0 ? (size_t)b->n_target * sizeof *b->target : 0);
    return sizeof *b + (size_t)b->cap_tok * per_tok + (size_t)b->cap_rec * per_rec +
           (size_t)b->cap_seg * sizeof *b->off;
}

void cs_batch_reset(cs_batch *b)
{
    b->n_tok = 0;
    b->count = NULL;
    b->n_seg = b->n_rec = 0;
    b->depth = 0;
    b->oldest = 0;
}

/* The arrays have other types than void *, so the pointer is copied, not dereferenced. */
static int resize(void *array, int64_t cap, size_t width, size_t size)
{
    void *old, *grown;
    if (width && (size_t)cap > SIZE_MAX / width)
        return CS_EMEM;
    memcpy(&old, array, sizeof old);
    grown = cs_realloc(old, (size_t)cap * width, size);
    if (!grown)
        return CS_EMEM;
    memcpy(array, &grown, sizeof grown);
    return CS_OK;
}

/* Ids are most of the memory of a batch, which is short-lived. */
static int resize_ids(cs_batch *b, int64_t cap)
{
    int32_t *grown = cs_block_alloc((size_t)cap, sizeof *grown);
    if (!grown)
        return CS_EMEM;
    if (b->n_tok)
        memcpy(grown, b->tok, (size_t)b->n_tok * sizeof *grown);
    cs_block_free(b->tok);
    b->tok = grown;
    return CS_OK;
}

int cs_batch_reserve(cs_batch *b, int64_t need)
{
    if (need <= b->cap_tok)
        return CS_OK;
    const int64_t cap = need > 2 * b->cap_tok ? need : 2 * b->cap_tok;
    int rc = b->n_channel ? resize(&b->x, cap, (size_t)b->n_channel, sizeof *b->x)
                          : resize_ids(b, cap);
    if (rc == CS_OK && b->n_target == CS_TARGET_TOKENS)
        rc = resize(&b->label, cap, 1, sizeof *b->label);
    if (rc != CS_OK)
        return cs_fail(rc, "out of memory for a batch of %lld tokens", (long long)need);
    b->cap_tok = cap;
    return CS_OK;
}

static int reserve_record(cs_batch *b)
{
    CS_BUG(b->n_rec > INT_MAX / 2 - 16);
    if (b->n_rec < b->cap_rec)
        return CS_OK;
    const int32_t cap = b->cap_rec ? 2 * b->cap_rec : 16;
    if (resize(&b->slot, cap, 1, sizeof *b->slot) != CS_OK ||
        resize(&b->off, (int64_t)cap + 1, 1, sizeof *b->off) != CS_OK ||
        (b->n_target > 0 &&
         resize(&b->target, cap, (size_t)b->n_target, sizeof *b->target) != CS_OK))
        return cs_fail(CS_EMEM, "out of memory for a batch of %d records", (int)b->n_rec);
    b->cap_rec = cap;
    b->cap_seg = cap + 1;
    b->off[0] = 0;
    return CS_OK;
}

/* A segment's tokens are in the batch. */
static void close_segment(cs_batch *b, int64_t n, cs_slot slot)
{
    b->depth = cs_depth(n);
    b->slot[b->n_rec++] = slot;
    b->n_tok += n;
    b->off[++b->n_seg] = b->n_tok;
}

int cs_batch_set_counts(cs_batch *b, const int64_t *count, int64_t n, cs_slot slot)
{
    CS_BUG(n < 1 || b->n_rec > 0 || b->n_channel > 0 || b->n_target != 0);
    const int rc = reserve_record(b);

    if (rc != CS_OK)
        return rc;
    b->count = count;
    close_segment(b, n, slot);
    return CS_OK;
}

/* Append to target or label, whichever the batch has. */
static int batch_append(cs_batch *b, const int32_t *tok, const float *x, int64_t n,
                        const float *target, const int32_t *label, cs_slot slot)
{
    int rc = CS_OK;
    CS_BUG(n < 1 || (tok != NULL) == (x != NULL) || (x != NULL) != (b->n_channel > 0));
    CS_BUG(b->n_rec && cs_depth(n) != b->depth);
    CS_BUG((target != NULL) != (b->n_target > 0));
    CS_BUG((label != NULL) != (b->n_target == CS_TARGET_TOKENS));
    CS_TRY(cs_batch_reserve(b, b->n_tok + n));
    CS_TRY(reserve_record(b));

    if (x)
        memcpy(b->x + b->n_tok * b->n_channel, x,
               (size_t)n * (size_t)b->n_channel * sizeof *x);
    else
        memcpy(b->tok + b->n_tok, tok, (size_t)n * sizeof *tok);
    if (target)
        memcpy(b->target + (int64_t)b->n_rec * b->n_target, target,
               (size_t)b->n_target * sizeof *target);
    if (label)
        memcpy(b->label + b->n_tok, label, (size_t)n * sizeof *label);
    close_segment(b, n, slot);
out:
    return rc;
}

int cs_batch_append(cs_batch *b, const int32_t *tok, const float *x, int64_t n,
                    const float *target, cs_slot slot)
{
    return batch_append(b, tok, x, n, target, NULL, slot);
}

int cs_batch_append_labelled(cs_batch *b, const int32_t *tok, const float *x, int64_t n,
                             const int32_t *label, cs_slot slot)
{
    return batch_append(b, tok, x, n, NULL, label, slot);
}

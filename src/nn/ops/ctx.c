/* ctx.c - the two arenas of a pass. */
#include "nn/ops/ctx.h"

#include <string.h>

#include "nn/ops/nodes.h"

void cs_ctx_init(cs_ctx *cx, cs_backend *be, cs_params *ps)
{
    memset(cx, 0, sizeof *cx);
    cx->be = be;
    cx->ps = ps;
    cx->tape = cs_tape_new();
}

static void free_arenas(cs_ctx *cx)
{
    if (cx->act)
        cx->be->op.dealloc(cx->be, cx->act);
    if (cx->act_grad)
        cx->be->op.dealloc(cx->be, cx->act_grad);
    cx->act = cx->act_grad = NULL;
    cx->cap = cx->grad_cap = 0;
}

void cs_ctx_release(cs_ctx *cx)
{
    if (!cx->be)
        return;
    free_arenas(cx);
    if (cx->cached)
        cx->be->op.dealloc(cx->be, cx->cached);
    free(cx->entry);
    free(cx->range);
    cs_tape_free(cx->tape);
    memset(cx, 0, sizeof *cx);
}

static void forget_cached(cs_ctx *cx, bool fixed)
{
    for (size_t i = 0; i < cx->n_entry; i++)
        if (fixed || !cx->entry[i].fixed)
            cx->entry[i].done = 0;
}

static int reserve_cached(cs_ctx *cx)
{
    if (cx->cached_need <= cx->cached_cap)
        return CS_OK;
    if (cx->cached)
        cx->be->op.dealloc(cx->be, cx->cached);
    size_t n_bytes = (size_t)cx->cached_need * sizeof *cx->cached;
    cx->cached = cx->be->op.alloc(cx->be, n_bytes);
    cx->cached_cap = cx->cached ? cx->cached_need : 0;
    forget_cached(cx, true);
    return cx->cached ? CS_OK
                    : cs_fail(CS_EMEM, "out of memory: prepared weights need %zu bytes", n_bytes);
}

int cs_ctx_reserve(cs_ctx *cx, int64_t n, int64_t n_grad)
{
    int rc = reserve_cached(cx);
    if (rc != CS_OK)
        return rc;
    if (n <= cx->cap && n_grad <= cx->grad_cap)
        return CS_OK;
    n = cs_ctx_aligned(n > cx->cap ? n : cx->cap);
    n_grad = cs_ctx_aligned(n_grad > cx->grad_cap ? n_grad : cx->grad_cap);
    /* The old memory is freed first: it is not needed, and both together may not fit. */
    free_arenas(cx);
    cx->act = cx->be->op.alloc(cx->be, (size_t)n * sizeof *cx->act);
    if (n_grad > 0)
        cx->act_grad = cx->be->op.alloc(cx->be, (size_t)n_grad * sizeof *cx->act);
    if (!cx->act || (n_grad > 0 && !cx->act_grad)) {
        free_arenas(cx);
        return cs_fail(CS_EMEM, "out of memory: activations need %zu bytes",
                       (size_t)(n + n_grad) * sizeof *cx->act);
    }
    cx->cap = n;
    cx->grad_cap = n_grad;
    return CS_OK;
}

void cs_ctx_begin(cs_ctx *cx, bool training, bool dry, uint64_t key)
{
    cx->training = cx->recording = training;
    cx->replaying = false;
    cx->dry = dry;
    cx->stopped = false;
    cx->top = cx->scratch = cx->peak = cx->grad_peak = 0;
    cx->unread = NULL;
    cx->key = key;
    cx->n_random = 0;
    if (cx->ps->grad)
        forget_cached(cx, false);
    cx->n_range = 0;
    cs_tape_reset(cx->tape);
    cx->loss = cs_empty(cx, 1, 1);
    if (!dry)
        cx->be->op.zero(cx->be, cx->loss);
}

/* Matrices of a dry run have no memory. */
static cs_mat taken(cs_ctx *cx, int64_t from, int64_t r, int32_t c)
{
    static cs_real nowhere;

    if (cx->top + cx->scratch > cx->peak)
        cx->peak = cx->top + cx->scratch;
    if (cx->dry)
        return (cs_mat){ &nowhere, r, c, c };
    CS_BUG(cx->top + cx->scratch > cx->cap || (cx->training && cx->top > cx->grad_cap));
    return (cs_mat){ cx->act + from, r, c, c };
}

/* Matrices that were there before have been released. */
static void remember(cs_ctx *cx, int64_t from)
{
    while (cx->n_range > 0 && cx->range[cx->n_range - 1].from >= from)
        cx->n_range--;
    if (cx->n_range == cx->cap_range) {
        cx->cap_range = cx->cap_range ? 2 * cx->cap_range : 256;
        cx->range = cs_xrealloc(cx->range, cx->cap_range * sizeof *cx->range);
    }
    cx->range[cx->n_range++] = (cs_arena_range){ .from = from, .end = cx->top };
}

cs_mat cs_empty(cs_ctx *cx, int64_t r, int32_t c)
{
    const int64_t from = cx->top;

    CS_BUG(r < 0 || c < 0);
    cx->top += cs_ctx_aligned(r * c);
    if (cx->training && !cx->dry)
        remember(cx, from);
    if (cx->top > cx->grad_peak)
        cx->grad_peak = cx->top;
    return taken(cx, from, r, c);
}

cs_mat cs_scratch(cs_ctx *cx, int64_t r, int32_t c)
{
    CS_BUG(r < 0 || c < 0);
    cx->scratch += cs_ctx_aligned(r * c);
    return taken(cx, cx->cap - cx->scratch, r, c);
}

/* The user's entry; a dry run creates it if missing. */
static cs_cache_entry *cached_entry(cs_ctx *cx, const void *user, int64_t n)
{
    for (size_t i = 0; i < cx->n_entry; i++)
        if (cx->entry[i].user == user && cx->entry[i].n == n)
            return &cx->entry[i];
    CS_BUG(!cx->dry);
    if (cx->n_entry == cx->cap_entry) {
        cx->cap_entry = cx->cap_entry ? 2 * cx->cap_entry : 4;
        cx->entry = cs_xrealloc(cx->entry, cx->cap_entry * sizeof *cx->entry);
    }
    cs_cache_entry *q = &cx->entry[cx->n_entry++];
    *q = (cs_cache_entry){ .user = user, .off = cx->cached_need, .n = n };
    cx->cached_need += cs_ctx_aligned(n);
    return q;
}

static cs_real *cached(cs_ctx *cx, cs_cache_entry *q, int64_t **done)
{
    *done = cx->dry ? NULL : &q->done;
    if (cx->dry)
        return NULL;
    CS_BUG(q->off + q->n > cx->cached_cap);
    return cx->cached + q->off;
}

cs_real *cs_cached(cs_ctx *cx, const void *user, int64_t n, int64_t **done)
{
    return cached(cx, cached_entry(cx, user, n), done);
}

cs_real *cs_cached_fixed(cs_ctx *cx, const void *user, int64_t n, int64_t **done)
{
    cs_cache_entry *q = cached_entry(cx, user, n);

    q->fixed = true;
    return cached(cx, q, done);
}

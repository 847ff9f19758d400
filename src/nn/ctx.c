/* ctx.c - the two arenas of a pass, and its beginning. */
#include "nn/ctx.h"

#include <string.h>

#include "nn/tape.h"

enum { ALIGN_REALS = 16 };

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
    cx->cap = 0;
}

void cs_ctx_release(cs_ctx *cx)
{
    if (!cx->be)
        return;
    free_arenas(cx);
    if (cx->kept)
        cx->be->op.dealloc(cx->be, cx->kept);
    cs_tape_free(cx->tape);
    memset(cx, 0, sizeof *cx);
}

static int reserve_kept(cs_ctx *cx)
{
    if (cx->kept_need <= cx->kept_cap)
        return CS_OK;
    if (cx->kept)
        cx->be->op.dealloc(cx->be, cx->kept);
    size_t n_bytes = (size_t)cx->kept_need * sizeof *cx->kept;
    cx->kept = cx->be->op.alloc(cx->be, n_bytes);
    cx->kept_cap = cx->kept ? cx->kept_need : 0;
    cx->kept_steps = 0;
    return cx->kept ? CS_OK
                    : cs_fail(CS_EMEM, "out of memory: prepared weights need %zu bytes", n_bytes);
}

int cs_ctx_reserve(cs_ctx *cx, int64_t n, bool training)
{
    int rc = reserve_kept(cx);
    if (rc != CS_OK)
        return rc;
    if (n <= cx->cap && (cx->act_grad || !training))
        return CS_OK;
    training |= cx->act_grad != NULL;
    n = n > cx->cap ? n : cx->cap;
    /* What was there is freed first: nothing of it is needed, and both together may not fit. */
    free_arenas(cx);
    size_t n_bytes = (size_t)n * sizeof *cx->act;
    cx->act = cx->be->op.alloc(cx->be, n_bytes);
    if (training)
        cx->act_grad = cx->be->op.alloc(cx->be, n_bytes);
    if (!cx->act || (training && !cx->act_grad)) {
        free_arenas(cx);
        return cs_fail(CS_EMEM, "out of memory: activations need %zu bytes",
                       training ? 2 * n_bytes : n_bytes);
    }
    cx->cap = n;
    return CS_OK;
}

void cs_ctx_begin(cs_ctx *cx, bool training, bool dry, uint64_t key)
{
    cx->training = cx->recording = training;
    cx->replaying = false;
    cx->dry = dry;
    cx->top = cx->peak = 0;
    cx->key = key;
    cx->n_random = 0;
    if (cx->ps->grad)
        cx->kept_steps = 0;
    cs_tape_reset(cx->tape);
    cx->loss = cs_tmp(cx, 1, 1);
    if (!dry)
        cx->be->op.zero(cx->be, cx->loss);
}

cs_mat cs_tmp(cs_ctx *cx, int64_t r, int32_t c)
{
    static cs_real nowhere;      /* what matrices of a dry run point to */
    int64_t from = cx->top;

    CS_BUG(r < 0 || c < 0);
    cx->top += (r * c + ALIGN_REALS - 1) / ALIGN_REALS * ALIGN_REALS;
    if (cx->top > cx->peak)
        cx->peak = cx->top;
    if (cx->dry)
        return (cs_mat){ &nowhere, r, c, c };
    CS_BUG(cx->top > cx->cap);
    return (cs_mat){ cx->act + from, r, c, c };
}

cs_real *cs_kept(cs_ctx *cx, int64_t n)
{
    if (cx->dry) {
        cx->kept_need = n > cx->kept_need ? n : cx->kept_need;
        return NULL;
    }
    CS_BUG(n > cx->kept_cap);
    return cx->kept;
}

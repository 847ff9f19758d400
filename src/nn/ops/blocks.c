/*
 * blocks.c - stacks of equal blocks with checkpointing.
 *
 * DESIGN
 * Layer l turns x_l into x_{l+1}. With cx->keep the stack is one step of the tape. Its layers
 * alternate between two buffers of the arena, x_l in buffer l % 2; copies of some inputs
 * (checkpoints) are in memory without gradients. Of seven layers with two copies:
 *
 *   forward    x0 x1 x2 x3 x4 x5 x6 y     copies of x0 and x3
 *   backward   layer 6 (x6 is in its buffer still); x3 again, x4, x5, layer 5; x3, x4, layer 4;
 *              x3, layer 3; x0, x1, keep it; x2, layer 2; x1, layer 1; x0, layer 0
 *
 * The backward pass through a layer uses cs_rerun_*(): it runs again, recorded, from its buffer
 * into the other one. The gradient of x_l belongs to x_l's buffer, so two gradients suffice. If the
 * layer's last op may skip its result (cs_is_unread()), x_{l-1} survives in that buffer and is not
 * recomputed.
 *
 * The checkpoints follow from the numbers alone, so a node need not list them.
 *
 * Checkpoints are in bf16 if supported by the backend, in half the memory; forward continues from
 * the exact x_l. A recomputed layer's residual sum starts from the rounded x_l, so the following
 * inputs differ by up to 2^-9 of x_l, and gradients by less than the error of bf16 itself
 * (tests/gpu/test_checkpoint_blocks.c). Packed rows are copied as they are, so gradients are exact.
 */
#include "nn/ops/blocks.h"

struct stack {
    cs_block_fn f;
    const char *layer;
    cs_layers   of;
    cs_seg      seg;
    cs_mat      buffer[2];                /* x_l is in buffer l % 2 */
    cs_mat      copy;                     /* all copies, one below the other */
    uint64_t    key;                      /* dropout masks before the first layer */
    int32_t     held[2];                  /* index of the input in each buffer; -1: none */
    int32_t     n_saved, saved[CS_CHECKPOINT_INPUTS];     /* indices of the checkpoints, the first
                                                           * one first */
};

/* The most layers that s checkpoints allow if none runs more than r times: C(s + r, s), or a number
 * from INT32_MAX on if that is larger. */
static int64_t reach(int32_t s, int32_t r)
{
    int64_t n = r < 0 ? 0 : 1;

    for (int32_t i = 1; i <= s && n < INT32_MAX; i++)
        n = n * (r + i) / i;
    return n;
}

int32_t cs_stack_split(int32_t n, int32_t n_more)
{
    const int32_t s = n_more + 1;
    int32_t r = 0;

    if (n_more == 0)
        return n;
    while (reach(s, r) < n)
        r++;
    const int64_t max = reach(s, r - 1), rest = n - reach(s - 1, r - 1);
    const int64_t split = max < rest ? max : rest;
    return split > 1 ? (int32_t)split : 1;
}

/* ---- buffers and copies -------------------------------------------------------------------- */

static cs_mat slot(const struct stack *s, int32_t i)
{
    cs_mat m = s->copy;

    m.r = s->buffer[0].r;
    m.p += i * m.r * m.ld;
    return m;
}

/* Are copies converted? */
static bool in_bf16(const cs_ctx *cx, const struct stack *s)
{
    return cx->be->fused.to_bf16 && !s->of.packed;
}

/* Space for n copies. */
static cs_mat slots(cs_ctx *cx, const struct stack *s, int32_t n, cs_mat x)
{
    return cs_scratch(cx, n * x.r, in_bf16(cx, s) ? (x.c + 1) / 2 : x.c);
}

static void checkpoint(cs_ctx *cx, struct stack *s, int32_t l)
{
    const cs_fused *f = &cx->be->fused;

    if (!cx->dry)
        (in_bf16(cx, s) ? f->to_bf16 : cx->be->op.copy)(cx->be, s->buffer[l % 2],
                                                        slot(s, s->n_saved));
    s->saved[s->n_saved++] = l;
}

/* Restore the last checkpoint into its buffer; returns the index of its input. */
static int32_t restore(cs_ctx *cx, struct stack *s)
{
    const cs_fused *f = &cx->be->fused;
    const int32_t l = s->saved[s->n_saved - 1];

    if (!cx->dry)
        (in_bf16(cx, s) ? f->from_bf16 : cx->be->op.copy)(cx->be, slot(s, s->n_saved - 1),
                                                          s->buffer[l % 2]);
    s->held[l % 2] = l;
    return l;
}

/* Next input to checkpoint, after number `from`, when layer end-1 is the next in the backward
 * pass. */
static int32_t next_checkpoint(const struct stack *s, int32_t from, int32_t end)
{
    return s->n_saved < s->of.n_copy ? from + cs_stack_split(end - from, s->of.n_copy - s->n_saved)
                                    : end;
}

static void blocks_run(cs_ctx *cx, const struct stack *s, int32_t l)
{
    cs_stop_here(cx);
    s->f(cx, s->layer + (size_t)l * s->of.size, s->seg, s->buffer[l % 2], s->buffer[(l + 1) % 2]);
}

/* Run layers from .. to-1, not recorded; stores checkpoints for the backward pass from layer end-1
 * on. */
static void advance(cs_ctx *cx, struct stack *s, int32_t from, int32_t to, int32_t end)
{
    int32_t next = next_checkpoint(s, from, end);

    for (int32_t l = from; l < to; l++) {
        const int64_t mark = cs_mark(cx);
        blocks_run(cx, s, l);
        cs_release_to(cx, mark);
        s->held[(l + 1) % 2] = l + 1;
        if (cx->block_hook && !cx->dry && !cx->replaying)
            cx->block_hook(cx->block_hook_arg, l, s->buffer[(l + 1) % 2]);
        if (l + 1 == next && next < end - 1) {
            checkpoint(cx, s, next);
            next = next_checkpoint(s, next, end);
        }
    }
}

/* ---- backward ------------------------------------------------------------------------------ */

/* The checkpoints of the forward pass. */
static void find_checkpoints(struct stack *s)
{
    const int32_t n = s->of.n;

    for (int32_t l = 0; l < n - 1 && s->n_saved < s->of.n_copy; l = next_checkpoint(s, l, n))
        s->saved[s->n_saved++] = l;
    s->held[n % 2] = n;
    s->held[(n - 1) % 2] = n - 1;
}

/* Recompute x_l in its buffer, for the backward pass through layer l. */
static void recompute(cs_ctx *cx, struct stack *s, int32_t l)
{
    const uint64_t n_random = cx->n_random;

    if (s->held[l % 2] == l)
        return;
    while (s->saved[s->n_saved - 1] > l)
        s->n_saved--;
    const int32_t from = restore(cx, s);
    cx->replaying = true;
    cx->n_random = s->key + (uint64_t)from * s->of.n_random;
    advance(cx, s, from, l, l + 1);
    cx->replaying = false;
    cx->n_random = n_random;
}

static void back_through(cs_ctx *cx, struct stack *s, int32_t l)
{
    const cs_mat x = s->buffer[l % 2], y = s->buffer[(l + 1) % 2];
    const cs_rerun again = cs_rerun_begin(cx, s->key + (uint64_t)l * s->of.n_random);

    cx->unread = cx->dry ? NULL : y.p;
    blocks_run(cx, s, l);
    if (cx->unread)
        s->held[(l + 1) % 2] = -1;
    cx->unread = NULL;
    cs_rerun_ready(cx, &again);
    if (!cx->dry)
        cx->be->op.zero(cx->be, cs_grad_of(cx, x));
    cs_rerun_back(cx, &again);
    cs_release_to(cx, again.mark);
}

static void stack_adjoint(cs_ctx *cx, const cs_node *n)
{
    struct stack s = { .f = n->block, .layer = n->ptr, .of = n->layers, .seg = n->seg,
                       .buffer = { n->m[0], n->m[1] }, .copy = n->m[2], .key = n->key };

    find_checkpoints(&s);
    for (int32_t l = s.of.n - 1; l >= 0; l--) {
        recompute(cx, &s, l);
        back_through(cx, &s, l);
    }
    cx->scratch = s.of.scratch;
}

/* ---- forward ------------------------------------------------------------------------------- */

static cs_mat run_checkpointed(cs_ctx *cx, struct stack *s)
{
    const int32_t n = s->of.n;
    cs_mat *x = &s->buffer[0];

    s->key = cx->n_random;
    s->of.scratch = cx->scratch;
    s->of.n_copy = cx->keep < n - 1 ? cx->keep : n - 1;
    CS_BUG(s->of.n_copy > CS_CHECKPOINT_INPUTS);
    s->buffer[1] = cs_empty(cx, x->r, x->c);
    s->copy = slots(cx, s, s->of.n_copy, *x);
    cx->recording = false;
    if (s->of.n_copy > 0)
        checkpoint(cx, s, 0);
    advance(cx, s, 0, n, n);
    cx->recording = true;
    s->of.n_random = (cx->n_random - s->key) / (uint64_t)n;
    CS_BUG(s->key + s->of.n_random * (uint64_t)n != cx->n_random);
    cs_tape_push(cx, &(cs_node){ .adjoint = stack_adjoint, .counts = true, .block = s->f,
                                 .ptr = s->layer, .layers = s->of, .seg = s->seg, .key = s->key,
                                 .m = { s->buffer[0], s->buffer[1], s->copy } });
    return s->buffer[n % 2];
}

static cs_mat run_stack(cs_ctx *cx, struct stack *s)
{
    cs_mat scratch = { 0 }, x = s->buffer[0];

    if (cx->recording && cx->keep != CS_KEEP_ALL && s->of.n > 0)
        return run_checkpointed(cx, s);
    for (int32_t l = 0; l < s->of.n; l++) {
        /* Without gradients two buffers take turns: a layer's input receives the next output. */
        cs_mat y = cx->training || l == 0 ? cs_empty(cx, x.r, x.c) : scratch;
        cs_block(cx, s->f, s->layer + (size_t)l * s->of.size, s->seg, x, y);
        scratch = x;
        x = y;
        if (cx->block_hook && !cx->dry)
            cx->block_hook(cx->block_hook_arg, l, x);
    }
    return x;
}

cs_mat cs_stack(cs_ctx *cx, cs_block_fn f, const void *layer, size_t size, int32_t n, cs_seg seg,
                cs_mat x)
{
    struct stack s = { .f = f, .layer = layer, .seg = seg, .buffer = { x },
                       .of = { .n = n, .size = size } };
    return run_stack(cx, &s);
}

cs_mat cs_stack_packed(cs_ctx *cx, cs_block_fn f, const void *layer, size_t size, int32_t n,
                       cs_seg seg, cs_mat x)
{
    struct stack s = { .f = f, .layer = layer, .seg = seg, .buffer = { x },
                       .of = { .n = n, .size = size, .packed = true } };
    CS_BUG(cx->block_hook);
    return run_stack(cx, &s);
}

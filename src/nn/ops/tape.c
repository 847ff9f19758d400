/*
 * tape.c - the list of steps, and its replay in reverse.
 *
 * DESIGN
 * Nodes are kept in one growing array, small (some ten per block) and reused from pass to pass. The
 * backward pass pops them. A recomputed block is one node; its adjoint runs the block again with
 * recording on, above everything that lives, which pushes the block's own steps where it stood:
 *
 *   forward     ... [block 1] [block 2] [head]
 *   backward    ... [block 1] [fc1][gelu][fc2][roll]      after [block 2] was popped and run again
 *
 * The second run writes y where the first one did, identical bits, so that the gradient which later
 * steps have added for y is already in its place.
 */
#include "nn/ops/tape.h"

void cs_tape_push(cs_ctx *cx, const cs_node *n)
{
    cs_tape *t = cx->tape;

    if (!cx->recording)
        return;
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 256;
        t->node = cs_xrealloc(t->node, t->cap * sizeof *t->node);
    }
    t->node[t->n++] = *n;
}

/* The parameter at offset `off` of the slab; parameters are in order of offset. */
static cs_param *param_at(cs_params *ps, int64_t off)
{
    int32_t lo = 0, hi = ps->n - 1;
    while (lo < hi) {
        int32_t mid = lo + (hi - lo + 1) / 2;
        if (ps->p[mid].off <= off)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &ps->p[lo];
}

/* Offset of p in a slab of n reals that starts at base; -1: outside. Compared as integers, because
 * pointers into different arrays have no order. */
static int64_t offset_in(const cs_real *p, const cs_real *base, int64_t n)
{
    uintptr_t at = (uintptr_t)p, from = (uintptr_t)base;
    if (!base || at < from || at - from >= (uintptr_t)n * sizeof *p)
        return -1;
    return (int64_t)((at - from) / sizeof *p);
}

static cs_mat moved(cs_mat m, cs_real *to)
{
    m.p = to;
    return m;
}

/* The first matrix of the arena that ends behind off; n_range if there is none. */
static size_t range_at(const cs_ctx *cx, int64_t off)
{
    size_t lo = 0, hi = cx->n_range;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (cx->range[mid].end > off)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void clear(const cs_ctx *cx, cs_arena_range *p)
{
    p->fresh = false;
    cx->be->op.zero(cx->be, (cs_mat){ cx->act_grad + p->from, (p->end - p->from) / CS_CTX_ALIGN,
                                      CS_CTX_ALIGN, CS_CTX_ALIGN });
}

/* Offset of m in the arena of gradients; -1: outside. Scratch memory has no gradients, even if a
 * larger batch had gradients there. */
static int64_t offset_of(const cs_ctx *cx, cs_mat m)
{
    const int64_t n = cx->cap - cx->scratch < cx->grad_cap ? cx->cap - cx->scratch : cx->grad_cap;
    return offset_in(m.p, cx->act, n);
}

cs_mat cs_grad_of(const cs_ctx *cx, cs_mat m)
{
    int64_t off;

    if (!cx->training || cx->dry)
        return (cs_mat){ 0 };
    if ((off = offset_of(cx, m)) >= 0) {
        const int64_t end = off + (m.r - 1) * m.ld + m.c;
        for (size_t i = range_at(cx, off); i < cx->n_range && cx->range[i].from < end; i++)
            if (cx->range[i].fresh)
                clear(cx, &cx->range[i]);
        return moved(m, cx->act_grad + off);
    }
    if ((off = offset_in(m.p, cx->ps->value, cx->ps->n_real)) >= 0)
        return moved(m, cx->ps->grad + off);
    return (cs_mat){ 0 };
}

cs_mat cs_grad_to(cs_ctx *cx, cs_mat m)
{
    int64_t off = offset_in(m.p, cx->ps->value, cx->ps->n_real);
    if (off >= 0)
        param_at(cx->ps, off)->touched = true;
    return cs_grad_of(cx, m);
}

cs_mat cs_grad_into(cs_ctx *cx, cs_mat m, bool *add)
{
    const int64_t off = cx->training && !cx->dry ? offset_of(cx, m) : -1;
    const size_t i = off >= 0 ? range_at(cx, off) : cx->n_range;

    *add = true;
    if (i < cx->n_range && cx->range[i].fresh && cx->range[i].from == off && m.ld == m.c
        && cx->range[i].end - off == cs_ctx_aligned(m.r * m.c))
        *add = cx->range[i].fresh = false;
    return cs_grad_to(cx, m);
}

static void seed_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.axpby(cx->be, 1, n->m[1], 1, cs_grad_to(cx, n->m[0]));
}

void cs_grad_seed(cs_ctx *cx, cs_mat y, cs_mat g)
{
    CS_BUG(y.r != g.r || y.c != g.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = seed_adjoint, .rescale = seed_adjoint,
                                 .m = { y, g } });
}

/* Gradients of the arena from `from` to the top. */
static void zero_gradients(cs_ctx *cx, int64_t from)
{
    for (size_t i = cx->n_range; i > 0 && cx->range[i - 1].from >= from; i--)
        cx->range[i - 1].fresh = true;
}

/* Pop nodes until `n_left` remain. */
static void replay(cs_ctx *cx, size_t n_left)
{
    while (cx->tape->n > n_left) {
        cs_node n = cx->tape->node[--cx->tape->n];
        const cs_adjoint f = cx->rescale ? n.rescale : n.adjoint;
        cs_stop_here(cx);
        if (!f)
            cx->no_rule = true;
        else if (!cx->dry || n.counts)
            f(cx, &n);
    }
}

cs_rerun cs_rerun_begin(cs_ctx *cx, uint64_t n_random)
{
    cs_rerun r = { cx->tape->n, cx->top, cx->n_random };

    cx->recording = cx->replaying = true;
    cx->n_random = n_random;
    return r;
}

void cs_rerun_ready(cs_ctx *cx, const cs_rerun *r)
{
    cx->recording = cx->replaying = false;
    cx->n_random = r->n_random;
    zero_gradients(cx, r->mark);
}

void cs_rerun_back(cs_ctx *cx, const cs_rerun *r)
{
    replay(cx, r->n_left);
}

static void tape_run(cs_ctx *cx, const cs_node *n)
{
    if (n->block_multi)
        n->block_multi(cx, n->ptr, n->seg, n->m, n->i);
    else
        n->block(cx, n->ptr, n->seg, n->m[0], n->m[1]);
}

static void block_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_rerun r = cs_rerun_begin(cx, n->key);

    tape_run(cx, n);
    cs_rerun_ready(cx, &r);
    cs_rerun_back(cx, &r);
    cs_release_to(cx, r.mark);
}

/* Run a block; n becomes its node where it will run again. */
static void run_block(cs_ctx *cx, cs_node *n)
{
    bool again = cx->recording && cx->keep != CS_KEEP_ALL;
    int64_t mark = cx->top;

    n->adjoint = block_adjoint;
    n->counts = true;
    n->key = cx->n_random;
    cs_stop_here(cx);
    if (again)
        cx->recording = false;
    tape_run(cx, n);
    if (!cx->recording)
        cx->top = mark;
    if (again) {
        cx->recording = true;
        cs_tape_push(cx, n);
    }
}

void cs_block(cs_ctx *cx, cs_block_fn f, const void *net, cs_seg seg, cs_mat x, cs_mat y)
{
    cs_node n = { .m = { x, y }, .seg = seg, .ptr = net, .block = f };
    run_block(cx, &n);
}

void cs_block_multi(cs_ctx *cx, cs_block_multi_fn f, const void *net, cs_seg seg, const cs_mat *m,
                    int n_mat, int32_t i)
{
    cs_node n = { .seg = seg, .ptr = net, .block_multi = f, .i = i };

    CS_BUG(n_mat > (int)(sizeof n.m / sizeof n.m[0]));
    for (int k = 0; k < n_mat; k++)
        n.m[k] = m[k];
    run_block(cx, &n);
}

void cs_backward(cs_ctx *cx)
{
    CS_BUG(!cx->training || !cx->recording);
    cx->recording = false;
    zero_gradients(cx, 0);
    replay(cx, 0);
    for (size_t i = 0; i < cx->n_range && !cx->dry; i++)
        if (cx->range[i].fresh && cx->range[i].end <= cx->top)
            clear(cx, &cx->range[i]);
    cx->n_range = 0;
}

/* fused.c - call a backend's fused kernel, or compose it from ops. */
#include "nn/ops/fused.h"

#include "nn/ops/ops.h"
#include "nn/ops/tape.h"

enum { W = 16 };                 /* columns of scratch; tables and packs begin at multiples of it */

static bool has_block(const cs_ctx *cx, const cs_chord *k)
{
    const cs_fused *f = &cx->be->fused;
    return !cx->no_fused && f->chord_block && f->chord_block_bwd
           && f->chord_block_fits(k->w1.c, (int32_t)k->w1.r, k->track);
}

bool cs_chord_is_fused(const cs_ctx *cx, const cs_chord *k)
{
    return has_block(cx, k) && !cx->be->fused.packed_shape;
}

bool cs_chord_is_packed(const cs_ctx *cx, const cs_chord *k)
{
    return has_block(cx, k) && cx->be->fused.packed_shape;
}

/* Scratch of the kernels, in their own layout: only its size is known here. */
static cs_mat work_for(cs_ctx *cx, cs_seg seg, const cs_chord *k, bool backward)
{
    int64_t n = cx->be->fused.chord_work(cx->be, seg, k, backward);
    return cs_scratch(cx, (n + W - 1) / W, W);
}

static void chord_adjoint(cs_ctx *cx, const cs_node *n)
{
    cs_chord k = { n->m[2], n->m[3], n->m[4], n->m[5], n->i };
    const int64_t scratch = cx->scratch;
    cs_mat work = work_for(cx, n->seg, &k, true);

    if (!cx->dry) {
        bool add;
        cs_chord_grads g = { .dy = cs_grad_of(cx, n->m[1]),
                             .dx = cs_grad_into(cx, n->m[0], &add),
                             .dk = { cs_grad_to(cx, k.w1), cs_grad_to(cx, k.b1),
                                     cs_grad_to(cx, k.w2), cs_grad_to(cx, k.b2), n->i } };
        g.beta = add;
        cx->be->fused.chord_block_bwd(cx->be, n->seg, &k, n->m[0], &g, work.p);
    }
    cx->scratch = scratch;
}

static void fused(cs_ctx *cx, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y)
{
    const int64_t scratch = cx->scratch;
    cs_mat work = work_for(cx, seg, k, false);

    cs_tape_push(cx, &(cs_node){ .adjoint = chord_adjoint, .seg = seg, .i = k->track,
                                 .m = { x, y, k->w1, k->b1, k->w2, k->b2 }, .counts = true });
    cs_count_flop(cx, 4.0 * (double)seg.rows * k->w1.c * (double)k->w1.r);
    if (!cx->dry && !cs_is_unread(cx, y))
        cx->be->fused.chord_block(cx->be, seg, k, x, y, work.p);
    cx->scratch = scratch;
}

void cs_chord_block(cs_ctx *cx, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y)
{
    CS_BUG(x.r != y.r || x.c != y.c || k->w1.c != x.c || k->w2.r != x.c || k->w2.c != k->w1.r);
    if (cs_chord_is_fused(cx, k)) {
        fused(cx, seg, k, x, y);
        return;
    }
    cs_mat pre = cs_empty(cx, x.r, (int32_t)k->w1.r);
    cs_affine(cx, x, k->w1, k->b1, pre);
    cs_mat h = cx->recording ? cs_empty(cx, pre.r, pre.c) : pre;
    cs_activate(cx, CS_ACT_GELU, pre, h);
    cs_mat out = cs_empty(cx, x.r, x.c);
    cs_affine(cx, h, k->w2, k->b2, out);
    cs_roll_add(cx, seg, k->track, out, x, y);
}

/* ---- packed rows ----------------------------------------------------------------------------- */

void cs_chord_packed_block(cs_ctx *cx, cs_seg seg, const cs_chord *k, cs_mat x, cs_mat y)
{
    const cs_mat shape = cx->be->fused.packed_shape(seg.rows, k->w1.c);
    CS_BUG(!cs_chord_is_packed(cx, k) || x.r != shape.r || x.c != shape.c || y.r != x.r
           || y.c != x.c);
    fused(cx, seg, k, x, y);
}

/* Until here x's memory held the last block's result, and its gradient that result's. */
static void pack_adjoint(cs_ctx *cx, const cs_node *n)
{
    const cs_fused *f = &cx->be->fused;
    f->unpack_rows(cx->be, n->m[1], 0, n->m[0]);
    f->unpack_rows(cx->be, cs_grad_of(cx, n->m[1]), 0, cs_grad_to(cx, n->m[0]));
}

cs_mat cs_pack_rows(cs_ctx *cx, cs_mat x)
{
    const cs_mat shape = cx->be->fused.packed_shape(x.r, x.c);
    cs_mat packed = cs_empty(cx, shape.r, shape.c);
    cs_tape_push(cx, &(cs_node){ .adjoint = pack_adjoint, .m = { x, packed } });
    if (!cx->dry)
        cx->be->fused.pack_rows(cx->be, x, 0, packed);
    return packed;
}

static void unpack_adjoint(cs_ctx *cx, const cs_node *n)
{
    bool add;
    const cs_mat d = cs_grad_into(cx, n->m[0], &add);
    cx->be->fused.pack_rows(cx->be, cs_grad_of(cx, n->m[1]), add, d);
}

void cs_unpack_rows(cs_ctx *cx, cs_mat packed, cs_mat x)
{
    cs_tape_push(cx, &(cs_node){ .adjoint = unpack_adjoint, .m = { packed, x } });
    if (!cx->dry)
        cx->be->fused.unpack_rows(cx->be, packed, 0, x);
}

/* ---- predictions ----------------------------------------------------------------------------- */

enum { TABLE_MAX = 1 << 21 };    /* maximum reals of a table over tokens, to fit a cache */

bool cs_chord_can_infer(const cs_ctx *cx, const cs_chord_run *q)
{
    const cs_fused *f = &cx->be->fused;
    const cs_chord *k = q->block;
    bool small = !q->id || (q->mean && (q->x.r + 1) * q->x.c <= TABLE_MAX);
    return q->depth > 0 && small && !cx->training && !cx->block_hook && !cx->no_fused
        && f->chord_stack && f->chord_fits(k->w1.c, (int32_t)k->w1.r, k->track);
}

/* The embedding plus a row of zeros, and the first block's results for these rows. */
static void fill_tables(cs_ctx *cx, const cs_chord_run *q, const cs_chord_stack *s)
{
    cs_mat e = s->embed, none = { s->embed.p, 1, e.c, e.ld };

    e.r = q->x.r;
    if (!cx->dry) {
        none.p += e.r * e.ld;
        cx->be->op.copy(cx->be, q->x, e);
        cx->be->op.zero(cx->be, none);
    }
    cs_mat h = cs_empty(cx, s->embed.r, s->hidden);
    cs_affine(cx, s->embed, q->block->w1, q->block->b1, h);
    cs_activate(cx, CS_ACT_GELU, h, h);
    cs_affine(cx, h, q->block->w2, q->block->b2, s->first);
}

/* All data derived from the weights, filled in as far as this pass needs it. */
static cs_chord_stack prepared(cs_ctx *cx, const cs_chord_run *q)
{
    const cs_chord *k = q->block;
    cs_chord_stack s = { .n_block = q->depth, .width = k->w1.c, .hidden = (int32_t)k->w1.r,
                         .track = k->track, .id = q->id };
    int64_t one = cx->be->fused.chord_pack_size(s.width, s.hidden), mark = cs_mark(cx);
    int64_t rows = q->id ? q->x.r + 1 : 0, table = (rows * s.width + W - 1) / W * W;
    int64_t *done;
    cs_real *p = cs_cached(cx, k->w1.p, 2 * table + q->n_block * one, &done);

    s.pack = cx->dry ? NULL : p + 2 * table;
    if (q->id) {
        s.embed = (cs_mat){ p, rows, s.width, s.width };
        s.first = (cs_mat){ cx->dry ? NULL : p + table, rows, s.width, s.width };
        /* The memory is the same whether they are filled in or not. */
        if (cx->dry || *done == 0)
            fill_tables(cx, q, &s);
        else
            (void)cs_empty(cx, rows, s.hidden);
        cs_release_to(cx, mark);
    }
    for (; !cx->dry && *done < q->depth; ++*done)
        cx->be->fused.chord_prepare(cx->be, &k[*done], s.pack + *done * one);
    return s;
}

cs_mat cs_chord_infer(cs_ctx *cx, cs_seg seg, const cs_chord_run *q)
{
    cs_mat mean = { 0 }, x = q->id ? (cs_mat){ 0 } : q->x;

    CS_BUG(!cs_chord_can_infer(cx, q) || q->depth > q->n_block);
    if (q->mean)
        mean = cs_empty(cx, seg.n, q->x.c);
    cs_chord_stack s = prepared(cx, q);
    int64_t mark = cs_mark(cx);
    int64_t n = cx->be->fused.chord_stack_work(cx->be, seg, &s, q->id != NULL);
    cs_mat work = cs_empty(cx, (n + W - 1) / W, W);
    if (!cx->dry)
        cx->be->fused.chord_stack(cx->be, seg, &s, x, mean, work.p);
    cs_release_to(cx, mark);
    return q->mean ? mean : x;
}

/*
 * reversible.c - the reversible step, the residual, and their adjoints.
 *
 * DESIGN
 * Gradients are at the activations' offsets (nn/ops/ctx.h), and the reversible step overwrites
 * activations: y's memory holds y after the step, and in the backward pass y before it. The
 * gradient is the same for both, because the step only adds to y.
 *
 * Row-wise parts are computed for ROWS rows at a time, in both directions, so f's intermediate
 * values take the memory of these rows only. Results are stored rotated (seg_roll_put), and
 * gradients are read from there (seg_roll_take). Gradients of weights are summed from the last rows
 * to the first, in the order of a recorded tape.
 */
#include "nn/ops/reversible.h"

/* Enough to keep a GPU busy, and little compared with long sequences. */
enum { ROWS = 1 << 14 };

/* A range of rows of a step: f's input, destination and dropout masks. */
struct part {
    cs_mat   x, y;
    cs_seg   seg;
    int64_t  first;
    uint64_t key;
};

static int64_t n_parts(const cs_mix *m, cs_mat x)
{
    return m->by_rows && x.r > 0 ? (x.r + ROWS - 1) / ROWS : 1;
}

static struct part part_of(const cs_mix *m, cs_seg seg, cs_mat x, cs_mat y, int64_t i)
{
    struct part p = { .x = x, .y = y, .seg = seg, .first = i * ROWS };

    p.x.p += p.first * x.ld;
    if (m->by_rows)
        p.x.r = x.r - p.first < ROWS ? x.r - p.first : ROWS;
    return p;
}

static cs_mat mixed(cs_ctx *cx, const cs_mix *m, const struct part *p)
{
    const cs_mat h = cs_empty(cx, p->x.r, p->x.c);
    m->f(cx, m->net, p->seg, p->x, h);
    return h;
}

static void reversible_put(cs_ctx *cx, const cs_mix *m, const struct part *p, cs_mat h)
{
    if (!cx->dry)
        cx->be->op.seg_roll_put(cx->be, p->seg, m->track, p->first, h, p->y);
}

/* y += f(x), not recorded. Returns the number of dropout masks of each part. */
static uint64_t add_mixed(cs_ctx *cx, const cs_mix *m, cs_seg seg, cs_mat x, cs_mat y)
{
    const bool recording = cx->recording;
    const int64_t n = n_parts(m, x);
    const uint64_t before = cx->n_random;

    cx->recording = false;
    for (int64_t i = 0; i < n; i++) {
        const struct part p = part_of(m, seg, x, y, i);
        const int64_t mark = cs_mark(cx);
        cs_stop_here(cx);
        reversible_put(cx, m, &p, mixed(cx, m, &p));
        cs_release_to(cx, mark);
    }
    cx->recording = recording;
    return (cx->n_random - before) / (uint64_t)n;
}

/* Gradients of one part, recomputing f; its result is subtracted from y if `undo`. */
static void back_through(cs_ctx *cx, const cs_mix *m, const struct part *p, bool undo)
{
    const cs_rerun again = cs_rerun_begin(cx, p->key);
    const cs_mat h = mixed(cx, m, p);

    cs_rerun_ready(cx, &again);
    if (!cx->dry)
        cx->be->op.seg_roll_take(cx->be, p->seg, m->track, p->first, cs_grad_of(cx, p->y),
                                 cs_grad_to(cx, h));
    cs_rerun_back(cx, &again);
    if (!cx->dry && undo) {
        cx->be->op.axpby(cx->be, -2, h, 1, h);   /* its negative, exactly */
        reversible_put(cx, m, p, h);
    }
    cs_release_to(cx, again.mark);
}

static void back_through_all(cs_ctx *cx, const cs_node *n, bool undo)
{
    const cs_mix m = { n->block, n->ptr, n->layers.n != 0, n->i };

    for (int64_t i = n_parts(&m, n->m[0]) - 1; i >= 0; i--) {
        struct part p = part_of(&m, n->seg, n->m[0], n->m[1], i);
        p.key = n->key + (uint64_t)i * n->layers.n_random;
        back_through(cx, &m, &p, undo);
    }
}

/* In `layers`: n: does it work by rows? n_random: dropout masks of a part. */
static cs_node node_of(const cs_ctx *cx, const cs_mix *m, cs_seg seg, cs_mat x, cs_mat y)
{
    CS_BUG(x.r != y.r || x.c != y.c || seg.rows != x.r || m->track <= 0 || x.c % m->track != 0);
    return (cs_node){ .m = { x, y }, .seg = seg, .ptr = m->net, .block = m->f, .i = m->track,
                      .key = cx->n_random, .layers = { .n = m->by_rows }, .counts = true };
}

/* ---- in place ------------------------------------------------------------------------------ */

static void reversible_adjoint(cs_ctx *cx, const cs_node *n)
{
    back_through_all(cx, n, true);
}

void cs_reversible(cs_ctx *cx, const cs_mix *mix, cs_seg seg, cs_mat x, cs_mat y)
{
    cs_node n = node_of(cx, mix, seg, x, y);

    n.adjoint = reversible_adjoint;
    n.layers.n_random = add_mixed(cx, mix, seg, x, y);
    cs_tape_push(cx, &n);
}

/* ---- into a new matrix --------------------------------------------------------------------- */

static void through(cs_ctx *cx, const cs_node *n)
{
    if (!cx->dry)
        cx->be->op.axpby(cx->be, 1, cs_grad_of(cx, n->m[1]), 1, cs_grad_to(cx, n->m[0]));
}

static void residual_adjoint(cs_ctx *cx, const cs_node *n)
{
    back_through_all(cx, n, false);
    through(cx, n);
}

static void put_adjoint(cs_ctx *cx, const cs_node *n)
{
    cx->be->op.seg_roll_take(cx->be, n->seg, n->i, (int64_t)n->key, cs_grad_of(cx, n->m[1]),
                             cs_grad_to(cx, n->m[0]));
}

/* f is recorded on the tape. */
static void record(cs_ctx *cx, const cs_mix *m, cs_seg seg, cs_mat x, cs_mat y)
{
    cs_tape_push(cx, &(cs_node){ .adjoint = through, .m = { x, y } });
    for (int64_t i = 0; i < n_parts(m, x); i++) {
        const struct part p = part_of(m, seg, x, y, i);
        const cs_mat h = mixed(cx, m, &p);
        reversible_put(cx, m, &p, h);
        cs_tape_push(cx, &(cs_node){ .adjoint = put_adjoint, .m = { h, y }, .seg = seg,
                                     .i = m->track, .key = (uint64_t)p.first });
    }
}

void cs_residual(cs_ctx *cx, const cs_mix *mix, cs_seg seg, cs_mat x, cs_mat y)
{
    cs_node n = node_of(cx, mix, seg, x, y);
    const bool unread = cs_is_unread(cx, y);

    CS_BUG(!mix->by_rows);
    if (!cx->dry && !unread)
        cx->be->op.copy(cx->be, x, y);
    if (cx->recording && cx->keep == CS_KEEP_ALL) {
        record(cx, mix, seg, x, y);
        return;
    }
    n.adjoint = residual_adjoint;
    cx->dry |= unread;           /* to count masks is enough then */
    n.layers.n_random = add_mixed(cx, mix, seg, x, y);
    cx->dry &= !unread;
    cs_tape_push(cx, &n);
}

/*
 * graph.c - steps of learning of a shape that came before: asked of the device as one.
 *
 * DESIGN
 * A step of a small batch is some hundred ops, over sooner than the host has asked for them: a
 * launch takes it 2 to 4 us, in which a GPU moves some 10 MB. Where the backend has graphs
 * (backend.h), the second step of a shape is therefore written down, and done from then on by one
 * launch. What the ops work on comes from the host before (staged.c); what they were called with is
 * in the graph for good, so a shape is everything that follows from: see key_of().
 *
 * Beside the contents of memory, two things change from step to step. The keys of random masks: a
 * pass that drew one is not written down. And, where classes have weights, the sum of a step's,
 * which the loss is divided by: it is part of the shape, so that few steps find a graph. What else
 * the host decides within a pass follows from the shape: which parts run again and what they keep
 * (tape.c, blocks.c, couple.c), which ops adjoints have, that running statistics move (on the
 * device; the loop puts them together after the step). Beside the arena (cs_kept()), a step that
 * learns makes everything anew, but for what the shape's first step has made for good. What the
 * host is left with in the end, struct after, is kept with the graph. Whoever watches a pass sees
 * a real one.
 *
 * The first step of a shape runs op by op, because kernels are loaded when they are first launched.
 * A step that cannot be written down, for want of memory too, is computed as if there were no
 * graphs, and not tried again.
 */
#include "nn/exec/pass.h"

#include <string.h>

#include "nn/ops/tape.h"

enum { N_SHAPE = 16,             /* the last ones; a graph takes about 1 MB of the device */
       N_KEY = 15 };

/* Where launches do not matter any more: an op then moves 4 times what a GPU moves in a launch's 3
 * us, 4 TB/s and 8 to 12 bytes per element assumed. Nothing is gained above it, and a graph of it
 * would take a smaller shape's place. */
static const int64_t most_reals = 4 << 20;

/* What a pass leaves with the host. */
struct after { cs_trace trace; int64_t top, peak, grad_peak; bool *touched; };

struct shape {
    uint64_t     key[N_KEY];
    uint64_t     used;           /* number of the step, from 1; 0: an empty place */
    bool         seen;           /* it has run op by op */
    bool         refused;
    cs_graph    *graph;          /* NULL: not yet */
    struct after after;
};

struct cs_shapes { uint64_t n_step; struct shape shape[N_SHAPE]; };

/* All that ops are called with but for the contents of memory: sizes, addresses, numbers, and what
 * chooses between ops. */
static void key_of(const cs_model *m, const cs_staged *st, uint64_t *key)
{
    const cs_ctx *cx = &m->cx;
    const cs_params *ps = &m->ps;
    const uint64_t flags = (uint64_t)m->probing | (uint64_t)cx->frozen << 1
                         | (uint64_t)cx->no_fused << 2 | (uint64_t)cx->no_mean << 3
                         | (uint64_t)(st->weight.p != NULL) << 4;
    uint64_t scale;

    memcpy(&scale, &st->scale, sizeof scale);
    const uint64_t all[N_KEY] = {
        (uint64_t)st->seg.rows, (uint64_t)st->seg.n, (uint64_t)st->seg.depth, (uint64_t)cx->keep,
        scale, flags, (uint64_t)cx->be->precision,
        (uintptr_t)cx->act, (uintptr_t)cx->act_grad, (uint64_t)cx->cap, (uint64_t)cx->grad_cap,
        (uintptr_t)cx->kept, (uint64_t)cx->kept_cap, (uintptr_t)ps->value, (uintptr_t)ps->grad
    };
    memcpy(key, all, sizeof all);
}

static void forget(cs_model *m, struct shape *s)
{
    if (s->graph)
        m->be->graphs.dealloc(m->be, s->graph);
    free(s->after.touched);
    memset(s, 0, sizeof *s);
}

/* Its place among the last ones, or the place of the one that was not used for longest. */
static struct shape *shape_of(cs_model *m, const cs_staged *st)
{
    uint64_t key[N_KEY];

    if (!m->shapes)
        m->shapes = cs_xcalloc(1, sizeof *m->shapes);
    struct shape *all = m->shapes->shape, *s = all;
    key_of(m, st, key);
    for (int i = 0; i < N_SHAPE && memcmp(s->key, key, sizeof key) != 0; i++)
        if (all[i].used < s->used || memcmp(all[i].key, key, sizeof key) == 0)
            s = &all[i];
    if (memcmp(s->key, key, sizeof key) != 0) {
        forget(m, s);
        memcpy(s->key, key, sizeof key);
    }
    s->used = ++m->shapes->n_step;
    return s;
}

static bool worth_it(const cs_model *m, const cs_staged *st)
{
    const int32_t width = m->width > m->in_width ? m->width : m->in_width;

    return m->be->graphs.begin && !m->cx.no_graph && !m->cx.watch && !m->cx.note
        && st->seg.rows * width <= most_reals;
}

static void compute(cs_model *m, const cs_staged *st)
{
    (void)cs_pass_compute(m, st);
    cs_backward(&m->cx);
}

/* Marks of parameters, exchanged with those kept: what the pass alone touches can be seen then. */
static void swap_touched(cs_params *ps, bool *kept)
{
    for (int32_t i = 0; i < ps->n; i++) {
        const bool was = ps->p[i].touched;
        ps->p[i].touched = kept[i];
        kept[i] = was;
    }
}

/* Write the step down; nothing is computed. */
static void record(cs_model *m, const cs_staged *st, struct shape *s)
{
    s->after.touched = cs_xcalloc((size_t)m->ps.n + 1, sizeof *s->after.touched);
    swap_touched(&m->ps, s->after.touched);
    m->be->graphs.begin(m->be);
    compute(m, st);
    s->graph = m->be->graphs.end(m->be);
    s->refused = !s->graph;
    swap_touched(&m->ps, s->after.touched);
    s->after.trace = m->trace;
    s->after.top = m->cx.top;
    s->after.peak = m->cx.peak;
    s->after.grad_peak = m->cx.grad_peak;
}

static void run_graph(cs_model *m, const struct shape *s)
{
    const struct after *a = &s->after;

    m->be->graphs.launch(m->be, s->graph);
    m->trace = a->trace;
    m->cx.recording = false;
    m->cx.top = a->top;
    m->cx.peak = a->peak;
    m->cx.grad_peak = a->grad_peak;
    for (int32_t i = 0; i < m->ps.n; i++)
        m->ps.p[i].touched |= a->touched[i];
}

void cs_learn_pass(cs_model *m, const cs_input *in)
{
    cs_staged st = cs_pass_begin(m, in, false);
    struct shape *s = worth_it(m, &st) ? shape_of(m, &st) : NULL;

    if (s && s->seen && !s->refused && !s->graph) {
        record(m, &st, s);
        if (s->refused)
            st = cs_pass_begin(m, in, false);
    }
    if (s && s->graph) {
        run_graph(m, s);
        return;
    }
    compute(m, &st);
    if (s) {
        s->seen = true;
        s->refused |= m->cx.n_random > 0;
    }
}

void cs_graphs_release(cs_model *m)
{
    for (int i = 0; m->shapes && i < N_SHAPE; i++)
        forget(m, &m->shapes->shape[i]);
    free(m->shapes);
    m->shapes = NULL;
}

/*
 * graph.c - training passes of a shape that came before, launched as a graph of the device.
 *
 * DESIGN
 * A step of a small batch is some hundred ops, over sooner than the host has asked for them: a
 * launch takes it 2 to 4 us, in which a GPU moves some 10 MB. Where the backend has graphs
 * (backend.h), the second step of a shape is therefore written down, and done from then on by one
 * launch. What the ops work on comes from the host before (upload.c); what they were called with is
 * in the graph for good, so a shape is everything that follows from: see key_of().
 *
 * Beside the contents of memory, two things change from step to step. The keys of random masks: a
 * pass that drew one is not written down. And, where classes have weights, the sum of a step's,
 * which the loss is divided by: it is part of the shape, so that few steps find a graph. What else
 * the host decides within a pass follows from the shape: which parts run again and what they keep
 * (tape.c, blocks.c, reversible.c), which ops adjoints have, that running statistics move (on the
 * device; the loop puts them together after the step). Beside the arena (cs_cached()), a step that
 * learns makes everything again, but for what the shape's first step has made for good. What the
 * host is left with in the end, struct after, is kept with the graph. Whoever watches a pass sees
 * a real one.
 *
 * The first step of a shape runs op by op, because kernels are loaded when they are first launched.
 * A step that cannot be written down, for want of memory too, is computed as if there were no
 * graphs, and not tried again.
 */
#include "nn/exec/graph.h"

#include <string.h>

#include "nn/ops/tape.h"

enum { N_ENTRY = 16,             /* the last shapes; a graph takes about 1 MB of the device */
       N_KEY = 15 };

/* Where launches do not matter any more: an op then moves 4 times what a GPU moves in a launch's 3
 * us, 4 TB/s and 8 to 12 bytes per element assumed. Nothing is gained above it, and a graph of it
 * would take a smaller shape's place. */
static const int64_t most_reals = 4 << 20;

/* What a pass leaves with the host. */
struct after { cs_trace trace; int64_t top, peak, grad_peak; bool *touched; };

struct entry {
    uint64_t     key[N_KEY];
    uint64_t     used;           /* number of the pass, from 1; 0: an empty entry */
    bool         seen;           /* it has run op by op */
    bool         refused;
    cs_graph    *graph;          /* NULL: not yet */
    struct after after;
};

struct cs_graph_cache { uint64_t n_pass; struct entry entry[N_ENTRY]; };

/* All that ops are called with but for the contents of memory: sizes, addresses, numbers, and what
 * chooses between ops. */
static void key_of(const cs_session *s, const cs_uploaded *up, uint64_t *key)
{
    const cs_ctx *cx = &s->cx;
    const cs_params *ps = &s->model->ps;
    const uint64_t flags = (uint64_t)s->freeze_encoder | (uint64_t)cx->frozen << 1
                         | (uint64_t)cx->no_fused << 2 | (uint64_t)cx->no_mean << 3
                         | (uint64_t)(up->weight.p != NULL) << 4;
    uint64_t scale;

    memcpy(&scale, &up->scale, sizeof scale);
    const uint64_t all[N_KEY] = {
        (uint64_t)up->seg.rows, (uint64_t)up->seg.n, (uint64_t)up->seg.depth, (uint64_t)cx->keep,
        scale, flags, (uint64_t)cx->be->precision,
        (uintptr_t)cx->act, (uintptr_t)cx->act_grad, (uint64_t)cx->cap, (uint64_t)cx->grad_cap,
        (uintptr_t)cx->cached, (uint64_t)cx->cached_cap, (uintptr_t)ps->value, (uintptr_t)ps->grad
    };
    memcpy(key, all, sizeof all);
}

static void entry_clear(cs_backend *be, struct entry *e)
{
    if (e->graph)
        be->graphs.dealloc(be, e->graph);
    free(e->after.touched);
    memset(e, 0, sizeof *e);
}

/* The shape's entry, or that of the shape that was not used for longest. */
static struct entry *entry_of(cs_session *s, const cs_uploaded *up)
{
    uint64_t key[N_KEY];

    if (!s->graphs)
        s->graphs = cs_xcalloc(1, sizeof *s->graphs);
    struct entry *all = s->graphs->entry, *e = all;
    key_of(s, up, key);
    for (int i = 0; i < N_ENTRY && memcmp(e->key, key, sizeof key) != 0; i++)
        if (all[i].used < e->used || memcmp(all[i].key, key, sizeof key) == 0)
            e = &all[i];
    if (memcmp(e->key, key, sizeof key) != 0) {
        entry_clear(s->be, e);
        memcpy(e->key, key, sizeof key);
    }
    e->used = ++s->graphs->n_pass;
    return e;
}

static bool worth_it(const cs_session *s, const cs_uploaded *up)
{
    const cs_model *m = s->model;
    const int32_t width = m->width > m->in_width ? m->width : m->in_width;

    return s->be->graphs.begin && !s->cx.no_graph && !s->cx.watch && !s->cx.note
        && up->seg.rows * width <= most_reals;
}

static void compute(cs_session *s, const cs_uploaded *up)
{
    (void)cs_pass_compute(s, up);
    cs_backward(&s->cx);
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

/* Capture the pass; nothing is computed. */
static void capture(cs_session *s, const cs_uploaded *up, struct entry *e)
{
    cs_params *ps = &s->model->ps;

    e->after.touched = cs_xcalloc((size_t)ps->n + 1, sizeof *e->after.touched);
    swap_touched(ps, e->after.touched);
    s->be->graphs.begin(s->be);
    compute(s, up);
    e->graph = s->be->graphs.end(s->be);
    e->refused = !e->graph;
    swap_touched(ps, e->after.touched);
    e->after.trace = s->trace;
    e->after.top = s->cx.top;
    e->after.peak = s->cx.peak;
    e->after.grad_peak = s->cx.grad_peak;
}

static void launch(cs_session *s, const struct entry *e)
{
    const struct after *a = &e->after;
    cs_params *ps = &s->model->ps;

    s->be->graphs.launch(s->be, e->graph);
    s->trace = a->trace;
    s->cx.recording = false;
    s->cx.top = a->top;
    s->cx.peak = a->peak;
    s->cx.grad_peak = a->grad_peak;
    for (int32_t i = 0; i < ps->n; i++)
        ps->p[i].touched |= a->touched[i];
}

void cs_graph_train(cs_session *s, const cs_input *in)
{
    cs_uploaded up = cs_pass_begin(s, in, false);
    struct entry *e = worth_it(s, &up) ? entry_of(s, &up) : NULL;

    if (e && e->seen && !e->refused && !e->graph) {
        capture(s, &up, e);
        if (e->refused)
            up = cs_pass_begin(s, in, false);
    }
    if (e && e->graph) {
        launch(s, e);
        return;
    }
    compute(s, &up);
    if (e) {
        e->seen = true;
        e->refused |= s->cx.n_random > 0;
    }
}

void cs_graphs_release(cs_session *s)
{
    for (int i = 0; s->graphs && i < N_ENTRY; i++)
        entry_clear(s->be, &s->graphs->entry[i]);
    free(s->graphs);
    s->graphs = NULL;
}

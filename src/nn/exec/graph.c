/*
 * graph.c - training passes; repeated shapes run as device graphs.
 *
 * DESIGN
 * A step of a small batch has some hundred ops that run faster than the host launches them: a
 * launch takes 2 to 4 us, in which a GPU moves some 10 MB. If the backend has graphs (backend.h),
 * the second step of a shape is therefore captured, and later steps are one launch. Inputs are
 * uploaded before (upload.c); arguments of ops are fixed in the graph, so the shape includes all
 * that they depend on: see key_of().
 *
 * Besides memory contents, two things change between steps. Keys of random masks: a pass with
 * dropout is not captured. With class weights, the sum of a step's weights, which divides the loss:
 * it is part of the shape, so few steps reuse a graph. All other decisions of the host within a
 * pass depend on the shape: recomputed and stored parts (tape.c, blocks.c, reversible.c), adjoint
 * ops, updates of running statistics (on the device; the loop combines them after the step). A
 * training step recomputes everything outside of the arena (cs_cached()), except values that the
 * shape's first step cached permanently. The final state of the host, struct after, is stored with
 * the graph. Passes with hooks are never replayed.
 *
 * The first step of a shape runs op by op, because kernels are loaded at their first launch. If
 * capture fails, also for lack of memory, the step runs without a graph, and capture is not tried
 * again.
 */
#include "nn/exec/graph.h"

#include <string.h>

enum { N_ENTRY = 16,             /* the last shapes; a graph takes about 1 MB of the device */
       N_KEY = 15 };

/* Size above which launches do not matter: an op then moves 4 times the bytes of a launch's 3 us,
 * assuming 4 TB/s and 8 to 12 bytes per element. Larger shapes gain nothing, and would evict a
 * smaller shape's graph. */
static const int64_t most_reals = 4 << 20;

/* The host's state after a pass. */
struct after { cs_trace trace; int64_t top, peak, grad_peak; bool *touched; };

struct entry {
    uint64_t     key[N_KEY];
    uint64_t     used;           /* number of the pass, from 1; 0: an empty entry */
    bool         seen;           /* has run op by op */
    bool         refused;
    cs_graph    *graph;          /* NULL: not yet */
    struct after after;
};

struct cs_graph_cache { uint64_t n_pass; struct entry entry[N_ENTRY]; };

/* All arguments of ops except memory contents: sizes, addresses, numbers, and switches between
 * ops. */
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

/* The shape's entry, or the least recently used one. */
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

    return s->be->graphs.begin && !s->cx.no_graph && !s->cx.block_hook && !s->cx.value_hook
        && up->seg.rows * width <= most_reals;
}

static void compute(cs_session *s, const cs_uploaded *up)
{
    (void)cs_pass_compute(s, up);
    cs_backward(&s->cx);
}

/* Swap the parameters' marks with the stored ones, to see which the pass alone touches. */
static void swap_touched(cs_params *ps, bool *saved)
{
    for (int32_t i = 0; i < ps->n; i++) {
        const bool was = ps->p[i].touched;
        ps->p[i].touched = saved[i];
        saved[i] = was;
    }
}

/* Capture the pass; nothing is computed. */
static void capture(cs_session *s, const cs_uploaded *up, struct entry *e)
{
    cs_params *ps = &s->model->ps;

    e->refused = !s->be->graphs.begin(s->be);
    if (e->refused)
        return;
    e->after.touched = cs_xcalloc((size_t)ps->n + 1, sizeof *e->after.touched);
    swap_touched(ps, e->after.touched);
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

void cs_graph_train(cs_session *s, const cs_pass_input *in)
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

/* window_hmm.c - segment a sequence by class with a per-sequence model: windows and an HMM.
 *
 * DESIGN. Windows are records of the stream, not views of one record: a chromosome's windows are
 * then spread over chunks, which bounds memory and lets the stages run side by side. The record
 * is kept whole only while it is cut.
 */
#include "infer/window_hmm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/views.h"

/* Share of a window's probability that is spread evenly over the classes, so that one window
 * cannot outweigh all others. */
#define EVEN 0.001

/* Place of a window in its record: native[0] of the window, in its chunk. */
struct window { int64_t no, n, n_base; };

/* ---- windows --------------------------------------------------------------------------------- */

static int window_hmm_no_memory(const cs_record *r)
{
    return cs_fail(CS_EMEM, "out of memory for a window of record '%s'", cs_record_name(r));
}

static int next_record(cs_window_hmm *g)
{
    int rc = CS_OK;

    cs_chunk_free(g->whole);
    g->whole = cs_chunk_new(0);
    if (!g->whole)
        return cs_fail(CS_EMEM, "out of memory for a record of the input");
    g->from = g->in ? cs_inputs_tell(g->in) : 0;
    CS_TRY(g->next(g->source, g->whole));
    g->to = g->in ? cs_inputs_tell(g->in) : 0;
    const int64_t n_base = g->whole->rec[0].seg[0].n_base;
    g->at = 0;
    g->n_at = cs_policy_n_window(g->policy, n_base);
    g->longest = n_base > g->longest ? n_base : g->longest;
out:
    return rc;
}

static int append_window(cs_window_hmm *g, cs_chunk *c)
{
    const cs_record *of = &g->whole->rec[0];
    int64_t start, n_base;

    cs_policy_window(g->policy, of->seg[0].n_base, g->at, &start, &n_base);
    struct window *w = cs_arena_alloc(c->mem, 1, sizeof *w);
    char *base = cs_arena_alloc(c->mem, (size_t)n_base + 1, 1);
    const char *name = cs_arena_dup(c->mem, of->name, strlen(of->name));
    cs_record *r = cs_chunk_append(c);
    if (!w || !base || !name || !r)
        return window_hmm_no_memory(of);
    memcpy(base, of->seg[0].base + start, (size_t)n_base);
    *w = (struct window){ g->at++, g->n_at, of->seg[0].n_base };
    r->serial = of->serial;
    r->name = name;
    r->seg[0] = (cs_segment){ base, NULL, n_base };
    r->n_whole = of->seg[0].n_base;
    r->native[0] = w;
    c->n_base += n_base;
    return CS_OK;
}

int cs_window_hmm_next(void *source, cs_chunk *c)
{
    cs_window_hmm *g = source;
    int rc = CS_OK;

    if (!g->whole || g->at == g->n_at)
        CS_TRY(next_record(g));
    CS_TRY(append_window(g, c));
    c->input_bytes = g->from + (int64_t)((double)(g->to - g->from) * (double)g->at
                                         / (double)g->n_at);
out:
    return rc;
}

/* ---- a record's parts ------------------------------------------------------------------------ */

/* Where part i begins: exact, as windows begin and end at whole bases. */
static double edge(const cs_policy *p, const struct window *w, int64_t i)
{
    int64_t start[2], length[2];

    if (i == 0 || i == w->n)
        return i == 0 ? 0 : (double)w->n_base;
    for (int k = 0; k < 2; k++)
        cs_policy_window(p, w->n_base, i - 1 + k, &start[k], &length[k]);
    return ((double)(2 * start[0] + length[0]) + (double)(2 * start[1] + length[1])) / 4;
}

/* To whole bases, mirrored in the second half. */
static int64_t whole_base(double x, int64_t n_base)
{
    return 2 * x <= (double)n_base ? (int64_t)floor(x)
                                   : n_base - (int64_t)floor((double)n_base - x);
}

static int window_hmm_reserve(cs_window_hmm *g, const struct window *w, int32_t n_class)
{
    const size_t n = (size_t)(g->n + 1) * (size_t)n_class;

    if (cs_grow((void **)&g->factor, &g->n_factor, (size_t)n_class, sizeof *g->factor) != CS_OK ||
        cs_grow((void **)&g->evidence, &g->n_evidence, n, sizeof *g->evidence) != CS_OK ||
        cs_grow((void **)&g->forward, &g->n_forward, n, sizeof *g->forward) != CS_OK ||
        cs_grow((void **)&g->v, &g->n_v, n, sizeof *g->v) != CS_OK ||
        cs_grow((void **)&g->cell, &g->n_cell, (size_t)w->n + 1, sizeof *g->cell) != CS_OK)
        return CS_EMEM;
    return CS_OK;
}

/* Equal shares make factors of exactly 1. */
static void set_factors(cs_window_hmm *g, int32_t n_class)
{
    double sum = 0;

    for (int32_t c = 0; c < n_class; c++)
        sum += g->prior ? exp(g->prior[c]) : 1;
    for (int32_t c = 0; c < n_class; c++)
        g->factor[c] = (g->prior ? exp(g->prior[c]) : 1) * n_class / sum;
}

/* A window's evidence, as factors relative to the largest. */
static void set_evidence(cs_window_hmm *g, const cs_record *r, const cs_prediction *a,
                         int32_t n_class)
{
    const struct window *w = r->native[0];
    double *e = g->evidence + g->n * n_class, max = 0;
    const double from = edge(g->policy, w, g->n), to = edge(g->policy, w, g->n + 1);
    const double share = (to - from) / (double)r->seg[0].n_base;

    g->cell[g->n] = whole_base(from, w->n_base);
    g->cell[g->n + 1] = whole_base(to, w->n_base);
    for (int32_t c = 0; c < n_class; c++) {
        e[c] = a->reason ? 1 : (1 - EVEN) * (double)a->v[c] + EVEN / n_class;
        max = fmax(max, e[c]);
    }
    for (int32_t c = 0; c < n_class; c++)
        e[c] = pow(e[c] / max, share);
}

/* Multiply p by the evidence of a part, and take one step to the next part. */
static void step(double *p, const double *evidence, const double *factor, int32_t n_class,
                 double change)
{
    double sum = 0;

    for (int32_t c = 0; c < n_class; c++) {
        p[c] *= evidence[c];
        sum += p[c];
    }
    for (int32_t c = 0; c < n_class; c++)
        p[c] = (1 - change) * (p[c] / sum) + change * factor[c];
    sum = 0;
    for (int32_t c = 0; c < n_class; c++)
        sum += p[c];
    for (int32_t c = 0; c < n_class; c++)
        p[c] /= sum;
}

/* Of class c with both messages and the evidence of a part; 0 with the share 0. */
static double joint(const cs_window_hmm *g, const double *before, const double *after,
                    const double *evidence, int32_t c)
{
    return g->factor[c] > 0 ? before[c] * after[c] * evidence[c] / g->factor[c] : 0;
}

/* Probabilities of every part's class. The messages of both directions are made in the same way and
 * multiplied, so that reversing the windows exchanges two factors. Both contain a class's share,
 * so it is divided out once. */
static void decode(cs_window_hmm *g, int32_t n_class)
{
    const double change = exp(-g->penalty);
    const size_t bytes = (size_t)n_class * sizeof *g->forward;
    double *after = g->forward + g->n * n_class;   /* window_hmm_reserve() has space for one more */

    for (int32_t c = 0; c < n_class; c++)
        g->forward[c] = after[c] = 1.0 / n_class * g->factor[c];
    for (int64_t i = 0; i + 1 < g->n; i++) {
        double *p = g->forward + (i + 1) * n_class;
        memcpy(p, g->forward + i * n_class, bytes);
        step(p, g->evidence + i * n_class, g->factor, n_class, change);
    }
    for (int64_t i = g->n - 1; i >= 0; i--) {
        const double *b = g->forward + i * n_class, *e = g->evidence + i * n_class;
        double sum = 0;
        for (int32_t c = 0; c < n_class; c++)
            sum += joint(g, b, after, e, c);
        for (int32_t c = 0; c < n_class; c++)
            g->v[i * n_class + c] = (float)(joint(g, b, after, e, c) / sum);
        step(after, e, g->factor, n_class, change);
    }
}

int cs_window_hmm_add(cs_window_hmm *g, const cs_record *window, const cs_prediction *a,
                      cs_prediction *whole)
{
    const struct window *w = window->native[0];
    const int32_t n_class = g->policy->model->n_label;
    int rc = CS_OK;

    *whole = (cs_prediction){ .n_window = { 0 } };
    if (w->no == 0) {
        g->n = 0;
        g->reason = a->reason;
        g->has_prediction = false;
    }
    CS_TRY(window_hmm_reserve(g, w, n_class));
    if (w->no == 0)
        set_factors(g, n_class);
    set_evidence(g, window, a, n_class);
    g->has_prediction = g->has_prediction || !a->reason;
    g->n++;
    if (g->n < w->n)
        return CS_OK;
    CS_TRY(window_hmm_reserve(g, w, n_class));
    decode(g, n_class);
    g->n_record++;
    g->n_base += (uint64_t)w->n_base;
    *whole = (cs_prediction){ .v = g->v, .n = g->n * n_class, .n_window = { (int32_t)g->n },
                              .reason = g->has_prediction ? CS_REASON_NONE : g->reason };
out:
    return rc;
}

void cs_window_hmm_release(cs_window_hmm *g)
{
    cs_chunk_free(g->whole);
    CS_FREE(g->factor, g->evidence, g->forward, g->v, g->cell);
}

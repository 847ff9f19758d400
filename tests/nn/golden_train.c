/* golden_train.c - twenty optimiser steps: losses, learning rates, parameters. */
#include <math.h>
#include <string.h>

#include "golden.h"
#include "train/optim.h"

#ifdef CS_DOUBLE
#define TOL_PARAM 1e-9           /* of the largest value */
#else
#define TOL_PARAM 2e-4           /* absolute */
#endif

enum { MAX_BATCHES = 16 };

/* A training run as the config describes it. */
struct run {
    golden           *g;
    const golden_run *what;
    cs_adam           adam;
    cs_schedule       schedule;
    bool              has_schedule, keeps;
    double           *before, *after, *lr;   /* [steps] */
};

static int read_optimizer(struct run *r)
{
    const json_t *c = r->g->config, *betas = json_object_get(c, "betas"),
                 *s = json_object_get(c, "schedule");
    const char *name = golden_text(c, "optimizer");

    if (strcmp(name, "Adam") != 0 && strcmp(name, "AdamW") != 0)
        return cs_fail(CS_EUSAGE, "unknown optimizer '%s'", name);
    r->adam = (cs_adam){ .lr = golden_number(c, "lr", 0), .beta1 = 0.9, .beta2 = 0.999,
                         .eps = golden_number(c, "eps", 1e-8), .grad_scale = 1,
                         .decay = golden_number(c, "weight_decay", 0),
                         .decoupled = strcmp(name, "AdamW") == 0 };
    if (json_array_size(betas) == 2) {
        r->adam.beta1 = json_number_value(json_array_get(betas, 0));
        r->adam.beta2 = json_number_value(json_array_get(betas, 1));
    }
    r->keeps = !json_is_true(json_object_get(c, "zero_grad_set_to_none"));
    r->has_schedule = json_is_object(s);
    return r->has_schedule
           ? golden_read_schedule(golden_text(s, "name"), s, r->adam.lr, &r->schedule) : CS_OK;
}

/* The loss of the same batch with the new parameters; buffers and gradients stay as they were. */
static int loss_after(struct run *r, int64_t batch, double *loss)
{
    cs_params *ps = r->what->ps;
    cs_real *raw = cs_xmalloc((size_t)ps->n_real * sizeof *raw);

    r->g->be->op.download(r->g->be, raw, ps->value, (size_t)ps->n_real * sizeof *raw);
    int rc = r->what->train(r->what->self, batch, loss);
    r->g->be->op.upload(r->g->be, ps->value, raw, (size_t)ps->n_real * sizeof *raw);
    for (int32_t i = 0; i < ps->n; i++)
        ps->p[i].touched = false;
    free(raw);
    return rc;
}

static int step(struct run *r, int64_t t, int64_t batch)
{
    int rc = CS_OK;
    cs_adam h = r->adam;

    h.lr *= r->has_schedule ? cs_schedule_factor(&r->schedule, t) : 1;
    r->lr[t] = h.lr;
    cs_optim_zero_grad(r->what->ps);
    CS_TRY(r->what->train(r->what->self, batch, &r->before[t]));
    cs_optim_step(r->what->ps, h, r->keeps);
    CS_TRY(loss_after(r, batch, &r->after[t]));
out:
    return rc;
}

/* In double relative to the largest value, in float absolute. */
static void compare_params(const struct run *run, const char *prefix)
{
    golden *g = run->g;
    const cs_params *ps = run->what->ps;
    const cs_tensor *t;
    size_t n = strlen(prefix);
#ifndef CS_DOUBLE
    /* A parameter whose gradient is rounding noise moves by up to lr per step, and running means
     * that depend on it move as well. */
    bool walks = json_array_size(json_object_get(g->config, "zero_grad_params")) > 0;
    double walk = walks ? golden_number(g->config, "steps", 0) * run->adam.lr : TOL_PARAM;
#endif

    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++) {
        bool wanted = strncmp(t->name, prefix, n) == 0;
        int k = wanted ? run->what->find(run->what->self, t->name + n) : -1;
        if (k < 0 || ps->p[k].n != t->n)
            continue;
        double *v = golden_fetch(g, cs_value(ps, k)), tol = TOL_PARAM;
#ifndef CS_DOUBLE
        double max_abs = golden_largest(t), limit = strstr(prefix, "buffer") ? walk : TOL_PARAM;
        tol = max_abs > 0 ? limit / max_abs : limit;
#endif
        if (golden_has(g->config, "zero_grad_params", t->name + n))
            tol = INFINITY;      /* moved by noise alone */
        golden_compare(g, t, v, tol, 0);
        free(v);
    }
}

static int train(struct run *r, int64_t n_step)
{
    int rc = CS_OK;
    const json_t *order = json_object_get(r->g->config, "batch_order");

    for (int64_t t = 0; t < n_step; t++) {
        int64_t i = json_integer_value(json_array_get(order, (size_t)t));
        CS_TRY(step(r, t, i));
        if (t == 0)
            compare_params(r, "after_step1.");
    }
    compare_params(r, "final.");
    compare_params(r, "final_buffer.");
out:
    return rc;
}

static void compare_series(golden *g, const char *name, const double *v, int64_t n, double tol)
{
    const cs_tensor *t = golden_find(g, "output.%s", name);
    if (t && t->n == n)
        golden_compare(g, t, v, tol, 0);
}

int golden_steps(golden *g, const golden_run *what)
{
    int rc = CS_OK;
    int64_t n = (int64_t)golden_number(g->config, "steps", 0);
    struct run r = { .g = g, .what = what };

    r.before = cs_xcalloc((size_t)n + 1, sizeof *r.before);
    r.after = cs_xcalloc((size_t)n + 1, sizeof *r.after);
    r.lr = cs_xcalloc((size_t)n + 1, sizeof *r.lr);
    CS_TRY(read_optimizer(&r));
    CS_TRY(train(&r, n));
    compare_series(g, "loss_before", r.before, n, TOL_LOSS);
    compare_series(g, "loss_after", r.after, n, TOL_LOSS);
    compare_series(g, "lr", r.lr, n, 1e-9);
out:
    free(r.before);
    free(r.after);
    free(r.lr);
    return rc;
}

/* ---- a ChordMixer ------------------------------------------------------------------------ */

struct chordmixer { golden *g; cs_model *m; cs_session *s; cs_batch *batch[MAX_BATCHES]; };

static int chordmixer_find(const void *self, const char *torch)
{
    return golden_param(((const struct chordmixer *)self)->m, torch);
}

static int chordmixer_train(void *self, int64_t i, double *loss)
{
    int rc = CS_OK;
    struct chordmixer *c = self;
    cs_step_opt l = { 0 };

    if (i < 0 || i >= MAX_BATCHES || !c->batch[i])
        return cs_fail(CS_EFORMAT, "a step has no batch %lld", (long long)i);
    CS_TRY(golden_scale(c->g, c->m, c->batch[i], &l.scale));
    CS_TRY(cs_session_forward_backward(c->s, c->batch[i], &l, loss, NULL));
out:
    return rc;
}

int golden_train(golden *g)
{
    int rc = CS_OK;
    struct chordmixer c = { .g = g };
    char prefix[32];

    CS_TRY(golden_model_new(g, true, &c.m));
    CS_TRY(golden_load(g, c.m));
    c.s = golden_session(g, c.m);
    for (int i = 0; i < MAX_BATCHES && golden_find(g, "input.batch%d.target", i); i++) {
        snprintf(prefix, sizeof prefix, "batch%d.", i);
        CS_TRY(golden_batch(g, c.m, prefix, &c.batch[i]));
    }
    CS_TRY(golden_steps(g, &(golden_run){ &c.m->ps, chordmixer_find, chordmixer_train, &c }));
out:
    for (int i = 0; i < MAX_BATCHES; i++)
        cs_batch_free(c.batch[i]);
    cs_session_free(c.s);
    cs_model_free(c.m);
    return rc;
}

/* golden_train.c - twenty optimiser steps: losses, learning rates, parameters. */
#include <math.h>
#include <string.h>

#include "golden.h"
#include "train/optim.h"
#include "train/schedule.h"

#ifdef CS_DOUBLE
#define TOL_PARAM 1e-9           /* of the largest value */
#else
#define TOL_PARAM 2e-4           /* absolute */
#endif

enum { MAX_BATCHES = 16 };

/* A training run as the config describes it. */
struct run {
    golden     *g;
    cs_model   *m;
    cs_batch   *batch[MAX_BATCHES];
    cs_adam     adam;
    cs_schedule schedule;
    bool        has_schedule, keeps;
    double     *before, *after, *lr;         /* [steps] */
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
    if (!r->has_schedule)
        return CS_OK;
    if (strcmp(golden_text(s, "name"), "linear_warmup_cosine_decay") != 0)
        return cs_fail(CS_EUSAGE, "unknown schedule '%s'", golden_text(s, "name"));
    r->schedule = (cs_schedule){ .kind = CS_DECAY_COSINE, .cycles = golden_number(s, "cycles", 0.5),
                                 .warmup = (int64_t)golden_number(s, "warmup", 0),
                                 .total = (int64_t)golden_number(s, "total", 0) };
    return CS_OK;
}

/* The loss of the same batch with the new parameters; buffers and gradients stay as they were. */
static int loss_after(struct run *r, const cs_batch *b, const cs_learn *l, double *loss)
{
    cs_params *ps = &r->m->ps;
    cs_real *raw = cs_xmalloc((size_t)ps->n_real * sizeof *raw);

    r->g->be->op.download(r->g->be, raw, ps->value, (size_t)ps->n_real * sizeof *raw);
    int rc = cs_model_learn(r->m, b, l, loss, NULL);
    r->g->be->op.upload(r->g->be, ps->value, raw, (size_t)ps->n_real * sizeof *raw);
    for (int32_t i = 0; i < ps->n; i++)
        ps->p[i].touched = false;
    free(raw);
    return rc;
}

static int step(struct run *r, int64_t t, const cs_batch *b)
{
    int rc = CS_OK;
    cs_learn l = { 0 };
    cs_adam h = r->adam;

    CS_TRY(golden_scale(r->g, r->m, b, &l.scale));
    h.lr *= r->has_schedule ? cs_schedule_factor(&r->schedule, t) : 1;
    r->lr[t] = h.lr;
    cs_optim_zero_grad(&r->m->ps);
    CS_TRY(cs_model_learn(r->m, b, &l, &r->before[t], NULL));
    cs_optim_step(&r->m->ps, h, r->keeps);
    CS_TRY(loss_after(r, b, &l, &r->after[t]));
out:
    return rc;
}

/* In double relative to the largest value, in float absolute. */
static void compare_params(golden *g, const cs_model *m, const char *prefix)
{
    const cs_tensor *t;
    size_t n = strlen(prefix);

    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++) {
        int k = strncmp(t->name, prefix, n) == 0 ? golden_param(m, t->name + n) : -1;
        if (k < 0 || m->ps.p[k].n != t->n)
            continue;
        double *v = golden_fetch(g, cs_value(&m->ps, k)), tol = TOL_PARAM;
#ifndef CS_DOUBLE
        double most = golden_largest(t);
        tol = most > 0 ? TOL_PARAM / most : TOL_PARAM;
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
        if (i < 0 || i >= MAX_BATCHES || !r->batch[i])
            return cs_fail(CS_EFORMAT, "step %lld has no batch", (long long)t);
        CS_TRY(step(r, t, r->batch[i]));
        if (t == 0)
            compare_params(r->g, r->m, "after_step1.");
    }
    compare_params(r->g, r->m, "final.");
    compare_params(r->g, r->m, "final_buffer.");
out:
    return rc;
}

static void compare_series(golden *g, const char *name, const double *v, int64_t n, double tol)
{
    const cs_tensor *t = golden_find(g, "output.%s", name);
    if (t && t->n == n)
        golden_compare(g, t, v, tol, 0);
}

int golden_train(golden *g)
{
    int rc = CS_OK;
    int64_t n = (int64_t)golden_number(g->config, "steps", 0);
    struct run r = { .g = g };
    char prefix[32];

    r.before = cs_xcalloc((size_t)n + 1, sizeof *r.before);
    r.after = cs_xcalloc((size_t)n + 1, sizeof *r.after);
    r.lr = cs_xcalloc((size_t)n + 1, sizeof *r.lr);
    CS_TRY(read_optimizer(&r));
    CS_TRY(golden_model_new(g, true, &r.m));
    CS_TRY(golden_load(g, r.m));
    for (int i = 0; i < MAX_BATCHES && golden_find(g, "input.batch%d.target", i); i++) {
        snprintf(prefix, sizeof prefix, "batch%d.", i);
        CS_TRY(golden_batch(g, r.m, prefix, &r.batch[i]));
    }
    CS_TRY(train(&r, n));
    compare_series(g, "loss_before", r.before, n, TOL_LOSS);
    compare_series(g, "loss_after", r.after, n, TOL_LOSS);
    compare_series(g, "lr", r.lr, n, 1e-9);
out:
    for (int i = 0; i < MAX_BATCHES; i++)
        cs_batch_free(r.batch[i]);
    cs_model_free(r.m);
    free(r.before);
    free(r.after);
    free(r.lr);
    return rc;
}

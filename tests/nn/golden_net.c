/* golden_net.c - passes, losses and comparisons of networks that the golden test composes. */
#include "golden_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/ops/ops.h"
#include "nn/ops/tape.h"

void golden_net_init(golden_net *n, golden *g)
{
    memset(n, 0, sizeof *n);
    n->g = g;
    snprintf(n->input, sizeof n->input, "input.");
    cs_params_init(&n->ps);
    cs_ctx_init(&n->cx, g->be, &n->ps);
}

void golden_net_release(golden_net *n)
{
    cs_ctx_release(&n->cx);
    cs_params_release(&n->ps);
}

/* ---- steps around an encoder --------------------------------------------------------------- */

const cs_tensor *golden_net_input(const golden_net *n, const char *name)
{
    return golden_find(n->g, "%s%s", n->input, name);
}

const cs_tensor *golden_net_given(const golden_net *n, const char *name)
{
    const cs_tensor *t = golden_find(n->g, "input.%s", name);
    return t ? t : golden_find(n->g, "input.batch0.%s", name);
}

/* Element (row, column) of a tensor [B, L, C], or [B, C, L]. */
static int64_t place(const cs_tensor *t, bool first, int64_t r, int32_t c, int32_t n_col)
{
    int64_t len = first ? t->shape.dim[t->shape.n_dim - 1] : 1;
    return first ? (r / len * n_col + c) * len + r % len : r * n_col + c;
}

cs_mat golden_net_stage(golden_net *n, const cs_tensor *t, bool first)
{
    int32_t c = (int32_t)t->shape.dim[first ? t->shape.n_dim - 2 : t->shape.n_dim - 1];
    cs_mat m = cs_empty(&n->cx, t->n / c, c);
    for (int64_t i = 0; !n->cx.dry && i < t->n; i++)
        m.p[i] = (cs_real)cs_tensor_get(t, place(t, first, i / c, (int32_t)(i % c), c));
    return m;
}

cs_mat golden_net_fill(golden_net *n, int64_t r, int32_t c, double value)
{
    cs_mat m = cs_empty(&n->cx, r, c);
    for (int64_t i = 0; !n->cx.dry && i < r * c; i++)
        m.p[i] = (cs_real)value;
    return m;
}

/* Ids live in the arena, because the backward pass reads them. */
cs_mat golden_net_embed(golden_net *n, const cs_tensor *ids, int table, int32_t pad)
{
    cs_mat w = cs_value(&n->ps, table), place_of = cs_empty(&n->cx, ids->n, 1);
    int32_t *id = (int32_t *)(void *)place_of.p;
    for (int64_t i = 0; !n->cx.dry && i < ids->n; i++)
        id[i] = (int32_t)cs_tensor_get(ids, i);
    cs_mat y = cs_empty(&n->cx, ids->n, w.c);
    cs_embed(&n->cx, id, pad, w, y);
    return y;
}

void golden_net_declare(golden_net *n, const char *name, int64_t n_out, int64_t n_in)
{
    cs_declare(&n->ps, cs_shape2(n_out, n_in), CS_INIT_ZERO, 1, "%s.weight", name);
    cs_declare(&n->ps, cs_shape1(n_out), CS_INIT_ZERO, 1, "%s.bias", name);
}

cs_mat golden_net_linear(golden_net *n, const char *name, cs_mat x)
{
    char full[64];
    snprintf(full, sizeof full, "%s.weight", name);
    cs_mat w = cs_value(&n->ps, cs_params_find(&n->ps, full));
    snprintf(full, sizeof full, "%s.bias", name);
    cs_mat b = cs_value(&n->ps, cs_params_find(&n->ps, full));
    cs_mat y = cs_empty(&n->cx, x.r, (int32_t)w.r);
    cs_affine(&n->cx, x, w, b, y);
    return y;
}

/* ---- comparisons ------------------------------------------------------------------------- */

static void compare_as(golden_net *n, const cs_tensor *t, cs_mat m, bool first, double tol,
                       double floor)
{
    if (!t)
        return;
    if (t->n != m.r * m.c) {
        golden_check(n->g, t->name, INFINITY, 1);
        return;
    }
    double *v = golden_fetch(n->g, m), *turned = cs_xmalloc((size_t)t->n * sizeof *turned + 1);
    for (int64_t i = 0; i < t->n; i++)
        turned[place(t, first, i / m.c, (int32_t)(i % m.c), m.c)] = v[i];
    golden_compare(n->g, t, turned, tol, floor);
    free(v);
    free(turned);
}

void golden_net_output(golden_net *n, const char *name, cs_mat m, bool first)
{
    if (n->compares && !n->cx.dry)
        compare_as(n, golden_find(n->g, "output.%s", name), m, first, TOL_OUTPUT, 0);
}

static int find(const golden_net *n, const char *torch)
{
    char ours[256];
    n->rename(torch, ours, sizeof ours);
    int k = cs_params_find(&n->ps, ours);
    return k >= 0 ? k : cs_params_find(&n->ps, torch);
}

static void compare_gradient(golden_net *n, const cs_tensor *t, int k, double largest)
{
    bool zero = golden_has(n->g->config, "zero_grad_params", t->name + 5);
    double *v = golden_fetch(n->g, cs_grad(&n->ps, k));
    golden_compare(n->g, t, v, zero ? TOL_ZERO : TOL_GRAD, zero ? largest : 1e-4 * largest);
    free(v);
}

/* Gradients of parameters and of the input, and buffers that training has moved. */
static void compare_trained(golden_net *n)
{
    static const char *const of_x[][2] = {
        { "grad.embedding_out", "grad.embedding_out_ref" },
        { "grad.embedding_out_2", "grad.embedding_out_alt" }
    };
    const cs_tensor *t;
    double largest = golden_largest_gradient(n->g);

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2 && n->x[i].r; k++)
            compare_as(n, golden_find(n->g, "%s", of_x[i][k]), cs_grad_of(&n->cx, n->x[i]),
                       n->x_first[i], TOL_GRAD, 1e-4 * largest);
    for (size_t i = 0; (t = cs_safetensors_at(n->g->file, i)) != NULL; i++) {
        bool grad = strncmp(t->name, "grad.", 5) == 0;
        bool after = strncmp(t->name, "buffer_after.", 13) == 0;
        int k = grad ? find(n, t->name + 5) : after ? find(n, t->name + 13) : -1;
        if (k >= 0 && n->ps.p[k].n == t->n && grad)
            compare_gradient(n, t, k, largest);
        if (k >= 0 && after)
            compare_as(n, t, cs_value(&n->ps, k), false, TOL_OUTPUT, 0);
    }
    const json_t *unused = json_object_get(n->g->config, "unused_params");
    for (size_t i = 0; i < json_array_size(unused); i++) {
        int k = find(n, json_string_value(json_array_get(unused, i)));
        golden_check(n->g, "unused_params", k >= 0 && n->ps.p[k].touched ? INFINITY : 0, 1);
    }
}

/* ---- losses ------------------------------------------------------------------------------ */

/* Rows of a matrix of raw predictions, their targets, and their loss. */
typedef struct outputs { const double *y; double *grad; int64_t r; int32_t c; } outputs;

static double ce_row(const outputs *a, int64_t r, int64_t target, double scale)
{
    const double *y = a->y + r * a->c;
    double max = y[0], sum = 0;
    for (int32_t j = 1; j < a->c; j++)
        max = fmax(max, y[j]);
    for (int32_t j = 0; j < a->c; j++)
        sum += exp(y[j] - max);
    for (int32_t j = 0; j < a->c; j++)
        a->grad[r * a->c + j] = scale * (exp(y[j] - max) / sum - (j == target));
    return scale * (log(sum) + max - y[target]);
}

/* A mask, or one that belongs to the last rows only. */
static bool is_masked(const cs_tensor *mask, const outputs *a, int64_t r)
{
    int64_t i = mask ? r - (a->r - mask->n) : 0;
    return mask && (i < 0 || cs_tensor_get(mask, i) == 0);
}

static double ce(const golden_net *n, const outputs *a, const char *kind)
{
    const cs_tensor *target = golden_net_input(n, "target"), *mask = golden_net_input(n, "mask");
    double count = 0, loss = 0;

    for (int64_t r = 0; r < a->r; r++)
        count += !is_masked(mask, a, r);
    double scale = strcmp(kind, "ce_sum") == 0 ? 1 : 1 / count;
    for (int64_t r = 0; r < a->r; r++)
        if (!is_masked(mask, a, r))
            loss += ce_row(a, r, (int64_t)cs_tensor_get(target, r - (a->r - target->n)), scale);
    return loss;
}

/* Of sigmoid(y), summed or averaged; log(1 + exp y) without overflow. */
static double bce(const golden_net *n, const outputs *a, const char *kind)
{
    const cs_tensor *target = golden_net_input(n, "target"), *mask = golden_net_input(n, "mask");
    double loss = 0, scale = strcmp(kind, "bce_logits") == 0 ? 1 / (double)(a->r * a->c) : 1;

    target = target ? target : golden_net_input(n, "x_target");
    for (int64_t i = 0; i < a->r * a->c; i++) {
        double t = cs_tensor_get(target, i), y = a->y[i];
        if (is_masked(mask, a, i / a->c))
            continue;
        loss += scale * (fmax(y, 0) + log1p(exp(-fabs(y))) - t * y);
        a->grad[i] = scale * (1 / (1 + exp(-y)) - t);
    }
    return loss;
}

static double mse(const golden_net *n, const outputs *a)
{
    const cs_tensor *target = golden_net_input(n, "target");
    double loss = 0;
    for (int64_t r = 0; r < a->r; r++) {
        double d = a->y[r * a->c] - cs_tensor_get(target, r);
        loss += d * d / (double)a->r;
        a->grad[r * a->c] = 2 * d / (double)a->r;
    }
    return loss;
}

static double mean_weighted(const golden_net *n, const outputs *a, bool first)
{
    const cs_tensor *w = golden_net_input(n, "loss_w");
    double loss = 0;
    for (int64_t i = 0; i < a->r * a->c; i++) {
        double v = cs_tensor_get(w, place(w, first, i / a->c, (int32_t)(i % a->c), a->c));
        loss += a->y[i] * v / (double)w->n;
        a->grad[i] = v / (double)w->n;
    }
    return loss;
}

static double loss_of(golden_net *n, const outputs *a, bool first)
{
    const char *kind = golden_text(n->g->config, "loss");
    if (strncmp(kind, "ce", 2) == 0)
        return ce(n, a, kind);
    if (strncmp(kind, "bce", 3) == 0)
        return bce(n, a, kind);
    if (strcmp(kind, "mse") == 0)
        return mse(n, a);
    return strcmp(kind, "mean_weighted") == 0 ? mean_weighted(n, a, first) : NAN;
}

void golden_net_loss(golden_net *n, cs_mat y, bool first)
{
    cs_mat grad = cs_empty(&n->cx, y.r, y.c);
    const cs_tensor *want = golden_find(n->g, "output.loss");

    if (!n->cx.dry) {
        outputs a = { golden_fetch(n->g, y), cs_xcalloc((size_t)(y.r * y.c), sizeof(double)), y.r,
                      y.c };
        n->loss = loss_of(n, &a, first);
        for (int64_t i = 0; i < y.r * y.c; i++)
            grad.p[i] = (cs_real)a.grad[i];
        free((void *)(uintptr_t)a.y);
        free(a.grad);
        if (want && n->compares)
            golden_compare(n->g, want, &n->loss, TOL_OUTPUT, 0);
    }
    cs_grad_seed(&n->cx, y, grad);
}

/* ---- passes ------------------------------------------------------------------------------ */

/* Source of the values: this file, or a file of tensors beside it or in $CS_SHARED. */
static int open_values(const golden_net *n, cs_safetensors **other)
{
    const char *named = golden_text(n->g->config, "params"), *base = strrchr(named, '/');
    const char *slash = strrchr(n->g->path, '/'), *shared = getenv("CS_SHARED");
    char path[1024];

    *other = NULL;
    if (*named == '\0')
        return CS_OK;
    snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash - n->g->path + 1) : 0, n->g->path,
             base ? base + 1 : named);
    if (access(path, R_OK) != 0 && shared && strncmp(named, "shared/", 7) == 0)
        snprintf(path, sizeof path, "%s/%s", shared, named + 7);
    return cs_safetensors_open(path, other);
}

static const char *value_name(const char *name, bool bare)
{
    if (bare)
        return name;
    return strncmp(name, "param.", 6) == 0 ? name + 6
         : strncmp(name, "buffer.", 7) == 0 ? name + 7 : NULL;
}

/* A checkpoint holds values only: stored values must equal the network's. */
static void compare_stored(golden_net *n, const cs_tensor *t, int k)
{
    double *v = golden_fetch(n->g, cs_value(&n->ps, k));
    golden_compare(n->g, t, v, TOL_OUTPUT, 0);
    free(v);
}

static int load(golden_net *n)
{
    int rc = CS_OK, n_loaded = 0;
    const cs_tensor *t;
    cs_safetensors *other = NULL;
    bool checkpoint = strcmp(golden_text(n->g->config, "kind"), "checkpoint") == 0;

    CS_TRY(open_values(n, &other));
    for (size_t i = 0; (t = cs_safetensors_at(other ? other : n->g->file, i)) != NULL; i++) {
        const char *name = value_name(t->name, other || checkpoint);
        if (!name || strstr(name, "num_batches_tracked"))
            continue;
        int k = find(n, name);
        if (k < 0 || n->ps.p[k].n != t->n) {
            rc = cs_fail(CS_EFORMAT, "the network has no place for '%s'", t->name);
            goto out;
        }
        for (int64_t j = 0; j < t->n; j++)
            n->ps.value[n->ps.p[k].off + j] = (cs_real)cs_tensor_get(t, j);
        n_loaded++;
        if (checkpoint)
            compare_stored(n, t, k);
    }
    if (n_loaded != n->ps.n)
        rc = cs_fail(CS_EFORMAT, "parameters are missing");
out:
    cs_safetensors_close(other);
    return rc;
}

static int pass(golden_net *n, bool training, bool compares)
{
    int rc = CS_OK;

    n->compares = compares;
    cs_ctx_begin(&n->cx, training, true, 0);
    n->pass(n);
    if (training)
        cs_backward(&n->cx);
    CS_TRY(cs_ctx_reserve(&n->cx, n->cx.peak, training ? n->cx.grad_peak : 0));
    cs_ctx_begin(&n->cx, training, false, 0);
    n->pass(n);
    if (training)
        cs_backward(&n->cx);
    if (!isfinite(n->loss))
        return cs_fail(CS_EUSAGE, "unknown loss '%s'", golden_text(n->g->config, "loss"));
out:
    return rc;
}

static int train(void *self, int64_t batch, double *loss)
{
    golden_net *n = self;
    snprintf(n->input, sizeof n->input, "input.batch%d.", (int)batch);
    int rc = pass(n, true, false);
    *loss = n->loss;
    return rc;
}

static int find_in(const void *self, const char *torch)
{
    return find(self, torch);
}

int golden_net_run(golden_net *n)
{
    int rc = CS_OK;
    bool eval = strcmp(golden_text(n->g->config, "mode"), "train") != 0;

    CS_TRY(cs_params_alloc(&n->ps, n->g->be, true));
    CS_TRY(load(n));
    if (!n->pass)
        return CS_OK;
    n->cx.frozen = eval;
    if (json_object_get(n->g->config, "optimizer"))
        return golden_steps(n->g, &(golden_run){ &n->ps, find_in, train, n });
    CS_TRY(pass(n, true, true));
    compare_trained(n);
    /* Once more by the path of predictions, with folded weights. */
    if (eval)
        CS_TRY(pass(n, false, true));
out:
    return rc;
}

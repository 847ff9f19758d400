/* golden_variant.c - the program's own model with a head for variants, on the files of CDIL for DNA
 * that compare two encoders: logits, loss, gradients. */
#include <math.h>
#include <string.h>

#include "golden.h"
#include "golden_net.h"
#include "registry.h"

/* Options as pairs of names and texts, ended by NULL. */
static void *options(const cs_opt *opt, size_t size, const char *const (*set)[2], int *rc)
{
    void *cfg = cs_xcalloc(1, size + 1);

    cs_opt_defaults((const cs_optset[]){ { opt, cfg, NULL }, { 0 } });
    for (; *rc == CS_OK && (*set)[0]; set++)
        *rc = cs_opt_set(opt, cfg, (*set)[0], (*set)[1]);
    return cfg;
}

static int new_model(golden *g, cs_model **out)
{
    int rc = CS_OK;
    static char any_name[] = "y";
    const json_t *args = json_object_get(g->config, "args");
    const int n_out = (int)golden_number(args, "output_size", 1);
    char layers[16], kernel[16], width[16], last[16];

    snprintf(layers, sizeof layers, "%d", (int)golden_number(args, "layers", 0));
    snprintf(kernel, sizeof kernel, "%d", (int)golden_number(args, "ks", 0));
    snprintf(width, sizeof width, "%d", (int)golden_number(args, "dim_out", 0));
    snprintf(last, sizeof last, "%d", (int)golden_number(args, "clf_dim", 0));
    const char *const enc_set[][2] = {
        { "channels", width }, { "layers", layers }, { "kernel", kernel }, { "input", "5" },
        { "norm", "batch" }, { "depth", "all" }, { NULL, NULL }
    };
    const char *const head_set[][2] = {
        { "predictor", "cdil" }, { "predictor-norm", "batch" }, { "predictor-layers", layers },
        { "predictor-kernel", kernel }, { "predictor-channels", last }, { NULL, NULL }
    };
    cs_label *label = cs_xcalloc((size_t)n_out, sizeof *label);
    cs_model_spec s = { .enc = cs_encoder_find("cdil"), .head = cs_head_find("variant"),
                        .n_channel = 5, .label = label, .n_label = n_out, .training = true };
    void *enc = options(s.enc->opt, s.enc->cfg_size, enc_set, &rc);
    void *head = options(s.head->opt, s.head->cfg_size, head_set, &rc);

    for (int i = 0; i < n_out; i++)
        label[i].name = any_name;
    s.enc_cfg = enc;
    s.head_cfg = head;
    if (rc == CS_OK)
        rc = cs_model_new(&s, g->be, out);
    free(enc);
    free(head);
    free(label);
    return rc;
}

/* The stack that follows the difference, and the linear layer, are the head's here. */
static int find(const cs_model *m, const char *torch)
{
    static const char decoder[] = "encoder.decoder.", linear[] = "classifier.linear.";
    char name[160], ours[200];

    golden_cdil_name(torch, name, sizeof name);
    if (strncmp(name, decoder, strlen(decoder)) == 0)
        snprintf(ours, sizeof ours, "head.predictor.%s", name + strlen(decoder));
    else if (strncmp(name, linear, strlen(linear)) == 0)
        snprintf(ours, sizeof ours, "head.%s", name + strlen(linear));
    else
        snprintf(ours, sizeof ours, "%s", name);
    return cs_params_find(&m->ps, ours);
}

/* All tensors but the embedding, which is the identity. */
static int load(golden *g, cs_model *m)
{
    const cs_tensor *t;
    int n_left = m->ps.n - 2;

    for (int32_t i = 0; i < 25; i++)
        m->ps.value[m->ps.p[m->embed_w].off + i] = i % 6 == 0;
    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++) {
        const bool param = strncmp(t->name, "param.", 6) == 0;
        if ((!param && strncmp(t->name, "buffer.", 7) != 0) || strstr(t->name, "num_batches"))
            continue;
        const int k = find(m, t->name + (param ? 6 : 7));
        if (k < 0 || m->ps.p[k].n != t->n)
            return cs_fail(CS_EFORMAT, "the model has no place for '%s'", t->name);
        for (int64_t j = 0; j < t->n; j++)
            m->ps.value[m->ps.p[k].off + j] = (cs_real)cs_tensor_get(t, j);
        n_left--;
    }
    return n_left == 0 ? CS_OK : cs_fail(CS_EFORMAT, "%d tensors are missing", n_left);
}

/* The files have channels before positions. */
static void append_x(const cs_tensor *t, int64_t r, float *to)
{
    const int64_t c = t->shape.dim[1], n = t->shape.dim[2];

    for (int64_t p = 0; p < n; p++)
        for (int64_t k = 0; k < c; k++)
            to[p * c + k] = (float)cs_tensor_get(t, (r * c + k) * n + p);
}

static int make_batch(golden *g, const cs_model *m, cs_batch **out)
{
    int rc = CS_OK;
    const cs_tensor *ref = golden_find(g, "input.x_ref"), *alt = golden_find(g, "input.x_alt"),
                    *tissue = golden_find(g, "input.tissue"),
                    *want = golden_find(g, "input.target");
    const int64_t n = ref->shape.dim[2];
    float *x = cs_xcalloc((size_t)(2 * n * 5), sizeof *x);
    float *target = cs_xcalloc((size_t)m->n_label, sizeof *target);

    *out = cs_batch_new(5, m->n_label);
    for (int64_t r = 0; rc == CS_OK && r < ref->shape.dim[0]; r++) {
        append_x(ref, r, x);
        append_x(alt, r, x + n * 5);
        for (int32_t k = 0; k < m->n_label; k++)
            target[k] = k == (int32_t)cs_tensor_get(tissue, r) ? (float)cs_tensor_get(want, r)
                                                                : NAN;
        rc = cs_batch_append(*out, NULL, x, 2 * n, target, (cs_slot){ 0 });
    }
    free(x);
    free(target);
    return rc;
}

static void compare_gradients(golden *g, const cs_model *m)
{
    const cs_tensor *t;
    const double largest = golden_largest_gradient(g);

    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++) {
        const int k = strncmp(t->name, "grad.", 5) == 0 ? find(m, t->name + 5) : -1;
        if (k < 0 || golden_has(g->config, "zero_grad_params", t->name + 5))
            continue;
        double *got = cs_xmalloc((size_t)t->n * sizeof *got);
        for (int64_t j = 0; j < t->n; j++)
            got[j] = (double)m->ps.grad[m->ps.p[k].off + j];
        golden_compare(g, t, got, TOL_GRAD, 1e-4 * largest);
        free(got);
    }
}

int golden_variant(golden *g)
{
    int rc = CS_OK;
    cs_model *m = NULL;
    cs_session *s = NULL;
    cs_batch *b = NULL;
    double loss;

    CS_TRY(new_model(g, &m));
    CS_TRY(load(g, m));
    s = golden_session(g, m);
    CS_TRY(make_batch(g, m, &b));
    const cs_step_opt l = { .scale = 1.0 / b->n_rec };
    memset(m->ps.grad, 0, (size_t)m->ps.n_real * sizeof *m->ps.grad);
    CS_TRY(cs_session_forward_backward(s, b, &l, &loss, NULL));
    double *y = golden_fetch(g, s->trace.y);
    golden_compare(g, golden_find(g, "output.tissue_logits"), y, TOL_OUTPUT, 0);
    free(y);
    golden_compare(g, golden_find(g, "output.loss"), &loss, TOL_LOSS, 1);
    compare_gradients(g, m);
out:
    cs_batch_free(b);
    cs_session_free(s);
    cs_model_free(m);
    return rc;
}

/* golden_sparse.c - PSF-Attn and Paramixer: encoders, and the classifiers of their authors. */
#include <string.h>

#include "batch/batch.h"
#include "golden_net.h"
#include "nn/ops/ops.h"
#include "registry.h"

struct sparse {
    golden_net        n;
    const cs_encoder *enc;
    void             *net;
    int64_t           len;
    int32_t           n_layer, n_factor;
    bool              is_paramixer;
};

/* "attention.1.fs.3.network.2.weight" is "encoder.layer.1.f.3.fc2.weight" here. */
static void rename_tensor(const char *torch, char *ours, size_t n_ours)
{
    const char *net = strstr(torch, ".network."), *p = torch;
    char layer[32] = "";
    int number, used = 0;

    if (strcmp(torch, "pos_embedding.weight") == 0 || strcmp(torch, "apc_embedding.weight") == 0)
        torch = "encoder.position.weight";
    snprintf(ours, n_ours, "%s", torch);
    if (!net)
        return;
    if (sscanf(p, "attention.%d.%n", &number, &used) == 1 && used) {
        snprintf(layer, sizeof layer, "layer.%d.", number);
        p += used;
    }
    if (strncmp(p, "fs.", 3) == 0)
        snprintf(ours, n_ours, "encoder.%sf%.*s.fc%d%s", layer, (int)(net - p - 2), p + 2,
                 net[9] == '0' ? 1 : 2, net + 10);
    else
        snprintf(ours, n_ours, "encoder.%sg.fc%d%s", layer, net[9] == '0' ? 1 : 2, net + 10);
}

/* ---- building ---------------------------------------------------------------------------- */

static int32_t count(const struct sparse *s, const char *fmt)
{
    int32_t k = 0;
    while (golden_find(s->n.g, fmt, (int)k))
        k++;
    return k;
}

static int64_t rows_of(const struct sparse *s, const char *name)
{
    const cs_tensor *t = golden_find(s->n.g, "%s", name);
    return t ? t->shape.dim[0] : 0;
}

static bool has_position(const struct sparse *s)
{
    static const char *const name[] = { "pos_embedding.weight", "apc_embedding.weight" };
    for (int i = 0; i < 2; i++)
        if (golden_find(s->n.g, "param.%s", name[i]))
            return !golden_has(s->n.g->config, "unused_params", name[i]);
    return false;
}

/* Options that follow from tensor shapes. */
static int build_encoder(struct sparse *s)
{
    int rc = CS_OK;
    const json_t *args = json_object_get(s->n.g->config, "args");
    const cs_opt *o = s->enc->opt;
    const char *at = s->is_paramixer ? "param.attention.0." : "param.";
    char name[64], text[32];
    void *cfg = cs_xcalloc(1, s->enc->cfg_size);
    /* By the length, to test that code path. */
    bool by_length = s->n_factor == cs_depth(s->len);
    struct { const char *name; int64_t value; } set[] = {
        { "max-len", s->len }, { "factors", by_length ? 0 : s->n_factor },
        { "layers", s->n_layer },
        { "input", (int64_t)golden_number(args, "embedding_size", 0) }, { "channels", 0 },
        { "hidden", 0 }, { "g-hidden", 0 }
    };

    snprintf(name, sizeof name, "%sg.network.2.weight", at);
    set[4].value = rows_of(s, name);
    snprintf(name, sizeof name, "%sg.network.0.weight", at);
    set[5].value = set[6].value = rows_of(s, name);
    snprintf(name, sizeof name, "%sfs.0.network.0.weight", at);
    if (s->n_factor > 0)                     /* one token has no factors */
        set[5].value = rows_of(s, name);
    cs_opt_defaults((const cs_optset[]){ { o, cfg, NULL }, { 0 } });
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) {
        snprintf(text, sizeof text, "%lld", (long long)set[i].value);
        if (cs_opt_find(o, set[i].name))
            CS_TRY(cs_opt_set(o, cfg, set[i].name, text));
    }
    if (has_position(s))
        CS_TRY(cs_opt_set(o, cfg, "position", "learned"));
    if (s->is_paramixer)
        CS_TRY(cs_opt_set(o, cfg, "protocol", strcmp(golden_text(args, "protocol"), "dil") == 0
                          ? "cdil" : "chord"));
    else if (!json_is_true(json_object_get(args, "use_residuals")))
        CS_TRY(cs_opt_set(o, cfg, "residual", "none"));
    CS_TRY(s->enc->check(cfg));
    s->net = s->enc->build(cfg, &s->n.ps);
out:
    free(cfg);
    return rc;
}

/* Embedding, first linear layer, head, and tables that the file has but does not use. */
static int build_rest(struct sparse *s)
{
    static const char *const names[] = {
        "embedding.weight", "pos_embedding.weight", "apc_embedding.weight", "init_linear.weight",
        "init_linear.bias", "final.weight", "final.bias", "final.0.weight", "final.0.bias",
        "final.2.weight", "final.2.bias"
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const cs_tensor *t = golden_find(s->n.g, "param.%s", names[i]);
        if (t && (i == 0 || i > 2 || !has_position(s)))
            cs_declare(&s->n.ps, t->shape, CS_INIT_ZERO, 1, "%s", names[i]);
    }
    return CS_OK;
}

/* ---- passes ------------------------------------------------------------------------------ */

static void note(void *arg, const char *what, int32_t layer, cs_mat m)
{
    static const char *const name[][2] = {
        { "X", "data" }, { "V0", "V0" }, { "W1", "W1" }, { "V1", "block1" }
    };
    struct sparse *s = arg;
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++)
        if (layer == 0 && strcmp(what, name[i][0]) == 0)
            golden_net_output(&s->n, name[i][1], m, false);
}

static void watch(void *arg, int32_t block, cs_mat y)
{
    struct sparse *s = arg;
    char name[32];
    snprintf(name, sizeof name, "layer%d", (int)block + 1);
    golden_net_output(&s->n, name, y, false);
}

/* The row of the embedding that gets no gradient (golden README, section 6); -1: none. Problems
 * with padding have it last but one; torch initialises it with zeros, but some classifiers draw all
 * rows again (init_embedding): those of imdb and, of PSF-Attn, listops. */
static int32_t padding(const struct sparse *s)
{
    const json_t *args = json_object_get(s->n.g->config, "args");
    const cs_tensor *t = golden_find(s->n.g, "param.embedding.weight");
    int64_t n_vocab = t->shape.dim[0], width = t->shape.dim[1], row = n_vocab - 2;
    const char *problem = golden_text(args, "problem");
    bool known = strcmp(problem, "imdb") == 0
                 || (!s->is_paramixer && strcmp(problem, "listops") == 0), zero = row >= 0;

    if (strcmp(golden_text(s->n.g->config, "kind"), "top") == 0)
        return (int32_t)n_vocab - 1;
    for (int64_t i = 0; zero && i < width; i++)
        zero = cs_tensor_get(t, row * width + i) == 0;
    return zero || known ? (int32_t)row : -1;
}

static cs_mat head(struct sparse *s, cs_seg seg, cs_mat v)
{
    golden_net *n = &s->n;
    int wide = cs_params_find(&n->ps, "final.0.weight"), plain = cs_params_find(&n->ps,
                                                                                "final.weight");
    cs_mat in = { v.p, seg.n, (int32_t)(s->len * v.c), (int32_t)(s->len * v.c) };

    CS_BUG(v.ld != v.c);
    if (cs_value(&n->ps, wide >= 0 ? wide : plain).c != in.c) {
        in = cs_empty(&n->cx, seg.n, v.c);
        cs_seg_window(&n->cx, seg, false, 1, v, in);
    }
    golden_net_output(n, "head_in", in, false);
    if (wide < 0)
        return golden_net_linear(n, "final", in);
    cs_mat pre = golden_net_linear(n, "final.0", in), h = cs_empty(&n->cx, pre.r, pre.c);
    cs_activate(&n->cx, CS_ACT_GELU, pre, h);
    return golden_net_linear(n, "final.2", h);
}

static void pass(golden_net *n)
{
    struct sparse *s = n->self;
    const cs_tensor *tokens = golden_net_input(n, "tokens"), *x = golden_net_input(n, "x");
    int64_t n_seg = (tokens ? tokens : x)->shape.dim[0];

    const cs_seg seg = { .off = golden_offsets(n->g, n_seg, s->len), .n = (int32_t)n_seg,
                         .rows = n_seg * s->len, .depth = cs_depth(s->len) };
    n->x[0] = tokens ? golden_net_embed(n, tokens, cs_params_find(&n->ps, "embedding.weight"),
                                        padding(s))
                     : golden_net_linear(n, "init_linear", golden_net_stage(n, x, false));
    cs_mat v = s->enc->forward(&n->cx, s->net, seg, n->x[0]);
    golden_net_output(n, "encoder", v, false);
    if (golden_find(n->g, "input.loss_w")) {
        golden_net_loss(n, v, false);
        return;
    }
    cs_mat y = head(s, seg, v);
    golden_net_output(n, "logits", y, false);
    golden_net_loss(n, y, false);
}

int golden_sparse(golden *g)
{
    int rc = CS_OK;
    bool is_paramixer = strcmp(golden_text(g->config, "arch"), "paramixer") == 0;
    struct sparse s = { .is_paramixer = is_paramixer,
                        .enc = cs_encoder_find(is_paramixer ? "paramixer" : "psf") };
    const cs_tensor *in;

    golden_net_init(&s.n, g);
    s.n.rename = rename_tensor;
    s.n.pass = pass;
    s.n.self = &s;
    s.n.cx.block_hook = watch;
    s.n.cx.value_hook = note;
    s.n.cx.block_hook_arg = s.n.cx.value_hook_arg = &s;
    in = golden_net_given(&s.n, "tokens");
    in = in ? in : golden_net_given(&s.n, "x");
    if (!in || in->shape.n_dim < 2) {
        rc = cs_fail(CS_EFORMAT, "no input");
        goto out;
    }
    s.len = in->shape.dim[1];
    s.n_layer = count(&s, "param.attention.%d.g.network.0.weight");
    s.n_factor = count(&s, is_paramixer ? "param.attention.0.fs.%d.network.0.weight"
                                        : "param.fs.%d.network.0.weight");
    CS_TRY(build_encoder(&s));
    CS_TRY(build_rest(&s));
    CS_TRY(golden_net_run(&s.n));
out:
    s.enc->release(s.net);
    golden_net_release(&s.n);
    return rc;
}

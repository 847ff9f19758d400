/* golden_subject.c - attention networks described by golden files, and their observed values. */
#include <math.h>
#include <string.h>

#include "golden_attn.h"
#include "registry.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const rename_rule linformer_rules[] = {
    { "net.layers.%d.0.fn.", "layers.%d.attn." },
    { "net.layers.%d.0.norm.", "layers.%d.norm1." },
    { "net.layers.%d.1.fn.", "layers.%d." },
    { "net.layers.%d.1.norm.", "layers.%d.norm2." },
    { "attn.%d.", "layers.%d.attn." },
    { "ff.%d.", "layers.%d." },
    { "norm1.%d.", "layers.%d.norm1." },
    { "norm2.%d.", "layers.%d.norm2." },
    { "pos_emb.weight", "position" },
    { "token_emb.weight", "embedding.weight" },
    { NULL, NULL }
};

static const rename_rule lowrank_rules[] = {
    { "L.%d.ln1.", "layers.%d.self_attn.layer_norm." },
    { "L.%d.ln2.", "layers.%d.pos_ffn.layer_norm." },
    { "L.%d.", "layers.%d." },
    { NULL, NULL }
};

static const rename_rule fkernel_rules[] = {
    { "attn.%d.", "layers.%d.attn." },
    { "ln1.%d.", "layers.%d.norm1." },
    { "ln2.%d.", "layers.%d.norm2." },
    { "w1.%d.", "layers.%d.w1." },
    { "w2.%d.", "layers.%d.w2." },
    { NULL, NULL }
};

static const rename_rule singularformer_rules[] = {
    { "transformerLayers.transformer%d.selfAttn.pseudoAttn.", "layers.%d.attn.pseudo." },
    { "transformerLayers.transformer%d.selfAttn.WQ.", "layers.%d.attn.q." },
    { "transformerLayers.transformer%d.selfAttn.WK.", "layers.%d.attn.k." },
    { "transformerLayers.transformer%d.selfAttn.WV.", "layers.%d.attn.v." },
    { "transformerLayers.transformer%d.selfAttn.WO.", "layers.%d.attn.o." },
    { "transformerLayers.transformer%d.ffn.Wffn.0.", "layers.%d.w1." },
    { "transformerLayers.transformer%d.ffn.Wffn.2.", "layers.%d.w2." },
    { "transformerLayers.transformer%d.ffn.layerNorm1.", "layers.%d.norm1." },
    { "transformerLayers.transformer%d.ffn.layerNorm2.", "layers.%d.norm2." },
    { "embedding.embedding.weight", "embedding.weight" },
    { "posEmb", "position" },
    { "fcLinear.0.", "fc." },
    { "fcLinear.1.", "norm." },
    { "fcLinear.4.", "out." },
    { NULL, NULL }
};

/* ---- encoders and their options -------------------------------------------------------------- */

/* A member of config.args and the option that it sets. */
typedef struct setting { const char *key, *option; } setting;

static int set_number(const cs_opt *opt, void *cfg, const char *name, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    return cs_opt_set(opt, cfg, name, text);
}

/* An encoder with the options that the settings give, and more: NAME, VALUE, ..., NULL. */
static int build(subject *s, const char *name, const setting *set, const char *const *more)
{
    int rc = CS_OK;
    const json_t *args = json_object_get(s->g->config, "args");
    const cs_encoder *enc = cs_encoder_find(name);
    void *cfg = cs_xcalloc(1, enc->cfg_size);

    s->enc = enc;
    cs_opt_defaults((const cs_optset[]){ { enc->opt, cfg, NULL }, { 0 } });
    for (; set->key; set++)
        if (json_is_number(json_object_get(args, set->key)))
            CS_TRY(set_number(enc->opt, cfg, set->option, golden_number(args, set->key, 0)));
    for (; more[0]; more += 2)
        if (more[1])
            CS_TRY(cs_opt_set(enc->opt, cfg, more[0], more[1]));
    CS_TRY(enc->check(cfg));
    s->net = enc->build(cfg, &s->ps);
out:
    free(cfg);
    return rc;
}

static int open_transformer(subject *s, const json_t *args, const char *kind)
{
    static const setting set[] = { { "d_model", "dim" }, { "nhead", "heads" },
                                   { "num_layers", "layers" }, { "dim_feedforward", "hidden" },
                                   { NULL, NULL } };
    const char *const more[] = { "position", "none", "act", golden_text(args, "activation"),
                                 "norm", json_is_true(json_object_get(args, "norm_first"))
                                             ? "pre" : "post", NULL };
    if (strcmp(kind, "encoder") != 0)
        return cs_fail(CS_EUSAGE, "unknown kind '%s'", kind);
    return build(s, "transformer", set, more);
}

static bool flag(const json_t *args, const char *name)
{
    return json_is_true(json_object_get(args, name));
}

static int open_linformer(subject *s, const json_t *args, const char *kind)
{
    static const setting set[] = { { "dim", "dim" }, { "heads", "heads" }, { "depth", "layers" },
                                   { "k", "k" }, { "seq_len", "max-len" },
                                   { "dim_head", "head" }, { NULL, NULL } };
    int32_t dim = (int32_t)golden_number(args, "dim", 0);
    char hidden[32];
    bool lm = strcmp(kind, "lm") == 0;
    const char *const more[] = { "position", lm ? "learned" : "none", "hidden", hidden,
                                 "values", flag(args, "share_kv") ? "keys" : "own",
                                 "kv-heads", flag(args, "one_kv_head") ? "one" : "all",
                                 "act", flag(args, "relu") ? "relu" : "gelu",
                                 "norm", strcmp(kind, "postln") == 0 ? "post" : "pre", NULL };
    int32_t n_token = (int32_t)golden_number(args, "num_tokens", 0);

    snprintf(hidden, sizeof hidden, "%d", 4 * dim);
    if (strcmp(kind, "attn") == 0) {
        const cs_linformer_cfg c = { .max_len = (int64_t)golden_number(args, "seq_len", 0),
                                     .dim = dim, .heads = (int64_t)golden_number(args, "heads", 0),
                                     .head = (int64_t)golden_number(args, "dim_head", 0),
                                     .n_key = (int64_t)golden_number(args, "k", 0),
                                     .share = flag(args, "share_kv"),
                                     .one = flag(args, "one_kv_head") };
        s->part.linformer = cs_linformer_declare(&s->ps, &c, 0, "encoder");
        s->sub = cs_linformer_apply;
        return CS_OK;
    }
    if (lm) {
        s->table = cs_declare(&s->ps, cs_shape2(n_token, dim), CS_INIT_ZERO, 1, "embedding.weight");
        s->logits = cs_proj_declare(&s->ps, dim, n_token, 0, true, "to_logits");
    } else if (strcmp(kind, "encoder") != 0 && strcmp(kind, "postln") != 0) {
        return cs_fail(CS_EUSAGE, "unknown kind '%s'", kind);
    }
    return build(s, "linformer", set, more);
}

/* Attention, or a feed-forward network, with its residual and norm, as the code has them. */
static int open_lowrank_part(subject *s, const json_t *args, bool mha)
{
    int32_t d = (int32_t)golden_number(args, "dim_model", 0);
    int32_t r = (int32_t)golden_number(args, "r", 0);
    int32_t n = (int32_t)golden_number(args, "num_heads", 1);
    int32_t dk = n * (int32_t)golden_number(args, "dim_key", 0);
    int32_t dv = n * (int32_t)golden_number(args, "dim_value", 0);
    int32_t h = (int32_t)golden_number(args, "dim_ff", 0);
    cs_params *ps = &s->ps;

    s->has_residual = true;
    s->sub = mha ? cs_mha_apply : cs_ffn_apply;
    if (mha)
        s->part.mha = (cs_mha){ .q = cs_proj_declare(ps, d, dk, r, true, "encoder.query_linear"),
                                .k = cs_proj_declare(ps, d, dk, r, true, "encoder.key_linear"),
                                .v = cs_proj_declare(ps, d, dv, r, true, "encoder.value_linear"),
                                .o = cs_proj_declare(ps, dv, d, r, true, "encoder.output_linear"),
                                .n_head = n, .n_value = dv, .scale = sqrt((double)n / dk) };
    else
        s->part.ffn = (cs_ffn){ .up = cs_proj_declare(ps, d, h, r, true, "encoder.linear_1"),
                                .down = cs_proj_declare(ps, h, d, r, true, "encoder.linear_2"),
                                .act = CS_ACT_RELU };
    s->wrap.norm = cs_norm_declare(ps, CS_NORM_LAYER, d, 1, "encoder.layer_norm");
    return CS_OK;
}

static int open_lowrank(subject *s, const json_t *args, const char *kind)
{
    static const setting code[] = { { "dim_input", "input" }, { "dim_model", "dim" },
                                    { "num_heads", "heads" }, { "dim_key", "key" },
                                    { "dim_value", "value" }, { "num_layers", "layers" },
                                    { "dim_inner", "hidden" }, { "r", "rank" },
                                    { "src_max_length", "max-len" }, { NULL, NULL } };
    static const setting paper[] = { { "d_model", "dim" }, { "heads", "heads" }, { "d_k", "key" },
                                     { "d_v", "value" }, { "layers", "layers" },
                                     { "d_inner", "hidden" }, { "rank", "rank" }, { NULL, NULL } };
    const char *const as_code[] = { "form", "code", "factor",
                                    flag(args, "is_factorized") ? "all" : "attention", NULL };
    const char *const as_paper[] = { "form", "paper", "position", "none", NULL };

    s->score_scale = 1 / sqrt(golden_number(args, "dim_key", 1));
    if (strcmp(kind, "mha") == 0 || strcmp(kind, "ffn") == 0)
        return open_lowrank_part(s, args, kind[0] == 'm');
    if (strcmp(kind, "paper") == 0)
        return build(s, "lowrank", paper, as_paper);
    if (strcmp(kind, "encoder") != 0)
        return cs_fail(CS_EUSAGE, "unknown kind '%s'", kind);
    return build(s, "lowrank", code, as_code);
}

static int open_fkernel(subject *s, const json_t *args, const char *kind)
{
    static const setting set[] = { { "d_model", "dim" }, { "heads", "heads" },
                                   { "layers", "layers" }, { "d_ff", "hidden" },
                                   { "n_units", "units" }, { "rank", "rank" }, { NULL, NULL } };
    const char *variant = golden_text(args, "variant");
    bool linear = strstr(variant, "linear") != NULL, low = strcmp(variant, "aoglu") == 0;
    const json_t *per_head = json_object_get(args, "per_head");
    bool shared = per_head && !json_is_true(per_head);
    bool counts = strstr(golden_text(s->g->config, "loss"), "orth_lambda") != NULL;
    double lambda = counts ? golden_number(s->g->config, "orth_lambda", 0) : 0;
    char ortho[64];
    const char *const more[] = { "position", "none", "ortho", ortho, "features",
                                 shared ? "shared" : "own",
                                 "kernel", linear ? "linear" : low ? "aglu" : "glu", NULL };

    snprintf(ortho, sizeof ortho, "%.17g", lambda);
    if (strcmp(kind, "attn") == 0) {
        const cs_fkernel_cfg c = { .dim = (int64_t)golden_number(args, "d_model", 0),
                                   .heads = (int64_t)golden_number(args, "heads", 0),
                                   .units = (int64_t)golden_number(args, "n_units", 1),
                                   .rank = low ? (int64_t)golden_number(args, "rank", 0) : 0,
                                   .gated = !linear, .shared = shared, .ortho = lambda };
        if (c.units > CS_FKERNEL_UNITS)
            return cs_fail(CS_EUSAGE, "%d units are more than %d", (int)c.units, CS_FKERNEL_UNITS);
        s->part.fkernel = cs_fkernel_declare(&s->ps, &c, 0, "encoder");
        s->sub = cs_fkernel_apply;
        return CS_OK;
    }
    if (strcmp(kind, "block") != 0)
        return cs_fail(CS_EUSAGE, "unknown kind '%s'", kind);
    return build(s, "fkernel", set, more);
}

static int open_singularformer(subject *s, const json_t *args, const char *kind)
{
    static const setting layers[] = { { "feaSize", "dim" }, { "dk", "head" },
                                      { "multiNum", "heads" }, { "layersNum", "layers" },
                                      { "r", "rank" }, { NULL, NULL } };
    static const setting classifier[] = { { "emb", "dim" }, { "A", "heads" }, { "L", "layers" },
                                          { "r", "rank" }, { "seqMaxLen", "max-len" },
                                          { NULL, NULL } };
    bool whole = strcmp(kind, "classifier") == 0;
    char hidden[32], gamma[64];
    const char *const more[] = { "hidden", hidden, "gamma", gamma,
                                 "position", whole ? "sinusoid" : "none", NULL };

    if (!whole && strcmp(kind, "layers") != 0)
        return cs_fail(CS_EUSAGE, "unknown kind '%s'", kind);
    if (whole)
        singular_declare(s, args);
    s->aux = whole ? golden_number(args, "gama", 0) : golden_number(s->g->config, "gama", 0);
    /* With a factor of 0 the encoder would not compute what the file has as add_loss. */
    s->aux = s->aux > 0 ? s->aux : 1e-30;
    snprintf(gamma, sizeof gamma, "%.17g", s->aux);
    snprintf(hidden, sizeof hidden, "%g", 4 * golden_number(args, whole ? "emb" : "feaSize", 0));
    return build(s, "singularformer", whole ? classifier : layers, more);
}

static const struct arch {
    const char *name;
    int (*open)(subject *s, const json_t *args, const char *kind);
    const rename_rule *rules;
} archs[] = {
    { "transformer", open_transformer, NULL },
    { "linformer", open_linformer, linformer_rules },
    { "lrt", open_lowrank, lowrank_rules },
    { "ff_kernel", open_fkernel, fkernel_rules },
    { "singularformer", open_singularformer, singularformer_rules },
};

static const struct arch *arch_of(const golden *g)
{
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++)
        if (strcmp(golden_text(g->config, "arch"), archs[i].name) == 0)
            return &archs[i];
    return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int64_t *steps(int64_t n, int64_t len)
{
    int64_t *off = cs_xcalloc((size_t)n + 1, sizeof *off);
    for (int64_t k = 0; k <= n; k++)
        off[k] = k * len;
    return off;
}

/* From a mask [B, L], whose ones come first, or from lengths [B]; NULL when all rows are valid. */
static int valid_rows(const cs_tensor *mask, const cs_tensor *lengths, int64_t n, int64_t len,
                      int64_t **out)
{
    int64_t *v = cs_xcalloc((size_t)n, sizeof *v);
    for (int64_t k = 0; k < n; k++) {
        v[k] = lengths ? (int64_t)cs_tensor_get(lengths, k) : 0;
        for (int64_t i = 0; mask && i < len; i++) {
            bool on = cs_tensor_get(mask, k * len + i) != 0;
            if (on && v[k] != i) {
                free(v);
                return cs_fail(CS_EUSAGE, "a mask with holes is not supported");
            }
            v[k] += on;
        }
    }
    *out = v;
    return CS_OK;
}

static int32_t depth_of(int64_t len)
{
    int32_t d = 0;
    while (INT64_C(1) << d < len)
        d++;
    return d;
}

static int set_rows(subject *s)
{
    int rc = CS_OK;
    golden *g = s->g;
    const cs_tensor *tok = golden_find(g, "input.tokens"), *x = golden_find(g, "input.x");
    const cs_tensor *z = golden_find(g, "input.x_kv"), *mask = golden_find(g, "input.mask");
    const cs_tensor *in = tok ? tok : x, *lengths = golden_find(g, "input.lengths");

    if (!in || in->shape.n_dim < 2)
        return cs_fail(CS_EFORMAT, "input.x is missing");
    int64_t n = in->shape.dim[0], len = in->shape.dim[1];
    s->off = steps(n, len);
    s->seg = (cs_seg){ golden_show(g, s->off, (size_t)(n + 1) * sizeof *s->off), (int32_t)n,
                       n * len, depth_of(len), NULL };
    if (s->has_residual && (z || mask)) {
        int64_t key_len = z ? z->shape.dim[1] : len;
        s->key_off = steps(n, key_len);
        s->key = (cs_seg){ golden_show(g, s->key_off, (size_t)(n + 1) * sizeof *s->key_off),
                           (int32_t)n, n * key_len, 0, NULL };
        if (mask)
            CS_TRY(valid_rows(mask, NULL, n, key_len, &s->key_valid));
        if (mask)
            s->key.n_valid = golden_show(g, s->key_valid, (size_t)n * sizeof *s->key_valid);
    } else if (mask || lengths) {
        CS_TRY(valid_rows(mask, lengths, n, len, &s->n_valid));
        s->seg.n_valid = golden_show(g, s->n_valid, (size_t)n * sizeof *s->n_valid);
    }
    s->tok = cs_xcalloc((size_t)(n * len), sizeof *s->tok);
    for (int64_t i = 0; tok && i < n * len; i++)
        s->tok[i] = (int32_t)cs_tensor_get(tok, i);
out:
    return rc;
}

int subject_open(subject *s, golden *g)
{
    const struct arch *a = arch_of(g);
    int rc = CS_OK;

    *s = (subject){ .g = g, .rules = a->rules, .table = -1 };
    cs_params_init(&s->ps);
    CS_TRY(a->open(s, json_object_get(g->config, "args"), golden_text(g->config, "kind")));
    CS_TRY(set_rows(s));
out:
    return rc;
}

void subject_close(subject *s)
{
    cs_ctx_release(&s->cx);
    cs_params_release(&s->ps);
    if (s->net)
        s->enc->release(s->net);
    free(s->off);
    free(s->n_valid);
    free(s->key_off);
    free(s->key_valid);
    free(s->tok);
}

/* ---- notes ----------------------------------------------------------------------------------- */

void compare_heads(subject *s, const char *name, cs_mat m, bool masked)
{
    const cs_tensor *want = golden_find(s->g, "output.%s", name);
    if (!want || want->n != m.r * m.c || want->shape.n_dim != 4)
        return;
    int64_t n_head = want->shape.dim[1], len = want->shape.dim[2], d = want->shape.dim[3];
    double *v = golden_fetch(s->g, m), *y = cs_xcalloc((size_t)want->n, sizeof *y);

    for (int64_t i = 0; i < want->n; i++) {
        int64_t c = i % d, t = i / d % len, h = i / d / len % n_head, b = i / d / len / n_head;
        if (!masked || !s->n_valid || t < s->n_valid[b])
            y[i] = v[(b * len + t) * m.c + h * d + c];
    }
    golden_compare(s->g, want, y, TOL_OUTPUT, 0);
    free(v);
    free(y);
}

/* Attention weights of one query and head, from observed q and k [B, H, Lq, Lk]. */
static void weights(const double *q, const double *k, int64_t ld, int32_t d, double scale,
                    int64_t n_valid, double *p)
{
    double sum = 0;
    for (int64_t j = 0; j < n_valid; j++) {
        double dot = 0;
        for (int32_t c = 0; c < d; c++)
            dot += q[c] * k[j * ld + c];
        p[j] = exp(scale * dot);
        sum += p[j];
    }
    for (int64_t j = 0; j < n_valid; j++)
        p[j] /= sum;
}

static void compare_weights(subject *s, const char *name, cs_mat q, cs_mat k)
{
    const cs_tensor *want = golden_find(s->g, "%s", name);
    if (!want || want->shape.n_dim != 4)
        return;
    int64_t n_head = want->shape.dim[1], nq = want->shape.dim[2], nk = want->shape.dim[3];
    int32_t d = (int32_t)(q.c / n_head);
    const int64_t *n_valid = s->key.n > 0 ? s->key_valid : s->n_valid;
    double *vq = golden_fetch(s->g, q), *vk = golden_fetch(s->g, k);
    double *p = cs_xcalloc((size_t)want->n, sizeof *p);

    for (int64_t i = 0; i < want->n / nk; i++) {
        int64_t t = i % nq, h = i / nq % n_head, b = i / nq / n_head;
        weights(vq + (b * nq + t) * q.c + h * d, vk + b * nk * k.c + h * d, k.c, d, s->score_scale,
                n_valid ? n_valid[b] : nk, p + i * nk);
    }
    golden_compare(s->g, want, p, TOL_OUTPUT, 0);
    free(vq);
    free(vk);
    free(p);
}

void subject_note(void *arg, const char *what, int32_t layer, cs_mat m)
{
    subject *s = arg;
    singular_note(s, what, layer, m);
    if (strcmp(what, "scores") == 0)
        s->scores = m;
    if (layer != 0)
        return;
    if (strcmp(what, "scores") == 0)
        compare_heads(s, "scores_1", m, false);
    if (strcmp(what, "attn") == 0) {
        double *v = golden_fetch(s->g, m);
        compare_fetched(s->g, "output.attn1", v);
        free(v);
    }
    compare_heads(s, what, m, strcmp(what, "phi_k") == 0);
    if (strcmp(what, "q") == 0)
        s->q = m;
    if (strcmp(what, "k") == 0) {
        compare_weights(s, "output.attention_1", s->q, m);
        compare_weights(s, "output.attention", s->q, m);
    }
}

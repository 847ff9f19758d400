/* golden_model.c - a ChordMixer, its parameters and its inputs as a file describes them. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "golden.h"
#include "registry.h"

/* ---- the model --------------------------------------------------------------------------- */

/* A tokenizer with a size only: golden files hold token ids. */
static int ids_open(const void *cfg, void **state)
{
    *state = cs_xmalloc(sizeof(int32_t));
    memcpy(*state, cfg, sizeof(int32_t));
    return CS_OK;
}

static int32_t ids_n_vocab(const void *state)
{
    return *(const int32_t *)state;
}

static const cs_tokenizer ids = {
    .name = "ids", .cfg_size = sizeof(int32_t), .open = ids_open,
    .n_vocab = ids_n_vocab, .close = free
};

static const char *norm_name(const char *torch)
{
    static const char *const names[][2] = {
        { "None", "none" }, { "LN", "layer" }, { "BN", "batch" }, { "GN", "group" }
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(torch, names[i][0]) == 0)
            return names[i][1];
    return torch;                /* which the option parser will refuse */
}

static int set_number(const cs_opt *opt, void *cfg, const char *name, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    return cs_opt_set(opt, cfg, name, text);
}

static int set_options(const json_t *args, const cs_encoder *enc, void *cfg)
{
    int rc = CS_OK;
    const cs_opt *o = enc->opt;
    bool var_len = json_is_true(json_object_get(args, "var_len"));

    cs_opt_defaults((const cs_optset[]){ { o, cfg, NULL }, { 0 } });
    CS_TRY(set_number(o, cfg, "max-len", golden_number(args, "max_seq_len", 0)));
    CS_TRY(set_number(o, cfg, "track", golden_number(args, "track_size", 0)));
    CS_TRY(set_number(o, cfg, "hidden", golden_number(args, "hidden_size", 0)));
    CS_TRY(set_number(o, cfg, "dropout", golden_number(args, "mlp_dropout", 0)));
    CS_TRY(cs_opt_set(o, cfg, "norm", norm_name(golden_text(args, "norm"))));
    CS_TRY(cs_opt_set(o, cfg, "prenorm", norm_name(golden_text(args, "prenorm"))));
    CS_TRY(cs_opt_set(o, cfg, "depth", var_len ? "own" : "all"));
out:
    return rc;
}

int golden_model_new(golden *g, bool training, cs_model **out)
{
    int rc = CS_OK;
    static char any_name[] = "y";
    const json_t *args = json_object_get(g->config, "args");
    const char *kind = golden_text(g->config, "kind");
    bool sparse = strcmp(golden_text(args, "embedding_type"), "sparse") == 0;
    bool is_class = strncmp(golden_text(g->config, "loss"), "ce", 2) == 0;
    int32_t n_in = (int32_t)golden_number(args, "input_size", 1);
    int32_t n_out = (int32_t)golden_number(args, "output_size", is_class ? 2 : 1);
    cs_label *label = cs_xcalloc((size_t)n_out + 1, sizeof *label);
    cs_model_spec s = { .enc = cs_encoder_find("chordmixer"),
                        .head = cs_head_find(is_class ? "class" : "regress"), .n_channel = n_in,
                        .tok = sparse ? &ids : NULL, .tok_cfg = &n_in, .label = label,
                        .n_label = n_out, .training = training };
    void *cfg = cs_xcalloc(1, s.enc->cfg_size), *head_cfg = cs_xcalloc(1, s.head->cfg_size + 1);

    *out = NULL;
    s.enc_cfg = cfg;
    s.head_cfg = head_cfg;
    if (s.head->opt)
        cs_opt_defaults((const cs_optset[]){ { s.head->opt, head_cfg, NULL }, { 0 } });
    for (int32_t i = 0; i < n_out; i++)
        label[i].name = any_name;
    if (strcmp(kind, "full") != 0 && strcmp(kind, "encoder") != 0 && strcmp(kind, "nodec") != 0) {
        rc = cs_fail(CS_EUSAGE, "unknown kind '%s'", kind);
        goto out;
    }
    CS_TRY(set_options(args, s.enc, cfg));
    CS_TRY(cs_model_new(&s, g->be, out));
out:
    free(cfg);
    free(head_cfg);
    free(label);
    return rc;
}

cs_session *golden_session(const golden *g, cs_model *m)
{
    cs_session *s = cs_session_new(m, g->be);

    s->cx.frozen = strcmp(golden_text(g->config, "mode"), "eval") == 0;
    return s;
}

/* "encoder.chordmixer_blocks.3.norm.bn.weight" is "encoder.block.3.norm.weight" here. */
int golden_param(const cs_model *m, const char *name)
{
    static const char *const drop[] = { "mix.", "bn.", "gn.", "ln." };
    static const char blocks[] = "chordmixer_blocks.";
    char ours[256];

    if (strncmp(name, "encoder.", 8) == 0)
        name += 8;
    if (strncmp(name, blocks, sizeof blocks - 1) == 0)
        snprintf(ours, sizeof ours, "encoder.block.%s", name + sizeof blocks - 1);
    else if (strncmp(name, "decoder.decoder.", 16) == 0)
        snprintf(ours, sizeof ours, "head.%s", name + 16);
    else
        snprintf(ours, sizeof ours, "%s", name);
    for (size_t i = 0; i < sizeof drop / sizeof drop[0]; i++) {
        size_t n = strlen(drop[i]);
        char dotted[16], *at;
        snprintf(dotted, sizeof dotted, ".%s", drop[i]);
        if ((at = strstr(ours, dotted)) != NULL)
            memmove(at + 1, at + 1 + n, strlen(at + 1 + n) + 1);
    }
    return cs_params_find(&m->ps, ours);
}

static void set_param(cs_model *m, int i, const double *v)
{
    const cs_param *p = &m->ps.p[i];
    cs_real *raw = cs_xmalloc((size_t)p->n * sizeof *raw);

    for (int64_t k = 0; k < p->n; k++)
        raw[k] = (cs_real)v[k];
    m->be->op.upload(m->be, m->ps.value + p->off, raw, (size_t)p->n * sizeof *raw);
    free(raw);
}

static int load_stored(golden *g, cs_model *m)
{
    const cs_tensor *t;
    int n_encoder = 0;

    for (size_t i = 0; (t = cs_safetensors_at(g->file, i)) != NULL; i++) {
        bool param = strncmp(t->name, "param.", 6) == 0;
        bool buffer = strncmp(t->name, "buffer.", 7) == 0;
        if ((!param && !buffer) || strstr(t->name, "num_batches_tracked"))
            continue;
        int k = golden_param(m, t->name + (param ? 6 : 7));
        if (k < 0 || m->ps.p[k].n != t->n)
            return cs_fail(CS_EFORMAT, "the model has no place for '%s'", t->name);
        double *v = cs_xmalloc((size_t)t->n * sizeof *v);
        for (int64_t j = 0; j < t->n; j++)
            v[j] = cs_tensor_get(t, j);
        set_param(m, k, v);
        free(v);
        n_encoder += strncmp(m->ps.p[k].name, "encoder.", 8) == 0;
    }
    for (int32_t i = 0; i < m->ps.n; i++)
        n_encoder -= strncmp(m->ps.p[i].name, "encoder.", 8) == 0;
    return n_encoder == 0 ? CS_OK : cs_fail(CS_EFORMAT, "parameters of the encoder are missing");
}

/* The stream that full-size parameters and tokens are made of (golden README, section 2). */
static uint64_t stream(uint64_t seed, uint64_t t, uint64_t i)
{
    return cs_rng_u64(seed * UINT64_C(0x9E3779B97F4A7C15) + (t << 40) + i, 0);
}

static int generate_param(golden *g, cs_model *m, size_t t, uint64_t seed)
{
    const cs_tensor *check = golden_find(g, "input.param_check");
    const json_t *order = json_object_get(g->config, "param_order");
    const char *name = json_string_value(json_array_get(order, t));
    double scale = json_number_value(json_array_get(json_object_get(g->config, "param_scales"), t));
    double sum = 0, sumsq = 0;
    int i = golden_param(m, name);

    if (i < 0)
        return cs_fail(CS_EFORMAT, "the model has no place for '%s'", name);
    const cs_param *p = &m->ps.p[i];
    double *v = cs_xmalloc((size_t)p->n * sizeof *v);
    for (int64_t k = 0; k < p->n; k++) {
        double unit = (double)(stream(seed, t, (uint64_t)k) >> 40) / (1 << 23) - 1;
        bool padding = p->zero_row >= 0 && k / (p->n / p->shape.dim[0]) == p->zero_row;
        v[k] = padding ? 0 : (double)(float)(unit * scale);
        sum += v[k];
        sumsq += v[k] * v[k];
    }
    set_param(m, i, v);
    free(v);
    if (check) {
        golden_check(g, "input.param_check", fabs(sum - cs_tensor_get(check, 2 * (int64_t)t)), 1e-9
                     * sqrt(sumsq * (double)p->n) + 1e-30);
        golden_check(g, "input.param_check", fabs(sumsq - cs_tensor_get(check, 2 * (int64_t)t + 1)),
                     1e-9 * sumsq + 1e-30);
    }
    return CS_OK;
}

int golden_load(golden *g, cs_model *m)
{
    const json_t *order = json_object_get(g->config, "param_order");
    uint64_t seed = (uint64_t)golden_number(g->config, "seed", 0);
    int rc = CS_OK;

    if (golden_find(g, "input.param_check") == NULL)
        return load_stored(g, m);
    for (size_t t = 0; rc == CS_OK && t < json_array_size(order); t++)
        rc = generate_param(g, m, t, seed);
    return rc;
}

/* ---- inputs ------------------------------------------------------------------------------ */

static int32_t token(const golden *g, const cs_tensor *stored, int64_t i)
{
    uint64_t seed = (uint64_t)golden_number(g->config, "seed", 0);
    return stored ? (int32_t)cs_tensor_get(stored, i)
                  : (int32_t)(2 + (stream(seed, 1000, (uint64_t)i) >> 62));
}

/* Lengths: stored, or from the shape [B, L, ...], or (full-size files) in the config. */
static int64_t length_of(const golden *g, const cs_tensor *lengths, const cs_tensor *in, size_t s)
{
    const json_t *listed = json_object_get(g->config, "lengths");
    if (lengths)
        return (int64_t)s < lengths->n ? (int64_t)cs_tensor_get(lengths, (int64_t)s) : -1;
    if (listed)
        return s < json_array_size(listed) ? json_integer_value(json_array_get(listed, s)) : -1;
    return in && in->shape.n_dim >= 2 && (int64_t)s < in->shape.dim[0] ? in->shape.dim[1] : -1;
}

static int append(golden *g, cs_batch *b, const cs_tensor *tok, const cs_tensor *x, int64_t n,
                  const float *target)
{
    int64_t from = b->n_tok, c = b->n_channel;
    int32_t *id = cs_xmalloc((size_t)n * sizeof *id + 1);
    float *v = cs_xmalloc((size_t)(n * c) * sizeof *v + 1);

    for (int64_t i = 0; i < n && !x; i++)
        id[i] = token(g, tok, from + i);
    for (int64_t i = 0; i < n * c; i++)
        v[i] = (float)cs_tensor_get(x, from * c + i);
    int rc = cs_batch_append(b, x ? NULL : id, x ? v : NULL, n, target, (cs_slot){ 0 });
    free(id);
    free(v);
    return rc;
}

int golden_batch(golden *g, const cs_model *m, const char *prefix, cs_batch **out)
{
    int rc = CS_OK;
    const cs_tensor *tok = golden_find(g, "input.%stokens", prefix),
                    *x = golden_find(g, "input.%sx", prefix),
                    *lengths = golden_find(g, "input.%slengths", prefix),
                    *want = golden_find(g, "input.%starget", prefix),
                    *head = golden_find(g, "input.tokens_head");
    int32_t n_target = cs_model_n_target(m);
    float *target = cs_xcalloc((size_t)n_target, sizeof *target);
    int64_t n, per = x ? x->shape.dim[x->shape.n_dim - 1] : 0;
    cs_batch *b = cs_batch_new((int32_t)per, n_target);

    for (size_t s = 0; (n = length_of(g, lengths, tok ? tok : x, s)) >= 0; s++) {
        /* Only the first column of a regression is in the loss. */
        for (int32_t k = 0; k < n_target; k++)
            target[k] = k == 0 && want ? (float)cs_tensor_get(want, (int64_t)s) : NAN;
        if (b->n_rec && cs_depth(n) != b->depth) {
            rc = cs_fail(CS_EUSAGE, "a batch of several depths is not supported");
            goto out;
        }
        CS_TRY(append(g, b, tok, x, n, target));
    }
    for (int64_t i = 0; head && i < head->n; i++)
        golden_check(g, "input.tokens_head", fabs(b->tok[i] - cs_tensor_get(head, i)), 0.5);
out:
    free(target);
    *out = b;
    return rc;
}

int golden_scale(const golden *g, const cs_model *m, const cs_batch *b, double *scale)
{
    const char *loss = golden_text(g->config, "loss");

    if (strcmp(loss, "ce") == 0)
        *scale = 1.0 / b->n_rec;
    else if (strcmp(loss, "ce_sum") == 0)
        *scale = 1;
    else if (strcmp(loss, "mse") == 0)
        *scale = (double)m->n_label / b->n_rec;      /* the head divides by its outputs */
    else
        return cs_fail(CS_EUSAGE, "unknown loss '%s'", loss);
    return CS_OK;
}

/* toy.c - small models and batches for tests. */
#include "tests/nn/toy.h"

#include "base/file.h"
#include "train/optim.h"

enum { N_LABEL = 3 };

static void *config(const toy *t)
{
    const bool groups = t->name && strcmp(t->name, "groups") == 0;
    const char *const set[][2] = {
        { "max-len", t->max_len ? t->max_len : "32" }, { "track", t->wide ? "16" : "4" },
        { "hidden", t->wide ? "128" : "8" },
        { "channels", "4" }, { "decoder", groups ? "2" : "3" }, { "input", groups ? "6" : "5" },
        { "layers", "2" },
        { "dim", "8" }, { "heads", "2" }, { "k", "3" }, { "rank", "3" }, { "units", "2" },
        { "ortho", "0.1" }, { "gamma", "0.3" },
        { t->flag, "1" }, { t->name, t->value }
    };
    void *cfg = cs_xcalloc(1, t->enc->cfg_size);

    cs_opt_defaults((const cs_optset[]){ { t->enc->opt, cfg, NULL }, { 0 } });
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        if (set[i][0] && cs_opt_find(t->enc->opt, set[i][0]))
            assert_int_equal(cs_opt_set(t->enc->opt, cfg, set[i][0], set[i][1]), CS_OK);
    return cfg;
}

static void *head_config(const toy *t)
{
    void *cfg = cs_xcalloc(1, t->head->cfg_size + 1);

    if (!t->head->opt)
        return cfg;
    cs_opt_defaults((const cs_optset[]){ { t->head->opt, cfg, NULL }, { 0 } });
    if (t->head_name && cs_opt_find(t->head->opt, "hidden"))
        assert_int_equal(cs_opt_set(t->head->opt, cfg, "hidden", "6"), CS_OK);
    if (t->head_name)
        assert_int_equal(cs_opt_set(t->head->opt, cfg, t->head_name, t->head_value), CS_OK);
    return cfg;
}

/* By a little: with more, networks of products saturate and have no gradient to check. The padding
 * row stays zero, variances stay positive. */
static void perturb(cs_model *m)
{
    cs_real *v = toy_slab(m, m->ps.value);
    for (int32_t i = 0; i < m->ps.n; i++) {
        const cs_param *p = &m->ps.p[i];
        int64_t row = p->shape.n_dim > 1 ? p->n / p->shape.dim[0] : p->n;
        for (int64_t k = 0; k < p->n; k++)
            if (p->zero_row < 0 || k / row != p->zero_row)
                v[p->off + k] += (cs_real)(0.2 * cs_rng_unit((uint64_t)i, (uint64_t)k) - 0.08);
    }
    m->be->op.upload(m->be, m->ps.value, v, (size_t)m->ps.n_real * sizeof *v);
    free(v);
}

cs_model *toy_model(const toy *t, cs_backend *be)
{
    static const cs_label label[N_LABEL] = {
        { .name = "a", .taxid = 1, .rank = "genus" }, { .name = "b" }, { .name = "c", .taxid = 3 }
    };
    const cs_tokenizer *tok = t->real ? NULL : cs_tokenizer_find("base");
    void *cfg = config(t), *head_cfg = head_config(t);
    void *tok_cfg = tok ? cs_xcalloc(1, tok->cfg_size + 1) : NULL;
    cs_model_spec s = { .tok = tok, .enc = t->enc, .head = t->head, .tok_cfg = tok_cfg,
                        .enc_cfg = cfg, .head_cfg = head_cfg, .n_channel = 2, .label = label,
                        .n_label = N_LABEL, .seed = 5, .training = t->training };
    cs_model *m;

    if (tok)
        cs_opt_defaults((const cs_optset[]){ { tok->opt, tok_cfg, NULL }, { 0 } });
    assert_int_equal(cs_model_new(&s, be, &m), CS_OK);
    perturb(m);
    free(cfg);
    free(head_cfg);
    free(tok_cfg);
    return m;
}

static float target_of(const cs_model *m, uint64_t key, uint64_t k)
{
    if (m->head->is_class)
        return (float)cs_rng_below(key, k, N_LABEL);
    if (m->head->is_labels)
        return (float)cs_rng_below(key, k, 2);
    return (float)(2 * cs_rng_unit(key, k) - 1);
}

/* Every fourth token or so has no class. */
static int append(cs_batch *b, const int32_t *id, const float *x, int64_t len, const float *target,
                  uint64_t key)
{
    if (b->n_target != CS_TARGET_TOKENS)
        return cs_batch_append(b, id, x, len, target, (cs_slot){ 0 });
    int32_t *label = cs_xcalloc((size_t)len, sizeof *label);
    for (int64_t i = 0; i < len; i++)
        label[i] = (int32_t)cs_rng_below(key, (uint64_t)i, N_LABEL + 1) - 1;
    int rc = cs_batch_append_labelled(b, id, x, len, label, (cs_slot){ 0 });
    free(label);
    return rc;
}

cs_batch *toy_batch(const cs_model *m, const int64_t *len, int n, uint64_t seed)
{
    int32_t n_target = cs_model_n_target(m);
    const int parts = cs_model_parts(m);
    cs_batch *b = cs_batch_new(m->n_channel, n_target);
    float target[N_LABEL];

    assert_true(n_target <= N_LABEL);
    for (int r = 0; r < n; r++) {
        uint64_t key = cs_rng_key(seed, (uint64_t)r);
        const int64_t n_tok = parts * len[r];
        int32_t *id = cs_xcalloc((size_t)n_tok, sizeof *id);
        float *x = cs_xcalloc((size_t)n_tok * 2, sizeof *x);
        for (int64_t i = 0; i < n_tok; i++)
            id[i] = 1 + (int32_t)cs_rng_below(key, (uint64_t)i, 5);
        for (int64_t i = 0; i < 2 * n_tok; i++)
            x[i] = (float)cs_rng_normal(key, (uint64_t)i);
        for (int32_t k = 0; k < n_target; k++)
            target[k] = target_of(m, ~key, (uint64_t)k);
        assert_int_equal(append(b, m->tok ? id : NULL, m->tok ? NULL : x, n_tok, target, ~key),
                         CS_OK);
        free(id);
        free(x);
    }
    return b;
}

static bool fits(const toy *t)
{
    void *cfg = config(t), *head_cfg = head_config(t);
    bool good = t->enc->check(cfg) == CS_OK && t->head->check(head_cfg) == CS_OK;

    cs_error_clear();
    free(cfg);
    free(head_cfg);
    return good;
}

/* Calls f with every relevant value of an option: all choices but the default, a dropout rate, a
 * dilation, two groups, ways of pooling and words of two bases. */
static void each_value(toy *t, const cs_opt *o, const char **value,
                       void (*f)(const toy *, void *), void *arg)
{
    for (int k = 0; o->type == CS_OPT_ENUM && o->choice[k]; k++) {
        *value = o->choice[k];
        if (strcmp(*value, o->def) != 0 && fits(t))
            f(t, arg);
    }
    *value = "0.3";
    if (o->type == CS_OPT_REAL && strcmp(o->name, "dropout") == 0)
        f(t, arg);
    *value = "3";
    if (strcmp(o->name, "dilation") == 0)
        f(t, arg);
    *value = "2";
    if (strcmp(o->name, "groups") == 0)
        f(t, arg);
    if (strcmp(o->name, "composition") == 0 && fits(t))
        f(t, arg);
    static const char *const pool[] = { "cls", "centre", "max", "lse", "attention",
                                        "mean+max+attention" };
    for (size_t k = 0; strcmp(o->name, "pool") == 0 && k < sizeof pool / sizeof pool[0]; k++) {
        *value = pool[k];
        if (fits(t))
            f(t, arg);
    }
}

static void each_option(toy t, void (*f)(const toy *, void *), void *arg)
{
    f(&t, arg);
    for (const cs_opt *o = t.enc->opt; o->type != CS_OPT_END; o++) {
        t.name = o->name;
        each_value(&t, o, &t.value, f, arg);
    }
}

static void each_flag(toy t, void (*f)(const toy *, void *), void *arg)
{
    each_option(t, f, arg);
    for (const cs_opt *o = t.enc->opt; o->type != CS_OPT_END; o++) {
        t.flag = o->name;
        if (o->type == CS_OPT_FLAG)
            each_option(t, f, arg);
    }
}

static void each_head_option(toy t, void (*f)(const toy *, void *), void *arg)
{
    f(&t, arg);
    for (const cs_opt *o = t.head->opt; o && o->type != CS_OPT_END; o++) {
        t.head_name = o->name;
        each_value(&t, o, &t.head_value, f, arg);
    }
}

void toy_each(void (*f)(const toy *t, void *arg), void *arg)
{
    const cs_encoder *enc;
    const char *only = getenv("CS_ENCODER");

    for (int i = 0; (enc = cs_encoder_at(i)) != NULL; i++) {
        if (only && strcmp(only, enc->name) != 0)
            continue;
        toy t = { .enc = enc, .head = cs_head_find("class"), .training = true };
        each_flag(t, f, arg);
        t.real = true;
        t.head = cs_head_find("regress");
        f(&t, arg);
    }
    const cs_head *head;
    for (int i = 0; !only && (head = cs_head_at(i)) != NULL; i++) {
        toy t = { .enc = cs_encoder_at(0), .head = head, .training = true };
        each_head_option(t, f, arg);
    }
}

cs_session *toy_session(const toy *t, cs_backend *be)
{
    return cs_session_new(toy_model(t, be), be);
}

void toy_free(cs_session *s)
{
    cs_model *m = s ? s->model : NULL;

    cs_session_free(s);
    cs_model_free(m);
}

double toy_train(cs_session *s, const cs_batch *b, int32_t keep)
{
    static const float weight[2 * N_LABEL] = { 0.5F, 1, 2, 1.5F, 1, 0.25F };     /* two per label */
    double loss;
    cs_step_opt l = { .weight = weight, .scale = 0.5, .key = 9, .keep = keep };

    cs_optim_zero_grad(&s->model->ps);
    if (cs_session_forward_backward(s, b, &l, &loss, NULL) != CS_OK)
        fail_msg("%s", cs_error_message());
    const int64_t peak = s->cx.peak, grad_peak = s->cx.grad_peak;
    (void)cs_plan_memory(s, b->n_tok, b->n_seg, b->depth, true);
    if (s->cx.peak != peak || s->cx.grad_peak != grad_peak)
        fail_msg("%s keeping %d: %ld and %ld reals, %ld and %ld in a dry run", s->model->enc->name,
                 (int)keep, (long)peak, (long)grad_peak, (long)s->cx.peak, (long)s->cx.grad_peak);
    return loss;
}

char *toy_file(cs_model *m, size_t *n)
{
    char path[] = "toy.XXXXXX", *p;
    const int fd = mkstemp(path);

    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(cs_model_save(m, path), CS_OK);
    assert_int_equal(cs_file_read(path, 1 << 22, &p, n), CS_OK);
    assert_int_equal(unlink(path), 0);
    return p;
}

cs_real *toy_slab(const cs_model *m, const cs_real *slab)
{
    cs_real *v = cs_xmalloc((size_t)m->ps.n_real * sizeof *v);
    m->be->op.download(m->be, v, slab, (size_t)m->ps.n_real * sizeof *v);
    return v;
}

float *toy_outputs(cs_session *s, const cs_batch *b)
{
    float *out = cs_xmalloc((size_t)cs_session_output_len(s, b) * sizeof *out);
    if (cs_session_predict(s, b, out) != CS_OK)
        fail_msg("%s", cs_error_message());
    return out;
}

double toy_nmse(const cs_real *a, const cs_real *b, int64_t n)
{
    double d2 = 0, b2 = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = (double)a[i] - (double)b[i];
        d2 += d * d;
        b2 += (double)b[i] * (double)b[i];
    }
    return b2 > 0 ? d2 / b2 : d2;
}

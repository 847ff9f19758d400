/* test_heads.c - losses and predictions of the heads, by hand and for every registered one. */
#include "tests/nn/toy.h"

#include "nn/heads/pooled.h"

static cs_backend *be;

static const cs_head *head_at(int i)
{
    return cs_head_at(i);
}

static cs_session *session_with(const cs_head *head)
{
    toy t = { .enc = cs_encoder_at(0), .head = head, .training = true };
    return toy_session(&t, be);
}

#ifdef CS_DOUBLE
#define TOL 1e-12
#else
#define TOL 1e-5
#endif

/* Raw outputs of a batch, as the last pass left them. */
static double *raw(cs_session *s)
{
    cs_mat y = s->trace.y;
    double *v = cs_xmalloc((size_t)(y.r * y.c) * sizeof *v);
    for (int64_t i = 0; i < y.r * y.c; i++)
        v[i] = (double)y.p[i];
    return v;
}

static double train(cs_session *s, const cs_batch *b, const float *weight, double scale, float *out)
{
    const cs_model *m = s->model;
    cs_step_opt l = { .weight = weight, .scale = scale };
    double loss;

    be->op.zero(be, cs_params_slab(&m->ps, m->ps.grad));
    if (cs_session_forward_backward(s, b, &l, &loss, out) != CS_OK)
        fail_msg("%s", cs_error_message());
    return loss;
}

static void test_cross_entropy(void **state)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    static const float weight[] = { 0.25F, 1, 3 };
    cs_session *s = session_with(cs_head_find("class"));
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 1);
    double want = 0, plain = 0;

    (void)state;
    b->target[2] = NAN;
    double got = train(s, b, weight, 0.5, NULL);
    double *z = raw(s);
    for (int r = 0; r < 4; r++) {
        double sum = 0;
        if (isnan(b->target[r]))
            continue;
        int t = (int)b->target[r];
        for (int k = 0; k < 3; k++)
            sum += exp(z[3 * r + k]);
        want += 0.5 * (double)weight[t] * (log(sum) - z[3 * r + t]);
        plain += 0.5 * (log(sum) - z[3 * r + t]);
    }
    assert_true(fabs(got - want) <= TOL * fabs(want));
    assert_true(fabs(train(s, b, NULL, 0.5, NULL) - plain) <= TOL * fabs(plain));
    free(z);
    cs_batch_free(b);
    toy_free(s);
}

/* Classes 0 and 1 in one taxon, class 2 the only one of another, class 1 above class 3. */
static const int32_t tree_parent[] = { -1, 0, 1, 1, 3, 0, 5 },
                     tree_class[] = { -1, -1, 0, 1, 3, -1, 2 }, tree_node[] = { 2, 3, 6, 4 };
static const cs_tree tree = { tree_parent, tree_class, tree_node, 7, 4, NULL };

static cs_session *session_in_tree(void)
{
    const cs_label label[] = { { .name = "a" }, { .name = "b" }, { .name = "c" },
                               { .name = "d" } };
    cs_session *s = session_with(cs_head_find("tree"));
    const cs_model *old = s->model;
    cs_model *m = NULL;
    const cs_model_spec spec = {
        .tok = old->tok, .tok_cfg = old->tok_cfg, .enc = old->enc, .enc_cfg = old->enc_cfg,
        .head = old->head, .head_cfg = old->head_cfg, .label = label, .n_label = 4, .seed = 5,
        .training = true,
    };
    assert_int_equal(cs_model_new(&spec, be, &m), CS_OK);
    toy_free(s);
    assert_int_equal(m->head->set_taxonomy(m->head_net, &tree), CS_OK);
    return cs_session_new(m, be);
}

/* -log of the sum of the probabilities of some of the classes */
static double tree_nll(const double *z, int a, int b, int c, int d)
{
    const double in[] = { a, b, c, d };
    double all = 0, some = 0;

    for (int k = 0; k < 4; k++) {
        all += exp(z[k]);
        some += in[k] * exp(z[k]);
    }
    return log(all) - log(some);
}

static void test_tree_loss(void **state)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    static const float weight[] = { 0.25F, 1, 3, 0.5F };
    cs_session *s = session_in_tree();
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 1);
    double want = 0;

    (void)state;
    for (int r = 0; r < 4; r++)
        b->target[r] = (float)r;
    double got = train(s, b, weight, 0.5, NULL);
    double *z = raw(s);
    want += 0.25 * (tree_nll(z, 1, 0, 0, 0) + tree_nll(z, 1, 1, 0, 1)) / 2;
    want += (tree_nll(z + 4, 0, 1, 0, 1) + tree_nll(z + 4, 1, 1, 0, 1)) / 2;
    want += 3 * tree_nll(z + 8, 0, 0, 1, 0);      /* its other taxon says the same */
    want += 0.5 * (tree_nll(z + 12, 0, 0, 0, 1) / 2
                   + (tree_nll(z + 12, 0, 1, 0, 1) + tree_nll(z + 12, 1, 1, 0, 1)) / 4);
    want *= 0.5;
    assert_true(fabs(got - want) <= TOL * fabs(want));
    free(z);
    cs_batch_free(b);
    toy_free(s);
}

/* Against central differences, in the head's bias: in the double build to 1e-7. */
static void check_bias(cs_session *s, const cs_batch *b, const float *weight)
{
    const cs_model *m = s->model;
    const int k = cs_params_find(&m->ps, "head.bias");
    const double h = sizeof(cs_real) == 8 ? 1e-5 : 1e-2, tol = sizeof(cs_real) == 8 ? 1e-7 : 1e-2;
    cs_real *bias = cs_value(&m->ps, k).p;

    for (int c = 0; c < m->n_label; c++) {
        const cs_real at = bias[c];
        (void)train(s, b, weight, 1, NULL);
        const double grad = (double)cs_grad(&m->ps, k).p[c];
        bias[c] = (cs_real)((double)at + h);
        const double up = train(s, b, weight, 1, NULL);
        bias[c] = (cs_real)((double)at - h);
        const double down = train(s, b, weight, 1, NULL);
        bias[c] = at;
        assert_true(fabs((up - down) / (2 * h) - grad) <= tol);
        assert_true(fabs(grad) > 1e-3);
    }
}

static void test_tree_gradient(void **state)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    cs_session *s = session_in_tree();
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 1);

    (void)state;
    for (int r = 0; r < 4; r++)
        b->target[r] = (float)r;
    check_bias(s, b, NULL);
    cs_batch_free(b);
    toy_free(s);
}

/* How far down a call goes, and with which sum. */
static void test_tree_calls(void **state)
{
    static const float v[] = { 0.2F, 0.3F, 0.1F, 0.4F };
    double p;

    (void)state;
    assert_int_equal(cs_tree_call(&tree, v, 0.95, &p), 0);
    assert_true(fabs(p - 0.9) < 1e-6);
    assert_int_equal(cs_tree_call(&tree, v, 0.8, &p), 1);
    assert_int_equal(cs_tree_call(&tree, v, p, &p), 1);      /* the minimum is inclusive */
    assert_int_equal(cs_tree_call(&tree, v, 0.6, &p), 3);
    assert_int_equal(cs_tree_call(&tree, v, 0, &p), 4);
    assert_true(fabs(p - 0.4) < 1e-6);
    assert_true(cs_tree_within(&tree, 4, 1) && !cs_tree_within(&tree, 6, 1));
    /* Class 1 itself is more probable than the classes below it. */
    assert_int_equal(cs_tree_call(&tree, (const float[]){ 0.1F, 0.5F, 0.1F, 0.3F }, 0, &p), 3);
    /* The other taxa of a taxon are called as that taxon, those of the top by their own name. */
    cs_tree other = tree;
    other.is_other = (const int32_t[]){ 0, 0, 0, 0, 1, 0, 1 };
    assert_int_equal(cs_tree_call(&other, v, 0, &p), 3);
    assert_true(fabs(p - 0.7) < 1e-6);
    other.is_other = (const int32_t[]){ 0, 1, 0, 0, 0, 0, 0 };
    assert_int_equal(cs_tree_call(&other, v, 0, &p), 4);
    /* A taxon above all classes is not a call, for any name. */
    const cs_tree chain = { (const int32_t[]){ -1, 0, 1, 1 }, (const int32_t[]){ -1, -1, 0, 1 },
                            (const int32_t[]){ 2, 3 }, 4, 2, NULL };
    assert_int_equal(cs_tree_top(&chain), 1);
    assert_int_equal(cs_tree_call(&chain, (const float[]){ 0.5F, 0.5F }, 0.6, &p), 0);
    assert_int_equal(cs_tree_call(&chain, (const float[]){ 0.5F, 0.5F }, 0, &p), 2);
}

static void test_squared_error(void **state)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    cs_session *s = session_with(cs_head_find("regress"));
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 1);
    double want = 0;

    (void)state;
    b->target[4] = NAN;
    double got = train(s, b, NULL, 0.5, NULL);
    double *y = raw(s);
    for (int i = 0; i < 12; i++) {
        double d = y[i] - (double)b->target[i];
        want += i == 4 ? 0 : 0.5 * d * d / 3;
    }
    assert_true(fabs(got - want) <= TOL * fabs(want));
    free(y);
    cs_batch_free(b);
    toy_free(s);
}

/* The loss is that of standardized values, by hand; predictions have the units of the values, from
 * every kind of pass. */
static void test_standardized_values(void **state)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    cs_session *s = session_with(cs_head_find("regress"));
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 1);
    float out[12], same[12];
    double want = 0;

    (void)state;
    m->label[0].mean = 5e4;
    m->label[0].deviation = 2e3;
    m->label[2].mean = -3e-6;
    m->label[2].deviation = 1e-7;
    for (int r = 0; r < 4; r++) {
        b->target[3 * r] = 5e4F + 2e3F * b->target[3 * r];
        b->target[3 * r + 2] = -3e-6F + 1e-7F * b->target[3 * r + 2];
    }
    b->target[5] = NAN;
    const double got = train(s, b, NULL, 0.5, out);
    double *y = raw(s);
    for (int i = 0; i < 12; i++) {
        const cs_label *l = &m->label[i % 3];
        const double t = (double)b->target[i];
        const double d = y[i] - (l->deviation > 0 ? (t - l->mean) / l->deviation : t);
        want += i == 5 ? 0 : 0.5 * d * d / 3;
        const double v = l->deviation > 0 ? l->mean + l->deviation * y[i] : y[i];
        assert_true(fabs((double)out[i] - v) <= 1e-6 * fabs(v));
    }
    assert_true(fabs(got - want) <= TOL * fabs(want));
    assert_int_equal(cs_session_predict(s, b, same), CS_OK);
    for (int i = 0; i < 12; i++)
        assert_true(fabs((double)(same[i] - out[i])) <= 1e-5 * fabs((double)out[i]));
    assert_int_equal(cs_session_forward(s, b, out), CS_OK);
    for (int i = 0; i < 12; i++)         /* raw values have no units, until decided */
        assert_true(fabs((double)out[i] - y[i]) <= 1e-5 * fmax(fabs(y[i]), 1));
    for (int r = 0; r < 4; r++)
        cs_model_decide(m, out + 3 * r, 3, 1);
    for (int i = 0; i < 12; i++)
        assert_true(fabs((double)(same[i] - out[i])) <= 1e-6 * fabs((double)out[i]));
    s->output = CS_HEAD_POOLED;          /* vectors have no units */
    float *vector = cs_xmalloc((size_t)cs_session_output_len(s, b) * sizeof *vector);
    assert_int_equal(cs_session_predict(s, b, vector), CS_OK);
    for (int64_t i = 0; i < cs_session_output_len(s, b); i++)
        assert_true(fabsf(vector[i]) < 1e3F);
    free(vector);
    free(y);
    cs_batch_free(b);
    toy_free(s);
}

/* By hand, with a weight for each label's 1s; masked values have no gradient. */
static void test_multilabel_loss(void **state)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    static const float weight[] = { 1, 0.25F, 1, 1, 1, 3 };
    cs_session *s = session_with(cs_head_find("multilabel"));
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 1);
    double want = 0, plain = 0;
    int n[2] = { 0, 0 };

    (void)state;
    b->target[4] = b->target[11] = NAN;
    double got = train(s, b, weight, 0.5, NULL);
    double *z = raw(s);
    for (int i = 0; i < 12; i++) {
        if (isnan(b->target[i]))
            continue;
        const bool yes = b->target[i] > 0;
        const double p = 1 / (1 + exp(-z[i])), loss = -0.5 * log(yes ? p : 1 - p) / 3;
        want += (double)weight[2 * (i % 3) + yes] * loss;
        plain += loss;
        n[yes]++;
    }
    assert_true(n[0] > 0 && n[1] > 0);
    assert_true(fabs(got - want) <= TOL * fabs(want));
    assert_true(fabs(train(s, b, NULL, 0.5, NULL) - plain) <= TOL * fabs(plain));
    for (int r = 0; r < 4; r++)
        b->target[3 * r + 1] = NAN;
    (void)train(s, b, NULL, 1, NULL);
    const cs_mat grad = cs_grad(&m->ps, cs_params_find(&m->ps, "head.bias"));
    assert_true(grad.p[1] == 0 && grad.p[0] != 0 && grad.p[2] != 0);
    free(z);
    cs_batch_free(b);
    toy_free(s);
}

static void test_multilabel_gradient(void **state)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    static const float weight[] = { 1, 0.25F, 1, 1, 1, 3 };
    cs_session *s = session_with(cs_head_find("multilabel"));
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 1);

    (void)state;
    b->target[4] = NAN;
    check_bias(s, b, weight);
    cs_batch_free(b);
    toy_free(s);
}

/* A record's loss is the mean over its tokens that have a class. */
static void test_tokens(void **state)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    static const float weight[] = { 0.25F, 1, 3 };
    cs_session *s = session_with(cs_head_find("token"));
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 1);
    double want = 0;
    int n_masked = 0;

    (void)state;
    double got = train(s, b, weight, 0.5, NULL);
    double *z = raw(s);
    for (int r = 0; r < 4; r++) {
        double loss = 0, n = 0;
        for (int64_t i = b->off[r]; i < b->off[r + 1]; i++) {
            if (b->label[i] < 0) {
                n_masked++;
                continue;
            }
            double sum = exp(z[3 * i]) + exp(z[3 * i + 1]) + exp(z[3 * i + 2]);
            loss += (double)weight[b->label[i]] * (log(sum) - z[3 * i + b->label[i]]);
            n++;
        }
        want += 0.5 * loss / n;
    }
    assert_true(n_masked > 0);
    assert_true(fabs(got - want) <= TOL * fabs(want));
    assert_int_equal(cs_model_output_len(m, CS_HEAD_PREDICTION, 7), 21);
    assert_int_equal(cs_session_output_len(s, b), 3 * b->n_tok);
    assert_int_equal(cs_model_n_target(m), CS_TARGET_TOKENS);
    free(z);
    cs_batch_free(b);
    toy_free(s);
}

/* A record without a target changes nothing: neither the loss nor any gradient. */
static void masked(const cs_head *head)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    cs_session *s = session_with(head);
    cs_model *m = s->model;
    cs_batch *three = toy_batch(m, len, 3, 1), *four = toy_batch(m, len, 4, 1);
    int32_t n = four->n_target;

    for (int32_t k = 0; k < n; k++)
        four->target[3 * n + k] = NAN;
    for (int64_t i = four->off[3]; n == CS_TARGET_TOKENS && i < four->n_tok; i++)
        four->label[i] = -1;
    double want = train(s, three, NULL, 1, NULL);
    cs_real *grad = toy_slab(m, m->ps.grad);
    assert_true(fabs(train(s, four, NULL, 1, NULL) - want) <= TOL * fabs(want));
    cs_real *same = toy_slab(m, m->ps.grad);
    assert_true(toy_nmse(same, grad, m->ps.n_real) <= TOL * TOL);
    free(grad);
    free(same);
    cs_batch_free(three);
    cs_batch_free(four);
    toy_free(s);
}

/* Outputs of a training pass equal predictions, to the bit unless these go by the mean;
 * probabilities sum to one. */
static void outputs(const cs_head *head)
{
    static const int64_t len[] = { 5, 7, 8, 6 };
    cs_session *s = session_with(head);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 4, 1);
    int64_t n = cs_session_output_len(s, b);
    float *trained = cs_xmalloc((size_t)n * sizeof *trained);

    (void)train(s, b, NULL, 1, trained);
    s->cx.no_mean = true;
    float *every_row = toy_outputs(s, b);
    assert_memory_equal(trained, every_row, (size_t)n * sizeof *trained);
    s->cx.no_mean = false;
    float *predicted = toy_outputs(s, b);
    for (int64_t i = 0; i < n; i++)
        assert_true(fabs((double)predicted[i] - (double)trained[i]) <= 1e-5);
    free(every_row);
    for (int64_t r = 0; head->is_class && r < n; r += 3) {
        double sum = 0;
        for (int64_t k = 0; k < 3; k++) {
            assert_true(predicted[r + k] >= 0);
            sum += (double)predicted[r + k];
        }
        assert_true(fabs(sum - 1) <= 1e-6);
    }
    free(trained);
    free(predicted);
    cs_batch_free(b);
    toy_free(s);
}

static void test_every_head(void **state)
{
    (void)state;
    for (int i = 0; head_at(i); i++) {
        masked(head_at(i));
        outputs(head_at(i));
    }
}

/* Damaged weights give an error with a message, not a prediction. */
static void test_not_finite(void **state)
{
    static const int64_t len[] = { 5 };
    cs_session *s = session_with(cs_head_find("class"));
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 1, 1);
    cs_step_opt l = { .scale = 1 };
    float out[3];
    double loss;

    (void)state;
    cs_value(&m->ps, cs_params_find(&m->ps, "head.bias")).p[0] = (cs_real)NAN;
    assert_int_equal(cs_session_predict(s, b, out), CS_EMODEL);
    assert_non_null(strstr(cs_error_message(), "is not finite"));
    cs_error_clear();
    assert_int_equal(cs_session_forward_backward(s, b, &l, &loss, NULL), CS_EMODEL);
    assert_non_null(strstr(cs_error_message(), "training diverged"));
    cs_error_clear();
    cs_batch_free(b);
    toy_free(s);
}

static void test_too_long(void **state)
{
    static const int64_t len[] = { 33 };
    cs_session *s = session_with(cs_head_find("class"));
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 1, 1);
    float out[3];

    (void)state;
    assert_int_equal(cs_model_max_len(m), 32);
    assert_int_equal(cs_session_predict(s, b, out), CS_EMODEL);
    assert_string_equal(cs_error_message(),
                        "the sequence exceeds the model's maximum of 32 tokens");
    cs_error_clear();
    cs_batch_free(b);
    toy_free(s);
}

/* Incompatible settings of a head are refused with a message. */
static void test_refused(void **state)
{
    cs_pooled_cfg cfg = { 0 };

    (void)state;
    cs_opt_defaults((const cs_optset[]){ { cs_pooled_opt, &cfg, NULL }, { 0 } });
    assert_int_equal(cs_head_find("class")->check(&cfg), CS_OK);
    cfg.kernel = 4;
    assert_int_equal(cs_head_find("class")->check(&cfg), CS_EUSAGE);
    assert_string_equal(cs_error_message(), "--head.predictor-kernel must be odd, not 4");
    cs_error_clear();
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_cross_entropy),
        cmocka_unit_test(test_tree_loss),
        cmocka_unit_test(test_tree_gradient),
        cmocka_unit_test(test_tree_calls),
        cmocka_unit_test(test_squared_error),
        cmocka_unit_test(test_standardized_values),
        cmocka_unit_test(test_multilabel_loss),
        cmocka_unit_test(test_multilabel_gradient),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_every_head),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_refused)
    };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 2, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("heads", test, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}

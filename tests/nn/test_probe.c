/* test_probe.c - heads trained on a frozen encoder, and parts with a lower rate. */
#include "toy.h"

#include "train/optim.h"

static bool is_head(const cs_param *p)
{
    return strncmp(p->name, "head.", 5) == 0;
}

/* The head's gradients are those of training as a whole, the others stay zero. */
static void probe(const toy *given, void *arg)
{
    static const int64_t len[] = { 17, 21, 30 };
    toy t = *given;

    t.training = true;
    cs_session *s = toy_session(&t, arg);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 3, 4);
    s->cx.frozen = true;         /* no dropout: passes are comparable */
    const double whole = toy_train(s, b, CS_KEEP_ALL);
    cs_real *want = toy_slab(m, m->ps.grad);
    for (int32_t i = 0; i < m->ps.n; i++)
        m->ps.p[i].touched = false;
    s->freeze_encoder = true;
    const double loss = toy_train(s, b, CS_KEEP_ALL);
    cs_real *got = toy_slab(m, m->ps.grad);
    for (int32_t i = 0; i < m->ps.n; i++) {
        const cs_param *p = &m->ps.p[i];
        if (is_head(p)) {
            if (toy_nmse(got + p->off, want + p->off, p->n) > 1e-8)
                fail_msg("%s: the gradient of '%s' differs", t.enc->name, p->name);
            continue;
        }
        assert_false(p->touched);
        for (int64_t k = 0; k < p->n; k++)
            assert_true(got[p->off + k] == 0);
    }
    /* Regularisers of the encoder are part of the whole loss only. */
    if (loss > whole * (1 + 1e-5) + 1e-6)
        fail_msg("%s: the loss is %g instead of %g", t.enc->name, loss, whole);
    free(got);
    free(want);
    cs_batch_free(b);
    toy_free(s);
}

static void only_head_is_trained(void **state)
{
    cs_backend *be;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    toy_each(probe, be);
    cs_backend_close(be);
}

/* Averaging leaves frozen weights unchanged, bit for bit: rounding would move them. */
static void frozen_averages(const toy *given, void *arg)
{
    static const int64_t len[] = { 17, 21 };
    toy t = *given;
    const cs_adam h = { .lr = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .grad_scale = 1 };

    t.training = true;
    cs_session *s = toy_session(&t, arg);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 2, 4);
    cs_real *was = toy_slab(m, m->ps.value);
    s->freeze_encoder = true;
    cs_optim_average_start(&m->ps);
    for (int step = 0; step < 5; step++) {
        (void)toy_train(s, b, CS_KEEP_ALL);
        cs_optim_step(&m->ps, h, false);
        cs_optim_average(&m->ps, 0.7);
    }
    cs_real *is = toy_slab(m, m->ps.ema);
    for (int32_t i = 0; i < m->ps.n; i++) {
        const cs_param *p = &m->ps.p[i];
        if (!is_head(p) && memcmp(is + p->off, was + p->off, (size_t)p->n * sizeof *is) != 0)
            fail_msg("%s: the average of '%s' has moved", t.enc->name, p->name);
    }
    free(is);
    free(was);
    cs_batch_free(b);
    toy_free(s);
}

static void averages_are_unchanged(void **state)
{
    cs_backend *be;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    toy_each(frozen_averages, be);
    cs_backend_close(be);
}

/* How far one step moves every parameter. */
static cs_real *moved(cs_backend *be, double rate)
{
    static const int64_t len[] = { 20, 25 };
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"),
                    .training = true };
    cs_session *s = toy_session(&t, be);
    cs_model *m = s->model;
    cs_batch *b = toy_batch(m, len, 2, 4);
    const cs_adam h = { .lr = 0.25, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .grad_scale = 1,
                        .decoupled = true };

    cs_params_rate(&m->ps, "encoder.", rate);
    (void)toy_train(s, b, CS_KEEP_ALL);
    cs_real *was = toy_slab(m, m->ps.value);
    cs_optim_step(&m->ps, h, false);
    cs_real *is = toy_slab(m, m->ps.value);
    for (int32_t i = 0; i < m->ps.n; i++)
        for (int64_t k = 0; k < m->ps.p[i].n; k++)
            is[m->ps.p[i].off + k] -= was[m->ps.p[i].off + k];
    free(was);
    cs_batch_free(b);
    toy_free(s);
    return is;
}

static void rates_by_prefix(void **state)
{
    const toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class") };
    cs_backend *be;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    cs_real *whole = moved(be, 1), *half = moved(be, 0.5);
    cs_model *m = toy_model(&t, be);
    int n_encoder = 0;
    for (int32_t i = 0; i < m->ps.n; i++) {
        const cs_param *p = &m->ps.p[i];
        const bool slow = strncmp(p->name, "encoder.", 8) == 0;
        n_encoder += slow;
        for (int64_t k = p->off; k < p->off + p->n; k++)
            check_near((double)half[k], (double)whole[k] * (slow ? 0.5 : 1), 1e-5);
    }
    assert_true(n_encoder > 0);
    cs_model_free(m);
    free(whole);
    free(half);
    cs_backend_close(be);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(only_head_is_trained),
        cmocka_unit_test(averages_are_unchanged),
        cmocka_unit_test(rates_by_prefix),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}

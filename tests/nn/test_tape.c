/* test_tape.c - gradients: cleared when first used, or written by the first step that adds. */
#include "tests/check.h"

#include "base/cpu.h"
#include "nn/ops/layer.h"
#include "nn/ops/ops.h"
#include "nn/ops/tape.h"

enum { R = 5, C = 6, REALS = 4096 };

/* A pass on a backend whose gradients are NaN before. */
static void begin(cs_ctx *cx, cs_backend *be, cs_params *ps)
{
    cs_ctx_init(cx, be, ps);
    assert_int_equal(cs_ctx_reserve(cx, REALS, REALS), CS_OK);
    for (int64_t i = 0; i < cx->grad_cap; i++)
        cx->act_grad[i] = NAN;
    cs_ctx_begin(cx, true, false, 1);
}

static cs_mat filled(cs_ctx *cx, cs_real v)
{
    cs_mat m = cs_empty(cx, R, C);
    for (int64_t i = 0; i < R * C; i++)
        m.p[i] = v;
    return m;
}

static void assert_all(cs_mat g, cs_real want)
{
    for (int64_t r = 0; r < g.r; r++)
        for (int32_t j = 0; j < g.c; j++)
            assert_true(g.p[r * g.ld + j] == want);
}

/* The gradients by the sum of z's elements. */
static void backward(cs_ctx *cx, cs_mat z)
{
    const cs_mat seed = cs_scratch(cx, z.r, z.c);

    for (int64_t i = 0; i < z.r * z.c; i++)
        seed.p[i] = 1;
    cs_grad_seed(cx, z, seed);
    cs_backward(cx);
}

/* z = (x + y) + x, and u = x + y, which nothing depends on */
static void test_first_steps(void **state)
{
    cs_backend *be;
    cs_params ps = { 0 };
    cs_ctx cx;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    begin(&cx, be, &ps);
    cs_mat x = filled(&cx, 1), y = filled(&cx, 2), apart = filled(&cx, 3);
    cs_mat sum = cs_empty(&cx, R, C), z = cs_empty(&cx, R, C), u = cs_empty(&cx, R, C);
    cs_add(&cx, x, y, sum);
    cs_add(&cx, x, y, u);
    cs_add(&cx, sum, x, z);
    backward(&cx, z);
    assert_all(cs_grad_of(&cx, x), 2);
    assert_all(cs_grad_of(&cx, y), 1);
    assert_all(cs_grad_of(&cx, u), 0);
    assert_all(cs_grad_of(&cx, apart), 0);
    cs_ctx_release(&cx);
    cs_backend_close(be);
}

/* Half of a matrix: the other half's gradient is zero. */
static void test_part(void **state)
{
    cs_backend *be;
    cs_params ps = { 0 };
    cs_ctx cx;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    begin(&cx, be, &ps);
    cs_mat x = filled(&cx, 1), left = x, right = x, y = cs_empty(&cx, R, C / 2);
    left.c = right.c = C / 2;
    right.p += C / 2;
    cs_add(&cx, left, left, y);
    backward(&cx, y);
    assert_all(cs_grad_of(&cx, left), 2);
    assert_all(cs_grad_of(&cx, right), 0);
    cs_ctx_release(&cx);
    cs_backend_close(be);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_first_steps), cmocka_unit_test(test_part),
    };
    return cs_cpu_init() != CS_OK ? 2 : cmocka_run_group_tests_name("tape", test, NULL, NULL);
}

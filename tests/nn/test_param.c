/* test_param.c - initial values of parameters: orthogonality. */
#include "check.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "nn/ops/param.h"

static cs_backend *be;

/* The largest element of v'v - gain^2, v's columns being the columns or the rows of a block. */
static double far_from_orthogonal(const cs_real *p, int64_t r, int64_t c, double gain)
{
    const bool tall = r >= c;
    const int64_t n = tall ? r : c, k = tall ? c : r;
    double worst = 0;

    for (int64_t a = 0; a < k; a++)
        for (int64_t b = 0; b < k; b++) {
            double sum = a == b ? -gain * gain : 0;
            for (int64_t i = 0; i < n; i++)
                sum += tall ? (double)p[i * c + a] * (double)p[i * c + b]
                            : (double)p[a * c + i] * (double)p[b * c + i];
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

static void test_orthogonal(void **state)
{
    static const int64_t size[][2] = { { 1, 1 }, { 5, 3 }, { 3, 5 }, { 64, 64 }, { 100, 33 } };
    enum { N = sizeof size / sizeof size[0], BLOCKS = 3 };
    cs_params ps;

    (void)state;
    cs_params_init(&ps);
    for (int i = 0; i < N; i++)
        cs_declare(&ps, cs_shape3(BLOCKS, size[i][0], size[i][1]), CS_INIT_ORTHOGONAL, 2, "t%d", i);
    assert_int_equal(cs_params_alloc(&ps, be, false), CS_OK);
    assert_int_equal(cs_params_fill(&ps, 7), CS_OK);
    for (int i = 0; i < N; i++) {
        const int64_t r = size[i][0], c = size[i][1];
        const cs_real *p = ps.value + ps.p[i].off;
        for (int k = 0; k < BLOCKS; k++)
            check_below(far_from_orthogonal(p + k * r * c, r, c, 2), 1e-5);
        if (r * c > 1)
            assert_true(p[0] != p[r * c]);       /* blocks of their own */
    }
    cs_params_release(&ps);
}

/* Every allocation that can fail does, and is reported. */
static void test_no_memory(void **state)
{
    cs_params ps;

    (void)state;
    cs_params_init(&ps);
    cs_declare(&ps, cs_shape2(4, 4), CS_INIT_ORTHOGONAL, 1, "t");
    assert_int_equal(cs_params_alloc(&ps, be, false), CS_OK);
    for (int n = 0; n < 2; n++) {
        cs_mem_fail_at(n);
        assert_int_equal(cs_params_fill(&ps, 7), CS_EMEM);
        cs_mem_fail_at(-1);
        assert_non_null(strstr(cs_error_message(), "initial values of 't'"));
        cs_error_clear();
    }
    assert_int_equal(cs_params_fill(&ps, 7), CS_OK);
    cs_params_release(&ps);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_orthogonal),
        cmocka_unit_test(test_no_memory)
    };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 1, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("param", test, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}

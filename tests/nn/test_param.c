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

/* Of three shapes declared, the second is too large: the first that is refused. */
static void check_too_large(cs_shape first, cs_shape second, const char *size)
{
    cs_params ps;
    char want[160];

    snprintf(want, sizeof want, "the model is too large: its tensor 'b' would have %s elements; "
             "choose smaller sizes", size);
    cs_params_init(&ps);
    cs_declare(&ps, first, CS_INIT_ONE, 1, "a");
    assert_int_equal(cs_params_check(&ps), CS_OK);
    cs_declare(&ps, second, CS_INIT_ONE, 1, "b");
    cs_declare(&ps, second, CS_INIT_ONE, 1, "c");
    assert_int_equal(cs_params_check(&ps), CS_EUSAGE);
    assert_string_equal(cs_error_message(), want);
    cs_error_clear();
    assert_int_equal(cs_params_alloc(&ps, be, true), CS_EUSAGE);
    assert_string_equal(cs_error_message(), want);
    cs_error_clear();
    cs_params_release(&ps);
}

static void test_too_large(void **state)
{
    const int64_t max = INT32_MAX, half = (int64_t)1 << 30;

    (void)state;
    /* The products in 64 bits are 0, 2^32 and negative. */
    check_too_large(cs_shape1(max), cs_shape3(half, half, 16), "1073741824 x 1073741824 x 16");
    check_too_large(cs_shape2(max, max / 64), cs_shape3(4, half, 4 * half + 1),
                    "4 x 1073741824 x 4294967297");
    check_too_large(cs_shape2(1, 1), cs_shape3(2 * half, 2 * half, 2),
                    "2147483648 x 2147483648 x 2");
    /* Columns, elements of a vector, and all tensors together. */
    check_too_large(cs_shape2(max, 1), cs_shape3(1, 1 << 16, 1 << 15), "1 x 65536 x 32768");
    check_too_large(cs_shape3(1, 1, max), cs_shape1(max + 1), "2147483648");
    check_too_large(cs_shape2(half, 100000000), cs_shape2(half, 100000000),
                    "1073741824 x 100000000");
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_orthogonal),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_too_large)
    };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 1, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("param", test, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}

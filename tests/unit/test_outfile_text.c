/* test_outfile_text.c - numbers of outputs have the digits of printf. */
#include "tests/check.h"

#include <math.h>

#include "base/file.h"
#include "base/outfile.h"

static void assert_holds(const char *path, const char *want)
{
    char *got;
    size_t n;

    assert_int_equal(cs_file_read(path, 1 << 24, &got, &n), CS_OK);
    assert_string_equal(got, want);
    free(got);
}

/* Ties included: odd multiples of 1/128 end with a seventh decimal, which is a 5. */
static void millionths_match_printf(void **state)
{
    (void)state;
    const float odd[] = { 0, -0.0f, 1, 0.9999999f, 0.99999994f, 1e-7f, 5e-7f, 1e-40f, -0.25f, 8.5f,
                          8.9999999f, 9, 12345.678f, 3e38f, INFINITY, NAN };
    enum { N_ODD = sizeof odd / sizeof *odd, N = 3000 };
    char *want = malloc(N * 64), *p = want;
    cs_outfile *f;

    assert_non_null(want);
    assert_int_equal(cs_outfile_open("numbers", &f), CS_OK);
    for (int i = 0; i < N; i++) {
        float v = i < N_ODD ? odd[i] : i % 2 ? (float)(i * 7919 % 6011) / 6011
                                             : (float)i / 1024;
        p += snprintf(p, 64, "%.6f\n", (double)v);
        assert_int_equal(cs_outfile_millionths(f, v), CS_OK);
        assert_int_equal(cs_outfile_text(f, "\n"), CS_OK);
    }
    assert_int_equal(cs_outfile_close(f), CS_OK);
    assert_holds("numbers", want);
    free(want);
}

static void integers_match_printf(void **state)
{
    (void)state;
    const int64_t v[] = { 0, 1, -1, 9, 10, -10, 1234567890123, INT32_MIN, INT64_MAX, INT64_MIN };
    char want[sizeof v / sizeof *v * 24] = "", *p = want;
    cs_outfile *f;

    assert_int_equal(cs_outfile_open("integers", &f), CS_OK);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        p += snprintf(p, 24, "%lld\n", (long long)v[i]);
        assert_int_equal(cs_outfile_int(f, v[i]), CS_OK);
        assert_int_equal(cs_outfile_text(f, "\n"), CS_OK);
    }
    assert_int_equal(cs_outfile_close(f), CS_OK);
    assert_holds("integers", want);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(millionths_match_printf),
        cmocka_unit_test(integers_match_printf),
    };

    return cmocka_run_group_tests(test, check_enter_scratch, check_leave_scratch);
}

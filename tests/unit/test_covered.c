/* test_covered.c - sets of intervals, against a base at a time. */
#include "check.h"

#include <string.h>

#include "base/rng.h"
#include "io/covered.h"

enum { N_BASE = 200, N_ADD = 60 };

static bool any(const char *base, int64_t from, int64_t to)
{
    return memchr(base + from, 1, (size_t)(to - from)) != NULL;
}

static void check_all(const cs_covered *c, const char *contig, const char *base)
{
    for (int64_t from = 0; from < N_BASE; from++)
        for (int64_t to = from + 1; to <= N_BASE; to++)
            if (cs_covered_overlaps(c, contig, from, to) != any(base, from, to))
                fail_msg("%s: [%lld, %lld)", contig, (long long)from, (long long)to);
}

static void test_intervals_in_any_order(void **state)
{
    (void)state;
    static const char *const contig[] = { "a", "chrb" }, *const other[] = { "chra", "b" };
    uint64_t drawn = 0;
    for (int run = 0; run < 20; run++) {
        cs_covered c = { .n = 0 };
        char base[2][N_BASE] = { { 0 } };
        assert_false(cs_covered_overlaps(&c, "a", 0, N_BASE));
        for (int i = 0; i < N_ADD; i++) {
            const int k = (int)cs_rng_below(1, drawn++, 2);
            const int64_t from = (int64_t)cs_rng_below(1, drawn++, N_BASE - 12);
            const int64_t n = 1 + (int64_t)cs_rng_below(1, drawn++, 1 + (uint64_t)run / 2);
            assert_int_equal(cs_covered_add(&c, i % 3 ? contig[k] : other[k], from, from + n),
                             CS_OK);
            memset(base[k] + from, 1, (size_t)n);
            if (i % 20 == 0)
                check_all(&c, contig[k], base[k]);
        }
        for (int k = 0; k < 2; k++)
            check_all(&c, other[k], base[k]);
        assert_false(cs_covered_overlaps(&c, "c", 0, N_BASE));
        cs_covered_release(&c);
        cs_covered_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_intervals_in_any_order) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_rng.c - the generator: fixed values, uniformity, permutations. */
#include "tests/check.h"

#include "base/rng.h"

static void fixed_values(void **state)
{
    (void)state;
    /* splitmix64 seeded with 0 and with 1234567, as published with the generator: the numbers may
     * never change, because split files and checkpoints depend on them. */
    assert_true(cs_rng_u64(0, 0) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(cs_rng_u64(0, 1) == UINT64_C(0x6e789e6aa1b965f4));
    assert_true(cs_rng_u64(0, 2) == UINT64_C(0x06c45d188009454f));
    assert_true(cs_rng_u64(1234567, 0) == UINT64_C(6457827717110365317));
    assert_true(cs_rng_u64(1234567, 4) == UINT64_C(16408922859458223821));
}

static void unit_is_uniform(void **state)
{
    enum { N = 1 << 18, BINS = 64 };
    int64_t count[BINS] = { 0 };
    double sum = 0, chi2 = 0;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double u = cs_rng_unit(7, i);
        assert_true(u >= 0 && u < 1);
        assert_true((double)(float)u == u);
        count[(int)(u * BINS)]++;
        sum += u;
    }
    for (int b = 0; b < BINS; b++) {
        double d = (double)count[b] - (double)N / BINS;
        chi2 += d * d / ((double)N / BINS);
    }
    check_below(fabs(sum / N - 0.5), 0.003);        /* 5 standard errors */
    check_below(chi2, 63 + 5 * sqrt(2 * 63));
}

static void normal_is_normal(void **state)
{
    enum { N = 1 << 18 };
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double z = cs_rng_normal(11, i);
        assert_true(isfinite(z));
        m1 += z;
        m2 += z * z;
        m3 += z * z * z;
        m4 += z * z * z * z;
    }
    check_below(fabs(m1 / N), 5 * sqrt(1.0 / N));
    check_below(fabs(m2 / N - 1), 5 * sqrt(2.0 / N));
    check_below(fabs(m3 / N), 5 * sqrt(15.0 / N));
    check_below(fabs(m4 / N - 3), 5 * sqrt(96.0 / N));
}

static void below_is_in_range(void **state)
{
    static const uint64_t bound[] = { 1, 2, 3, 10, 1000, (UINT64_C(1) << 32) - 1 };

    (void)state;
    for (size_t b = 0; b < sizeof bound / sizeof bound[0]; b++) {
        double sum = 0;
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t v = cs_rng_below(b, i, bound[b]);
            assert_true(v < bound[b]);
            sum += (double)v;
        }
        double mean = ((double)bound[b] - 1) / 2;
        check_below(fabs(sum / 20000 - mean), (double)bound[b] * 5 * sqrt(1.0 / 12 / 20000));
    }
}

static void keys_are_independent(void **state)
{
    double sum = 0;

    (void)state;
    assert_true(cs_rng_key(1, 0) != cs_rng_key(1, 1));
    assert_true(cs_rng_key(1, 0) != cs_rng_key(2, 0));
    for (uint64_t i = 0; i < 100000; i++)
        sum += (cs_rng_unit(cs_rng_key(5, 0), i) - 0.5) * (cs_rng_unit(cs_rng_key(5, 1), i) - 0.5);
    check_below(fabs(sum / 100000 * 12), 5 * sqrt(1.0 / 100000));
}

static void shuffle_permutes(void **state)
{
    enum { N = 1000 };
    int64_t a[N], b[N], one = 42;
    bool seen[N] = { false };
    int n_fixed = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        a[i] = b[i] = i;
    cs_rng_shuffle(3, a, N);
    cs_rng_shuffle(3, b, N);
    assert_memory_equal(a, b, sizeof a);
    for (int i = 0; i < N; i++) {
        assert_in_range(a[i], 0, N - 1);
        assert_false(seen[a[i]]);
        seen[a[i]] = true;
        n_fixed += a[i] == i;
    }
    assert_in_range(n_fixed, 0, 10);                /* one on average */
    cs_rng_shuffle(4, b, N);
    assert_memory_not_equal(a, b, sizeof a);
    cs_rng_shuffle(5, &one, 1);
    cs_rng_shuffle(5, NULL, 0);
    assert_int_equal(one, 42);
}

static void shuffle_is_fair(void **state)
{
    int64_t count[6] = { 0 };

    (void)state;
    /* All orders of three, over many keys: each as often as the others. */
    for (uint64_t key = 0; key < 60000; key++) {
        int64_t v[3] = { 0, 1, 2 };
        cs_rng_shuffle(key, v, 3);
        count[2 * v[0] + (v[1] > v[2])]++;
    }
    for (int i = 0; i < 6; i++)
        assert_in_range(count[i], 9500, 10500);
}

static void permute_permutes(void **state)
{
    enum { N = 1 << 16 };
    static bool seen[N];

    (void)state;
    for (uint64_t n = 1; n <= N; n = n < 70 ? n + 1 : 2 * n - 13) {
        uint64_t n_fixed = 0, n_rising = 0, last = 0;
        memset(seen, 0, sizeof seen);
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t to = cs_rng_permute(n, i, n);
            assert_true(to < n && !seen[to]);
            seen[to] = true;
            n_fixed += to == i;
            n_rising += to > last;
            last = to;
        }
        assert_true(n < 70 || (n_fixed < 10 && n_rising > n * 2 / 5 && n_rising < n * 3 / 5));
    }
    /* As large as a genome: in range, and another key gives another order. */
    assert_true(cs_rng_permute(1, 0, UINT64_C(3000000000)) < UINT64_C(3000000000));
    assert_true(cs_rng_permute(1, 5, UINT64_C(3000000000)) !=
                cs_rng_permute(2, 5, UINT64_C(3000000000)));
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(fixed_values),
        cmocka_unit_test(unit_is_uniform),
        cmocka_unit_test(normal_is_normal),
        cmocka_unit_test(below_is_in_range),
        cmocka_unit_test(keys_are_independent),
        cmocka_unit_test(shuffle_permutes),
        cmocka_unit_test(shuffle_is_fair),
        cmocka_unit_test(permute_permutes),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}

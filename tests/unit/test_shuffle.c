/* test_shuffle.c - shuffled sequences keep dinucleotides, ends and length, and are equally
 * likely. */
#include "check.h"

#include "base/rng.h"
#include "io/shuffle.h"

static void count(const char *s, int64_t n, int32_t pair[256][256])
{
    memset(pair, 0, 256 * sizeof pair[0]);
    for (int64_t i = 0; i + 1 < n; i++)
        pair[(unsigned char)s[i]][(unsigned char)s[i + 1]]++;
}

static void test_pair_counts(void **state)
{
    static const char *const letters[] = { "ACGT", "AC", "A", "ACGTN" };
    static int32_t before[256][256], after[256][256];
    char s[200], was[200];

    (void)state;
    for (uint64_t k = 0; k < 400; k++) {
        const char *from = letters[k % 4];
        const int64_t n = (int64_t)cs_rng_below(1, k, 200);
        for (int64_t i = 0; i < n; i++)
            s[i] = from[cs_rng_below(k, (uint64_t)i, strlen(from))];
        memcpy(was, s, (size_t)n);
        count(s, n, before);
        assert_int_equal(cs_shuffle_pairs(s, n, k), CS_OK);
        count(s, n, after);
        assert_memory_equal(before, after, sizeof before);
        assert_true(n == 0 || (s[0] == was[0] && s[n - 1] == was[n - 1]));
    }
}

/* A walk that ends where it starts: ABACABA leaves A twice for B and once for C, in one of three
 * orders, which are equally likely. */
static void test_closed_walk(void **state)
{
    int n[3] = { 0 };

    (void)state;
    for (uint64_t k = 0; k < 30000; k++) {
        char s[8] = "ABACABA";
        assert_int_equal(cs_shuffle_pairs(s, 7, k), CS_OK);
        n[strcmp(s, "ACABABA") == 0 ? 0 : strcmp(s, "ABACABA") == 0 ? 1 : 2]++;
        assert_true(strcmp(s, "ACABABA") == 0 || strcmp(s, "ABACABA") == 0
                    || strcmp(s, "ABABACA") == 0);
    }
    for (int i = 0; i < 3; i++)
        assert_in_range(n[i], 9600, 10400);
}

/* A walk with different ends: the last exit of A is fixed, the order of the others is random. */
static void test_open_walk(void **state)
{
    int n[2] = { 0 };

    (void)state;
    /* A>B, A>C, B>A, C>A, A>D: B and C in either order, D last. */
    for (uint64_t k = 0; k < 20000; k++) {
        char s[7] = "ABACAD";
        assert_int_equal(cs_shuffle_pairs(s, 6, k), CS_OK);
        n[strcmp(s, "ABACAD") == 0]++;
        assert_true(strcmp(s, "ABACAD") == 0 || strcmp(s, "ACABAD") == 0);
    }
    assert_in_range(n[0], 9700, 10300);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_pair_counts), cmocka_unit_test(test_closed_walk),
        cmocka_unit_test(test_open_walk),
    };

    return cmocka_run_group_tests_name("shuffle", test, NULL, NULL);
}

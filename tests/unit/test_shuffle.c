/* test_shuffle.c - shuffled sequences keep words, length, and of pairs the ends, and are equally
 * likely. */
#include "check.h"

#include "base/rng.h"
#include "io/alphabet.h"
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

static void count_words(const char *base, int n, int k, int *out)
{
    for (int i = 0; i + k <= n; i++) {
        int word = 0;
        for (int j = 0; j < k; j++)
            word = 4 * word + cs_base_code[(unsigned char)base[i + j]];
        out[word]++;
    }
}

static void test_word_counts(void **state)
{
    char before[500], after[500];

    (void)state;
    for (int k = 1; k <= CS_SHUFFLE_MAX_K; k++) {
        int a[64] = { 0 }, b[64] = { 0 }, n_same = 0;
        for (size_t i = 0; i < sizeof before; i++)
            before[i] = "ACGT"[cs_rng_below(7, i, 4)];
        memcpy(after, before, sizeof after);
        assert_int_equal(cs_shuffle_words(after, sizeof after, k, (uint64_t)k), CS_OK);
        count_words(before, sizeof before, k, a);
        count_words(after, sizeof after, k, b);
        assert_memory_equal(a, b, sizeof a);
        for (size_t i = 0; i < sizeof after; i++)
            n_same += before[i] == after[i];
        assert_true(n_same < 300);
    }
    memcpy(after, "ACGNNACG", 8);
    assert_int_equal(cs_shuffle_words(after, 8, 1, 3), CS_OK);
    assert_memory_equal(after + 3, "NN", 2);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_pair_counts), cmocka_unit_test(test_closed_walk),
        cmocka_unit_test(test_open_walk), cmocka_unit_test(test_word_counts),
    };

    return cmocka_run_group_tests_name("shuffle", test, NULL, NULL);
}

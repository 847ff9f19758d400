/* test_mutate.c - mutated sequences: rates, positions, and the unchanged protein. */
#include "tests/check.h"

#include "base/rng.h"
#include "io/alphabet.h"
#include "train/mutate.h"

enum { N = 3000 };

static void random_bases(char *base, int64_t n, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        base[i] = "ACGT"[cs_rng_below(seed, (uint64_t)i, 4)];
}

static int64_t differences(const char *a, const char *b, int64_t n)
{
    int64_t d = 0;
    for (int64_t i = 0; i < n; i++)
        d += a[i] != b[i];
    return d;
}

static void test_substitutions(void **state)
{
    char base[N], work[N], out[N], again[N];
    const cs_mutation m = { .substitution = 0.1, .key = 7 };

    (void)state;
    random_bases(base, N, 1);
    memset(base + 100, 'N', 50);
    assert_int_equal(cs_mutate(&m, base, N, work, out), N);
    assert_in_range(differences(base, out, N), N / 10 - 80, N / 10 + 80);
    assert_int_equal(differences(base + 100, out + 100, 50), 0);
    assert_int_equal(cs_mutate(&m, base, N, work, again), N);
    assert_memory_equal(out, again, N);
    assert_int_equal(cs_mutate(&(cs_mutation){ .substitution = 0.1, .key = 8 }, base, N, work,
                               again), N);
    assert_true(differences(out, again, N) > N / 20);
    assert_int_equal(cs_mutate(&(cs_mutation){ .key = 7 }, base, N, work, out), N);
    assert_memory_equal(base, out, N);
}

/* Insertions and deletions move the bases behind them, equally often. */
static void test_indels(void **state)
{
    char base[N], work[N], out[N];
    int64_t sum = 0;

    (void)state;
    random_bases(base, N, 2);
    for (uint64_t key = 0; key < 200; key++) {
        const cs_mutation m = { .indel = 0.02, .key = key };
        const int64_t n = cs_mutate(&m, base, N, work, out);
        assert_in_range(n, N - 100, N);
        sum += N - n;
        assert_true(differences(base, out, n) > N / 2);
    }
    assert_in_range(sum, 200, 200 * 20);
    for (int64_t n = 1; n < 40; n++)
        for (uint64_t key = 0; key < 200; key++) {
            const cs_mutation m = { .indel = 0.5, .key = key };
            assert_in_range(cs_mutate(&m, base, n, work, out), n / 2 + (n > 0), n);
        }
}

/* Codons for methionine and tryptophane alone have no other; all others do. In a sequence of one
 * long frame every other codon changes at a rate of 1, on either strand. */
static void test_silent(void **state)
{
    static const char *const aa[] = { "ATG", "TGG", "CTG", "TCA", "GAA", "CGT" };
    static const char *const all[] = { "ATG", "TGG", "TTA TTG CTA CTC CTG CTT",
                                       "AGC AGT TCA TCC TCG TCT", "GAA GAG",
                                       "CGA CGC CGG CGT AGA AGG" };
    enum { N_CODON = 120 };
    char base[3 * N_CODON], back[3 * N_CODON], work[3 * N_CODON], out[3 * N_CODON];
    char other[3 * N_CODON];
    const cs_mutation m = { .silent = 1, .key = 3 };

    (void)state;
    for (int i = 0; i < N_CODON; i++)
        memcpy(base + 3 * i, aa[i % 6], 3);
    assert_int_equal(cs_mutate(&m, base, sizeof base, work, out), sizeof base);
    for (int i = 0; i < N_CODON; i++) {
        char codon[4] = { out[3 * i], out[3 * i + 1], out[3 * i + 2], '\0' };
        assert_non_null(strstr(all[i % 6], codon));
        assert_true((memcmp(out + 3 * i, base + 3 * i, 3) == 0) == (i % 6 < 2));
    }
    cs_base_revcomp(base, sizeof base, back);
    assert_int_equal(cs_mutate(&m, back, sizeof back, work, other), sizeof back);
    cs_base_revcomp(other, sizeof other, back);
    assert_memory_equal(back, out, sizeof out);
    /* With stops of all six frames the shorter part before them stays, and the first stop. */
    memcpy(base + 120, "TTAATTAATTAA", 12);
    assert_int_equal(cs_mutate(&m, base, sizeof base, work, out), sizeof base);
    assert_memory_equal(out, base, 124);
    assert_true(differences(out + 124, base + 124, sizeof base - 124) > 50);
}

static void test_rates(void **state)
{
    const cs_mutation max = { 0.2, 0, 0.5, 1, 0 }, some = { 0.2, 0, 0.5, 0.25, 0 };
    double sum = 0;
    int n = 0;

    (void)state;
    assert_true(cs_mutation_is_none(&(cs_mutation){ .key = 5 }));
    for (uint64_t k = 0; k < 1000; k++) {
        const cs_mutation m = cs_mutation_draw(&max, k);
        assert_true(m.substitution >= 0 && m.substitution < 0.2 && m.indel <= 0 && m.silent < 0.5);
        sum += m.substitution;
        const cs_mutation rare = cs_mutation_draw(&some, k);
        if (cs_mutation_is_none(&rare))
            continue;
        assert_true(rare.substitution == m.substitution && rare.silent == m.silent);
        n++;
    }
    assert_true(sum > 90 && sum < 110);
    assert_true(n > 200 && n < 300);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_substitutions), cmocka_unit_test(test_indels),
        cmocka_unit_test(test_silent), cmocka_unit_test(test_rates)
    };
    return cmocka_run_group_tests_name("mutate", test, NULL, NULL);
}

/* test_likeness.c - shuffled sequences differ from those with codons. */
#include "check.h"

#include <stdlib.h>

#include "base/rng.h"
#include "io/alphabet.h"
#include "io/shuffle.h"
#include "refine/likeness_fit.h"

enum { N_BASE = 3000, N_SEQUENCE = 300 };

/* "Genes": the third base of a codon is most often that of the codon before. */
static void fill(char *base, int n, uint64_t key)
{
    for (int i = 0; i < n; i++)
        base[i] = i >= 3 && i % 3 == 2 && cs_rng_unit(key, (uint64_t)i) < 0.7
                ? base[i - 3] : "ACGT"[cs_rng_below(key + 1, (uint64_t)i, 4)];
}

static cs_likeness *of(const char *base, int64_t n)
{
    cs_likeness *x = cs_xcalloc(1, sizeof *x);
    const cs_record r = { .name = "", .n_seg = 1, .seg = { { base, NULL, n } } };

    cs_likeness_of(&r, x);
    return x;
}

static void test_both_strands(void **state)
{
    char base[N_BASE], turned[N_BASE];

    (void)state;
    fill(base, N_BASE, 5);
    memset(base + 100, 'N', 50);
    cs_base_revcomp(base, N_BASE, turned);
    cs_likeness *a = of(base, N_BASE), *b = of(turned, N_BASE);
    assert_memory_equal(a, b, sizeof *a);
    free(a);
    free(b);
}

static void test_repetition(void **state)
{
    char base[600];

    (void)state;
    for (int i = 0; i < 600; i++)
        base[i] = "AT"[i % 2];
    cs_likeness *x = of(base, 600);            /* ATATAT and TATATA, each its own complement */
    assert_true(x->repetition > 0.49 && x->repetition < 0.51);
    free(x);
    memset(base, 'G', 600);
    x = of(base, 600);
    assert_true(x->repetition > 0.999 && x->repetition < 1.001);
    free(x);
    fill(base, 600, 3);
    x = of(base, 600);
    assert_true(x->repetition < 0.01);
    free(x);
    for (int n = 5; n <= 6; n++) {             /* no word and one */
        x = of(base, n);
        assert_true(x->repetition >= 0 && x->repetition <= 0 && x->contrast[0] >= 0);
        free(x);
    }
}

/* Also of words that a sequence neither has nor is expected to have. */
static void test_contrasts_are_finite(void **state)
{
    char base[600];

    (void)state;
    memset(base, 'G', sizeof base);
    cs_likeness *x = of(base, sizeof base);
    for (int i = 0; i < CS_LIKENESS_WORDS; i++)
        assert_true(isfinite(x->contrast[i]));
    free(x);
}

static void test_shuffled_is_unlike(void **state)
{
    cs_dataset d;
    static cs_calibration c = { .n = 1 };
    char base[N_BASE];
    int n_unlike[2] = { 0, 0 };

    (void)state;
    cs_dataset_init(&d, true, 1, 0);
    for (int i = 0; i < N_SEQUENCE; i++) {
        fill(base, N_BASE, (uint64_t)(10 + 2 * i));
        const cs_record r = { .name = "x", .n_seg = 1, .seg = { { base, NULL, N_BASE } } };
        assert_int_equal(cs_dataset_add(&d, &r, &(float){ (float)(i % 2) }, NULL), CS_OK);
    }
    assert_int_equal(cs_likeness_fit(&d, 2, 1, &c), CS_OK);
    cs_dataset_release(&d);
    for (int i = 0; i < 100; i++) {            /* others than those it was fitted to */
        const cs_record r = { .name = "x", .n_seg = 1, .seg = { { base, NULL, N_BASE } } };
        fill(base, N_BASE, (uint64_t)(5000 + 2 * i));
        n_unlike[0] += cs_calibration_unlike(&c, &r, i % 2);
        assert_int_equal(cs_shuffle_words(base, N_BASE, 3, (uint64_t)i), CS_OK);
        n_unlike[1] += cs_calibration_unlike(&c, &r, i % 2);
    }
    assert_true(n_unlike[0] <= 8);
    assert_true(n_unlike[1] >= 95);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_both_strands),
        cmocka_unit_test(test_repetition),
        cmocka_unit_test(test_contrasts_are_finite),
        cmocka_unit_test(test_shuffled_is_unlike),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}

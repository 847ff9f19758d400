/* test_class_shares.c - shares of classes from probabilities: mixtures, samples, state. */
#include "tests/check.h"

#include <jansson.h>

#include "base/mem.h"
#include "base/rng.h"
#include "io/class_shares.h"

enum { N_CLASS = 3 };

/* Record i of a mixture: the true class is k with probability truth[k], and the classes have normal
 * features of unit variance, 2 apart. v receives calibrated probabilities for shares `ratio`. */
static void draw(uint64_t i, const double *truth, const double *ratio, float *v)
{
    const double u = cs_rng_unit(1, i);
    const int k = u < truth[0] ? 0 : u < truth[0] + truth[1] ? 1 : 2;
    const double x = 2 * k + sqrt(-2 * log(1 - cs_rng_unit(2, i)))
                                 * cos(2 * 3.14159265358979 * cs_rng_unit(3, i));
    double p[N_CLASS], sum = 0;

    for (int c = 0; c < N_CLASS; c++)
        sum += p[c] = ratio[c] * exp(-(x - 2 * c) * (x - 2 * c) / 2);
    for (int c = 0; c < N_CLASS; c++)
        v[c] = (float)(p[c] / sum);
}

static cs_class_shares *mixture(int n, const double *truth, const double *ratio, bool with_prior)
{
    double prior[N_CLASS];
    float v[N_CLASS];
    cs_class_shares *s = NULL;

    for (int c = 0; c < N_CLASS; c++)
        prior[c] = log(ratio[c]);
    assert_int_equal(cs_class_shares_new(N_CLASS, &s), CS_OK);
    for (int i = 0; i < n; i++) {
        draw((uint64_t)i, truth, ratio, v);
        cs_class_shares_add(s, v, with_prior ? prior : NULL);
    }
    return s;
}

static const double equal[N_CLASS] = { 1, 1, 1 };

static void recovers_a_mixture(void **state)
{
    static const double truth[][N_CLASS] = {
        { 0.9, 0.08, 0.02 }, { 0.333, 0.333, 0.334 }, { 0, 0.5, 0.5 }
    };

    (void)state;
    for (size_t t = 0; t < sizeof truth / sizeof *truth; t++) {
        double share[N_CLASS], sum = 0;
        cs_class_shares *s = mixture(20000, truth[t], equal, false);
        cs_class_shares_estimate(s, share);
        for (int c = 0; c < N_CLASS; c++) {
            check_below(fabs(share[c] - truth[t][c]), 0.015);
            assert_true(share[c] > 0);
            sum += share[c];
        }
        check_below(fabs(sum - 1), 1e-12);
        cs_class_shares_free(s);
    }
}

/* Probabilities that include other shares give the same estimate, without the excluded class. */
static void divides_by_the_prior(void **state)
{
    static const double truth[N_CLASS] = { 0.7, 0.2, 0.1 }, ratio[N_CLASS] = { 0.2, 0.5, 0.3 },
        two[N_CLASS] = { 0.5, 0.5, 0 };
    double a[N_CLASS], b[N_CLASS];
    cs_class_shares *s = mixture(5000, truth, equal, false);
    cs_class_shares *q = mixture(5000, truth, ratio, true);

    (void)state;
    cs_class_shares_estimate(s, a);
    cs_class_shares_estimate(q, b);
    for (int c = 0; c < N_CLASS; c++)
        check_below(fabs(a[c] - b[c]), 1e-4);
    cs_class_shares_free(q);
    q = mixture(5000, truth, two, true);
    cs_class_shares_estimate(q, b);
    check_below(b[2], 1.1 / 5003);
    check_below(fabs(b[0] + b[1] + b[2] - 1), 1e-12);
    cs_class_shares_free(s);
    cs_class_shares_free(q);
}

static void leaves_out_what_is_not_finite(void **state)
{
    float v[N_CLASS] = { 0.5F, 0.25F, 0.25F };
    cs_prediction a = { .v = v, .n = N_CLASS, .reason = CS_REASON_LOW_PROB };

    (void)state;
    assert_true(cs_class_shares_takes(&a));
    a.reason = CS_REASON_UNLIKE;
    assert_false(cs_class_shares_takes(&a));
    a.reason = CS_REASON_NONE;
    v[N_CLASS - 1] = NAN;
    assert_false(cs_class_shares_takes(&a));
    v[N_CLASS - 1] = INFINITY;
    assert_false(cs_class_shares_takes(&a));
}

static void without_records_shares_are_equal(void **state)
{
    double share[N_CLASS];
    cs_class_shares *s = NULL;

    (void)state;
    assert_int_equal(cs_class_shares_new(N_CLASS, &s), CS_OK);
    cs_class_shares_estimate(s, share);
    for (int c = 0; c < N_CLASS; c++)
        check_below(fabs(share[c] - 1.0 / N_CLASS), 1e-12);
    cs_class_shares_free(s);
}

/* More records than the sample holds, in an order that alternates classes. */
static void samples_many_records(void **state)
{
    enum { N = 1 << 21 };
    double share[N_CLASS];
    cs_class_shares *s = NULL;

    (void)state;
    assert_int_equal(cs_class_shares_new(N_CLASS, &s), CS_OK);
    for (int i = 0; i < N; i++) {
        const float v[N_CLASS] = { i % 2 == 0, i % 2 == 1 && i % 16 != 1, i % 16 == 1 };
        cs_class_shares_add(s, v, NULL);
    }
    assert_true(s->n_record == N);
    assert_true(s->n <= s->max && s->n > s->max / 3);
    cs_class_shares_estimate(s, share);
    check_below(fabs(share[0] - 0.5), 0.005);
    check_below(fabs(share[2] - 0.0625), 0.003);
    cs_class_shares_free(s);
}

/* A class that is not in a sample may be rare: it gets a record of the sample, not of all. */
static void adds_to_the_sample(void **state)
{
    enum { N = 1 << 20 };
    const float v[N_CLASS] = { 1 };
    double share[N_CLASS];
    cs_class_shares *s = NULL;

    (void)state;
    assert_int_equal(cs_class_shares_new(N_CLASS, &s), CS_OK);
    for (int i = 0; i < N; i++)
        cs_class_shares_add(s, v, NULL);
    assert_true(s->n < N);
    cs_class_shares_estimate(s, share);
    check_below(fabs(share[1] - 1.0 / (double)(s->n + N_CLASS)), 1e-12);
    cs_class_shares_free(s);
}

/* With so many classes the sample has about 1,500 records. */
static void takes_hundreds_of_classes(void **state)
{
    enum { MANY = 500, N = 20000 };
    float v[MANY] = { 0 };
    double share[MANY];
    cs_class_shares *s = NULL;

    (void)state;
    assert_int_equal(cs_class_shares_new(MANY, &s), CS_OK);
    for (int i = 0; i < N; i++) {
        v[0] = i % 2 == 0;
        v[1] = i % 2 == 1;
        cs_class_shares_add(s, v, NULL);
    }
    cs_class_shares_estimate(s, share);
    check_below(fabs(share[0] - 0.5), 0.03);
    check_below(fabs(share[1] - 0.5), 0.03);
    for (int k = 2; k < MANY; k++)
        check_below(fabs(share[k] - 1.0 / (N + MANY)), 1e-12);
    cs_class_shares_free(s);
}

/* A saved state continues as if it had not been interrupted; a damaged one is refused. */
static void state_is_saved(void **state)
{
    static const double truth[N_CLASS] = { 0.7, 0.2, 0.1 };
    double a[N_CLASS], b[N_CLASS];
    float v[N_CLASS];
    cs_class_shares *s = mixture(1000, truth, equal, false), *q = NULL;
    json_t *j = cs_class_shares_save(s);

    (void)state;
    assert_int_equal(cs_class_shares_new(N_CLASS, &q), CS_OK);
    assert_true(cs_class_shares_restore(q, j));
    for (uint64_t i = 1000; i < 2000; i++) {
        draw(i, truth, equal, v);
        cs_class_shares_add(s, v, NULL);
        cs_class_shares_add(q, v, NULL);
    }
    cs_class_shares_estimate(s, a);
    cs_class_shares_estimate(q, b);
    assert_memory_equal(a, b, sizeof a);
    json_object_set_new(j, "random", json_string("00"));
    assert_false(cs_class_shares_restore(q, j));
    json_object_del(j, "random");
    assert_false(cs_class_shares_restore(q, j));
    json_decref(j);
    cs_class_shares_free(s);
    cs_class_shares_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers_a_mixture),
        cmocka_unit_test(divides_by_the_prior),
        cmocka_unit_test(leaves_out_what_is_not_finite),
        cmocka_unit_test(without_records_shares_are_equal),
        cmocka_unit_test(samples_many_records),
        cmocka_unit_test(adds_to_the_sample),
        cmocka_unit_test(takes_hundreds_of_classes),
        cmocka_unit_test(state_is_saved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

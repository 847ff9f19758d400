/* test_schedule.c - learning rates at the places where a formula can be off by one. */
#include "check.h"

#include "train/pace.h"

static double at(cs_decay kind, int64_t warmup, int64_t total, int64_t t)
{
    const cs_schedule s = { .kind = kind, .warmup = warmup, .total = total, .cycles = 0.5,
                            .power = 2, .floor = 0.1 };

    return cs_schedule_factor(&s, t);
}

static void test_warmup(void **state)
{
    (void)state;
    for (cs_decay k = CS_DECAY_CONSTANT; k <= CS_DECAY_POLYNOMIAL; k++) {
        check_near(at(k, 10, 100, 0), 0, 0);
        check_near(at(k, 10, 100, 5), 0.5, 0);
        check_near(at(k, 10, 100, 10), 1, 1e-15);
        check_near(at(k, 0, 100, 0), 1, 1e-15);
        check_near(at(k, 200, 100, 150), 0.75, 0);
    }
}

static void test_decay(void **state)
{
    (void)state;
    check_near(at(CS_DECAY_CONSTANT, 10, 100, 1000), 1, 0);
    check_near(at(CS_DECAY_LINEAR, 10, 110, 60), 0.5, 1e-15);
    check_near(at(CS_DECAY_LINEAR, 10, 110, 110), 0, 0);
    check_near(at(CS_DECAY_LINEAR, 10, 110, 120), 0, 0);
    check_near(at(CS_DECAY_COSINE, 10, 110, 60), 0.5, 1e-15);
    check_near(at(CS_DECAY_COSINE, 10, 110, 110), 0, 1e-15);
    check_near(at(CS_DECAY_POLYNOMIAL, 10, 110, 60), 0.9 * 0.25 + 0.1, 1e-15);
    check_near(at(CS_DECAY_POLYNOMIAL, 10, 110, 110), 0.1, 1e-15);
    check_near(at(CS_DECAY_POLYNOMIAL, 10, 110, 500), 0.1, 0);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(cs_decay_names[CS_DECAY_LINEAR], "linear");
    assert_string_equal(cs_decay_names[CS_DECAY_POLYNOMIAL], "polynomial");
    assert_null(cs_decay_names[CS_DECAY_POLYNOMIAL + 1]);
}

/* Values of --budget, and the resulting learning rate and ends of epochs. */
static void test_pace(void **state)
{
    static const struct { const char *text; double seconds; int64_t n_base; } good[] = {
        { "90s", 90, 0 }, { "1.5m", 90, 0 }, { "2h", 7200, 0 }, { "1d", 86400, 0 },
        { "1h30m", 5400, 0 }, { "1d12h", 129600, 0 }, { "1h5s", 3605, 0 },
    };
    static const char *const bad[] = { "", "10", "m", "-3m", "0s", "5x", "3mm", "1.5M", "0M",
                                       "1h30", "30m1h", "1h1h", "1hm", "1h-5m", "1h 30m",
                                       "nan" };
    cs_train_state st = { 0 };
    cs_pace p = { .schedule = { .kind = CS_DECAY_LINEAR }, .warmup = 0.1 };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(cs_train_budget_parse(good[i].text, &p.budget), CS_OK);
        assert_true(p.budget.seconds == good[i].seconds && p.budget.n_base == good[i].n_base);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(cs_train_budget_parse(bad[i], &p.budget), CS_EUSAGE);
        cs_error_clear();
    }
    assert_int_equal(cs_train_budget_parse("1M", &p.budget), CS_OK);
    const int64_t all = p.budget.n_base;
    assert_true(all >= 1000000 && p.budget.seconds == 0);
    st.n_base = all / 2;
    assert_true(fabs(cs_pace_done(&p, &st, 1e9) - 0.5) < 1e-6);
    assert_true(fabs(cs_pace_factor(&p, 7, 0.05) - 0.5) < 1e-3);
    assert_true(fabs(cs_pace_factor(&p, 7, 0.1) - 1) < 1e-3);
    assert_true(fabs(cs_pace_factor(&p, 7, 0.55) - 0.5) < 1e-3);
    assert_true(cs_pace_factor(&p, 7, 1) == 0);
    p.warmup = 10;
    assert_true(fabs(cs_pace_factor(&p, 5, 0.9) - 0.5) < 1e-6);
    assert_true(cs_pace_validates(&p, &st, 0.5) && !cs_pace_validates(&p, &st, 0.05));
    st.done_before = 0.45;
    assert_true(!cs_pace_validates(&p, &st, 0.5) && cs_pace_validates(&p, &st, 1));
    /* A time budget reserves the last validation, and one after it; others take at most a sixth. */
    p.budget = (cs_train_budget){ .seconds = 100 };
    p.after.n_valid = 1;
    st.valid_seconds = 10;
    assert_true(fabs(cs_pace_done(&p, &st, 40) - 0.5) < 1e-6);
    assert_true(cs_pace_done(&p, &st, 80) >= 1);
    st.done_before = 0;
    st.epoch_seconds = 49;
    assert_false(cs_pace_validates(&p, &st, 0.5));
    st.epoch_seconds = 51;
    assert_true(cs_pace_validates(&p, &st, 0.5));
    /* Before the first one its time follows from the speed of training, at a third per base. */
    st = (cs_train_state){ .epoch_seconds = 5, .sum.n_base = 1000 };
    p.valid_bases = 6000;
    assert_true(fabs(cs_pace_done(&p, &st, 40) - 0.5) < 1e-6);
    assert_false(cs_pace_validates(&p, &st, 0.5));
    assert_true(cs_pace_too_late(&p, &st, 91) && !cs_pace_too_late(&p, &st, 89));
    st.best = NAN;
    assert_false(cs_pace_too_late(&p, &st, 91));
    p.valid_bases = 600;
    assert_true(fabs(cs_pace_done(&p, &st, 47.5) - 0.5) < 1e-6);
    assert_true(cs_pace_validates(&p, &st, 0.5));
    p.budget = (cs_train_budget){ 0 };
    assert_false(cs_pace_validates(&p, &st, 0.5));
}

/* A budget of time reserves what follows the run, before and after the first validation. */
static void test_after(void **state)
{
    const cs_pace p = { .budget.seconds = 100, .after = { 2, 60 } };
    cs_train_state st = { 0 };

    (void)state;
    assert_true(fabs(cs_pace_done(&p, &st, 20) - 0.5) < 1e-6);
    st.valid_seconds = 10;
    assert_true(fabs(cs_pace_done(&p, &st, 5) - 0.5) < 1e-6);
}

/* The schedule begins at 0 after any time before the run, and is not set back when the time of a
 * validation is known; training keeps a tenth of the rest. */
static void test_began(void **state)
{
    cs_pace p = { .budget.seconds = 111 };
    cs_train_state st = { .began = 96 };

    (void)state;
    assert_true(fabs(cs_pace_done(&p, &st, 96)) < 1e-9);
    assert_true(cs_pace_done(&p, &st, 98) > 0.1 && cs_pace_done(&p, &st, 98) < 0.15);
    st.valid_seconds = 0.1;
    assert_true(cs_pace_done(&p, &st, 98) > 0.1);
    assert_true(cs_pace_done(&p, &st, 111) >= 1);
    p.after.seconds = 60;
    assert_true(fabs(cs_pace_done(&p, &st, 97.5) - 1) < 1e-6);
}

/* Without progress since an eighth of the budget, the rest of the schedule takes another eighth. */
static void test_anneal(void **state)
{
    cs_train_state st = { .best_done = 0.125 };
    cs_pace p = { .schedule = { .kind = CS_DECAY_CONSTANT } };

    (void)state;
    assert_false(cs_pace_anneal(&p, &st, 0.5));
    assert_int_equal(cs_train_budget_parse("1M", &p.budget), CS_OK);
    const double all = (double)p.budget.n_base;
    assert_false(cs_pace_anneal(&p, &st, 0.5));
    p.schedule.kind = CS_DECAY_COSINE;
    assert_false(cs_pace_anneal(&p, &st, 1));
    st.n_base = llround(all / 2);
    assert_true(st.anneal_rate <= 0 && fabs(cs_pace_done(&p, &st, 0) - 0.5) < 1e-6);
    assert_true(cs_pace_anneal(&p, &st, 0.5));
    assert_true(fabs(cs_pace_done(&p, &st, 0) - 0.5) < 1e-6);
    st.n_base = llround(all * (0.5 + 0.0625));
    assert_true(fabs(cs_pace_done(&p, &st, 0) - 0.75) < 1e-5);
    st.n_base = llround(all * (0.5 + 0.126));
    assert_true(cs_pace_done(&p, &st, 0) >= 1);
    assert_false(cs_pace_anneal(&p, &st, 0.75));
    /* It never takes longer than the budget. */
    st = (cs_train_state){ .best_done = 0.9, .n_base = llround(all) };
    assert_true(cs_pace_anneal(&p, &st, 0.95) && cs_pace_done(&p, &st, 0) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warmup), cmocka_unit_test(test_decay), cmocka_unit_test(test_names),
        cmocka_unit_test(test_pace), cmocka_unit_test(test_after),
        cmocka_unit_test(test_began), cmocka_unit_test(test_anneal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

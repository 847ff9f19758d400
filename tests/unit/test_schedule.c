/* test_schedule.c - learning rates at the places where a formula can be off by one. */
#include "check.h"

#include "train/schedule.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warmup), cmocka_unit_test(test_decay), cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_best.c - which validation has the best model: ties of accuracies, and patience. */
#include "check.h"

#include "train/best.h"

static const cs_head classes = { .is_class = true };

static bool update(cs_train_state *st, double balanced, double loss)
{
    const cs_loop_opt o = { .monitor = CS_MONITOR_AUTO };
    const cs_metrics f = { .n = 1, .balanced = balanced, .loss = loss };
    const bool best = cs_best_update(&o, &classes, &f, 0, st);

    st->epoch++;
    return best;
}

/* Of equal accuracies the lower loss is better, but it is no progress for --patience. */
static void test_ties(void **state)
{
    cs_train_state st = { .best = NAN, .own_best = NAN, .lowest_loss = NAN };

    (void)state;
    assert_true(update(&st, 0.8, 0.5));
    assert_int_equal(st.n_bad, 0);
    assert_false(update(&st, 0.8, 0.6));
    assert_int_equal(st.n_bad, 1);
    assert_true(update(&st, 0.8, 0.4));
    assert_int_equal(st.n_bad, 2);
    assert_int_equal(st.best_epoch, 3);
    assert_true(update(&st, 0.9, 0.7));
    assert_int_equal(st.n_bad, 0);
    assert_false(update(&st, 0.85, 0.1));
    assert_int_equal(st.best_epoch, 4);
}

/* The model that the run starts from keeps its place until an accuracy is higher. */
static void test_start(void **state)
{
    cs_train_state st = { .best = 0.8, .best_loss = 0.5, .own_best = NAN, .lowest_loss = NAN };

    (void)state;
    assert_false(update(&st, 0.8, 0.4));
    assert_int_equal(st.best_epoch, 0);
    assert_true(update(&st, 0.81, 0.6));
    assert_int_equal(st.best_epoch, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_ties), cmocka_unit_test(test_start) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_standardize.c - means and deviations of values to predict. */
#include "check.h"

#include "train/standardize.h"

enum { N = 6, N_TARGET = 4 };

/* The moments are those of known values of training records; the last record is for validation. */
static void test_moments(void **state)
{
    static const float target[N][N_TARGET] = {
        { 1e6F + 1, 7, NAN, 0 }, { 1e6F + 3, 7, NAN, NAN }, { 1e6F + 1, 7, NAN, 4e-6F },
        { 1e6F + 3, 7, NAN, 8e-6F }, { 1e6F + 2, 7, NAN, NAN }, { 0, 0, 5, 1 },
    };
    cs_dataset d;
    cs_label label[N_TARGET] = { { 0 } };    /* big, constant, unknown, small */

    (void)state;
    cs_dataset_init(&d, false, N_TARGET, 0);
    for (int i = 0; i < N; i++) {
        const cs_record r = { .name = "r", .n_seg = 1, .seg = { { "ACGT", NULL, 4 } } };
        assert_int_equal(cs_dataset_add(&d, &r, target[i], NULL), CS_OK);
        d.ex[i].part = i < N - 1 ? CS_PART_TRAIN : CS_PART_VALID;
    }
    cs_standardize_labels(&d, label);
    check_near(label[0].mean, 1e6 + 2, 1e-9);
    check_near(label[0].deviation, sqrt(4.0 / 5), 1e-9);
    check_near(label[1].mean, 7, 1e-12);
    check_near(label[1].deviation, 1, 1e-12);
    assert_true(label[2].deviation == 0);
    check_near(label[3].mean, 4e-6, 1e-12);
    check_near(label[3].deviation, sqrt(32.0 / 3) * 1e-6, 1e-12);
    /* The inverse */
    check_near(cs_label_standardize(&label[0], 1e6 + 3), sqrt(5) / 2, 1e-9);
    check_near(cs_label_destandardize(&label[0], sqrt(5) / 2), 1e6 + 3, 1e-9);
    assert_true(cs_label_standardize(&label[2], 5) == 5);
    assert_true(cs_label_destandardize(&label[2], 5) == 5);
    assert_true(isnan(cs_label_standardize(&label[3], NAN)));
    cs_dataset_release(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_folds.c - folds that dealing alone leaves without a class. */
#include "check.h"

#include "train/folds.h"

enum { K = 3 };

/* Groups with bases of each class, of which dealing alone leaves a fold without a class. */
static void check_repair(const int64_t (*bases)[K], int n, int n_fold, const char *error)
{
    static char *names[] = { "chr", "pl", "mt" };
    const cs_classes classes = { .name = names, .n = K };
    static char base[5000];
    char group[16];
    bool has[3][K] = { { false } };
    cs_folds f;
    cs_dataset d = { 0 };

    memset(base, 'A', sizeof base);
    cs_dataset_init(&d, true, 1, 0);
    for (int i = 0; i < K * n; i++) {
        const float target = (float)(i % K);
        const cs_record r = { .name = "r", .n_seg = 1,
                              .seg = { { base, NULL, bases[i / K][i % K] } } };
        (void)snprintf(group, sizeof group, "g%d", i / K);
        if (bases[i / K][i % K] > 0)
            assert_int_equal(cs_dataset_add(&d, &r, &target, group), CS_OK);
    }
    const int rc = cs_folds_assign(&d, &classes, n_fold, 7, "grp", &f);
    if (error != NULL)
        assert_string_equal(cs_error_message(), error);
    assert_int_equal(rc, error != NULL ? CS_EUSAGE : CS_OK);
    cs_error_clear();
    for (int64_t i = 0; i < d.n; i++) {
        has[f.of[i]][d.ex[i].class_no] = true;
        assert_true(i == 0 || d.ex[i].group != d.ex[i - 1].group || f.of[i] == f.of[i - 1]);
    }
    for (int k = 0; k < n_fold * d.n_class && error == NULL; k++)
        assert_true(has[k / d.n_class][k % d.n_class]);
    cs_folds_release(&f);
    cs_dataset_release(&d);
}

static void test_repair(void **state)
{
    static const int64_t move[][K] = { { 1066, 22 }, { 944, 708 }, { 4192 }, { 483 },
                                       { 1004, 85 }, { 1189, 53 }, { 318, 2949 }, { 638, 495 },
                                       { 377, 49 } };
    static const int64_t swap[][K] = { { 180, 0, 300 }, { 0, 0, 110 }, { 80, 270 },
                                       { 0, 250, 130 } };
    static const int64_t none[][K] = { { 130, 150 }, { 0, 200, 110 }, { 180, 0, 180 } };

    (void)state;
    check_repair(move, 9, 3, NULL);
    check_repair(swap, 4, 2, NULL);
    check_repair(none, 3, 2, "found no split of the groups by grp with class 'chr' in all folds; "
                 "lower --folds 2, give another --split-by, or leave a class out with "
                 "--label-map");
    check_repair(none, 3, 3, "class 'chr' has 2 groups by grp, too few for --folds 3, and 2 other "
                 "classes have too few; lower it, give another --split-by, or leave these classes "
                 "out with --label-map");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_repair) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_class_weights.c - weights of --class-weights, for classes, labels, bases and variants. */
#include "check.h"

#include "registry.h"
#include "train/class_weights.h"

enum { N = 8, N_TARGET = 2 };

static cs_classes names;
static cs_dataset data;

/* Records with targets; the last one is for validation. */
static void make_data(bool are_classes, int n_target, const float *target)
{
    int no;

    cs_dataset_init(&data, are_classes, n_target, 0);
    for (int i = 0; i < N; i++) {
        const cs_record r = { .name = "r", .n_seg = 1, .seg = { { "ACGT", NULL, 4 } } };
        assert_int_equal(cs_dataset_add(&data, &r, target + i * n_target, NULL), CS_OK);
        data.ex[i].part = i < N - 1 ? CS_PART_TRAIN : CS_PART_VALID;
    }
    assert_int_equal(cs_classes_add(&names, "a", &no), CS_OK);
    assert_int_equal(cs_classes_add(&names, "b", &no), CS_OK);
}

static void check_list(const char *list, const char *head, const float *want, int n)
{
    float *w;

    assert_int_equal(cs_class_weights(list, cs_head_find(head), &data, &names, &w), CS_OK);
    for (int i = 0; i < n; i++)
        check_near((double)w[i], (double)want[i], 1e-6);
    free(w);
    cs_dataset_release(&data);
    cs_classes_release(&names);
    names = (cs_classes){ 0 };
}

static void check_weights(const char *head, const float *want, int n)
{
    check_list("balanced", head, want, n);
}

/* Classes have equal sums of weights, and records a mean weight of 1. */
static void test_classes(void **state)
{
    static const float class_no[N] = { 0, 0, 0, 0, 0, 1, 1, 1 };

    (void)state;
    make_data(true, 1, class_no);
    check_weights("class", (const float[]){ 7.0F / (2 * 5), 7.0F / (2 * 2) }, 2);
}

/* The 1s of a label weigh as much as its 0s; unknown targets do not count. */
static void test_labels(void **state)
{
    static const float target[N][N_TARGET] = {
        { 1, 0 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { 0, 1 }, { NAN, 1 }, { NAN, 0 }, { 1, 0 },
    };

    (void)state;
    make_data(false, N_TARGET, *target);
    check_weights("multilabel", (const float[]){ 1, 4, 1, 2.0F / 5 }, 2 * N_TARGET);
}

/* A label that is 0 or 1 in all records has nothing to balance. */
static void test_constant_labels(void **state)
{
    static const float target[N][N_TARGET] = {
        { 1, 0 }, { 1, 0 }, { 1, 0 }, { 1, 0 }, { 1, 0 }, { 1, 0 }, { 1, 0 }, { 0, 1 },
    };

    (void)state;
    make_data(false, N_TARGET, *target);
    check_weights("multilabel", (const float[]){ 1, 1, 1, 1 }, 2 * N_TARGET);
}

/* Labels that are not named keep 1, and so do the 0s of every label. */
static void test_named_labels(void **state)
{
    static const float target[N][3] = { { 0 } };
    int no;

    (void)state;
    make_data(false, 3, *target);
    assert_int_equal(cs_classes_add(&names, "c", &no), CS_OK);
    check_list("b=4", "multilabel", (const float[]){ 1, 1, 1, 4, 1, 1 }, 6);
}

/* Classes of bases count bases, not records: 16 of class a, all background, and 12 of class b. */
static void test_bases(void **state)
{
    const cs_span span[2] = { { 0, 2, 1 }, { 3, 4, 1 } };
    const cs_record r = { .name = "r", .n_seg = 1, .seg = { { "ACGTACG", NULL, 7 } } };
    int no;

    (void)state;
    cs_dataset_init(&data, true, CS_TARGET_TOKENS, 0);
    assert_int_equal(cs_classes_add(&names, "a", &no), CS_OK);
    assert_int_equal(cs_classes_add(&names, "b", &no), CS_OK);
    data.background = 0;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(cs_dataset_add_spans(&data, &r, span, 2, NULL), CS_OK);
        data.ex[i].part = i < 4 ? CS_PART_TRAIN : CS_PART_VALID;
    }
    check_weights("token", (const float[]){ 28.0F / (2 * 16), 28.0F / (2 * 12) }, 2);
}

/* Of variants the known 0s and 1s of all labels together. */
static void test_variants(void **state)
{
    static const float target[N][N_TARGET] = {
        { 1, 0 }, { 0, NAN }, { 0, 0 }, { 0, 0 }, { 0, NAN }, { NAN, 1 }, { NAN, 0 }, { 1, 1 },
    };

    (void)state;
    make_data(false, N_TARGET, *target);
    check_weights("variant", (const float[]){ 10.0F / (2 * 8), 10.0F / (2 * 2) }, 2);
}

static void test_values_have_no_classes(void **state)
{
    float *w;

    (void)state;
    assert_int_equal(cs_class_weights("balanced", cs_head_find("regress"), &data, &names, &w),
                     CS_EUSAGE);
    assert_string_equal(cs_error_message(), "--class-weights is for classes, but the head predicts "
                        "values");
    cs_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes), cmocka_unit_test(test_labels),
        cmocka_unit_test(test_constant_labels),
        cmocka_unit_test(test_named_labels), cmocka_unit_test(test_bases),
        cmocka_unit_test(test_variants), cmocka_unit_test(test_values_have_no_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_class_weights.c - weights of --class-weights balanced, for classes and for labels. */
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

static void check_weights(const char *head, const float *want, int n)
{
    float *w;

    assert_int_equal(cs_class_weights("balanced", cs_head_find(head), &data, &names, &w), CS_OK);
    for (int i = 0; i < n; i++)
        check_near((double)w[i], (double)want[i], 1e-6);
    free(w);
    cs_dataset_release(&data);
    cs_classes_release(&names);
    names = (cs_classes){ 0 };
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes), cmocka_unit_test(test_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

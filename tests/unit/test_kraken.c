/* test_kraken.c - Kraken 2's formats: order and codes of the report, windows and mates. */
#include "inputs.h"

#include "base/file.h"
#include "io/writer.h"

extern const cs_writer cs_write_kraken, cs_write_kreport;

enum { EUKARYA, BACTERIA, VIRUS, CELLS, N_LABEL };
static const char *const label[] = { "eukarya", "bacteria", "virus", "cells" };
static cs_taxonomy *tree;

static int setup(void **state)
{
    if (inputs_setup(state) != 0)
        return -1;
    put_text("taxa.tsv", "eukarya\t2759\tdomain\t131567\tEukaryota\n"
                         "bacteria\t2\tdomain\t131567\tBacteria\n"
                         "virus\t10239\tacellular root\t1\tViruses\n"
                         "cells\t131567\tcellular root\t1\tcellular organisms\n");
    return cs_taxonomy_read("taxa.tsv", NULL, label, N_LABEL, &tree) == CS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    cs_taxonomy_free(tree);
    return inputs_teardown(state);
}

static cs_output *open_output(const cs_writer *w)
{
    const cs_output_info info = { .label = label, .n_label = N_LABEL, .is_class = true,
                                  .taxonomy = tree };
    cs_output *o = NULL;

    assert_int_equal(cs_output_open(w, "out", &info, &o), CS_OK);
    return o;
}

static void close_and_compare(cs_output *o, const char *want)
{
    char *got;
    size_t n;

    assert_int_equal(cs_output_close(o), CS_OK);
    assert_int_equal(cs_file_read("out", 1 << 20, &got, &n), CS_OK);
    assert_string_equal(got, want);
    free(got);
}

static void call(cs_output *o, int class_no)
{
    float v[N_LABEL] = { 0 };
    const cs_record r = { .name = "r", .comment = "", .n_seg = 1, .seg = { { "", NULL, 9 } } };

    v[class_no] = 1;
    assert_int_equal(cs_output_record(o, &r, &(cs_prediction){ .v = v, .n = N_LABEL }), CS_OK);
}

/* Equal counts are ordered by taxid, not by the order of classes. */
static void test_equal_counts(void **state)
{
    cs_output *o = open_output(&cs_write_kreport);

    (void)state;
    call(o, EUKARYA);
    call(o, BACTERIA);
    close_and_compare(o, "  0.00\t0\t0\tU\t0\tunclassified\n"
                         "100.00\t2\t0\tR\t1\troot\n"
                         "100.00\t2\t0\tR1\t131567\t  cellular organisms\n"
                         " 50.00\t1\t1\tD\t2\t    Bacteria\n"
                         " 50.00\t1\t1\tD\t2759\t    Eukaryota\n");
}

/* A class without a lettered rank has code D, but not one that contains domains. */
static void test_codes(void **state)
{
    cs_output *o = open_output(&cs_write_kreport);

    (void)state;
    call(o, CELLS);
    call(o, CELLS);
    call(o, VIRUS);
    close_and_compare(o, "  0.00\t0\t0\tU\t0\tunclassified\n"
                         "100.00\t3\t0\tR\t1\troot\n"
                         " 66.67\t2\t2\tR1\t131567\t  cellular organisms\n"
                         " 33.33\t1\t1\tD\t10239\t  Viruses\n");
}

/* The last column has the number of windows, and the call of each mate. */
static void test_windows_and_mates(void **state)
{
    cs_output *o = open_output(&cs_write_kraken);
    float v[N_LABEL] = { [BACTERIA] = 1 };
    const cs_record one = { .name = "one", .n_seg = 1, .seg = { { "", NULL, 900 } } },
                    two = { .name = "two", .n_seg = 2, .seg = { { "", NULL, 90 },
                                                                { "", NULL, 80 } } };

    (void)state;
    assert_int_equal(cs_output_record(o, &one, &(cs_prediction){
        .v = v, .n = N_LABEL, .n_window = { 3 } }), CS_OK);
    assert_int_equal(cs_output_record(o, &two, &(cs_prediction){
        .v = v, .n = N_LABEL, .n_window = { 1, 2 }, .mate = { VIRUS, -1 } }), CS_OK);
    close_and_compare(o, "C\tone\t2\t900\t2:3\n"
                         "C\ttwo\t2\t90|80\t10239:1 |:| 0:2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_counts), cmocka_unit_test(test_codes),
        cmocka_unit_test(test_windows_and_mates),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* test_tsv.c - the TSV writer: exact bytes, reasons, and files that are complete or absent. */
#include "inputs.h"

#include "base/file.h"
#include "io/writer.h"

extern const cs_writer cs_write_tsv;

static const char *const label[] = { "virus", "plasmid", "archaea" };

static void write_one(cs_output *o, const char *name, int64_t n_base, float *v, int64_t n,
                      cs_reason reason)
{
    const cs_record r = {
        .name = name, .comment = "", .n_seg = 1, .seg = { { "", NULL, n_base } }
    };
    const cs_prediction a = { .v = v, .n = n, .reason = reason };
    assert_int_equal(cs_output_record(o, &r, &a), CS_OK);
    assert_int_equal(a.reason, reason);
}

static void check_file(const char *path, const char *want)
{
    char *got;
    size_t n;
    assert_int_equal(cs_file_read(path, 1 << 20, &got, &n), CS_OK);
    assert_string_equal(got, want);
    free(got);
}

static void write_classes(const cs_output_info *info)
{
    cs_output *o = NULL;
    assert_int_equal(cs_output_open(&cs_write_tsv, "out.tsv", info, &o), CS_OK);
    write_one(o, "a", 10, (float[]){ 0.25f, 0.5f, 0.25f }, 3, CS_REASON_NONE);
    write_one(o, "tie", 5000000000, (float[]){ 0.5f, 0.5f, 0 }, 3, CS_REASON_NONE);
    write_one(o, "low", 7, (float[]){ 0.3f, 0.3f, 0.4f }, 3, CS_REASON_LOW_PROB);
    write_one(o, "", 0, NULL, 0, CS_REASON_EMPTY);
    write_one(o, "n", 9, NULL, 0, CS_REASON_ALL_N);
    assert_int_equal(o->n_record, 5);
    assert_int_equal(o->n_reason[CS_REASON_EMPTY], 1);
    assert_int_equal(o->n_reason[CS_REASON_LOW_PROB], 1);
    assert_int_equal(access("out.tsv", F_OK), -1);       /* absent until it is complete */
    assert_int_equal(cs_output_close(o), CS_OK);
}

static void test_classes(void **state)
{
    (void)state;
    _Alignas(max_align_t) char with_all[CS_WRITER_CFG];
    cs_opt_defaults((const cs_optset[]){ { cs_write_tsv.opt, with_all, NULL }, { 0 } });
    assert_int_equal(cs_opt_set(cs_write_tsv.opt, with_all, "all", "1"), CS_OK);
    const cs_output_info all = { .label = label, .n_label = 3, .is_class = true, .cfg = with_all };
    const cs_output_info best = { .label = label, .n_label = 3, .is_class = true };
    write_classes(&best);
    check_file("out.tsv", "name\tlength\tlabel\tprobability\treason\n"
               "a\t10\tplasmid\t0.500000\t.\n"
               "tie\t5000000000\tvirus\t0.500000\t.\n"
               "low\t7\tunclassified\t0.400000\tlow_probability\n"
               "*\t0\tunclassified\t.\tempty\n"
               "n\t9\tunclassified\t.\tno_known_base\n");
    assert_int_equal(unlink("out.tsv"), 0);
    write_classes(&all);
    check_file("out.tsv", "name\tlength\tlabel\tprobability\treason\tprob_virus\tprob_plasmid\t"
               "prob_archaea\n"
               "a\t10\tplasmid\t0.500000\t.\t0.250000\t0.500000\t0.250000\n"
               "tie\t5000000000\tvirus\t0.500000\t.\t0.500000\t0.500000\t0.000000\n"
               "low\t7\tunclassified\t0.400000\tlow_probability\t0.300000\t0.300000\t0.400000\n"
               "*\t0\tunclassified\t.\tempty\t.\t.\t.\n"
               "n\t9\tunclassified\t.\tno_known_base\t.\t.\t.\n");
}

static void test_values(void **state)
{
    (void)state;
    cs_output *o = NULL;
    const cs_output_info info = { .label = label, .n_label = 2 };
    assert_int_equal(cs_output_open(&cs_write_tsv, "v.tsv", &info, &o), CS_OK);
    write_one(o, "a", 10, (float[]){ 0.123456789f, -1.5e10f }, 2, CS_REASON_NONE);
    write_one(o, "b", 1, NULL, 0, CS_REASON_TOO_SHORT);
    assert_int_equal(cs_output_close(o), CS_OK);
    check_file("v.tsv", "name\tlength\tvirus\tplasmid\treason\n"
               "a\t10\t0.123457\t-1.5e+10\t.\n"
               "b\t1\t.\t.\ttoo_short\n");
}

static void test_nothing_and_discard(void **state)
{
    (void)state;
    cs_output *o = NULL;
    const cs_output_info info = { .label = label, .n_label = 3, .is_class = true };
    assert_int_equal(cs_output_open(&cs_write_tsv, "none.tsv", &info, &o), CS_OK);
    assert_int_equal(cs_output_close(o), CS_OK);
    check_file("none.tsv", "name\tlength\tlabel\tprobability\treason\n");

    assert_int_equal(cs_output_open(&cs_write_tsv, "gone.tsv", &info, &o), CS_OK);
    write_one(o, "a", 10, (float[]){ 1, 0, 0 }, 3, CS_REASON_NONE);
    cs_output_discard(o);
    cs_output_discard(NULL);
    assert_int_equal(access("gone.tsv", F_OK), -1);

    assert_int_equal(cs_output_open(&cs_write_tsv, "no/such/folder", &info, &o), CS_EIO);
    cs_error_clear();
}

static void test_full_disk(void **state)
{
    (void)state;
    cs_output *o = NULL;
    const cs_output_info info = { .label = label, .n_label = 3, .is_class = true };
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(cs_output_open(&cs_write_tsv, "/dev/full", &info, &o), CS_OK);
    assert_int_equal(cs_output_close(o), CS_EIO);
    assert_non_null(strstr(cs_error_message(), "No space left on device"));
    cs_error_clear();
}

static void test_best(void **state)
{
    (void)state;
    float v[] = { 0.1f, 0.4f, 0.4f, 0.1f };
    assert_int_equal(cs_prediction_best(&(cs_prediction){ .v = v, .n = 4 }), 1);
    const cs_prediction low = { .v = v, .n = 4, .reason = CS_REASON_LOW_PROB },
                    empty = { .v = v, .n = 4, .reason = CS_REASON_EMPTY };
    assert_int_equal(cs_prediction_best(&low), 1);
    assert_int_equal(cs_prediction_best(&empty), -1);
    assert_int_equal(cs_prediction_best(&(cs_prediction){ .v = NULL, .n = 0 }), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes), cmocka_unit_test(test_values),
        cmocka_unit_test(test_nothing_and_discard), cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_best),
    };
    return cmocka_run_group_tests(tests, inputs_setup, inputs_teardown);
}

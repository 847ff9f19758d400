/* test_labels.c - label tables, classes, labels in a header, and reading records with them. */
#include "inputs.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "base/signals.h"
#include "io/multilabels.h"
#include "registry.h"
#include "train/labelled.h"

static cs_labels *open_text(const char *text)
{
    cs_labels *l = NULL;
    put_text("x.tsv", text);
    if (cs_labels_open("x.tsv", &l) != CS_OK)
        fail_msg("%s", cs_error_message());
    return l;
}

static void check_refused_table(const void *text, size_t n, const char *message)
{
    cs_labels *l = (cs_labels *)(void *)&l;      /* becomes NULL */
    put_file("x.tsv", text, n);
    assert_int_equal(cs_labels_open("x.tsv", &l), CS_EFORMAT);
    assert_string_equal(cs_error_message(), message);
    assert_null(l);
    cs_error_clear();
}

static void test_table(void **state)
{
    (void)state;
    cs_labels *l = open_text("#name\tclass\tlength\nr1\tvirus\t12\n\n  r 2 \tplasmid\t\r\n"
                             "#r3\tvirus\t1\nr1\tvirus\t12\nr4\t\t5");
    assert_int_equal(cs_labels_count(l), 3);
    assert_int_equal(cs_labels_columns(l), 2);
    assert_string_equal(cs_labels_find(l, "r1", 0), "virus");
    assert_string_equal(cs_labels_find(l, "r1", 1), "12");
    assert_string_equal(cs_labels_find(l, "  r 2 ", 0), "plasmid");
    assert_string_equal(cs_labels_find(l, "  r 2 ", 1), "");
    assert_string_equal(cs_labels_find(l, "r4", 0), "");
    assert_string_equal(cs_labels_find(l, "r4", 1), "5");
    assert_null(cs_labels_find(l, "r1", 2));
    assert_null(cs_labels_find(l, "r1", -1));
    assert_null(cs_labels_find(l, "r3", 0));
    assert_null(cs_labels_find(l, "", 0));
    const char *first = NULL;
    for (int i = 0; i < 2; i++)
        cs_labels_mark(l, "r1");
    cs_labels_mark(l, "r9");
    cs_labels_mark(NULL, "r1");
    assert_int_equal(cs_labels_unused(l, &first), 2);
    assert_string_equal(first, "  r 2 ");
    assert_int_equal(cs_labels_unused(NULL, &first), 0);
    cs_labels_close(l);
    cs_labels_close(NULL);

    /* After a byte order mark. */
    l = open_text("\xef\xbb\xbfr1\tvirus\nr2\tplasmid\n");
    assert_string_equal(cs_labels_find(l, "r1", 0), "virus");
    assert_int_equal(cs_labels_count(l), 2);
    cs_labels_close(l);
    l = open_text("\xef\xbb\xbf#name\tclass\nr1\tvirus\n");
    assert_int_equal(cs_labels_count(l), 1);
    cs_labels_close(l);

    l = open_text("");
    assert_int_equal(cs_labels_count(l), 0);
    assert_null(cs_labels_find(l, "r1", 0));
    cs_labels_close(l);
}

/* As spreadsheets write it: quotes, semicolons where a comma is the decimal point, rows without
 * text; the first row decides. */
static void test_csv(void **state)
{
    (void)state;
    cs_labels *l = open_text("\xef\xbb\xbfr1,virus,12\r\n#r3,virus,1\r\n\r\n"
                             "\"r,2\",\"a \"\"b\"\", c\",\"\"\r\n,,\r\nr4,x\ty,\"5\"");
    assert_int_equal(cs_labels_count(l), 3);
    assert_int_equal(cs_labels_columns(l), 2);
    assert_string_equal(cs_labels_find(l, "r1", 1), "12");
    assert_string_equal(cs_labels_find(l, "r,2", 0), "a \"b\", c");
    assert_string_equal(cs_labels_find(l, "r,2", 1), "");
    assert_string_equal(cs_labels_find(l, "r4", 0), "x\ty");
    assert_string_equal(cs_labels_find(l, "r4", 1), "5");
    cs_labels_close(l);
    l = open_text("r1;0,5\nr2;\"1;5\"\n");
    assert_string_equal(cs_labels_find(l, "r1", 0), "0,5");
    assert_string_equal(cs_labels_find(l, "r2", 0), "1;5");
    cs_labels_close(l);
    l = open_text("\"Sample ID\";class\nr2;a\n");
    assert_string_equal(cs_labels_find(l, "r2", 0), "a");
    cs_labels_close(l);
    l = open_text("r1,Bacteria;Bacillota\n");
    assert_string_equal(cs_labels_find(l, "r1", 0), "Bacteria;Bacillota");
    cs_labels_close(l);
    /* Names of columns as pandas writes them. */
    l = open_text(",class\nr2,a\nr3,r2\n");
    assert_int_equal(cs_labels_count(l), 2);
    assert_string_equal(cs_labels_find(l, "r2", 0), "a");
    assert_true(cs_labels_with(l, "r2") == 0 && cs_labels_with(l, "r3") == -1);
    cs_labels_close(l);
    /* Not in TSV. */
    l = open_text("\"r1\"\ta,b\nr2\tA;B\n");
    assert_string_equal(cs_labels_find(l, "\"r1\"", 0), "a,b");
    cs_labels_close(l);
}

static void test_many_rows(void **state)
{
    (void)state;
    bytes b = { NULL, 0, 0 }, z = { NULL, 0, 0 };
    cs_labels *l;
    char row[64], name[32], value[32];
    for (int i = 0; i < 20000; i++) {
        snprintf(row, sizeof row, "read.%d\tclass%d\n", i, i % 7);
        add_text(&b, row);
    }
    add_gzip(&z, b.p, b.n);
    put_file("x.tsv", z.p, z.n);
    assert_int_equal(cs_labels_open("x.tsv", &l), CS_OK);
    assert_int_equal(cs_labels_count(l), 20000);
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "read.%d", i);
        snprintf(value, sizeof value, "class%d", i % 7);
        assert_string_equal(cs_labels_find(l, name, 0), value);
    }
    assert_null(cs_labels_find(l, "read.20000", 0));
    cs_labels_close(l);
    put_file("x.tsv", z.p, z.n - 20);
    assert_int_equal(cs_labels_open("x.tsv", &l), CS_EFORMAT);
    assert_string_equal(cs_error_message(), "'x.tsv': compressed data ends early; the file is "
                        "probably truncated");
    cs_error_clear();
    free(b.p);
    free(z.p);
}

static void test_bad_tables(void **state)
{
    (void)state;
    static const struct { const char *text, *message; } t[] = {
        { "r1 virus\n", "'x.tsv' line 1: expected a name, a tab and a label, got 'r1 virus'" },
        { "#\n\nr1\ta\nr2\ta\tb\n",
          "'x.tsv' line 4: expected 2 columns as in the first row, got 3" },
        { "r1\ta\tb\nr2\ta\n", "'x.tsv' line 2: expected 3 columns as in the first row, got 2" },
        { "r1\ta\n\ta\n", "'x.tsv' line 2: the name is empty" },
        { ",a\n,b\n", "'x.tsv' line 2: the name is empty" },
        { "r1,a\nr2,a,b\n", "'x.tsv' line 2: expected 2 columns as in the first row, got 3" },
        { "r1,a\nr2\n", "'x.tsv' line 2: expected a name, a comma and a label, got 'r2'" },
        { "r1 A;B\n", "'x.tsv' line 1: expected a name, a tab and a label, got 'r1 A;B'" },
        { "r1,\"a\nb\"\n", "'x.tsv' line 1: quotes must enclose a whole field, without a line "
          "break in it" },
        { "r1,a\nr2,\"a\"b\n", "'x.tsv' line 2: quotes must enclose a whole field, without a "
          "line break in it" },
        { "r1\ta\rr2\ta\r", "'x.tsv' line 1: a carriage return within the line; end lines with "
          "newlines" },
        { "r1\ta\nr2\tb\nr1\tc\n",
          "'x.tsv' line 3: 'r1' is labelled 'c', but line 1 says 'a'" },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        check_refused_table(t[i].text, strlen(t[i].text), t[i].message);
    check_refused_table("r1\ta\nr\0\tb\n", 10,
                        "'x.tsv' line 2: a NUL byte; not a text file");
    check_refused_table("\xff\xfer\0\t\0a\0", 8, "'x.tsv' line 1: a NUL byte; not a text file in "
                        "UTF-8 but UTF-16; convert it (iconv)");

    cs_labels *l = NULL;
    assert_int_equal(cs_labels_open("nosuch", &l), CS_EIO);
    assert_string_equal(cs_error_message(), "cannot open 'nosuch': No such file or directory");
    cs_error_clear();
    assert_int_equal(cs_labels_open("-", &l), CS_EUSAGE);
    cs_error_clear();
}

static void test_out_of_memory(void **state)
{
    (void)state;
    put_text("x.tsv", "r1\ta\nr2\tb\n");
    for (long at = 0;; at++) {
        cs_labels *l = NULL;
        cs_mem_fail_at(at);
        const int rc = cs_labels_open("x.tsv", &l);
        cs_mem_fail_at(-1);
        cs_error_clear();
        if (rc == CS_OK) {
            assert_int_equal(cs_labels_count(l), 2);
            assert_true(at >= 4);
            cs_labels_close(l);
            return;
        }
        assert_int_equal(rc, CS_EMEM);
        assert_null(l);
    }
}

static void test_named(void **state)
{
    (void)state;
    cs_labels *l = NULL;
    put_text("x.tsv", "# made by hand\n#id\ta\tb\n#r0\t0\t0\nr1\t1\t\nr2\tx\ty\n");
    assert_int_equal(cs_labels_open_named("x.tsv", &l), CS_OK);
    assert_int_equal(cs_labels_count(l), 2);
    assert_int_equal(cs_labels_columns(l), 2);
    assert_string_equal(cs_labels_name(l, 0), "a");
    assert_string_equal(cs_labels_name(l, 1), "b");
    assert_int_equal(cs_labels_line(l, NULL), 2);
    assert_int_equal(cs_labels_line(l, "r2"), 5);
    assert_int_equal(cs_labels_line(l, "r0"), 0);
    assert_string_equal(cs_labels_next(cs_labels_find(l, "r2", 0)), "y");
    cs_labels_close(l);
}

static void test_multilabels(void **state)
{
    (void)state;
    cs_classes c = { 0 };
    cs_multilabels *m = NULL;
    float t[3];
    put_text("x.tsv", "\ta\tb\nr1\t1\tNA\nr2\t0.0\t\nr3\t.\t1\nr4\t0\t2\n");
    assert_int_equal(cs_multilabels_open("x.tsv", &c, false, &m), CS_OK);
    assert_true(c.n == 2 && cs_multilabels_columns(m) == 2);
    assert_int_equal(cs_multilabels_find(m, "r1", t), CS_OK);
    assert_true(t[0] == 1 && isnan(t[1]));
    assert_int_equal(cs_multilabels_find(m, "r2", t), CS_OK);
    assert_true(t[0] == 0 && isnan(t[1]));
    assert_int_equal(cs_multilabels_find(m, "r3", t), CS_OK);
    assert_true(isnan(t[0]) && t[1] == 1);
    assert_int_equal(cs_multilabels_find(m, "r5", t), CS_EOF);
    assert_int_equal(cs_multilabels_find(m, "r4", t), CS_EFORMAT);
    assert_string_equal(cs_error_message(), "'x.tsv' line 5: column 'b' has '2'; a label is 0, 1 "
                        "or NA (unknown)");
    cs_error_clear();
    cs_multilabels_close(m);

    /* The model's order, not the table's; a label without a column is not known. */
    int no;
    assert_int_equal(cs_classes_add(&c, "c", &no), CS_OK);
    put_text("x.tsv", "id\tc\ta\nr1\t0\t1\n");
    assert_int_equal(cs_multilabels_open("x.tsv", &c, true, &m), CS_OK);
    assert_int_equal(cs_multilabels_find(m, "r1", t), CS_OK);
    assert_true(t[0] == 1 && isnan(t[1]) && t[2] == 0);
    cs_multilabels_close(m);
    cs_classes_release(&c);
}

static void test_bad_multilabels(void **state)
{
    (void)state;
    static const struct { const char *text, *message; } t[] = {
        { "", "'x.tsv' is empty; its first line must name the labels" },
        { "r1\t1\t0\n", "'x.tsv' line 1: column 2 has the name '1'; the first line must name the "
                         "labels" },
        { "id\tb\t\n", "'x.tsv' line 1: column 3 has the name ''; the first line must name the "
                        "labels" },
        { "id\tb\tb\n", "'x.tsv' line 1: columns 2 and 3 are both named 'b'" },
        { "id\ta\tz\n", "'x.tsv' line 1: column 'z' is not a label of the model; remove it" },
        { "id\ta\tb\nr1\t1\n", "'x.tsv' line 2: expected 3 columns as in the first row, got 2" },
    };
    cs_classes c = { 0 };
    int no;
    assert_int_equal(cs_classes_add(&c, "a", &no), CS_OK);
    assert_int_equal(cs_classes_add(&c, "b", &no), CS_OK);
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        cs_multilabels *m = NULL;
        put_text("x.tsv", t[i].text);
        assert_int_equal(cs_multilabels_open("x.tsv", &c, true, &m), CS_EFORMAT);
        assert_string_equal(cs_error_message(), t[i].message);
        assert_null(m);
        cs_error_clear();
    }
    cs_multilabels *m = NULL;
    put_text("x.tsv", "id\tp\x01" "q\n");
    assert_int_equal(cs_multilabels_open("x.tsv", &c, false, &m), CS_EFORMAT);
    assert_string_equal(cs_error_message(), "the class name 'p\x01" "q' contains a tab, newline or "
                        "other control character; rename it ('x.tsv' line 1)");
    cs_error_clear();
    cs_classes_release(&c);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void test_classes(void **state)
{
    (void)state;
    static const char *const name[] = { "virus", "plasmid", "virus", "Virus", "plasmid" };
    static const int want[] = { 0, 1, 0, 2, 1 };
    cs_classes c = { 0 };
    int no;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(cs_classes_add(&c, name[i], &no), CS_OK);
        assert_int_equal(no, want[i]);
    }
    assert_int_equal(c.n, 3);
    assert_int_equal(cs_classes_find(&c, "Virus"), 2);
    assert_int_equal(cs_classes_find(&c, "vir"), -1);
    int32_t to[3];
    for (long at = 0; at < 2; at++) {
        cs_mem_fail_at(at);
        assert_int_equal(cs_classes_sort(&c, by_text, to), CS_EMEM);
        cs_mem_fail_at(-1);
        cs_error_clear();
    }
    assert_int_equal(cs_classes_sort(&c, by_text, to), CS_OK);
    assert_int_equal(to[0], 2);
    assert_int_equal(to[1], 1);
    assert_int_equal(to[2], 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cs_classes_find(&c, c.name[i]), i);
    assert_string_equal(c.name[0], "Virus");
    for (long at = 0; at < 2; at++) {
        cs_mem_fail_at(at);
        assert_int_equal(cs_classes_add(&c, "new", &no), CS_EMEM);
        cs_mem_fail_at(-1);
        cs_error_clear();
        assert_int_equal(c.n, 3);
    }
    cs_classes_release(&c);
    cs_classes_release(&c);
    assert_int_equal(c.n, 0);
}

static void test_key_in_header(void **state)
{
    (void)state;
    static const struct { const char *comment, *key, *want; } t[] = {
        { "class=virus", "class", "virus" },
        { "len=5 class=virus x", "class", "virus" },
        { "\tlen=5\tclass=a=b\t", "class", "a=b" },
        { "superclass=x class=y", "class", "y" },
        { "class=x class=y", "class", "x" },
        { "class= y", "class", "" },
        { "class", "class", NULL },
        { "Class=x", "class", NULL },
        { "classes=x", "class", NULL },
        { "", "class", NULL },
        { "   ", "class", NULL },
        { "class=1234567", "class", "1234567" },
        { "class=12345678", "class", NULL },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char buf[8] = "before";
        const int found = cs_label_key(t[i].comment, t[i].key, buf, sizeof buf);
        assert_int_equal(found, t[i].want != NULL);
        assert_string_equal(buf, t[i].want ? t[i].want : "before");
    }
    size_t n = 0;
    assert_string_equal(cs_label_key_find("len=5 class=12345678", "class", &n), "12345678");
    assert_int_equal(n, 8);
    assert_null(cs_label_key_find("class", "class", &n));
}

static void test_word_after_key(void **state)
{
    (void)state;
    static const struct { const char *comment, *want; } t[] = {
        { "species=Homo sapiens", "sapiens" },
        { "len=5  species=Homo\tsapiens strain=x", "sapiens" },
        { "species=Homo len=5 sapiens", NULL },
        { "species=Homo ", NULL },
        { "subspecies=Homo sapiens", NULL },
        { "species=Homo neanderthalensis", "neander" },
        { "", NULL },
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char buf[8] = "before";
        assert_int_equal(cs_label_key_cut(t[i].comment, "species", buf, sizeof buf),
                         t[i].want != NULL);
        if (t[i].want != NULL)
            assert_string_equal(buf, t[i].want);
    }
}

/* Exits with minus the result of reading one record of two. */
static void read_after_signal(void *arg)
{
    const char *path[] = { "two.fa" };
    const cs_label_args a = { .key = "class" };
    cs_input_args input = { .file = { .v = path, .n = 1 } };
    cs_labelled l;
    cs_dataset d = { 0 };

    (void)arg;
    (void)signal(SIGTERM, SIG_DFL);
    cs_signal_init();
    int rc = cs_labelled_open(&a, &input, &(cs_input_opt){ 0 }, cs_head_find("class"), &l);
    if (rc == CS_OK) {
        (void)raise(SIGTERM);
        rc = cs_labelled_read(&l, &d, 1);
        cs_labelled_close(&l);
        cs_dataset_release(&d);
    }
    _exit(-rc);
}

static void test_signal_ends_reading(void **state)
{
    (void)state;
    put_text("two.fa", ">a class=x\nACGT\n>b class=y\nACGT\n");
    assert_int_equal(WEXITSTATUS(check_status(read_after_signal, NULL)), -CS_ECANCEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_csv), cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_bad_tables), cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_classes), cmocka_unit_test(test_key_in_header),
        cmocka_unit_test(test_word_after_key),
        cmocka_unit_test(test_named), cmocka_unit_test(test_multilabels),
        cmocka_unit_test(test_bad_multilabels), cmocka_unit_test(test_signal_ends_reading),
    };
    return cmocka_run_group_tests(tests, inputs_setup, inputs_teardown);
}

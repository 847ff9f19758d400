/* test_npy.c - .npy files: NumPy's files are read, damaged ones refused, ours
 * read by NumPy. */
#include "inputs.h"

#include <fcntl.h>

#include "base/file.h"
#include "io/npy.h"

static const double six[] = { 1, -2.5, 3, 0x1p102, 0, 0.125 };

static void add_header(bytes *b, int version, const char *text)
{
    add(b, "\x93NUMPY", 6);
    add(b, (char[]){ (char)version, 0 }, 2);
    add_le(b, (uint32_t)strlen(text), version == 1 ? 2 : 4);
    add_text(b, text);
}

/* The six numbers as `size` bytes each, of the other byte order when `big`. */
static void add_six(bytes *b, size_t size, bool big)
{
    for (int i = 0; i < 6; i++) {
        unsigned char p[8];
        const float f = (float)six[i];
        memcpy(p, size == 4 ? (const void *)&f : (const void *)&six[i], size);
        for (size_t k = 0; k < size; k++)
            add(b, &p[big ? size - 1 - k : k], 1);
    }
}

static void check_six(bytes *b, int n_dim, const int64_t *dim, const int *order)
{
    cs_npy a;
    if (cs_npy_parse(b->p, b->n, "x", &a) != CS_OK)
        fail_msg("%s", cs_error_message());
    assert_int_equal(a.n, 6);
    assert_int_equal(a.shape.n_dim, n_dim);
    for (int i = 0; i < n_dim; i++)
        assert_int_equal(a.shape.dim[i], dim[i]);
    for (int i = 0; i < 6; i++)
        assert_true(a.v[i] == (double)(float)six[order[i]]);
    free(a.v);
    free(b->p);
    *b = (bytes){ NULL, 0, 0 };
}

static void test_formats(void **state)
{
    (void)state;
    static const struct { const char *descr; size_t size; bool big; } type[] = {
        { "<f8", 8, false }, { ">f8", 8, true }, { "<f4", 4, false }, { ">f4", 4, true },
        { "f8", 8, false }, { "=f4", 4, false }, { "|f8", 8, false },
    };
    const int c_order[] = { 0, 1, 2, 3, 4, 5 }, f_order[] = { 0, 2, 4, 1, 3, 5 };
    bytes b = { NULL, 0, 0 };
    char text[200];

    for (int version = 1; version <= 3; version++) {
        for (size_t i = 0; i < sizeof type / sizeof type[0]; i++) {
            snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }"
                     "      \n", type[i].descr);
            add_header(&b, version, text);
            add_six(&b, type[i].size, type[i].big);
            check_six(&b, 2, (int64_t[]){ 2, 3 }, c_order);
        }
    }
    add_header(&b, 1, "{'shape':(2,3),\"fortran_order\":True,'descr':'<f8'}");
    add_six(&b, 8, false);
    check_six(&b, 2, (int64_t[]){ 2, 3 }, f_order);
    add_header(&b, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (6L,)}\n");
    add_six(&b, 4, false);
    check_six(&b, 1, (int64_t[]){ 6 }, c_order);
    add_header(&b, 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 6, 1,)}\n");
    add_six(&b, 4, false);
    check_six(&b, 3, (int64_t[]){ 1, 6, 1 }, c_order);
}

/* Shapes without elements, and the one element of a shape without dimensions. */
static void test_small_shapes(void **state)
{
    (void)state;
    static const struct { const char *shape; int n_dim; int n; } small[] = {
        { "()", 0, 1 }, { "(0,)", 1, 0 }, { "(3, 0)", 2, 0 },
        { "(9223372036854775000, 9, 0)", 3, 0 },
    };
    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
        bytes b = { NULL, 0, 0 };
        cs_npy a;
        char text[120];
        snprintf(text, sizeof text, "{'descr': '<f8', 'fortran_order': True, 'shape': %s}",
                 small[i].shape);
        add_header(&b, 1, text);
        add(&b, six, (size_t)small[i].n * sizeof six[0]);
        assert_int_equal(cs_npy_parse(b.p, b.n, "x", &a), CS_OK);
        assert_int_equal(a.shape.n_dim, small[i].n_dim);
        assert_int_equal(a.n, small[i].n);
        free(a.v);
        free(b.p);
    }
}

static void check_no_npy(const bytes *b, size_t n, const char *message)
{
    cs_npy a;
    assert_int_equal(cs_npy_parse(b->p, n, "x", &a), CS_EFORMAT);
    assert_null(a.v);
    assert_non_null(strstr(cs_error_message(), message));
    cs_error_clear();
}

static void test_refused_headers(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "", "{", "{}", "[]", "{'descr': '<f8', 'fortran_order': False, 'shape': (6,)",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (6)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (6, -1)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (6 6)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': [6]}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (6,)}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'shape': (6,), 'shape': (6,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (6,), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (6,)} x",
        "{'descr': '<f8 'fortran_order': False, 'shape': (6,)}",
        "{'descr': 8, 'fortran_order': False, 'shape': (6,)}",
        "{'descr': '\\x3cf8', 'fortran_order': False, 'shape': (6,)}",
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        bytes b = { NULL, 0, 0 };
        add_header(&b, 1, broken[i]);
        add_six(&b, 8, false);
        check_no_npy(&b, b.n, "not a dictionary of descr, fortran_order and shape");
        free(b.p);
    }
}

static void test_refused_types(void **state)
{
    (void)state;
    static const char *const type[] = {
        "'<i8'", "'|u1'", "'<f2'", "'<c16'", "'|O'", "''", "'<f16'", "[('a', '<f8'), ('b', '<f4')]",
    };
    for (size_t i = 0; i < sizeof type / sizeof type[0]; i++) {
        bytes b = { NULL, 0, 0 };
        char text[200];
        snprintf(text, sizeof text, "{'descr': %s, 'fortran_order': False, 'shape': (6,)}",
                 type[i]);
        add_header(&b, 1, text);
        add_six(&b, 8, false);
        check_no_npy(&b, b.n, "only floating-point numbers of 4 or 8 bytes are read");
        free(b.p);
    }
}

static void test_refused_bytes(void **state)
{
    (void)state;
    bytes b = { NULL, 0, 0 };
    const char *const text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}";

    add_header(&b, 2, text);
    const size_t n_header = b.n;
    add_six(&b, 8, false);
    for (size_t n = 0; n < b.n; n++)
        check_no_npy(&b, n, n < 6 ? "does not begin with" : n < n_header ? "within its header"
                            : "ends before the last element");
    add(&b, "", 1);
    check_no_npy(&b, b.n, "has data after the last element");
    b.p[6] = 4;
    check_no_npy(&b, b.n, "format version 4.0");
    b.p[6] = 2;
    b.p[11] = 1;
    check_no_npy(&b, b.n, "its header has 16777");
    free(b.p);
    b = (bytes){ NULL, 0, 0 };
    add_header(&b, 1,
               "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}");
    check_no_npy(&b, b.n, "ends before the last element");
    free(b.p);
}

static void test_written(void **state)
{
    (void)state;
    static const char want[] = "\x93NUMPY\x01\0v\0{'descr': '<f8', 'fortran_order': False, "
                               "'shape': (2, 3), }";
    char *p;
    size_t n;
    cs_npy a;

    assert_int_equal(cs_npy_write("a.npy", CS_NPY_F8, cs_npy_shape2(2, 3), six), CS_OK);
    assert_int_equal(cs_file_read("a.npy", 1000, &p, &n), CS_OK);
    assert_int_equal(n, 128 + sizeof six);
    assert_memory_equal(p, want, sizeof want - 1);
    assert_int_equal(p[127], '\n');
    assert_memory_equal(p + 128, six, sizeof six);
    free(p);
    assert_int_equal(cs_npy_read("a.npy", &a), CS_OK);
    assert_memory_equal(a.v, six, sizeof six);
    free(a.v);
    assert_int_equal(cs_npy_write("a.npy", CS_NPY_F8, (cs_npy_shape){ 1, { 6 } }, six), CS_OK);
    assert_int_equal(cs_npy_read("a.npy", &a), CS_OK);
    assert_int_equal(a.shape.n_dim, 1);
    free(a.v);
    assert_int_equal(cs_npy_read("no.npy", &a), CS_EIO);
    cs_error_clear();
}

static void write_rows(cs_outfile *f, int64_t n)
{
    cs_npy_shape s = cs_npy_shape2(-1, 3);

    assert_int_equal(cs_npy_begin(f, CS_NPY_F4, s), CS_OK);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(cs_outfile_write(f, (float[]){ (float)i, 1, 2 }, 12), CS_OK);
    s.dim[0] = n;
    assert_int_equal(cs_npy_end(f, CS_NPY_F4, s), CS_OK);
    assert_int_equal(cs_outfile_close(f), CS_OK);
}

static void test_streamed(void **state)
{
    (void)state;
    static const int64_t n_row[] = { 0, 1, 9, 10, 123456 };
    for (size_t i = 0; i < sizeof n_row / sizeof n_row[0]; i++) {
        cs_outfile *f;
        cs_npy a;
        assert_int_equal(cs_outfile_open_as("s.npy", NULL, CS_OUT_BINARY, &f), CS_OK);
        write_rows(f, n_row[i]);
        if (cs_npy_read("s.npy", &a) != CS_OK)
            fail_msg("%s", cs_error_message());
        assert_int_equal(a.shape.dim[0], n_row[i]);
        assert_int_equal(a.shape.dim[1], 3);
        for (int64_t k = 0; k < n_row[i]; k++)
            assert_true(a.v[3 * k] == (double)k);
        free(a.v);
    }
}

/* An open descriptor: patched where our part begins; refused where the header cannot be written
 * again. */
static void test_descriptors(void **state)
{
    (void)state;
    char path[32], *p;
    size_t n;
    cs_npy a;
    cs_outfile *f;
    int fd = open("d.npy", O_RDWR | O_CREAT, 0600), pipes[2];

    assert_true(fd >= 0 && pipe(pipes) == 0);
    assert_int_equal(write(fd, "before", 6), 6);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    assert_int_equal(cs_outfile_open(path, &f), CS_OK);
    write_rows(f, 2);
    assert_int_equal(cs_file_read("d.npy", 1000, &p, &n), CS_OK);
    assert_memory_equal(p, "before", 6);
    assert_int_equal(cs_npy_parse(p + 6, n - 6, "d", &a), CS_OK);
    assert_int_equal(a.n, 6);
    free(a.v);
    free(p);
    close(fd);

    fd = open("d.npy", O_WRONLY | O_APPEND);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/dev/fd/%d", i == 0 ? fd : pipes[1]);
        assert_int_equal(cs_outfile_open(path, &f), CS_OK);
        assert_int_equal(cs_npy_begin(f, CS_NPY_F4, cs_npy_shape2(-1, 3)), CS_EUSAGE);
        assert_non_null(strstr(cs_error_message(), "NPY needs a regular file"));
        cs_error_clear();
        assert_int_equal(cs_npy_begin(f, CS_NPY_F4, cs_npy_shape2(0, 3)), CS_OK);
        cs_outfile_discard(f);
    }
    close(fd);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats), cmocka_unit_test(test_small_shapes),
        cmocka_unit_test(test_refused_headers), cmocka_unit_test(test_refused_types),
        cmocka_unit_test(test_refused_bytes), cmocka_unit_test(test_written),
        cmocka_unit_test(test_streamed), cmocka_unit_test(test_descriptors),
    };
    return cmocka_run_group_tests(tests, inputs_setup, inputs_teardown);
}

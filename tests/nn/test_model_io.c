/* test_model_io.c - model files: saved models are read back, damaged ones are refused and named. */
#include "tests/nn/toy.h"

#include "base/file.h"
#include "nn/exec/safetensors.h"
#include "tests/unit/lost_device.h"

static cs_backend *be;
static char path[] = "/tmp/chordseq_model_XXXXXX";

static cs_model *small_model(void)
{
    toy t = { .enc = cs_encoder_find("chordmixer"), .head = cs_head_find("class"), .max_len = "4",
              .name = "prenorm", .value = "batch", .training = true };
    return toy_model(&t, be);
}

/* The bytes of a valid model file; the caller frees them. */
static unsigned char *saved(size_t *n)
{
    cs_model *m = small_model();
    char *p;

    m->training = cs_xstrdup("{\"seed\": 7}");
    assert_int_equal(cs_model_save(m, path), CS_OK);
    assert_int_equal(cs_file_read(path, 1 << 20, &p, n), CS_OK);
    cs_model_free(m);
    return (unsigned char *)p;
}

static void test_round_trip(void **state)
{
    cs_model *m = small_model(), *q;

    (void)state;
    m->training = cs_xstrdup("{\"command\": \"chordseq train\", \"seed\": 7}");
    assert_int_equal(cs_model_save(m, path), CS_OK);
    if (cs_model_load(path, be, CS_USE_TRAINING, &q) != CS_OK)
        fail_msg("%s", cs_error_message());
    assert_ptr_equal(q->tok, m->tok);
    assert_ptr_equal(q->enc, m->enc);
    assert_ptr_equal(q->head, m->head);
    assert_memory_equal(q->enc_cfg, m->enc_cfg, m->enc->cfg_size);
    assert_int_equal(q->n_label, m->n_label);
    assert_string_equal(q->label[0].name, "a");
    assert_string_equal(q->label[0].rank, "genus");
    assert_int_equal(q->label[2].taxid, 3);
    assert_null(q->label[2].rank);
    assert_non_null(strstr(q->training, "\"seed\":7"));
    assert_string_equal(q->sum, m->sum);
    assert_non_null(q->ps.grad);
    for (int64_t i = 0; i < m->ps.n_real; i++)
        assert_true((float)q->ps.value[i] == (float)m->ps.value[i]);
    cs_model_free(m);
    cs_model_free(q);
}

/* Means and deviations of standardized values, exactly; only such a model has format 2. */
static void test_standardized(void **state)
{
    cs_model *m = small_model(), *q;
    size_t n;
    char *p;

    (void)state;
    for (int k = 0; k < 2; k++) {
        m->label[1].mean = k == 0 ? 0 : 1.0 / 3 * 1e-9;
        m->label[1].deviation = k == 0 ? 0 : 1e6 / 7;
        assert_int_equal(cs_model_save(m, path), CS_OK);
        assert_int_equal(cs_file_read(path, 1 << 20, &p, &n), CS_OK);
        /* After the length of the header */
        assert_non_null(strstr(p + 8, k == 0 ? "\\\"format\\\":1," : "\\\"format\\\":2,"));
        free(p);
        assert_int_equal(cs_model_load(path, be, CS_USE_INFERENCE, &q), CS_OK);
        assert_true(q->label[1].mean == m->label[1].mean);
        assert_true(q->label[1].deviation == m->label[1].deviation);
        assert_int_equal(cs_model_is_standardized(q), k);
        cs_model_free(q);
    }
    cs_model_free(m);
}

static void test_options_with_defaults(void **state)
{
    cs_model *m = small_model(), *q;
    char *p;
    size_t n;

    (void)state;
    assert_int_equal(cs_model_save(m, path), CS_OK);
    assert_int_equal(cs_file_read(path, 1 << 20, &p, &n), CS_OK);
    /* An option that the file does not name: same length, so that no offset moves. */
    char *at = strstr(p + 8, "\\\"dropout\\\":\\\"0\\\",");
    assert_non_null(at);
    memset(at, ' ', strlen("\\\"dropout\\\":\\\"0\\\","));
    assert_int_equal(cs_model_parse(p, n, "m", be, CS_USE_INFERENCE, &q), CS_OK);
    cs_model_free(q);
    cs_model_free(m);
    free(p);
}

/* A model file may state a list of any length, here 64 with leading zeros. */
static void test_long_option(void **state)
{
    enum { DIGITS = 5000 };
    char list[DIGITS + 1];
    cs_model *m, *q;

    (void)state;
    memset(list, '0', DIGITS);
    memcpy(list + DIGITS - 2, "64", 3);
    m = toy_model(&(toy){ .enc = cs_encoder_find("cdil"), .head = cs_head_find("class"),
                          .name = "channels", .value = list }, be);
    assert_int_equal(cs_model_save(m, path), CS_OK);
    assert_int_equal(cs_model_load(path, be, CS_USE_INFERENCE, &q), CS_OK);
    char *value = cs_opt_value(cs_opt_find(q->enc->opt, "channels"), q->enc_cfg);
    assert_string_equal(value, list);
    free(value);
    cs_model_free(m);
    cs_model_free(q);
}

/* Replace a piece of the header by one of the same length, and expect a refusal. */
static void refuse(const char *from, const char *to, int code, const char *message)
{
    size_t n;
    unsigned char *p = saved(&n);
    cs_model *m = NULL;
    char *at = strstr((char *)p + 8, from);

    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    int rc = cs_model_parse(p, n, "m.csm", be, CS_USE_INFERENCE, &m);
    if (rc != code || strcmp(cs_error_message(), message) != 0)
        fail_msg("'%s': %d '%s'", to, rc, cs_error_message());
    assert_null(m);
    cs_error_clear();
    free(p);
}

#define NO_SOUND "'m.csm' is not a valid chordseq model: "

static void test_refusals(void **state)
{
    (void)state;
    refuse("\\\"format\\\":1", "\\\"format\\\":3", CS_EMODEL,
           "'m.csm' has model format 3; this version reads 1 and 2");
    refuse("chordmixer", "chordmaker", CS_EMODEL,
           "'m.csm' needs encoder 'chordmaker', which is missing in this version");
    refuse("\\\"base\\\"", "\\\"bose\\\"", CS_EMODEL,
           "'m.csm' needs tokenizer 'bose', which is missing in this version");
    refuse("hidden", "hodden", CS_EMODEL, "'m.csm' needs a newer chordseq: encoder option "
           "'hodden' is unknown to this version");
    refuse("\\\"labels\\\"", "\\\"lobels\\\"", CS_EFORMAT, NO_SOUND "it has no labels");
    refuse("\\\"sha256\\\"", "\\\"sha257\\\"", CS_EFORMAT, NO_SOUND "it has no checksum");
    refuse("\"chordseq\"", "\"chordsEq\"", CS_EFORMAT,
           NO_SOUND "a safetensors file without a 'chordseq' description");
    refuse("head.bias", "heAd.bias", CS_EFORMAT, NO_SOUND "tensor 'head.bias' is missing");
    refuse("\"head.bias\":{\"dtype\":\"F32\"", "\"head.bias\":{\"dtype\":\"I32\"", CS_EFORMAT,
           NO_SOUND "tensor 'head.bias' has the wrong shape or type");
    refuse("\\\"track\\\":\\\"4\\\"", "\\\"track\\\":\\\"8\\\"", CS_EFORMAT,
           NO_SOUND "tensor 'encoder.block.0.prenorm.weight' has the wrong shape or type");
    /* In the JSON within the JSON: a tab in 'genus', by an escape of as many bytes. */
    refuse("\\\"rank\\\":\\\"genus\\\"", "\\\"rank\\\":\\\"ge\\\\t\\\"", CS_EFORMAT,
           NO_SOUND "a label's name, rank or description has a control character");
}

/* Commands multiply the window by the number of sequences and count its tokens. */
static void test_window(void **state)
{
    static const int64_t window[] = { 1, 1000, INT64_C(1000000000000), INT64_C(1000000000001),
                                      INT64_MAX };
    cs_model *m = small_model(), *q;

    (void)state;
    for (int i = 0; i < 5; i++) {
        m->window = window[i];
        assert_int_equal(cs_model_save(m, path), CS_OK);
        const int rc = cs_model_load(path, be, CS_USE_INFERENCE, &q);
        assert_int_equal(rc, i < 3 ? CS_OK : CS_EFORMAT);
        if (rc == CS_OK)
            assert_int_equal(q->window, window[i]);
        else
            assert_non_null(strstr(cs_error_message(), "its window is not a number of bases"));
        cs_error_clear();
        cs_model_free(q);
    }
    cs_model_free(m);
}

static void refuse_bytes(const void *p, size_t n, int code, const char *part)
{
    cs_model *m = NULL;
    int rc = cs_model_parse(p, n, "m.csm", be, CS_USE_INFERENCE, &m);

    if (rc != code || !strstr(cs_error_message(), part))
        fail_msg("wanted %d '%s', got %d '%s'", code, part, rc, cs_error_message());
    cs_error_clear();
}

static void test_damage(void **state)
{
    size_t n;
    unsigned char *p = saved(&n), *longer;

    (void)state;
    refuse_bytes("", 0, CS_EFORMAT, "it has 0 bytes");
    refuse_bytes(">seq\nACGTACGT\n", 14, CS_EFORMAT, "not a safetensors file");
    refuse_bytes(p, n - 1, CS_EFORMAT, "is the file truncated?");
    refuse_bytes(p, 40, CS_EFORMAT, "truncated");
    longer = cs_xcalloc(1, n + 4);
    memcpy(longer, p, n);
    refuse_bytes(longer, n + 4, CS_EFORMAT, "4 bytes after the last tensor");
    p[n - 1] ^= 1;
    refuse_bytes(p, n, CS_EFORMAT, "its checksum does not fit its weights");
    free(longer);
    free(p);
}

/* Every truncation of a valid file is refused, and nothing is read behind its end. */
static void test_every_cut(void **state)
{
    size_t n;
    unsigned char *p = saved(&n);

    (void)state;
    for (size_t k = 0; k < n; k += k < 4096 ? 1 : 97) {
        cs_model *m = NULL;
        unsigned char *exact = cs_xmalloc(k);
        memcpy(exact, p, k);
        assert_true(cs_model_parse(exact, k, "m.csm", be, CS_USE_INFERENCE, &m) < 0);
        assert_string_not_equal(cs_error_message(), "");
        cs_error_clear();
        free(exact);
    }
    free(p);
}

static void header_only(const char *json, size_t n_data, int code, const char *part)
{
    unsigned char file[1024] = { 0 };
    size_t n = strlen(json);
    cs_safetensors *s;

    file[0] = (unsigned char)n;
    file[1] = (unsigned char)(n >> 8);
    memcpy(file + 8, json, n);
    int rc = cs_safetensors_parse(file, 8 + n + n_data, "t", &s);
    if (rc != code || (code != CS_OK && !strstr(cs_error_message(), part)))
        fail_msg("%s: %d '%s'", json, rc, cs_error_message());
    cs_error_clear();
    cs_safetensors_close(s);
}

#define T(dtype, shape, from, to) \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

/* A header of n commas, in a string of the metadata, which has an escaped quote, or outside. */
static void commas(size_t n, bool quoted, int code, const char *part)
{
    const char *start = quoted ? "{\"__metadata__\":{\"a\":\"\\\"\\\\" : "{\"a\":[0",
               *end = quoted ? "\"}}" : "]}";
    const size_t size = strlen(start) + 2 * n + strlen(end);
    unsigned char *file = cs_xcalloc(1, size + 9);
    cs_safetensors *s;

    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)size >> 8 * i);
    char *at = stpcpy((char *)file + 8, start);
    for (size_t i = 0; i < n; i++)
        at = stpcpy(at, ",0");
    memcpy(at, end, strlen(end));
    int rc = cs_safetensors_parse(file, 8 + size, "t", &s);
    if (rc != code || (code != CS_OK && !strstr(cs_error_message(), part)))
        fail_msg("%zu: %d '%s'", n, rc, cs_error_message());
    cs_error_clear();
    cs_safetensors_close(s);
    free(file);
}

static void test_many_values(void **state)
{
    (void)state;
    commas(1 << 20, false, CS_EFORMAT, "its header has more than 1048576 values");
    commas(1000, false, CS_EFORMAT, "tensor 'a'");
    commas(1 << 21, true, CS_OK, "");
}

static void test_safetensors(void **state)
{
    (void)state;
    header_only("{}", 0, CS_OK, "");
    header_only("{\"a\":" T("F32", "[2]", "0", "8") "}", 8, CS_OK, "");
    header_only("{\"a\":" T("F32", "[]", "0", "4") ",\"b\":" T("I64", "[0,3]", "4", "4") "}", 4,
                CS_OK, "");
    header_only("{\"a\":" T("F32", "[2]", "0", "4") "}", 8, CS_EFORMAT, "does not match its shape");
    header_only("{\"a\":" T("F33", "[2]", "0", "8") "}", 8, CS_EFORMAT, "a type other than");
    header_only("{\"a\":" T("F32", "[-2]", "0", "8") "}", 8, CS_EFORMAT, "impossible shape");
    header_only("{\"a\":" T("F32", "[4294967296,4294967296]", "0", "8") "}", 8, CS_EFORMAT,
                "impossible shape");
    header_only("{\"a\":" T("F32", "[2.5]", "0", "8") "}", 8, CS_EFORMAT, "impossible shape");
    header_only("{\"a\":" T("F32", "[1,1,1,1,1]", "0", "4") "}", 4, CS_EFORMAT, "4 dimensions");
    header_only("{\"a\":" T("F32", "[1]", "-4", "0") "}", 4, CS_EFORMAT, "outside the file");
    header_only("{\"a\":" T("F32", "[1]", "4", "8") "}", 8, CS_EFORMAT, "leaves a gap");
    header_only("{\"a\":" T("F32", "[1]", "0", "4") ",\"b\":" T("F32", "[1]", "0", "4") "}", 4,
                CS_EFORMAT, "overlaps another");
    header_only("{\"a\":" T("F32", "[1]", "0", "4") ",\"a\":" T("F32", "[1]", "4", "8") "}", 8,
                CS_EFORMAT, "not a JSON object");
    header_only("[1]", 0, CS_EFORMAT, "not a JSON object");
    header_only("{\"a\":3}", 0, CS_EFORMAT, "a type other than");
    header_only("{\"__metadata__\":{\"k\":3}}", 0, CS_EFORMAT, "is not a string");
}

static void test_dtypes(void **state)
{
    static const unsigned char data[] = {
        0, 0, 0, 0, 0, 0, 0xf8, 0xbf,  0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0, 0, 0xc0, 0x3f,  0xfd, 0xff, 0xff, 0xff,  0x20, 0x40,
        0, 0xc1,  0xff, 0x7b,  1, 0,  0, 0x80,  0, 0x7c
    };
    static const struct { cs_dtype d; int from; double want; } row[] = {
        { CS_F64, 0, -1.5 }, { CS_I64, 8, -2 }, { CS_F32, 16, 1.5 }, { CS_I32, 20, -3 },
        { CS_BF16, 24, 2.5 }, { CS_F16, 26, -2.5 }, { CS_F16, 28, 65504 },
        { CS_F16, 30, 0x1p-24 }, { CS_F16, 32, 0 }, { CS_F16, 34, INFINITY }
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        cs_tensor t = { .dtype = row[i].d, .n = 1, .data = data + row[i].from };
        assert_true(cs_tensor_get(&t, 0) == row[i].want);
    }
}

/* Every allocation of a load fails once; each failure is reported, and nothing leaks. */
static void test_out_of_memory(void **state)
{
    cs_model *m = NULL;
    size_t n;
    unsigned char *p = saved(&n);
    int rc = CS_EMEM;

    (void)state;
    for (long k = 0; k < 1000 && rc == CS_EMEM; k++) {
        cs_mem_fail_at(k);
        rc = cs_model_parse(p, n, "m", be, CS_USE_INFERENCE, &m);
        cs_mem_fail_at(-1);
        assert_true(rc == CS_OK || strstr(cs_error_message(), "out of memory"));
        cs_error_clear();
    }
    assert_int_equal(rc, CS_OK);
    cs_model_free(m);
    free(p);
}

static void test_unwritable(void **state)
{
    cs_model *m = small_model();

    (void)state;
    assert_int_equal(cs_model_save(m, "/nonexistent/model.safetensors"), CS_EIO);
    assert_non_null(strstr(cs_error_message(), "/nonexistent/model.safetensors"));
    cs_error_clear();
    free(m->label[0].name);
    m->label[0].name = cs_xstrdup("\xff");
    assert_int_equal(cs_model_save(m, path), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "not UTF-8"));
    cs_error_clear();
    cs_model_free(m);
}

static void test_find_default(void **state)
{
    char buf[4096], tiny[4];
    cs_model *m = small_model();

    (void)state;
    assert_int_equal(cs_model_save(m, path), CS_OK);
    cs_model_free(m);
    setenv("CHORDSEQ_MODEL", "nonexistent", 1);
    assert_int_equal(cs_model_find_default(path, buf, sizeof buf), CS_OK);
    assert_string_equal(buf, path);
    assert_int_equal(cs_model_find_default(path, tiny, sizeof tiny), CS_EUSAGE);
    cs_error_clear();
    assert_int_equal(cs_model_find_default(NULL, buf, sizeof buf), CS_EIO);
    assert_non_null(strstr(cs_error_message(), "'nonexistent' of CHORDSEQ_MODEL"));
    cs_error_clear();
    setenv("CHORDSEQ_MODEL", path, 1);
    assert_int_equal(cs_model_find_default(NULL, buf, sizeof buf), CS_OK);
    assert_string_equal(buf, path);
    unsetenv("CHORDSEQ_MODEL");
}

static void test_missing_file(void **state)
{
    cs_model *m;

    (void)state;
    assert_int_equal(cs_model_load("/nonexistent.safetensors", be, CS_USE_INFERENCE, &m), CS_EIO);
    assert_string_equal(cs_error_message(),
                        "cannot open '/nonexistent.safetensors': No such file or directory");
    cs_error_clear();
    assert_int_equal(cs_model_load("/dev/null", be, CS_USE_INFERENCE, &m), CS_EIO);
    assert_string_equal(cs_error_message(), "cannot map '/dev/null': it is not a regular file");
    cs_error_clear();
}

/* After a failed download, the error is that of the device, not of the values. */
static void test_lost_device(void **state)
{
    const cs_ops ops = be->op;
    cs_model *m = small_model();

    (void)state;
    lose_device(be);
    assert_int_equal(cs_model_save(m, path), CS_EDEVICE);
    assert_string_equal(cs_error_message(), "device lost");
    cs_error_clear();
    be->op = ops;
    cs_model_free(m);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_standardized),
        cmocka_unit_test(test_options_with_defaults),
        cmocka_unit_test(test_long_option),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_safetensors),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_unwritable),
        cmocka_unit_test(test_find_default),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_lost_device)
    };
    int fd = mkstemp(path);
    if (fd < 0 || cs_cpu_init() != CS_OK || cs_backend_open("cpu", 1, &be) != CS_OK)
        return 2;
    close(fd);
    int n_failed = cmocka_run_group_tests_name("model files", test, NULL, NULL);
    unlink(path);
    cs_backend_close(be);
    return n_failed;
}

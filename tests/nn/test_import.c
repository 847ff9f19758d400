/* test_import.c - a published checkpoint of CDIL for DNA predicts as its authors' code does. */
#include <jansson.h>

#include "tests/check.h"

#include "base/cpu.h"
#include "nn/exec/model_import.h"
#include "nn/exec/safetensors.h"
#include "nn/exec/session.h"

static cs_backend *be;

static const char *shared(const char *name)
{
    static char path[1024];
    const char *root = getenv("CS_SHARED");
    snprintf(path, sizeof path, "%s/golden/cdil_dna_pretrained/%s", root ? root : "../shared",
             name);
    return path;
}

/* Tokens of the config's sequence; masked positions of the second copy are padding. */
static cs_batch *read_batch(const cs_safetensors *f)
{
    json_t *config = json_loads(cs_safetensors_meta(f, "config"), 0, NULL);
    const char *text = json_string_value(json_object_get(config, "sequence"));
    const cs_tensor *mask = cs_safetensors_find(f, "input.mask");
    cs_batch *b = cs_batch_new(0, 0);
    int64_t n = (int64_t)strlen(text);
    int32_t *id = cs_xcalloc((size_t)n, sizeof *id);

    assert_int_equal(mask->n, n);
    for (int copy = 0; copy < 2; copy++) {
        for (int64_t i = 0; i < n; i++) {
            const char *at = strchr("ACGT", text[i] & ~0x20);
            id[i] = at ? CS_TOK_FIRST + (int32_t)(at - "ACGT") : CS_TOK_UNK;
            id[i] = copy && cs_tensor_get(mask, i) != 0 ? CS_TOK_PAD : id[i];
        }
        assert_int_equal(cs_batch_append(b, id, NULL, n, NULL, (cs_slot){ 0 }), CS_OK);
    }
    free(id);
    json_decref(config);
    return b;
}

/* The model's output for the batch. */
static void compare(cs_model *m, const cs_batch *b, const cs_tensor *want)
{
    cs_session *s = cs_session_new(m, be);
    float out[10];
    double max = 0, worst = 0;

    assert_int_equal(cs_session_predict(s, b, out), CS_OK);
    assert_int_equal(want->n, s->trace.encoded.r * s->trace.encoded.c);
    for (int64_t i = 0; i < want->n; i++) {
        double v = cs_tensor_get(want, i);
        max = fmax(max, fabs(v));
        worst = fmax(worst, fabs((double)s->trace.encoded.p[i] - v));
    }
    check_below(worst, 1e-4 * max);
    cs_session_free(s);
}

static void test_published(void **state)
{
    cs_safetensors *f = NULL;
    cs_model *m = NULL, *again = NULL;
    char path[] = "/tmp/chordseq_import_XXXXXX";

    (void)state;
    if (cs_safetensors_open(shared("human_100k_epoch9_L1000.safetensors"), &f) != CS_OK) {
        cs_error_clear();
        skip();
    }
    if (cs_model_import(shared("human_100k_epoch9_checkpoint.safetensors"), "acgnt", be, &m) !=
        CS_OK)
        fail_msg("%s", cs_error_message());
    cs_batch *b = read_batch(f);
    compare(m, b, cs_safetensors_find(f, "output.logits"));
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(cs_model_save(m, path), CS_OK);
    assert_int_equal(cs_model_load(path, be, CS_USE_INFERENCE, &again), CS_OK);
    compare(again, b, cs_safetensors_find(f, "output.logits"));
    unlink(path);
    cs_batch_free(b);
    cs_model_free(m);
    cs_model_free(again);
    cs_safetensors_close(f);
}

/* Two layers of 2 channels, one of whose convolutions has the given rows and columns. */
static void write_checkpoint(const char *path, int32_t rows, int32_t cols)
{
    static const char *const norm[4] = { "weight", "bias", "running_mean", "running_var" };
    static const float value[64] = { 1, 1, 1, 1 };
    static char name[20][64];
    cs_tensor t[20];
    cs_outfile *f;
    size_t n = 0;

    for (int layer = 0; layer < 2; layer++)
        for (int no = 1; no <= 2; no++) {
            const int32_t out = no == 1 ? 4 : 2, in = no == 1 ? 2 : 4;
            const bool last = layer == 1 && no == 1;
            snprintf(name[n], sizeof name[n], "encoder.conv_net.%d.conv%d.weight", layer, no);
            t[n] = (cs_tensor){ name[n], CS_F32,
                                cs_shape3(last ? rows : out, last ? cols : in, 3), 24,
                                (const unsigned char *)value };
            n++;
            for (int i = 0; i < 4; i++, n++) {
                snprintf(name[n], sizeof name[n], "encoder.conv_net.%d.batch_norm%d.%s", layer, no,
                         norm[i]);
                t[n] = (cs_tensor){ name[n], CS_F32, cs_shape1(out), out,
                                    (const unsigned char *)value };
            }
        }
    assert_int_equal(cs_outfile_open(path, &f), CS_OK);
    assert_int_equal(cs_safetensors_write(f, t, n, NULL, 0), CS_OK);
    assert_int_equal(cs_outfile_close(f), CS_OK);
}

/* As many values in another order are other weights. */
static void test_shapes(void **state)
{
    (void)state;
    char path[] = "shapes.XXXXXX";
    cs_model *m = NULL;

    close(mkstemp(path));
    write_checkpoint(path, 4, 2);
    if (cs_model_import(path, "ac", be, &m) != CS_OK)
        fail_msg("%s", cs_error_message());
    cs_model_free(m);
    write_checkpoint(path, 2, 4);
    assert_int_equal(cs_model_import(path, "ac", be, &m), CS_EFORMAT);
    assert_non_null(strstr(cs_error_message(), "conv_net.1.conv1.weight' is of another shape"));
    cs_error_clear();
    unlink(path);
}

/* Sizes of a file of 200 bytes that would need 25 GB. */
static void test_sizes(void **state)
{
    (void)state;
    char path[] = "sizes.XXXXXX";
    cs_model *m = NULL;
    cs_outfile *f;
    const cs_tensor t[] = {
        { "encoder.conv_net.0.conv1.weight", CS_F32, cs_shape3(0, 5, 3), 0, NULL },
        { "encoder.conv_net.0.conv2.weight", CS_F32, cs_shape3(32767, 0, 3), 0, NULL },
    };

    close(mkstemp(path));
    assert_int_equal(cs_outfile_open(path, &f), CS_OK);
    assert_int_equal(cs_safetensors_write(f, t, 2, NULL, 0), CS_OK);
    assert_int_equal(cs_outfile_close(f), CS_OK);
    assert_int_equal(cs_model_import(path, "acgnt", be, &m), CS_EFORMAT);
    assert_non_null(strstr(cs_error_message(), "conv_net.0.conv1.weight' is of another shape"));
    cs_error_clear();
    unlink(path);
}

int main(void)
{
    static const struct CMUnitTest test[] = { cmocka_unit_test(test_published),
                                              cmocka_unit_test(test_shapes),
                                              cmocka_unit_test(test_sizes) };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 2, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("import", test, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}

/* test_checkpoint.c - a checkpoint is restored exactly, or refused with the reason. */
#include "check.h"

#include <zlib.h>

#include "base/cpu.h"
#include "base/file.h"
#include "tests/unit/lost_device.h"
#include "train/checkpoint.h"

enum { N = 3 };

static const char path[] = "test_checkpoint.tmp";
static const char recipe[] = "lr=0.001\nseed=1\ndata=00ff\n";

struct fixture { cs_backend *be; cs_params ps; cs_train_state st; };

static int64_t value_of(const struct fixture *f, int slab, int64_t i)
{
    return f->ps.n_real * slab + i;
}

static void open_fixture(struct fixture *f, int64_t rows)
{
    *f = (struct fixture){ 0 };
    assert_int_equal(cs_cpu_init(), CS_OK);
    assert_int_equal(cs_backend_open("cpu", 1, &f->be), CS_OK);
    cs_params_init(&f->ps);
    cs_declare(&f->ps, cs_shape2(rows, 5), CS_INIT_ONE, 1, "a.weight");
    cs_declare(&f->ps, cs_shape1(7), CS_INIT_ZERO, 1, "a.bias");
    cs_declare(&f->ps, cs_shape1(3), CS_INIT_ZERO, 1, "b");
    assert_int_equal(cs_params_alloc(&f->ps, f->be, true), CS_OK);
    cs_train_state_init(&f->st);
}

static void close_fixture(struct fixture *f)
{
    cs_train_state_release(&f->st);
    cs_params_release(&f->ps);
    cs_backend_close(f->be);
    cs_error_clear();
}

/* Every slab and field has a distinct value. */
static void fill(struct fixture *f)
{
    cs_real *slab[] = { f->ps.value, f->ps.m, f->ps.v, f->ps.ema };

    for (int s = 0; s < 4; s++)
        for (int64_t i = 0; i < f->ps.n_real; i++)
            slab[s][i] = (cs_real)value_of(f, s, i);
    for (int i = 0; i < N; i++)
        f->ps.p[i].step = 10 + i;
    free(f->st.log);
    f->st = (cs_train_state){
        .epoch = 2, .epoch_step = 3, .step = 23, .best_epoch = 1, .n_bad = 1, .best = 0.1,
        .best_loss = 1.0 / 3, .best_accuracy = 0.7, .best_balanced = NAN, .seconds = 1e-3,
        .done = true, .sum = { .loss = 1e9 / 7, .weight = 2, .n_right = 5, .n_seen = 8,
                               .n_token = INT64_C(1) << 40 },
        .epoch_seconds = 4, .epoch_flop = 1e12, .log = strdup("1\t2\n2\t4\n"),
    };
}

static void save_as(const char *of)
{
    struct fixture f;

    open_fixture(&f, 4);
    fill(&f);
    assert_int_equal(cs_checkpoint_save(path, &f.ps, true, &f.st, of), CS_OK);
    close_fixture(&f);
}

static void save(void)
{
    save_as(recipe);
}

static int load(struct fixture *f, const char *with)
{
    return cs_checkpoint_load(path, &f->ps, true, &f->st, &(cs_resume_rule){ .recipe = with });
}

static void test_round_trip(void **state)
{
    struct fixture f, want;

    (void)state;
    save();
    open_fixture(&f, 4);
    open_fixture(&want, 4);
    fill(&want);
    assert_int_equal(load(&f, recipe), CS_OK);
    cs_real *slab[] = { f.ps.value, f.ps.m, f.ps.v, f.ps.ema };
    for (int s = 0; s < 4; s++)
        for (int64_t i = 0; i < f.ps.n_real; i++)
            assert_true(slab[s][i] == (cs_real)value_of(&f, s, i));
    for (int i = 0; i < N; i++)
        assert_int_equal(f.ps.p[i].step, 10 + i);
    assert_string_equal(f.st.log, want.st.log);
    assert_true(isnan(f.st.best_balanced));
    assert_true(f.st.best == want.st.best && f.st.best_loss == want.st.best_loss);
    assert_true(f.st.sum.loss == want.st.sum.loss && f.st.sum.n_token == want.st.sum.n_token);
    assert_true(f.st.done && f.st.epoch == 2 && f.st.epoch_step == 3 && f.st.step == 23);
    assert_true(f.st.epoch_seconds == 4 && f.st.epoch_flop == 1e12);
    assert_true(f.st.seconds == want.st.seconds && f.st.n_bad == 1 && f.st.best_epoch == 1);
    close_fixture(&want);
    close_fixture(&f);
}

static void test_other_recipe(void **state)
{
    struct fixture f;

    (void)state;
    save();
    open_fixture(&f, 4);
    assert_int_equal(load(&f, "lr=0.001\nseed=2\ndata=00ff\n"), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "it has 'seed=1', this command 'seed=2'"));
    cs_error_clear();
    assert_int_equal(load(&f, "lr=0.001\nseed=1\ndata=00ff\nx=1\n"), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "'x=1' is present in only one of them; give the "
                           "same options and data, or omit --resume"));
    cs_error_clear();
    /* A checkpoint of an older version may have another order. It lacks the lines of contents, and
     * only those. */
    assert_int_equal(load(&f, "seed=1\ndata=00ff\nlr=0.001\n"), CS_OK);
    assert_int_equal(load(&f, "data=00ff\nlr=0.001\nseed=1\nvocabulary=sha256:0\n"), CS_OK);
    assert_int_equal(load(&f, "lr=0.001\nseed=1\ndata=00ff\nvocabulary=sha256:0\n"), CS_OK);
    assert_int_equal(load(&f, "lr=0.001\nseed=2\ndata=00ff\nvocabulary=sha256:0\n"), CS_EUSAGE);
    cs_error_clear();
    assert_int_equal(load(&f, "lr=0.001\nseed=1\nvocabulary=sha256:0\n"), CS_EUSAGE);
    cs_error_clear();
    assert_int_equal(load(&f, "lr=0.001\nseed=1\ndata=00ff\ntaxonomy.content=sha256:0\n"), CS_OK);
    assert_int_equal(load(&f, "lr=0.001\nseed=1\ndata=00ff\nvocabulary=sha256:0\n"
                          "taxonomy.content=sha256:0\n"), CS_OK);
    close_fixture(&f);
}

#define SUM "sha256:000000000000000000000000000000000000000000000000000000000000000"

/* A file may have moved: its content counts, where the recipe has it. */
static void test_moved(void **state)
{
    struct fixture f;

    (void)state;
    save_as("tokenizer.file=a/v.json\ntaxonomy=a/t.tsv\nlr=1\nvocabulary=a/v.json " SUM "1\n"
            "taxonomy.content=" SUM "2\n");
    open_fixture(&f, 4);
    assert_int_equal(load(&f, "tokenizer.file=v.json\ntaxonomy=/t.tsv\nlr=1\nvocabulary=v.json "
                          SUM "1\ntaxonomy.content=" SUM "2\n"), CS_OK);
    assert_int_equal(load(&f, "tokenizer.file=v.json\ntaxonomy=/t.tsv\nlr=1\nvocabulary=v.json "
                          SUM "2\ntaxonomy.content=" SUM "2\n"), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "this command 'vocabulary=v.json sha256:"));
    cs_error_clear();
    assert_int_equal(load(&f, "tokenizer.file=v.json\ntaxonomy=/t.tsv\nlr=1\nvocabulary=v.json "
                          SUM "1\ntaxonomy.content=" SUM "1\n"), CS_EUSAGE);
    cs_error_clear();
    assert_int_equal(load(&f, "tokenizer.file=v.json\ntaxonomy=/t.tsv\nlr=2\nvocabulary=v.json "
                          SUM "1\ntaxonomy.content=" SUM "2\n"), CS_EUSAGE);
    cs_error_clear();
    assert_int_equal(load(&f, "tokenizer.file=v.json\ntaxonomy=/t.tsv\nlr=1\nvocabulary=v.json "
                          SUM "1\n"), CS_EUSAGE);
    cs_error_clear();
    save_as("tokenizer.file=a/v.json\nlr=1\n");
    assert_int_equal(load(&f, "tokenizer.file=v.json\nlr=1\n"), CS_EUSAGE);
    close_fixture(&f);
}

static void test_other_tensors(void **state)
{
    struct fixture f;

    (void)state;
    save();
    open_fixture(&f, 40);
    assert_int_equal(load(&f, recipe), CS_EMODEL);
    close_fixture(&f);
    open_fixture(&f, 4);
    assert_int_equal(cs_checkpoint_load(path, &f.ps, false, &f.st,
                                        &(cs_resume_rule){ .recipe = recipe }), CS_EMODEL);
    close_fixture(&f);
}

/* Renames a field of the header, and corrects the checksum. */
static void rename_field(const char *from, const char *to)
{
    char *bytes, *at = NULL;
    size_t n;

    assert_int_equal(cs_file_read(path, 1 << 20, &bytes, &n), CS_OK);
    for (size_t i = 0; at == NULL && i + strlen(from) < n; i++)
        at = memcmp(bytes + i, from, strlen(from)) == 0 ? bytes + i : NULL;
    assert_non_null(at);
    memcpy(at, to, strlen(from));
    const uLong sum = crc32(crc32(0, NULL, 0), (const Bytef *)bytes, (uInt)n - 4);
    for (size_t i = 0; i < 4; i++)
        bytes[n - 4 + i] = (char)(sum >> 8 * i & 255);
    FILE *out = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
    free(bytes);
}

/* Versions up to 0.2.0 did not count operations; then their number is unknown. */
static void test_older(void **state)
{
    struct fixture f;

    (void)state;
    save();
    rename_field("epoch_flop", "epoch_flux");
    open_fixture(&f, 4);
    assert_int_equal(load(&f, recipe), CS_OK);
    assert_true(isnan(f.st.epoch_flop) && f.st.epoch_seconds == 4);
    rename_field("epoch_seconds", "epoch_secondo");
    assert_int_equal(load(&f, recipe), CS_EFORMAT);
    close_fixture(&f);
}

/* Any changed byte and any truncation are detected. */
static void test_damage(void **state)
{
    char *bytes;
    size_t n;
    struct fixture f;

    (void)state;
    save();
    assert_int_equal(cs_file_read(path, 1 << 20, &bytes, &n), CS_OK);
    open_fixture(&f, 4);
    for (size_t i = 0; i < n; i += 13) {
        FILE *out = fopen(path, "wb");
        bytes[i] ^= 1;
        assert_int_equal(fwrite(bytes, 1, n, out), n);
        assert_int_equal(fclose(out), 0);
        bytes[i] ^= 1;
        assert_int_equal(load(&f, recipe), CS_EFORMAT);
        cs_error_clear();
    }
    for (size_t cut = 0; cut < n; cut += 31) {
        FILE *out = fopen(path, "wb");
        assert_int_equal(fwrite(bytes, 1, cut, out), cut);
        assert_int_equal(fclose(out), 0);
        assert_int_equal(load(&f, recipe), CS_EFORMAT);
        cs_error_clear();
    }
    close_fixture(&f);
    free(bytes);
}

static void test_missing(void **state)
{
    struct fixture f;

    (void)state;
    (void)remove(path);
    open_fixture(&f, 4);
    assert_int_equal(load(&f, recipe), CS_EIO);
    assert_int_equal(cs_checkpoint_save("no/such/folder/x", &f.ps, true, &f.st, recipe), CS_EIO);
    close_fixture(&f);
}

/* NaNs of a failed download do not replace the last checkpoint. */
static void test_lost_device(void **state)
{
    struct fixture f;

    (void)state;
    save();
    open_fixture(&f, 4);
    fill(&f);
    lose_device(f.be);
    assert_int_equal(cs_checkpoint_save(path, &f.ps, true, &f.st, recipe), CS_EDEVICE);
    close_fixture(&f);
    open_fixture(&f, 4);
    assert_int_equal(load(&f, recipe), CS_OK);
    assert_true(f.ps.value[1] == (cs_real)value_of(&f, 0, 1));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_other_recipe),
        cmocka_unit_test(test_older), cmocka_unit_test(test_moved),
        cmocka_unit_test(test_other_tensors), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_missing), cmocka_unit_test(test_lost_device),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);

    (void)remove(path);
    return failed;
}

/* test_composition.c - words of bases formed from other tokens, and initialisation from a trained
 * bag. */
#include "tests/nn/toy.h"

#include "nn/exec/composition_init.h"
#include "nn/exec/words.h"

enum { N_BASE = 300, N_LABEL = 3 };

static cs_backend *be;

/* Options of one part: name, value ..., NULL. */
static void *options(const cs_opt *opt, size_t size, const char *const *set)
{
    void *cfg = cs_xcalloc(1, size + 1);

    cs_opt_defaults((const cs_optset[]){ { opt, cfg, NULL }, { 0 } });
    for (; *set; set += 2)
        assert_int_equal(cs_opt_set(opt, cfg, set[0], set[1]), CS_OK);
    return cfg;
}

static int new_model(const char *tok, const char *const *tok_set, const char *enc,
                     const char *const *enc_set, const char *head, const char *const *head_set,
                     cs_model **m)
{
    static const cs_label label[N_LABEL] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };
    cs_model_spec s = { .tok = cs_tokenizer_find(tok), .enc = cs_encoder_find(enc),
                        .head = cs_head_find(head), .label = label, .n_label = N_LABEL,
                        .seed = 3, .training = true };
    s.tok_cfg = options(s.tok->opt, s.tok->cfg_size, tok_set);
    s.enc_cfg = options(s.enc->opt, s.enc->cfg_size, enc_set);
    s.head_cfg = options(s.head->opt, s.head->cfg_size, head_set);
    const int rc = cs_model_new(&s, be, m);
    free((void *)(uintptr_t)s.tok_cfg);
    free((void *)(uintptr_t)s.enc_cfg);
    free((void *)(uintptr_t)s.head_cfg);
    return rc;
}

static const char *const codons[] = { "k", "3", "stride", "1", NULL };
static const char *const cdil[] = { "layers", "2", "channels", "8", "dilation", "3", NULL };
static const char *const path[] = { "composition", "6", "composition-channels", "12",
                                    "composition-hidden", "10", NULL };

static void random_bases(char *base, uint64_t seed)
{
    for (int i = 0; i < N_BASE; i++)
        base[i] = cs_rng_unit(seed, (uint64_t)i) < 0.01 ? 'N'
                : "ACGT"[cs_rng_below(seed, (uint64_t)(N_BASE + i), 4)];
}

/* A batch of one sequence. */
static cs_batch *batch_of(const cs_model *m, const char *base)
{
    const cs_segment s = { .base = base, .n_base = N_BASE };
    int32_t id[N_BASE];
    cs_batch *b = cs_batch_new(0, 0);
    const int64_t n = m->tok->encode(m->tok_state, &s, NULL, id);
    assert_int_equal(cs_batch_append(b, id, NULL, n, NULL, (cs_slot){ 0 }), CS_OK);
    return b;
}

/* Words formed from codons and from single bases equal the tokens of tokenizer kmer. */
static void test_words(void **state)
{
    static const char *const none[] = { NULL }, *const six[] = { "k", "6", "stride", "1", NULL };
    const struct { const char *tok; const char *const *set; } from[] = {
        { "kmer", codons }, { "base", none }, { "kmer", six }
    };
    static const char *const canonical[] = { "k", "6", "stride", "1", "canonical", "1", NULL };
    char base[N_BASE];
    cs_model *m, *bag;

    (void)state;
    random_bases(base, 1);
    assert_int_equal(new_model("kmer", canonical, "cdil", cdil, "class", none, &bag), CS_OK);
    cs_batch *want = batch_of(bag, base);
    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++) {
        cs_word_map w;
        int32_t got[N_BASE];
        assert_int_equal(new_model(from[i].tok, from[i].set, "cdil", cdil, "class", none, &m),
                         CS_OK);
        cs_batch *b = batch_of(m, base);
        const cs_seg seg = { .off = b->off, .n = 1, .rows = b->n_tok, .depth = b->depth };
        assert_int_equal(cs_words_make(m->tok, m->tok_state, 6, &w), CS_OK);
        be->op.seg_words(be, seg, b->tok, (cs_words){ w.map, w.n, w.shift, w.n_vocab }, got);
        assert_memory_equal(got, want->tok, (size_t)want->n_tok * sizeof *got);
        for (int64_t k = want->n_tok; k < b->n_tok; k++)
            assert_int_equal(got[k], -1);
        free(w.map);
        cs_batch_free(b);
        cs_model_free(m);
    }
    cs_batch_free(want);
    cs_model_free(bag);
}

/* Initialised from a bag, a new model predicts as the bag does. The means differ by a factor,
 * because the last five positions have no word; the norm removes it. */
static void test_begins_as_bag(void **state)
{
    static const char *const canonical[] = { "k", "6", "stride", "1", "canonical", "1", NULL };
    static const char *const no_blocks[] = { "max-len", "1024", "track", "4", "hidden", "8",
                                             "depth", "none", NULL };
    static const char *const layers[] = { "norm", "layer", "hidden", "10", NULL };
    char base[N_BASE];
    cs_model *bag, *m;

    (void)state;
    assert_int_equal(new_model("kmer", canonical, "chordmixer", no_blocks, "class", layers, &bag),
                     CS_OK);
    char channels[16];
    (void)snprintf(channels, sizeof channels, "%d", (int)bag->width);
    const char *const fits[] = { "composition", "6", "composition-channels", channels,
                                 "composition-hidden", "10", NULL };
    assert_int_equal(new_model("kmer", codons, "cdil", cdil, "class", fits, &m), CS_OK);
    assert_int_equal(cs_composition_adopt(m, bag), CS_OK);
    for (uint64_t seed = 1; seed < 4; seed++) {
        random_bases(base, seed);
        cs_batch *a = batch_of(m, base), *b = batch_of(bag, base);
        cs_session *sm = cs_session_new(m, be), *sb = cs_session_new(bag, be);
        float *got = toy_outputs(sm, a), *want = toy_outputs(sb, b);
        for (int i = 0; i < N_LABEL; i++)
            assert_true(fabs((double)got[i] - (double)want[i]) < 2e-3);
        assert_true(fabs((double)want[0] - (double)want[1]) > 1e-2);
        free(got);
        free(want);
        cs_session_free(sm);
        cs_session_free(sb);
        cs_batch_free(a);
        cs_batch_free(b);
    }
    cs_model_free(m);
    assert_int_equal(new_model("kmer", codons, "cdil", cdil, "class", path, &m), CS_OK);
    assert_int_equal(cs_composition_adopt(m, bag), CS_EMODEL);
    assert_non_null(strstr(cs_error_message(), "the shape of tensor"));
    cs_error_clear();
    assert_int_equal(cs_composition_adopt(bag, m), CS_EMODEL);
    assert_non_null(strstr(cs_error_message(), "no composition path"));
    cs_error_clear();
    assert_int_equal(cs_composition_adopt(m, m), CS_EMODEL);
    assert_non_null(strstr(cs_error_message(), "not a bag of canonical 6-mers"));
    cs_error_clear();
    cs_model_free(m);
    cs_model_free(bag);
}

static void test_refused(void **state)
{
    static const char *const stride[] = { "k", "3", "stride", "3", NULL };
    static const char *const four[] = { "k", "4", "stride", "1", NULL };
    static const char *const either[] = { "k", "3", "stride", "1", "canonical", "1", NULL };
    const char *const *const bad[] = { stride, four, either };
    cs_model *m;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(new_model("kmer", bad[i], "cdil", cdil, "class", path, &m), CS_EUSAGE);
        assert_non_null(strstr(cs_error_message(), "cannot be joined to words of 6 bases"));
        cs_error_clear();
    }
    assert_int_equal(new_model("kmer", codons, "cdil", cdil, "token", path, &m), CS_EUSAGE);
    assert_non_null(strstr(cs_error_message(), "heads token and variant make several"));
    cs_error_clear();
}

/* Batches that skip the path leave its gradients at zero, and their loss is that of the encoder
 * alone; the others have the loss of a model that never skips. Predictions use the path. */
static void test_skip(void **state)
{
    static const char *const rates[] = { "0", "0.5", "1" };
    static const float target = 1;
    enum { N_STEP = 200 };
    char base[N_BASE];
    float *want = NULL;
    const double alone = log(N_LABEL);
    double loss, whole = NAN;
    int n_skipped[3] = { 0 };

    (void)state;
    random_bases(base, 5);
    for (int i = 0; i < 3; i++) {
        const char *const set[] = { "composition", "6", "composition-channels", "12",
                                    "composition-hidden", "10", "composition-dropout", "0",
                                    "composition-skip", rates[i], NULL };
        cs_model *m;
        assert_int_equal(new_model("kmer", codons, "cdil", cdil, "class", set, &m), CS_OK);
        cs_batch *plain = batch_of(m, base), *b = cs_batch_new(0, 1);
        assert_int_equal(cs_batch_append(b, plain->tok, NULL, plain->n_tok, &target,
                                         (cs_slot){ 0 }), CS_OK);
        cs_session *s = cs_session_new(m, be);
        float *got = toy_outputs(s, plain);
        if (want == NULL)
            want = got;
        else
            assert_memory_equal(got, want, N_LABEL * sizeof *got);
        const int path_out = cs_params_find(&m->ps, "head.composition.out.bias");
        const int encoder_out = cs_params_find(&m->ps, "head.weight");
        for (int k = 0; k < N_STEP; k++) {
            const cs_step_opt how = { .scale = 1, .key = (uint64_t)k };
            be->op.zero(be, cs_params_slab(&m->ps, m->ps.grad));
            assert_int_equal(cs_session_forward_backward(s, b, &how, &loss, NULL), CS_OK);
            const bool skips = cs_grad(&m->ps, path_out).p[0] == 0;
            n_skipped[i] += skips;
            assert_true(cs_grad(&m->ps, encoder_out).p[0] != 0);
            /* The encoder's branch starts at zero. */
            if (skips)
                assert_true(fabs(loss - alone) < 1e-5);
            else if (isnan(whole))
                whole = loss;
            else
                assert_true(loss == whole);
        }
        if (got != want)
            free(got);
        cs_session_free(s);
        cs_batch_free(plain);
        cs_batch_free(b);
        cs_model_free(m);
    }
    free(want);
    assert_true(fabs(whole - alone) > 1e-3);
    assert_int_equal(n_skipped[0], 0);
    assert_in_range(n_skipped[1], N_STEP / 2 - 35, N_STEP / 2 + 35);
    assert_int_equal(n_skipped[2], N_STEP);
}

int main(void)
{
    static const struct CMUnitTest test[] = {
        cmocka_unit_test(test_words), cmocka_unit_test(test_begins_as_bag),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_skip)
    };
    if (cs_cpu_init() != CS_OK || cs_backend_open("cpu", 2, &be) != CS_OK)
        return 2;
    int n_failed = cmocka_run_group_tests_name("composition", test, NULL, NULL);
    cs_backend_close(be);
    return n_failed;
}

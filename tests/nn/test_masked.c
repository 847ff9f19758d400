/* test_masked.c - what a model expects where a sequence is hidden: asked alone and together. */
#include "toy.h"

#include "nn/masked.h"

enum { N = 20, N_POS = 3 };

static const cs_label label[] = { { "A", 0, NULL }, { "C", 0, NULL }, { "G", 0, NULL },
                                  { "T", 0, NULL } };

static cs_model *make(cs_backend *be, const char *enc, const char *head, bool has_mask)
{
    const cs_encoder *e = cs_encoder_find(enc);
    const cs_head *h = cs_head_find(head);
    void *enc_cfg = cs_xcalloc(1, e->cfg_size), *head_cfg = cs_xcalloc(1, h->cfg_size);
    cs_model *m;

    cs_opt_defaults((const cs_optset[]){ { e->opt, enc_cfg, NULL }, { h->opt, head_cfg, NULL },
                                         { 0 } });
    const cs_model_spec s = { .tok = cs_tokenizer_find("base"), .enc = e, .head = h,
                              .enc_cfg = enc_cfg, .head_cfg = head_cfg, .has_mask = has_mask,
                              .label = label, .n_label = 4, .seed = 3 };
    assert_int_equal(cs_model_new(&s, be, &m), CS_OK);
    free(enc_cfg);
    free(head_cfg);
    return m;
}

static void fill(int32_t *id, uint64_t key)
{
    for (int i = 0; i < N; i++)
        id[i] = CS_TOK_FIRST + (int32_t)cs_rng_below(key, (uint64_t)i, 4);
}

/* With `at` hidden the answer there must not depend on the token; seen, it does. */
static void hidden_is_not_seen(cs_model *m, int32_t *id, int64_t at)
{
    float a[4], b[4];
    cs_masked s = { id, N, &at, 1, true };
    const int32_t was = id[at];

    for (int hide = 1; hide >= 0; hide--) {
        s.hide = hide;
        id[at] = was;
        assert_int_equal(cs_masked_logp(m, &s, 1, a), CS_OK);
        id[at] = was == CS_TOK_FIRST ? CS_TOK_FIRST + 1 : CS_TOK_FIRST;
        assert_int_equal(cs_masked_logp(m, &s, 1, b), CS_OK);
        assert_true(hide == (memcmp(a, b, sizeof a) == 0));
        id[at] = was;
    }
    check_near(exp((double)a[0]) + exp((double)a[1]) + exp((double)a[2]) + exp((double)a[3]), 1,
               1e-5);
}

static void places_are_answered(void **state)
{
    static const char *const enc[] = { "chordmixer", "cdil", "transformer" };
    static const int64_t pos[N_POS] = { 0, 7, N - 1 };
    int32_t id[2][N];
    float both[2 * N_POS * 4], one[N_POS * 4];
    cs_backend *be;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    for (int e = 0; e < 3; e++) {
        cs_model *m = make(be, enc[e], "token", true);
        assert_int_equal(cs_masked_check(m, "x"), CS_OK);
        assert_int_equal(m->mask, 6);
        fill(id[0], 1);
        fill(id[1], 2);
        const cs_masked s[2] = { { id[0], N, pos, N_POS, true }, { id[1], N, pos, N_POS, false } };
        assert_int_equal(cs_masked_logp(m, s, 2, both), CS_OK);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(cs_masked_logp(m, &s[k], 1, one), CS_OK);
            assert_memory_equal(one, both + k * N_POS * 4, sizeof one);
        }
        hidden_is_not_seen(m, id[0], 11);
        cs_model_free(m);
    }
    cs_backend_close(be);
}

static void others_are_refused(void **state)
{
    cs_backend *be;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    for (int k = 0; k < 2; k++) {
        cs_model *m = make(be, "cdil", k ? "token" : "class", !k);
        assert_int_equal(cs_masked_check(m, "my.model"), CS_EMODEL);
        assert_non_null(strstr(cs_error_message(), "my.model"));
        cs_error_clear();
        cs_model_free(m);
    }
    cs_backend_close(be);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(places_are_answered),
        cmocka_unit_test(others_are_refused),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}

/* test_masked.c - models that predict masked tokens. */
#include "toy.h"

#include "nn/exec/model.h"

static const cs_label label[] = { { .name = "A" }, { .name = "C" }, { .name = "G" },
                                  { .name = "T" } };

static cs_model *new_model(cs_backend *be, const char *enc, const char *head, bool has_mask)
{
    const cs_encoder *e = cs_encoder_find(enc);
    const cs_head *h = cs_head_find(head);
    const cs_tokenizer *t = cs_tokenizer_find("base");
    void *enc_cfg = cs_xcalloc(1, e->cfg_size), *head_cfg = cs_xcalloc(1, h->cfg_size);
    void *tok_cfg = cs_xcalloc(1, t->cfg_size);
    cs_model *m;

    cs_opt_defaults((const cs_optset[]){ { e->opt, enc_cfg, NULL }, { h->opt, head_cfg, NULL },
                                         { t->opt, tok_cfg, NULL }, { 0 } });
    const cs_model_spec s = { .tok = t, .enc = e, .head = h, .tok_cfg = tok_cfg,
                              .enc_cfg = enc_cfg, .head_cfg = head_cfg, .has_mask = has_mask,
                              .label = label, .n_label = 4, .seed = 3 };
    assert_int_equal(cs_model_new(&s, be, &m), CS_OK);
    free(enc_cfg);
    free(head_cfg);
    free(tok_cfg);
    return m;
}

static void test_pretrained(void **state)
{
    static const char *const enc[] = { "chordmixer", "cdil", "transformer" };
    cs_backend *be;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    for (int e = 0; e < 3; e++) {
        cs_model *m = new_model(be, enc[e], "token", true);
        assert_int_equal(cs_model_check_masked(m, "x"), CS_OK);
        assert_int_equal(m->mask, 6);
        cs_model_free(m);
    }
    cs_backend_close(be);
}

static void test_rejected(void **state)
{
    cs_backend *be;

    (void)state;
    assert_int_equal(cs_backend_open("cpu", 1, &be), CS_OK);
    for (int k = 0; k < 2; k++) {
        cs_model *m = new_model(be, "cdil", k ? "token" : "class", !k);
        assert_int_equal(cs_model_check_masked(m, "my.model"), CS_EMODEL);
        assert_non_null(strstr(cs_error_message(), "my.model"));
        cs_error_clear();
        cs_model_free(m);
    }
    cs_backend_close(be);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_pretrained),
        cmocka_unit_test(test_rejected),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}

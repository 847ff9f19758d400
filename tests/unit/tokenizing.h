/* tokenizing.h - what tests of tokenizers share. */
#ifndef CS_TESTS_TOKENIZING_H
#define CS_TESTS_TOKENIZING_H

#include "check.h"

#include "tok/tokenizer.h"

/* A tokenizer's state. setting: names and values of options, then NULL */
static inline void *open_with(const cs_tokenizer *tok, const char *const *setting)
{
    void *st = NULL;
    void *cfg = cs_xcalloc(1, tok->cfg_size);
    const cs_optset set[] = { { tok->opt, cfg, NULL }, { NULL, NULL, NULL } };
    assert_int_equal(cs_opt_check(set), CS_OK);
    cs_opt_defaults(set);
    for (; *setting; setting += 2)
        assert_int_equal(cs_opt_set(tok->opt, cfg, setting[0], setting[1]), CS_OK);
    assert_int_equal(tok->open(cfg, &st), CS_OK);
    free(cfg);
    return st;
}

/* count() gives the occurrences of encode()'s ids. */
static inline void check_count(const cs_tokenizer *tok, const void *st, const cs_segment *s,
                        const int32_t *id, int64_t n_id)
{
    const int32_t n_vocab = tok->n_vocab(st);
    int64_t *count = cs_xcalloc((size_t)n_vocab, sizeof *count);
    check_page work = check_page_new(cs_tokenizer_work(tok, st, s->n_base));

    assert_int_equal(tok->count(st, s, work.p, count), n_id);
    for (int64_t i = 0; i < n_id; i++)
        count[id[i]]--;
    for (int32_t v = 0; v < n_vocab; v++)
        assert_int_equal(count[v], 0);
    free(count);
    check_page_free(&work);
}

#endif

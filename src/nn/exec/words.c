/* words.c - map a model's tokens to words of bases, for heads that count words. */
#include "nn/exec/words.h"

#include <stdio.h>

#include "registry.h"

enum { MAX_TUPLES = 1 << 24, MAX_TOKENS = 4 * CS_COMPOSITION_K };

/* A tokenizer and its scratch memory. */
struct reader {
    const cs_tokenizer *tok;
    const void         *state;
    void               *work;
    int32_t             id[MAX_TOKENS];
};

static int64_t read_word(struct reader *r, const char *base, int32_t k)
{
    const cs_segment s = { .base = base, .n_base = k };
    return r->tok->bound(r->state, k) > MAX_TOKENS ? -1
         : r->tok->encode(r->state, &s, r->work, r->id);
}

static void spell(uint32_t word, int32_t k, char *base)
{
    for (int32_t i = k; i-- > 0; word >>= 2)
        base[i] = "ACGT"[word & 3];
}

static int no_words(const cs_tokenizer *tok, int32_t k)
{
    return cs_fail(CS_EUSAGE, "%s: tokens of %s cannot be joined to words of %d bases; use %s or "
                   "codon, or kmer with %s and a length that divides %d",
                   CS_OPTION("head.composition %d", (int)k), tok ? tok->name : "real values",
                   (int)k, CS_OPTION("tokenizer base"), CS_OPTION("tokenizer.stride 1"), (int)k);
}

/* For every word its consecutive tokens and its index. */
static int words_fill(struct reader *tokens, struct reader *words, int32_t k, cs_word_map *w)
{
    char base[CS_COMPOSITION_K];
    const int64_t n_token = (int64_t)k - w->shift + 1;

    for (uint32_t word = 0; word < UINT32_C(1) << (2 * k); word++) {
        int64_t at = 0;
        spell(word, k, base);
        if (read_word(tokens, base, k) < n_token)
            return no_words(tokens->tok, k);
        for (int32_t i = 0; i < w->n; i++)
            at = at * w->n_vocab + tokens->id[i * w->shift];
        CS_BUG(read_word(words, base, k) != 1);
        if (w->map[at] != CS_TOK_UNK && w->map[at] != words->id[0])
            return no_words(tokens->tok, k);
        w->map[at] = words->id[0];
    }
    return CS_OK;
}

static int make(struct reader *tokens, struct reader *words, int32_t k, cs_word_map *w)
{
    const int64_t size = tokens->tok->min_base(tokens->state);
    int64_t n = 1;

    if (size < 1 || k % size != 0 ||
        cs_tokenizer_alphabet(tokens->tok, tokens->state) != CS_NUCLEOTIDES)
        return no_words(tokens->tok, k);
    *w = (cs_word_map){ .n = k / (int32_t)size, .shift = (int32_t)size,
                        .n_vocab = tokens->tok->n_vocab(tokens->state) };
    for (int32_t i = 0; i < w->n; i++) {
        n *= w->n_vocab;
        if (n > MAX_TUPLES)
            return no_words(tokens->tok, k);
    }
    tokens->work = cs_alloc(cs_tokenizer_work(tokens->tok, tokens->state, k) + 1, 1);
    w->map = cs_alloc((size_t)n, sizeof *w->map);
    if (!tokens->work || !w->map)
        return cs_fail(CS_EMEM, "out of memory for a table of %lld words", (long long)n);
    for (int64_t i = 0; i < n; i++)
        w->map[i] = CS_TOK_UNK;
    return words_fill(tokens, words, k, w);
}

static int open_kmers(const cs_tokenizer *kmer, int32_t k, void **state)
{
    int rc = CS_OK;
    char text[16];
    void *cfg = cs_opt_new(kmer->opt, kmer->cfg_size);

    *state = NULL;
    (void)snprintf(text, sizeof text, "%d", (int)k);
    CS_TRY(cs_opt_set(kmer->opt, cfg, "k", text));
    CS_TRY(cs_opt_set(kmer->opt, cfg, "stride", "1"));
    CS_TRY(cs_opt_set(kmer->opt, cfg, "canonical", "1"));
    rc = kmer->open(cfg, state);
out:
    free(cfg);
    return rc;
}

int cs_words_make(const cs_tokenizer *tok, const void *tok_state, int32_t k, cs_word_map *w)
{
    int rc = CS_OK;
    void *state = NULL;
    struct reader tokens = { .tok = tok, .state = tok_state };
    struct reader words = { .tok = cs_tokenizer_find("kmer") };

    *w = (cs_word_map){ 0 };
    if (!tok)
        return no_words(tok, k);
    CS_TRY(open_kmers(words.tok, k, &state));
    words.state = state;
    CS_BUG(words.tok->n_vocab(state) != cs_composition_words(k));
    rc = make(&tokens, &words, k, w);
out:
    if (rc != CS_OK) {
        free(w->map);
        w->map = NULL;
    }
    free(tokens.work);
    words.tok->close(state);
    return rc;
}
